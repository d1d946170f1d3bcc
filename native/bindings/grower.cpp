// Bindings of the tree grower and of the rules of trees.
#include "grow/grower.hpp"
#include "bindings/bindings.hpp"

#include <cmath>
#include <string_view>

namespace stagewise {
namespace {

// By name, so that a rule is added here, in TreeRules and where it is used, and nowhere else.
struct Rule {
  const char* name;
  void (*set)(TreeRules& rules, nb::handle value);
};

template <class T>
T to(nb::handle value) {
  return nb::cast<T>(value);
}

template <class T>
std::vector<T> list(nb::handle value) {
  return items_of<T>(to<nb::sequence>(value));
}

constexpr Rule kRules[] = {
    {"max_leaves", [](TreeRules& r, nb::handle v) { r.max_leaves = to<size_t>(v); }},
    {"max_depth", [](TreeRules& r, nb::handle v) { r.max_depth = to<int>(v); }},
    {"min_samples_leaf", [](TreeRules& r, nb::handle v) { r.min_samples_leaf = to<double>(v); }},
    {"min_samples_split", [](TreeRules& r, nb::handle v) { r.min_samples_split = to<double>(v); }},
    {"min_hessian", [](TreeRules& r, nb::handle v) { r.min_hessian = to<double>(v); }},
    {"min_gain", [](TreeRules& r, nb::handle v) { r.min_gain = to<double>(v); }},
    {"l1", [](TreeRules& r, nb::handle v) { r.l1 = to<double>(v); }},
    {"l2", [](TreeRules& r, nb::handle v) { r.l2 = to<double>(v); }},
    {"max_step", [](TreeRules& r, nb::handle v) { r.max_step = to<double>(v); }},
    {"grow_policy",
     [](TreeRules& r, nb::handle v) {
       const std::string_view name = to<const char*>(v);
       require(name == "best_first" || name == "depth_wise" || name == "depth_first" ||
                   name == "symmetric",
               "no such grow_policy");
       r.grow_policy = name == "best_first"    ? GrowthPolicy::best_first
                       : name == "depth_wise"  ? GrowthPolicy::depth_wise
                       : name == "depth_first" ? GrowthPolicy::depth_first
                                               : GrowthPolicy::symmetric;
     }},
    {"max_features_per_tree",
     [](TreeRules& r, nb::handle v) { r.max_features_per_tree = to<double>(v); }},
    {"max_features_per_level",
     [](TreeRules& r, nb::handle v) { r.max_features_per_level = to<double>(v); }},
    {"max_features", [](TreeRules& r, nb::handle v) { r.max_features = to<double>(v); }},
    {"grow_until_pure", [](TreeRules& r, nb::handle v) { r.grow_until_pure = to<bool>(v); }},
    {"hessian_bound", [](TreeRules& r, nb::handle v) { r.hessian_bound = to<double>(v); }},
    {"hessian_is_weight", [](TreeRules& r, nb::handle v) { r.hessian_is_weight = to<bool>(v); }},
    {"proposal",  // "all", "global" or "local"
     [](TreeRules& r, nb::handle v) {
       const std::string_view name = to<const char*>(v);
       require(name == "all" || name == "global" || name == "local", "no such proposal");
       r.proposal.kind = name == "all"      ? Proposal::Kind::all
                         : name == "global" ? Proposal::Kind::global
                                            : Proposal::Kind::local;
     }},
    {"sketch_eps", [](TreeRules& r, nb::handle v) { r.proposal.sketch_eps = to<double>(v); }},
    {"path_smoothing", [](TreeRules& r, nb::handle v) { r.path_smoothing = to<double>(v); }},
    {"random_thresholds", [](TreeRules& r, nb::handle v) { r.random_thresholds = to<bool>(v); }},
    {"monotone", [](TreeRules& r, nb::handle v) { r.constraints.monotone = list<int8_t>(v); }},
    {"interaction_groups",
     [](TreeRules& r, nb::handle v) {
       for (nb::handle group : to<nb::sequence>(v))
         r.constraints.interaction_groups.push_back(list<uint32_t>(group));
     }},
    {"max_interaction_order",
     [](TreeRules& r, nb::handle v) { r.constraints.max_interaction_order = to<size_t>(v); }},
    {"forced_splits",  // (feature, bin, left, right) for each
     [](TreeRules& r, nb::handle v) {
       for (nb::handle split : to<nb::sequence>(v)) {
         const auto s = to<nb::sequence>(split);
         require(nb::len(s) == 4, "a forced split is four numbers");
         r.forced_splits.push_back({item_of<uint32_t>(s[0]), item_of<uint32_t>(s[1]),
                                    item_of<int>(s[2]), item_of<int>(s[3])});
       }
     }},
    {"feature_weights", [](TreeRules& r, nb::handle v) { r.feature_weights = list<double>(v); }},
    {"used_features", [](TreeRules& r, nb::handle v) { r.used_features = list<uint32_t>(v); }},
    {"feature_penalty", [](TreeRules& r, nb::handle v) { r.feature_penalty = list<double>(v); }},
    {"category_smoothing",
     [](TreeRules& r, nb::handle v) { r.categories.smoothing = to<double>(v); }},
    {"category_chance", [](TreeRules& r, nb::handle v) { r.categories.chance = to<double>(v); }},
    {"category_l2", [](TreeRules& r, nb::handle v) { r.categories.l2 = to<double>(v); }},
    {"one_vs_rest", [](TreeRules& r, nb::handle v) { r.categories.one_vs_rest = to<size_t>(v); }},
    {"criterion",
     [](TreeRules& r, nb::handle v) {
       const std::string_view name = to<const char*>(v);
       require(name == "misclassification" || name == "gini" || name == "entropy" ||
                   name == "absolute_error" || name == "poisson",
               "no such criterion");
       r.medians = name == "absolute_error";
       r.poisson = name == "poisson";
       r.criterion = name == "gini"      ? ClassCriterion::gini
                     : name == "entropy" ? ClassCriterion::entropy
                                         : ClassCriterion::misclassification;
     }},
};

TreeRules* make_rules(const nb::typed<nb::dict, nb::str, nb::object>& given) {
  TreeRules rules;
  size_t known = 0;
  for (const Rule& rule : kRules) {
    if (!given.contains(rule.name)) continue;
    rule.set(rules, given[rule.name]);
    ++known;
  }
  require(known == given.size(), "unknown name of a tree rule");
  return new TreeRules(rules);
}

void check_vector_rules(const TreeRules& rules) {
  require(rules.forced_splits.empty() && rules.path_smoothing == 0.0 &&
              rules.feature_penalty.empty() && rules.constraints.monotone.empty(),
          "trees with vectors do not support such a rule");
}

void check_bag(const Grower& grower, const std::optional<In<uint32_t>>& bag) {
  if (!bag) return;
  require(bag->shape(0) > 0, "the bag is empty");
  for (size_t i = 0; i < bag->shape(0); ++i)
    require(bag->data()[i] < grower.table_rows() && (i == 0 || bag->data()[i - 1] < bag->data()[i]),
            "the rows of a bag are increasing row numbers");
}

Grower::Bag bag_of(const std::optional<In<uint32_t>>& bag) {
  return bag ? Grower::Bag(bag->data(), bag->shape(0)) : Grower::Bag();
}

Tree* grow_medians(Grower& grower, const std::optional<In<uint32_t>>& bag, uint64_t seed,
                   uint64_t tree_number) {
  require(grower.has_median_target(), "trees of medians need a target");
  check_bag(grower, bag);
  const GilRelease release;
  return new Tree(grower.grow(bag_of(bag), seed, tree_number));
}

// From gradients of one output, or of as many as the grower's trees have.
template <class AnyGradients>
Tree* grow(Grower& grower, AnyGradients& gradients, std::optional<In<uint32_t>> bag, uint64_t seed,
           uint64_t tree_number) {
  constexpr bool kVectors = std::is_same_v<AnyGradients, VectorGradients>;
  require(gradients.rows() == grower.table_rows(), "gradients of other rows");
  require(!grower.has_median_target(), "trees of medians have no gradients");
  if constexpr (kVectors) {
    require(gradients.outputs() == grower.outputs(), "gradients of other outputs");
  } else {
    require(grower.outputs() == 0, "trees with vectors need gradients of all outputs");
  }
  check_bag(grower, bag);
  const GilRelease release;
  return new Tree(grower.grow(gradients, bag_of(bag), seed, tree_number));
}

void grower_add(Grower& grower, const Tree& tree, const In<double>& value,
                const InOut<double>& score, const SharedLinearLeaves* linear_leaves,
                const Table* columns) {
  const ScoreUpdate scores =
      scores_of(tree, value, score, grower.table_rows(), linear_leaves, columns);
  require(grower.grew(tree), "only the tree that was grown last");
  const GilRelease release;
  grower.add_scores(scores, tree);
}

// Per leaf with a model: node, start of its terms, their features, slopes and centres, the sums of
// gradients and hessians, the Newton step, whether all rows are complete, the spread.
using FitArrays = TupleOf<Out<int32_t>, Out<uint64_t>, Out<int32_t>, Out<double>, Out<double>,
                          Out<double>, Out<double>, Out<double>, Out<uint8_t>, Out<double>>;

FitArrays fit_leaf_models(Grower& grower, const Tree& tree, const Table& table,
                          const Gradients& pairs, double l2, double bound) {
  require(grower.grew(tree), "only the tree that was grown last");
  require(grower.has_gradient_target(), "lines are fitted to trees of numbers");
  require(table.columns.rows == grower.table_rows() && pairs.rows() == grower.table_rows(),
          "values or gradients of other rows");
  for (const int32_t f : tree.feature)
    require(f < static_cast<int32_t>(table.columns.features()), "no such feature");
  require(pairs.are_pairs(), "lines are fitted to what a loss has filled");
  LinearLeafFits linear_leaves;
  {
    const GilRelease release;
    linear_leaves = grower.fit_linear_leaves(tree, table.columns, pairs, l2, bound);
  }
  return nb::make_tuple(
      to_numpy(std::move(linear_leaves.node)), to_numpy(std::move(linear_leaves.start)),
      to_numpy(std::move(linear_leaves.feature)), to_numpy(std::move(linear_leaves.slope)),
      to_numpy(std::move(linear_leaves.centre)), to_numpy(std::move(linear_leaves.gradient)),
      to_numpy(std::move(linear_leaves.hessian)), to_numpy(std::move(linear_leaves.newton)),
      to_numpy(std::move(linear_leaves.complete)), to_numpy(std::move(linear_leaves.spread)));
}

// One number per leaf.
Out<double> summarise(Grower& grower, const In<double>& residual, const Multiplier& multiplier,
                      double own,
                      std::vector<double> (LeafStatistics::*summary)(const double*, const float*,
                                                                     double) const) {
  require(residual.shape(0) == grower.table_rows(), "one residual per row");
  require(!multiplier || multiplier->shape(0) == grower.table_rows(), "one multiplier per row");
  std::vector<double> out;
  {
    const GilRelease release;
    out = (grower.leaf_statistics().*summary)(residual.data(),
                                              multiplier ? multiplier->data() : nullptr, own);
  }
  return to_numpy(std::move(out));
}

}  // namespace

void check_rules(const TreeRules& rules, size_t features) {
  require(rules.constraints.monotone.empty() || rules.constraints.monotone.size() == features,
          "one direction per feature");
  require(rules.feature_penalty.empty() || rules.feature_penalty.size() == features,
          "one penalty per feature");
  require(rules.feature_weights.empty() || rules.feature_weights.size() == features,
          "one weight per feature");
  for (const uint32_t feature : rules.used_features) require(feature < features, "no such feature");
  for (const auto& group : rules.constraints.interaction_groups)
    for (const uint32_t feature : group) require(feature < features, "no such feature");
  const auto n = static_cast<int>(rules.forced_splits.size());
  for (int i = 0; i < n; ++i) {
    const ForcedSplit& s = rules.forced_splits[static_cast<size_t>(i)];
    require(s.feature < features && s.left < n && s.right < n, "a forced split is out of range");
    require((s.left < 0 || s.left > i) && (s.right < 0 || s.right > i),
            "forced splits come after those above them");
  }
}

void check_classes(const TreeRules& rules, const In<int32_t>& classes, size_t n_classes,
                   size_t rows) {
  require(rules.path_smoothing == 0.0 && rules.constraints.monotone.empty() &&
              rules.proposal.kind == Proposal::Kind::all,
          "trees of classes do not support such a rule");
  require(classes.shape(0) == rows, "one class per row");
  for (size_t i = 0; i < rows; ++i)
    require(classes.data()[i] >= 0 && static_cast<size_t>(classes.data()[i]) < n_classes,
            "a class code is out of range");
}

void check_medians(const TreeRules& rules, const In<double>& target, const Bins& bins) {
  require(rules.grow_policy != GrowthPolicy::symmetric && rules.l1 == 0.0 &&
              rules.max_step == 0.0 && rules.path_smoothing == 0.0 &&
              rules.feature_penalty.empty() && rules.constraints.monotone.empty() &&
              rules.proposal.kind == Proposal::Kind::all,
          "trees of medians do not support such a rule");
  require(target.shape(0) == bins.rows(), "one target per row");
  require(!bins.sparse(), "trees of medians are of dense tables");
  for (size_t i = 0; i < bins.rows(); ++i)
    require(std::isfinite(target.data()[i]), "a target is not finite");
}

void bind_grower(nb::module_& m) {
  nb::class_<VectorGradients>(m, "VectorGradients")
      .def(nb::init<size_t, size_t>(), "n_rows"_a, "n_outputs"_a)
      .def_prop_ro("n_outputs", &VectorGradients::outputs)
      .def(
          "take",
          [](VectorGradients& all, size_t output, Gradients& gradients) {
            require(output < all.outputs(), "no such output");
            require(gradients.rows() == all.rows(), "gradients of other rows");
            require(gradients.are_pairs(), "gradients are filled by a loss before each tree");
            all.take(output, gradients);
          },
          "output"_a, "gradients"_a);

  nb::class_<TreeRules>(m, "TreeRules").def(nb::new_(&make_rules), "rules"_a);

  nb::class_<Grower>(m, "Grower")
      .def(
          "__init__",
          [](Grower* self, Engine& e, const Bins& bins, const Weight& weight,
             const TreeRules& rules, const std::optional<In<int32_t>>& classes, size_t n_classes,
             size_t outputs, const std::optional<In<double>>& target) {
            require(!weight || weight->shape(0) == bins.rows(), "one weight per row");
            require(bins.features() > 0, "a tree needs a feature");
            check_rules(rules, bins.features());
            if (outputs > 0) {
              require(!bins.ranked() && !classes, "trees with vectors are of numbers in bins");
              check_vector_rules(rules);
            }
            require(rules.grow_policy != GrowthPolicy::symmetric || (!bins.ranked() && !classes),
                    "symmetric trees are of numbers, and need bins");
            require(rules.medians == target.has_value(),
                    "criterion 'absolute_error' and a target go together");
            require(!target || (!classes && outputs == 0),
                    "trees of medians have one number a leaf");
            if (target) check_medians(rules, *target, bins);
            if (classes) check_classes(rules, *classes, n_classes, bins.rows());
            const GilRelease release;
            TreeTarget tree_target = GradientTarget{};
            if (target) tree_target = AbsoluteErrorTarget{span_of(target)};
            if (outputs > 0) tree_target = VectorTarget{outputs};
            if (classes) tree_target = ClassTarget{span_of(classes), n_classes};
            new (self) Grower({e.workers, e.kernels, bins, span_of(weight), rules, tree_target});
          },
          "workers"_a, "bins"_a, "weight"_a.noconvert().none(), "rules"_a,
          "classes"_a.noconvert().none() = nb::none(), "n_classes"_a = 0, "outputs"_a = 0,
          "target"_a.noconvert().none() = nb::none(), nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 6>(),
          nb::keep_alive<1, 9>())
      .def("grow", &grow<Gradients>, "gradients"_a, "bag"_a.noconvert().none(), "seed"_a,
           "tree_number"_a, nb::rv_policy::take_ownership)
      .def("grow", &grow<VectorGradients>, "gradients"_a, "bag"_a.noconvert().none(), "seed"_a,
           "tree_number"_a, nb::rv_policy::take_ownership)
      .def("grow_medians", &grow_medians, "bag"_a.noconvert().none(), "seed"_a, "tree_number"_a,
           nb::rv_policy::take_ownership)
      .def("add_scores", &grower_add, "tree"_a, "value"_a.noconvert(), "score"_a.noconvert(),
           "linear_leaves"_a.none() = nb::none(), "columns"_a.none() = nb::none())
      .def("fit_linear_leaves", &fit_leaf_models, "tree"_a, "columns"_a, "gradients"_a, "l2"_a,
           "bound"_a)
      .def("set_few_rows", &Grower::set_few_rows, "rows"_a)
      .def(
          "leaf_quantiles",
          [](Grower& g, const In<double>& residual, double q, const Multiplier& multiplier) {
            return summarise(g, residual, multiplier, q, &LeafStatistics::quantiles);
          },
          "residual"_a.noconvert(), "q"_a, "multiplier"_a.noconvert().none() = nb::none())
      .def(
          "leaf_huber_means",
          [](Grower& g, const In<double>& residual, double width, const Multiplier& multiplier) {
            return summarise(g, residual, multiplier, width, &LeafStatistics::huber_means);
          },
          "residual"_a.noconvert(), "width"_a, "multiplier"_a.noconvert().none() = nb::none())
      .def(
          "leaf_sums",
          [](Grower& g, const Gradients& pairs) -> TupleOf<Out<double>, Out<double>> {
            require(pairs.rows() == g.table_rows(), "gradients of other rows");
            require(pairs.are_pairs(), "sums are of what a loss has filled");
            LeafSums sums;
            {
              const GilRelease release;
              sums = g.leaf_statistics().sums(pairs);
            }
            return nb::make_tuple(to_numpy(std::move(sums.gradient)),
                                  to_numpy(std::move(sums.hessian)));
          },
          "gradients"_a)
      .def(
          "enforce_monotone",
          [](const Grower& g, const In<double>& values) {
            require(values.shape(0) == g.leaves().size(), "one value per leaf");
            std::vector<double> ordered;
            {
              const GilRelease release;
              ordered = g.enforce_monotone({values.data(), values.data() + values.shape(0)});
            }
            return to_numpy(std::move(ordered));
          },
          "values"_a.noconvert())
      .def(
          "monotone_bounds",
          [](const Grower& g, const In<double>& values) -> TupleOf<Out<double>, Out<double>> {
            require(values.shape(0) == g.leaves().size(), "one value per leaf");
            std::vector<double> low, high;
            {
              const GilRelease release;
              for (const Bounds& b :
                   g.monotone_bounds({values.data(), values.data() + values.shape(0)})) {
                low.push_back(b.low);
                high.push_back(b.high);
              }
            }
            return nb::make_tuple(to_numpy(std::move(low)), to_numpy(std::move(high)));
          },
          "values"_a.noconvert())
      .def("leaf_nodes",
           [](const Grower& g) {
             std::vector<int32_t> nodes;
             for (const auto& leaf : g.leaves()) nodes.push_back(leaf.node);
             return to_numpy(std::move(nodes));
           })
      .def("leaf_rows",
           [](const Grower& g)
               -> TupleOf<Out<uint32_t>, Out<uint64_t>> {  // (rows, begin of each leaf's rows)
             std::vector<uint32_t> rows;
             std::vector<uint64_t> begin;
             for (const auto& leaf : g.leaves()) {
               begin.push_back(rows.size());
               rows.insert(rows.end(), leaf.rows.begin(), leaf.rows.end());
             }
             return nb::make_tuple(to_numpy(std::move(rows)), to_numpy(std::move(begin)));
           });
}

}  // namespace stagewise
