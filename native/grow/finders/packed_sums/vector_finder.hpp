// Splits of trees whose leaves have a value for each of K outputs. The objective of a leaf is the
// sum over its outputs, so its values are K Newton steps and the gain is
//
//     sum_k [ G_kL^2 / (H_kL + l2) + G_kR^2 / (H_kR + l2) - G_k^2 / (H_k + l2) ] / 2
//
// A side must have min_samples_leaf rows, and min_hessian in the mean of the outputs. Rows are
// counted in a separate lane, unless hessians are weights. Categories are sorted by their leaf
// vectors along the first principal direction; the expected gain by chance (category_order.hpp) is
// subtracted in proportion to the variance along it. No monotone constraints or forced splits.
#pragma once

#include "core/row_weights.hpp"
#include "gradients/vector_gradients.hpp"
#include "grow/finders/finder.hpp"
#include "grow/nodes/bin_sums.hpp"

namespace stagewise {

// Whether row weights need a separate lane.
bool rows_counted(const TreeRules& rules, const RowWeights& weights);

// The best candidate of one feature.
struct VectorCandidate {
  ScanResult result;
  uint32_t bin = 0;           // the last code that goes left; of categories: see right_bins()
  uint32_t next_bin = 0;      // the first code of the node that goes right
  bool missing_seen = false;  // rows with a missing value and a weight were seen
};

struct VectorScan : NodeScan {
  // Per position in the tree's list of features.
  std::vector<VectorCandidate> candidates;
  std::vector<int64_t> left;  // two vectors each: the sums of the left side, and space for a scan
};

class VectorFinder final : public Finder {
 public:
  using Candidate = VectorCandidate;
  using Scan = VectorScan;
  struct Scratch : FinderScratch {
    Scratch(const Bins& bins, size_t lanes);

    std::vector<int64_t> few_sums;     // a vector per bin, 0 between calls
    std::vector<uint64_t> touched;     // a bit per bin with rows, 0 between calls
    std::vector<int64_t> listed_sums;  // the vectors of these bins in increasing order
    std::vector<int64_t> all_sums;     // a vector per bin
    std::vector<int64_t> side;         // two vectors
  };

  VectorFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
               const RowWeights& weights, const Histograms& histograms, size_t outputs);

  size_t outputs() const { return outputs_; }
  bool counted() const { return counted_; }
  // dispersion: summed over the outputs.
  void start_tree(const VectorGradients& gradients, const std::vector<uint32_t>& features,
                  uint64_t key, double dispersion);

  PackedRows packed_rows() const { return {nullptr, gradients_->packed()}; }
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  bool splittable(const Leaf& leaf) const override;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             Scan* node) const;
  void scan_group(Scan* node, size_t group) const;
  void scan_few_rows(Scan* node, Scratch* scratch) const;
  Split choose_split(Scan* node, Scratch* scratch) const;

  // For symmetric trees (symmetric_search.hpp).
  //
  // Whether cuts of the leaf are scored; else the leaf counts without a split.
  bool needs_scan(const Leaf& leaf) const { return splittable(leaf); }
  double unsplit_score(const Leaf& leaf) const;
  // The sums of all bins of a feature, from the histogram of the node, or if it has none from its
  // rows; then they are valid until the next call with this scratch.
  const int64_t* feature_sums(const Scan& node, size_t position, Scratch* scratch) const;
  // The bins of a categorical feature with rows, in the order in which they are cut.
  std::vector<uint32_t> category_order(const int64_t* packed_sums, size_t position) const;
  // Adds the score of each cut in a leaf, or `unsplit` if the cut is not possible.
  void add_scores(const Scan& node, const CutSums& sums, double unsplit, Scratch* scratch,
                  double* right, double* left) const;
  bool exceeds_min_gain(double gain) const { return 0.5 * gain > rules_.min_gain; }
  // Whether the left side has the larger hessian.
  bool heavier_left(const Leaf& leaf, const int64_t* left_sums) const;
  // Sets the gain of a split and the sums of its left side. Returns false, and clears the split, if
  // a side has too few rows.
  bool complete(const Scan& node, const int64_t* left_sums, const int64_t* counts, Scratch* scratch,
                Split* split) const;

  Scratch make_scratch() const { return Scratch(bins_, lanes_); }

 private:
  struct VectorSums : BinSums {  // a vector of sums per bin
    const int64_t* missing = nullptr;
  };
  // The parameters of each lane.
  struct Lanes {
    std::vector<double> unit, l1, l2, high, hessian_unit;
    VectorRules rules;
  };
  // Sorted bins with rows, and the share of the variance of their leaf vectors along the sort
  // direction.
  struct Order {
    std::vector<uint32_t> bins;
    double share = 1.0;
  };

  Lanes make_lanes(double more_l2) const;
  std::vector<double> values(const int64_t* packed_sums) const;
  double hessian(const int64_t* packed_sums) const;  // the sum over the outputs
  void scan(Scan* node, size_t position, const VectorSums& sums) const;
  Candidate scan_bins(const Scan& node, const VectorSums& sums, const Lanes& lanes,
                      int64_t* left) const;
  // The score of the cut after the first `bins`.
  ScanResult scan_one_cut(const Scan& node, const VectorSums& sums, size_t bins, const Lanes& lanes,
                          int64_t* left) const;
  Candidate scan_categories(const Scan& node, const VectorSums& sums, int64_t* left) const;
  Candidate scan_one_vs_rest(const Scan& node, const VectorSums& sums, const Order& order,
                             int64_t* left) const;
  Order ordered(const int64_t* packed_sums, size_t bins) const;
  // Adds the vectors of some rows to the sums of the bins of a feature.
  void add_rows(const RowIndex& rows, uint32_t feature, int64_t* packed_sums) const;
  // The same for the few_sums of the scratch; marks the bins.
  void collect(const RowIndex& rows, uint32_t feature, Scratch* scratch) const;
  std::vector<uint8_t> right_bins(const Scan& node, size_t position, bool heavier_left,
                                  Scratch* scratch) const;
  bool has_rows(const int64_t* packed_sums) const;

  const Bins& bins_;
  const Kernels& kernels_;
  const TreeRules& rules_;
  const RowWeights& weights_;
  const Histograms& histograms_;
  const size_t outputs_;
  const bool counted_;
  const size_t lanes_;
  const VectorGradients* gradients_ = nullptr;
  const std::vector<uint32_t>* features_ = nullptr;  // of this tree
  uint64_t key_ = 0;                                 // of the random draws of this tree
  Lanes numeric_lanes_, category_lanes_;             // for numeric and for categorical features
  double category_chance_ = 0.0;
};

}  // namespace stagewise
