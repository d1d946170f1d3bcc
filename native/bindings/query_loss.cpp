// Losses of ranked documents.
#include "gradients/query_loss.hpp"

#include <string_view>

#include "bindings/bindings.hpp"
#include "core/exact_sum.hpp"
#include "gradients/row_loss.hpp"

namespace stagewise {
namespace {

QueryMetric metric_of(std::string_view name) {
  if (name == "ndcg") return QueryMetric::ndcg;
  if (name == "map") return QueryMetric::map;
  if (name == "pairs") return QueryMetric::pairs;
  if (name == "softmax") return QueryMetric::softmax;
  if (name == "xendcg") return QueryMetric::xendcg;
  if (name == "yetirank") return QueryMetric::yetirank;
  require(name == "squared", "there is no such metric of queries");
  return QueryMetric::squared;
}

// The loss of the rows of a table. rows: of the loss, in the table; none: all are. share: of each
// query, by which its loss is multiplied; 0: the query is not measured.
DerivativeLoss* row_loss(const QueryLoss& loss, const Engine& engine, size_t table_rows,
                         const std::optional<In<uint32_t>>& rows, const Weight& weight,
                         const In<double>& share) {
  require(!weight || weight->shape(0) == table_rows, "one weight per row of the table");
  require(share.shape(0) == loss.queries(), "one share per query");
  require(rows ? rows->shape(0) == loss.rows() : table_rows == loss.rows(), "one place per row");
  for (const uint32_t row : span_of(rows)) require(row < table_rows, "a row is out of range");
  const size_t n = rows ? loss.rows() : 0;  // of the copies of some rows
  return new DerivativeLoss(
      table_rows, 1, span_of(weight), true,
      [&loss, kernels = &engine.kernels, rows = span_of(rows), share = span_of(share),
       losses = std::vector<double>(loss.queries()), own_score = std::vector<double>(n),
       own_gradient = std::vector<double>(n), own_hessian = std::vector<double>(n)](
          Workers& workers, std::span<const double> score, std::span<double> gradient,
          std::span<double> hessian) mutable {
        if (rows.empty()) {
          loss.evaluate(workers, *kernels, score, gradient, hessian, losses);
        } else {
          for (size_t i = 0; i < rows.size(); ++i) own_score[i] = score[rows[i]];
          loss.evaluate(workers, *kernels, own_score, own_gradient, own_hessian, losses);
          for (size_t i = 0; i < rows.size(); ++i) {
            gradient[rows[i]] = own_gradient[i];
            hessian[rows[i]] = own_hessian[i];
          }
        }
        ExactSum sum;
        for (size_t q = 0; q < losses.size(); ++q)
          if (share[q] > 0.0) sum.add(losses[q] * share[q]);
        return sum.value();
      });
}

}  // namespace

void bind_query_loss(nb::module_& m) {
  nb::class_<QueryLoss>(m, "QueryLoss")
      .def(
          "__init__",
          [](QueryLoss* self, const In<double>& gain, const In<int32_t>& query, const char* metric,
             double sigmoid, uint64_t truncation, bool normalise, uint64_t orders, double decay) {
            require(gain.shape(0) == query.shape(0), "one query per row");
            for (const int32_t code : span_of(query))
              require(code >= 0, "codes of queries are >= 0");
            const QueryRules rules{metric_of(metric), sigmoid, truncation,
                                   normalise,         orders,  decay};
            const GilRelease release;
            new (self) QueryLoss(span_of(gain), span_of(query), rules);
          },
          "gain"_a.noconvert(), "query"_a.noconvert(), "metric"_a, nb::kw_only(), "sigmoid"_a,
          "truncation"_a, "normalise"_a, "orders"_a, "decay"_a)
      .def("row_loss", &row_loss, "workers"_a, "n_rows"_a, "rows"_a.noconvert().none(),
           "weight"_a.noconvert().none(), "share"_a.noconvert(), nb::rv_policy::take_ownership,
           nb::keep_alive<0, 1>(), nb::keep_alive<0, 4>(), nb::keep_alive<0, 5>(),
           nb::keep_alive<0, 6>())
      .def_prop_ro("n_queries", &QueryLoss::queries)
      .def(
          "measured",
          [](const QueryLoss& self, const InOut<double>& measured) {
            require(measured.shape(0) == self.queries(), "one entry per query");
            for (size_t q = 0; q < self.queries(); ++q)
              measured.data()[q] = self.is_measured(q) ? 1.0 : 0.0;
          },
          "measured"_a.noconvert())
      .def(
          "evaluate",
          [](const QueryLoss& self, Engine& e, const In<double>& score,
             const InOut<double>& gradient, const InOut<double>& hessian,
             const InOut<double>& loss) {
            require(score.shape(0) == self.rows() && gradient.shape(0) == self.rows() &&
                        hessian.shape(0) == self.rows() && loss.shape(0) == self.queries(),
                    "score, gradient and hessian have one entry per row, loss one per query");
            const GilRelease release;
            self.evaluate(e.workers, e.kernels, span_of(score),
                          {gradient.data(), gradient.shape(0)}, {hessian.data(), hessian.shape(0)},
                          {loss.data(), loss.shape(0)});
          },
          "workers"_a, "score"_a.noconvert(), "gradient"_a.noconvert(), "hessian"_a.noconvert(),
          "loss"_a.noconvert());
}

}  // namespace stagewise
