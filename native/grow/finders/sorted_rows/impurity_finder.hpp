// Splits of the trees of forests that have several targets, a Poisson criterion or monotone
// constraints. The gain of a split is the decrease of the impurity times the weight, the mean over
// the targets: of the squared error (half of it), of half the Poisson deviance, or of the impurity
// of classes (ClassCriterion). Rows are added up in the order of their codes or ranks. A split on a
// feature with a monotone constraint is valid if the values of both sides are in order and within
// the bounds of the node; other splits may cross the bounds, and the values of their leaves are
// clipped (as in scikit-learn). Categories are sorted by each lane of the sums in turn. No
// gradients, no histograms, no sparse tables.
#pragma once

#include "grow/finders/finder.hpp"
#include "grow/finders/sorted_rows/target_sums.hpp"
#include "grow/nodes/row_sort.hpp"

namespace stagewise {

// The best candidate of one feature.
struct ImpurityCandidate {
  ScanResult result;
  uint32_t bin = 0;          // the last code that goes left; of categories: its place in the order
  uint32_t next_bin = 0;     // the first code of the node that goes right
  size_t category_lane = 0;  // of categories: the lane that sorts them
};

struct ImpurityScan : NodeScan {
  std::vector<ImpurityCandidate> candidates;  // per position in the tree's list of features
  std::vector<int64_t> centre;  // per lane: the mean of a numeric target, per unit of weight
  double unsplit = 0.0;         // the score of the node without a split
};

class ImpurityFinder final : public Finder {
 public:
  using Candidate = ImpurityCandidate;
  using Scan = ImpurityScan;
  struct Scratch : FinderScratch {
    Scratch(const Bins& bins, size_t lanes)
        : FinderScratch(bins), sort(bins), left(lanes), right(lanes) {}

    CodeSort sort;
    std::vector<int64_t> left, right;  // the sums of both sides
  };

  ImpurityFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights,
                 const ImpurityTarget& target);

  void start_tree(const std::vector<uint32_t>& features, uint64_t key);

  Scratch make_scratch() const { return Scratch(bins_, sums_.lanes()); }
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
  // A cut: the weight and the count of the left side, whose sums are in the scratch.
  struct Side {
    int64_t weight = 0, count = 0;
  };

  void set_sums(const RowIndex& rows, Leaf* leaf) const;
  // The score of a node or side: the larger, the purer; kNoSplit: it may not be a side.
  double score(const Scan& node, const int64_t* sums, int64_t weight) const;
  double squared_score(const Scan& node, const int64_t* sums, int64_t weight) const;
  double poisson_score(const int64_t* sums, int64_t weight) const;
  double class_score(const int64_t* sums, int64_t weight) const;
  double cut_score(const Scan& node, uint32_t feature, const Side& left, Scratch* scratch) const;
  bool in_order(const Leaf& leaf, uint32_t feature, const Side& left, const Scratch& scratch) const;

  Candidate scan_numbers(const Scan& node, uint32_t feature, const SortedRow* rows,
                         Scratch* scratch) const;
  Candidate scan_categories(const Scan& node, uint32_t feature, const SortedRow* rows,
                            Scratch* scratch) const;
  // The best cut after one of the positions among the first `present` of n rows.
  ScanResult best_cut(const Scan& node, uint32_t feature, const SortedRow* rows, size_t n,
                      size_t present, const Positions& within, Scratch* scratch) const;
  // The categories of rows with a weight, sorted by the mean of a lane.
  std::vector<uint32_t> ordered_categories(const SortedRow* rows, size_t present,
                                           size_t lane) const;
  double real_gain(double gain) const;

  const Bins& bins_;
  const TreeRules& rules_;
  const RowWeights& weights_;
  const TargetSums sums_;
  const int64_t min_count_, least_split_;
  const std::vector<uint32_t>* features_ = nullptr;  // of this tree
  uint64_t key_ = 0;
};

}  // namespace stagewise
