// Splits of trees with one output from presorted rows: every value is a candidate (exact greedy),
// or those that a Proposal chooses. The packed gradients of a run of equal values, or of the values
// between two candidates, are summed; the runs are then scanned like the bins of a histogram.
#pragma once

#include "grow/finders/packed_sums/gradient_finder.hpp"
#include "grow/search/presorted_search.hpp"

namespace stagewise {

class PresortedGradientSearch final : public PresortedSearch<GradientFinder> {
 public:
  PresortedGradientSearch(const GradientFinder& finder, const RowPartition& rows,
                          const FeatureSampler& sampler, int threads, const Bins& bins,
                          const RowWeights& weights, const Proposal& proposal);

  void start_tree(Workers& team, Leaf* root) override;

 private:
  void propose(size_t feature);
  void scan(Scan* node, size_t position, Scratch* scratch) const override;
  template <class Ends>
  BinSums collect(const Leaf& leaf, uint32_t feature, Scratch* scratch, Ends ends) const;

  const RowWeights& weights_;
  const Proposal proposal_;
  const Gradients* gradients_ = nullptr;
  std::vector<std::vector<uint32_t>> proposed_;  // per feature and rank: number of cuts below it
};

}  // namespace stagewise
