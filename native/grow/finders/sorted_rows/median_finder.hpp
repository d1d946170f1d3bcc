// Splits of trees for the absolute error: a leaf predicts the weighted median of its targets, its
// cost is sum_i w_i |y_i - median|, and the gain of a split is the decrease of the cost (Breiman et
// al. 1984, section 8.11). Rows are added to a running median (running_median.hpp) in the order of
// their codes or ranks, from both ends: O(n log n) per feature. Targets and weights are integers,
// so costs are exact. Categories are sorted by their medians. No gradients, no histograms, no
// monotone constraints, no sparse tables.
#pragma once

#include <span>

#include "core/row_weights.hpp"
#include "grow/finders/finder.hpp"
#include "grow/finders/sorted_rows/running_median.hpp"
#include "grow/nodes/row_sort.hpp"

namespace stagewise {

// The targets, and targets and weights as integers.
class IntegerTarget {
 public:
  // y: finite. weight: one per row, or empty if every weight is 1.
  IntegerTarget(std::span<const double> y, std::span<const double> weight);

  double y(size_t row) const { return y_[row]; }
  uint32_t rank(size_t row) const { return rank_[row]; }  // among the distinct values
  int64_t value(uint32_t rank) const { return values_[rank]; }
  int64_t weight(size_t row) const { return weight_.empty() ? 1 : weight_[row]; }
  double real(double units) const;  // converts integer weight times value

 private:
  std::span<const double> y_;
  std::vector<uint32_t> rank_;   // per row
  std::vector<int64_t> values_;  // per rank: below 2^60
  std::vector<int64_t> weight_;  // per row, with a sum of about 2^50 at most; empty: all 1
  int value_exponent_ = 0, weight_exponent_ = 0;
};

// The best candidate of one feature.
struct MedianCandidate {
  ScanResult result;
  uint32_t bin = 0;           // the last code that goes left; of categories: its place in the order
  uint32_t next_bin = 0;      // the first code of the node that goes right
  bool missing_seen = false;  // rows with a missing value and a weight were seen
};

struct MedianScan : NodeScan {
  std::vector<MedianCandidate> candidates;  // per position in the tree's list of features
  std::vector<int64_t> targets;             // the distinct targets of the node, increasing
  double unsplit = 0.0;                     // the score of the node without a split
};

class MedianFinder final : public Finder {
 public:
  using Candidate = MedianCandidate;
  using Scan = MedianScan;
  struct Scratch : FinderScratch {
    explicit Scratch(const Bins& bins) : FinderScratch(bins), sort(bins) {}

    CodeSort sort;
    RunningMedian median;
    std::vector<WideSum> costs;  // of the left side, per position
  };

  MedianFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights,
               std::span<const double> target);

  void start_tree(const std::vector<uint32_t>& features, uint64_t key);

  Scratch make_scratch() const { return Scratch(bins_); }
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  bool splittable(const Leaf& leaf) const override;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             Scan* node) const;
  void scan_few_rows(Scan* node, Scratch* scratch) const;
  void scan_sorted(Scan* node, size_t position, const SortedRow* rows, Scratch* scratch) const;
  Split choose_split(Scan* node, Scratch* scratch) const;

 private:
  void set_sums(const RowIndex& rows, Leaf* leaf) const;
  Candidate scan_numbers(const Scan& node, uint32_t feature, const SortedRow* rows,
                         Scratch* scratch) const;
  Candidate scan_categories(const Scan& node, uint32_t feature, const SortedRow* rows,
                            Scratch* scratch) const;
  // The best cut after one of the positions among the first `present` of n rows.
  ScanResult best_cut(const Scan& node, const SortedRow* rows, size_t n, size_t present,
                      const Positions& within, Scratch* scratch) const;
  // The categories of rows with a weight, sorted by their medians.
  std::vector<uint32_t> ordered_categories(const Scan& node, const SortedRow* rows,
                                           size_t present) const;

  const Bins& bins_;
  const TreeRules& rules_;
  const RowWeights& weights_;
  const IntegerTarget target_;
  const int64_t min_count_;
  const int64_t least_split_;   // the least count of a node that is split
  LargeArray<uint32_t> place_;  // per row: position of its target among its node's
  const std::vector<uint32_t>* features_ = nullptr;  // of this tree
  uint64_t key_ = 0;
};

}  // namespace stagewise
