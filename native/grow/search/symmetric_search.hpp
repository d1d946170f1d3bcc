// Symmetric (oblivious) trees: one split for all leaves of a depth. The score of a candidate is the
// sum of its scores in all leaves; a leaf in which a side would have too few rows counts without a
// split, and is not split. Categories are sorted by the sums of all leaves.
//
// A finder scores all cuts of one feature in one leaf; the sums over the leaves, and the choice, do
// not depend on how many outputs a leaf has.
#pragma once

#include "grow/search/histogram_search.hpp"

namespace stagewise {

// What growing a symmetric tree needs, for any finder.
class DepthSearch {
 public:
  virtual ~DepthSearch() = default;

  // Computes the histograms of the children of a leaf, after its rows were partitioned.
  virtual void build_child_histograms(Workers& team, Leaf* parent) = 0;
  // Sets the splits of the leaves to the best common one. Returns false if there is none.
  virtual bool split_level(Workers& team, const std::vector<Leaf*>& leaves) = 0;
};

// Instantiated in symmetric_search.cpp.
template <ScoresCuts F>
class SymmetricSearch final : public HistogramSearch<F>, public DepthSearch {
 public:
  SymmetricSearch(const F& finder, const RowPartition& rows, const FeatureSampler& sampler,
                  int threads, Histograms& histograms, const Bins& bins)
      : HistogramSearch<F>(finder, rows, sampler, threads, histograms), bins_(bins) {}

  // Builds the histogram of the root; its split is found by split_level().
  void start_tree(Workers& team, Leaf* root) override;
  void build_child_histograms(Workers& team, Leaf* parent) override;
  bool split_level(Workers& team, const std::vector<Leaf*>& leaves) override;

 private:
  using typename HistogramSearch<F>::Job;
  using typename HistogramSearch<F>::Scan;
  using typename HistogramSearch<F>::Scratch;

  struct LevelLeaf {
    Scan node;
    double unsplit = 0.0;         // its score without a split
    std::vector<int64_t> counts;  // of the bins of the feature that was counted last
  };
  using Level = std::vector<LevelLeaf>;
  struct CommonCut {
    double score = kNoSplit;  // of all leaves
    size_t position = 0;      // of the feature
    size_t cut = 0;
    bool missing_left = false;
    bool exact = false;     // rows were counted
    bool is_bound = false;  // the score is only an upper bound
  };
  // The leaves of a depth as their bounds need them: those with histograms, and the others.
  struct BoundedLevel {
    std::vector<const int64_t*> packed_sums;
    std::vector<int64_t> total_sums;
    std::vector<double> unsplit;
    std::vector<const LevelLeaf*> few;
  };

  uint32_t feature_at(size_t position) const { return this->sampler_.features()[position]; }
  double penalty(size_t position) const;
  // The sums of the missing values, or null if there are none. packed_sums: of all bins.
  const int64_t* missing_sums(size_t position, const int64_t* packed_sums) const;
  std::vector<uint32_t> order_of(const Level& level, size_t position, Scratch* scratch) const;
  CommonCut best_cut(const Level& level, size_t position, Scratch* scratch,
                     Level* counted = nullptr) const;
  BoundedLevel bounded_level(const Level& level) const;
  CommonCut bound(const BoundedLevel& level, const Level& leaves, size_t position,
                  Scratch* scratch) const;
  CommonCut best_cut(Workers& team, Level* level);
  Split split_at(const CommonCut& best, const std::vector<uint32_t>& order) const;
  Split split_leaf(const LevelLeaf& leaf, const CommonCut& best, Split split,
                   Scratch* scratch) const;

  const Bins& bins_;
  Level level_;         // of the current depth
  size_t counted_ = 0;  // the position of the feature that was counted last
};

}  // namespace stagewise
