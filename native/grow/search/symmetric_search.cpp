#include "grow/search/symmetric_search.hpp"

#include <algorithm>
#include <cmath>

#include "grow/finders/category_order.hpp"

namespace stagewise {

void SymmetricSearch::start_tree(Workers& team, Leaf* root) {
  histograms_.use_features(sampler_.features());
  root->hist = histograms_.acquire();
  Job job;
  job.built = root;
  compute(team, 0, job, {});
}

void SymmetricSearch::build_child_histograms(Workers& team, Leaf* parent) {
  Leaf* small = parent->left->rows() <= parent->right->rows() ? parent->left : parent->right;
  Leaf* large = small == parent->left ? parent->right : parent->left;
  large->hist = parent->hist;
  small->hist = parent->spare;
  Job job;
  job.built = small;
  job.sibling = large;
  compute(team, 0, job, {});
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
  return ordered_bins(packed_sums.data(), packed_sums.size(), finder_.category_smoothing());
}

SymmetricSearch::CommonCut SymmetricSearch::best_cut(const std::vector<Scan>& nodes,
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
    finder_.add_scores(nodes[i], sums, right.data(), left.data());
  }
  CommonCut best;
  for (const bool to_left : {false, true}) {
    if (to_left && !any_missing) break;
    const std::vector<double>& scores = to_left ? left : right;
    for (size_t k = 0; k < cuts; ++k)
      if (scores[k] > best.score) best = {scores[k], position, k, to_left};
  }
  return best;
}

SymmetricSearch::CommonCut SymmetricSearch::best_cut(Workers& team, const std::vector<Scan>& nodes,
                                                     const std::vector<Leaf*>& leaves) const {
  const size_t n = sampler_.features().size();
  std::vector<CommonCut> cuts(n);
  team.run(n, [&](size_t position, int) {
    if (!nodes[0].allows(position)) return;
    cuts[position] = best_cut(nodes, leaves, position);
    cuts[position].score -= finder_.penalty(sampler_.features()[position]);
  });
  CommonCut best;
  for (const CommonCut& cut : cuts)
    if (cut.score > best.score) best = cut;
  return best;
}

// order: of the bins of a categorical feature.
Split SymmetricSearch::split_at(const CommonCut& best, const std::vector<uint32_t>& order) const {
  Split split;
  split.feature = sampler_.features()[best.position];
  split.bin = static_cast<uint32_t>(best.cut);
  split.next_bin = split.bin + 1;
  split.missing_left = best.missing_left;
  split.forced = true;  // its gain in this leaf may be 0
  if (bins_.coding(split.feature).categorical()) {
    split.right_bins.assign(bins_.value_bins(split.feature), 1);
    for (size_t k = 0; k <= best.cut; ++k) split.right_bins[order[k]] = 0;
  }
  return split;
}

bool SymmetricSearch::split_level(Workers& team, const std::vector<Leaf*>& leaves) {
  std::vector<Scan> nodes(leaves.size());
  double unsplit = 0.0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    begin(*leaves[i], &nodes[i]);
    unsplit += finder_.unsplit_score(*leaves[i]);
  }
  const CommonCut best = best_cut(team, nodes, leaves);
  const double gain = best.score - unsplit;
  if (!(gain > kRelativeGain * std::abs(best.score)) || !finder_.exceeds_min_gain(gain))
    return false;

  const std::vector<uint32_t> order = order_of(leaves, best.position);
  bool any = false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    Split split = split_at(best, order);
    any = finder_.complete(nodes[i], best.position, &workspaces_[0].scratch, &split) || any;
    leaves[i]->split = std::move(split);
  }
  return any;
}

}  // namespace stagewise
