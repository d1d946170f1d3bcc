// Interface of the kernel of linear leaves: weighted sums of products of columns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// Rows of a leaf that are summed at once, and the lanes of a sum.
constexpr size_t kProductRows = 128, kProductLanes = 8;

// Sums over rows; the arrays have room for what a kernel writes.
struct ProductSums {
  double gradient = 0.0, hessian = 0.0;
  double* first;   // per feature: h x
  double* cross;   // per feature: g x
  double* square;  // per pair of features, the second at or before the first: h x x'
};

struct CrossProductKernels {
  // Over n rows, a multiple of kProductLanes and at most kProductRows; x[j * kProductRows + row].
  // hx: room for n numbers.
  void (*products)(const double* x, size_t features, const double* g, const double* h, size_t n,
                   double* hx, ProductSums* sums);
};

}  // namespace stagewise
