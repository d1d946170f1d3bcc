// Growing trees.
#include "bindings.hpp"
#include "grow.hpp"

namespace stagewise {
namespace {

TreeRules tree_rules(size_t max_leaves, int max_depth, double min_samples_leaf, double min_hessian,
                     double min_gain, double l1, double l2, double max_step, bool depth_wise,
                     double per_tree, double per_level, double per_node, double hessian_bound,
                     bool hessian_is_weight, const std::string& criterion) {
  TreeRules r;
  r.max_leaves = max_leaves;
  r.max_depth = max_depth;
  r.min_samples_leaf = min_samples_leaf;
  r.min_hessian = min_hessian;
  r.min_gain = min_gain;
  r.regularisation = {l1, l2, max_step};
  r.growth = depth_wise ? Growth::depth_wise : Growth::best_first;
  r.columns_per_tree = per_tree;
  r.columns_per_level = per_level;
  r.columns_per_node = per_node;
  r.hessian_bound = hessian_bound;
  r.hessian_is_weight = hessian_is_weight;
  require(criterion == "misclassification" || criterion == "gini", "no such criterion");
  r.criterion = criterion == "gini" ? ClassCriterion::gini : ClassCriterion::misclassification;
  return r;
}

Tree* grow(Grower& grower, Gradients& gradients, std::optional<In<uint32_t>> bag, uint64_t seed,
           uint64_t tree_number) {
  require(gradients.rows() == grower.table_rows(), "gradients of other rows");
  if (bag) {
    require(bag->shape(0) > 0, "the bag is empty");
    for (size_t i = 0; i < bag->shape(0); ++i)
      require(
          bag->data()[i] < grower.table_rows() && (i == 0 || bag->data()[i - 1] < bag->data()[i]),
          "the rows of a bag are increasing row numbers");
  }
  nb::gil_scoped_release release;
  return new Tree(grower.grow(gradients, bag ? bag->data() : nullptr, bag ? bag->shape(0) : 0, seed,
                              tree_number));
}

void grower_add(Grower& grower, const Tree& tree, const In<double>& value,
                const InOut<double>& score) {
  require(value.shape(0) == tree.nodes(), "one value per node");
  require(score.shape(0) == grower.table_rows(), "one score per row");
  require(grower.grew(tree), "only the tree that was grown last");
  nb::gil_scoped_release release;
  grower.add_to(score.data(), tree, value.data());
}

// One number per leaf.
Out<double> summarise(Grower& grower, const In<double>& residual, const Times& times, double own,
                      std::vector<double> (Grower::*summary)(const double*, const float*, double)) {
  require(residual.shape(0) == grower.table_rows(), "one residual per row");
  require(!times || times->shape(0) == grower.table_rows(), "one multiplier per row");
  std::vector<double> out;
  {
    nb::gil_scoped_release release;
    out = (grower.*summary)(residual.data(), times ? times->data() : nullptr, own);
  }
  return to_numpy(std::move(out));
}

}  // namespace

void bind_trees(nb::module_& m) {
  nb::class_<TreeRules>(m, "TreeRules")
      .def(nb::new_([](size_t a, int b, double c, double d, double e, double f, double g, double h,
                       bool i, double j, double k, double l, double n, bool o,
                       const std::string& p) {
             return new TreeRules(tree_rules(a, b, c, d, e, f, g, h, i, j, k, l, n, o, p));
           }),
           "max_leaves"_a, "max_depth"_a, "min_samples_leaf"_a, "min_hessian"_a, "min_gain"_a,
           "l1"_a, "l2"_a, "max_step"_a, "depth_wise"_a, "columns_per_tree"_a,
           "columns_per_level"_a, "columns_per_node"_a, "hessian_bound"_a, "hessian_is_weight"_a,
           "criterion"_a = "misclassification");

  nb::class_<Tree>(m, "GrownTree").def("arrays", [](const Tree& t) {
    return nb::make_tuple(to_numpy(std::vector(t.feature)), to_numpy(std::vector(t.threshold)),
                          to_numpy(std::vector(t.missing_left)), to_numpy(std::vector(t.left)),
                          to_numpy(std::vector(t.right)), to_numpy(std::vector(t.value)),
                          to_numpy(std::vector(t.gain)), to_numpy(std::vector(t.cover)));
  });

  nb::class_<Grower>(m, "Grower")
      .def(
          "__init__",
          [](Grower* self, Engine& e, const Bins& bins, const Weight& weight,
             const TreeRules& rules, const std::optional<In<int32_t>>& classes, size_t n_classes) {
            require(!weight || weight->shape(0) == bins.rows(), "one weight per row");
            require(bins.features() > 0, "a tree needs a feature");
            if (classes) {
              require(classes->shape(0) == bins.rows(), "one class per row");
              for (size_t i = 0; i < bins.rows(); ++i)
                require(
                    classes->data()[i] >= 0 && static_cast<size_t>(classes->data()[i]) < n_classes,
                    "a class code is out of range");
            }
            new (self) Grower(e.workers, e.kernels, bins, weight ? weight->data() : nullptr, rules,
                              classes ? classes->data() : nullptr, n_classes);
          },
          "workers"_a, "bins"_a, "weight"_a.noconvert().none(), "rules"_a,
          "classes"_a.noconvert().none() = nb::none(), "n_classes"_a = 0, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 6>())
      .def("grow", &grow, "gradients"_a, "bag"_a.noconvert().none(), "seed"_a, "tree_number"_a,
           nb::rv_policy::take_ownership)
      .def("add_to", &grower_add, "tree"_a, "value"_a.noconvert(), "score"_a.noconvert())
      .def("set_few_rows", &Grower::set_few_rows, "rows"_a)
      .def(
          "leaf_quantiles",
          [](Grower& g, const In<double>& residual, double q, const Times& times) {
            return summarise(g, residual, times, q, &Grower::leaf_quantiles);
          },
          "residual"_a.noconvert(), "q"_a, "times"_a.noconvert().none() = nb::none())
      .def(
          "leaf_huber_means",
          [](Grower& g, const In<double>& residual, double width, const Times& times) {
            return summarise(g, residual, times, width, &Grower::leaf_huber_means);
          },
          "residual"_a.noconvert(), "width"_a, "times"_a.noconvert().none() = nb::none())
      .def(
          "leaf_sums",
          [](Grower& g, const Gradients& pairs) {
            require(pairs.rows() == g.table_rows(), "gradients of other rows");
            require(pairs.are_pairs(), "sums are of what a loss has filled");
            Grower::LeafSums sums;
            {
              nb::gil_scoped_release release;
              sums = g.leaf_sums(pairs);
            }
            return nb::make_tuple(to_numpy(std::move(sums.gradient)),
                                  to_numpy(std::move(sums.hessian)));
          },
          "gradients"_a)
      .def("leaf_nodes",
           [](const Grower& g) {
             std::vector<int32_t> nodes;
             for (const auto& leaf : g.leaves()) nodes.push_back(leaf.node);
             return to_numpy(std::move(nodes));
           })
      .def("leaf_rows", [](const Grower& g) {  // (rows, begin of each leaf's rows)
        std::vector<uint32_t> rows;
        std::vector<uint64_t> begin;
        for (const auto& leaf : g.leaves()) {
          begin.push_back(rows.size());
          rows.insert(rows.end(), leaf.rows, leaf.rows + leaf.n);
        }
        return nb::make_tuple(to_numpy(std::move(rows)), to_numpy(std::move(begin)));
      });
}

}  // namespace stagewise
