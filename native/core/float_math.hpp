// exp and log for training, with the same bits on every machine: only +, -, *, / and bit operations
// on single elements, no fused multiply-add and no library call. Relative accuracy about 1e-7 in
// float, 1e-15 in double. Static functions: compiled once per instruction set.
#pragma once

#include <cstdint>
#include <cstring>

namespace stagewise {

static inline float float_from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

static inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

// e^x for -87 <= x <= 87, between 1.6e-38 and 6e37.
// x = k ln2 + r, |r| <= ln2 / 2;  e^x = 2^k e^r, e^r by its Taylor polynomial of degree 7.
static inline float exp_within(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // adding 1.5 * 2^23 rounds to an integer
  const float k = shifted - 12582912.0f;
  const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;  // ln2 in two parts
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const uint32_t exponent = (bits_of(shifted) - 0x4b400000u + 127u) << 23;
  return p * float_from_bits(exponent);
}

// x is clipped to ±87.
static inline float exp_nonpositive(float x) { return exp_within(x < -87.0f ? -87.0f : x); }
static inline float exp_clamped(float x) {
  return exp_within(x < -87.0f ? -87.0f : (x > 87.0f ? 87.0f : x));
}

// log(1 + x) for 0 <= x <= 1:  2 atanh(s), s = x / (2 + x) <= 1/3.
static inline float log1p_unit(float x) {
  const float s = x / (2.0f + x);
  const float t = s * s;
  float p = 6.66666667e-2f;
  p = p * t + 7.69230769e-2f;
  p = p * t + 9.09090909e-2f;
  p = p * t + 1.11111111e-1f;
  p = p * t + 1.42857143e-1f;
  p = p * t + 2.0e-1f;
  p = p * t + 3.33333333e-1f;
  p = p * t + 1.0f;
  return 2.0f * s * p;
}

// log(x) for x >= 1 (and finite): x = 2^k (1 + f), 0 <= f < 1.
static inline float log_from_one(float x) {
  const uint32_t bits = bits_of(x);
  const float k = static_cast<float>(static_cast<int32_t>(bits >> 23) - 127);
  const float f = float_from_bits((bits & 0x007fffffu) | 0x3f800000u) - 1.0f;
  return k * 0.693147181f + log1p_unit(f);
}

// The same in double: x = 2^k m, sqrt(1/2) <= m < sqrt(2), and log(m) = 2 atanh(s) with
// s = (m - 1) / (m + 1), |s| < 0.172.
static inline double log_from_one(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  auto exponent = static_cast<int64_t>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  double m;
  std::memcpy(&m, &bits, 8);
  if (m >= 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double t = s * s;
  double p = 1.0 / 21.0;
  p = p * t + 1.0 / 19.0;
  p = p * t + 1.0 / 17.0;
  p = p * t + 1.0 / 15.0;
  p = p * t + 1.0 / 13.0;
  p = p * t + 1.0 / 11.0;
  p = p * t + 1.0 / 9.0;
  p = p * t + 1.0 / 7.0;
  p = p * t + 1.0 / 5.0;
  p = p * t + 1.0 / 3.0;
  p = p * t + 1.0;
  return static_cast<double>(exponent) * 0.6931471805599453 + 2.0 * s * p;
}

// w log w of an integer w < 2^31 as an integer; a sum of these over parts of 2^31 is below 2^60.
constexpr double kLogUnit = 16777216.0;

static inline int64_t whole_log(int64_t w) {
  if (w < 2) return 0;
  const auto x = static_cast<double>(w);
  return static_cast<int64_t>(x * log_from_one(x) * kLogUnit + 0.5);
}

}  // namespace stagewise
