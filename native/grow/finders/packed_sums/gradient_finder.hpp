// Splits of trees with one output: the gain is that of Chen & Guestrin (2016), eq. 7.
//
// The candidates of a node are the bins of its features, as sums per bin. A node with many rows has
// a histogram; a node with few rows collects only the bins that its rows fall into. Both end in the
// same scan over integer sums, so both choose the same split.
#pragma once

#include "grow/finders/packed_sums/packed_gradient_finder.hpp"
#include "grow/nodes/bin_sums.hpp"
#include "grow/nodes/code_set.hpp"

namespace stagewise {

class GradientFinder final : public PackedGradientFinder {
 public:
  struct Scratch : PackedGradientFinder::Scratch {
    explicit Scratch(const Bins& bins);

    // For few rows: sums per bin, 0 between calls.
    std::vector<int64_t> few_sums, few_counts;
    // The bins that were touched: as a set, or of a sparse table as bits; empty between calls.
    CodeSet seen;
    std::vector<uint64_t> touched;
    // The touched bins in increasing order.
    std::vector<int64_t> listed_sums, listed_counts;
    std::vector<uint32_t> listed_codes, listed_first_codes;
    // Per row of the node.
    std::vector<int64_t> row_packed, row_counts;
    std::vector<size_t> row_begin;
    std::vector<uint16_t> row_codes;  // of a feature
    std::vector<int64_t> all_sums;    // of a symmetric tree: per bin of a feature

    void reserve_rows(size_t n);
    void reserve_bins(size_t n);
  };

  GradientFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                 const RowWeights& weights, const Histograms& histograms);

  void start_tree(const Scales& scales, const Gradients& gradients,
                  const std::vector<uint32_t>& features, uint64_t key, double dispersion) override;
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_root(int64_t packed_sum, Leaf* root) const;  // the same without rows
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             Scan* node) const;

  void scan_group(Scan* node, size_t group) const;
  void scan_few_rows(Scan* node, Scratch* scratch) const;
  void scan_block(Scan* node, size_t block) const;
  void scan_few_rows_block(Scan* node, size_t block, Scratch* scratch) const;
  Split choose_split(Scan* node, Scratch* scratch) const;
  // The best candidate of one feature of a node, from its sums in the order of the codes.
  Candidate scan(const Scan& node, const BinSums& sums) const {
    return bins_.coding(sums.feature).categorical() ? scan_categories(node, sums)
                                                    : scan_bins(node, sums, node.rules);
  }

  // For symmetric trees (symmetric_search.hpp).
  //
  // Whether cuts of the leaf are scored; else the leaf counts without a split. A scan compares
  // hessians only; the rows of the best feature are counted (counts_of()).
  bool needs_scan(const Leaf&) const { return true; }
  double unsplit_score(const Leaf& leaf) const;
  // The sums of all bins of a feature: of the histogram, or if the leaf has none of its rows.
  const int64_t* feature_sums(const Scan& node, size_t position, Scratch* scratch) const;
  // The weights of the rows in all bins of a feature, and behind them of missing values.
  const int64_t* counts_of(const Scan& node, size_t position, Scratch* scratch) const {
    count_bins(node, (*features_)[position], scratch);
    return scratch->counts.data();
  }
  // The bins of a categorical feature with rows, in the order in which they are cut.
  std::vector<uint32_t> category_order(const int64_t* packed_sums, size_t position) const;
  // Adds the score of each cut in a leaf, or `unsplit` if the cut is not possible.
  void add_scores(const Scan& node, const CutSums& sums, double unsplit, Scratch*, double* right,
                  double* left) const;
  // The same for a numeric feature of a leaf without a histogram. Returns whether it has missing
  // values.
  bool add_scores_of_rows(const Scan& node, size_t position, double unsplit, Scratch* scratch,
                          double* right, double* left) const;
  // Whether an upper bound of scores is available, which takes less time, and that bound of a
  // feature in the leaves of a depth.
  bool bounded(const Scan& node) const;
  double bound_scores(const LevelInput& level, const ScanRules& rules) const {
    return kernels_.symmetric_bound(level, rules);
  }
  bool exceeds_min_gain(double packed_gain) const {
    return real_gain(packed_gain) > rules_.min_gain;
  }
  // Sets the gain of a split and the sum of its left side. Returns false, and clears the split, if
  // a side has too few rows. counts: as counts_of(), or null.
  bool complete(const Scan& node, const int64_t* left_sum, const int64_t* counts, Scratch* scratch,
                Split* split) const;

  // The value of a leaf with these sums; parent: null for the root.
  double value(int64_t packed_sum, const Leaf* parent) const;
  double value(double gradient, double hessian, const Leaf* parent) const;

  Scratch make_scratch() const { return Scratch(bins_); }

 private:
  Candidate scan_histogram(const Scan& node, size_t position, const int64_t* counts) const override;
  double real_gain(double packed_gain) const override;
  double unsplit(const Leaf& leaf, const Candidate&) const override { return unsplit_score(leaf); }
  double magnitude(const Leaf&, const Candidate& candidate) const override {
    return candidate.result.score < 0.0 ? -candidate.result.score : candidate.result.score;
  }
  // Of a categorical feature: 1 for each bin that goes right.
  std::vector<uint8_t> right_bins(const Scan& node, size_t position, bool heavier_left,
                                  Scratch* scratch) const;
  Candidate scan_bins(const Scan& node, const BinSums& sums, const ScanRules& rules) const;
  Candidate scan_categories(const Scan& node, const BinSums& sums) const;
  Candidate scan_one_vs_rest(const Scan& node, const BinSums& sums,
                             const std::vector<uint32_t>& bins) const;
  bool prunes(const Scan& node) const;
  bool below(const Scan& node, size_t position, double score) const;
  bool confirm(const Scan& node, uint32_t feature, Candidate* candidate) const override;
  size_t bound_pairs(Scan* node, const std::vector<uint32_t>& positions, size_t first) const;
  BinSums collect_cells(const Scan& node, uint32_t feature, size_t first, Scratch* scratch) const;
  bool is_uniform(const Scan& node) const override;
  double rounding() const override { return 0.0; }
  template <bool kCounts, class Code>
  void scan_few_rows_of(const Code* codes, Scan* node, Scratch* scratch) const;
  template <bool kCounts>
  size_t list_touched(uint32_t bins, Scratch* scratch) const;
  template <bool kCounts, class Code, class Decode>
  void collect(const Code* codes, Decode own_code, size_t n, Scratch* scratch) const;
  // Of random thresholds (gradient_finder_random.cpp).
  bool has_random_cuts(const Scan& node, const Scratch& scratch) const;
  Candidate random_cut(const Scan& node, uint32_t feature, const Scratch& scratch) const;
  Positions positions_with_min_count(const int64_t* counts, size_t bins, int64_t left,
                                     int64_t right) const;

  double category_smoothing_ = 0.0;
  double category_chance_ = 0.0;  // expected gain by chance per additional category
};

}  // namespace stagewise
