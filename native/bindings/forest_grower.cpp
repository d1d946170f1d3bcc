// Bindings of the forest grower.
#include "forest/forest_grower.hpp"

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

void make_forest_grower(ForestGrower* self, Engine& e, const Bins& bins, const Weight& weight,
                        const std::optional<In<double>>& target,
                        const std::optional<In<int32_t>>& classes, size_t n_classes,
                        const TreeRules& rules, bool bootstrap, double share) {
  require(!weight || weight->shape(0) == bins.rows(), "one weight per row");
  require(target.has_value() != classes.has_value(), "rows have a target or a class");
  require(!target || target->shape(0) == bins.rows(), "one target per row");
  require(share > 0.0 && share <= 1.0, "a share is above 0 and at most 1");
  check_rules(rules, bins.features());
  require(rules.grow_policy != GrowthPolicy::symmetric, "the trees of a forest are not symmetric");
  require(!rules.medians || target, "medians are of targets");
  if (rules.medians) check_medians(rules, *target, bins);
  if (classes) check_classes(rules, *classes, n_classes, bins.rows());
  new (self) ForestGrower({e.workers,
                           e.kernels,
                           bins,
                           span_of(weight),
                           span_of(target),
                           span_of(classes),
                           n_classes,
                           rules,
                           {bootstrap, share}});
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
           "target"_a.noconvert().none(), "classes"_a.noconvert().none(), "n_classes"_a, "rules"_a,
           "bootstrap"_a, "share"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>())
      .def("grow", &grow, "seed"_a, "first"_a, "n"_a, "list_oob"_a);
}

}  // namespace stagewise
