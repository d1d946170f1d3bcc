// Distributions of positive numbers and of shares; the formulas are in
// losses/distributions/positive.py.
#pragma once

#include "kernels/distributions/real.hpp"

namespace stagewise {
namespace {

constexpr double kEuler = 0.5772156649015329;

struct LogNormalFamily {
  static constexpr size_t kScores = 2;
  static constexpr int kPair = -1;
  LogNormalFamily(DoubleLanes y, const Scores<2>& f, double)
      : log_y(log_lanes(y)), normal(log_y, f, 0.0) {}
  DoubleLanes loss() const { return normal.loss() + log_y; }
  void derivatives(Scores<2>& g, Information<2>& information) const {
    normal.derivatives(g, information);
  }
  DoubleLanes log_y;
  NormalFamily normal;
};

struct GammaFamily {
  static constexpr size_t kScores = 2;
  static constexpr int kPair = -1;
  static constexpr double kLargest = 700.0;  // of log(y / mean)
  GammaFamily(DoubleLanes y, const Scores<2>& f, double)
      : log_y(log_lanes(y)),
        log_shape(f[1]),
        shape(exp_lanes(f[1])),
        log_ratio(log_y - f[0]),
        excess(expm1_lanes(at_most(log_ratio, kLargest))),
        rest(shape, log_shape) {}
  DoubleLanes loss() const {
    return shape * (excess - log_ratio) - 0.5 * log_shape + kHalfLogTwoPi + rest.value() + log_y;
  }
  void derivatives(Scores<2>& g, Information<2>& information) const {
    g[0] = -shape * excess;
    g[1] = shape * (excess - log_ratio + rest.slope());
    information[0][0] = shape;
    information[1][1] = shape * shape * rest.curvature();
  }
  DoubleLanes log_y, log_shape, shape, log_ratio, excess;
  GammaRest rest;
};

struct WeibullFamily {
  static constexpr size_t kScores = 2;
  static constexpr int kPair = 0;
  static constexpr double kLargest = 700.0;                      // of log z
  static constexpr double kLargestSlope = 5.184705528587072e21;  // e^50: slopes end there
  WeibullFamily(DoubleLanes y, const Scores<2>& f, double)
      : log_y(log_lanes(y)),
        log_shape(f[1]),
        shape(exp_lanes(f[1])),
        log_z(shape * (log_y - f[0])),
        excess(expm1_lanes(at_most(log_z, kLargest))) {}
  DoubleLanes loss() const { return (excess - log_z) + 1.0 - log_shape + log_y; }
  void derivatives(Scores<2>& g, Information<2>& information) const {
    const DoubleLanes bounded_excess = at_most(excess, kLargestSlope);
    g[0] = -shape * bounded_excess;
    g[1] = bounded_excess * log_z - 1.0;
    information[0][0] = shape * shape;
    information[1][1] = DoubleLanes{} + (kPi * kPi / 6.0 + (1.0 - kEuler) * (1.0 - kEuler));
    information[0][1] = information[1][0] = -shape * (1.0 - kEuler);
  }
  DoubleLanes log_y, log_shape, shape, log_z, excess;
};

// 1 / (1 + e^-x) and 1 / (1 + e^x), and their logarithms.
struct Odds {
  explicit Odds(DoubleLanes x) {
    const IntegerLanes negative = x < DoubleLanes{};
    const DoubleLanes e = exp_lanes(-absolute_of(x)), whole = 1.0 / (1.0 + e);
    const DoubleLanes log_whole = -log1p_lanes(e), log_part = log_whole - absolute_of(x);
    above = negative ? e * whole : whole;
    below = negative ? whole : e * whole;
    log_above = negative ? log_part : log_whole;
    log_below = negative ? log_whole : log_part;
  }
  DoubleLanes above, below, log_above, log_below;
};

struct BetaFamily {
  static constexpr size_t kScores = 2;
  static constexpr int kPair = 0;
  BetaFamily(DoubleLanes y, const Scores<2>& f, double)
      : log_y(log_lanes(y)),
        log_rest(log1p_lanes(-y)),
        log_precision(f[1]),
        precision(exp_lanes(f[1])),
        mean(f[0]),
        a(mean.above * precision),
        b(mean.below * precision),
        of_a(a, mean.log_above + log_precision),
        of_b(b, mean.log_below + log_precision),
        of_both(precision, log_precision) {}
  DoubleLanes loss() const {
    const DoubleLanes logs = mean.log_above + mean.log_below + log_precision;
    return a * (mean.log_above - log_y) + b * (mean.log_below - log_rest) - 0.5 * logs +
           kHalfLogTwoPi + (of_a.value() + of_b.value() - of_both.value()) + log_y + log_rest;
  }
  void derivatives(Scores<2>& g, Information<2>& information) const {
    const DoubleLanes whole = of_both.slope();
    const DoubleLanes first = mean.log_above - log_y + (of_a.slope() - whole);
    const DoubleLanes second = mean.log_below - log_rest + (of_b.slope() - whole);
    const DoubleLanes slope = a * mean.below;
    g[0] = slope * (first - second);
    g[1] = a * first + b * second;
    const DoubleLanes left = of_a.curvature(), right = of_b.curvature();
    information[0][0] = slope * slope * ((1.0 / a + left) + (1.0 / b + right));
    information[0][1] = information[1][0] = slope * (a * left - b * right);
    information[1][1] = a * a * left + b * b * right - precision * precision * of_both.curvature();
  }
  DoubleLanes log_y, log_rest, log_precision, precision;
  Odds mean;
  DoubleLanes a, b;
  GammaRest of_a, of_b, of_both;
};

}  // namespace
}  // namespace stagewise
