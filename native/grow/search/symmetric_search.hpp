// Symmetric (oblivious) trees: one split for all leaves of a depth. The score of a candidate is the
// sum of its scores in all leaves; a leaf in which a side would have too few rows counts without a
// split, and is not split. Categories are sorted by the sums of all leaves.
#pragma once

#include "grow/finders/gradient_finder.hpp"
#include "grow/search/histogram_search.hpp"

namespace stagewise {

class SymmetricSearch final : public HistogramSearch<GradientFinder> {
 public:
  SymmetricSearch(const GradientFinder& finder, const RowPartition& rows,
                  const FeatureSampler& sampler, int threads, Histograms& histograms,
                  const Bins& bins)
      : HistogramSearch(finder, rows, sampler, threads, histograms), bins_(bins) {}

  // Builds the histogram of the root; its split is found by split_level().
  void start_tree(Workers& team, Leaf* root) override;
  void build_child_histograms(Workers& team, Leaf* parent);
  // Sets the splits of the leaves to the best common one. Returns false if there is none.
  bool split_level(Workers& team, const std::vector<Leaf*>& leaves);

 private:
  struct CommonCut {
    double score = kNoSplit;  // of all leaves
    size_t position = 0;      // of the feature
    size_t cut = 0;
    bool missing_left = false;
  };

  std::vector<uint32_t> order_of(const std::vector<Leaf*>& leaves, size_t position) const;
  CommonCut best_cut(const std::vector<Scan>& nodes, const std::vector<Leaf*>& leaves,
                     size_t position) const;
  CommonCut best_cut(Workers& team, const std::vector<Scan>& nodes,
                     const std::vector<Leaf*>& leaves) const;
  Split split_at(const CommonCut& best, const std::vector<uint32_t>& order) const;

  const Bins& bins_;
};

}  // namespace stagewise
