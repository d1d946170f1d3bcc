// Shapley values.
#include "shap/shap.hpp"

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

template <class T>
std::span<const T> span_of(const std::optional<In<T>>& a) {
  return a ? std::span<const T>(a->data(), a->shape(0)) : std::span<const T>();
}

template <class T>
std::span<const T> span_of(const In<T>& a) {
  return {a.data(), a.shape(0)};
}

// The trees are those of a Forest that was made of the same arrays, and so are sound.
Shap* make_shap(Engine& engine, const In<uint64_t>& start, const In<int32_t>& feature,
                const In<double>& threshold, const In<uint8_t>& missing_left,
                const In<int32_t>& left, const In<int32_t>& right, const In<double>& value,
                const std::optional<In<double>>& cover, const Table* background, size_t features,
                size_t outputs, size_t outputs_per_tree, bool interactions, size_t first,
                size_t max_bytes, size_t table_bytes, const std::optional<In<int64_t>>& set_start,
                const std::optional<In<uint64_t>>& sets,
                const std::optional<In<uint32_t>>& n_categories, const SharedLinearLeaves* shared) {
  std::shared_ptr<const LinearLeaves> linear_leaves = SharedLinearLeaves::of(shared);
  require(linear_leaves == nullptr ||
              (background != nullptr && linear_leaves->nodes() == feature.shape(0) &&
               linear_leaves->features() == features),
          "lines of other trees, or without a background");
  require(cover.has_value() != (background != nullptr), "either covers or a background");
  require(!cover || cover->shape(0) == feature.shape(0), "one cover per node");
  require(background == nullptr ||
              (background->columns.features() == features && background->columns.rows > 0),
          "the background has the wrong shape");
  require(first + 1 < start.shape(0), "no such tree");
  const ShapRules rules{cover ? ShapKind::path : ShapKind::interventional, interactions, features,
                        outputs, table_bytes};
  require(rules.stride() <= 0xffffffffu, "more than 2^32 numbers a row");
  const FlatTrees trees{span_of(start),        span_of(feature),      span_of(threshold),
                        span_of(missing_left), span_of(left),         span_of(right),
                        span_of(value),        outputs_per_tree,      span_of(set_start),
                        span_of(sets),         span_of(n_categories), nullptr};
  const GilRelease release;
  return new Shap(engine.workers, engine.kernels, trees, span_of(cover),
                  background == nullptr ? nullptr : &background->columns, rules, first, max_bytes,
                  std::move(linear_leaves));
}

void shap_add(const Shap& shap, Engine& engine, const Table& table, size_t begin, size_t end,
              const InOut<double>& out) {
  require(table.columns.features() == shap.rules().features && begin <= end &&
              end <= table.columns.rows && out.shape(0) == (end - begin) * shap.rules().stride(),
          "the table or the result has the wrong shape");
  const GilRelease release;
  shap.add(engine.workers, engine.kernels, table.columns, begin, end, out.data());
}

}  // namespace

void bind_shap(nb::module_& m) {
  nb::class_<Shap>(m, "Shap")
      .def(nb::new_(&make_shap), "workers"_a, "start"_a.noconvert(), "feature"_a.noconvert(),
           "threshold"_a.noconvert(), "missing_left"_a.noconvert(), "left"_a.noconvert(),
           "right"_a.noconvert(), "value"_a.noconvert(), "cover"_a.noconvert().none(),
           "background"_a.none(), "n_features"_a, "n_outputs"_a, "outputs_per_tree"_a,
           "interactions"_a, "first"_a, "max_bytes"_a, "table_bytes"_a = ShapRules().table_bytes,
           "set_start"_a.noconvert().none() = nb::none(), "sets"_a.noconvert().none() = nb::none(),
           "n_categories"_a.noconvert().none() = nb::none(), "linear_leaves"_a.none() = nb::none())
      .def_prop_ro("last", &Shap::last)
      .def_prop_ro("n_walked", &Shap::walked)
      .def("base", [](const Shap& shap) { return to_numpy(std::vector<double>(shap.base())); })
      .def("add", &shap_add, "workers"_a, "columns"_a, "begin"_a, "end"_a, "out"_a.noconvert());
}

}  // namespace stagewise
