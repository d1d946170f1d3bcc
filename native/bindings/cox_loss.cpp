// Cox's partial likelihood.
#include "gradients/cox_loss.hpp"

#include <cmath>

#include "bindings/bindings.hpp"
#include "gradients/row_loss.hpp"

namespace stagewise {
namespace {

// Checks that no position is out of range; the numbers are those of RiskSets, which is in Python.
void check_risk_sets(const RiskSetRows& rows, const EventTimes& times, int digit_bits) {
  const size_t n = rows.rows.size(), n_times = times.deaths.size();
  require(rows.weight.size() == n && rows.first.size() == n && rows.last.size() == n &&
              rows.is_event.size() == n,
          "weight, first, last and is_event have one entry per row");
  require(times.begin.size() == n_times && (times.tied.empty() || times.tied.size() == n_times),
          "begin, deaths and tied have one entry per event time");
  require(digit_bits > 0 && digit_bits <= 52, "a digit has 1 to 52 bits");
  for (size_t i = 0; i < n; ++i) {
    require(rows.weight[i] > 0.0 && std::isfinite(rows.weight[i]), "weights are positive");
    require(rows.first[i] <= rows.last[i] && rows.last[i] <= n_times &&
                (rows.is_event[i] == 0 || rows.first[i] < rows.last[i]),
            "a row is at risk from `first` to before `last`");
  }
  for (size_t k = 0; k < n_times; ++k) {
    require(times.begin[k] <= k, "a stratum begins before its event times");
    require(times.tied.empty() || times.tied[k] > 0, "an event time has an event");
  }
}

Out<double> of_times(const CoxLoss& loss, double (CoxLoss::*value)(size_t) const) {
  std::vector<double> out(loss.times());
  for (size_t k = 0; k < out.size(); ++k) out[k] = (loss.*value)(k);
  return to_numpy(std::move(out));
}

// The loss with the gradients of all rows of the table, and those of weight 0.
DerivativeLoss* row_loss(CoxLoss& loss, const Engine& engine, size_t rows, const Weight& weight) {
  require(rows >= loss.table_rows() && (!weight || weight->shape(0) == rows),
          "one weight per row of the table");
  return new DerivativeLoss(
      rows, 1, span_of(weight), true,
      [&loss, kernels = &engine.kernels](Workers& workers, std::span<const double> score,
                                         std::span<double> gradient, std::span<double> hessian) {
        return loss.evaluate(workers, *kernels, score, gradient, hessian);
      });
}

}  // namespace

void bind_cox_loss(nb::module_& m) {
  nb::class_<CoxLoss>(m, "CoxLoss")
      .def(
          "__init__",
          [](CoxLoss* self, const In<uint32_t>& rows, const In<double>& weight,
             const In<uint32_t>& first, const In<uint32_t>& last, const In<uint8_t>& is_event,
             const In<uint32_t>& begin, const In<double>& deaths,
             const std::optional<In<uint32_t>>& tied, int digit_bits) {
            const RiskSetRows own{span_of(rows), span_of(weight), span_of(first), span_of(last),
                                  span_of(is_event)};
            const EventTimes times{span_of(begin), span_of(deaths), span_of(tied)};
            check_risk_sets(own, times, digit_bits);
            const GilRelease release;
            new (self) CoxLoss(own, times, digit_bits);
          },
          "rows"_a.noconvert(), "weight"_a.noconvert(), "first"_a.noconvert(), "last"_a.noconvert(),
          "is_event"_a.noconvert(), "begin"_a.noconvert(), "deaths"_a.noconvert(),
          "tied"_a.noconvert().none(), "digit_bits"_a)
      .def(
          "evaluate",
          [](CoxLoss& self, Engine& e, const In<double>& score, const InOut<double>& gradient,
             const InOut<double>& hessian) {
            require(score.shape(0) >= self.table_rows() && gradient.shape(0) == score.shape(0) &&
                        hessian.shape(0) == score.shape(0),
                    "score, gradient and hessian have one entry per row");
            const GilRelease release;
            return self.evaluate(e.workers, e.kernels, span_of(score),
                                 {gradient.data(), gradient.shape(0)},
                                 {hessian.data(), hessian.shape(0)});
          },
          "workers"_a, "score"_a.noconvert(), "gradient"_a.noconvert(), "hessian"_a.noconvert())
      .def("row_loss", &row_loss, "workers"_a, "n_rows"_a, "weight"_a.noconvert().none(),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>(), nb::keep_alive<0, 4>())
      .def_prop_ro("shift", &CoxLoss::shift)
      .def("cumulative_hazard",
           [](const CoxLoss& self) { return of_times(self, &CoxLoss::cumulative_hazard); })
      .def("log_risk", [](const CoxLoss& self) { return of_times(self, &CoxLoss::log_risk); });
}

}  // namespace stagewise
