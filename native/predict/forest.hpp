// Prediction with many trees. Nodes have 16 bytes and siblings are adjacent, so a step is one load
// and one comparison; a leaf points to itself, so a block of rows can go down in lockstep. Many
// rows are scored by QuickScorer instead if trees are small enough, or else by a CodedWalk. Either
// is made when enough rows have been scored. Any number of threads may predict at once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "core/threads.hpp"
#include "predict/coded_walk.hpp"
#include "predict/quick_scorer.hpp"
#include "predict/split_node.hpp"

namespace stagewise {

class Forest {
 public:
  // Throws std::invalid_argument when an index is out of range or a node is reached twice. Lines
  // are shared: they may be needed by others.
  Forest(const FlatTrees& trees, size_t features, size_t outputs,
         std::shared_ptr<const LinearLeaves> linear_leaves = nullptr);

  size_t trees() const { return roots_.size(); }
  size_t features() const { return features_; }
  size_t outputs() const { return outputs_; }

  // out[row * outputs + o] += trees [first, last) of output o, in order.
  void add_scores(Workers& workers, const Kernels& kernels, const Columns& table, size_t first,
                  size_t last, double* out) const;
  // The same for a sparse table, by rows.
  void add_scores(Workers& workers, const Kernels& kernels, const SparseTable& table, size_t first,
                  size_t last, double* out) const;
  // The same for one row of doubles: no allocation, no thread.
  void add_row(const double* row, size_t first, size_t last, double* out) const;
  // out[row * trees + t]: the leaf's node number in its tree.
  void leaves(Workers& workers, const Kernels& kernels, const Columns& table, int32_t* out) const;
  void leaves(Workers& workers, const SparseTable& table, int32_t* out) const;

 private:
  struct Order;
  void add_tree(const FlatTrees& trees, size_t t, Order& order);
  const QuickScorer* scorer_for(const Kernels& kernels, size_t rows) const;
  std::optional<QuickScorer> make_scorer(bool planes) const;
  const CodedWalk* walk_for(size_t rows) const;
  void add_value(size_t tree, size_t node, const double* row, double* out) const;
  void add_values(size_t tree, const uint32_t* leaf, size_t n, double* out) const;
  template <class Arrived>
  void walk_rows(Workers& workers, const Columns& table, size_t first, size_t last,
                 Arrived&& arrived) const;
  template <class Arrived>
  void walk_coded(Workers& workers, const Kernels& kernels, const CodedWalk& walk,
                  const Columns& table, size_t first, size_t last, Arrived&& arrived) const;
  bool goes_right(const SplitNode& node, double x) const;
  size_t leaf_of(const double* row, size_t tree) const;
  template <class Body>
  void spread_rows(Workers& workers, const SparseTable& table, Body&& body) const;
  // The prediction of a leaf for a row.
  double node_prediction(size_t node, const double* row) const {
    if (model_of_.empty() || model_of_[node] < 0) return values_[node];
    return linear_leaves_->predict(model_of_[node], values_[node],
                                   [=](size_t f) { return row[f]; });
  }
  template <bool kCategories, class Arrived>
  void walk_block_of(const double* rows, size_t n, size_t tree, Arrived&& arrived) const;
  template <class Arrived>
  void walk_block(const double* rows, size_t n, size_t tree, Arrived&& arrived) const;

  size_t features_, outputs_;
  size_t width_;  // outputs of a tree: one, or all
  std::vector<SplitNode> nodes_;
  std::vector<double> values_;  // per node, and output of the tree
  std::shared_ptr<const LinearLeaves> linear_leaves_;
  std::vector<int32_t> model_of_;  // per node, or -1; empty: no linear leaves
  std::vector<int32_t> original_;  // node number in its tree
  std::vector<uint32_t> roots_;
  std::vector<uint64_t> sets_;
  std::vector<uint32_t> n_categories_;      // per feature; empty: all are numbers
  mutable std::atomic<size_t> scored_ = 0;  // rows so far
  mutable std::once_flag scorer_made_;
  mutable std::optional<QuickScorer> scorer_;
  mutable std::once_flag walk_made_;
  mutable std::optional<CodedWalk> walk_;
};

}  // namespace stagewise
