// Scores many rows with trees of up to 256 leaves. Rows are coded as bytes (RowCodes), and then 256
// rows at a time rule out leaves of a tree, test by test (QuickScorer: Lucchese et al. 2015), or
// collect the bits of a symmetric tree. Trees are summed in order, as in a walk, so the bits are
// the same.
//
// Symmetric trees whose nodes of one depth differ only in the side of missing values are kept both
// ways: as symmetric ones for blocks of rows without missing values, else as other trees.
//
// Of the two sides of a split, the smaller one is ruled out: leaves are numbered with the smaller
// side first. So a tree of L leaves has at most about L + L log2(L) / 16 tests.
#pragma once

#include <optional>

#include "predict/row_codes.hpp"

namespace stagewise {

class QuickScorer {
 public:
  QuickScorer(QuickScorer&&) = default;
  QuickScorer& operator=(QuickScorer&&) = default;
  QuickScorer(const QuickScorer&) = delete;

  // Nothing if a tree is too large or a feature has too many thresholds. The trees are sound.
  // planes: whether kernels will want them (LeafPlanes).
  static std::optional<QuickScorer> make(const FlatTrees& trees, size_t features, size_t outputs,
                                         bool planes);

  // out[(row - begin) * outputs + o] += trees [first, last) of output o; n <= kScoredRows.
  void add(const Kernels& kernels, const Columns& table, size_t begin, size_t n, size_t first,
           size_t last, double* out) const;
  // The same for a sparse table, by rows; only without sets of categories and linear leaves.
  void add(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n, size_t first,
           size_t last, double* out) const;
  bool has_sets() const { return codes_.has_sets(); }

 private:
  // The tests of a tree; a tree without planes is symmetric.
  struct Tests {
    size_t first = 0;        // in tests_
    size_t ends = 0;         // in ends_
    uint32_t planes = 0;     // of leaves
    uint32_t depth = 0;      // of a symmetric tree
    size_t leaves = 0;       // in model_of_; times the width in values_
    size_t words = 0;        // in words_
    size_t plane = 0;        // leaves of its planes of words; 0: it has none
    bool is_linear = false;  // whether a leaf has a linear model
  };

  explicit QuickScorer(RowCodes codes) : codes_(std::move(codes)) {}
  // The rows of a block: their codes, whether none has a missing value, and if there are linear
  // leaves their values, row by row.
  struct Block {
    const int8_t* codes;
    bool complete;
    const double* rows;
    size_t n;
  };

  Tests next_tests() const;
  void add_tree(const FlatTrees& trees, size_t t, bool planes);
  bool add_symmetric_tree(const FlatTrees& trees, size_t t, bool complete, Tests* tests);
  void add_mask_tree(const FlatTrees& trees, size_t t, Tests* of_tree);
  void add_leaf(const FlatTrees& trees, size_t node, Tests* tests);
  void add_words(Tests* tests);
  const std::vector<Tests>& tests_for(const Block& block) const {
    return block.complete ? complete_ : trees_;
  }
  const double* values(const Tests& tests) const { return values_.data() + tests.leaves * width_; }
  void find_leaves(const Kernels& kernels, const Tests& tests, const Block& block,
                   uint8_t* leaf) const;
  void add_coded(const Kernels& kernels, const Block& block, size_t first, size_t last,
                 double* out) const;
  void add_vectors(const Kernels& kernels, const Block& block, size_t first, size_t last,
                   double* out) const;
  void add_values(const Kernels& kernels, const Tests* const* trees, size_t count,
                  const uint8_t* leaf, size_t n, double* sums) const;
  void add_linear_tree(const Kernels& kernels, const Tests& tests, const Block& block,
                       double* sums) const;

  RowCodes codes_;
  size_t outputs_ = 1, width_ = 1;  // width: outputs of a tree, one or all
  size_t columns_ = 0;              // of the table
  std::vector<Tests> trees_;        // for any rows
  std::vector<Tests> complete_;     // for rows without missing values
  std::vector<CodeTest> tests_;
  std::vector<uint32_t> ends_;
  std::vector<double> values_;
  std::vector<uint16_t> words_;  // of values
  const LinearLeaves* linear_leaves_ = nullptr;
  std::vector<int32_t> model_of_;  // per leaf, or -1; empty: no linear leaves
};

}  // namespace stagewise
