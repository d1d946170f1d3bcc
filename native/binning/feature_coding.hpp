// How values of one feature become codes: by cuts, by rank among the distinct values, or by
// category. threshold() converts codes to a threshold for new values. A categorical column contains
// the category numbers 0, 1, ..., L - 1, and L for unknown categories. Each frequent category has a
// bin, rare categories share one, and unknown categories have the last bin, which no training row
// falls into.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stagewise {

struct FeatureCoding {
  std::vector<double> cuts;    // increasing; of a numeric feature
  std::vector<double> values;  // increasing; of a numeric feature coded by rank
  std::vector<uint32_t>
      category_bin;  // of a categorical feature: the bin of each category, and of L
  std::vector<uint32_t> first_category;  // of every bin

  static FeatureCoding by_cuts(std::vector<double> cuts) { return {std::move(cuts), {}, {}, {}}; }
  static FeatureCoding by_values(std::vector<double> values) {
    return {{}, std::move(values), {}, {}};
  }

  // bin: of each known category, from 0 on without gaps.
  static FeatureCoding by_categories(std::vector<uint32_t> bin) {
    const uint32_t known = bin.empty() ? 0 : *std::max_element(bin.begin(), bin.end()) + 1;
    bin.push_back(known);
    std::vector<uint32_t> first(known + 1, 0);
    for (size_t category = bin.size(); category-- > 0;)
      first[bin[category]] = static_cast<uint32_t>(category);
    return {{}, {}, std::move(bin), std::move(first)};
  }

  bool categorical() const { return !category_bin.empty(); }
  uint32_t n_categories() const {
    return static_cast<uint32_t>(category_bin.size()) - 1;
  }  // known ones
  uint32_t bins() const {
    if (categorical()) return static_cast<uint32_t>(first_category.size());
    return static_cast<uint32_t>(values.empty() ? cuts.size() + 1 : values.size());
  }
  // The last code on the left of a split between rows with codes up to `last` and rows with codes
  // from `next` on: in the middle of the codes without rows, which have the same gain. Of two
  // middles the right one, as a value in the middle between two others goes left.
  uint32_t middle_cut(uint32_t last, uint32_t next) const;
  // The threshold between the codes up to `last` and the codes from `next` on; +inf: none is above.
  double threshold(uint32_t last, uint32_t next) const;
  // Makes a later threshold() fast.
  void prefetch_threshold(uint32_t last) const {
    if (last < cuts.size()) __builtin_prefetch(cuts.data() + last);
  }
  // The last code on the left of the cut that is nearest to a threshold.
  uint32_t code_below(double threshold) const;

  // The category of a value that is not missing; L if it is not a known category.
  size_t category(double x) const {
    const size_t unknown = category_bin.size() - 1;
    return x >= 0.0 && x < static_cast<double>(unknown) ? static_cast<size_t>(x) : unknown;
  }
};

// A set of categories as bits.
inline bool has_category(const uint64_t* set, size_t category) {
  return (set[category / 64] >> (category % 64) & 1) != 0;
}
inline size_t category_set_words(size_t n_categories) {
  return n_categories / 64 + 1;
}  // L itself has a bit too

}  // namespace stagewise
