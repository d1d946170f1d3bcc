// Splits from sorted rows: every value is a candidate, or those that a proposal chooses.
//
// One idea: each feature has a list of all rows in the order of its values, missing ones last, of
// which a leaf has the same part as in the lists of rows; its children divide that part and keep
// the order. A scan of a part adds up the packed gradients of equal values and then is the scan of
// a histogram with a bin for each.
#pragma once

#include "node_search.hpp"

namespace stagewise {

class SortedSearch : public NodeSearch {
 public:
  SortedSearch(const SplitFinder& finder, const RowLists& rows, const FeatureChoice& choice,
               std::vector<Desk>& desks, const Bins& bins, const RowWeights& weights,
               const Proposal& proposal);

  void start_tree(Workers& team) override;
  size_t work(const Leaf& leaf) const override { return leaf.rows() * choice_.features().size(); }
  void root(Workers& team, Leaf* root) override { again(team, root); }
  void before(Leaf*) override {}
  void children(Workers& team, Desk* desk, Leaf* parent) override;
  void after(const Leaf&) override {}
  void again(Workers& team, Leaf* leaf) override;

 private:
  void sort_rows(Workers& team);
  void list_bag(size_t feature);
  void propose(size_t feature);
  void divide(const Leaf& parent, size_t feature, Desk* desk);
  void scan(SplitFinder::Search* search, size_t position, Desk* desk) const;
  template <class Ends>
  BinSums collect(const Leaf& leaf, uint32_t feature, SplitFinder::Scratch* scratch,
                  Ends ends) const;

  const SplitFinder& splits_;
  const Bins& bins_;
  const RowWeights& weights_;
  const Proposal proposal_;
  const Gradients* gradients_ = nullptr;
  std::vector<LargeArray<uint32_t>> sorted_;     // per feature: all rows by value
  std::vector<LargeArray<SortedRow>> entries_;   // per feature: those of the tree, leaf by leaf
  std::vector<std::vector<uint32_t>> proposed_;  // per feature and rank: how many cuts are below it
  std::vector<uint8_t> marks_;                   // per row: in the bag; then, right of a split
};

}  // namespace stagewise
