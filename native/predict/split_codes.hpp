// Rows as codes that splits of trees compare. A split is a comparison of one 16-bit code. Numeric
// features are coded by the thresholds of the trees, with several codes if there are too many;
// every set of categories has a code, 0 (left) or 1 (right). Immutable: any number of threads may
// use it.
#pragma once

#include "binning/feature_coder.hpp"
#include "predict/flat_trees.hpp"

namespace stagewise {

class SplitCodes {
 public:
  // Of the trees [first, last), which are sound.
  SplitCodes(const FlatTrees& trees, size_t features, size_t first, size_t last);
  SplitCodes(SplitCodes&&) = default;
  SplitCodes& operator=(SplitCodes&&) = default;

  size_t places() const { return places_; }
  // The splits of a tree, in the order of its nodes.
  const CodedSplit* splits(size_t tree) const { return splits_.data() + start_[tree - first_]; }
  size_t count(size_t tree) const { return start_[tree - first_ + 1] - start_[tree - first_]; }

  // codes[(part * places + place) * kDecisionRows + i] of rows [begin, begin + n), in parts of
  // kDecisionRows; what is beyond the last row is left as it is.
  void code(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
            int16_t* codes) const;

 private:
  struct Number {
    uint32_t feature;
    size_t place;
    FeatureCoder cuts;
  };
  // sides: 0 left or 1 right, for every category, unknown ones, and missing values.
  struct CategorySet {
    uint32_t feature;
    size_t place;
    std::vector<uint8_t> sides;
  };

  void code_set(const Columns& table, const CategorySet& set, size_t begin, size_t n,
                int16_t* codes) const;

  size_t first_, places_ = 0;
  std::vector<Number> numbers_;
  std::vector<CategorySet> sets_;
  std::vector<CodedSplit> splits_;
  std::vector<size_t> start_ = {0};
};

}  // namespace stagewise
