// The part of SplitFinder that knows categorical features.
#include <algorithm>

#include "grow/finders/gradient_finder.hpp"

namespace stagewise {
namespace {

// The sums of some bins, in another order.
struct Reordered {
  std::vector<int64_t> words, counts;
  BinSums sums;

  Reordered(const BinSums& from, const std::vector<uint32_t>& order) : sums(from) {
    for (const uint32_t b : order) words.push_back(from.words[b]);
    sums.words = words.data();
    sums.bins = order.size();
    sums.touched = nullptr;
    sums.codes = nullptr;
    sums.first_codes = nullptr;
    if (from.counts == nullptr) return;
    for (const uint32_t b : order) counts.push_back(from.counts[b]);
    sums.counts = counts.data();
  }
};

}  // namespace

// Every level against all others.
SplitFinder::Found SplitFinder::scan_alone(const Search& search, const BinSums& sums,
                                           const std::vector<uint32_t>& bins) const {
  Found best;
  const size_t only =
      rules_.random_thresholds ? drawn(search, sums.feature, 0, bins.size()) : SIZE_MAX;
  for (size_t i = 0; i < bins.size(); ++i) {
    if (only != SIZE_MAX && i != only) continue;
    const uint32_t b = bins[i];
    const int64_t counts[1] = {sums.counts != nullptr ? sums.counts[b] : 0};
    ScanInput in{sums.words + b, 1, sums.missing_word, search.leaf->word, 0, {0, 1}, {0, 1}};
    if (sums.counts != nullptr) {
      int64_t others = 0;
      for (const uint32_t other : bins) others += other == b ? 0 : sums.counts[other];
      in.missing_right = heavy_enough(counts, 1, 0, others + sums.missing_count);
      in.missing_left = heavy_enough(counts, 1, sums.missing_count, others);
    }
    const ScanResult result = kernels_.scan(in, search.rules);
    if (result.score > best.result.score) {
      best.result = result;
      best.bin = sums.code(b);
    }
  }
  best.alone = true;
  best.missing_seen = sums.missing_word != 0;
  best.exact = sums.counts != nullptr;
  return best;
}

SplitFinder::Found SplitFinder::scan_levels(const Search& search, const BinSums& sums) const {
  const std::vector<uint32_t> order = ordered_bins(sums.words, sums.bins, level_smoothing_);
  if (order.size() <= rules_.levels.one_vs_rest) return scan_alone(search, sums, order);
  const Reordered in_order(sums, order);
  Found found = scan_bins(search, in_order.sums, search.level_rules);
  found.result.score -= level_chance_ * chance_of_order(order.size());
  return found;
}

// Finds the levels again that the winning split sends left; all others go right, but for those that
// no row of the node has.
std::vector<uint8_t> SplitFinder::right_bins(const Search& search, size_t position,
                                             const Found& found, bool heavier_left,
                                             Scratch* scratch) const {
  const uint32_t feature = (*features_)[position];
  const size_t bins = bins_.value_bins(feature);
  const int64_t* words = nullptr;
  if (search.leaf->hist >= 0) {
    words = histograms_.feature(search.leaf->hist, position);
  } else {
    std::fill(scratch->few_words.begin(), scratch->few_words.begin() + bins + 1, 0);
    for (size_t i = 0; i < search.rows.n; ++i)
      scratch->few_words[bins_.code(search.rows[i], feature)] +=
          gradients_->slots()[search.rows[i]].word;
    words = scratch->few_words.data();
  }
  const std::vector<uint32_t> order = ordered_bins(words, bins, level_smoothing_);
  std::vector<uint8_t> right(bins, heavier_left ? 0 : 1);
  for (size_t i = 0; i < order.size(); ++i)
    right[order[i]] = (found.alone ? order[i] == found.bin : i <= found.bin) ? 0 : 1;
  if (search.leaf->hist < 0)
    std::fill(scratch->few_words.begin(), scratch->few_words.begin() + bins + 1, 0);
  return right;
}

}  // namespace stagewise
