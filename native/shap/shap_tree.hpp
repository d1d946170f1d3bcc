// A tree as a sum of cooperative games, one for each leaf. If only the features in S are known, the
// prediction of a leaf is its value times a factor for each feature on its path: for a known
// feature 1 if the row meets the conditions on it, else 0; for an unknown feature an expected value
// over other rows. So the players of a leaf are the few features on its path.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "grow/leaves/linear_leaves.hpp"
#include "kernels/kernels.hpp"
#include "predict/flat_trees.hpp"

namespace stagewise {

// Whose values unknown features have: those of the training rows below each node, by their cover
// (Lundberg et al. 2020), or those of background rows, one after another.
enum class ShapKind { path, interventional };

struct ShapRules {
  ShapKind kind = ShapKind::path;
  bool interactions = false;  // of pairs, instead of single features
  size_t features = 0;
  size_t outputs = 1;
  size_t table_bytes = 8u << 20;  // limit per tree: the tables fit the cache

  // The position of the attribution of features f <= g for an output in a row of results; f = g: of
  // the single feature. Of pairs the half of f; that of g is the same.
  uint32_t slot(size_t f, size_t g, size_t output) const {
    return static_cast<uint32_t>((interactions ? f * features + g : f) * outputs + output);
  }
  size_t stride() const { return (interactions ? features * features : features) * outputs; }
};

// The nodes of one tree, children relative to it and behind their parents.
struct ShapTree {
  size_t outputs = 1;  // of the tree
  size_t output = 0;   // the first one of them
  std::vector<int32_t> feature, left, right, parent;
  std::vector<uint32_t> split;  // the number of an inner node among them
  std::vector<double> share;    // of the parent's rows that go to the node, by their cover
  std::vector<double> value;    // per node and output of the tree
  std::vector<double> reach;    // the product of the shares from the root on
  const LinearLeaves* linear_leaves = nullptr;  // of leaves; must stay
  std::vector<int32_t> line;                    // per node, or -1; empty: the leaves are constants

  // cover may be empty: shares are then 0.
  ShapTree(const FlatTrees& trees, std::span<const double> cover, size_t tree, size_t all_outputs);

  size_t nodes() const { return feature.size(); }
  bool is_leaf(size_t node) const { return feature[node] < 0; }
  bool has_model(size_t node) const { return !line.empty() && line[node] >= 0; }
  // That a row which is at the parent goes to the node.
  Literal literal(size_t node) const {
    const auto above = static_cast<size_t>(parent[node]);
    const bool to_right = static_cast<size_t>(right[above]) == node;
    return {split[above], static_cast<int16_t>(to_right ? 0 : -1)};
  }
  int32_t split_feature(size_t node) const {  // by the parent
    return feature[static_cast<size_t>(parent[node])];
  }
};

// The decisions of background rows: decisions[(part * splits + s) * kDecisionRows + i]; and their
// values.
struct Background {
  const int16_t* decisions = nullptr;
  const Columns* table = nullptr;
  size_t rows = 0;
  size_t splits = 0;

  const int16_t* part(size_t p) const { return decisions + p * splits * kDecisionRows; }
  size_t parts() const { return (rows + kDecisionRows - 1) / kDecisionRows; }
  size_t in_part(size_t p) const { return std::min(kDecisionRows, rows - p * kDecisionRows); }
};

// Rows [begin, begin + n) of a table, at most kDecisionRows, and their decisions.
struct ShapRows {
  const int16_t* decisions;
  const Columns* table;
  size_t begin, n;
};

// The leaf of row i.
size_t leaf_of(const ShapTree& tree, const int16_t* decisions, size_t i);

// One prepared tree.
class TreeAttributions {
 public:
  virtual ~TreeAttributions() = default;
  // out[i * stride + slot] += the attributions of the i-th row.
  virtual void add(const Kernels& kernels, const ShapRows& rows, double* out) const = 0;
  virtual size_t bytes() const = 0;
};

}  // namespace stagewise
