// Gradients as integers: the gradient and the hessian of a row, scaled by powers of two and
// rounded, are packed into one signed 64-bit integer, g in the high half and h (never negative) in
// the low half. One addition sums both, and integer sums do not depend on the order of the rows, on
// threads or on the vector width.
//
//     packed = round(g * 2^a) * 2^32 + round(h * 2^b),   |sum g| < 2^31,   sum h < 2^31
//
// choose_scales() ensures that no sum over a subset of the rows overflows its half.
#pragma once

#include <cmath>
#include <cstdint>

namespace stagewise {

union GradientSlot {  // first a pair of floats, filled by the loss; then packed
  struct {
    float gradient;
    float hessian;
  } pair;
  int64_t packed;
};
static_assert(sizeof(GradientSlot) == 8);

struct Scales {
  double gradient = 1.0;  // powers of two: a multiplication by them is exact
  double hessian = 1.0;
};

static inline int64_t packed_gradient(int64_t packed_sum) { return packed_sum >> 32; }
static inline int64_t packed_hessian(int64_t packed_sum) {
  return static_cast<int64_t>(static_cast<uint64_t>(packed_sum) & 0xffffffffu);
}

// The largest power of two s such that total * s plus one unit of rounding for every unit of
// `roundings` stays below `limit`, though the total may be too small by one in ten thousand.
inline double largest_scale(double total, double roundings, double limit) {
  if (!(total > 0.0)) return 1.0;
  int exponent = 0;
  std::frexp((limit - roundings) / (total * 1.0001),
             &exponent);               // (limit-r)/total = m * 2^e, m in [1/2, 1)
  if (exponent > 100) exponent = 100;  // stays inside a float
  if (exponent < -100) exponent = -100;
  return std::ldexp(1.0, exponent - 1);
}

inline Scales choose_scales(double sum_abs_gradient, double sum_hessian, double roundings) {
  return {largest_scale(sum_abs_gradient, roundings, 2147483647.0),
          largest_scale(sum_hessian, roundings, 2147483647.0)};
}

}  // namespace stagewise
