// Splits by criteria that need the rows of a node in the order of a feature, not only sums per bin:
// rows are added to one side, and subtracted from the other, in the order of their codes or ranks.
// Weights are integers. A derived finder computes the score of a node and of every cut of a
// sequence of rows, and the orders of categories; this class has the rest. No gradients, no
// histograms, no sparse tables.
#pragma once

#include <algorithm>

#include "core/integer_weights.hpp"
#include "grow/finders/finder.hpp"
#include "grow/nodes/row_sort.hpp"

namespace stagewise {

// The best candidate of one feature.
struct SortedRowCandidate {
  ScanResult result;
  uint32_t bin = 0;       // the last code that goes left; of categories: its place in the order
  uint32_t next_bin = 0;  // the first code of the node that goes right
  size_t order = 0;       // of categories: the number of their order
};

// A finder derives its own type of scan and of scratch memory from these.
struct SortedRowScan : NodeScan {
  std::vector<SortedRowCandidate> candidates;  // per position in the tree's list of features
  double unsplit = 0.0;                        // the score of the node without a split
};

struct SortedRowScratch : FinderScratch {
  explicit SortedRowScratch(const Bins& bins) : FinderScratch(bins), sort(bins) {}

  CodeSort sort;
};

// Some rows in the order of a feature; those with a missing value follow the others.
struct OrderedRows {
  const SortedRow* rows;
  size_t n, present;  // the number of rows, and of those before the missing values

  const SortedRow& operator[](size_t i) const { return rows[i]; }
  // Whether a cut after row i separates two codes; i is below `present`.
  bool ends_code(size_t i) const { return i + 1 == present || rows[i].rank != rows[i + 1].rank; }
};

template <class OwnScan, class OwnScratch>
class SortedRowFinder : public Finder {
 public:
  using Candidate = SortedRowCandidate;
  using Scan = OwnScan;
  using Scratch = OwnScratch;

  void start_tree(const std::vector<uint32_t>& features, uint64_t key);

  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const final;
  void set_child_sums(const Leaf& parent, const RowIndex& left, const RowIndex& right) const final;
  bool splittable(const Leaf& leaf) const final;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             Scan* node) const;
  void scan_few_rows(Scan* node, Scratch* scratch) const;
  void scan_sorted(Scan* node, size_t position, const SortedRow* rows, Scratch* scratch) const;
  Split choose_split(Scan* node, Scratch* scratch) const;

 protected:
  SortedRowFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights);

  // Sets the weight, the sums and the value of a leaf, and whether it is pure.
  virtual void set_sums(const RowIndex& rows, Leaf* leaf) const = 0;
  // Sets the score of the node without a split, and what else the scan of its rows needs.
  virtual void begin_scores(Scan* node) const = 0;
  // The best cut after one of the positions.
  virtual ScanResult best_cut(const Scan& node, uint32_t feature, const OrderedRows& rows,
                              const Positions& within, Scratch* scratch) const = 0;
  // The numbers of the orders of categories to try.
  virtual Positions category_orders(const Scan& node, uint32_t feature) const = 0;
  // The categories of rows with a weight in one of these orders.
  virtual std::vector<uint32_t> ordered_categories(const Scan& node, const OrderedRows& rows,
                                                   size_t order) const = 0;
  // The magnitude of the scores whose rounding a gain exceeds; the gain in units of the target.
  virtual double score_magnitude(const Scan& node, double best_score) const = 0;
  virtual double real_gain(double gain) const = 0;

  bool has_weight(size_t row) const { return integer_weights_[row] > 0; }
  bool any_weight(const OrderedRows& rows, size_t first) const;  // among the rows from `first` on

  const Bins& bins_;
  const TreeRules& rules_;
  const RowWeights& weights_;
  const IntegerWeights integer_weights_;
  const int64_t min_count_;
  const int64_t least_split_;  // the least count of a node that is split

 private:
  OrderedRows ordered_rows(const Scan& node, uint32_t feature, const SortedRow* rows) const;
  Candidate scan_numbers(const Scan& node, uint32_t feature, const OrderedRows& rows,
                         Scratch* scratch) const;
  Candidate scan_categories(const Scan& node, uint32_t feature, const OrderedRows& rows,
                            Scratch* scratch) const;
  std::vector<uint8_t> right_bins(const Scan& node, uint32_t feature, const Candidate& candidate,
                                  bool heavier_left, Scratch* scratch) const;

  const std::vector<uint32_t>* features_ = nullptr;  // of this tree
  uint64_t key_ = 0;
};

// A mean or a median of the targets of a category.
template <class Number>
struct CategoryCentre {
  Number centre;
  uint32_t code;
};

// The codes in the order of their centres; ties in the order of the codes.
template <class Number>
std::vector<uint32_t> codes_by_centre(std::vector<CategoryCentre<Number>> categories) {
  std::sort(categories.begin(), categories.end(), [](const auto& a, const auto& b) {
    return a.centre != b.centre ? a.centre < b.centre : a.code < b.code;
  });
  std::vector<uint32_t> order;
  for (const auto& category : categories) order.push_back(category.code);
  return order;
}

}  // namespace stagewise
