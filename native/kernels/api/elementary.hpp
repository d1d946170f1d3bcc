// Interface of the kernels of elementary functions of doubles.
#pragma once

#include <cstddef>

namespace stagewise {

// The same bits with every instruction set: only operations that IEEE 754 rounds correctly. The
// error is at most two units in the last place.
struct ElementaryKernels {
  // out[i] = e^x[i]: inf and 0 where it is too large or too small. in and out may be the same.
  void (*exp)(const double* in, size_t n, double* out);
  // out[i] = log x[i] of positive finite numbers.
  void (*log)(const double* in, size_t n, double* out);
};

}  // namespace stagewise
