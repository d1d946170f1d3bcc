#include "forest/forest_grower.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewise {
namespace {

// The sums of the targets of the rows of each node; a lane for each target, or for each class of
// it.
class NodeSums {
 public:
  NodeSums(const ImpurityTarget& target, size_t nodes) : target_(target), total_(nodes, 0.0) {
    for (size_t k = 0; k < target.outputs; ++k) {
      first_lane_.push_back(lanes_);
      lanes_ += target.n_classes.empty() ? 1 : target.n_classes[k];
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    sums_.assign(nodes * lanes_, 0.0);
    if (target.n_classes.empty()) range_.assign(nodes * lanes_, {kInfinity, -kInfinity});
  }

  size_t lanes() const { return lanes_; }

  void add(size_t node, size_t row, double weight) {
    total_[node] += weight;
    for (size_t k = 0; k < target_.outputs; ++k) {
      const size_t at = row * target_.outputs + k, first = node * lanes_ + first_lane_[k];
      if (range_.empty()) {
        sums_[first + static_cast<size_t>(target_.class_of[at])] += weight;
      } else {
        sums_[first] += weight * target_.y[at];
        widen(first, {target_.y[at], target_.y[at]});
      }
    }
  }

  // Adds the rows of leaves to the nodes above them; children come after their parent.
  void add_children(const Tree& tree) {
    for (size_t node = tree.nodes(); node-- > 0;) {
      if (tree.feature[node] < 0) continue;
      for (const int32_t side : {tree.left[node], tree.right[node]}) {
        const auto child = static_cast<size_t>(side);
        total_[node] += total_[child];
        for (size_t k = 0; k < lanes_; ++k) {
          sums_[node * lanes_ + k] += sums_[child * lanes_ + k];
          if (!range_.empty()) widen(node * lanes_ + k, range_[child * lanes_ + k]);
        }
      }
    }
  }

  // A mean that rounding moved out of the range of its targets is clipped to the range.
  double mean(size_t node, size_t lane) const {
    const size_t at = node * lanes_ + lane;
    const double mean = sums_[at] / total_[node];
    return range_.empty() ? mean : std::clamp(mean, range_[at].low, range_[at].high);
  }
  // p_1 - p_0 of two classes.
  double difference(size_t node) const {
    return (sums_[node * lanes_ + 1] - sums_[node * lanes_]) / total_[node];
  }

 private:
  void widen(size_t at, const Bounds& by) {
    range_[at].low = std::min(range_[at].low, by.low);
    range_[at].high = std::max(range_[at].high, by.high);
  }

  const ImpurityTarget& target_;
  size_t lanes_ = 0;
  std::vector<size_t> first_lane_;  // of each target
  std::vector<double> sums_;        // per node and lane
  std::vector<double> total_;       // per node: the sum of the weights
  std::vector<Bounds> range_;       // per node and lane, of numbers; empty: classes
};

// Splits on features without a constraint may have values beyond the bounds of their nodes.
void keep_bounds(const Grower& grower, Tree* tree) {
  for (const GrownLeaf& grown : grower.leaves())
    for (const Leaf* leaf = grown.leaf; leaf != nullptr; leaf = leaf->parent) {
      double& value = tree->value[static_cast<size_t>(leaf->node)];
      value = std::clamp(value, leaf->bounds.low, leaf->bounds.high);
    }
}

// Packed gradients have 31 bits for the sum of all weights (fixed_point.hpp), so that rows of small
// weight would count as absent.
bool exceed_packing(std::span<const double> weight) {
  constexpr double kLargestRatio = 268435456.0;  // 2^28: the smallest weight has three bits
  double total = 0.0, least = std::numeric_limits<double>::infinity();
  for (const double w : weight) {
    total += w;
    if (w > 0.0) least = std::min(least, w);
  }
  return total > kLargestRatio * least;
}

bool needs_impurity(const ForestInput& input) {
  const TreeRules& rules = input.rules;
  if (input.target.outputs > 1 || rules.poisson || !rules.constraints.monotone.empty()) return true;
  return !rules.medians && !input.bins.sparse() && rules.forced_splits.empty() &&
         rules.proposal.kind == Proposal::Kind::all && exceed_packing(input.weight);
}

}  // namespace

ForestGrower::ForestGrower(ForestInput input)
    : input_(std::move(input)), by_impurity_(needs_impurity(input_)) {}

TreeTarget ForestGrower::tree_target() const {
  const ImpurityTarget& target = input_.target;
  if (input_.rules.medians) return AbsoluteErrorTarget{target.y};
  if (by_impurity_) return target;
  if (has_classes()) return ClassTarget{target.class_of, target.n_classes[0]};
  return GradientTarget{};
}

std::vector<ForestTree> ForestGrower::grow(uint64_t seed, uint64_t first, size_t n, bool list_oob) {
  std::vector<ForestTree> trees(n);
  if (n == 1) {  // all threads work on it
    Workspace workspace(input_.bins.rows());
    trees[0] = grow_one(input_.workers, &workspace, seed, first, list_oob);
    return trees;
  }
  std::vector<std::unique_ptr<Workspace>> workspaces(static_cast<size_t>(input_.workers.threads()));
  input_.workers.run(n, [&](size_t i, int worker) {
    std::unique_ptr<Workspace>& workspace = workspaces[static_cast<size_t>(worker)];
    if (workspace == nullptr) workspace = std::make_unique<Workspace>(input_.bins.rows());
    Workers alone(1);
    trees[i] = grow_one(alone, workspace.get(), seed, first + i, list_oob);
  });
  return trees;
}

Bag ForestGrower::draw_bag(Workers& team, uint64_t seed, uint64_t number) const {
  const DrawnRows from{team, input_.bins.rows(), input_.weight, seed, number};
  return input_.bags.bootstrap ? draw_bootstrap(from, input_.bags.share)
                               : draw_rows(from, input_.bags.share);
}

void ForestGrower::weigh(const Bag& bag, std::vector<double>* weight) const {
  std::fill(weight->begin(), weight->end(), 0.0);
  for (const uint32_t row : bag.rows) {
    const double multiplier =
        bag.multiplier.empty() ? 1.0 : static_cast<double>(bag.multiplier[row]);
    (*weight)[row] = multiplier * (input_.weight.empty() ? 1.0 : input_.weight[row]);
  }
  if (input_.bags.balanced) balance(bag, weight);
}

// Multiplies the weight of each row by W / (K W_k) for each target: W_k is the weight of its class
// in the bag, and K the number of classes there.
void ForestGrower::balance(const Bag& bag, std::vector<double>* weight) const {
  const ImpurityTarget& target = input_.target;
  std::vector<double> factor(bag.rows.size(), 1.0);
  for (size_t k = 0; k < target.outputs; ++k) {
    const auto class_of = [&](uint32_t row) {
      return static_cast<size_t>(target.class_of[row * target.outputs + k]);
    };
    std::vector<double> sums(target.n_classes[k], 0.0);
    double total = 0.0, present = 0.0;
    for (const uint32_t row : bag.rows) {
      sums[class_of(row)] += (*weight)[row];
      total += (*weight)[row];
    }
    for (const double sum : sums) present += sum > 0.0 ? 1.0 : 0.0;
    for (size_t i = 0; i < bag.rows.size(); ++i) {
      const double own = sums[class_of(bag.rows[i])];
      if (own > 0.0) factor[i] *= total / (present * own);
    }
  }
  for (size_t i = 0; i < bag.rows.size(); ++i) (*weight)[bag.rows[i]] *= factor[i];
}

// The rules with the least weight of a leaf of this bag.
TreeRules ForestGrower::rules_for(const std::vector<double>& weight) const {
  TreeRules rules = input_.rules;
  if (input_.bags.least_fraction == 0.0) return rules;
  constexpr double kRounding = 1e-12;  // a tenth of 30 rows is 3 rows
  double total = 0.0;
  for (const double w : weight) total += w;
  rules.min_samples_leaf =
      std::max(rules.min_samples_leaf, input_.bags.least_fraction * total * (1.0 - kRounding));
  return rules;
}

ForestTree ForestGrower::grow_one(Workers& team, Workspace* workspace, uint64_t seed,
                                  uint64_t number, bool list_oob) const {
  const Bag bag = draw_bag(team, seed, number);
  weigh(bag, &workspace->weight);
  const TreeRules rules = rules_for(workspace->weight);
  Grower grower({team, input_.kernels, input_.bins, workspace->weight, rules, tree_target(),
                 workspace->leaves});
  ForestTree tree;
  if (rules.medians || by_impurity_) {
    tree.tree = grower.grow(bag.rows, seed, number);
  } else {
    fill(team, workspace);
    tree.tree = grower.grow(workspace->pairs, bag.rows, seed, number);
  }
  if (!rules.medians) set_values(grower, workspace->weight, &tree.tree);
  if (list_oob) find_oob_leaves(bag, workspace, &tree);
  return tree;
}

// The gradients of the squared error at score 0; with classes, of 1 for each row.
void ForestGrower::fill(Workers& team, Workspace* workspace) const {
  workspace->pairs.fill(team, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    for (size_t i = 0; i < n; ++i) {
      const double w = workspace->weight[begin + i];
      const double g = has_classes() ? 1.0 : -input_.target.y[begin + i];
      out[i].pair = {static_cast<float>(g), 1.0f};
      sums->abs_gradient += w * std::abs(g);
      sums->hessian += w;
    }
  });
}

void ForestGrower::set_values(const Grower& grower, const std::vector<double>& weight,
                              Tree* tree) const {
  NodeSums sums(input_.target, tree->nodes());
  for (const GrownLeaf& leaf : grower.leaves())
    for (const uint32_t row : leaf.rows) sums.add(static_cast<size_t>(leaf.node), row, weight[row]);
  sums.add_children(*tree);
  tree->outputs = of_two_classes() ? 1 : sums.lanes();
  tree->value.assign(tree->nodes() * tree->outputs, 0.0);
  for (size_t node = 0; node < tree->nodes(); ++node) {
    double* const out = tree->value.data() + node * tree->outputs;
    if (of_two_classes()) {
      *out = sums.difference(node);
    } else {
      for (size_t lane = 0; lane < sums.lanes(); ++lane) out[lane] = sums.mean(node, lane);
    }
  }
  if (!input_.rules.constraints.monotone.empty()) keep_bounds(grower, tree);
}

// Rows go down the tree as in a score update, with the number of each node as its value.
void ForestGrower::find_oob_leaves(const Bag& bag, Workspace* workspace, ForestTree* tree) const {
  const size_t n = input_.bins.rows();
  for (size_t row = 0, next = 0; row < n; ++row) {
    const bool seen = next < bag.rows.size() && bag.rows[next] == row;
    next += seen ? 1 : 0;
    if (!seen && (input_.weight.empty() || input_.weight[row] > 0.0))
      tree->oob_rows.push_back(static_cast<uint32_t>(row));
  }
  std::vector<double> number(tree->tree.nodes());
  for (size_t node = 0; node < number.size(); ++node) number[node] = static_cast<double>(node);
  workspace->leaf_of_row.assign(n, 0.0);
  const ScoreUpdate scores{number.data(), 1, workspace->leaf_of_row.data(), n};
  for (size_t at = 0; at < tree->oob_rows.size(); at += kDescentRows) {
    const auto from = tree->oob_rows.begin() + static_cast<ptrdiff_t>(at);
    const size_t size = std::min(kDescentRows, tree->oob_rows.size() - at);
    std::vector<uint32_t> rows(from, from + static_cast<ptrdiff_t>(size));
    add_tree(input_.kernels, input_.bins, {}, tree->tree, scores, &rows);
  }
  tree->leaf.reserve(tree->oob_rows.size());
  for (const uint32_t row : tree->oob_rows)
    tree->leaf.push_back(static_cast<int32_t>(workspace->leaf_of_row[row]));
}

}  // namespace stagewise
