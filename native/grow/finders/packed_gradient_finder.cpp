#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "grow/finders/blocked_argmax.hpp"
#include "grow/finders/packed_gradient_finder.hpp"

namespace stagewise {
PackedGradientFinder::Scratch::Scratch(const Bins& bins) : FinderScratch(bins) {
  size_t most = 0;
  for (size_t f = 0; f < bins.features(); ++f)
    most = std::max<size_t>(most, bins.value_bins(f) + 1);
  counts.resize(most);
}

PackedGradientFinder::PackedGradientFinder(const Bins& bins, const Kernels& kernels,
                                           const TreeRules& rules, const RowWeights& weights,
                                           const Histograms& histograms)
    : bins_(bins), kernels_(kernels), rules_(rules), weights_(weights), histograms_(histograms) {
  if (bins.sparse()) count_sparse_rows();
  used_.assign(bins.features(), 0);
  for (const uint32_t f : rules.used_features) used_[f] = 1;
}

void PackedGradientFinder::start_tree(const Scales& scales, const Gradients& gradients,
                                      const std::vector<uint32_t>& features, uint64_t key, double) {
  features_ = &features;
  scales_ = scales;
  gradients_ = &gradients;
  key_ = key;
  const double hs = scales.hessian;
  scan_ = {};
  scan_.min_hessian = std::max(1.0, rules_.min_hessian * hs);
  min_count_ = weights_.units(rules_.min_samples_leaf);
  counts_needed_ = rules_.min_samples_leaf > 1.0 || !weights_.whole();
  const double largest = gradients.largest_hessian();
  const double bound = largest > 0.0 ? largest : rules_.hessian_bound;
  hessian_cap_ = bound > 0.0 ? std::floor(bound * hs) + 1.0 : 0.0;
  if (counts_needed_ && rules_.hessian_is_weight && rules_.hessian_bound * hs >= 1.0 &&
      weights_.whole()) {
    // The scale is a power of two: the packed hessian is exactly the weight.
    const double least = rules_.min_samples_leaf * rules_.hessian_bound * hs;
    scan_.min_hessian = std::max(scan_.min_hessian, least);
    counts_needed_ = false;
  }
}

void PackedGradientFinder::add_used_features(const std::vector<int32_t>& features) {
  for (const int32_t f : features)
    if (f >= 0) used_[static_cast<size_t>(f)] = 1;
}

void PackedGradientFinder::set_root_sums(const RowIndex& rows, bool all, Leaf* root) const {
  root->packed_sum = gradients_->total_sum();
  if (all) return;
  root->packed_sum = 0;
  for (size_t i = 0; i < rows.n; ++i) root->packed_sum += gradients_->slots()[rows[i]].packed;
}

void PackedGradientFinder::set_child_sums(const Leaf& parent, const RowIndex&,
                                          const RowIndex&) const {
  parent.left->packed_sum = parent.split.left_sum;
  parent.right->packed_sum = parent.packed_sum - parent.left->packed_sum;
}

bool PackedGradientFinder::splittable(const Leaf& leaf) const {
  if (rules_.max_depth > 0 && leaf.depth >= rules_.max_depth) return false;
  if (leaf.rows() < 2 || leaf.count < 2 * min_count_) return false;
  return static_cast<double>(packed_hessian(leaf.packed_sum)) >= 2.0 * scan_.min_hessian;
}

void PackedGradientFinder::begin(const Leaf& leaf, const RowIndex& rows,
                                 std::vector<uint8_t> allowed, NodeScan* scan) const {
  Search* const search = own(scan);
  search->leaf = &leaf;
  search->rows = rows;
  search->key = draw(key_, leaf.path);
  search->pure = false;
  search->allowed = std::move(allowed);
  search->score.assign(features_->size(), kNoSplit);
  search->is_found.assign(features_->size(), 0);
  search->found.resize(features_->size());
  search->rules = scan_;
}

void PackedGradientFinder::scan_group(NodeScan* scan, size_t group) const {
  Search* const search = own(scan);
  for (const uint32_t position : histograms_.members(group))
    if (search->allows(position)) search->set(position, scan_histogram(*search, position, nullptr));
}

bool PackedGradientFinder::min_count_proven(const Leaf& leaf, int64_t left_sum) const {
  if (!counts_needed_) return true;
  if (hessian_cap_ == 0.0 || !weights_.whole()) return false;
  const double least = rules_.min_samples_leaf * hessian_cap_;
  const int64_t left = packed_hessian(left_sum), right = packed_hessian(leaf.packed_sum) - left;
  return static_cast<double>(std::min(left, right)) >= least;
}

void PackedGradientFinder::count_bins(const Search& search, uint32_t feature,
                                      Scratch* scratch) const {
  auto& counts = scratch->counts;
  std::fill(counts.begin(), counts.begin() + bins_.value_bins(feature) + 1, 0);
  if (bins_.sparse()) return count_cells(search, feature, scratch);
  for (size_t i = 0; i < search.rows.n; ++i) {
    const uint32_t row = search.rows[i];
    counts[bins_.code(row, feature)] += weights_[row];
  }
}

double PackedGradientFinder::penalty(uint32_t feature) const {
  if (rules_.feature_penalty.empty() || used_[feature] != 0) return 0.0;
  return rules_.feature_penalty[feature] / real_gain(1.0);
}

// Whether a split without gain is accepted: a tree that is grown until pure must go on, because
// later splits may gain (the first split of an exclusive or has no gain).
bool PackedGradientFinder::accepts_zero_gain(const Search& search, const Found& found,
                                             double packed_gain) const {
  return rules_.grow_until_pure && rules_.min_gain == 0.0 &&
         packed_gain >= -kRelativeGain * magnitude(*search.leaf, found) - rounding() &&
         !is_uniform(search);
}

Split PackedGradientFinder::choose_split(NodeScan* scan, FinderScratch* finder_scratch) const {
  Search* const search = own(scan);
  auto* const scratch = static_cast<Scratch*>(finder_scratch);
  const Leaf& leaf = *search->leaf;
  const bool penalised = !rules_.feature_penalty.empty();
  std::vector<uint32_t> field;  // the allowed positions, if not all are
  field.reserve(search->allowed.size());
  if (!search->allowed.empty())
    search->visit_allowed(features_->size(),
                          [&](size_t i) { field.push_back(static_cast<uint32_t>(i)); });
  const size_t n = search->allowed.empty() ? features_->size() : field.size();
  const auto position = [&](size_t index) { return field.empty() ? index : field[index]; };
  BlockedArgmax argmax(n, [&](size_t index) {
    const size_t i = position(index);
    return search->score[i] - (penalised ? penalty((*features_)[i]) : 0.0);
  });
  for (;;) {
    const auto [best_score, index] = argmax.best();
    if (best_score == kNoSplit) return {};
    const size_t best = position(index);
    if (search->is_found[best] == 0) {  // the best score is only an upper bound
      search->set(best, scan_histogram(*search, best, nullptr));
      argmax.update(index);
      continue;
    }
    Found& found = search->found[best];
    const double packed_gain = best_score - unsplit(leaf, found);
    const bool forced = leaf.forced_split >= 0;
    const double gain = real_gain(packed_gain);
    const bool enough = packed_gain > kRelativeGain * magnitude(leaf, found);
    if (!forced && !(enough && gain > rules_.min_gain) &&
        !accepts_zero_gain(*search, found, packed_gain))
      return {};
    const uint32_t feature = (*features_)[best];
    const int64_t left_sum = found.result.left_sum;
    if (found.exact || min_count_proven(leaf, left_sum)) {
      const int64_t left = packed_hessian(left_sum), both = packed_hessian(leaf.packed_sum);
      const bool decided =
          found.missing_seen || (bins_.sparse() ? any_missing_cell(*search, feature, scratch)
                                                : any_missing(bins_, search->rows, feature));
      const bool heavier_left = left >= both - left;
      const bool missing_left = decided ? found.result.missing_left : heavier_left;
      Split split;
      split.gain = forced ? std::max(gain, 0.0) : std::max(gain, kNeutralGain);
      split.forced = forced;
      split.feature = feature;
      split.bin = found.bin;
      split.next_bin = found.next_bin;
      split.missing_left = missing_left;
      split.left_sum = left_sum;
      if (bins_.coding(feature).categorical())
        split.right_bins = right_bins(*search, best, found, heavier_left, scratch);
      return split;
    }
    count_bins(*search, feature, scratch);
    search->set(best, scan_histogram(*search, best, scratch->counts.data()));
    argmax.update(index);
  }
}

}  // namespace stagewise
