// Losses by formula: the steps of a program, each a loop over the rows of a strip that stays in the
// first-level cache.
#pragma once

#include <cmath>

#include "core/float_math.hpp"
#include "kernels/api/formula.hpp"
#include "kernels/losses.hpp"

namespace stagewise {
namespace {

constexpr size_t kStrip = 128;  // rows; 96 registers of them are 48 kB

// log x for x > 0 that is not subnormal:  x = 2^k m, sqrt(1/2) <= m < sqrt(2), log m = 2 atanh s.
inline float log_of_positive(float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t above = (bits & 0x007fffffu) > 0x003504f3u ? 1u : 0u;  // m >= sqrt(2)
  const auto k =
      static_cast<float>(static_cast<int32_t>(bits >> 23) - 127 + static_cast<int32_t>(above));
  const float m = float_from_bits((bits & 0x007fffffu) | (0x3f800000u - (above << 23)));
  const float f = m - 1.0f;
  const float s = f / (2.0f + f);
  const float t = s * s;
  float p = 1.11111111e-1f;
  p = p * t + 1.42857143e-1f;
  p = p * t + 2.0e-1f;
  p = p * t + 3.33333333e-1f;
  p = p * t + 1.0f;
  return k * 0.693147181f + 2.0f * s * p;
}

inline float formula_log(float x) {
  const float found = log_of_positive(x < 1.17549435e-38f ? 1.17549435e-38f : x);
  return x < 0.0f ? __builtin_nanf("") : (x == 0.0f ? -__builtin_inff() : found);
}

inline float formula_expm1(float x) {
  const float whole = exp_clamped(x) - 1.0f;
  float p = 2.48015873e-5f;  // Taylor, for |x| <= 0.35
  p = p * x + 1.98412698e-4f;
  p = p * x + 1.38888889e-3f;
  p = p * x + 8.33333333e-3f;
  p = p * x + 4.16666667e-2f;
  p = p * x + 1.66666667e-1f;
  p = p * x + 0.5f;
  p = p * x + 1.0f;
  return x > -0.35f && x < 0.35f ? p * x : whole;
}

inline float formula_log1p(float x) {
  const float s = x / (2.0f + x), t = s * s;  // 2 atanh s, for |x| <= 0.3
  float p = 1.11111111e-1f;
  p = p * t + 1.42857143e-1f;
  p = p * t + 2.0e-1f;
  p = p * t + 3.33333333e-1f;
  p = p * t + 1.0f;
  return x > -0.3f && x < 0.3f ? 2.0f * s * p : formula_log(1.0f + x);
}

inline float formula_tanh(float x) {
  const float size = x < 0.0f ? -x : x;
  const float e = formula_expm1(-2.0f * size);
  const float t = -e / (2.0f + e);
  return x < 0.0f ? -t : t;
}

inline float formula_sigmoid(float x) {
  const float e = exp_nonpositive(x < 0.0f ? x : -x), inverse = 1.0f / (1.0f + e);
  return x < 0.0f ? e * inverse : inverse;
}

inline float formula_softplus(float x) {
  const float e = exp_nonpositive(x < 0.0f ? x : -x);
  return log1p_unit(e) + (x > 0.0f ? x : 0.0f);
}

// log cosh x; for |x| < 1 it is ½ log(1 + sinh² x), sinh x = (u + u / (1 + u)) / 2, u = e^x - 1.
inline float formula_log_cosh(float x) {
  const float size = x < 0.0f ? -x : x;
  const float u = formula_expm1(size < 1.0f ? size : 1.0f);
  const float sinh = 0.5f * (u + u / (1.0f + u));
  const float near = 0.5f * formula_log1p(sinh * sinh);
  const float far = size + log1p_unit(exp_nonpositive(-2.0f * size)) - 0.693147181f;
  return size < 1.0f ? near : far;
}

// a^b of a >= 0; of a negative base it is NaN (whole powers are compiled to products).
inline float formula_power(float a, float b) {
  const float found = exp_clamped(b * log_of_positive(a < 1.17549435e-38f ? 1.17549435e-38f : a));
  const float at_zero = b > 0.0f ? 0.0f : (b == 0.0f ? 1.0f : __builtin_inff());
  return a < 0.0f ? __builtin_nanf("") : (a == 0.0f ? at_zero : found);
}

template <class Function>
void each_row(float* __restrict__ out, const float* __restrict__ a, const float* __restrict__ b,
              Function function) {  // a and b may be the same register, but not out
  for (size_t i = 0; i < kStrip; ++i) out[i] = function(a[i], b[i]);
}

void run_step(FormulaOperation operation, float* out, const float* a, const float* b) {
  using O = FormulaOperation;
  switch (operation) {
    case O::add:
      return each_row(out, a, b, [](float x, float y) { return x + y; });
    case O::subtract:
      return each_row(out, a, b, [](float x, float y) { return x - y; });
    case O::multiply:
      return each_row(out, a, b, [](float x, float y) { return x * y; });
    case O::divide:
      return each_row(out, a, b, [](float x, float y) { return x / y; });
    case O::power:
      return each_row(out, a, b, [](float x, float y) { return formula_power(x, y); });
    case O::maximum:
      return each_row(out, a, b, [](float x, float y) { return x > y ? x : y; });
    case O::minimum:
      return each_row(out, a, b, [](float x, float y) { return x < y ? x : y; });
    case O::less:
      return each_row(out, a, b, [](float x, float y) { return x < y ? 1.0f : 0.0f; });
    case O::negate:
      return each_row(out, a, b, [](float x, float) { return -x; });
    case O::absolute:
      return each_row(out, a, b, [](float x, float) { return x < 0.0f ? -x : x; });
    case O::sign:
      return each_row(out, a, b,
                      [](float x, float) { return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : 0.0f); });
    case O::exp:
      return each_row(out, a, b, [](float x, float) { return exp_clamped(x); });
    case O::expm1:
      return each_row(out, a, b, [](float x, float) { return formula_expm1(x); });
    case O::log:
      return each_row(out, a, b, [](float x, float) { return formula_log(x); });
    case O::log1p:
      return each_row(out, a, b, [](float x, float) { return formula_log1p(x); });
    case O::sqrt:
      return each_row(out, a, b, [](float x, float) { return __builtin_sqrtf(x); });
    case O::tanh:
      return each_row(out, a, b, [](float x, float) { return formula_tanh(x); });
    case O::sigmoid:
      return each_row(out, a, b, [](float x, float) { return formula_sigmoid(x); });
    case O::softplus:
      return each_row(out, a, b, [](float x, float) { return formula_softplus(x); });
    case O::log_cosh:
      return each_row(out, a, b, [](float x, float) { return formula_log_cosh(x); });
    case O::decay:
      return each_row(out, a, b, [](float x, float) { return exp_nonpositive(x < 0.0f ? x : -x); });
    case O::gate:
      return each_row(out, a, b, [](float x, float e) { return x < 0.0f ? e : 1.0f; });
    case O::raise:
      return each_row(out, a, b,
                      [](float x, float e) { return log1p_unit(e) + (x > 0.0f ? x : 0.0f); });
    case O::residual:
    case O::count:
      return;
  }
}

void formula(const FormulaProgram* program, const double* y, const double* score,
             const double* weight, size_t n, GradientSlot* out, LossSums* sums) {
  alignas(64) float registers[kFormulaRegisters][kStrip];
  LossBlock b;
  for (size_t c = 0; c < program->n_constants; ++c)
    for (size_t i = 0; i < kStrip; ++i) registers[2 + c][i] = program->constants[c];
  for (size_t begin = 0; begin < n; begin += kStrip) {
    const size_t m = n - begin < kStrip ? n - begin : kStrip;
    for (size_t i = 0; i < m; ++i) {
      registers[0][i] = static_cast<float>(y[begin + i]);
      registers[1][i] = static_cast<float>(score[begin + i]);
    }
    for (size_t i = m; i < kStrip; ++i) {  // the rest of the last strip repeats its first row
      registers[0][i] = registers[0][0];
      registers[1][i] = registers[1][0];
    }
    for (size_t s = 0; s < program->n_steps; ++s) {
      const FormulaStep step = program->steps[s];
      float* const result = registers[step.out];
      if (step.operation == FormulaOperation::residual) {
        for (size_t i = 0; i < m; ++i)
          result[i] = static_cast<float>(y[begin + i] - score[begin + i]);
        for (size_t i = m; i < kStrip; ++i) result[i] = result[0];
      } else {
        run_step(step.operation, result, registers[step.a], registers[step.b]);
      }
    }
    for (size_t i = 0; i < m; ++i) {
      const float h = registers[program->hessian][i];
      b.gradient[begin + i] = registers[program->gradient][i];
      b.hessian[begin + i] = h < 0.0f ? 0.0f : h;  // below 0 by rounding only
      b.loss[begin + i] = registers[program->loss][i];
    }
  }
  b.store(weight, n, out, sums);
}

}  // namespace
}  // namespace stagewise
