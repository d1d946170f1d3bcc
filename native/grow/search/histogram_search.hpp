// Splits from histograms of packed gradients. The histogram of the larger child is that of the
// parent minus that of the smaller child; a node with few rows needs none.
#pragma once

#include "grow/nodes/histograms.hpp"
#include "grow/search/node_search.hpp"

namespace stagewise {

// Instantiated in histogram_search.cpp.
template <ScansHistograms F>
class HistogramSearch : public FinderSearch<F> {
 public:
  HistogramSearch(const F& finder, const RowPartition& rows, const FeatureSampler& sampler,
                  int threads, Histograms& histograms)
      : FinderSearch<F>(finder, rows, sampler, threads), histograms_(histograms) {}

  size_t work(const Leaf& leaf) const override;
  void start_tree(Workers& team, Leaf* root) override;
  void search_children(Workers& team, size_t worker, Leaf* parent) override;
  void search_again(Workers& team, Leaf* leaf) override;

 protected:
  using typename FinderSearch<F>::Scan;

  // Up to two leaves: one whose histogram is built from its rows; its sibling, whose slot still has
  // the histogram of the parent; leaves with few rows, of which the first may have to be
  // subtracted, row by row, from the histogram of its sibling.
  struct Job {
    Leaf* built = nullptr;
    Leaf* sibling = nullptr;
    Leaf* few[2] = {nullptr, nullptr};
    bool remove_few = false;
  };
  // The nodes that are scanned while the histograms are computed.
  struct Scans {
    Scan* of_histograms[2] = {};
    Scan* of_few_rows[2] = {};
    size_t n_histograms = 0, n_few_rows = 0;
  };
  // Assigns the slots of a leaf to those of its children that have many rows.
  Job job_of_children(Leaf* parent) const;
  // Computes the histograms of the leaves, and scans the nodes.
  void compute(Workers& team, size_t worker, const Job& job, const Scans& scans);

  Histograms& histograms_;

 private:
  // The best splits of the leaves.
  void search(Workers& team, size_t worker, const Job& job);
  void rescan(Workspace<F>* workspace, Scan* node) const;
  void compute_groups(Workers& team, size_t worker, const Job& job, const Scans& scans);
  void compute_group(const Job& job, size_t group, const Histograms::Parts& parts);
  void compute_blocks(Workers& team, size_t worker, const Job& job, const Scans& scans);
  void compute_block(const Job& job, size_t block);
  void scan_block(Scan* node, size_t block, Workspace<F>* workspace) const;
};

}  // namespace stagewise
