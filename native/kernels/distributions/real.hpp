// Distributions of real numbers; the formulas are in losses/distributions/real.py.
#pragma once

#include "kernels/elementary/gamma.hpp"

namespace stagewise {
namespace {

// A family computes what its functions share once, for the scores f of some rows within their
// bounds. Its information has entries beside the diagonal only for the pair of scores kPair; -1:
// none that trees use.
template <size_t K>
using Scores = DoubleLanes[K];
template <size_t K>
using Information = DoubleLanes[K][K];

constexpr double kPi = 3.141592653589793;
constexpr double kLogTwo = 0.6931471805599453;

inline __attribute__((always_inline)) DoubleLanes absolute_of(DoubleLanes x) {
  return x < DoubleLanes{} ? -x : x;
}
inline __attribute__((always_inline)) DoubleLanes at_most(DoubleLanes x, double limit) {
  const DoubleLanes lanes = DoubleLanes{} + limit;
  return x > lanes ? lanes : x;
}
inline __attribute__((always_inline)) DoubleLanes at_least(DoubleLanes x, double limit) {
  const DoubleLanes lanes = DoubleLanes{} + limit;
  return x < lanes ? lanes : x;
}

struct NormalFamily {
  static constexpr size_t kScores = 2;
  static constexpr int kPair = -1;
  NormalFamily(DoubleLanes y, const Scores<2>& f, double)
      : log_scale(f[1]), inverse(exp_lanes(-f[1])), z((y - f[0]) * inverse) {}
  DoubleLanes loss() const { return log_scale + 0.5 * z * z + kHalfLogTwoPi; }
  void derivatives(Scores<2>& g, Information<2>& information) const {
    g[0] = -z * inverse;
    g[1] = 1.0 - z * z;
    information[0][0] = inverse * inverse;
    information[1][1] = DoubleLanes{} + 2.0;
  }
  DoubleLanes log_scale, inverse, z;
};

struct LaplaceFamily {
  static constexpr size_t kScores = 2;
  static constexpr int kPair = -1;
  LaplaceFamily(DoubleLanes y, const Scores<2>& f, double)
      : log_scale(f[1]), inverse(exp_lanes(-f[1])), z((y - f[0]) * inverse) {}
  DoubleLanes loss() const { return log_scale + absolute_of(z) + kLogTwo; }
  void derivatives(Scores<2>& g, Information<2>& information) const {
    const DoubleLanes zero = {};
    g[0] = z > zero ? -inverse : (z < zero ? inverse : zero);
    g[1] = 1.0 - absolute_of(z);
    information[0][0] = inverse * inverse;
    information[1][1] = DoubleLanes{} + 1.0;
  }
  DoubleLanes log_scale, inverse, z;
};

// 1/v + digamma(v/2) - digamma((v+1)/2), and the information about v, for v degrees of freedom.
struct DegreesOfFreedom {
  explicit DegreesOfFreedom(DoubleLanes df)
      : half(0.5 * df),
        log_half(log_lanes(half)),
        low(half, log_half),
        high(half + 0.5, log_lanes(half + 0.5)) {}
  // log Gamma((v+1)/2) - log Gamma(v/2)
  DoubleLanes step() const {
    return half * log1p_lanes(0.5 / half) - 0.5 + 0.5 * log_half + (high.value() - low.value());
  }
  DoubleLanes slope() const {
    const DoubleLanes df = 2.0 * half, inverse = 1.0 / df;
    const DoubleLanes near = (inverse - log1p_lanes(inverse)) + (low.slope() - high.slope());
    return df > DoubleLanes{} + 1e4 ? -0.5 * inverse * inverse : near;
  }
  DoubleLanes information() const {
    const DoubleLanes df = 2.0 * half, inverse = 1.0 / df;
    DoubleLanes near = 1.0 / half - 1.0 / (half + 0.5) + (low.curvature() - high.curvature());
    near = 0.25 * near - (df + 5.0) / (2.0 * df * (df + 1.0) * (df + 3.0));
    const DoubleLanes square = inverse * inverse;  // beyond 300 the leading term
    return df > DoubleLanes{} + 300.0 ? 3.5 * square * square : at_least(near, 1e-300);
  }
  DoubleLanes half, log_half;
  GammaRest low, high;
};

template <bool kFixed>
struct StudentTFamily {
  static constexpr size_t kScores = kFixed ? 2 : 3;
  static constexpr int kPair = kFixed ? -1 : 1;
  StudentTFamily(DoubleLanes y, const Scores<kScores>& f, double own)
      : log_scale(f[1]), inverse(exp_lanes(-f[1])), z((y - f[0]) * inverse) {
    if constexpr (kFixed)
      df = DoubleLanes{} + own;
    else
      df = 1.0 + exp_lanes(f[2]);
    ratio = z * z / df;
    log_ratio = log1p_lanes(ratio);
  }
  DoubleLanes loss() const {
    return log_scale + 0.5 * (df + 1.0) * log_ratio + 0.5 * log_lanes(df * kPi) -
           DegreesOfFreedom(df).step();
  }
  void derivatives(Scores<kScores>& g, Information<kScores>& information) const {
    const DoubleLanes v = (df + 1.0) / (df + z * z);
    g[0] = -v * z * inverse;
    g[1] = 1.0 - v * z * z;
    information[0][0] = (df + 1.0) / (df + 3.0) * (inverse * inverse);
    information[1][1] = 2.0 * df / (df + 3.0);
    if constexpr (!kFixed) {
      const DegreesOfFreedom own(df);
      g[2] = 0.5 * (df - 1.0) * (log_ratio - v * ratio + own.slope());
      information[1][2] = information[2][1] = -2.0 * (df - 1.0) / ((df + 1.0) * (df + 3.0));
      information[2][2] = (df - 1.0) * (df - 1.0) * own.information();
    }
  }
  DoubleLanes log_scale, inverse, z, df, ratio, log_ratio;
};

}  // namespace
}  // namespace stagewise
