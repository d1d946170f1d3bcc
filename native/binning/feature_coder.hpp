// Codes the values of one feature. The code of a number is the number of cuts below it, found by
// comparisons with sixteen cuts at a time; the cuts are kept in both float widths, so float32
// columns are not widened. The code of a category is read from a table.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "binning/feature_coding.hpp"
#include "core/columns.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// Cuts in the width of their column. A float x is above a cut exactly if it is above the largest
// float that is not above the cut.
inline double as_cut(double cut, double) { return cut; }
inline float as_cut(double cut, float) {
  const auto near = static_cast<float>(cut);
  return static_cast<double>(near) <= cut
             ? near
             : std::nextafter(near, -std::numeric_limits<float>::infinity());
}

// A CutTree and its memory.
template <class Real>
struct OwnedCutTree {
  std::vector<Real> memory;
  CutTree<Real> tree;

  explicit OwnedCutTree(const std::vector<double>& cuts) {
    size_t leaves = kCutWays;  // entries of the innermost level of the tree: more than cuts
    tree.depth = 1;
    while (leaves <= cuts.size()) {
      leaves *= kCutWays;
      ++tree.depth;
    }
    size_t total = 0;
    for (size_t n = leaves; n >= kCutWays; n /= kCutWays) total += n;
    memory.assign(total, std::numeric_limits<Real>::infinity());
    // Entry j of an outer level of the tree is the last entry of block j of the next one.
    size_t at = 0, span = leaves / kCutWays;
    for (int l = 0; l < tree.depth; ++l, span /= kCutWays) {
      const size_t entries = leaves / span;
      for (size_t j = 0; j < entries; ++j) {
        const size_t last = (j + 1) * span - 1;
        if (last < cuts.size()) memory[at + j] = as_cut(cuts[last], Real{});
      }
      tree.level[l] = memory.data() + at;
      at += entries;
    }
  }
};

class FeatureCoder {
 public:
  static constexpr size_t kMost =
      256;  // rows at a time: a block of a C-ordered table stays in cache

  explicit FeatureCoder(FeatureCoding coding)
      : coding_(std::move(coding)), floats_(coding_.cuts), doubles_(coding_.cuts) {}
  FeatureCoder& operator=(FeatureCoder&&) = default;
  FeatureCoder(FeatureCoder&&) = default;  // moving keeps the memory where it is; copying would not
  FeatureCoder(const FeatureCoder&) = delete;

  // out[i] = code of the feature in row begin + i, `missing` for NaN; n <= kMost.
  void code(const Kernels& kernels, const Columns& table, size_t feature, size_t begin, size_t n,
            uint16_t missing, uint16_t* out) const {
    if (coding_.categorical()) {
      double values[kMost];
      table.read(feature, begin, n, values);
      for (size_t i = 0; i < n; ++i)
        out[i] = std::isnan(values[i])
                     ? missing
                     : static_cast<uint16_t>(coding_.category_bin[coding_.category(values[i])]);
    } else if (table.columns[feature].single) {
      float values[kMost];
      table.read(feature, begin, n, values);
      kernels.bin_floats(values, n, floats_.tree, missing, out);
    } else {
      double values[kMost];
      table.read(feature, begin, n, values);
      kernels.bin_doubles(values, n, doubles_.tree, missing, out);
    }
  }

  // The code of one number.
  uint16_t code(const Kernels& kernels, double value, uint16_t missing) const {
    uint16_t out;
    kernels.bin_doubles(&value, 1, doubles_.tree, missing, &out);
    return out;
  }

 private:
  FeatureCoding coding_;
  OwnedCutTree<float> floats_;
  OwnedCutTree<double> doubles_;
};

}  // namespace stagewise
