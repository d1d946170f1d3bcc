// One split for all leaves of a level: symmetric trees.
//
// One idea: what a candidate is worth is the sum of what it is worth in every leaf; a leaf in which
// a side would be too light counts as it is, and stays unsplit. Levels of a category are put in the
// order of all leaves together.
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

  // Histograms only: splits are found for a whole level.
  void root(Workers& team, Leaf* root) override;
  void children(Workers& team, Workspace* workspace, Leaf* parent) override;
  void after(const Leaf&) override {}

  // Gives each of the leaves, all of one depth or less, its split, if the best common one improves
  // it; false: there is none.
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
