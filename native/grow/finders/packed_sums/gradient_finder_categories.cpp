// GradientFinder: splits of categorical features.
#include <algorithm>

#include "grow/finders/category_order.hpp"
#include "grow/finders/packed_sums/gradient_finder.hpp"

namespace stagewise {
namespace {

// The sums of bins in another order.
struct Reordered {
  std::vector<int64_t> packed_sums, counts;
  BinSums sums;

  Reordered(const BinSums& from, const std::vector<uint32_t>& order) : sums(from) {
    for (const uint32_t b : order) packed_sums.push_back(from.packed_sums[b]);
    sums.packed_sums = packed_sums.data();
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

// Each category against the rest.
GradientFinder::Candidate GradientFinder::scan_one_vs_rest(
    const Scan& node, const BinSums& sums, const std::vector<uint32_t>& bins) const {
  Candidate best;
  const size_t only =
      rules_.random_thresholds ? draw_position(node, sums.feature, 0, bins.size()) : SIZE_MAX;
  for (size_t i = 0; i < bins.size(); ++i) {
    if (only != SIZE_MAX && i != only) continue;
    const uint32_t b = bins[i];
    const int64_t counts[1] = {sums.counts != nullptr ? sums.counts[b] : 0};
    ScanInput in{
        sums.packed_sums + b, 1, sums.missing_sum, node.leaf->packed_sum, 0, {0, 1}, {0, 1}};
    if (sums.counts != nullptr) {
      int64_t others = 0;
      for (const uint32_t other : bins) others += other == b ? 0 : sums.counts[other];
      in.missing_right = positions_with_min_count(counts, 1, 0, others + sums.missing_count);
      in.missing_left = positions_with_min_count(counts, 1, sums.missing_count, others);
    }
    const ScanResult result = kernels_.scan(in, node.rules);
    if (result.score > best.result.score) {
      best.result = result;
      best.bin = sums.code(b);
    }
  }
  best.missing_seen = sums.missing_sum != 0;
  best.exact = sums.counts != nullptr;
  return best;
}

GradientFinder::Candidate GradientFinder::scan_categories(const Scan& node,
                                                          const BinSums& sums) const {
  const std::vector<uint32_t> order =
      ordered_bins(sums.packed_sums, sums.bins, category_smoothing_);
  if (order.size() <= rules_.categories.one_vs_rest) return scan_one_vs_rest(node, sums, order);
  const Reordered in_order(sums, order);
  ScanRules rules = node.rules;
  rules.regularisation.l2 += rules_.categories.l2 * scales_.hessian;
  Candidate candidate = scan_bins(node, in_order.sums, rules);
  candidate.result.score -= category_chance_ * chance_of_order(order.size());
  return candidate;
}

std::vector<uint32_t> GradientFinder::category_order(const int64_t* packed_sums,
                                                     size_t position) const {
  return ordered_bins(packed_sums, bins_.value_bins((*features_)[position]), category_smoothing_);
}

// Computes the order of the categories again, and from it the bins that go right. Categories
// without rows in the node go to the heavier side.
std::vector<uint8_t> GradientFinder::right_bins(const Scan& node, size_t position,
                                                bool heavier_left, Scratch* scratch) const {
  const uint32_t feature = (*features_)[position];
  const size_t bins = bins_.value_bins(feature);
  const int64_t* packed_sums = nullptr;
  if (node.leaf->hist >= 0) {
    packed_sums = histograms_.feature(node.leaf->hist, position);
  } else {
    std::fill(scratch->few_sums.begin(), scratch->few_sums.begin() + bins + 1, 0);
    for (size_t i = 0; i < node.rows.n; ++i)
      scratch->few_sums[bins_.code(node.rows[i], feature)] +=
          gradients_->slots()[node.rows[i]].packed;
    packed_sums = scratch->few_sums.data();
  }
  const std::vector<uint32_t> order = ordered_bins(packed_sums, bins, category_smoothing_);
  std::vector<uint8_t> right(bins, heavier_left ? 0 : 1);
  const uint32_t last_left = node.candidates[position].bin;
  const bool one_vs_rest = order.size() <= rules_.categories.one_vs_rest;
  for (size_t i = 0; i < order.size(); ++i)
    right[order[i]] = (one_vs_rest ? order[i] == last_left : i <= last_left) ? 0 : 1;
  if (node.leaf->hist < 0)
    std::fill(scratch->few_sums.begin(), scratch->few_sums.begin() + bins + 1, 0);
  return right;
}

}  // namespace stagewise
