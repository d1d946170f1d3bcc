// Splits of trees whose leaves have a value for each of K outputs.
//
// One idea: the objective of a leaf is the sum of those of its outputs, so its values are K Newton
// steps and what a split gains is the sum of what it gains in each:
//
//     sum_k [ G_kL^2 / (H_kL + l2) + G_kR^2 / (H_kR + l2) - G_k^2 / (H_k + l2) ] / 2
//
// A side must have min_samples_leaf rows, and min_hessian in the mean of the outputs. The rows are
// counted in a lane of their own, unless hessians are their weights anyway. Levels of a category
// are put in the order of their leaf vectors along the first principal direction of these; what
// chance gains from an order (category_split.cpp) is taken off for as much of their variance as
// lies along it. Must not: know constraints on values, forced or random splits.
#pragma once

#include "gradients/vector_gradients.hpp"
#include "grow/finders/bin_sums.hpp"
#include "grow/finders/finder.hpp"
#include "grow/row_weights.hpp"

namespace stagewise {

// Whether the weights of rows need a lane, or can be told from hessians.
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
  std::vector<VectorCandidate> found;
  std::vector<int64_t> left;  // two vectors each: the sums of the left side, and space for a scan
};

class VectorFinder final : public Finder {
 public:
  using Found = VectorCandidate;
  using Search = VectorScan;
  struct Scratch : FinderScratch {
    Scratch(const Bins& bins, size_t lanes);

    std::vector<int64_t> few_sums;     // a vector per bin, 0 between calls
    std::vector<uint64_t> touched;     // a bit per bin with rows, 0 between calls
    std::vector<int64_t> listed_sums;  // the vectors of these bins in increasing order
  };

  VectorFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
               const RowWeights& weights, const Histograms& histograms, size_t outputs);

  size_t outputs() const { return outputs_; }
  bool counted() const { return counted_; }
  // dispersion: the sum over the outputs.
  void start_tree(const VectorGradients& gradients, const std::vector<uint32_t>& features,
                  double dispersion);

  PackedRows packed_rows() const override { return {nullptr, gradients_->packed()}; }
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  bool splittable(const Leaf& leaf) const override;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             NodeScan* scan) const override;
  void scan_group(NodeScan* scan, size_t group) const override;
  void scan_few_rows(NodeScan* scan, FinderScratch* scratch) const override;
  Split choose_split(NodeScan* scan, FinderScratch* scratch) const override;
  std::unique_ptr<NodeScan> make_scan() const override { return std::make_unique<Search>(); }
  std::unique_ptr<FinderScratch> make_scratch() const override {
    return std::make_unique<Scratch>(bins_, lanes_);
  }

 private:
  static Search* own(NodeScan* scan) { return static_cast<Search*>(scan); }
  static Scratch* own(FinderScratch* scratch) { return static_cast<Scratch*>(scratch); }

  struct VectorSums : BinSums {  // whose words are vectors
    const int64_t* missing = nullptr;
  };
  // What all lanes of a node's candidates are multiplied by and compared with.
  struct Lanes {
    std::vector<double> unit, l1, l2, high, hessian_unit;
    VectorRules rules;
  };
  // Some bins of a category that have rows, in an order, and how much of the variance of their leaf
  // vectors lies along it.
  struct Order {
    std::vector<uint32_t> bins;
    double share = 1.0;
  };

  Lanes make_lanes(double more_l2) const;
  std::vector<double> values(const int64_t* packed_sums) const;
  double hessian(const int64_t* packed_sums) const;  // the sum over the outputs
  double unsplit_score(const Leaf& leaf) const;
  void scan(Search* search, size_t position, const VectorSums& sums) const;
  Found scan_bins(const Leaf& leaf, const VectorSums& sums, const Lanes& lanes,
                  int64_t* left) const;
  Found scan_categories(const Leaf& leaf, const VectorSums& sums, int64_t* left) const;
  Found scan_one_vs_rest(const Leaf& leaf, const VectorSums& sums, const Order& order,
                         int64_t* left) const;
  Order ordered(const int64_t* packed_sums, size_t bins) const;
  // The words of a feature's bins in the order of codes, summed up in the scratch.
  void collect(const RowIndex& rows, uint32_t feature, Scratch* scratch) const;
  std::vector<uint8_t> right_bins(const Search& search, size_t position, bool heavier_left,
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
  Lanes numeric_lanes_, category_lanes_;  // of candidates that cut numbers, and orders of levels
  double category_chance_ = 0.0;
};

}  // namespace stagewise
