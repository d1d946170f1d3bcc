// The tree that is being grown: its leaves, the bounds that monotone constraints set, and the nodes
// that are written when a leaf is split. It has no rows; growers have these.
#pragma once

#include <vector>

#include "binning/bins.hpp"
#include "grow/nodes/constraints.hpp"
#include "grow/nodes/leaf.hpp"
#include "grow/nodes/tree.hpp"
#include "grow/nodes/tree_rules.hpp"

namespace stagewise {

class GrowingTree {
 public:
  // unit: the count of a row of weight 1. leaves: memory that other trees used before; null: none.
  GrowingTree(const Bins& bins, const TreeRules& rules, const Constraints& constraints, double unit,
              std::shared_ptr<LeafPool> leaves = nullptr)
      : bins_(bins),
        rules_(rules),
        constraints_(constraints),
        unit_(unit),
        leaves_(leaves != nullptr ? std::move(leaves) : std::make_shared<LeafPool>()) {}

  // Forgets the last tree; returns the root, without rows and sums.
  Leaf* start();
  // Adds the leaves of a split, without rows and sums.
  void add_children(Leaf* parent);
  // Sets what follows from the split alone.
  void describe_children(const Leaf& parent) const;
  // After the children have their sums: what new rows are split by (the threshold and the side of
  // missing values), the regions of the children and the bounds of their splits.
  void complete_split(Leaf* parent);
  Bounds bounds_of(const Leaf& leaf) const;
  // Whether the split of the leaf is valid: its monotone bounds have not changed, and a forced
  // split was possible. If not, the split is removed, and must be found again.
  bool keep_split(Leaf* leaf) const;

  int32_t add_node(const Leaf& leaf, Tree* tree) const;
  // Writes the split of a leaf and its children.
  void commit(const Leaf& parent, Tree* tree) const;

 private:
  void constrain_children(const Leaf& parent);
  void divide_bounds(const Leaf& parent) const;
  void write_category_set(const Split& split, size_t node, Tree* tree) const;

  const Bins& bins_;
  const TreeRules& rules_;
  const Constraints& constraints_;
  const double unit_;
  std::shared_ptr<LeafPool> leaves_;         // all leaves and nodes
  std::vector<const Leaf*> current_leaves_;  // for monotone constraints
};

}  // namespace stagewise
