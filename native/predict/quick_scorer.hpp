// Scores many rows with small trees by bit masks (QuickScorer: Lucchese et al. 2015). Rows are
// coded by the thresholds of the forest, so comparisons are of bytes; untested features are
// skipped. Then 32 rows at a time exclude leaves, split by split. Every set of categories is a
// feature with code 0 (left) or 1 (right). For trees of up to 64 leaves and features with up to 254
// thresholds; other forests walk. Trees are summed in order, as in a walk, so the bits are the
// same.
#pragma once

#include <optional>
#include <span>

#include "binning/feature_coder.hpp"
#include "binning/sparse_table.hpp"
#include "grow/leaves/linear_leaves.hpp"

namespace stagewise {

// Flat arrays of all trees, children relative to their tree; start has one entry more than trees.
// n_categories[f]: 0 for numeric features. A node that tests a categorical feature has the
// categories that go left as bits from sets[set_start] on; set_start is -1 in all other nodes. The
// three are empty where no feature is.
struct FlatTrees {
  std::span<const uint64_t> start;
  std::span<const int32_t> feature;
  std::span<const double> threshold;
  std::span<const uint8_t> missing_left;
  std::span<const int32_t> left, right;
  std::span<const double> value;  // `width` numbers a node
  size_t width = 1;               // how many outputs a tree has
  std::span<const int64_t> set_start;
  std::span<const uint64_t> sets;
  std::span<const uint32_t> n_categories;
  const LinearLeaves* linear_leaves =
      nullptr;  // of leaves, by their place in these arrays; must stay

  bool categorical(size_t feature) const {
    return !n_categories.empty() && n_categories[feature] > 0;
  }
  const uint64_t* set(size_t node) const { return sets.data() + set_start[node]; }
};

class QuickScorer {
 public:
  QuickScorer(QuickScorer&&) = default;
  QuickScorer& operator=(QuickScorer&&) = default;
  QuickScorer(const QuickScorer&) = delete;

  // Nothing if a tree is too large or a feature has too many thresholds. The trees are sound.
  static std::optional<QuickScorer> make(const FlatTrees& trees, size_t features, size_t outputs);

  // out[(row - begin) * outputs + o] += trees [first, last) of output o; n <= FeatureCoder::kMost.
  void add(const Kernels& kernels, const Columns& table, size_t begin, size_t n, size_t first,
           size_t last, double* out) const;
  // The same for a sparse table, by rows; only without sets of categories.
  void add(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n, size_t first,
           size_t last, double* out) const;
  bool has_sets() const { return n_sets_ > 0; }

 private:
  QuickScorer() = default;
  void add_tree(const FlatTrees& trees, size_t t,
                const std::vector<std::vector<double>>& thresholds);
  MaskSplit number_split(const FlatTrees& trees, size_t node,
                         const std::vector<double>& thresholds) const;
  MaskSplit category_split(const FlatTrees& trees, size_t node);
  MaskTree tree(size_t t) const;
  void add_part(const Kernels& kernels, const int8_t* codes, const double* values, size_t rows,
                size_t first, size_t last, double* out) const;
  void code_sets(const Columns& table, size_t feature, size_t begin, size_t n, int8_t* codes) const;
  void add_linear_leaves(const Kernels& kernels, const MaskTree& tree, size_t first_leaf,
                         const int8_t* codes, const double* rows, size_t n, double* sums) const;

  // A set of categories: 0 left, 1 right; for every category, for unknown ones,
  // and for missing values.
  struct CategorySet {
    size_t place;  // among the features
    std::vector<uint8_t> side;
  };

  // A numeric feature that is tested.
  struct TestedFeature {
    uint32_t feature;
    FeatureCoder cuts;
  };
  static constexpr uint32_t kNotTested = 0xffffffffu;

  size_t features_ = 0, outputs_ = 1;  // features: the tested ones, then the sets
  size_t width_ = 1;                   // outputs of a tree: one, or all
  size_t n_sets_ = 0;
  std::vector<std::vector<CategorySet>> sets_of_;  // per feature; empty: all are numbers
  bool narrow_ = true;                             // no tree has more than 32 leaves
  std::vector<TestedFeature> tested_;
  std::vector<uint32_t> place_;  // per feature: in tested_, or kNotTested
  std::vector<MaskSplit> splits_;
  std::vector<double> values_;
  const LinearLeaves* linear_leaves_ = nullptr;
  std::vector<int32_t> model_of_;           // per leaf, or -1; empty: no linear leaves
  std::vector<uint8_t> has_linear_leaves_;  // per tree
  size_t columns_ = 0;                      // of the table
  std::vector<size_t> split_start_ = {0}, leaf_start_ = {0};
};

}  // namespace stagewise
