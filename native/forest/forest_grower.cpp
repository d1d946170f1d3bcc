#include "forest/forest_grower.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewise {

TreeTarget ForestGrower::tree_target() const {
  if (input_.rules.medians) return AbsoluteErrorTarget{input_.target};
  if (has_classes()) return ClassTarget{input_.class_of, input_.n_classes};
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

ForestTree ForestGrower::grow_one(Workers& team, Workspace* workspace, uint64_t seed,
                                  uint64_t number, bool list_oob) const {
  const Bag bag = draw_bag(team, seed, number);
  std::fill(workspace->weight.begin(), workspace->weight.end(), 0.0);
  for (const uint32_t row : bag.rows) {
    const double multiplier =
        bag.multiplier.empty() ? 1.0 : static_cast<double>(bag.multiplier[row]);
    workspace->weight[row] = multiplier * (input_.weight.empty() ? 1.0 : input_.weight[row]);
  }
  Grower grower(
      {team, input_.kernels, input_.bins, workspace->weight, input_.rules, tree_target()});
  ForestTree tree;
  if (input_.rules.medians) {
    tree.tree = grower.grow(bag.rows, seed, number);
  } else {
    fill(team, workspace);
    tree.tree = grower.grow(workspace->pairs, bag.rows, seed, number);
    set_values(grower, workspace->weight, &tree.tree);
  }
  if (list_oob) find_oob_leaves(bag, workspace, &tree);
  return tree;
}

// The gradients of the squared error at score 0; with classes, of 1 for each row.
void ForestGrower::fill(Workers& team, Workspace* workspace) const {
  workspace->pairs.fill(team, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
    for (size_t i = 0; i < n; ++i) {
      const double w = workspace->weight[begin + i];
      const double g = input_.target.empty() ? 1.0 : -input_.target[begin + i];
      out[i].pair = {static_cast<float>(g), 1.0f};
      sums->abs_gradient += w * std::abs(g);
      sums->hessian += w;
    }
  });
}

void ForestGrower::set_values(const Grower& grower, const std::vector<double>& weight,
                              Tree* tree) const {
  const size_t lanes = !has_classes() ? 1 : input_.n_classes, nodes = tree->nodes();
  std::vector<double> sums(nodes * lanes, 0.0), total(nodes, 0.0);
  // A mean that rounding moved out of the range of its targets is clipped to the range.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> lowest(nodes, kInfinity), highest(nodes, -kInfinity);
  for (const GrownLeaf& leaf : grower.leaves()) {
    const auto node = static_cast<size_t>(leaf.node);
    for (size_t i = 0; i < leaf.rows.size(); ++i) {
      const uint32_t row = leaf.rows[i];
      const double w = weight[row];
      const size_t lane = !has_classes() ? 0 : static_cast<size_t>(input_.class_of[row]);
      sums[node * lanes + lane] += !has_classes() ? w * input_.target[row] : w;
      total[node] += w;
      if (has_classes()) continue;
      lowest[node] = std::min(lowest[node], input_.target[row]);
      highest[node] = std::max(highest[node], input_.target[row]);
    }
  }
  for (size_t node = nodes; node-- > 0;) {  // children come after their parent
    if (tree->feature[node] < 0) continue;
    for (const int32_t child : {tree->left[node], tree->right[node]}) {
      const auto c = static_cast<size_t>(child);
      for (size_t k = 0; k < lanes; ++k) sums[node * lanes + k] += sums[c * lanes + k];
      total[node] += total[c];
      lowest[node] = std::min(lowest[node], lowest[c]);
      highest[node] = std::max(highest[node], highest[c]);
    }
  }
  tree->outputs = outputs();
  tree->value.assign(nodes * tree->outputs, 0.0);
  for (size_t node = 0; node < nodes; ++node) {
    const double* const own = sums.data() + node * lanes;
    double* const out = tree->value.data() + node * tree->outputs;
    if (!has_classes()) {
      *out = std::clamp(*own / total[node], lowest[node], highest[node]);
    } else if (input_.n_classes == 2) {
      *out = (own[1] - own[0]) / total[node];
    } else {
      for (size_t k = 0; k < lanes; ++k) out[k] = own[k] / total[node];
    }
  }
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
