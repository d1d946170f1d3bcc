// Splits from sorted rows: every value is a candidate.
//
// One idea: each feature has a list of all rows in the order of its values, missing ones last, of
// which a leaf has the same part as in the lists of rows; its children divide that part and keep
// the order. A finder gets the part of a leaf and does with it what it likes.
#pragma once

#include "grow/search/node_search.hpp"

namespace stagewise {

class SortedSearch : public NodeSearch {
 public:
  SortedSearch(const Finder& finder, const RowLists& rows, const FeatureChoice& choice,
               std::vector<Desk>& desks, const Bins& bins);

  void start_tree(Workers& team) override;
  size_t work(const Leaf& leaf) const override { return leaf.rows() * choice_.features().size(); }
  void root(Workers& team, Leaf* root) override { again(team, root); }
  void before(Leaf*) override {}
  void children(Workers& team, Desk* desk, Leaf* parent) override;
  void after(const Leaf&) override {}
  void again(Workers& team, Leaf* leaf) override;

 protected:
  // One feature of the search's leaf.
  virtual void scan(Finder::Search* search, size_t position, Desk* desk) const;
  const SortedRow* rows_of_tree(size_t feature) const { return entries_[feature].get(); }
  const SortedRow* rows_of(const Leaf& leaf, size_t feature) const {
    return rows_of_tree(feature) + leaf.begin;
  }

  const Bins& bins_;

 private:
  void sort_rows(Workers& team);
  void list_bag(size_t feature);
  void divide(const Leaf& parent, size_t feature, Desk* desk);
  void choose(Desk* desk, Finder::Search* search, Leaf* leaf) const;

  std::vector<LargeArray<uint32_t>> sorted_;    // per feature: all rows by value
  std::vector<LargeArray<SortedRow>> entries_;  // per feature: those of the tree, leaf by leaf
  std::vector<uint8_t> marks_;                  // per row: in the bag; then, right of a split
};

}  // namespace stagewise
