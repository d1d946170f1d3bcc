// Splits from presorted rows: every value is a candidate. Each feature has a list of all rows
// sorted by value, missing values last. A leaf has the same range of it as in RowPartition; its
// children divide the range and keep the order.
#pragma once

#include "grow/search/node_search.hpp"

namespace stagewise {

class PresortedSearch : public NodeSearch {
 public:
  PresortedSearch(const Finder& finder, const RowPartition& rows, const FeatureSampler& sampler,
                  std::vector<Workspace>& workspaces, const Bins& bins);

  void start_tree(Workers& team) override;
  size_t work(const Leaf& leaf) const override { return leaf.rows() * sampler_.features().size(); }
  void root(Workers& team, Leaf* root) override { again(team, root); }
  void before(Leaf*) override {}
  void children(Workers& team, Workspace* workspace, Leaf* parent) override;
  void after(const Leaf&) override {}
  void again(Workers& team, Leaf* leaf) override;

 protected:
  // Scans one feature of a leaf.
  virtual void scan(NodeScan* search, size_t position, Workspace* workspace) const;
  const SortedRow* rows_of_tree(size_t feature) const { return entries_[feature].get(); }
  const SortedRow* rows_of(const Leaf& leaf, size_t feature) const {
    return rows_of_tree(feature) + leaf.begin;
  }

  const Bins& bins_;

 private:
  void sort_rows(Workers& team);
  void list_bag(size_t feature);
  void divide(const Leaf& parent, size_t feature, Workspace* workspace);
  void choose(Workspace* workspace, NodeScan* search, Leaf* leaf) const;

  std::vector<LargeArray<uint32_t>> sorted_;    // per feature: all rows by value
  std::vector<LargeArray<SortedRow>> entries_;  // per feature: those of the tree, leaf by leaf
  std::vector<uint8_t> marks_;                  // per row: in the bag; then, right of a split
};

}  // namespace stagewise
