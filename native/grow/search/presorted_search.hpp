// Splits from presorted rows: every value is a candidate. Each feature has a list of all rows
// sorted by value, missing values last. A leaf has the same range of it as in RowPartition; its
// children divide the range and keep the order.
#pragma once

#include "grow/search/node_search.hpp"

namespace stagewise {

// Instantiated in presorted_search.cpp.
template <SplitFinder F>
class PresortedSearch : public FinderSearch<F> {
 public:
  size_t work(const Leaf& leaf) const override {
    return leaf.rows() * this->sampler_.features().size();
  }
  void start_tree(Workers& team, Leaf* root) override;
  void search_children(Workers& team, size_t worker, Leaf* parent) override;
  void search_again(Workers& team, Leaf* leaf) override;

 protected:
  using typename FinderSearch<F>::Scan;
  using typename FinderSearch<F>::Scratch;

  PresortedSearch(const F& finder, const RowPartition& rows, const FeatureSampler& sampler,
                  int threads, const Bins& bins);

  // Lists the rows of the bag, sorted by each feature of the tree.
  void list_rows(Workers& team);
  // Scans the feature at a position.
  virtual void scan(Scan* node, size_t position, Scratch* scratch) const = 0;

  const SortedRow* rows_of_tree(size_t feature) const { return entries_[feature].get(); }
  const SortedRow* rows_of(const Leaf& leaf, size_t feature) const {
    return rows_of_tree(feature) + leaf.begin;
  }

  const Bins& bins_;

 private:
  void sort_table(Workers& team);
  void list_bag(size_t feature);
  void divide(const Leaf& parent, size_t feature, Workspace<F>* workspace);
  void choose(Workspace<F>* workspace, Scan* node, Leaf* leaf) const;

  std::vector<LargeArray<uint32_t>> sorted_;    // per feature: all rows by value
  std::vector<LargeArray<SortedRow>> entries_;  // per feature: those of the tree, leaf by leaf
  std::vector<uint8_t> marks_;                  // per row: in the bag; then, right of a split
};

// The finder scans the sorted rows themselves.
template <ScansSortedRows F>
class PresortedRowSearch final : public PresortedSearch<F> {
 public:
  PresortedRowSearch(const F& finder, const RowPartition& rows, const FeatureSampler& sampler,
                     int threads, const Bins& bins)
      : PresortedSearch<F>(finder, rows, sampler, threads, bins) {}

 private:
  using typename PresortedSearch<F>::Scan;
  using typename PresortedSearch<F>::Scratch;

  void scan(Scan* node, size_t position, Scratch* scratch) const override {
    const uint32_t feature = this->sampler_.features()[position];
    this->finder_.scan_sorted(node, position, this->rows_of(*node->leaf, feature), scratch);
  }
};

}  // namespace stagewise
