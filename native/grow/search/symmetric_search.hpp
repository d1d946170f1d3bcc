// Symmetric (oblivious) trees: one split for all leaves of a depth. The score of a candidate is the
// sum of its scores in all leaves; a leaf in which a side would have too few rows counts without a
// split, and is not split. Categories are sorted by the sums of all leaves.
#pragma once

#include "grow/finders/gradient_finder.hpp"
#include "grow/search/histogram_search.hpp"

namespace stagewise {

class SymmetricSearch : public HistogramSearch {
 public:
  SymmetricSearch(const GradientFinder& finder, const RowPartition& rows,
                  const FeatureSampler& sampler, std::vector<Workspace>& workspaces,
                  Histograms& histograms, const Bins& bins)
      : HistogramSearch(finder, rows, sampler, workspaces, histograms),
        splits_(finder),
        bins_(bins) {}

  // Histograms only: splits are found for all leaves of a depth at once.
  void root(Workers& team, Leaf* root) override;
  void children(Workers& team, Workspace* workspace, Leaf* parent) override;
  void after(const Leaf&) override {}

  // Sets the splits of the leaves to the best common one. Returns false if there is none.
  bool split_level(Workers& team, const std::vector<Leaf*>& leaves);

 private:
  struct Best {
    double score = kNoSplit;  // of all leaves
    size_t position = 0;      // of the feature
    size_t cut = 0;
    bool missing_left = false;
  };

  std::vector<uint32_t> order_of(const std::vector<Leaf*>& leaves, size_t position) const;
  Best best_of(const std::vector<PackedScan>& searches, const std::vector<Leaf*>& leaves,
               size_t position) const;

  const GradientFinder& splits_;
  const Bins& bins_;
};

}  // namespace stagewise
