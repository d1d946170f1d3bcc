// Splits of the trees of forests that have several targets, a Poisson criterion or monotone
// constraints. The gain of a split is the decrease of the impurity times the weight, the mean over
// the targets: of the squared error (half of it), of half the Poisson deviance, or of the impurity
// of classes (ClassCriterion). Rows are added up in the order of their codes or ranks. A split on a
// feature with a monotone constraint is valid if the values of both sides are in order and within
// the bounds of the node; other splits may cross the bounds, and the values of their leaves are
// clipped (as in scikit-learn). Categories are sorted by each lane of the sums in turn.
#pragma once

#include "grow/finders/sorted_rows/sorted_row_finder.hpp"
#include "grow/finders/sorted_rows/target_sums.hpp"

namespace stagewise {

struct ImpurityScan : SortedRowScan {
  std::vector<int64_t> centre;  // per lane: the mean of a numeric target, per unit of weight
};

struct ImpurityScratch : SortedRowScratch {
  ImpurityScratch(const Bins& bins, size_t lanes)
      : SortedRowScratch(bins), left(lanes), right(lanes) {}

  std::vector<int64_t> left, right;  // the sums of both sides
};

class ImpurityFinder final : public SortedRowFinder<ImpurityScan, ImpurityScratch> {
 public:
  ImpurityFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights,
                 const ImpurityTarget& target);

  Scratch make_scratch() const { return Scratch(bins_, sums_.lanes()); }

 private:
  // A cut: the weight and the count of the left side, whose sums are in the scratch.
  struct Side {
    int64_t weight = 0, count = 0;
  };

  void set_sums(const RowIndex& rows, Leaf* leaf) const override;
  void begin_scores(Scan* node) const override;
  ScanResult best_cut(const Scan& node, uint32_t feature, const OrderedRows& rows,
                      const Positions& within, Scratch* scratch) const override;
  Positions category_orders(const Scan& node, uint32_t feature) const override;
  std::vector<uint32_t> ordered_categories(const Scan& node, const OrderedRows& rows,
                                           size_t lane) const override;
  double score_magnitude(const Scan&, double best_score) const override { return best_score; }
  double real_gain(double gain) const override;

  // The score of a node or side: the larger, the purer; kNoSplit: it may not be a side.
  double score(const Scan& node, const int64_t* sums, int64_t weight) const;
  double squared_score(const Scan& node, const int64_t* sums, int64_t weight) const;
  double poisson_score(const int64_t* sums, int64_t weight) const;
  double class_score(const int64_t* sums, int64_t weight) const;
  double cut_score(const Scan& node, uint32_t feature, const Side& left, Scratch* scratch) const;
  bool in_order(const Leaf& leaf, uint32_t feature, const Side& left, const Scratch& scratch) const;

  const TargetSums sums_;
};

}  // namespace stagewise
