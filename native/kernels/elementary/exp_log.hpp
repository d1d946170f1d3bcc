// exp, log, e^x - 1 and log(1 + x) of doubles (see kernels/api/elementary.hpp).
#pragma once

#include <cmath>
#include <cstring>

#include "kernels/api/elementary.hpp"

namespace stagewise {
namespace {

#if defined(__AVX512F__)
constexpr size_t kDoubleLanes = 8;
#elif defined(__AVX2__)
constexpr size_t kDoubleLanes = 4;
#else
constexpr size_t kDoubleLanes = 2;
#endif
typedef double DoubleLanes __attribute__((vector_size(8 * kDoubleLanes)));
typedef int64_t IntegerLanes __attribute__((vector_size(8 * kDoubleLanes)));
constexpr double kLn2High = 0x1.62e42fefa0000p-1;  // 37 bits: its product with an exponent is exact
constexpr double kLn2Low = 0x1.cf79abc9e3b39p-40;
constexpr double kRoundToInteger = 0x1.8p52;  // added to a number, its last bits are an integer
constexpr int64_t kRoundedBits = 0x4338000000000000;  // the bits of kRoundToInteger
constexpr double kLargestPower = 1100.0;              // 2 to this power is infinite

inline __attribute__((always_inline)) DoubleLanes bounded(DoubleLanes x, double least,
                                                          double most) {
  const DoubleLanes low = DoubleLanes{} + least, high = DoubleLanes{} + most;
  x = x < low ? low : x;
  return x > high ? high : x;
}

inline __attribute__((always_inline)) DoubleLanes rounded(DoubleLanes x) {
  return (x + kRoundToInteger) - kRoundToInteger;
}

// 2^power of integers between -1022 and 1023.
inline __attribute__((always_inline)) DoubleLanes power_of_two(DoubleLanes power) {
  const IntegerLanes whole = reinterpret_cast<IntegerLanes>(power + kRoundToInteger) - kRoundedBits;
  return reinterpret_cast<DoubleLanes>((whole + 1023) << 52);
}

// x = k ln2 + r, |r| <= ln2 / 2;  e^x = 2^k e^r, e^r by its Taylor polynomial of degree 14.
inline __attribute__((always_inline)) DoubleLanes exp_lanes(DoubleLanes x) {
  DoubleLanes power = x * (1.0 / 0.6931471805599453);
  power = rounded(bounded(power, -kLargestPower, kLargestPower));
  const DoubleLanes rest = bounded((x - power * kLn2High) - power * kLn2Low, -1.0, 1.0);
  DoubleLanes series = DoubleLanes{} + 1.0;
  for (int k = 14; k > 0; --k) series = 1.0 + series * rest / static_cast<double>(k);
  // Two factors: the first product is exact, and only the second one overflows or is subnormal.
  const DoubleLanes half = rounded(0.5 * power);
  return series * power_of_two(half) * power_of_two(power - half);
}

// x = 2^k m, sqrt(1/2) <= m < sqrt(2);  log m = 2 artanh s, s = (m - 1) / (m + 1).
inline __attribute__((always_inline)) DoubleLanes log_lanes(DoubleLanes x) {
  const DoubleLanes least = DoubleLanes{} + 0x1p-1022;
  const IntegerLanes tiny = x < least;
  x = tiny ? x * 0x1p54 : x;
  const IntegerLanes bits = reinterpret_cast<IntegerLanes>(x);
  IntegerLanes exponent = ((bits >> 52) & 0x7ff) - 1022 - (tiny & 54);
  const IntegerLanes half = (bits & 0x000fffffffffffff) | 0x3fe0000000000000;  // in [0.5, 1)
  DoubleLanes mantissa = reinterpret_cast<DoubleLanes>(half);
  const IntegerLanes below = mantissa < DoubleLanes{} + 0.7071067811865476;
  mantissa = below ? 2.0 * mantissa : mantissa;
  exponent += below;  // true is -1
  const DoubleLanes power =
      reinterpret_cast<DoubleLanes>(exponent + kRoundedBits) - kRoundToInteger;
  const DoubleLanes s = (mantissa - 1.0) / (mantissa + 1.0);
  const DoubleLanes square = s * s;
  DoubleLanes series = DoubleLanes{};
  for (int k = 12; k > 0; --k) series = (series + 1.0 / static_cast<double>(2 * k + 1)) * square;
  const DoubleLanes rest = 2.0 * s * series + power * kLn2Low;
  return power * kLn2High + (2.0 * s + rest);
}

// e^x - 1 = 2^k (e^r - 1) + (2^k - 1), with r as above: no digits are lost near 0.
inline __attribute__((always_inline)) DoubleLanes expm1_lanes(DoubleLanes x) {
  constexpr double kLargest = 60.0;  // 2 to this power, less 1, is itself
  DoubleLanes power = bounded(x, -kLargest, kLargestPower) * (1.0 / 0.6931471805599453);
  power = rounded(bounded(power, -kLargestPower, kLargestPower));
  x = bounded(x, -kLargest, kLargestPower);
  const DoubleLanes rest = bounded((x - power * kLn2High) - power * kLn2Low, -1.0, 1.0);
  DoubleLanes series = DoubleLanes{} + 1.0;
  for (int k = 14; k > 1; --k) series = 1.0 + series * rest / static_cast<double>(k);
  series *= rest;
  const DoubleLanes scale = power_of_two(bounded(power, -2.0 * kLargest, kLargest));
  const DoubleLanes half = rounded(0.5 * power);
  const DoubleLanes far = (1.0 + series) * power_of_two(half) * power_of_two(power - half);
  return power > DoubleLanes{} + kLargest ? far : scale * series + (scale - 1.0);
}

// log u + (x - (u - 1)) / u for u = 1 + x, rounded: the second term is what the rounding lost.
inline __attribute__((always_inline)) DoubleLanes log1p_lanes(DoubleLanes x) {
  const DoubleLanes u = 1.0 + x;
  const DoubleLanes lost = x > DoubleLanes{} + 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
  return log_lanes(u) + lost / u;
}

inline __attribute__((always_inline)) DoubleLanes load_doubles(const double* from, size_t n) {
  DoubleLanes lanes = DoubleLanes{} + from[0];  // lanes beyond n have the first number
  if (n >= kDoubleLanes)
    std::memcpy(&lanes, from, sizeof lanes);
  else
    std::memcpy(&lanes, from, n * sizeof(double));
  return lanes;
}

inline __attribute__((always_inline)) void store_doubles(DoubleLanes lanes, double* to, size_t n) {
  if (n >= kDoubleLanes)
    std::memcpy(to, &lanes, sizeof lanes);
  else
    std::memcpy(to, &lanes, n * sizeof(double));
}

template <DoubleLanes (*Function)(DoubleLanes)>
inline __attribute__((always_inline)) void each(const double* in, size_t n, double* out) {
  for (size_t i = 0; i < n; i += kDoubleLanes)
    store_doubles(Function(load_doubles(in + i, n - i)), out + i, n - i);
}

void exp_doubles(const double* in, size_t n, double* out) { each<exp_lanes>(in, n, out); }
void log_doubles(const double* in, size_t n, double* out) { each<log_lanes>(in, n, out); }
void expm1_doubles(const double* in, size_t n, double* out) { each<expm1_lanes>(in, n, out); }
void log1p_doubles(const double* in, size_t n, double* out) { each<log1p_lanes>(in, n, out); }

}  // namespace
}  // namespace stagewise
