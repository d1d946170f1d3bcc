// Distributions of counts; the formulas are in losses/distributions/counts.py.
//
// A kind of counts has the loss, the gradient and the information of its own scores, and log f(0)
// with its gradient, which variants with other zeros use.
#pragma once

#include "kernels/distributions/positive.hpp"

namespace stagewise {
namespace {

struct PoissonCounts {
  static constexpr size_t kScores = 1;
  PoissonCounts(DoubleLanes own_y, const DoubleLanes* f)
      : y(own_y), log_mean(f[0]), mean(exp_lanes(f[0])) {}
  DoubleLanes loss() const { return mean - y * log_mean + log_gamma_lanes(y + 1.0); }
  void gradient(DoubleLanes* g) const { g[0] = mean - y; }
  DoubleLanes log_zero() const { return -mean; }
  void zero_slope(DoubleLanes* slope) const { slope[0] = -mean; }
  void information(Information<1>& own) const { own[0][0] = mean; }
  DoubleLanes y, log_mean, mean;
};

constexpr int kMostTerms = 24;

// The information about the logarithm of the dispersion; see NegativeBinomialLoss in
// losses/distributions/counts.py. r is 1 / dispersion, x the mean times the dispersion.
class DispersionInformation {
 public:
  DispersionInformation(DoubleLanes mean, DoubleLanes dispersion, DoubleLanes r,
                        DoubleLanes log1p_x)
      : r_(r), x_(dispersion * mean), t_(x_ / (1.0 + x_)), log1p_x_(log1p_x) {
    const DoubleLanes zero = {};
    const IntegerLanes wide = dispersion > zero + 0.2;
    const IntegerLanes rare = (dispersion > zero + 0.02) & (mean < zero + 10.0);
    sums_ = (wide | rare) & (x_ > zero + 1e-4);
    near_ = 0.5 / (1.0 + dispersion);
  }
  DoubleLanes value(const GammaRest& of_r) const {
    const DoubleLanes far = r_ * r_ * of_r.curvature();
    const DoubleLanes limits = t_ * t_ * (near_ * (1.0 - t_) + far * t_);
    return any_lane(sums_) ? (sums_ ? sum() : limits) : limits;
  }

 private:
  DoubleLanes sum() const {
    const DoubleLanes zero = {};
    DoubleLanes probability = exp_lanes(-r_ * log1p_x_), above = 1.0 - probability, total = {};
    IntegerLanes left = sums_;
    for (int j = 0; j < kMostTerms && any_lane(left); ++j) {
      const DoubleLanes at = r_ + static_cast<double>(j);
      total = left ? total + above / (at * at) : total;
      probability = probability * t_ * at * (1.0 / (static_cast<double>(j) + 1.0));
      above = at_least(above - probability, 0.0);
      left &= above > zero + 1e-7;
    }
    // P(Y > j) falls by the factor t per count, or more slowly: the integral of t^x / (r + J +
    // x)^2.
    const DoubleLanes first = r_ + (kMostTerms - 0.5), decay = log1p_lanes(1.0 / x_);
    total = left ? total + above / (first * (1.0 + decay * first)) : total;
    return at_least(r_ * r_ * total - t_ * r_, 1e-12);
  }
  DoubleLanes r_, x_, t_, log1p_x_, near_;
  IntegerLanes sums_;
};

struct NegativeBinomialCounts {
  static constexpr size_t kScores = 2;
  NegativeBinomialCounts(DoubleLanes own_y, const DoubleLanes* f)
      : y(own_y),
        log_mean(f[0]),
        mean(exp_lanes(f[0])),
        dispersion(exp_lanes(f[1])),
        r(exp_lanes(-f[1])),
        whole(1.0 + dispersion * mean),
        log_whole(log1p_lanes(dispersion * mean)),
        log_above(log1p_lanes(dispersion * y)),
        of_r(r, -f[1]),
        of_sum(y + r, log_above - f[1]) {
    // log((1 + dispersion y) / (1 + dispersion mean)); the first form loses no digits near 0.
    const DoubleLanes excess = dispersion * (y - mean) / whole;
    log_share = excess > DoubleLanes{} - 0.5 ? log1p_lanes(excess) : log_above - log_whole;
  }
  // The terms of log Gamma(y + r) and log Gamma(r) cancel up to those of Stirling's series.
  DoubleLanes loss() const {
    return -(r + y) * log_share + 0.5 * log_above + y - y * log_mean + log_gamma_lanes(y + 1.0) -
           (of_sum.value() - of_r.value());
  }
  void gradient(DoubleLanes* g) const {
    g[0] = (mean - y) / whole;
    g[1] = r * (log_share + (of_sum.slope() - of_r.slope())) + g[0];
  }
  DoubleLanes log_zero() const { return -r * log_whole; }
  void zero_slope(DoubleLanes* slope) const {
    slope[0] = -mean / whole;
    slope[1] = r * log_whole + slope[0];
  }
  void information(Information<2>& own) const {
    own[0][0] = mean / whole;
    own[0][1] = own[1][0] = DoubleLanes{};
    own[1][1] = DispersionInformation(mean, dispersion, r, log_whole).value(of_r);
  }
  DoubleLanes y, log_mean, mean, dispersion, r, whole, log_whole, log_above, log_share;
  GammaRest of_r, of_sum;
};

template <class Counts>
struct CountFamily {
  static constexpr size_t kScores = Counts::kScores;
  static constexpr int kPair = -1;
  CountFamily(DoubleLanes y, const Scores<kScores>& f, double) : counts(y, f) {}
  DoubleLanes loss() const { return counts.loss(); }
  void derivatives(Scores<kScores>& g, Information<kScores>& information) const {
    counts.gradient(g);
    counts.information(information);
  }
  Counts counts;
};

// Trees use the diagonal of the information of variants with other zeros.
template <class Counts>
struct ZeroInflatedFamily {
  static constexpr size_t kOwn = Counts::kScores, kScores = kOwn + 1;
  static constexpr int kPair = -1;
  ZeroInflatedFamily(DoubleLanes y, const Scores<kScores>& f, double)
      : counts(y, f),
        extra(f[kOwn]),
        log_zero(counts.log_zero()),
        zero(exp_lanes(log_zero)),
        whole(extra.above + extra.below * zero),
        at_zero(y == DoubleLanes{}) {}
  DoubleLanes loss() const { return at_zero ? -log_lanes(whole) : counts.loss() - extra.log_below; }
  void derivatives(Scores<kScores>& g, Information<kScores>& information) const {
    DoubleLanes slope[kOwn], own[kOwn][kOwn];
    counts.zero_slope(slope);
    counts.gradient(g);
    counts.information(own);
    const DoubleLanes share = extra.below * zero / whole, both = extra.above * extra.below;
    const DoubleLanes above = -expm1_lanes(log_zero);
    for (size_t j = 0; j < kOwn; ++j) {
      g[j] = at_zero ? -slope[j] * share : g[j];
      for (size_t k = 0; k < kOwn; ++k)  // a zero may be from either part
        information[j][k] = extra.below * own[j][k] - share * extra.above * (slope[j] * slope[k]);
      information[j][kOwn] = information[kOwn][j] = slope[j] * (zero * both / whole);
    }
    g[kOwn] = at_zero ? -both * above / whole : extra.above;
    information[kOwn][kOwn] = extra.above * both * above / whole;
  }
  Counts counts;
  Odds extra;
  DoubleLanes log_zero, zero, whole;
  IntegerLanes at_zero;
};

template <class Counts>
struct HurdleFamily {
  static constexpr size_t kOwn = Counts::kScores, kScores = kOwn + 1;
  static constexpr int kPair = -1;
  HurdleFamily(DoubleLanes y, const Scores<kScores>& f, double)
      : counts(y, f),
        rate(exp_lanes(f[kOwn])),
        log_zero(counts.log_zero()),
        above(-expm1_lanes(log_zero)),
        at_zero(y == DoubleLanes{}) {}
  DoubleLanes loss() const {
    return at_zero ? rate : counts.loss() + log_lanes(above) - log_lanes(-expm1_lanes(-rate));
  }
  void derivatives(Scores<kScores>& g, Information<kScores>& information) const {
    DoubleLanes slope[kOwn], own[kOwn][kOwn];
    counts.zero_slope(slope);
    counts.gradient(g);
    counts.information(own);
    const DoubleLanes odds = exp_lanes(log_zero) / above, share = -expm1_lanes(-rate);
    for (size_t j = 0; j < kOwn; ++j) {
      g[j] = at_zero ? DoubleLanes{} : g[j] - slope[j] * odds;
      for (size_t k = 0; k < kOwn; ++k)
        information[j][k] = share * ((own[j][k] - odds * (slope[j] * slope[k])) / above);
      information[j][kOwn] = information[kOwn][j] = DoubleLanes{};
    }
    const DoubleLanes growth = expm1_lanes(rate);
    g[kOwn] = at_zero ? rate : -rate / growth;
    information[kOwn][kOwn] = rate * rate / growth;
  }
  Counts counts;
  DoubleLanes rate, log_zero, above;
  IntegerLanes at_zero;
};

}  // namespace
}  // namespace stagewise
