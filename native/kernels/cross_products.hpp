// Sums of products of columns, for the normal equations of linear leaves. Every sum has eight lanes
// for any vector width, added in one order, so all instruction sets compute the same bits.
#pragma once

#include "kernels/api/cross_products.hpp"

namespace stagewise {
namespace {

typedef double FourLanes __attribute__((vector_size(32)));
static_assert(kProductLanes == 8);

inline FourLanes four(const double* at) {
  FourLanes lanes;
  __builtin_memcpy(&lanes, at, sizeof lanes);
  return lanes;
}

inline double add_lanes(const FourLanes& low, const FourLanes& high) {
  const FourLanes s = low + high;
  return (s[0] + s[2]) + (s[1] + s[3]);
}

// Of a x and of b x, with the sum of the one never waiting for that of the other.
inline void two_products(const double* x, const double* a, const double* b, size_t n, double* of_a,
                         double* of_b) {
  FourLanes a0 = {}, a1 = {}, b0 = {}, b1 = {};
  for (size_t i = 0; i < n; i += kProductLanes) {
    const FourLanes x0 = four(x + i), x1 = four(x + i + 4);
    a0 += x0 * four(a + i);
    a1 += x1 * four(a + i + 4);
    b0 += x0 * four(b + i);
    b1 += x1 * four(b + i + 4);
  }
  *of_a = add_lanes(a0, a1);
  *of_b = add_lanes(b0, b1);
}

// See Kernels::products.
void products(const double* x, size_t features, const double* g, const double* h, size_t n,
              double* hx, ProductSums* sums) {
  double unused;
  for (size_t i = 0; i < n; ++i) hx[i] = 1.0;
  two_products(hx, g, h, n, &sums->gradient, &sums->hessian);
  double* square = sums->square;
  for (size_t j = 0; j < features; ++j) {
    const double* const own = x + j * kProductRows;
    two_products(own, g, h, n, &sums->cross[j], &sums->first[j]);
    for (size_t i = 0; i < n; ++i) hx[i] = h[i] * own[i];
    size_t k = 0;
    for (; k < j; k += 2, square += 2)
      two_products(hx, x + k * kProductRows, x + (k + 1) * kProductRows, n, square, square + 1);
    if (k == j) two_products(hx, own, own, n, square++, &unused);
  }
}

}  // namespace
}  // namespace stagewise
