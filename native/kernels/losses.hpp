// Losses: value, gradient and hessian of a block of rows.
//
// A block is computed elementwise and summed in eight fixed lanes, so every vector width
// gives the same bits.
#pragma once

#include "core/float_math.hpp"
#include "kernels/api/losses.hpp"

namespace stagewise {
namespace {

// Sum of a[i] * weight[i] in eight fixed lanes: one order for every vector width.
double lane_sum(const float* a, const double* weight, size_t n) {
  double lane[8] = {};
  size_t i = 0;
  if (weight == nullptr) {
    for (; i + 8 <= n; i += 8)
      for (size_t j = 0; j < 8; ++j) lane[j] += static_cast<double>(a[i + j]);
    for (size_t j = 0; i + j < n; ++j) lane[j] += static_cast<double>(a[i + j]);
  } else {
    for (; i + 8 <= n; i += 8)
      for (size_t j = 0; j < 8; ++j) lane[j] += static_cast<double>(a[i + j]) * weight[i + j];
    for (size_t j = 0; i + j < n; ++j) lane[j] += static_cast<double>(a[i + j]) * weight[i + j];
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

typedef float FourFloats __attribute__((vector_size(16)));
typedef float EightFloats __attribute__((vector_size(32)));
typedef double FourDoubles __attribute__((vector_size(32)));

template <class Vector>
inline __attribute__((always_inline)) Vector load_lanes(const void* from) {
  Vector lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// What a loss computes for a block of rows before it is stored and summed.
struct LossBlock {
  float gradient[kRowBlock];
  float hessian[kRowBlock];
  float loss[kRowBlock];

  void store(const double* weight, size_t n, GradientSlot* out, LossSums* sums) {
    if (n == 0) return;
    for (size_t i = 0; i < n; ++i) {
      out[i].pair.gradient = gradient[i];
      out[i].pair.hessian = hessian[i];
    }
    for (size_t i = 0; i < n; ++i) gradient[i] = gradient[i] < 0.0f ? -gradient[i] : gradient[i];
    if (weight == nullptr) {
      add_up<false>(nullptr, nullptr, n, sums);
    } else {
      float rough[kRowBlock];
      for (size_t i = 0; i < n; ++i) rough[i] = static_cast<float>(weight[i]);
      add_up<true>(weight, rough, n, sums);
    }
  }

 private:
  // The sums as lane_sum() has them; those of gradients and hessians in float, since only their
  // size matters. Each waits for its own additions, so the three go side by side.
  template <bool kWeighted>
  void add_up(const double* weight, const float* rough, size_t n, LossSums* sums) const {
    FourDoubles losses[2] = {};
    EightFloats hessians = {}, gradients = {};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      auto g = load_lanes<EightFloats>(gradient + i), h = load_lanes<EightFloats>(hessian + i);
      if constexpr (kWeighted) {
        g *= load_lanes<EightFloats>(rough + i);
        h *= load_lanes<EightFloats>(rough + i);
      }
      gradients += g;
      hessians += h;
      for (size_t k = 0; k < 2; ++k) {
        const auto own = load_lanes<FourFloats>(loss + i + 4 * k);
        auto wide = __builtin_convertvector(own, FourDoubles);
        if constexpr (kWeighted) wide *= load_lanes<FourDoubles>(weight + i + 4 * k);
        losses[k] += wide;
      }
    }
    for (size_t j = 0; i + j < n; ++j) {
      gradients[j] += kWeighted ? gradient[i + j] * rough[i + j] : gradient[i + j];
      hessians[j] += kWeighted ? hessian[i + j] * rough[i + j] : hessian[i + j];
      const auto own = static_cast<double>(loss[i + j]);
      losses[j / 4][j % 4] += kWeighted ? own * weight[i + j] : own;
    }
    const auto total = [](const auto& a, const auto& b) {
      return ((a[0] + a[1]) + (a[2] + a[3])) + ((b[0] + b[1]) + (b[2] + b[3]));
    };
    const auto of_floats = [&](const EightFloats& lanes) {
      float all[8];
      __builtin_memcpy(all, &lanes, sizeof all);
      return static_cast<double>(total(all, all + 4));
    };
    sums->loss = total(losses[0], losses[1]);
    sums->hessian = of_floats(hessians);
    sums->abs_gradient = of_floats(gradients);
  }
};

// A loss of one number per row: formula(y, F) gives its three numbers.
struct RowLoss {
  float gradient, hessian, loss;
};

template <class Y, class Formula>
void pointwise(const Y* y, const double* score, const double* weight, size_t n, GradientSlot* out,
               LossSums* sums, Formula formula) {
  LossBlock b;
  for (size_t i = 0; i < n; ++i) {
    const RowLoss row = formula(y[i], score[i]);
    b.gradient[i] = row.gradient;
    b.hessian[i] = row.hessian;
    b.loss[i] = row.loss;
  }
  b.store(weight, n, out, sums);
}

void squared(const double* y, const double* score, const double* weight, size_t n, double,
             GradientSlot* out, LossSums* sums) {
  pointwise(y, score, weight, n, out, sums, [](double target, double f) {
    const auto r = static_cast<float>(f - target);
    return RowLoss{r, 1.0f, 0.5f * r * r};
  });
}

void absolute(const double* y, const double* score, const double* weight, size_t n, double,
              GradientSlot* out, LossSums* sums) {
  pointwise(y, score, weight, n, out, sums, [](double target, double f) {
    const auto r = static_cast<float>(f - target);
    const float g = r > 0.0f ? 1.0f : (r < 0.0f ? -1.0f : 0.0f);
    return RowLoss{g, 1.0f, g * r};
  });
}

// A residual above weighs 1 - q, one below q; the q-quantile is the best constant.
void quantile(const double* y, const double* score, const double* weight, size_t n, double q,
              GradientSlot* out, LossSums* sums) {
  const auto below = static_cast<float>(q), above = static_cast<float>(1.0 - q);
  pointwise(y, score, weight, n, out, sums, [=](double target, double f) {
    const auto r = static_cast<float>(f - target);
    const float g = r > 0.0f ? above : (r < 0.0f ? -below : 0.0f);
    return RowLoss{g, 1.0f, g * r};
  });
}

// Squared up to delta, then straight on.
void huber(const double* y, const double* score, const double* weight, size_t n, double delta,
           GradientSlot* out, LossSums* sums) {
  const auto d = static_cast<float>(delta);
  pointwise(y, score, weight, n, out, sums, [=](double target, double f) {
    const auto r = static_cast<float>(f - target);
    const float size = r < 0.0f ? -r : r;
    const float g = r > d ? d : (r < -d ? -d : r);
    return RowLoss{g, 1.0f, size <= d ? 0.5f * r * r : d * (size - 0.5f * d)};
  });
}

// Mean e^F;  loss = e^F - y F.
void poisson(const double* y, const double* score, const double* weight, size_t n, double,
             GradientSlot* out, LossSums* sums) {
  pointwise(y, score, weight, n, out, sums, [](double target, double f) {
    const auto t = static_cast<float>(target), x = static_cast<float>(f);
    const float mean = exp_clamped(x);
    return RowLoss{mean - t, mean, mean - t * x};
  });
}

// Mean e^F;  loss = y e^-F + F.
void gamma(const double* y, const double* score, const double* weight, size_t n, double,
           GradientSlot* out, LossSums* sums) {
  pointwise(y, score, weight, n, out, sums, [](double target, double f) {
    const auto x = static_cast<float>(f);
    const float ratio = static_cast<float>(target) * exp_clamped(-x);
    return RowLoss{1.0f - ratio, ratio, ratio + x};
  });
}

// Mean e^F, variance its power;  loss = y e^((1-p)F) / (p-1) + e^((2-p)F) / (2-p),  1 < p < 2.
void tweedie(const double* y, const double* score, const double* weight, size_t n, double power,
             GradientSlot* out, LossSums* sums) {
  const auto a = static_cast<float>(power - 1.0), b = static_cast<float>(2.0 - power);
  pointwise(y, score, weight, n, out, sums, [=](double target, double f) {
    const auto x = static_cast<float>(f);
    const float up = static_cast<float>(target) * exp_clamped(-a * x), down = exp_clamped(b * x);
    return RowLoss{down - up, a * up + b * down, up / a + down / b};
  });
}

// e^x, beyond e^60 the value there: sums of many rows stay inside a float.
float exp_for_sums(float x) { return exp_clamped(x > 60.0f ? 60.0f : x); }

// With labels s = ±1:  loss = e^(-s F),  g = -s e^(-s F),  h = e^(-s F).
void exponential(const int32_t* y, const double* score, const double* weight, size_t n,
                 GradientSlot* out, LossSums* sums) {
  pointwise(y, score, weight, n, out, sums, [](int32_t label, double f) {
    const auto x = static_cast<float>(f);
    const float e = exp_for_sums(label != 0 ? -x : x);
    return RowLoss{label != 0 ? -e : e, e, e};
  });
}

// p = 1 / (1 + e^-F);  g = p - y;  h = p (1 - p);  loss = log(1 + e^-|F|) + max(F, 0) - y F.
void logistic(const int32_t* y, const double* score, const double* weight, size_t n,
              GradientSlot* out, LossSums* sums) {
  LossBlock b;
  for (size_t i = 0; i < n; ++i) {
    // With F towards the wrong class counted positive, g = ±1 / (1 + e^-F) loses no digits.
    const float f = static_cast<float>(score[i]);
    const float wrong = y[i] != 0 ? -f : f;
    const float size = wrong < 0.0f ? -wrong : wrong;
    const float e = exp_nonpositive(-size);
    const float inverse = 1.0f / (1.0f + e);
    const float p = wrong < 0.0f ? e * inverse : inverse;
    b.gradient[i] = y[i] != 0 ? -p : p;
    b.hessian[i] = e * inverse * inverse;
    b.loss[i] = log1p_unit(e) + (wrong > 0.0f ? wrong : 0.0f);
  }
  b.store(weight, n, out, sums);
}

// The same for shares y in [0, 1], with the same bits for 0 and 1. With q = 1 - p:
// g = p (1 - y) - q y;  h = p q;  loss = log(1 + e^-|F|) + |F| (1 - y where F > 0, else y).
void cross_entropy(const double* y, const double* score, const double* weight, size_t n, double,
                   GradientSlot* out, LossSums* sums) {
  pointwise(y, score, weight, n, out, sums, [](double target, double f) {
    const auto share = static_cast<float>(target), rest = static_cast<float>(1.0 - target);
    const auto x = static_cast<float>(f);
    const float size = x < 0.0f ? -x : x;
    const float e = exp_nonpositive(-size);
    const float near = 1.0f / (1.0f + e), far = e * near;
    const float p = x > 0.0f ? near : far, q = x > 0.0f ? far : near;  // far <= near
    const float wrong = x > 0.0f ? rest : share;
    return RowLoss{p * rest - q * share, far * near,
                   log1p_unit(e) + (wrong > 0.0f ? wrong * size : 0.0f)};
  });
}

void softmax_state(const int32_t* y, const double* scores, size_t stride, size_t outputs,
                   const double* weight, size_t n, float* state, LossSums* sums) {
  float top[kRowBlock], sum[kRowBlock], loss[kRowBlock];
  for (size_t i = 0; i < n; ++i) top[i] = static_cast<float>(scores[i]);
  for (size_t k = 1; k < outputs; ++k)
    for (size_t i = 0; i < n; ++i) {
      const float f = static_cast<float>(scores[k * stride + i]);
      top[i] = f > top[i] ? f : top[i];
    }
  for (size_t i = 0; i < n; ++i) sum[i] = 0.0f;
  for (size_t k = 0; k < outputs; ++k)
    for (size_t i = 0; i < n; ++i)
      sum[i] += exp_nonpositive(static_cast<float>(scores[k * stride + i]) - top[i]);
  for (size_t i = 0; i < n; ++i) {
    state[2 * i] = top[i];
    state[2 * i + 1] = 1.0f / sum[i];
    const float own = static_cast<float>(scores[static_cast<size_t>(y[i]) * stride + i]);
    loss[i] = log_from_one(sum[i]) - (own - top[i]);
  }
  sums->loss = lane_sum(loss, weight, n);
}

// p_k = e^(F_k - max) / sum;  g = p_k - [y = k];  h = p_k (1 - p_k).
void softmax(const int32_t* y, const double* score, const float* state, int32_t output,
             const double* weight, size_t n, GradientSlot* out, LossSums* sums) {
  LossBlock b;
  for (size_t i = 0; i < n; ++i) {
    const float d = static_cast<float>(score[i]) - state[2 * i];
    const float p = exp_nonpositive(d < 0.0f ? d : 0.0f) * state[2 * i + 1];
    b.gradient[i] = y[i] == output ? p - 1.0f : p;
    b.hessian[i] = p * (1.0f - p);
    b.loss[i] = 0.0f;
  }
  b.store(weight, n, out, sums);
}

// w = e^(-(F_y - mean F) / (K - 1)), which is the loss of K classes and the state of a row.
void exponential_state(const int32_t* y, const double* scores, size_t stride, size_t outputs,
                       const double* weight, size_t n, float* state, LossSums* sums) {
  double sum[kRowBlock];
  for (size_t i = 0; i < n; ++i) sum[i] = scores[i];
  for (size_t k = 1; k < outputs; ++k)
    for (size_t i = 0; i < n; ++i) sum[i] += scores[k * stride + i];
  const auto count = static_cast<double>(outputs);
  for (size_t i = 0; i < n; ++i) {
    const double own = scores[static_cast<size_t>(y[i]) * stride + i];
    state[i] = exp_for_sums(static_cast<float>(-(own - sum[i] / count) / (count - 1.0)));
  }
  sums->loss = lane_sum(state, weight, n);
}

// With Y_k = 1 for the class itself and -1/(K-1) for the others: g = -Y_k w / K and, since all K
// scores move one exponent, as a bound h = K (Y_k / K)^2 w.
void multiclass_exponential(const int32_t* y, const float* state, int32_t output, size_t outputs,
                            const double* weight, size_t n, GradientSlot* out, LossSums* sums) {
  LossBlock b;
  const auto count = static_cast<float>(outputs);
  const float other = -1.0f / (count - 1.0f);
  for (size_t i = 0; i < n; ++i) {
    const float code = y[i] == output ? 1.0f : other;
    b.gradient[i] = -code * state[i] / count;
    b.hessian[i] = code * code * state[i] / count;
    b.loss[i] = 0.0f;
  }
  b.store(weight, n, out, sums);
}

}  // namespace
}  // namespace stagewise
