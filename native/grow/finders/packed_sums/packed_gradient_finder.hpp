// What the finders have in common whose rows are one packed sum each: how many rows a side must
// have, and how the best candidate of all features becomes a split.
//
// min_samples_leaf is exact without a histogram of counts. If a hessian is at most `bound` per unit
// of weight, the hessian of a side proves that the side has enough rows; only a best candidate that
// is not proven is counted. Only features that could win are scanned: the others have an upper
// bound of their score. Of a sparse table it is computed for each feature, else it is the best
// score of the features before.
#pragma once

#include <cmath>

#include "core/row_weights.hpp"
#include "gradients/gradients.hpp"
#include "grow/finders/finder.hpp"

namespace stagewise {

// The best candidate of one feature.
struct PackedCandidate {
  ScanResult result;
  uint32_t bin = 0;           // the last code that goes left; of categories: see right_bins()
  uint32_t next_bin = 0;      // the first code of the node that goes right
  size_t category_order = 0;  // which of the finder's orders of the categories was cut
  bool missing_seen = false;  // rows with a missing value and a weight were seen
  bool exact = false;         // min_samples_leaf was checked by counts
};

// Per position in the tree's list of features: the best candidate, or until it is known an upper
// bound of its score.
struct PackedScan : NodeScan {
  ScanRules rules;
  bool bounded = false;  // scores have an upper bound (GradientFinder::bounded)
  // The best score so far of a candidate that has enough rows. Threads share it; which of them
  // raises it first does not change the best candidate.
  double reached = kNoSplit;
  std::vector<double> score;
  std::vector<uint8_t> is_scanned;
  std::vector<PackedCandidate> candidates;

  void set(size_t position, const PackedCandidate& best) {
    candidates[position] = best;
    score[position] = best.result.score;
    is_scanned[position] = 1;
  }
  // All scores of the position are below this one.
  void set_bound(size_t position, double above) {
    score[position] = std::nextafter(above, kNoSplit);
    is_scanned[position] = 0;
  }
};

// Counts the rows of a leaf, if a finder has no rows.
class RowCounter {
 public:
  virtual ~RowCounter() = default;
  // counts[code] = the sum of the weights of the rows with this code of the feature, in units.
  virtual void count(const Leaf& leaf, uint32_t feature, int64_t* counts) const = 0;
};

class PackedGradientFinder : public Finder {
 public:
  using Candidate = PackedCandidate;
  using Scan = PackedScan;
  struct Scratch : FinderScratch {
    explicit Scratch(const Bins& bins);
    std::vector<int64_t> counts;       // sums of weights per bin
    std::vector<int64_t> more_counts;  // those of every second row, 0 between calls
  };

  PackedGradientFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                       const RowWeights& weights, const Histograms& histograms);

  virtual void start_tree(const Scales& scales, const Gradients& gradients,
                          const std::vector<uint32_t>& features, uint64_t key, double dispersion);
  // These features have no penalty in later trees.
  void add_used_features(const std::vector<int32_t>& features);

  const Gradients& gradients() const { return *gradients_; }
  bool counts_needed() const { return counts_needed_; }
  // Rows are counted by `counter`, because the finder has none.
  void set_counter(const RowCounter* counter) { counter_ = counter; }
  // The positions of the features whose rows choose_split() counts next, at most so many: that of
  // the best feature, and of those it would count if the better ones lose their splits. All groups
  // are scanned. Their rows by their codes are set instead.
  std::vector<size_t> positions_to_count(const Scan& node, size_t most) const;
  void set_counted(Scan* node, size_t position, const int64_t* counts) const;
  double penalty(uint32_t feature) const;  // subtracted from the score, in packed units

  PackedRows packed_rows() const { return {gradients_->slots(), nullptr}; }
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  bool splittable(const Leaf& leaf) const override;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             Scan* node) const;
  void scan_group(Scan* node, size_t group) const;
  // Whether the left side has the larger hessian.
  static bool heavier_left(const Leaf& leaf, const int64_t* left_sum) {
    const int64_t left = packed_hessian(*left_sum), both = packed_hessian(leaf.packed_sum);
    return left >= both - left;
  }

 protected:
  // The best split. right_bins(position, heavier_left): of a categorical feature, 1 for each bin
  // that goes right.
  template <class RightBins>
  Split choose_split_with(Scan* node, Scratch* scratch, RightBins&& right_bins) const {
    Split split;
    const size_t position = choose_candidate(node, scratch, &split);
    if (split.found() && bins_.coding(split.feature).categorical())
      split.right_bins = right_bins(position, heavier_left(*node->leaf, &split.left_sum));
    return split;
  }

  // The feature at a position, from the histogram of the leaf; counts: per bin, null if not needed.
  virtual Candidate scan_histogram(const Scan& node, size_t position,
                                   const int64_t* counts) const = 0;
  virtual double real_gain(double packed_gain) const = 0;
  // Whether both sides of a candidate without counts have enough rows; sets `exact`, and what
  // counts would have set besides. False: they may have, but were not counted.
  virtual bool confirm(const Scan&, uint32_t, Candidate*) const { return false; }
  // The score of the leaf without a split, in units of the score of the candidate.
  virtual double unsplit(const Leaf& leaf, const Candidate& candidate) const = 0;
  // The score that a gain is compared with to be more than a rounding error, in the same units.
  virtual double magnitude(const Leaf& leaf, const Candidate& candidate) const = 0;
  // The rounding error of a gain besides, in the same units.
  virtual double rounding() const = 0;
  // Whether all rows have the same target; false also if this was checked before the scan.
  virtual bool is_uniform(const Scan& node) const = 0;

  // visit(code, row) for the rows of a node; not of sparse or ranked tables.
  template <class Visit>
  void for_each_code(const Scan& node, uint32_t feature, Visit&& visit) const {
    const FeatureGroups& groups = bins_.groups();
    const size_t stride = bins_.row_stride(), place = groups.of(feature);
    const auto go = [&](const auto* codes, auto own_code) {
      for (size_t i = 0; i < node.rows.n; ++i) {
        const uint32_t row = node.rows[i];
        visit(own_code(codes[row * stride + place]), row);
      }
    };
    const auto same = [](auto code) { return size_t{code}; };
    if (bins_.wide()) {
      go(bins_.by_row16(), same);
    } else if (groups.alone(feature)) {
      go(bins_.by_row8(), same);
    } else {
      const uint8_t* const decode = groups.decode(feature);
      go(bins_.by_row8(), [=](uint8_t code) { return size_t{decode[code]}; });
    }
  }
  bool counted_elsewhere() const { return counter_ != nullptr; }
  void count_bins(const Scan& node, uint32_t feature, Scratch* scratch) const;
  bool min_count_proven(const Leaf& leaf, int64_t left_sum) const;
  double necessary_hessian(const Leaf& leaf) const;
  // Of a sparse table (packed_gradient_finder_sparse.cpp): whether one side of every split has too
  // few rows.
  bool too_few_rows(uint32_t feature) const { return sparse_counts_[feature] < min_count_; }
  void count_cells(const Scan& node, uint32_t feature, Scratch* scratch) const;
  bool any_missing_cell(const Scan& node, uint32_t feature, Scratch* scratch) const;

  const Bins& bins_;
  const Kernels& kernels_;
  const TreeRules& rules_;
  const RowWeights& weights_;
  const Histograms& histograms_;
  const Gradients* gradients_ = nullptr;
  const std::vector<uint32_t>* features_ = nullptr;  // of this tree
  Scales scales_;
  ScanRules scan_;
  int64_t min_count_ = 0;      // of a leaf, in units of the row weights
  int64_t least_split_ = 0;    // of a node that is split
  bool counts_needed_ = true;  // min_samples_leaf is not implied by min_hessian

 private:
  void count_sparse_rows();
  bool gain_suffices(const Scan& node, const Candidate& candidate, double packed_gain,
                     double gain) const;
  bool accepts_zero_gain(const Scan& node, const Candidate& candidate, double packed_gain) const;
  // Writes the best candidate to a split, without right_bins; returns the position of its feature.
  // If there is none, the split does not change.
  size_t choose_candidate(Scan* node, Scratch* scratch, Split* split) const;
  void write_split(const Scan& node, size_t position, double gain, Scratch* scratch,
                   Split* split) const;

  bool any_missing_row(const Scan& node, uint32_t feature, Scratch* scratch) const;

  const RowCounter* counter_ = nullptr;
  uint64_t key_ = 0;           // of the random draws of this tree
  std::vector<uint8_t> used_;  // per feature: an earlier tree uses it
  double unit_hessian_ = 0.0;  // the largest packed hessian per unit of RowWeights, not rounded
  double hessian_cap_ = 0.0;   // largest packed hessian per unit of weight; 0: unknown
  // Of a sparse table, per feature: the weight of the rows outside the default bin.
  std::vector<int64_t> sparse_counts_;
};

}  // namespace stagewise
