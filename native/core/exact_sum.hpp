// Sums of doubles without rounding errors, so that they do not depend on the order of the terms: a
// fixed-point number that is wide enough for every double (Kulisch 1986). Its digits are integers,
// so the sums of several threads or machines are merged by adding these.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace stagewise {

class ExactSum {
 public:
  // The sum is sum_i digits[i] * 2^(32 i - 1074). Three more integers count the terms that are
  // infinite, negative infinite or NaN.
  static constexpr size_t kDigits = 70;
  static constexpr size_t kIntegers = kDigits + 3;

  void add(double x, size_t digits = 0) {  // x 2^(32 digits), digits <= 2
    const auto bits = std::bit_cast<uint64_t>(x);
    const uint64_t exponent = bits >> 52 & 0x7ff;
    if (exponent == 0x7ff) {
      ++integers_[kDigits + (x != x ? 2 : bits >> 63)];
      return;
    }
    if (exponent == 0 && (bits << 1) == 0) return;
    const uint64_t implied = exponent == 0 ? 0 : 1;
    const uint64_t mantissa = (bits & 0xfffffffffffffull) | implied << 52;
    const uint64_t shift = exponent - implied, at = shift / 32 + digits;
    const uint64_t low = (mantissa & kMask) << (shift % 32), high = mantissa >> 32 << (shift % 32);
    const int64_t sign = bits >> 63 == 0 ? 1 : -1;
    integers_[at] += sign * static_cast<int64_t>(low & kMask);
    integers_[at + 1] += sign * static_cast<int64_t>((low >> 32) + (high & kMask));
    integers_[at + 2] += sign * static_cast<int64_t>(high >> 32);
    if (--terms_left_ == 0) normalise();
  }
  // w x, without rounding unless bits are lost below the smallest double. |w| < 2^64.
  void add_product(double w, double x) {
    const double product = w * x;
    if (std::isfinite(product)) {
      add(product);
      add(std::fma(w, x, -product));
    } else if (std::isfinite(x)) {
      const double scaled = w * (x * 0x1p-64);
      add(scaled, 2);
      add(std::fma(w, x * 0x1p-64, -scaled), 2);
    } else {
      add(product);
    }
  }

  // All n values, each times its weight; weight: null: 1. Faster than one by one.
  void add_all(const double* values, const double* weight, size_t n);

  double value() const;  // rounded to the nearest double

  // The integers, after carries. So many sums can be added to each other without an overflow.
  const std::array<int64_t, kIntegers>& integers() {
    normalise();
    return integers_;
  }
  static ExactSum of(const int64_t* integers);

 private:
  class Mantissas;

  static constexpr uint64_t kMask = 0xffffffffull;
  static constexpr int64_t kTerms = int64_t{1} << 29;  // before a digit could overflow

  void normalise();  // carries: all digits but the last are in [0, 2^32)

  std::array<int64_t, kIntegers> integers_ = {};
  int64_t terms_left_ = kTerms;
};

}  // namespace stagewise
