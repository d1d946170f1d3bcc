// Losses of ranked documents.
#include "gradients/query_loss.hpp"

#include <string_view>

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

QueryMetric metric_of(std::string_view name) {
  if (name == "ndcg") return QueryMetric::ndcg;
  if (name == "map") return QueryMetric::map;
  if (name == "pairs") return QueryMetric::pairs;
  if (name == "softmax") return QueryMetric::softmax;
  require(name == "xendcg", "the metric is 'ndcg', 'map', 'pairs', 'softmax' or 'xendcg'");
  return QueryMetric::xendcg;
}

}  // namespace

void bind_query_loss(nb::module_& m) {
  nb::class_<QueryLoss>(m, "QueryLoss")
      .def(
          "__init__",
          [](QueryLoss* self, const In<double>& gain, const In<int32_t>& query, const char* metric,
             double sigmoid, uint64_t truncation, bool normalise) {
            require(gain.shape(0) == query.shape(0), "one query per row");
            for (const int32_t code : span_of(query))
              require(code >= 0, "codes of queries are >= 0");
            const QueryRules rules{metric_of(metric), sigmoid, truncation, normalise};
            const GilRelease release;
            new (self) QueryLoss(span_of(gain), span_of(query), rules);
          },
          "gain"_a.noconvert(), "query"_a.noconvert(), "metric"_a, "sigmoid"_a = 1.0,
          "truncation"_a = 0, "normalise"_a = true)
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
