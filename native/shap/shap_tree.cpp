#include "shap/shap_tree.hpp"

namespace stagewise {

ShapTree::ShapTree(const FlatTrees& trees, std::span<const double> cover, size_t tree,
                   size_t all_outputs)
    : outputs(trees.width), output(trees.width == 1 ? tree % all_outputs : 0) {
  const size_t begin = trees.start[tree], n = trees.start[tree + 1] - begin;
  feature.assign(trees.feature.begin() + static_cast<ptrdiff_t>(begin),
                 trees.feature.begin() + static_cast<ptrdiff_t>(begin + n));
  left.assign(n, -1);
  right.assign(n, -1);
  parent.assign(n, -1);
  split.assign(n, 0);
  share.assign(n, 0.0);
  reach.assign(n, 1.0);
  value.assign(trees.value.begin() + static_cast<ptrdiff_t>(begin * outputs),
               trees.value.begin() + static_cast<ptrdiff_t>((begin + n) * outputs));
  if (trees.linear_leaves != nullptr) {
    for (size_t i = 0; i < n; ++i) line.push_back(trees.linear_leaves->of(begin + i));
    if (std::all_of(line.begin(), line.end(), [](int32_t l) { return l < 0; })) line.clear();
    if (!line.empty()) linear_leaves = trees.linear_leaves;
  }
  uint32_t splits = 0;
  for (size_t i = 0; i < n; ++i) {
    if (feature[i] < 0) continue;
    split[i] = splits++;
    left[i] = trees.left[begin + i];
    right[i] = trees.right[begin + i];
    const auto l = static_cast<size_t>(left[i]), r = static_cast<size_t>(right[i]);
    parent[l] = parent[r] = static_cast<int32_t>(i);
    if (cover.empty()) continue;
    const double both = cover[begin + l] + cover[begin + r];
    share[l] = cover[begin + l] / both;
    share[r] = cover[begin + r] / both;
    reach[l] = reach[i] * share[l];
    reach[r] = reach[i] * share[r];
  }
}

size_t leaf_of(const ShapTree& tree, const int16_t* decisions, size_t i) {
  size_t node = 0;
  while (!tree.is_leaf(node)) {
    const bool to_right = decisions[tree.split[node] * kDecisionRows + i] != 0;
    node = static_cast<size_t>(to_right ? tree.right[node] : tree.left[node]);
  }
  return node;
}

}  // namespace stagewise
