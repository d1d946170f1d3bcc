// Splits from histograms of packed gradients. The histogram of the larger child is that of the
// parent minus that of the smaller child; a node with few rows needs none.
#pragma once

#include "grow/nodes/histograms.hpp"
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
  // Up to two leaves: one whose histogram is built from its rows; its sibling, whose slot still has
  // the histogram of the parent; leaves with few rows, of which the first may have to be
  // subtracted, row by row, from the histogram of its sibling.
  struct Job {
    Leaf* built = nullptr;
    Leaf* rest = nullptr;
    Leaf* few[2] = {nullptr, nullptr};
    bool remove_few = false;
  };
  // scan: false: only the histograms are computed, not the splits.
  void search(Workers& team, Workspace* workspace, const Job& job, bool scan = true);

  Histograms& histograms_;

 private:
  struct Searches {
    NodeScan* of_sums[2] = {};  // with histograms
    NodeScan* of_rows[2] = {};  // with few rows
    size_t n_sums = 0, n_rows = 0;
  };
  void rescan(Workspace* workspace, NodeScan* search) const;
  void search_groups(Workers& team, Workspace* workspace, const Job& job, const Searches& searches);
  void search_blocks(Workers& team, Workspace* workspace, const Job& job, const Searches& searches);
};

}  // namespace stagewise
