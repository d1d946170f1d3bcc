// Splits from histograms of packed gradients.
//
// One idea: the larger child's histogram is its parent's less the smaller one's; a node with few
// rows needs none.
#pragma once

#include "grow/search/histograms.hpp"
#include "grow/search/node_search.hpp"

namespace stagewise {

class HistogramSearch : public NodeSearch {
 public:
  HistogramSearch(const Finder& finder, const RowPartition& rows, const FeatureSampler& sampler,
                  std::vector<Workspace>& workspaces, Histograms& histograms)
      : NodeSearch(finder, rows, sampler, workspaces), histograms_(histograms) {}

  void start_tree(Workers& team) override;
  size_t work(const Leaf& leaf) const override;
  void root(Workers& team, Leaf* root) override;
  void before(Leaf* parent) override;
  void children(Workers& team, Workspace* workspace, Leaf* parent) override;
  void after(const Leaf& parent) override;
  void again(Workers& team, Leaf* leaf) override;

 protected:
  // Up to two leaves: one whose histogram is to be built from its rows, its sibling, whose
  // histogram is still its parent's, and leaves of few rows, the first of which must perhaps be
  // removed from the histogram of its sibling.
  struct Job {
    Leaf* built = nullptr;
    Leaf* rest = nullptr;
    Leaf* few[2] = {nullptr, nullptr};
    bool remove_few = false;
  };
  // scan: whether to look for their splits, or only to make their histograms.
  void search(Workers& team, Workspace* workspace, const Job& job, bool scan = true);

  Histograms& histograms_;

 private:
  struct Searches {
    NodeScan* of_sums[2] = {};  // read from histograms
    NodeScan* of_rows[2] = {};  // of few rows
    size_t n_sums = 0, n_rows = 0;
  };
  void rescan(Workspace* workspace, NodeScan* search) const;
  void search_groups(Workers& team, Workspace* workspace, const Job& job, const Searches& searches);
  void search_blocks(Workers& team, Workspace* workspace, const Job& job, const Searches& searches);
};

}  // namespace stagewise
