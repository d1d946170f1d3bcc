// Bindings of linear leaves.
#include "bindings/bindings.hpp"

namespace stagewise {

ScoreUpdate scores_of(const Tree& tree, const In<double>& value, const InOut<double>& score,
                      size_t rows, const SharedLinearLeaves* shared, const Table* table) {
  const LinearLeaves* const linear_leaves = SharedLinearLeaves::of(shared).get();
  require(value.shape(0) == tree.nodes() * tree.outputs, "a value per node and output");
  require(score.shape(0) == rows * tree.outputs, "a score per row and output");
  if (linear_leaves == nullptr) return {value.data(), tree.outputs, score.data(), rows};
  require(tree.outputs == 1, "linear leaves have one output");
  require(table != nullptr, "linear leaves need the values of the rows");
  require(table->columns.rows == rows, "the table has other rows than the tree");
  require(linear_leaves->nodes() == tree.nodes() &&
              linear_leaves->features() == table->columns.features(),
          "linear leaves of another tree");
  return {value.data(), 1, score.data(), rows, linear_leaves, &table->columns};
}

void bind_linear_leaves(nb::module_& m) {
  nb::class_<SharedLinearLeaves>(m, "LeafModels")
      .def(nb::new_([](const In<int64_t>& node, const In<uint64_t>& start,
                       const In<int32_t>& feature, const In<double>& slope,
                       const In<double>& centre, const In<double>& intercept, const In<double>& low,
                       const In<double>& high, const In<uint8_t>& beyond, const In<double>& grain,
                       size_t nodes, size_t features) {
             return new SharedLinearLeaves{std::make_shared<LinearLeaves>(
                 FlatLinearLeaves{span_of(node), span_of(start), span_of(feature), span_of(slope),
                                  span_of(centre), span_of(intercept), span_of(low), span_of(high),
                                  span_of(beyond), span_of(grain)},
                 nodes, features)};
           }),
           "node"_a.noconvert(), "start"_a.noconvert(), "feature"_a.noconvert(),
           "slope"_a.noconvert(), "centre"_a.noconvert(), "intercept"_a.noconvert(),
           "low"_a.noconvert(), "high"_a.noconvert(), "beyond"_a.noconvert(), "grain"_a.noconvert(),
           "n_nodes"_a, "n_features"_a);
}

}  // namespace stagewise
