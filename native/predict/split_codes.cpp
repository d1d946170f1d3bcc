#include "predict/split_codes.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kMostCuts = 32766;  // codes 0 to 32766, and one for missing

}  // namespace

SplitCodes::SplitCodes(const FlatTrees& trees, size_t features, size_t first, size_t last)
    : first_(first) {
  std::vector<std::vector<double>> thresholds(features);
  for (size_t i = trees.start[first]; i < trees.start[last]; ++i)
    if (trees.feature[i] >= 0 && !trees.categorical(static_cast<size_t>(trees.feature[i])))
      thresholds[static_cast<size_t>(trees.feature[i])].push_back(trees.threshold[i]);
  std::vector<size_t> place_of(features, 0);
  for (size_t f = 0; f < features; ++f) {
    auto& all = thresholds[f];
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    place_of[f] = places_;
    for (size_t from = 0; from < all.size(); from += kMostCuts) {
      const size_t to = std::min(all.size(), from + kMostCuts);
      std::vector<double> cuts(all.begin() + static_cast<ptrdiff_t>(from),
                               all.begin() + static_cast<ptrdiff_t>(to));
      numbers_.push_back({static_cast<uint32_t>(f), places_++,
                          FeatureCoder(FeatureCoding::by_cuts(std::move(cuts)))});
    }
  }
  for (size_t t = first; t < last; ++t) {
    for (size_t i = trees.start[t]; i < trees.start[t + 1]; ++i) {
      if (trees.feature[i] < 0) continue;
      const auto f = static_cast<size_t>(trees.feature[i]);
      const bool missing_left = trees.missing_left[i] != 0;
      if (trees.categorical(f)) {
        CategorySet set{static_cast<uint32_t>(f), places_++, {}};
        for (size_t category = 0; category <= trees.n_categories[f]; ++category)
          set.sides.push_back(has_category(trees.set(i), category) ? 0 : 1);
        set.sides.push_back(missing_left ? 0 : 1);
        splits_.push_back({static_cast<uint32_t>(set.place), 0, false});
        sets_.push_back(std::move(set));
        continue;
      }
      const auto& all = thresholds[f];
      const auto at = static_cast<size_t>(
          std::lower_bound(all.begin(), all.end(), trees.threshold[i]) - all.begin());
      splits_.push_back({static_cast<uint32_t>(place_of[f] + at / kMostCuts),
                         static_cast<int16_t>(at % kMostCuts), missing_left});
    }
    start_.push_back(splits_.size());
  }
}

void SplitCodes::code_set(const Columns& table, const CategorySet& set, size_t begin, size_t n,
                          int16_t* codes) const {
  double values[FeatureCoder::kMost];
  table.read(set.feature, begin, n, values);
  const size_t unknown = set.sides.size() - 2;
  for (size_t i = 0; i < n; ++i) {
    const double x = values[i];
    const bool known = x >= 0.0 && x < static_cast<double>(unknown);
    const size_t at = x != x ? unknown + 1 : (known ? static_cast<size_t>(x) : unknown);
    codes[(i / kDecisionRows * places_ + set.place) * kDecisionRows + i % kDecisionRows] =
        set.sides[at];
  }
}

void SplitCodes::code(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                      int16_t* codes) const {
  static_assert(FeatureCoder::kMost % kDecisionRows == 0);
  uint16_t coded[FeatureCoder::kMost];
  for (size_t at = 0; at < n; at += FeatureCoder::kMost) {
    const size_t m = std::min(FeatureCoder::kMost, n - at);
    int16_t* const out = codes + at * places_;
    for (const Number& number : numbers_) {
      number.cuts.code(kernels, table, number.feature, begin + at, m,
                       static_cast<uint16_t>(kDecisionMissing), coded);
      for (size_t i = 0; i < m; ++i)
        out[(i / kDecisionRows * places_ + number.place) * kDecisionRows + i % kDecisionRows] =
            static_cast<int16_t>(coded[i]);
    }
    for (const CategorySet& set : sets_) code_set(table, set, begin + at, m, out);
  }
}

}  // namespace stagewise
