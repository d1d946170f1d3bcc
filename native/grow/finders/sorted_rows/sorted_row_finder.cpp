#include "grow/finders/sorted_rows/sorted_row_finder.hpp"

#include <algorithm>
#include <cmath>

#include "core/random.hpp"
#include "grow/finders/sorted_rows/impurity_finder.hpp"
#include "grow/finders/sorted_rows/median_finder.hpp"

namespace stagewise {

template <class Scan, class Scratch>
SortedRowFinder<Scan, Scratch>::SortedRowFinder(const Bins& bins, const TreeRules& rules,
                                                const RowWeights& weights)
    : bins_(bins),
      rules_(rules),
      weights_(weights),
      integer_weights_(weights),
      min_count_(weights.units(rules.min_samples_leaf)),
      least_split_(least_split_count(rules, weights)) {}

template <class Scan, class Scratch>
void SortedRowFinder<Scan, Scratch>::start_tree(const std::vector<uint32_t>& features,
                                                uint64_t key) {
  features_ = &features;
  key_ = key;
}

template <class Scan, class Scratch>
void SortedRowFinder<Scan, Scratch>::set_root_sums(const RowIndex& rows, bool, Leaf* root) const {
  set_sums(rows, root);
}

template <class Scan, class Scratch>
void SortedRowFinder<Scan, Scratch>::set_child_sums(const Leaf& parent, const RowIndex& left,
                                                    const RowIndex& right) const {
  set_sums(left, parent.left);
  set_sums(right, parent.right);
}

template <class Scan, class Scratch>
bool SortedRowFinder<Scan, Scratch>::splittable(const Leaf& leaf) const {
  if (rules_.max_depth > 0 && leaf.depth >= rules_.max_depth) return false;
  return !leaf.pure && leaf.count >= least_split_;
}

template <class Scan, class Scratch>
void SortedRowFinder<Scan, Scratch>::begin(const Leaf& leaf, const RowIndex& rows,
                                           std::vector<uint8_t> allowed, Scan* node) const {
  node->leaf = &leaf;
  node->rows = rows;
  node->key = draw(key_, leaf.path);
  node->allowed = std::move(allowed);
  node->candidates.assign(features_->size(), {});
  begin_scores(node);
}

template <class Scan, class Scratch>
void SortedRowFinder<Scan, Scratch>::scan_few_rows(Scan* node, Scratch* scratch) const {
  for (size_t j = 0; j < features_->size(); ++j)
    if (node->allows(j))
      scan_sorted(node, j, sort_by_code(bins_, node->rows, (*features_)[j], &scratch->sort),
                  scratch);
}

template <class Scan, class Scratch>
OrderedRows SortedRowFinder<Scan, Scratch>::ordered_rows(const Scan& node, uint32_t feature,
                                                         const SortedRow* rows) const {
  return {rows, node.rows.n, count_present(rows, node.rows.n, bins_.value_bins(feature))};
}

template <class Scan, class Scratch>
void SortedRowFinder<Scan, Scratch>::scan_sorted(Scan* node, size_t position, const SortedRow* rows,
                                                 Scratch* scratch) const {
  const uint32_t feature = (*features_)[position];
  const OrderedRows ordered = ordered_rows(*node, feature, rows);
  node->candidates[position] = bins_.coding(feature).categorical()
                                   ? scan_categories(*node, feature, ordered, scratch)
                                   : scan_numbers(*node, feature, ordered, scratch);
}

template <class Scan, class Scratch>
bool SortedRowFinder<Scan, Scratch>::any_weight(const OrderedRows& rows, size_t first) const {
  for (size_t i = first; i < rows.n; ++i)
    if (has_weight(rows[i].row)) return true;
  return false;
}

template <class Scan, class Scratch>
SortedRowCandidate SortedRowFinder<Scan, Scratch>::scan_numbers(const Scan& node, uint32_t feature,
                                                                const OrderedRows& rows,
                                                                Scratch* scratch) const {
  const size_t present = rows.present;
  const auto weightless = [&](size_t row) { return !has_weight(row); };
  const std::optional<size_t> only = single_cut(
      rules_, node, feature, [&] { return weighted_code_range(rows.rows, present, weightless); });
  const Positions within = only ? position_of(rows.rows, present, *only) : Positions{0, present};
  Candidate candidate;
  candidate.result = best_cut(node, feature, rows, within, scratch);
  if (candidate.result.score > kNoSplit) {
    size_t next = candidate.result.position + 1;
    while (next < present && weightless(rows[next].row)) ++next;
    set_cut(bins_.coding(feature), only, rows[candidate.result.position].rank,
            next < present ? rows[next].rank : bins_.value_bins(feature), &candidate);
  }
  return candidate;
}

template <class Scan, class Scratch>
SortedRowCandidate SortedRowFinder<Scan, Scratch>::scan_categories(const Scan& node,
                                                                   uint32_t feature,
                                                                   const OrderedRows& rows,
                                                                   Scratch* scratch) const {
  const size_t bins = bins_.value_bins(feature);
  std::vector<size_t> start(bins + 1, 0);  // the first row of each category
  for (size_t i = 0; i < rows.present; ++i) ++start[rows[i].rank + 1];
  for (size_t b = 0; b < bins; ++b) start[b + 1] += start[b];
  const Positions orders = category_orders(node, feature);
  Candidate best;
  for (size_t number = orders.first; number < orders.last; ++number) {
    const std::vector<uint32_t> order = ordered_categories(node, rows, number);
    std::vector<SortedRow> in_order;
    for (uint32_t i = 0; i < order.size(); ++i)
      for (size_t k = start[order[i]]; k < start[order[i] + 1]; ++k)
        in_order.push_back({rows[k].row, i});
    const size_t present = in_order.size();
    in_order.insert(in_order.end(), rows.rows + rows.present, rows.rows + rows.n);
    Positions within{0, present};
    if (rules_.random_thresholds && !order.empty())
      within =
          position_of(in_order.data(), present, draw_position(node, feature, 0, order.size() - 1));
    const ScanResult found =
        best_cut(node, feature, {in_order.data(), in_order.size(), present}, within, scratch);
    if (number > orders.first && !(found.score > best.result.score)) continue;
    best.result = found;
    best.order = number;
    if (found.score > kNoSplit) best.bin = in_order[found.position].rank;
  }
  return best;
}

template <class Scan, class Scratch>
std::vector<uint8_t> SortedRowFinder<Scan, Scratch>::right_bins(const Scan& node, uint32_t feature,
                                                                const Candidate& candidate,
                                                                bool heavier_left,
                                                                Scratch* scratch) const {
  const SortedRow* const sorted = sort_by_code(bins_, node.rows, feature, &scratch->sort);
  const OrderedRows rows = ordered_rows(node, feature, sorted);
  const auto order = ordered_categories(node, rows, candidate.order);
  std::vector<uint8_t> right(bins_.value_bins(feature), heavier_left ? 0 : 1);
  for (size_t i = 0; i < order.size(); ++i) right[order[i]] = i <= candidate.bin ? 0 : 1;
  return right;
}

template <class Scan, class Scratch>
Split SortedRowFinder<Scan, Scratch>::choose_split(Scan* node, Scratch* scratch) const {
  const Leaf& leaf = *node->leaf;
  const size_t best = best_position(*node, features_->size());
  if (best == features_->size()) return {};
  const Candidate& candidate = node->candidates[best];
  const double best_score = candidate.result.score;
  const double gain = best_score - node->unsplit;
  const double rounding = kRelativeGain * std::abs(score_magnitude(*node, best_score));
  const bool forced = leaf.forced_split >= 0;
  const bool accepts_zero_gain =
      rules_.grow_until_pure && rules_.min_gain == 0.0 && gain >= -rounding;
  if (!forced && !accepts_zero_gain && !(gain > rounding && real_gain(gain) > rules_.min_gain))
    return {};
  const int64_t left = candidate.result.left_sum;
  const bool heavier_left = left >= leaf.packed_sum - left;
  Split split = make_split(bins_, weights_, *node, (*features_)[best], candidate,
                           candidate.result.missing_seen, heavier_left);
  split.gain = std::max(real_gain(gain), forced ? 0.0 : kNeutralGain);
  split.forced = forced;
  split.left_sum = left;
  if (bins_.coding(split.feature).categorical())
    split.right_bins = right_bins(*node, split.feature, candidate, heavier_left, scratch);
  return split;
}

template class SortedRowFinder<MedianScan, MedianScratch>;
template class SortedRowFinder<ImpurityScan, ImpurityScratch>;

}  // namespace stagewise
