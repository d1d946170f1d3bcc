// Rows as bytes that tests of trees compare, for features of up to 254 thresholds.
//
// A test is code > c, whichever side it stands for and wherever missing values go: a feature has up
// to four bytes per row, of which only those that a test needs are computed. Missing values are
// above all numbers, or below them where they go left; and a test for going left compares the
// complement. A set of categories is a feature with the code 0 (left) or 1 (right).
#pragma once

#include <optional>
#include <vector>

#include "binning/feature_coder.hpp"
#include "binning/sparse_table.hpp"
#include "kernels/api/scoring.hpp"
#include "predict/flat_trees.hpp"

namespace stagewise {

class RowCodes {
 public:
  RowCodes(RowCodes&&) = default;
  RowCodes& operator=(RowCodes&&) = default;
  RowCodes(const RowCodes&) = delete;

  // Nothing if a feature has too many thresholds.
  static std::optional<RowCodes> make(const FlatTrees& trees, size_t features);

  // A test that is true for the rows that go to the right of a node, or to the left. Tests are made
  // before rows are coded.
  CodeTest test(const FlatTrees& trees, size_t node, bool right);
  bool has_too_many_sets() const { return n_sets_ > kMostSets; }
  bool has_sets() const { return n_sets_ > 0; }
  size_t bytes() const { return places_ * kScoredRows; }

  // codes[place * kScoredRows + i] of rows begin to begin + n - 1; n <= kScoredRows. Returns
  // whether no number among them is missing.
  bool code(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
            int8_t* codes) const;
  // The same for a sparse table, whose cells that are not stored have one code; without sets.
  bool code(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n,
            int8_t* codes) const;

 private:
  RowCodes() = default;
  static constexpr size_t kMostSets = 2048;  // of categories; more would not fit the cache
  static constexpr uint32_t kNone = 0xffffffffu;

  // The bytes of a feature: by missing_below + 2 * complement; kNone: no test needs them.
  struct Copies {
    uint32_t place[4] = {kNone, kNone, kNone, kNone};
  };
  struct Number {
    uint32_t feature;
    std::vector<double> thresholds;
    FeatureCoder cuts;
    Copies copies;
  };
  // The side of every category, of unknown ones and of missing values: 0 left, 1 right.
  struct CategorySet {
    std::vector<uint8_t> side;
    Copies copies;
  };

  uint32_t place_of(Copies& copies, bool missing_below, bool complement);
  CategorySet& set_of(const FlatTrees& trees, size_t node);
  void code_sets(const Columns& table, size_t feature, size_t begin, size_t n, int8_t* codes) const;

  size_t places_ = 0, n_sets_ = 0;
  std::vector<Number> numbers_;
  std::vector<uint32_t> number_of_;                // per feature: in numbers_, or kNone
  std::vector<std::vector<CategorySet>> sets_of_;  // per feature; empty: all are numbers
};

}  // namespace stagewise
