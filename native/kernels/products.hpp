// Sums of products of columns, for the normal equations of lines.
//
// One idea: every sum has eight lanes, whatever the vector width, and these are added in one order,
// so that all instruction sets give the same bits.
#pragma once

#include "kernels.hpp"

namespace stagewise {
namespace {

typedef double ProductLanes __attribute__((vector_size(kProductLanes * sizeof(double))));

inline ProductLanes load_lanes(const double* at) {
  ProductLanes lanes;
  __builtin_memcpy(&lanes, at, sizeof lanes);
  return lanes;
}

inline double add_lanes(const ProductLanes& s) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

// See Kernels::products.
void products(const double* x, size_t features, const double* g, const double* h, size_t n,
              double* hx, ProductSums* sums) {
  ProductLanes total_g = {}, total_h = {};
  for (size_t i = 0; i < n; i += kProductLanes) {
    total_g += load_lanes(g + i);
    total_h += load_lanes(h + i);
  }
  sums->gradient = add_lanes(total_g);
  sums->hessian = add_lanes(total_h);
  double* square = sums->square;
  for (size_t j = 0; j < features; ++j) {
    const double* const own = x + j * kProductRows;
    ProductLanes first = {}, cross = {};
    for (size_t i = 0; i < n; i += kProductLanes) {
      const ProductLanes value = load_lanes(own + i), weighted = load_lanes(h + i) * value;
      __builtin_memcpy(hx + i, &weighted, sizeof weighted);
      first += weighted;
      cross += load_lanes(g + i) * value;
    }
    sums->first[j] = add_lanes(first);
    sums->cross[j] = add_lanes(cross);
    for (size_t k = 0; k <= j; k += 2) {
      // Two at a time: a sum alone would wait for itself. The second may be one that nobody needs.
      const double* const a = x + k * kProductRows;
      const double* const b = k < j ? a + kProductRows : a;
      ProductLanes with_a = {}, with_b = {};
      for (size_t i = 0; i < n; i += kProductLanes) {
        const ProductLanes weighted = load_lanes(hx + i);
        with_a += weighted * load_lanes(a + i);
        with_b += weighted * load_lanes(b + i);
      }
      *square++ = add_lanes(with_a);
      if (k < j) *square++ = add_lanes(with_b);
    }
  }
}

}  // namespace
}  // namespace stagewise
