// Splits from histograms of packed gradients.
//
// One idea: the larger child's histogram is its parent's less the smaller one's; a node with few
// rows needs none.
#pragma once

#include "histograms.hpp"
#include "node_search.hpp"

namespace stagewise {

class HistogramSearch : public NodeSearch {
 public:
  HistogramSearch(const Finder& finder, const RowLists& rows, const FeatureChoice& choice,
                  std::vector<Desk>& desks, Histograms& histograms)
      : NodeSearch(finder, rows, choice, desks), histograms_(histograms) {}

  void start_tree(Workers& team) override;
  size_t work(const Leaf& leaf) const override { return leaf.rows() * histograms_.groups(); }
  void root(Workers& team, Leaf* root) override;
  void before(Leaf* parent) override;
  void children(Workers& team, Desk* desk, Leaf* parent) override;
  void after(const Leaf& parent) override;
  void again(Workers& team, Leaf* leaf) override;

 protected:
  // scan: whether to look for their splits, or only to make their histograms.
  void search(Workers& team, Desk* desk, Leaf* built, Leaf* rest, Leaf* few[2], bool scan = true);

  Histograms& histograms_;
};

}  // namespace stagewise
