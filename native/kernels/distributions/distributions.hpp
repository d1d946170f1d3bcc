// Negative log-likelihoods of distributions and the natural gradients of their scores (see
// kernels/api/distributions.hpp and losses/distributions/base.py).
#pragma once

#include "kernels/api/distributions.hpp"
#include "kernels/distributions/counts.hpp"

namespace stagewise {
namespace {

constexpr double kLeastInformation = 1e-30;
constexpr double kLeastRatio = 1e-12, kLargestRatio = 50.0;  // of |n|: smaller numbers are 0
constexpr double kLargestWeight = 1e30;
constexpr double kRidge = 1.0 + 1e-6;  // the diagonal of the scaled information

// Calls action<F>() for the class F of a family.
template <class Action>
void with_family(Family family, Action action) {
  using ZeroInflatedNegativeBinomial = ZeroInflatedFamily<NegativeBinomialCounts>;
  switch (family) {
    case Family::normal:
      return action.template operator()<NormalFamily>();
    case Family::laplace:
      return action.template operator()<LaplaceFamily>();
    case Family::student_t:
      return action.template operator()<StudentTFamily<false>>();
    case Family::student_t_of_df:
      return action.template operator()<StudentTFamily<true>>();
    case Family::log_normal:
      return action.template operator()<LogNormalFamily>();
    case Family::gamma:
      return action.template operator()<GammaFamily>();
    case Family::weibull:
      return action.template operator()<WeibullFamily>();
    case Family::beta:
      return action.template operator()<BetaFamily>();
    case Family::poisson:
      return action.template operator()<CountFamily<PoissonCounts>>();
    case Family::negative_binomial:
      return action.template operator()<CountFamily<NegativeBinomialCounts>>();
    case Family::zero_inflated_poisson:
      return action.template operator()<ZeroInflatedFamily<PoissonCounts>>();
    case Family::zero_inflated_negative_binomial:
      return action.template operator()<ZeroInflatedNegativeBinomial>();
    case Family::hurdle_poisson:
      return action.template operator()<HurdleFamily<PoissonCounts>>();
    case Family::hurdle_negative_binomial:
      return action.template operator()<HurdleFamily<NegativeBinomialCounts>>();
    case Family::count:
      return;
  }
}

// The scores of kDoubleLanes rows within their bounds.
template <size_t K>
struct BoundedScores {
  BoundedScores(const DistributionSpec& spec, const DistributionRows& rows, size_t i) {
    for (size_t k = 0; k < K; ++k)
      f[k] = bounded(load_doubles(rows.scores + k * rows.stride + i, rows.n - i), spec.low[k],
                     spec.high[k]);
  }
  Scores<K> f;
};

// One row of a tree: h n and h for the natural gradient n. Where a bound cuts a step off, or a step
// is very long, the scores move as if the others were known.
template <class F>
void natural_step(const DistributionSpec& spec, const Scores<F::kScores>& f,
                  const Scores<F::kScores>& g, const Information<F::kScores>& information,
                  Scores<F::kScores>& gradient, Scores<F::kScores>& hessian) {
  constexpr size_t K = F::kScores;
  const DoubleLanes zero = {};
  Scores<K> natural;
  for (size_t k = 0; k < K; ++k) {
    hessian[k] = at_least(information[k][k], kLeastInformation);
    natural[k] = g[k] / hessian[k];
  }
  if constexpr (F::kPair >= 0) {
    constexpr auto a = static_cast<size_t>(F::kPair), b = a + 1;
    const DoubleLanes beside = information[a][b];
    const DoubleLanes cross = beside / hessian[a] / hessian[b];
    const DoubleLanes determinant = kRidge * kRidge - beside * cross;
    const DoubleLanes first = (kRidge * natural[a] - cross * g[b]) / determinant;
    const DoubleLanes second = (kRidge * natural[b] - cross * g[a]) / determinant;
    IntegerLanes cut =
        (absolute_of(first) > zero + kLargestRatio) | (absolute_of(second) > zero + kLargestRatio);
    for (size_t k = 0; k < K; ++k)
      cut |= ((f[k] <= zero + spec.low[k]) & (g[k] > zero)) |
             ((f[k] >= zero + spec.high[k]) & (g[k] < zero));
    const DoubleLanes share = at_least(kRidge / determinant, 1.0);
    natural[a] = cut ? natural[a] : first;
    natural[b] = cut ? natural[b] : second;
    hessian[a] = cut ? hessian[a] : hessian[a] / share;
    hessian[b] = cut ? hessian[b] : hessian[b] / share;
  }
  for (size_t k = 0; k < K; ++k) {
    const DoubleLanes size = absolute_of(natural[k]);
    const IntegerLanes counts = (size >= zero + kLeastRatio) & (hessian[k] >= zero + kLeastRatio) &
                                (hessian[k] <= zero + kLargestWeight);  // and no NaN
    hessian[k] = hessian[k] <= zero + kLargestWeight ? hessian[k] : zero;
    gradient[k] = counts ? hessian[k] * bounded(natural[k], -kLargestRatio, kLargestRatio) : zero;
  }
}

void distribution_losses(const DistributionSpec& spec, const DistributionRows& rows, double* loss) {
  with_family(spec.family, [&]<class F>() {
    for (size_t i = 0; i < rows.n; i += kDoubleLanes) {
      const BoundedScores<F::kScores> own(spec, rows, i);
      const F family(load_doubles(rows.y + i, rows.n - i), own.f, spec.parameter);
      store_doubles(family.loss(), loss + i, rows.n - i);
    }
  });
}

void distribution_steps(const DistributionSpec& spec, const DistributionRows& rows, double* loss,
                        double* gradient, double* hessian) {
  with_family(spec.family, [&]<class F>() {
    constexpr size_t K = F::kScores;
    for (size_t i = 0; i < rows.n; i += kDoubleLanes) {
      const BoundedScores<K> own(spec, rows, i);
      const F family(load_doubles(rows.y + i, rows.n - i), own.f, spec.parameter);
      store_doubles(family.loss(), loss + i, rows.n - i);
      Scores<K> g, steps, weights;
      Information<K> information = {};
      family.derivatives(g, information);
      natural_step<F>(spec, own.f, g, information, steps, weights);
      for (size_t k = 0; k < K; ++k) {
        store_doubles(steps[k], gradient + k * rows.stride + i, rows.n - i);
        store_doubles(weights[k], hessian + k * rows.stride + i, rows.n - i);
      }
    }
  });
}

void distribution_information(const DistributionSpec& spec, const DistributionRows& rows,
                              double* gradient, double* information) {
  with_family(spec.family, [&]<class F>() {
    constexpr size_t K = F::kScores;
    for (size_t i = 0; i < rows.n; i += kDoubleLanes) {
      const BoundedScores<K> own(spec, rows, i);
      const F family(load_doubles(rows.y + i, rows.n - i), own.f, spec.parameter);
      Scores<K> g;
      Information<K> found = {};
      family.derivatives(g, found);
      for (size_t j = 0; j < K; ++j) {
        store_doubles(g[j], gradient + j * rows.stride + i, rows.n - i);
        for (size_t k = 0; k < K; ++k)
          store_doubles(found[j][k], information + (j * K + k) * rows.stride + i, rows.n - i);
      }
    }
  });
}

}  // namespace
}  // namespace stagewise
