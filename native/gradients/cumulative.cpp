#include "gradients/cumulative.hpp"

#include <cmath>
#include <limits>

#include "core/exact_sum.hpp"

namespace stagewise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfLog2Pi = 0.9189385332046727;
constexpr double kSqrtHalf = 0.7071067811865476;
constexpr double kTail = -25.0;  // below, the normal distribution function is its asymptotic series
constexpr double kNarrow = 1e-6;  // narrower intervals have the density of their middle

// log(1 + e^x) and its derivatives; x may be -inf.
struct Softplus {
  explicit Softplus(double x) : decay(std::exp(x < 0.0 ? x : -x)), positive(x > 0.0 ? x : 0.0) {
    const double inverse = 1.0 / (1.0 + decay);
    slope = x < 0.0 ? decay * inverse : inverse;
    curvature = decay * inverse * inverse;
  }
  double value() const { return std::log1p(decay) + positive; }
  double decay, positive, slope, curvature;
};

double log_normal_cdf(double x) {
  if (x > kTail) return std::log(0.5 * std::erfc(-x * kSqrtHalf));
  const double t = 1.0 / (x * x);
  const double series = -t * (1.0 - t * (3.0 - t * (15.0 - t * 105.0)));
  return -0.5 * x * x - std::log(-x) - kHalfLog2Pi + std::log1p(series);
}

// log(Phi(b) - Phi(a)) for a < b with a + b <= 0.
double log_normal_interval(double a, double b) {
  if (b - a < kNarrow) {
    const double middle = 0.5 * (a + b);
    return -0.5 * middle * middle - kHalfLog2Pi + std::log(b - a);
  }
  if (b > kTail) {
    const double below = std::isinf(a) ? 0.0 : 0.5 * std::erfc(-a * kSqrtHalf);
    return std::log(0.5 * std::erfc(-b * kSqrtHalf) - below);
  }
  const double high = log_normal_cdf(b);
  return std::isinf(a) ? high : high + std::log(-std::expm1(log_normal_cdf(a) - high));
}

}  // namespace

CumulativeRows::CumulativeRows(std::span<const int32_t> y, std::span<const double> score,
                               std::span<const double> weight, std::span<const double> thresholds,
                               Latent latent)
    : y_(y), score_(score), weight_(weight), latent_(latent) {
  for (size_t k = 0; k <= thresholds.size(); ++k) {
    Class own{k == 0 ? -kInfinity : thresholds[k - 1],
              k == thresholds.size() ? kInfinity : thresholds[k], 0.0, 0.0};
    const double gap = own.upper - own.lower;
    own.inverse = 1.0 / std::expm1(gap);
    own.log_gap = std::log(-std::expm1(-gap));
    classes_.push_back(own);
  }
}

// Since G(b) - G(a) = G(b) G(-a) (1 - e^(a-b)), no difference of close numbers is computed.
Interval CumulativeRows::logistic(const Class& own, double score) const {
  const Softplus above(score - own.upper), below(own.lower - score);
  const double curved = own.inverse * (1.0 + own.inverse);
  return {below.slope + own.inverse, -above.slope - own.inverse, below.curvature + curved,
          above.curvature + curved, -curved};
}

Interval CumulativeRows::normal(const Class& own, double score, double* logarithm) const {
  const double lower = own.lower - score, upper = own.upper - score;
  const bool mirrored = lower + upper > 0.0;
  const double a = mirrored ? -upper : lower, b = mirrored ? -lower : upper;
  const double log_p = log_normal_interval(a, b);
  *logarithm = log_p;
  const auto ratio = [=](double x) {
    return std::isinf(x) ? 0.0 : std::exp(-0.5 * x * x - kHalfLog2Pi - log_p);
  };
  const double at_a = ratio(a), at_b = ratio(b);
  const double curved_a = std::isinf(a) ? 0.0 : at_a * (at_a - a);
  const double curved_b = std::isinf(b) ? 0.0 : at_b * (at_b + b);
  if (mirrored) return {at_b, -at_a, curved_b, curved_a, -at_a * at_b};
  return {at_a, -at_b, curved_a, curved_b, -at_a * at_b};
}

Interval CumulativeRows::interval(size_t row) const {
  const Class& own = classes_[static_cast<size_t>(y_[row])];
  double log_p;
  return latent_ == Latent::logistic ? logistic(own, score_[row])
                                     : normal(own, score_[row], &log_p);
}

// Of the score; the terms of the gap between the thresholds cancel and are left out.
CumulativeRows::Slope CumulativeRows::slope(size_t row) const {
  const Class& limits = classes_[static_cast<size_t>(y_[row])];
  if (latent_ == Latent::logistic) {
    const Softplus above(score_[row] - limits.upper), below(limits.lower - score_[row]);
    return {above.value() + below.value() - limits.log_gap, above.slope - below.slope,
            above.curvature + below.curvature};
  }
  double log_p;
  const Interval own = normal(limits, score_[row], &log_p);
  const double curvature = own.lower_lower + 2.0 * own.lower_upper + own.upper_upper;
  return {-log_p, -(own.lower + own.upper),
          curvature < 0.0 ? 0.0 : (curvature > 1.0 ? 1.0 : curvature)};
}

double CumulativeRows::fill(Workers& workers, Gradients& gradients) const {
  gradients.fill(workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    for (size_t i = 0; i < n; ++i) {
      const Slope own = slope(begin + i);
      const double w = weight_.empty() ? 1.0 : weight_[begin + i];
      out[i].pair.gradient = static_cast<float>(own.gradient);
      out[i].pair.hessian = static_cast<float>(own.curvature);
      if (w == 0.0) continue;
      sums->loss += w * own.loss;
      sums->abs_gradient += w * std::abs(own.gradient);
      sums->hessian += w * own.curvature;
    }
  });
  return gradients.sums().loss;
}

std::vector<double> CumulativeRows::sums(Workers& workers) const {
  const size_t n = y_.size(), cells = classes_.size() * kIntervalNumbers;
  const size_t blocks = (n + kRowBlock - 1) / kRowBlock;
  std::vector<double> partial(blocks * cells);
  workers.run(blocks, [&](size_t block, int) {
    double* const own = partial.data() + block * cells;
    const size_t begin = block * kRowBlock, end = std::min(n, begin + kRowBlock);
    for (size_t i = begin; i < end; ++i) {
      const Interval row = interval(i);
      const double w = weight_.empty() ? 1.0 : weight_[i];
      double* const at = own + static_cast<size_t>(y_[i]) * kIntervalNumbers;
      if (w == 0.0) continue;
      at[0] += w * row.lower;
      at[1] += w * row.upper;
      at[2] += w * row.lower_lower;
      at[3] += w * row.upper_upper;
      at[4] += w * row.lower_upper;
    }
  });
  std::vector<double> total(cells);
  for (size_t c = 0; c < cells; ++c) {
    ExactSum sum;
    for (size_t b = 0; b < blocks; ++b) sum.add(partial[b * cells + c]);
    total[c] = sum.value();
  }
  return total;
}

}  // namespace stagewise
