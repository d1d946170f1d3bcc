// A finder computes the gains of the candidate splits of a node, for one kind of target.
//
// A search strategy (grow/search/) decides where the candidates of a node come from: a histogram,
// few rows, or presorted rows. It passes them to a finder, which scores them and chooses the best.
// Search strategies include finders, never the other way round.
//
//   PackedGradientFinder  one packed sum of gradient and hessian per row
//     GradientFinder      one output: Chen & Guestrin (2016), eq. 7
//     ClassFinder         classes: decrease of an impurity
//   VectorFinder          several outputs: sum of the gains of the outputs
//   SortedRowFinder       rows in the order of a feature
//     MedianFinder        absolute error about the median
//     ImpurityFinder      impurities of forests: several targets, Poisson, monotone constraints
//
// The scores of both sides are computed in kernels/split_scan.hpp, class_split_scan.hpp and
// vector_split_scan.hpp, from the formulas of kernels/api/gain.hpp, and by best_cut() of finders of
// sorted rows. choose_split() subtracts the score of the node: that is the gain.
#pragma once

#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "binning/bins.hpp"
#include "core/row_weights.hpp"
#include "grow/nodes/histograms.hpp"
#include "grow/nodes/leaf.hpp"
#include "grow/nodes/tree_rules.hpp"

namespace stagewise {

// The smallest gain that is not a rounding error, relative to the scores that it is a difference
// of, so that the scale of y does not matter.
constexpr double kRelativeGain = 1e-10;
// The gain that is reported for an accepted split without gain.
constexpr double kNeutralGain = std::numeric_limits<double>::min();

// The scan of one node: every feature is scanned, by any thread; then the best candidate is chosen.
// Each finder derives its own type, Scan, with the best candidate of each feature.
struct NodeScan {
  const Leaf* leaf = nullptr;
  RowIndex rows;
  uint64_t key = 0;              // of the random draws of this node
  bool pure = false;             // all rows have the same target
  std::vector<uint8_t> allowed;  // per position in the tree's list of features; empty: all

  bool allows(size_t position) const { return allowed.empty() || allowed[position] != 0; }
  // body(position) for those of n positions that are allowed, which may be few.
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
};

// The packed sums of one feature in one leaf of a symmetric tree: one sum per bin, or a vector.
struct CutSums {
  uint32_t feature = 0;
  const int64_t* packed_sums = nullptr;  // per bin, in the order in which the bins are cut
  size_t bins = 0;
  const int64_t* missing = nullptr;  // null: the leaf has no missing values
  // Weights of the rows, in the same order, and of the missing values; null: they are not checked.
  const int64_t* counts = nullptr;
  int64_t missing_count = 0;
};

// The memory of one thread. Each finder derives its own type, Scratch.
struct FinderScratch {
  explicit FinderScratch(const Bins& bins) : row_marks(bins.sparse() ? bins.rows() : 0, 0) {}

  std::vector<uint8_t> row_marks;  // of a sparse table: one per row, 0 between calls
};

// The part of a finder that does not depend on its types. Search strategies are templates that call
// the other functions of each finder (search/node_search.hpp has the list).
class Finder {
 public:
  virtual ~Finder() = default;
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  // Set the sums and the value of the root, and of the children of a leaf that is split.
  virtual void set_root_sums(const RowIndex& rows, bool all, Leaf* root) const = 0;
  virtual void set_child_sums(const Leaf& parent, const RowIndex& left,
                              const RowIndex& right) const = 0;
  virtual bool splittable(const Leaf& leaf) const = 0;

  // Nodes with at most this many rows are searched without a histogram.
  size_t few_rows() const { return few_rows_; }
  // At most `most_few_rows_`, which is 0 if the finder works with histograms only.
  void set_few_rows(size_t rows) { few_rows_ = rows < most_few_rows_ ? rows : most_few_rows_; }

 protected:
  Finder() = default;
  // From now on every node with more rows has a histogram.
  void limit_few_rows(size_t most) {
    most_few_rows_ = most;
    set_few_rows(few_rows_);
  }

 private:
  size_t few_rows_ = 0;
  size_t most_few_rows_ = SIZE_MAX;
};

// The least count of a node that is split: both sides have that of a leaf.
int64_t least_split_count(const TreeRules& rules, const RowWeights& weights);

// Whether a missing value of the feature occurs in these rows, in one with a weight.
bool any_missing(const Bins& bins, const RowWeights& weights, const RowIndex& rows,
                 uint32_t feature);

// A random one of first, first + 1, ..., last - 1; `first` if there is none.
size_t draw_position(const NodeScan& scan, uint32_t feature, size_t first, size_t last);

// The only code to cut after, if it is forced, or random between the smallest and the largest code
// of rows with a weight, which ends() returns.
template <class Ends>
std::optional<size_t> single_cut(const TreeRules& rules, const NodeScan& scan, uint32_t feature,
                                 Ends&& ends) {
  if (scan.leaf->forced_split >= 0)
    return rules.forced_splits[static_cast<size_t>(scan.leaf->forced_split)].bin;
  if (!rules.random_thresholds) return std::nullopt;
  const std::pair<size_t, size_t> both = ends();
  return draw_position(scan, feature, both.first, both.second);
}

// Sets the cut of a candidate: at the only code to cut after, or between the rows of the node with
// codes up to `last` and those with codes from `next` on.
template <class Candidate>
void set_cut(const FeatureCoding& coding, std::optional<size_t> only, uint32_t last, uint32_t next,
             Candidate* candidate) {
  candidate->bin = only ? static_cast<uint32_t>(*only) : coding.middle_cut(last, next);
  candidate->next_bin = next;
}

// The position of the feature with the best candidate, the first of equal ones; n: there is none.
template <class Scan>
size_t best_position(const Scan& node, size_t n) {
  size_t best = n;
  double best_score = kNoSplit;
  for (size_t i = 0; i < n; ++i) {
    if (!node.allows(i) || !(node.candidates[i].result.score > best_score)) continue;
    best = i;
    best_score = node.candidates[i].result.score;
  }
  return best;
}

// The split of a candidate, without its gain, sums and categories. Missing values that the node
// does not have go to the heavier side.
template <class Candidate>
Split make_split(const Bins& bins, const RowWeights& weights, const NodeScan& node,
                 uint32_t feature, const Candidate& candidate, bool missing_seen,
                 bool heavier_left) {
  Split split;
  split.feature = feature;
  split.bin = candidate.bin;
  split.next_bin = candidate.next_bin;
  const bool decided = missing_seen || any_missing(bins, weights, node.rows, feature);
  split.missing_left = decided ? candidate.result.missing_left : heavier_left;
  return split;
}

}  // namespace stagewise
