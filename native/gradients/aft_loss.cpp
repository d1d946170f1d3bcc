#include "gradients/aft_loss.hpp"

#include <algorithm>
#include <cmath>

#include "core/exact_sum.hpp"

namespace stagewise {
namespace {

constexpr size_t kRowsOfBlock = 1024;
constexpr int kSteps = 30;
constexpr double kLargestStep = 0.5, kDifference = 1e-4;  // of log sigma

double sum(const std::vector<double>& values, std::span<const double> weight) {
  ExactSum total;
  total.add_all(values.data(), weight.empty() ? nullptr : weight.data(), values.size());
  return total.value();
}

}  // namespace

AftLoss::AftLoss(const AftTimes& times, TimeDistribution distribution)
    : rows_(times.time.size()), distribution_(distribution) {
  for (size_t i = 0; i < rows_; ++i) {
    Group& own = groups_[times.observation[i]];
    own.rows.push_back(static_cast<uint32_t>(i));
    own.low.push_back(times.time[i]);
    own.high.push_back(times.upper[i]);
    if (times.entered[i] == 0) continue;
    Group& entered = groups_[static_cast<size_t>(Observation::entered)];
    entered.rows.push_back(static_cast<uint32_t>(i));
    entered.low.push_back(times.entry[i]);
  }
}

// `entered` adds to the terms of its rows; every row has another kind, whose terms are set.
void AftLoss::add_group(Workers& workers, const Kernels& kernels, Observation observation,
                        std::span<const double> score, double sigma, const AftTerms& out) const {
  const Group& own = of(observation);
  const size_t n = own.rows.size();
  const bool adds = observation == Observation::entered;
  workers.run((n + kRowsOfBlock - 1) / kRowsOfBlock, [&](size_t block, int) {
    const size_t begin = block * kRowsOfBlock, size = std::min(kRowsOfBlock, n - begin);
    std::array<std::array<double, kRowsOfBlock>, 5> space;
    auto& [scores, loss, slope, curvature, spread] = space;
    const uint32_t* const rows = own.rows.data() + begin;
    for (size_t i = 0; i < size; ++i) scores[i] = score[rows[i]];
    const AftTerms all = {loss.data(), slope.data(), curvature.data(), spread.data()};
    kernels.aft(distribution_, observation, sigma,
                {own.low.data() + begin, own.high.empty() ? nullptr : own.high.data() + begin,
                 scores.data(), size},
                out.loss == nullptr ? AftTerms{nullptr, nullptr, nullptr, spread.data()} : all);
    const auto set = [&](double* terms, const double* found) {
      for (size_t i = 0; i < size; ++i) terms[rows[i]] = (adds ? terms[rows[i]] : 0.0) + found[i];
    };
    set(out.spread, all.spread);
    if (out.loss == nullptr) return;
    set(out.loss, all.loss);
    set(out.slope, all.slope);
    set(out.curvature, all.curvature);
  });
}

void AftLoss::terms(Workers& workers, const Kernels& kernels, std::span<const double> score,
                    double sigma, const AftTerms& out) const {
  for (size_t kind = 0; kind < groups_.size(); ++kind)
    add_group(workers, kernels, static_cast<Observation>(kind), score, sigma, out);
  if (out.loss == nullptr) return;
  for (size_t i = 0; i < rows_; ++i) out.curvature[i] = std::min(out.curvature[i], 0.0);
}

double AftLoss::find_sigma(Workers& workers, const Kernels& kernels, std::span<const double> score,
                           std::span<const double> weight, double start, const SigmaSearch& search,
                           std::optional<double> known) const {
  std::vector<double> spread(rows_);
  const auto exp = [&](double x) {
    kernels.exp(&x, 1, &x);
    return x;
  };
  const auto log = [&](double x) {
    kernels.log(&x, 1, &x);
    return x;
  };
  const auto slope_at = [&](double log_sigma) {
    terms(workers, kernels, score, exp(log_sigma), {nullptr, nullptr, nullptr, spread.data()});
    return sum(spread, weight);
  };
  const double least = log(search.least), most = log(search.most);
  double own = log(start);
  if (exp(own) != start) known.reset();  // it is the slope at another sigma
  for (int i = 0; i < kSteps; ++i) {
    const double here = known.has_value() ? *known : slope_at(own);
    const double rise = (slope_at(own + kDifference) - here) / kDifference;
    known.reset();
    double step = here > 0.0 ? -kLargestStep : (here < 0.0 ? kLargestStep : 0.0);
    if (rise > 0.0) step = std::clamp(-here / rise, -kLargestStep, kLargestStep);
    own = std::clamp(own + step, least, most);
    if (std::abs(step) < search.tolerance) break;
  }
  return exp(own);
}

}  // namespace stagewise
