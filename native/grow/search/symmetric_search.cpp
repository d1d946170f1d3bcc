#include "grow/search/symmetric_search.hpp"

#include <algorithm>
#include <cmath>

#include "core/interrupt.hpp"
#include "grow/finders/packed_sums/gradient_finder.hpp"
#include "grow/finders/packed_sums/vector_finder.hpp"

namespace stagewise {

template <ScoresCuts F>
void SymmetricSearch<F>::start_tree(Workers& team, Leaf* root) {
  this->histograms_.use_features(this->sampler_.features());
  if (root->rows() <= this->finder_.few_rows()) return;
  root->hist = this->histograms_.acquire();
  Job job;
  job.built = root;
  this->compute(team, 0, job, {});
}

template <ScoresCuts F>
void SymmetricSearch<F>::build_child_histograms(Workers& team, Leaf* parent) {
  const Job job = this->job_of_children(parent);
  if (job.sibling != nullptr) this->compute(team, 0, job, {});
  this->histograms_.release_slots(*parent);
}

template <ScoresCuts F>
double SymmetricSearch<F>::penalty(size_t position) const {
  if constexpr (requires { this->finder_.penalty(0); })
    return this->finder_.penalty(feature_at(position));
  return 0.0;
}

template <ScoresCuts F>
const int64_t* SymmetricSearch<F>::missing_sums(size_t position, const int64_t* packed_sums) const {
  const uint32_t feature = feature_at(position);
  if (!bins_.has_missing(feature)) return nullptr;
  const size_t lanes = this->histograms_.lanes();
  const int64_t* const sums = packed_sums + bins_.value_bins(feature) * lanes;
  const bool any = std::any_of(sums, sums + lanes, [](int64_t sum) { return sum != 0; });
  return any ? sums : nullptr;
}

// Of a categorical feature: its bins, sorted by the sums of all leaves; else empty.
template <ScoresCuts F>
std::vector<uint32_t> SymmetricSearch<F>::order_of(const Level& level, size_t position,
                                                   Scratch* scratch) const {
  const uint32_t feature = feature_at(position);
  if (!bins_.coding(feature).categorical()) return {};
  std::vector<int64_t> total(bins_.value_bins(feature) * this->histograms_.lanes(), 0);
  for (const LevelLeaf& leaf : level) {
    const int64_t* const own = this->finder_.feature_sums(leaf.node, position, scratch);
    for (size_t i = 0; i < total.size(); ++i) total[i] += own[i];
  }
  return this->finder_.category_order(total.data(), position);
}

template <ScoresCuts F>
typename SymmetricSearch<F>::CommonCut SymmetricSearch<F>::best_cut(const Level& level,
                                                                    size_t position,
                                                                    Scratch* scratch,
                                                                    Level* counted) const {
  const uint32_t feature = feature_at(position);
  const std::vector<uint32_t> order = order_of(level, position, scratch);
  const bool categorical = bins_.coding(feature).categorical();
  const size_t lanes = this->histograms_.lanes();
  const size_t cuts = categorical ? order.size() : bins_.value_bins(feature);
  std::vector<double> right(cuts, 0.0), left(bins_.has_missing(feature) ? cuts : 0, 0.0);
  double* const to_left_scores = left.empty() ? nullptr : left.data();
  std::vector<int64_t> ordered(categorical ? cuts * lanes : 0);
  std::vector<int64_t> ordered_counts(categorical && counted != nullptr ? cuts : 0);
  bool any_missing = false;
  check_interrupt();
  for (size_t i = 0; i < level.size(); ++i) {
    const LevelLeaf& leaf = level[i];
    if (!this->finder_.needs_scan(*leaf.node.leaf)) {
      for (double& score : right) score += leaf.unsplit;
      for (double& score : left) score += leaf.unsplit;
      continue;
    }
    if constexpr (ScoresRows<F>)
      if (!categorical && counted == nullptr && leaf.node.leaf->hist < 0) {
        any_missing = this->finder_.add_scores_of_rows(leaf.node, position, leaf.unsplit, scratch,
                                                       right.data(), to_left_scores) ||
                      any_missing;
        continue;
      }
    CutSums sums;
    sums.feature = feature;
    sums.packed_sums = this->finder_.feature_sums(leaf.node, position, scratch);
    sums.bins = cuts;
    sums.missing = missing_sums(position, sums.packed_sums);
    any_missing = any_missing || sums.missing != nullptr;
    if (categorical) {
      for (size_t k = 0; k < cuts; ++k)
        std::copy_n(sums.packed_sums + order[k] * lanes, lanes, ordered.data() + k * lanes);
      sums.packed_sums = ordered.data();
    }
    if constexpr (CountsRows<F>)
      if (counted != nullptr) {
        sums.counts = this->finder_.counts_of(leaf.node, position, scratch);
        (*counted)[i].counts.assign(sums.counts, sums.counts + bins_.value_bins(feature) + 1);
        sums.missing_count = sums.counts[bins_.value_bins(feature)];
        if (categorical) {
          for (size_t k = 0; k < cuts; ++k) ordered_counts[k] = sums.counts[order[k]];
          sums.counts = ordered_counts.data();
        }
      }
    this->finder_.add_scores(leaf.node, sums, leaf.unsplit, scratch, right.data(), to_left_scores);
  }
  CommonCut best;
  for (const bool to_left : {false, true}) {
    if (to_left && !any_missing) break;
    const std::vector<double>& scores = to_left ? left : right;
    for (size_t k = 0; k < cuts; ++k)
      if (scores[k] > best.score) best = {scores[k], position, k, to_left, counted != nullptr};
  }
  best.score -= penalty(position);
  return best;
}

// Empty: there are no bounds.
template <ScoresCuts F>
typename SymmetricSearch<F>::BoundedLevel SymmetricSearch<F>::bounded_level(
    const Level& level) const {
  BoundedLevel bounded;
  if constexpr (BoundsCuts<F>) {
    for (const LevelLeaf& leaf : level)
      if (!this->finder_.bounded(leaf.node)) return {};
    for (const LevelLeaf& leaf : level) {
      if (leaf.node.leaf->hist < 0) {
        bounded.few.push_back(&leaf);
        continue;
      }
      bounded.packed_sums.push_back(this->histograms_.sums(leaf.node.leaf->hist));
      bounded.total_sums.push_back(leaf.node.leaf->packed_sum);
      bounded.unsplit.push_back(leaf.unsplit);
    }
  }
  return bounded;
}

// An upper bound of the score of the best cut of a feature; the score itself where that is faster.
template <ScoresCuts F>
typename SymmetricSearch<F>::CommonCut SymmetricSearch<F>::bound(const BoundedLevel& bounded,
                                                                 const Level& level,
                                                                 size_t position,
                                                                 Scratch* scratch) const {
  if constexpr (BoundsCuts<F>) {
    const uint32_t feature = feature_at(position);
    const size_t cuts = bins_.value_bins(feature);
    if (!bounded.packed_sums.empty() && cuts <= kMostBounded &&
        !bins_.coding(feature).categorical()) {
      LevelInput in;
      in.packed_sums = bounded.packed_sums.data();
      in.place = this->histograms_.place(position);
      in.bins = cuts;
      in.has_missing = bins_.has_missing(feature);
      in.leaves = bounded.packed_sums.size();
      in.total_sums = bounded.total_sums.data();
      in.unsplit = bounded.unsplit.data();
      double rest[2][kMostBounded];
      if (!bounded.few.empty())
        for (int side = 0; side < 2; ++side) {
          std::fill_n(rest[side], cuts, 0.0);
          in.rest[side] = rest[side];
        }
      for (const LevelLeaf* leaf : bounded.few)
        this->finder_.add_scores_of_rows(leaf->node, position, leaf->unsplit, scratch, rest[0],
                                         in.has_missing ? rest[1] : nullptr);
      CommonCut cut;
      cut.score = this->finder_.bound_scores(in, level[0].node.rules) - penalty(position);
      cut.position = position;
      cut.is_bound = true;
      return cut;
    }
  }
  return best_cut(level, position, scratch);
}

// The features are compared by bounds first, and rows are counted for one feature after the other,
// until the score of the best one is exact.
template <ScoresCuts F>
typename SymmetricSearch<F>::CommonCut SymmetricSearch<F>::best_cut(Workers& team, Level* level) {
  const size_t n = this->sampler_.features().size();
  std::vector<CommonCut> cuts(n);
  const BoundedLevel bounded = bounded_level(*level);
  team.run(n, [&](size_t position, int member) {
    if (!(*level)[0].node.allows(position)) return;
    cuts[position] =
        bound(bounded, *level, position, &this->workspace_in(team, 0, member)->scratch);
  });
  bool counts_needed = false;
  if constexpr (CountsRows<F>) counts_needed = this->finder_.counts_needed();
  Scratch* const scratch = &this->workspaces_[0].scratch;
  while (true) {
    CommonCut best;
    for (const CommonCut& cut : cuts)
      if (cut.score > best.score) best = cut;
    if (!(best.score > kNoSplit)) return best;
    if (best.is_bound) {
      cuts[best.position] = best_cut(*level, best.position, scratch);
      continue;
    }
    if (!counts_needed || best.exact) return best;
    counted_ = best.position;
    cuts[best.position] = best_cut(*level, best.position, scratch, level);
  }
}

// order: of the bins of a categorical feature.
template <ScoresCuts F>
Split SymmetricSearch<F>::split_at(const CommonCut& best,
                                   const std::vector<uint32_t>& order) const {
  Split split;
  split.feature = feature_at(best.position);
  split.bin = static_cast<uint32_t>(best.cut);
  split.next_bin = split.bin + 1;
  split.missing_left = best.missing_left;
  split.forced = true;  // its gain in a leaf may be 0
  if (bins_.coding(split.feature).categorical()) {
    split.right_bins.assign(bins_.value_bins(split.feature), 1);
    for (size_t k = 0; k <= best.cut; ++k) split.right_bins[order[k]] = 0;
  }
  return split;
}

// The common split in one leaf: values that the leaf does not have go to the heavier side. Not
// found if a side has too few rows.
template <ScoresCuts F>
Split SymmetricSearch<F>::split_leaf(const LevelLeaf& leaf, const CommonCut& best, Split split,
                                     Scratch* scratch) const {
  const Scan& node = leaf.node;
  const size_t lanes = this->histograms_.lanes();
  const int64_t* const packed_sums = this->finder_.feature_sums(node, best.position, scratch);
  std::vector<int64_t> left(lanes, 0);
  const auto add = [&](const int64_t* sums) {
    for (size_t lane = 0; lane < lanes; ++lane) left[lane] += sums[lane];
  };
  for (size_t b = 0; b < bins_.value_bins(split.feature); ++b)
    if (split.goes_left(b)) add(packed_sums + b * lanes);
  const bool heavier_left = this->finder_.heavier_left(*node.leaf, left.data());
  const int64_t* const missing = missing_sums(best.position, packed_sums);
  if (missing == nullptr) {
    split.missing_left = heavier_left;
  } else if (split.missing_left) {
    add(missing);
  }
  for (size_t b = 0; b < split.right_bins.size(); ++b) {
    const int64_t* const sums = packed_sums + b * lanes;
    if (std::all_of(sums, sums + lanes, [](int64_t sum) { return sum == 0; }))
      split.right_bins[b] = heavier_left ? 0 : 1;
  }
  const bool counted = best.exact && best.position == counted_ && !leaf.counts.empty();
  this->finder_.complete(node, left.data(), counted ? leaf.counts.data() : nullptr, scratch,
                         &split);
  return split;
}

template <ScoresCuts F>
bool SymmetricSearch<F>::split_level(Workers& team, const std::vector<Leaf*>& leaves) {
  Level& level = level_;
  level.resize(leaves.size());
  double unsplit = 0.0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    level[i].counts.clear();
    this->begin(*leaves[i], &level[i].node);
    level[i].unsplit = this->finder_.unsplit_score(*leaves[i]);
    unsplit += level[i].unsplit;
  }
  // A leaf that was not split at some depth has other features on its path.
  for (const Leaf* leaf : leaves) this->sampler_.exclude(*leaf, &level[0].node.allowed);
  const CommonCut best = best_cut(team, &level_);
  const double gain = best.score - unsplit;
  if (!(gain > kRelativeGain * std::abs(best.score)) || !this->finder_.exceeds_min_gain(gain))
    return false;

  Scratch* const scratch = &this->workspaces_[0].scratch;
  const Split common = split_at(best, order_of(level, best.position, scratch));
  bool any = false;
  for (size_t i = 0; i < leaves.size(); ++i) {
    leaves[i]->split = split_leaf(level[i], best, common, scratch);
    any = any || leaves[i]->split.found();
  }
  return any;
}

template class SymmetricSearch<GradientFinder>;
template class SymmetricSearch<VectorFinder>;

}  // namespace stagewise
