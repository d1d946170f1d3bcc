// Prediction with many trees. Nodes have 16 bytes and siblings are adjacent, so a step is one load
// and one comparison; a leaf points to itself, so a block of rows can go down in lockstep. If trees
// are small enough, many rows are scored by QuickScorer instead, which is made when enough rows
// have been scored. Any number of threads may predict at once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "core/threads.hpp"
#include "predict/quick_scorer.hpp"

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
  void leaves(Workers& workers, const Columns& table, int32_t* out) const;
  void leaves(Workers& workers, const SparseTable& table, int32_t* out) const;

 private:
  struct Node {
    union {
      double threshold;  // of a leaf: NaN, so that nothing is greater
      uint64_t set;      // of a categorical split: start of its set
    };
    uint32_t feature;  // top bit: missing goes right; next bit: categorical
    uint32_t child;    // left; right is the next one; of a leaf: itself
  };
  static constexpr uint32_t kMissingRightBit = 0x80000000u, kCategoryBit = 0x40000000u;
  static constexpr uint32_t kFeatureBits = kCategoryBit - 1;

  struct Order;
  void add_tree(const FlatTrees& trees, size_t t, Order& order);
  const QuickScorer* scorer_for(size_t rows) const;
  std::optional<QuickScorer> make_scorer() const;
  void add_value(size_t tree, size_t node, const double* row, double* out) const;
  template <class Arrived>
  void walk_rows(Workers& workers, const Columns& table, size_t first, size_t last,
                 Arrived&& arrived) const;
  bool goes_right(const Node& node, double x) const;
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
  std::vector<Node> nodes_;
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
};

}  // namespace stagewise
