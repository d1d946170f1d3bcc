// Prediction with many trees.
//
// One idea: nodes of 16 bytes, children next to each other, so a step is one load and one compare;
// a leaf points to itself, so a block of rows can walk in lockstep without asking who has arrived.
// Immutable after construction: any number of threads may predict at once.
#pragma once

#include <span>

#include "arrays.hpp"
#include "threads.hpp"
#include "tree.hpp"

namespace stagewise {

// Flat arrays of all trees, children relative to their tree; start has one entry more than trees.
struct FlatTrees {
  std::span<const uint64_t> start;
  std::span<const int32_t> feature;
  std::span<const double> threshold;
  std::span<const uint8_t> missing_left;
  std::span<const int32_t> left, right;
  std::span<const double> value;
};

class Forest {
 public:
  // Throws std::invalid_argument when an index is out of range or a node is reached twice.
  Forest(const FlatTrees& trees, size_t features, size_t outputs);

  size_t trees() const { return roots_.size(); }
  size_t features() const { return features_; }
  size_t outputs() const { return outputs_; }

  // out[row * outputs + o] += trees [first, last) of output o, in order.
  void add_scores(Workers& workers, const Columns& table, size_t first, size_t last,
                  double* out) const;
  // The same for one row of doubles: no allocation, no thread.
  void add_row(const double* row, size_t first, size_t last, double* out) const;
  // out[row * trees + t]: the leaf's node number in its tree.
  void leaves(Workers& workers, const Columns& table, int32_t* out) const;

 private:
  struct Node {
    double threshold;  // of a leaf: NaN, so that nothing is greater
    uint32_t feature;  // top bit: missing goes right
    uint32_t child;    // left; right is the next one; of a leaf: itself
  };
  static constexpr uint32_t kMissingRightBit = 0x80000000u;

  void add_tree(const FlatTrees& trees, size_t t);
  template <class Arrived>
  void walk_block(const double* rows, size_t n, size_t tree, Arrived&& arrived) const;

  size_t features_, outputs_;
  std::vector<Node> nodes_;
  std::vector<double> values_;     // per node
  std::vector<int32_t> original_;  // node number in its tree
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> depths_;
};

}  // namespace stagewise
