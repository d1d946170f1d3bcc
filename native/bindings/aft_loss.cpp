// Accelerated failure times.
#include "gradients/aft_loss.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "bindings/bindings.hpp"
#include "core/exact_sum.hpp"
#include "gradients/row_loss.hpp"

namespace stagewise {
namespace {

TimeDistribution distribution_named(std::string_view name) {
  const auto* const found =
      std::find(std::begin(kTimeDistributionNames), std::end(kTimeDistributionNames), name);
  require(found != std::end(kTimeDistributionNames), "the distribution of times is unknown");
  return static_cast<TimeDistribution>(found - kTimeDistributionNames);
}

void make_loss(AftLoss* self, const In<double>& time, const In<double>& upper,
               const In<double>& entry, const In<uint8_t>& observation, const In<uint8_t>& entered,
               const char* distribution) {
  const size_t n = time.shape(0);
  require(upper.shape(0) == n && entry.shape(0) == n && observation.shape(0) == n &&
              entered.shape(0) == n,
          "times and what is known of them have one entry per row");
  for (const uint8_t kind : span_of(observation))
    require(kind < static_cast<uint8_t>(Observation::entered), "an observation is unknown");
  const TimeDistribution own = distribution_named(distribution);
  const GilRelease release;
  new (self) AftLoss(
      {span_of(time), span_of(upper), span_of(entry), span_of(observation), span_of(entered)}, own);
}

void check_rows(const AftLoss& loss, size_t score, const Weight& weight) {
  require(score == loss.rows() && (!weight || weight->shape(0) == score),
          "score and weight have one entry per row");
}

using Terms = TupleOf<Out<double>, Out<double>, Out<double>, Out<double>>;

// The loss, its slope, curvature and spread of each row.
Terms terms(const AftLoss& loss, Engine& engine, const In<double>& score, double sigma) {
  check_rows(loss, score.shape(0), std::nullopt);
  const size_t n = loss.rows();
  std::vector<double> value(n), slope(n), curvature(n), spread(n);
  {
    const GilRelease release;
    loss.terms(engine.workers, engine.kernels, span_of(score), sigma,
               {value.data(), slope.data(), curvature.data(), spread.data()});
  }
  return nb::make_tuple(to_numpy(std::move(value)), to_numpy(std::move(slope)),
                        to_numpy(std::move(curvature)), to_numpy(std::move(spread)));
}

double find_sigma(const AftLoss& loss, Engine& engine, const In<double>& score,
                  const Weight& weight, double start, double least, double most, double tolerance) {
  check_rows(loss, score.shape(0), weight);
  const GilRelease release;
  return loss.find_sigma(engine.workers, engine.kernels, span_of(score), span_of(weight), start,
                         {least, most, tolerance});
}

// The loss of a fit. sigma: the given one, or 0: it follows the scores, if the slope of the loss
// with respect to its log is steeper than `steepest` times the weight of the events.
class BoundAft {
 public:
  BoundAft(const AftLoss& loss, const Kernels& kernels, std::span<const double> weight,
           double sigma, double steepest, const SigmaSearch& search)
      : loss_(loss),
        kernels_(kernels),
        weight_(weight),
        given_(sigma),
        steepest_(steepest),
        search_(search),
        value_(loss.rows()),
        curvature_(loss.rows()),
        spread_(loss.rows()) {
    if (given_ > 0.0) sigma_ = given_;
  }

  double evaluate(Workers& workers, std::span<const double> score, std::span<double> gradient,
                  std::span<double> hessian) {
    if (!std::all_of(score.begin(), score.end(), [](double f) { return std::isfinite(f); }))
      return std::numeric_limits<double>::quiet_NaN();
    const AftTerms out{value_.data(), gradient.data(), curvature_.data(), spread_.data()};
    loss_.terms(workers, kernels_, score, sigma_, out);
    if (given_ == 0.0) {
      const double slope = sum(spread_);
      if (std::abs(slope) > steepest_) {
        sigma_ = loss_.find_sigma(workers, kernels_, score, weight_, sigma_, search_, slope);
        loss_.terms(workers, kernels_, score, sigma_, out);
      }
    }
    for (size_t i = 0; i < value_.size(); ++i) {
      gradient[i] *= sigma_;
      hessian[i] = -curvature_[i];
    }
    return sum(value_);
  }

 private:
  double sum(const std::vector<double>& values) const {
    ExactSum total;
    total.add_all(values.data(), weight_.empty() ? nullptr : weight_.data(), values.size());
    return total.value();
  }

  const AftLoss& loss_;
  const Kernels& kernels_;
  std::span<const double> weight_;
  double given_, sigma_ = 1.0, steepest_;
  SigmaSearch search_;
  std::vector<double> value_, curvature_, spread_;
};

DerivativeLoss* row_loss(const AftLoss& loss, const Engine& engine, const Weight& weight,
                         double sigma, double steepest, double least, double most,
                         double tolerance) {
  check_rows(loss, loss.rows(), weight);
  const auto own = std::make_shared<BoundAft>(loss, engine.kernels, span_of(weight), sigma,
                                              steepest, SigmaSearch{least, most, tolerance});
  return new DerivativeLoss(loss.rows(), 1, span_of(weight), true,
                            [own](Workers& workers, std::span<const double> score,
                                  std::span<double> gradient, std::span<double> hessian) {
                              return own->evaluate(workers, score, gradient, hessian);
                            });
}

}  // namespace

void bind_aft_loss(nb::module_& m) {
  nb::class_<AftLoss>(m, "AftLoss")
      .def("__init__", &make_loss, "time"_a.noconvert(), "upper"_a.noconvert(),
           "entry"_a.noconvert(), "observation"_a.noconvert(), "entered"_a.noconvert(),
           "distribution"_a)
      .def_prop_ro("n_rows", &AftLoss::rows)
      .def("terms", &terms, "workers"_a, "score"_a.noconvert(), "sigma"_a)
      .def("find_sigma", &find_sigma, "workers"_a, "score"_a.noconvert(),
           "weight"_a.noconvert().none(), "start"_a, "least"_a, "most"_a, "tolerance"_a)
      .def("row_loss", &row_loss, "workers"_a, "weight"_a.noconvert().none(), "sigma"_a,
           "steepest"_a, "least"_a, "most"_a, "tolerance"_a, nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>(), nb::keep_alive<0, 3>());
}

}  // namespace stagewise
