#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random.hpp"
#include "core/short_list.hpp"
#include "grow/finders/blocked_argmax.hpp"
#include "grow/finders/packed_sums/packed_gradient_finder.hpp"

namespace stagewise {
namespace {

constexpr double kAbove = 1.0 + 0x1p-20;  // hessians are rounded to float32 before they are packed

}  // namespace

PackedGradientFinder::Scratch::Scratch(const Bins& bins) : FinderScratch(bins) {
  size_t most = 0;
  for (size_t f = 0; f < bins.features(); ++f)
    most = std::max<size_t>(most, bins.value_bins(f) + 1);
  counts.resize(most);
  more_counts.resize(most);
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
  least_split_ = least_split_count(rules_, weights_);
  counts_needed_ = rules_.min_samples_leaf > 1.0 || !weights_.whole();
  const double largest = gradients.largest_hessian();
  const double bound = largest > 0.0 ? largest : rules_.hessian_bound;
  hessian_cap_ = bound > 0.0 ? std::floor(bound * hs) + 1.0 : 0.0;
  unit_hessian_ = bound * hs / weights_.unit();
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
  if (leaf.rows() < 2 || leaf.count < least_split_) return false;
  return static_cast<double>(packed_hessian(leaf.packed_sum)) >= 2.0 * scan_.min_hessian;
}

void PackedGradientFinder::begin(const Leaf& leaf, const RowIndex& rows,
                                 std::vector<uint8_t> allowed, Scan* node) const {
  node->leaf = &leaf;
  node->rows = rows;
  node->key = draw(key_, leaf.path);
  node->pure = false;
  node->allowed = std::move(allowed);
  node->score.assign(features_->size(), kNoSplit);
  node->is_scanned.assign(features_->size(), 0);
  node->candidates.resize(features_->size());
  node->rules = scan_;
  node->rules.min_hessian = std::max(scan_.min_hessian, necessary_hessian(leaf));
}

void PackedGradientFinder::scan_group(Scan* node, size_t group) const {
  for (const uint32_t position : histograms_.members(group))
    if (node->allows(position)) node->set(position, scan_histogram(*node, position, nullptr));
}

bool PackedGradientFinder::min_count_proven(const Leaf& leaf, int64_t left_sum) const {
  if (!counts_needed_) return true;
  if (hessian_cap_ == 0.0) return false;
  const int64_t left = packed_hessian(left_sum), right = packed_hessian(leaf.packed_sum) - left;
  const auto less = static_cast<double>(std::min(left, right));
  if (weights_.whole()) return less >= rules_.min_samples_leaf * hessian_cap_;
  // Of each row, the packed hessian may be rounded up by 1, and the units down by a half.
  const auto rows = static_cast<double>(leaf.rows());
  const double units = (less - rows) / (unit_hessian_ * kAbove) - 0.5 * rows;
  return units >= static_cast<double>(min_count_);
}

// Below this packed hessian, a side of a leaf has less than the minimal count in any case. As in
// min_count_proven(), with the opposite roundings.
double PackedGradientFinder::necessary_hessian(const Leaf& leaf) const {
  if (!counts_needed_ || !rules_.hessian_is_weight || weights_.whole()) return 0.0;
  // A depth of a symmetric tree sums scores that are screened by this, and rows of weight 0, which
  // are in leaf.rows(), must not change it.
  if (rules_.grow_policy == GrowthPolicy::symmetric) return 0.0;
  const auto rows = static_cast<double>(leaf.rows());
  return (static_cast<double>(min_count_) - 0.5 * rows) * (unit_hessian_ / kAbove) - rows;
}

void PackedGradientFinder::count_bins(const Scan& node, uint32_t feature, Scratch* scratch) const {
  auto& counts = scratch->counts;
  std::fill(counts.begin(), counts.begin() + bins_.value_bins(feature) + 1, 0);
  if (counter_ != nullptr) return counter_->count(*node.leaf, feature, counts.data());
  if (bins_.sparse()) return count_cells(node, feature, scratch);
  if (bins_.ranked()) {
    for (size_t i = 0; i < node.rows.n; ++i)
      counts[bins_.code(node.rows[i], feature)] += weights_[node.rows[i]];
    return;
  }
  // Every second row has counts of its own, so that rows of a frequent bin do not wait for the one
  // before.
  int64_t *own = counts.data(), *other = scratch->more_counts.data();
  const auto add_rows = [&](auto count_of) {
    for_each_code(node, feature, [&](size_t code, uint32_t row) {
      own[code] += count_of(row);
      std::swap(own, other);
    });
  };
  if (weights_.all_one()) {
    add_rows([](uint32_t) { return int64_t{1}; });
  } else {
    add_rows([&](uint32_t row) { return weights_[row]; });
  }
  for (size_t b = 0; b <= bins_.value_bins(feature); ++b)
    counts[b] += std::exchange(scratch->more_counts[b], 0);
}

double PackedGradientFinder::penalty(uint32_t feature) const {
  if (rules_.feature_penalty.empty() || used_[feature] != 0) return 0.0;
  return rules_.feature_penalty[feature] / real_gain(1.0);
}

// Whether a split without gain is accepted: a tree that is grown until pure must go on, because
// later splits may gain (the first split of an exclusive or has no gain).
bool PackedGradientFinder::accepts_zero_gain(const Scan& node, const Candidate& candidate,
                                             double packed_gain) const {
  return rules_.grow_until_pure && rules_.min_gain == 0.0 &&
         packed_gain >= -kRelativeGain * magnitude(*node.leaf, candidate) - rounding() &&
         !is_uniform(node);
}

// Whether the gain of a candidate is large enough. A forced split needs no gain.
bool PackedGradientFinder::gain_suffices(const Scan& node, const Candidate& candidate,
                                         double packed_gain, double gain) const {
  if (node.leaf->forced_split >= 0) return true;
  const bool more_than_rounding = packed_gain > kRelativeGain * magnitude(*node.leaf, candidate);
  return (more_than_rounding && gain > rules_.min_gain) ||
         accepts_zero_gain(node, candidate, packed_gain);
}

// Whether a row of the node has a missing value of the feature, and a weight.
bool PackedGradientFinder::any_missing_row(const Scan& node, uint32_t feature,
                                           Scratch* scratch) const {
  if (bins_.sparse()) return any_missing_cell(node, feature, scratch);
  if (counter_ == nullptr) return any_missing(bins_, weights_, node.rows, feature);
  if (!bins_.has_missing(feature)) return false;
  count_bins(node, feature, scratch);
  return scratch->counts[bins_.value_bins(feature)] != 0;
}

void PackedGradientFinder::write_split(const Scan& node, size_t position, double gain,
                                       Scratch* scratch, Split* split) const {
  const Candidate& candidate = node.candidates[position];
  const uint32_t feature = (*features_)[position];
  const bool decided = candidate.missing_seen || any_missing_row(node, feature, scratch);
  split->forced = node.leaf->forced_split >= 0;
  split->gain = std::max(gain, split->forced ? 0.0 : kNeutralGain);
  split->feature = feature;
  split->bin = candidate.bin;
  split->next_bin = candidate.next_bin;
  split->missing_left = decided ? candidate.result.missing_left
                                : heavier_left(*node.leaf, &candidate.result.left_sum);
  split->left_sum = candidate.result.left_sum;
  bins_.coding(feature).prefetch_threshold(split->bin);
}

std::vector<size_t> PackedGradientFinder::positions_to_count(const Scan& node, size_t most) const {
  std::vector<size_t> positions;
  const bool penalised = !rules_.feature_penalty.empty();
  while (positions.size() < most) {
    size_t best = features_->size();
    double best_score = kNoSplit;
    node.visit_allowed(features_->size(), [&](size_t i) {
      const double score = node.score[i] - (penalised ? penalty((*features_)[i]) : 0.0);
      if (!(score > best_score)) return;
      if (std::find(positions.begin(), positions.end(), i) != positions.end()) return;
      best_score = score;
      best = i;
    });
    if (best_score == kNoSplit || node.is_scanned[best] == 0) break;
    const Candidate& candidate = node.candidates[best];
    const double packed_gain = best_score - unsplit(*node.leaf, candidate);
    if (!gain_suffices(node, candidate, packed_gain, real_gain(packed_gain))) break;
    if (candidate.exact || min_count_proven(*node.leaf, candidate.result.left_sum)) break;
    positions.push_back(best);
  }
  return positions;
}

void PackedGradientFinder::set_counted(Scan* node, size_t position, const int64_t* counts) const {
  node->set(position, scan_histogram(*node, position, counts));
}

size_t PackedGradientFinder::choose_candidate(Scan* node, Scratch* scratch, Split* split) const {
  const Leaf& leaf = *node->leaf;
  const bool penalised = !rules_.feature_penalty.empty();
  const bool all = node->allowed.empty();
  ShortList listed(node->allowed.size());  // the allowed positions, if not all are
  size_t n = all ? features_->size() : 0;
  if (!all)
    node->visit_allowed(features_->size(),
                        [&](size_t i) { listed[n++] = static_cast<uint32_t>(i); });
  const auto position = [&](size_t index) { return all ? index : listed[index]; };
  BlockedArgmax argmax(n, [&](size_t index) {
    const size_t i = position(index);
    return node->score[i] - (penalised ? penalty((*features_)[i]) : 0.0);
  });
  for (;;) {
    const auto [best_score, index] = argmax.best();
    if (best_score == kNoSplit) return 0;
    const size_t best = position(index);
    if (node->is_scanned[best] == 0) {  // the best score is only an upper bound
      node->set(best, scan_histogram(*node, best, nullptr));
      argmax.update(index);
      continue;
    }
    const Candidate& candidate = node->candidates[best];
    const double packed_gain = best_score - unsplit(leaf, candidate);
    const double gain = real_gain(packed_gain);
    if (!gain_suffices(*node, candidate, packed_gain, gain)) return 0;
    if (candidate.exact || min_count_proven(leaf, candidate.result.left_sum) ||
        confirm(*node, (*features_)[best], &node->candidates[best])) {
      write_split(*node, best, gain, scratch, split);
      return best;
    }
    count_bins(*node, (*features_)[best], scratch);
    node->set(best, scan_histogram(*node, best, scratch->counts.data()));
    argmax.update(index);
  }
}

}  // namespace stagewise
