#include "predict/row_codes.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kMostThresholds = 254;  // codes 0 to 254, and one more for missing values
constexpr uint16_t kMissing = 255;
static_assert(kScoredRows <= FeatureCoder::kMost);

// The byte of a code: 0 to 254, or kMissing.
inline int8_t byte_of(uint16_t code, bool missing_below, bool complement) {
  const int shifted = missing_below ? (code == kMissing ? 0 : code + 1) : code;
  const int byte = shifted - 128;
  return static_cast<int8_t>(complement ? ~byte : byte);
}

// Without an early end: the processor compares many at once.
inline bool any_missing(const uint16_t* codes, size_t n) {
  int any = 0;
  for (size_t i = 0; i < n; ++i) any |= codes[i] == kMissing ? 1 : 0;
  return any != 0;
}

}  // namespace

std::optional<RowCodes> RowCodes::make(const FlatTrees& trees, size_t features) {
  std::vector<std::vector<double>> thresholds(features);
  for (size_t i = 0; i < trees.feature.size(); ++i)
    if (trees.feature[i] >= 0 && !trees.categorical(static_cast<size_t>(trees.feature[i])))
      thresholds[static_cast<size_t>(trees.feature[i])].push_back(trees.threshold[i]);
  RowCodes codes;
  codes.number_of_.assign(features, kNone);
  codes.sets_of_.resize(trees.n_categories.size());
  for (size_t f = 0; f < features; ++f) {
    auto& own = thresholds[f];
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (own.size() > kMostThresholds) return std::nullopt;
    if (own.empty()) continue;
    codes.number_of_[f] = static_cast<uint32_t>(codes.numbers_.size());
    codes.numbers_.push_back(
        {static_cast<uint32_t>(f), own, FeatureCoder(FeatureCoding::by_cuts(own)), {}});
  }
  return codes;
}

uint32_t RowCodes::place_of(Copies& copies, bool missing_below, bool complement) {
  uint32_t& place = copies.place[(missing_below ? 1 : 0) + (complement ? 2 : 0)];
  if (place == kNone) place = static_cast<uint32_t>(places_++);
  return place;
}

RowCodes::CategorySet& RowCodes::set_of(const FlatTrees& trees, size_t node) {
  const auto feature = static_cast<size_t>(trees.feature[node]);
  CategorySet set;
  for (size_t category = 0; category <= trees.n_categories[feature]; ++category)
    set.side.push_back(has_category(trees.set(node), category) ? 0 : 1);
  set.side.push_back(trees.missing_left[node] != 0 ? 0 : 1);
  auto& known = sets_of_[feature];
  // The nodes of a depth of a symmetric tree have the same set, one after another.
  if (!known.empty() && known.back().side == set.side) return known.back();
  ++n_sets_;
  return known.emplace_back(std::move(set));
}

CodeTest RowCodes::test(const FlatTrees& trees, size_t node, bool right) {
  const auto feature = static_cast<size_t>(trees.feature[node]);
  const bool is_number = !trees.categorical(feature);
  const bool missing_below = is_number && trees.missing_left[node] != 0;
  uint16_t code = 0;
  Copies* copies;
  if (is_number) {
    Number& number = numbers_[number_of_[feature]];
    const auto& all = number.thresholds;
    code = static_cast<uint16_t>(std::lower_bound(all.begin(), all.end(), trees.threshold[node]) -
                                 all.begin());
    copies = &number.copies;
  } else {
    copies = &set_of(trees, node).copies;
  }
  const auto at = static_cast<uint32_t>(place_of(*copies, missing_below, !right) * kScoredRows);
  // Left is byte <= c, so ~byte >= ~c, so ~byte > ~c - 1.
  const int last = byte_of(code, missing_below, !right) - (right ? 0 : 1);
  return {at, static_cast<int8_t>(last), 0};
}

// The categories of a feature are read once for all its sets.
void RowCodes::code_sets(const Columns& table, size_t feature, size_t begin, size_t n,
                         int8_t* codes) const {
  double values[FeatureCoder::kMost];
  table.read(feature, begin, n, values);
  const size_t unknown = sets_of_[feature][0].side.size() - 2;
  uint32_t at[FeatureCoder::kMost];  // in a set's sides
  for (size_t i = 0; i < n; ++i) {
    const double x = values[i];
    const bool known = x >= 0.0 && x < static_cast<double>(unknown);
    at[i] =
        static_cast<uint32_t>(x != x ? unknown + 1 : (known ? static_cast<size_t>(x) : unknown));
  }
  for (const CategorySet& set : sets_of_[feature])
    for (const size_t copy : {0, 2}) {
      if (set.copies.place[copy] == kNone) continue;
      int8_t* const out = codes + set.copies.place[copy] * kScoredRows;
      for (size_t i = 0; i < n; ++i) out[i] = byte_of(set.side[at[i]], false, copy == 2);
    }
}

bool RowCodes::code(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                    int8_t* codes) const {
  uint16_t wide[FeatureCoder::kMost];
  bool complete = true;
  for (const Number& number : numbers_) {
    number.cuts.code(kernels, table, number.feature, begin, n, kMissing, wide);
    complete = complete && !any_missing(wide, n);
    for (size_t copy = 0; copy < 4; ++copy) {
      if (number.copies.place[copy] == kNone) continue;
      int8_t* const out = codes + number.copies.place[copy] * kScoredRows;
      for (size_t i = 0; i < n; ++i) out[i] = byte_of(wide[i], (copy & 1) != 0, (copy & 2) != 0);
    }
  }
  for (size_t f = 0; f < sets_of_.size(); ++f)
    if (!sets_of_[f].empty()) code_sets(table, f, begin, n, codes);
  return complete;
}

bool RowCodes::code(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n,
                    int8_t* codes) const {
  bool complete = true;
  const auto set = [&](const Number& number, double value, size_t from, size_t count) {
    const uint16_t code = number.cuts.code(kernels, value, kMissing);
    complete = complete && code != kMissing;
    for (size_t copy = 0; copy < 4; ++copy)
      if (number.copies.place[copy] != kNone)
        std::fill_n(codes + number.copies.place[copy] * kScoredRows + from, count,
                    byte_of(code, (copy & 1) != 0, (copy & 2) != 0));
  };
  for (const Number& number : numbers_) set(number, table.default_value(), 0, n);
  for (size_t i = 0; i < n; ++i)
    for (size_t cell = table.first(begin + i); cell < table.last(begin + i); ++cell) {
      const uint32_t number = number_of_[table.index()[cell]];
      if (number != kNone) set(numbers_[number], table.value(cell), i, 1);
    }
  return complete;
}

}  // namespace stagewise
