// Interface of the kernels of elementary functions of doubles.
#pragma once

#include <cstddef>

namespace stagewise {

// The same bits with every instruction set: only operations that IEEE 754 rounds correctly. The
// error of exp and log is at most two units in the last place, that of the others about 1e-15.
struct ElementaryKernels {
  // out[i] = e^x[i]: inf and 0 where it is too large or too small. in and out may be the same.
  void (*exp)(const double* in, size_t n, double* out);
  // out[i] = log x[i] of positive finite numbers.
  void (*log)(const double* in, size_t n, double* out);
  // out[i] = e^x[i] - 1, and log(1 + x[i]) of finite numbers above -1: exact near 0, too.
  void (*expm1)(const double* in, size_t n, double* out);
  void (*log1p)(const double* in, size_t n, double* out);
  // out[i] = log Gamma(x[i]) and its first and second derivative, x positive and finite.
  void (*log_gamma)(const double* in, size_t n, double* out);
  void (*digamma)(const double* in, size_t n, double* out);
  void (*trigamma)(const double* in, size_t n, double* out);
  // out[i] = e^(x[i]^2) erfc(x[i]) of x >= 0.
  void (*scaled_erfc)(const double* in, size_t n, double* out);
};

}  // namespace stagewise
