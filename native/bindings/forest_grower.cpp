// Bindings of the forest grower.
#include "forest/forest_grower.hpp"

#include "bindings/bindings.hpp"

#include <cmath>

namespace stagewise {
namespace {

void check_target(const TreeRules& rules, const ImpurityTarget& target, const Bins& bins) {
  const size_t cells = bins.rows() * target.outputs;
  require(target.outputs > 0, "rows have a target");
  if (!target.n_classes.empty()) {
    require(target.class_of.size() == cells, "one class per row and target");
    for (size_t i = 0; i < cells; ++i)
      require(target.class_of[i] >= 0 &&
                  static_cast<size_t>(target.class_of[i]) < target.n_classes[i % target.outputs],
              "a class code is out of range");
  } else {
    require(target.y.size() == cells, "one number per row and target");
    for (size_t i = 0; i < cells; ++i)
      require(std::isfinite(target.y[i]) && (!rules.poisson || target.y[i] >= 0.0),
              "a target is not finite, or negative");
  }
  const bool monotone = !rules.constraints.monotone.empty();
  require(
      !monotone || (target.outputs == 1 && (target.n_classes.empty() || target.n_classes[0] == 2)),
      "monotone trees have one target, and two classes at most");
  require(!rules.poisson || target.n_classes.empty(), "Poisson trees are of numbers");
  require(!rules.medians || (target.outputs == 1 && target.n_classes.empty() && !monotone),
          "trees of medians have one target and no constraints");
  const bool without_histograms = target.outputs > 1 || rules.poisson || monotone;
  require(!without_histograms || (!bins.sparse() && rules.forced_splits.empty() &&
                                  rules.proposal.kind == Proposal::Kind::all),
          "such trees are of dense tables, without forced splits");
}

void make_forest_grower(ForestGrower* self, Engine& e, const Bins& bins, const Weight& weight,
                        const std::optional<In<double>>& target,
                        const std::optional<In<int32_t>>& classes,
                        const nb::typed<nb::sequence, size_t>& n_classes, size_t outputs,
                        const TreeRules& rules, bool bootstrap, double share, bool balanced,
                        double least_fraction) {
  require(!weight || weight->shape(0) == bins.rows(), "one weight per row");
  require(target.has_value() != classes.has_value(), "rows have a target or a class");
  require(share > 0.0 && share <= 1.0, "a share is above 0 and at most 1");
  require(least_fraction >= 0.0 && least_fraction <= 0.5, "a fraction is at most one half");
  check_rules(rules, bins.features());
  require(rules.grow_policy != GrowthPolicy::symmetric, "the trees of a forest are not symmetric");
  ImpurityTarget own{span_of(target), span_of(classes), items_of<size_t>(n_classes), outputs};
  require(own.n_classes.size() == (classes ? outputs : 0), "the number of classes of each target");
  require(!balanced || classes, "balanced bags are of classes");
  check_target(rules, own, bins);
  if (rules.medians) check_medians(rules, *target, bins);
  TreeRules copy = rules;
  copy.constraints.midpoint_bounds = true;
  new (self) ForestGrower({e.workers,
                           e.kernels,
                           bins,
                           span_of(weight),
                           std::move(own),
                           std::move(copy),
                           {bootstrap, share, balanced, least_fraction}});
}

using GrownTrees = ListOf<TupleOf<Tree, Out<uint32_t>, Out<int32_t>>>;

GrownTrees grow(ForestGrower& grower, uint64_t seed, uint64_t first, size_t n, bool list_oob) {
  require(n > 0, "no tree to grow");
  std::vector<ForestTree> trees;
  {
    const GilRelease release;
    trees = grower.grow(seed, first, n, list_oob);
  }
  GrownTrees out;
  for (ForestTree& tree : trees) {
    nb::object grown = nb::cast(new Tree(std::move(tree.tree)), nb::rv_policy::take_ownership);
    out.append(
        nb::make_tuple(grown, to_numpy(std::move(tree.oob_rows)), to_numpy(std::move(tree.leaf))));
  }
  return out;
}

}  // namespace

void bind_forest_grower(nb::module_& m) {
  nb::class_<ForestGrower>(m, "ForestGrower")
      .def("__init__", &make_forest_grower, "workers"_a, "bins"_a, "weight"_a.noconvert().none(),
           "target"_a.noconvert().none(), "classes"_a.noconvert().none(), "n_classes"_a,
           "outputs"_a, "rules"_a, "bootstrap"_a, "share"_a, "balanced"_a, "least_fraction"_a,
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
           nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>())
      .def("grow", &grow, "seed"_a, "first"_a, "n"_a, "list_oob"_a);
}

}  // namespace stagewise
