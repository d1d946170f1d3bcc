// The best split of a node.
//
// One idea: a node's candidates are the bins of its features, given as sums per bin. A node with
// many rows reads them from its histogram; a node with few rows collects just the bins that its
// rows fall into. Both end in the same scan over integer sums, so both choose the same split.
//
// min_samples_leaf is exact without a histogram of counts: when a hessian can be at most `bound`
// per unit of weight, a side's hessian proves that it is heavy enough; only the winner of a node
// that is not proven is counted. Where features are many and cells few, a bound of what each
// feature could gain comes first, and only features that could win are scanned.
#pragma once

#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "binning/bins.hpp"
#include "gradients/gradients.hpp"
#include "grow/finders/category_order.hpp"
#include "grow/finders/running_median.hpp"
#include "grow/frontier.hpp"
#include "grow/search/code_set.hpp"
#include "grow/search/histograms.hpp"

namespace stagewise {

// A split that every tree begins with, and which of them its children begin with, or -1.
struct ForcedSplit {
  uint32_t feature = 0;
  uint32_t bin = 0;  // the last that goes left
  int left = -1, right = -1;
};

// Which of the sorted values of a node are candidates: all, or those at which the sum of hessians
// passes a multiple of epsilon times that of the whole tree, or of the node (Chen & Guestrin 2016,
// section 3.2; here by exact sums, without a sketch).
struct Proposal {
  enum class Kind { all, global, local } kind = Kind::all;
  double sketch_eps = 0.0;
};

struct TreeRules {
  size_t max_leaves = 31;  // 0: no limit
  int max_depth = 0;       // 0: no limit
  double min_samples_leaf = 20.0;
  double min_hessian = 1e-3;
  double min_gain = 0.0;
  double l1 = 0.0, l2 = 1.0;
  double max_step = 0.0;        // 0: no limit
  double path_smoothing = 0.0;  // the pull towards the parent's value (gain.hpp)
  bool random_thresholds =
      false;  // one cut a feature and node, drawn between its smallest and largest
  ConstraintRules constraints;
  std::vector<ForcedSplit> forced_splits;  // the first one is the root's
  std::vector<uint32_t> used_features;     // features that the ensemble has used already
  std::vector<double>
      feature_penalty;  // per feature: what its first use in the ensemble costs; or empty
  GrowthPolicy grow_policy = GrowthPolicy::best_first;
  double max_features_per_tree = 1.0, max_features_per_level = 1.0, max_features = 1.0;
  bool grow_until_pure =
      false;  // draw columns for a node until one splits it; equal targets stay equal
  std::vector<double> feature_weights;  // by which columns are drawn; empty: all alike
  double hessian_bound = 0.0;           // most hessian per unit of weight; 0: unknown
  bool hessian_is_weight = false;       // hessian = bound * weight, always
  CategoryRules categories;
  Proposal proposal;                                             // where values have ranks
  ClassCriterion criterion = ClassCriterion::misclassification;  // where rows have classes
  bool medians = false;  // of a target: leaves are as good as it is near their medians
};

// The weights of the rows as integers, so that their sums are exact as well.
class RowWeights {
 public:
  RowWeights(const double* weight, size_t rows);

  const double* weight() const { return weight_; }
  bool whole() const { return whole_; }
  double unit() const { return unit_; }  // integer units per unit of weight
  double total() const { return total_; }
  int64_t units(double least) const;  // that a leaf with so much weight must have
  int64_t operator[](size_t row) const {
    return weight_ == nullptr ? 1 : static_cast<int64_t>(weight_[row] * unit_ + 0.5);
  }

 private:
  const double* weight_;
  bool whole_ = true;
  double unit_ = 1.0;
  double total_;
};

// Splits must gain more than rounding could fake; relative, so that the scale of y cannot matter.
constexpr double kRelativeGain = 1e-10;
// What a split that gains nothing says that it gains, where it is taken all the same.
constexpr double kNeutralGain = std::numeric_limits<double>::min();

bool any_missing(const Bins& bins, const RowIndex& rows, uint32_t feature);

// Who says what a leaf is and what its candidates are worth: of one output (GradientFinder below),
// of several (vector_finder.hpp), of rows that have classes (class_finder.hpp), or of medians
// (median_finder.hpp).
class Finder {
 public:
  virtual ~Finder() = default;

  // The best of one feature.
  struct Found {
    ScanResult result;
    uint32_t next_bin = 0;
    uint32_t bin = 0;           // the last that goes left; of levels: their number, less one, or
    bool alone = false;         // the only one that goes left
    size_t by_class = 0;        // where rows have classes: whose share put them in order
    bool missing_seen = false;  // missing rows with a say; those without one go right
    bool exact = false;         // counts were checked
  };

  // One node while it is searched: every feature is scanned, by any thread, then it is settled.
  struct Search {
    const Leaf* leaf = nullptr;
    RowIndex rows;
    ScanRules rules, category_rules;  // of numbers, and of levels in order
    uint64_t key = 0;                 // of what is drawn in this node
    bool pure = false;                // all rows want the same
    std::vector<uint8_t> allowed;     // per position in the tree's list of features; empty: all
    // Likewise: the score of the best, or while it is not found, a bound of it.
    std::vector<double> score;
    std::vector<uint8_t> is_found;
    std::vector<Found> found;
    std::vector<int64_t> left;     // of several outputs, likewise: the words of what goes left
    std::vector<int64_t> targets;  // of medians: the different ones of the node, in order,
    double unsplit = 0.0;          // and what it is worth as it is

    bool allows(size_t position) const { return allowed.empty() || allowed[position] != 0; }
    // body(position) for those of n that are allowed, which may be few.
    template <class Body>
    void visit_allowed(size_t n, Body&& body) const {
      if (allowed.empty()) {
        for (size_t position = 0; position < n; ++position) body(position);
        return;
      }
      const uint8_t* const first = allowed.data();
      for (size_t position = 0; position < n; ++position) {
        const void* const next = std::memchr(first + position, 1, n - position);
        if (next == nullptr) return;
        position = static_cast<size_t>(static_cast<const uint8_t*>(next) - first);
        body(position);
      }
    }
    void set(size_t position, const Found& best) {
      found[position] = best;
      score[position] = best.result.score;
      is_found[position] = 1;
    }
  };

  // The memory of one thread.
  struct Scratch {
    explicit Scratch(const Bins& bins, size_t lanes = 1);

    std::vector<int64_t> counts;  // per bin
    // For few rows, per bin and zero between calls; a bit for each bin that was touched; these bins
    // in order.
    std::vector<int64_t> few_sums, few_counts;
    std::vector<uint64_t> touched;
    CodeSet seen;  // likewise, empty between calls
    std::vector<int64_t> listed_sums, listed_counts;
    std::vector<uint32_t> listed_codes, listed_first_codes;
    // Per row.
    std::vector<int64_t> row_packed, row_counts;
    std::vector<size_t> row_begin;
    std::vector<uint8_t> row_marks;  // of a sparse table: per row of it, 0 between calls
    // Codes of rows, and rows by these (row_sort.hpp); on the way there: the first row of each
    // code and the next one after each row, both counted from 1; of codes 0 between calls.
    std::vector<int32_t> row_codes;
    std::vector<SortedRow> sorted;
    std::vector<uint32_t> first, next;
    // Where rows have classes: those and the words of a node's rows; per class, both sides of a
    // cut.
    std::vector<int32_t> row_classes;
    std::vector<GradientSlot> row_slots;
    bool all_weighted = true;  // no word is 0
    std::vector<int64_t> sides;
    RunningMedian median;
    std::vector<WideSum> costs;  // per row

    void reserve_rows(size_t n);
    void reserve_bins(size_t n);
  };

  // Nodes with at most this many rows are searched without a histogram.
  size_t few_rows() const { return few_rows_; }
  virtual void set_few_rows(size_t rows) { few_rows_ = rows; }
  virtual void count_use(uint32_t) {}          // of a feature, by the tree that grows
  virtual PackedRows packed_rows() const = 0;  // of this tree

  // The sums and the value of the root, and of the children of a leaf that is split.
  virtual void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const = 0;
  virtual void set_child_sums(const Leaf& parent, const RowIndex& left,
                              const RowIndex& right) const = 0;

  virtual bool splittable(const Leaf& leaf) const = 0;
  virtual void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
                     Search* search) const = 0;
  virtual void scan_group(Search* search, size_t group) const = 0;  // of the leaf's histogram
  virtual void scan_few_rows(Search* search, Scratch* scratch) const = 0;  // every feature
  // The same for a block of a sparse table, which trees of several outputs are not grown on.
  virtual void scan_block(Search*, size_t) const {}
  virtual void scan_few_rows_block(Search*, size_t, Scratch*) const {}
  // The feature at a position, from rows in the order of its ranks; likewise.
  virtual void scan_sorted(Search*, size_t, const SortedRow*, Scratch*) const {}
  virtual Split choose_split(Search* search, Scratch* scratch) const = 0;

 protected:
  size_t few_rows_ = 0;
};

// One of first, first + 1, ..., last - 1; `first` where there is none.
size_t draw_position(const Finder::Search& search, uint32_t feature, size_t first, size_t last);

// The only code to cut behind, where it is given, or drawn between the codes of rows with a say;
// ends(): the first and the last of these.
template <class Ends>
std::optional<size_t> single_cut(const TreeRules& rules, const Finder::Search& search,
                                 uint32_t feature, Ends&& ends) {
  if (search.leaf->forced_split >= 0)
    return rules.forced_splits[static_cast<size_t>(search.leaf->forced_split)].bin;
  if (!rules.random_thresholds) return std::nullopt;
  const std::pair<size_t, size_t> both = ends();
  return draw_position(search, feature, both.first, both.second);
}

// What finders have in common whose rows are one word each (packed_gradient_finder.cpp): how heavy
// a side must be, and how the best of all features becomes a split.
class PackedGradientFinder : public Finder {
 public:
  PackedGradientFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                       const RowWeights& weights, const Histograms& histograms);

  virtual void start_tree(const Scales& scales, const Gradients& gradients,
                          const std::vector<uint32_t>& features, uint64_t key, double dispersion);
  const Gradients& gradients() const { return *gradients_; }
  PackedRows packed_rows() const override { return {gradients_->slots(), nullptr}; }
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  bool splittable(const Leaf& leaf) const override;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             Search* search) const override;
  void scan_group(Search* search, size_t group) const override;
  Split choose_split(Search* search, Scratch* scratch) const override;

  void count_use(uint32_t feature) override { newly_used_.push_back(feature); }
  bool counts_needed() const { return counts_needed_; }
  double penalty(uint32_t feature) const;

 protected:
  // The feature at a position, from the leaf's histogram; counts: per bin, null if nobody needs
  // them.
  virtual Found scan_histogram(const Search& search, size_t position,
                               const int64_t* counts) const = 0;
  virtual double real_gain(double packed_gain) const = 0;
  // What the leaf is worth as it is, in units of the score of what was found.
  virtual double unsplit(const Leaf& leaf, const Found& found) const = 0;
  // In these units too: what a gain must not be negligible beside.
  virtual double magnitude(const Leaf& leaf, const Found& found) const = 0;
  // And what it may be wrong by, besides.
  virtual double rounding() const { return 0.0; }
  // Whether all rows want the same; false: somebody has looked already.
  virtual bool is_uniform(const Search&) const { return false; }
  // Of a categorical feature: 1 for each bin that goes right.
  virtual std::vector<uint8_t> right_bins(const Search& search, size_t position, const Found& found,
                                          bool heavier_left, Scratch* scratch) const = 0;

  bool accepts_zero_gain(const Search& search, const Found& found, double packed_gain) const;
  void count_bins(const Search& search, uint32_t feature, Scratch* scratch) const;
  bool min_count_proven(const Leaf& leaf, int64_t left_sum) const;
  // Of a sparse table (sparse_scan.cpp); light: whether a side of every split would be.
  bool too_few_rows(uint32_t feature) const { return sparse_counts_[feature] < min_count_; }
  void count_cells(const Search& search, uint32_t feature, Scratch* scratch) const;
  bool any_missing_cell(const Search& search, uint32_t feature, Scratch* scratch) const;

  const Bins& bins_;
  const Kernels& kernels_;
  const TreeRules& rules_;
  const RowWeights& weights_;
  const Histograms& histograms_;
  const Gradients* gradients_ = nullptr;
  const std::vector<uint32_t>* features_ = nullptr;  // of this tree
  Scales scales_;
  ScanRules scan_;
  int64_t min_count_ = 0;  // of a leaf
  bool counts_needed_ = true;

 private:
  void count_sparse_rows();

  uint64_t key_ = 0;
  std::vector<uint8_t> used_;  // per feature, by earlier trees
  std::vector<uint32_t> newly_used_;
  double hessian_cap_ = 0.0;  // most packed hessian per unit of weight
  // Of a sparse table, per feature: the weight of the rows whose code is not that of absent cells.
  std::vector<int64_t> sparse_counts_;
};

class GradientFinder final : public PackedGradientFinder {
 public:
  GradientFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                 const RowWeights& weights, const Histograms& histograms);

  void start_tree(const Scales& scales, const Gradients& gradients,
                  const std::vector<uint32_t>& features, uint64_t key, double dispersion) override;
  void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const override;
  void set_child_sums(const Leaf& parent, const RowIndex& left,
                      const RowIndex& right) const override;
  void begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
             Search* search) const override;

  void scan_few_rows(Search* search, Scratch* scratch) const override;
  void scan_block(Search* search, size_t block) const override;
  void scan_few_rows_block(Search* search, size_t block, Scratch* scratch) const override;
  // One feature of a node, as sums in the order of its codes.
  Found scan(const Search& search, const BinSums& sums) const {
    return bins_.coding(sums.feature).categorical() ? scan_categories(search, sums)
                                                    : scan_bins(search, sums, search.rules);
  }

  // For splits that are chosen by somebody else (symmetric_search.hpp). Adds what each cut is worth
  // in a leaf, or what the leaf is worth where it could not be cut:
  void add_scores(const Search& search, const BinSums& sums, double* right, double* left) const;
  double unsplit_score(const Leaf& leaf) const;
  bool worth(double packed_gain) const { return real_gain(packed_gain) > rules_.min_gain; }
  double category_smoothing() const { return category_smoothing_; }
  // Fills in the sums, the gain, and where missing values go if there are none; false, and no
  // split, if a side would be too light.
  bool complete(const Search& search, size_t position, Scratch* scratch, Split* split) const;

  // What a leaf with these sums says; parent: of which it is a child, or null.
  double value(int64_t packed_sum, const Leaf* parent) const;
  double value(double gradient, double hessian, const Leaf* parent) const;

 private:
  Found scan_histogram(const Search& search, size_t position, const int64_t* counts) const override;
  double real_gain(double packed_gain) const override;
  double unsplit(const Leaf& leaf, const Found&) const override { return unsplit_score(leaf); }
  double magnitude(const Leaf&, const Found& found) const override {
    return found.result.score < 0.0 ? -found.result.score : found.result.score;
  }
  std::vector<uint8_t> right_bins(const Search& search, size_t position, const Found& found,
                                  bool heavier_left, Scratch* scratch) const override;
  Found scan_bins(const Search& search, const BinSums& sums, const ScanRules& rules) const;
  Found scan_categories(const Search& search, const BinSums& sums) const;
  Found scan_one_vs_rest(const Search& search, const BinSums& sums,
                         const std::vector<uint32_t>& bins) const;
  bool bounded(const Search& search) const;
  size_t bound_pairs(Search* search, const std::vector<uint32_t>& positions, size_t first) const;
  BinSums collect_cells(const Search& search, uint32_t feature, size_t first,
                        Scratch* scratch) const;
  bool is_uniform(const Search& search) const override;
  template <bool kCounts, class Code>
  void scan_few_rows_of(const Code* codes, Search* search, Scratch* scratch) const;
  template <bool kCounts>
  size_t list_touched(uint32_t bins, Scratch* scratch) const;
  template <bool kCounts, class Code, class Decode>
  void collect(const Code* codes, Decode own_code, size_t n, Scratch* scratch) const;
  Positions positions_with_min_count(const int64_t* counts, size_t bins, int64_t left,
                                     int64_t right) const;

  double category_smoothing_ = 0.0;
  double category_chance_ = 0.0;  // what one mean too many gains by chance
};

}  // namespace stagewise
