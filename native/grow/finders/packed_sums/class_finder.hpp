// Splits of trees for class targets: the gain is the decrease of an impurity (ClassCriterion;
// kernels/class_split_scan.hpp). Candidates are sums per bin and class if a node has a histogram or
// many rows, else rows sorted by code or rank; with a forced or random cut, the sums of its two
// sides. All sums are integers, so all ways choose the same split. Categories are sorted by the
// share of each class in turn; with two classes one order is enough and optimal (Breiman et al.
// 1984, section 9.4). Leaf values are set later, by a step.
#pragma once

#include "grow/finders/packed_sums/packed_gradient_finder.hpp"
#include "grow/nodes/row_sort.hpp"

namespace stagewise {

class ClassFinder final : public PackedGradientFinder {
 public:
  struct Scratch : PackedGradientFinder::Scratch {
    explicit Scratch(const Bins& bins);

    CodeSort sort;
    // Sums per bin and class, and counts per bin; 0 between calls.
    std::vector<int64_t> few_sums, few_counts;
    // Per row of the node.
    std::vector<int32_t> row_classes;
    std::vector<GradientSlot> row_slots;
    std::vector<int64_t> row_counts;
    bool all_weighted = true;    // no row of the node has weight 0
    std::vector<int64_t> sides;  // per class: the sums of both sides of a cut

    void reserve_bins(size_t n);
  };

  // The classes are the planes of the histograms.
  ClassFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
              const RowWeights& weights, const Histograms& histograms);

  void start_tree(const Scales& scales, const Gradients& gradients,
                  const std::vector<uint32_t>& features, uint64_t key, double dispersion) override;
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  bool splittable(const Leaf& leaf) const override {
    return !leaf.pure && PackedGradientFinder::splittable(leaf);
  }
  Scratch make_scratch() const { return Scratch(bins_); }
  void scan_few_rows(Scan* node, Scratch* scratch) const;
  void scan_block(Scan* node, size_t block) const;
  void scan_sorted(Scan* node, size_t position, const SortedRow* rows, Scratch* scratch) const;
  Split choose_split(Scan* node, Scratch* scratch) const;

 private:
  Candidate scan_histogram(const Scan& node, size_t position, const int64_t* counts) const override;
  double real_gain(double packed_gain) const override { return packed_gain / scales_.gradient; }
  double unsplit(const Leaf&, const Candidate& candidate) const override {
    return candidate.result.unsplit;
  }
  double magnitude(const Leaf& leaf, const Candidate&) const override {
    return static_cast<double>(packed_gradient(leaf.packed_sum));
  }
  // Of entropy: one unit for each logarithm, of which there are a few per class.
  double rounding() const override {
    return rules_.criterion == ClassCriterion::entropy
               ? scan_.logs.real * static_cast<double>(3 * (classes_ + 1))
               : 0.0;
  }
  // Of a categorical feature: 1 for each bin that goes right.
  std::vector<uint8_t> right_bins(const Scan& node, size_t position, bool heavier_left,
                                  Scratch* scratch) const;
  // Pure nodes are not searched.
  bool is_uniform(const Scan&) const override { return false; }

  // The classes and gradients of rows, by row number or by position in the node.
  struct Named {
    RowIndex rows;
    const int32_t* class_of;
    const GradientSlot* slots;
  };

  std::vector<int64_t> class_sums(const RowIndex& rows) const;
  ClassNode node_of(const Leaf& leaf, bool counted) const;
  bool summed(uint32_t feature, size_t rows) const;  // else sorted
  ClassScanInput histogram_sums(const Scan& node, size_t position, const int64_t* counts) const;
  // Copies the classes and gradients of the rows to the scratch, by position in the node.
  void list_rows(const RowIndex& rows, Scratch* scratch) const;
  // Sums of the listed rows by bin(code), in the scratch; the last bin has the missing values.
  // clear() must follow.
  template <class Bin>
  ClassScanInput row_sums(const Scan& node, uint32_t feature, size_t bins, Scratch* scratch,
                          Bin bin) const;
  ClassScanInput bin_sums(const Scan& node, uint32_t feature, Scratch* scratch) const;
  void clear(const ClassScanInput& sums, Scratch* scratch) const;
  Candidate scan(const Scan& node, uint32_t feature, const ClassScanInput& sums,
                 int64_t* sides) const;
  Candidate scan_bins(const Scan& node, uint32_t feature, const ClassScanInput& sums,
                      int64_t* sides) const;
  Candidate scan_categories(const Scan& node, uint32_t feature, const ClassScanInput& sums,
                            int64_t* sides) const;
  Candidate scan_bin_sums(const Scan& node, uint32_t feature, Scratch* scratch) const;
  Candidate scan_rows(const Scan& node, uint32_t feature, Scratch* scratch) const;
  Candidate scan_only_cut(const Scan& node, uint32_t feature, const CodeEnds& range,
                          Scratch* scratch) const;
  Candidate sweep(const Scan& node, uint32_t feature, const SortedRow* rows, const Named& named,
                  Scratch* scratch) const;

  void share_unit();  // of all weights: a power of two

  const int32_t* const class_of_;  // per row
  const size_t classes_;
  std::vector<int64_t> logs_;  // of small weights, for entropy
};

}  // namespace stagewise
