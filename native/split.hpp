// The best split of a node.
//
// One idea: a node's candidates are the bins of its features, given as sums per bin. A node with
// many rows reads them from its histogram; a node with few rows collects just the bins that its
// rows fall into. Both end in the same scan over integer sums, so both choose the same split.
//
// min_samples_leaf is exact without a histogram of counts: when a hessian can be at most `bound`
// per unit of weight, a side's hessian proves that it is heavy enough; only the winner of a node
// that is not proven is counted.
#pragma once

#include <vector>

#include "bins.hpp"
#include "frontier.hpp"
#include "gradients.hpp"
#include "histograms.hpp"

namespace stagewise {

struct TreeRules {
  size_t max_leaves = 31;  // 0: no limit
  int max_depth = 0;       // 0: no limit
  double min_samples_leaf = 20.0;
  double min_hessian = 1e-3;
  double min_gain = 0.0;
  Regularisation regularisation;
  Growth growth = Growth::best_first;
  double columns_per_tree = 1.0, columns_per_level = 1.0, columns_per_node = 1.0;
  double hessian_bound = 0.0;      // most hessian per unit of weight; 0: unknown
  bool hessian_is_weight = false;  // hessian = bound * weight, always
};

// The weights of the rows as integers, so that their sums are exact as well.
class RowWeights {
 public:
  RowWeights(const double* weight, size_t rows);

  const double* weight() const { return weight_; }
  bool whole() const { return whole_; }
  double unit() const { return unit_; }  // integer units per unit of weight
  double total() const { return total_; }
  int64_t operator[](size_t row) const {
    return weight_ == nullptr ? 1 : static_cast<int64_t>(weight_[row] * unit_ + 0.5);
  }

 private:
  const double* weight_;
  bool whole_ = true;
  double unit_ = 1.0;
  double total_;
};

class SplitFinder {
 public:
  SplitFinder(const Bins& bins, const Kernels& kernels, Workers& workers, const TreeRules& rules,
              const RowWeights& weights, Histograms& histograms);

  // Nodes with at most this many rows are searched without a histogram.
  size_t few_rows() const { return few_rows_; }
  void set_few_rows(size_t rows) { few_rows_ = rows; }

  void start_tree(const Scales& scales, const Gradients& gradients);
  // `positions` are places in the tree's list of features, `features` the list itself.
  Split find(const Leaf& leaf, const uint32_t* rows, const std::vector<uint32_t>& positions,
             const std::vector<uint32_t>& features);
  bool splittable(const Leaf& leaf) const;

  double real_gain(double packed_gain) const;
  double value(int64_t word) const;

 private:
  struct Found {
    ScanResult result;
    uint32_t bin = 0;
    int64_t left_word = 0;
    bool missing_seen = false;  // missing rows with a say; those without one go right
    bool exact = false;         // counts were checked
  };

  Found scan_histogram(const Leaf& leaf, size_t position, uint32_t feature, const int64_t* counts);
  void count_bins(const Leaf& leaf, const uint32_t* rows, uint32_t feature);
  bool any_missing(const Leaf& leaf, const uint32_t* rows, uint32_t feature) const;
  void find_in_histogram(const Leaf& leaf, const std::vector<uint32_t>& positions,
                         const std::vector<uint32_t>& features);
  template <class Code>
  void copy_codes(const Code* codes, size_t i, size_t n, const std::vector<uint32_t>& positions,
                  const std::vector<uint32_t>& features);
  void find_in_rows(const Leaf& leaf, const uint32_t* rows, const std::vector<uint32_t>& positions,
                    const std::vector<uint32_t>& features);
  bool proven(const Leaf& leaf, int64_t left_word) const;

  const Bins& bins_;
  const Kernels& kernels_;
  Workers& workers_;
  const TreeRules& rules_;
  const RowWeights& weights_;
  Histograms& histograms_;
  const Gradients* gradients_ = nullptr;
  Scales scales_;
  ScanRules scan_;
  bool counts_needed_ = true;
  double hessian_cap_ = 0.0;  // most packed hessian per unit of weight
  size_t few_rows_;
  std::vector<Found> found_;  // per position
  std::vector<int64_t> counts_;
  // For find_in_rows: sums per bin (zero between calls), a bitmap of the touched ones, and the
  // touched ones in order.
  struct Sum {
    int64_t word = 0, count = 0;
  };
  std::vector<Sum> sums_;
  std::vector<uint64_t> touched_;
  std::vector<int64_t> packed_words_, packed_counts_, row_words_, row_counts_;
  std::vector<uint32_t> packed_bins_;
  std::vector<uint16_t> row_codes_;
};

}  // namespace stagewise
