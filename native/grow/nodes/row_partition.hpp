// The rows of every leaf of the growing tree: two arrays of row numbers. A leaf has the same range
// of either array, with its rows in increasing order; its children divide the range.
#pragma once

#include <span>

#include "binning/bins.hpp"
#include "grow/nodes/leaf.hpp"
#include "grow/nodes/split_condition.hpp"

namespace stagewise {

class RowPartition {
 public:
  RowPartition(Workers& workers, const Kernels& kernels, const Bins& bins);

  // bag: the rows (increasing) that the tree is grown on; no data: all.
  void start_tree(std::span<const uint32_t> bag);
  bool bagged() const { return bagged_; }
  const std::vector<uint32_t>& bag() const { return bag_; }
  size_t size() const { return bagged_ ? bag_.size() : bins_.rows(); }

  RowIndex of(const Leaf& leaf) const;
  uint32_t* list_of(const Leaf& leaf) const { return lists_[leaf.list].get() + leaf.begin; }
  // The rows of a final leaf, in increasing order.
  const uint32_t* finish(const Leaf& leaf) const;

  // The columns of extracted features; null for others.
  std::vector<const uint8_t*> columns() const;
  void count_use(const Leaf& leaf);  // counts rows per split feature; may extract its column
  // Moves the rows that go left to the front of the range of the leaf, the others behind them, in
  // its own array or in the other one. Sets the ranges of the children. sides: a byte per row of a
  // sparse table, all 0 before and after.
  void partition(Workers& team, const Leaf& leaf, std::vector<uint8_t>* sides);

 private:
  template <class Code>
  FeatureCodes<Code> codes_of(uint32_t feature) const;
  template <class Code, class Partition, class Mark>
  void partition_by(Workers& team, const Leaf& leaf, const SplitCondition<Code>& sides,
                    Partition partition, Mark mark);
  template <class Code>
  SplitCondition<Code> condition_of(const Leaf& leaf) const;

  Workers& workers_;
  const Kernels& kernels_;
  const Bins& bins_;
  struct FeatureUse {
    size_t rows = 0;             // partitioned by the feature
    LargeArray<uint8_t> column;  // its codes; null until extracted
  };
  std::vector<FeatureUse> uses_;
  LargeArray<uint32_t> lists_[2];
  std::vector<uint8_t> marks_;  // of rows that go right
  std::vector<uint32_t> bag_;
  bool bagged_ = false;
};

}  // namespace stagewise
