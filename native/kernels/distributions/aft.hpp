// The terms of accelerated failure times (see kernels/api/aft.hpp and losses/survival/aft.py).
#pragma once

#include "kernels/api/aft.hpp"
#include "kernels/distributions/real.hpp"

namespace stagewise {
namespace {

// A distribution of z has log f, its first and second derivative, log S, f / S and its derivative,
// log P and f / P, where P = 1 - S is the distribution function. All logs are concave. A row whose
// time is known needs only its Density.
struct NormalDensity {
  static constexpr double kHalfLogTwoPiTime = 0.9189385332046727, kLargestTime = 1e150;

  explicit NormalDensity(DoubleLanes value) : z(bounded(value, -kLargestTime, kLargestTime)) {}
  DoubleLanes log_density() const { return -0.5 * z * z - kHalfLogTwoPiTime; }
  DoubleLanes slope() const { return -z; }
  DoubleLanes curvature() const { return DoubleLanes{} - 1.0; }
  DoubleLanes z;
};

struct NormalTime : NormalDensity {
  using Density = NormalDensity;
  static constexpr double kRootHalf = 0.7071067811865476, kRootTwoOverPi = 0.7978845608028654;

  explicit NormalTime(DoubleLanes value)
      : NormalDensity(value),
        size(z < DoubleLanes{} ? -z : z),
        scaled(scaled_erfc_lanes(size * kRootHalf)),
        tail(0.5 * scaled * exp_lanes(-0.5 * size * size)) {}
  DoubleLanes log_far() const { return log_lanes(0.5 * scaled) - 0.5 * size * size; }
  DoubleLanes log_near() const { return log1p_lanes(-tail); }
  DoubleLanes ratio_far() const { return kRootTwoOverPi / scaled; }  // of f to the smaller side
  DoubleLanes ratio_near() const { return kRootTwoOverPi * tail / (scaled * (1.0 - tail)); }
  DoubleLanes log_survival() const { return z < DoubleLanes{} ? log_near() : log_far(); }
  DoubleLanes log_probability() const { return z < DoubleLanes{} ? log_far() : log_near(); }
  DoubleLanes hazard() const { return z < DoubleLanes{} ? ratio_near() : ratio_far(); }
  DoubleLanes reverse() const { return z < DoubleLanes{} ? ratio_far() : ratio_near(); }
  DoubleLanes hazard_slope() const {
    const DoubleLanes own = hazard(), found = own * (own - z);
    return found < DoubleLanes{} ? DoubleLanes{} : found;
  }
  DoubleLanes size, scaled, tail;
};

struct LogisticTime {
  using Density = LogisticTime;

  explicit LogisticTime(DoubleLanes value)
      : z(value),
        decay(exp_lanes(z < DoubleLanes{} ? z : -z)),
        larger(1.0 / (1.0 + decay)),
        log(log1p_lanes(decay)) {}
  DoubleLanes probability() const { return z < DoubleLanes{} ? decay * larger : larger; }
  DoubleLanes survival() const { return z < DoubleLanes{} ? larger : decay * larger; }
  DoubleLanes log_density() const { return log_survival() + log_probability(); }
  DoubleLanes slope() const { return 1.0 - 2.0 * probability(); }
  DoubleLanes curvature() const { return -2.0 * decay * larger * larger; }
  DoubleLanes log_survival() const { return -(z < DoubleLanes{} ? DoubleLanes{} : z) - log; }
  DoubleLanes log_probability() const { return (z < DoubleLanes{} ? z : DoubleLanes{}) - log; }
  DoubleLanes hazard() const { return probability(); }
  DoubleLanes reverse() const { return survival(); }
  DoubleLanes hazard_slope() const { return decay * larger * larger; }
  DoubleLanes z, decay, larger, log;
};

struct ExtremeTime {
  using Density = ExtremeTime;
  static constexpr double kLargestZ = 40.0, kLeast = 1e-300;

  explicit ExtremeTime(DoubleLanes value)
      : z(value), power(exp_lanes(bounded(value, -1e3, kLargestZ))) {}
  DoubleLanes log_density() const { return z - power; }
  DoubleLanes slope() const { return 1.0 - power; }
  DoubleLanes curvature() const { return -power; }
  DoubleLanes log_survival() const { return -power; }
  DoubleLanes log_probability() const {
    const DoubleLanes least = DoubleLanes{} + kLeast;
    return log_lanes(-expm1_lanes(-(power < least ? least : power)));
  }
  DoubleLanes hazard() const { return power; }
  DoubleLanes reverse() const { return exp_lanes(log_density() - log_probability()); }
  DoubleLanes hazard_slope() const { return power; }
  DoubleLanes z, power;
};

// log(P(upper) - P(lower)), from the smaller tails.
template <class D>
DoubleLanes log_interval(const D& lower, const D& upper) {
  const IntegerLanes left = lower.z < DoubleLanes{};
  const DoubleLanes high = left ? upper.log_probability() : lower.log_survival();
  const DoubleLanes low = left ? lower.log_probability() : upper.log_survival();
  const DoubleLanes least = DoubleLanes{} - 1e-300;
  const DoubleLanes between = low - high < least ? low - high : least;
  return high + log_lanes(-expm1_lanes(between));
}

struct TermLanes {
  DoubleLanes loss, slope, curvature, spread;
};

// An interval so narrow that differences of its ends would cancel, by a series about its middle m:
// P(upper) - P(lower) = f(m) d (1 + d^2/24 f''(m)/f(m) + ...), d the width of z. Other intervals
// keep their terms.
template <class D>
TermLanes narrow_interval(const TermLanes& wide, const D& middle, DoubleLanes width) {
  // The relative error is d^2 (1 + |curvature|) / 12; that of the loss (d slope)^4 / 2880.
  constexpr double kSmallest = 1e-10, kTilt = 0.03;
  const DoubleLanes slope = middle.slope(), curvature = middle.curvature();
  const IntegerLanes narrow = (width * width * (1.0 - curvature) < DoubleLanes{} + kSmallest) &
                              (width * absolute_of(slope) < DoubleLanes{} + kTilt);
  const DoubleLanes series = width * width * (slope * slope + curvature) / 24.0;
  const DoubleLanes log_width = log_lanes(at_least(width, 1e-300));  // logs of ends may be equal
  return {narrow ? -(middle.log_density() + log_width + series) : wide.loss,
          narrow ? slope : wide.slope, narrow ? curvature : wide.curvature,
          narrow ? 1.0 + middle.z * slope : wide.spread};
}

inline DoubleLanes at_most_zero(DoubleLanes x) { return x < DoubleLanes{} ? x : DoubleLanes{}; }

// all: not only the spread. The kind of the rows is a constant, so a term that they do not have
// costs nothing.
template <class D, Observation observation, bool all>
TermLanes aft_terms(double log_sigma, double inverse, DoubleLanes low, DoubleLanes high,
                    DoubleLanes score) {
  constexpr double kLargestRatio = 300.0;
  const DoubleLanes zero = {};
  if (observation == Observation::interval) {
    const D from((low - score) * inverse), to((high - score) * inverse);
    const DoubleLanes whole = log_interval(from, to), limit = zero + kLargestRatio;
    const DoubleLanes log_a = to.log_density() - whole, log_b = from.log_density() - whole;
    const DoubleLanes a = exp_lanes(log_a < limit ? log_a : limit);
    const DoubleLanes b = exp_lanes(log_b < limit ? log_b : limit);
    const DoubleLanes first = a - b;
    const DoubleLanes second = a * to.slope() - b * from.slope() - first * first;
    const TermLanes wide{-whole, first, at_most_zero(second), to.z * a - from.z * b};
    const typename D::Density middle((0.5 * (low + high) - score) * inverse);
    return narrow_interval(wide, middle, (high - low) * inverse);
  }
  if (observation == Observation::exact) {
    const typename D::Density own((low - score) * inverse);
    const DoubleLanes slope = own.slope();
    return {log_sigma + low - own.log_density(), slope, own.curvature(), own.z * slope + 1.0};
  }
  const D own(((observation == Observation::left ? high : low) - score) * inverse);
  if (observation == Observation::left) {
    const DoubleLanes slope = own.reverse();
    return {-own.log_probability(), slope, at_most_zero(slope * (own.slope() - slope)),
            own.z * slope};
  }
  // right; the log of S is subtracted for `entered`, so that signs are opposite
  const double sign = observation == Observation::right ? -1.0 : 1.0;
  const DoubleLanes slope = sign * own.hazard();
  if (!all) return {zero, zero, zero, own.z * slope};
  return {sign * own.log_survival(), slope, sign * own.hazard_slope(), own.z * slope};
}

template <class D, Observation observation, bool all>
void aft_rows(double sigma, const AftRows& rows, const AftTerms& out) {
  double log_sigma = 0.0;
  log_doubles(&sigma, 1, &log_sigma);
  const double inverse = 1.0 / sigma;
  const bool has_high = rows.high != nullptr;
  for (size_t i = 0; i < rows.n; i += kDoubleLanes) {
    const size_t n = rows.n - i;
    const TermLanes own = aft_terms<D, observation, all>(
        log_sigma, inverse, load_doubles(rows.low + i, n),
        has_high ? load_doubles(rows.high + i, n) : DoubleLanes{}, load_doubles(rows.score + i, n));
    store_doubles(own.spread, out.spread + i, n);
    if constexpr (all) {
      store_doubles(own.loss, out.loss + i, n);
      store_doubles(own.slope, out.slope + i, n);
      store_doubles(own.curvature, out.curvature + i, n);
    }
  }
}

template <class D, bool all>
void aft_of(Observation observation, double sigma, const AftRows& rows, const AftTerms& out) {
  switch (observation) {
    case Observation::exact:
      return aft_rows<D, Observation::exact, all>(sigma, rows, out);
    case Observation::right:
      return aft_rows<D, Observation::right, all>(sigma, rows, out);
    case Observation::left:
      return aft_rows<D, Observation::left, all>(sigma, rows, out);
    case Observation::interval:
      return aft_rows<D, Observation::interval, all>(sigma, rows, out);
    default:
      return aft_rows<D, Observation::entered, all>(sigma, rows, out);
  }
}

template <class D>
void aft_of(Observation observation, double sigma, const AftRows& rows, const AftTerms& out) {
  if (out.loss == nullptr) return aft_of<D, false>(observation, sigma, rows, out);
  aft_of<D, true>(observation, sigma, rows, out);
}

void aft(TimeDistribution distribution, Observation observation, double sigma, const AftRows& rows,
         const AftTerms& out) {
  switch (distribution) {
    case TimeDistribution::normal:
      return aft_of<NormalTime>(observation, sigma, rows, out);
    case TimeDistribution::logistic:
      return aft_of<LogisticTime>(observation, sigma, rows, out);
    default:
      return aft_of<ExtremeTime>(observation, sigma, rows, out);
  }
}

}  // namespace
}  // namespace stagewise
