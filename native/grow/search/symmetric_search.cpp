#include "grow/search/symmetric_search.hpp"

#include <algorithm>
#include <cmath>

#include "grow/finders/category_order.hpp"

namespace stagewise {
void SymmetricSearch::root(Workers& team, Leaf* root) {
  root->hist = histograms_.acquire();
  Job job;
  job.built = root;
  search(team, workspaces_.data(), job, false);
}

void SymmetricSearch::children(Workers& team, Workspace* workspace, Leaf* parent) {
  Leaf* small = parent->left->rows() <= parent->right->rows() ? parent->left : parent->right;
  Leaf* large = small == parent->left ? parent->right : parent->left;
  large->hist = parent->hist;
  small->hist = parent->spare;
  Job job;
  job.built = small;
  job.rest = large;
  search(team, workspace, job, false);
}

// Of a categorical feature: its bins, sorted by the sums of all leaves; else empty.
std::vector<uint32_t> SymmetricSearch::order_of(const std::vector<Leaf*>& leaves,
                                                size_t position) const {
  const uint32_t feature = sampler_.features()[position];
  if (!bins_.coding(feature).categorical()) return {};
  std::vector<int64_t> packed_sums(bins_.value_bins(feature), 0);
  for (const Leaf* leaf : leaves)
    for (size_t b = 0; b < packed_sums.size(); ++b)
      packed_sums[b] += histograms_.feature(leaf->hist, position)[b];
  return ordered_bins(packed_sums.data(), packed_sums.size(), splits_.category_smoothing());
}

SymmetricSearch::Best SymmetricSearch::best_of(const std::vector<PackedScan>& searches,
                                               const std::vector<Leaf*>& leaves,
                                               size_t position) const {
  const uint32_t feature = sampler_.features()[position];
  const std::vector<uint32_t> order = order_of(leaves, position);
  const bool categorical = bins_.coding(feature).categorical();
  const size_t cuts = categorical ? order.size() : bins_.value_bins(feature);
  std::vector<double> right(cuts, 0.0), left(cuts, 0.0);
  std::vector<int64_t> ordered(cuts);
  bool any_missing = false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    BinSums sums;
    sums.feature = feature;
    sums.packed_sums = histograms_.feature(leaves[i]->hist, position);
    sums.bins = cuts;
    if (bins_.has_missing(feature)) sums.missing_sum = sums.packed_sums[bins_.value_bins(feature)];
    any_missing = any_missing || sums.missing_sum != 0;
    if (categorical) {
      for (size_t k = 0; k < cuts; ++k) ordered[k] = sums.packed_sums[order[k]];
      sums.packed_sums = ordered.data();
    }
    splits_.add_scores(searches[i], sums, right.data(), left.data());
  }
  Best best;
  for (const bool to_left : {false, true}) {
    if (to_left && !any_missing) break;
    const std::vector<double>& scores = to_left ? left : right;
    for (size_t k = 0; k < cuts; ++k)
      if (scores[k] > best.score) best = {scores[k], position, k, to_left};
  }
  return best;
}

bool SymmetricSearch::split_level(Workers& team, const std::vector<Leaf*>& leaves) {
  std::vector<PackedScan> searches(leaves.size());
  double unsplit = 0.0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    begin(*leaves[i], &searches[i]);
    unsplit += splits_.unsplit_score(*leaves[i]);
  }
  const size_t n = sampler_.features().size();
  std::vector<Best> found(n);
  team.run(n, [&](size_t position, int) {
    if (!searches[0].allows(position)) return;
    found[position] = best_of(searches, leaves, position);
    found[position].score -= splits_.penalty(sampler_.features()[position]);
  });
  Best best;
  for (const Best& b : found)
    if (b.score > best.score) best = b;
  const double gain = best.score - unsplit;
  if (!(gain > kRelativeGain * std::abs(best.score)) || !splits_.exceeds_min_gain(gain))
    return false;

  const uint32_t feature = sampler_.features()[best.position];
  const std::vector<uint32_t> order = order_of(leaves, best.position);
  bool any = false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    Split split;
    split.feature = feature;
    split.bin = static_cast<uint32_t>(best.cut);
    split.next_bin = split.bin + 1;
    split.missing_left = best.missing_left;
    split.forced = true;  // its gain in this leaf may be 0
    if (bins_.coding(feature).categorical()) {
      split.right_bins.assign(bins_.value_bins(feature), 1);
      for (size_t k = 0; k <= best.cut; ++k) split.right_bins[order[k]] = 0;
    }
    any = splits_.complete(searches[i], best.position,
                           GradientFinder::own(workspaces_[0].scratch.get()), &split) ||
          any;
    leaves[i]->split = std::move(split);
  }
  return any;
}

}  // namespace stagewise
