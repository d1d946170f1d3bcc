// Splits of trees for the absolute error: a leaf predicts the weighted median of its targets, its
// cost is sum_i w_i |y_i - median|, and the gain of a split is the decrease of the cost (Breiman et
// al. 1984, section 8.11). Rows are added to a running median (running_median.hpp) in the order of
// their codes or ranks, from both ends: O(n log n) per feature. Targets and weights are integers,
// so costs are exact. Categories are sorted by their medians. No monotone constraints.
#pragma once

#include <cmath>

#include "grow/finders/sorted_rows/integer_target.hpp"
#include "grow/finders/sorted_rows/running_median.hpp"
#include "grow/finders/sorted_rows/sorted_row_finder.hpp"

namespace stagewise {

struct MedianScan : SortedRowScan {
  std::vector<int64_t> targets;  // the distinct targets of the node, increasing
};

struct MedianScratch : SortedRowScratch {
  using SortedRowScratch::SortedRowScratch;

  RunningMedian median;
  std::vector<WideSum> costs;  // of the left side, per position
};

class MedianFinder final : public SortedRowFinder<MedianScan, MedianScratch> {
 public:
  MedianFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights,
               std::span<const double> target);

  Scratch make_scratch() const { return Scratch(bins_); }

 private:
  void set_sums(const RowIndex& rows, Leaf* leaf) const override;
  void begin_scores(Scan* node) const override;
  ScanResult best_cut(const Scan& node, uint32_t feature, const OrderedRows& rows,
                      const Positions& within, Scratch* scratch) const override;
  Positions category_orders(const Scan&, uint32_t) const override { return {0, 1}; }
  std::vector<uint32_t> ordered_categories(const Scan& node, const OrderedRows& rows,
                                           size_t order) const override;
  double score_magnitude(const Scan& node, double) const override { return node.unsplit; }
  double real_gain(double gain) const override {
    return std::ldexp(gain, -target_.exponent() - integer_weights_.exponent());
  }

  const IntegerTarget target_;
  LargeArray<uint32_t> place_;  // per row: position of its target among its node's
};

}  // namespace stagewise
