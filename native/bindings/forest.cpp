// Prediction.

#include "predict/forest.hpp"
#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

template <class T>
std::span<const T> span_of(const In<T>& a) {
  return {a.data(), a.shape(0)};
}

Forest* make_forest(const In<uint64_t>& start, const In<int32_t>& feature,
                    const In<double>& threshold, const In<uint8_t>& missing_left,
                    const In<int32_t>& left, const In<int32_t>& right, const In<double>& value,
                    size_t features, size_t outputs, size_t outputs_per_tree,
                    const std::optional<In<int64_t>>& set_start,
                    const std::optional<In<uint64_t>>& sets,
                    const std::optional<In<uint32_t>>& n_categories,
                    const SharedLinearLeaves* linear_leaves) {
  return new Forest({span_of(start), span_of(feature), span_of(threshold), span_of(missing_left),
                     span_of(left), span_of(right), span_of(value), outputs_per_tree,
                     set_start ? span_of(*set_start) : std::span<const int64_t>(),
                     sets ? span_of(*sets) : std::span<const uint64_t>(),
                     n_categories ? span_of(*n_categories) : std::span<const uint32_t>(), nullptr},
                    features, outputs, SharedLinearLeaves::of(linear_leaves));
}

void check_trees(const Forest& forest, size_t first, size_t last) {
  require(first <= last && last <= forest.trees(), "no such trees");
}

void check_sparse(const Forest& forest, const SparseCells& cells) {
  require(cells.table.features() == forest.features(), "the table has the wrong width");
}

void forest_add(const Forest& forest, Engine& engine, const Table& table, size_t first, size_t last,
                const InOut<double>& out) {
  require(table.columns.features() == forest.features() &&
              out.shape(0) == table.columns.rows * forest.outputs(),
          "the table or the result has the wrong shape");
  check_trees(forest, first, last);
  const GilRelease release;
  forest.add_scores(engine.workers, engine.kernels, table.columns, first, last, out.data());
}

void forest_add_sparse(const Forest& forest, Engine& engine, const SparseCells& cells, size_t first,
                       size_t last, const InOut<double>& out) {
  check_sparse(forest, cells);
  require(out.shape(0) == cells.table.rows() * forest.outputs(), "the result has the wrong shape");
  check_trees(forest, first, last);
  const GilRelease release;
  forest.add_scores(engine.workers, engine.kernels, cells.by_rows(), first, last, out.data());
}

// Few rows of a plain float64 matrix: straight through, no threads, no descriptors.
void forest_add_rows(const Forest& forest,
                     nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> rows,
                     size_t first, size_t last, const InOut<double>& out) {
  require(rows.shape(1) == forest.features() && out.shape(0) == rows.shape(0) * forest.outputs(),
          "the table or the result has the wrong shape");
  check_trees(forest, first, last);
  for (size_t i = 0; i < rows.shape(0); ++i)
    forest.add_row(rows.data() + i * forest.features(), first, last,
                   out.data() + i * forest.outputs());
}

void forest_leaves(const Forest& forest, Engine& engine, const Table& table,
                   const InOut<int32_t>& out) {
  require(table.columns.features() == forest.features() &&
              out.shape(0) == table.columns.rows * forest.trees(),
          "the table or the result has the wrong shape");
  const GilRelease release;
  forest.leaves(engine.workers, engine.kernels, table.columns, out.data());
}

void forest_sparse_leaves(const Forest& forest, Engine& engine, const SparseCells& cells,
                          const InOut<int32_t>& out) {
  check_sparse(forest, cells);
  require(out.shape(0) == cells.table.rows() * forest.trees(), "the result has the wrong shape");
  const GilRelease release;
  forest.leaves(engine.workers, cells.by_rows(), out.data());
}

}  // namespace

void bind_forest(nb::module_& m) {
  nb::class_<Forest>(m, "Forest")
      .def(nb::new_(&make_forest), "start"_a.noconvert(), "feature"_a.noconvert(),
           "threshold"_a.noconvert(), "missing_left"_a.noconvert(), "left"_a.noconvert(),
           "right"_a.noconvert(), "value"_a.noconvert(), "n_features"_a, "n_outputs"_a,
           "outputs_per_tree"_a = 1, "set_start"_a.noconvert().none() = nb::none(),
           "sets"_a.noconvert().none() = nb::none(),
           "n_categories"_a.noconvert().none() = nb::none(), "linear_leaves"_a.none() = nb::none())
      .def_prop_ro("n_trees", &Forest::trees)
      .def("add_scores", &forest_add, "workers"_a, "columns"_a, "first"_a, "last"_a,
           "out"_a.noconvert())
      .def("add_scores", &forest_add_sparse, "workers"_a, "columns"_a, "first"_a, "last"_a,
           "out"_a.noconvert())
      .def("add_rows", &forest_add_rows, "rows"_a.noconvert(), "first"_a, "last"_a,
           "out"_a.noconvert())
      .def("leaves", &forest_leaves, "workers"_a, "columns"_a, "out"_a.noconvert())
      .def("leaves", &forest_sparse_leaves, "workers"_a, "columns"_a, "out"_a.noconvert());
}

}  // namespace stagewise
