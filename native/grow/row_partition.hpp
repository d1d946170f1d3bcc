// The rows of every leaf of the tree that grows.
//
// One idea: two arrays of row numbers, of which a leaf has the same part to itself, in either of
// them and in increasing order; its children divide that part.
#pragma once

#include <span>

#include "binning/bins.hpp"
#include "grow/leaf.hpp"
#include "grow/split_condition.hpp"

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
  // The list of a leaf that stays one, in order.
  const uint32_t* finish(const Leaf& leaf) const;

  // The codes of features that were extracted, null for others.
  std::vector<const uint8_t*> columns() const;
  void count_use(const Leaf& leaf);  // of the feature that it will be split by
  // Lists the rows that go left at the front of the leaf's part of a list, the others behind them;
  // the list is the leaf's own, or the other one. Sets where the children are.
  // sides: a byte per row of a sparse table, all 0 before and after.
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
    size_t rows = 0;             // that were partitioned by it
    LargeArray<uint8_t> column;  // its codes, once they were many
  };
  std::vector<FeatureUse> uses_;
  LargeArray<uint32_t> lists_[2];
  std::vector<uint8_t> marks_;  // of rows that go right
  std::vector<uint32_t> bag_;
  bool bagged_ = false;
};

}  // namespace stagewise
