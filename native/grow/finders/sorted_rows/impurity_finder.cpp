#include "grow/finders/sorted_rows/impurity_finder.hpp"

#include <algorithm>
#include <cmath>

#include "core/interrupt.hpp"
#include "core/random.hpp"

namespace stagewise {
namespace {

double x_log_x(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }

}  // namespace

ImpurityFinder::ImpurityFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights,
                               const ImpurityTarget& target)
    : bins_(bins),
      rules_(rules),
      weights_(weights),
      sums_(target, weights, rules.poisson),
      min_count_(weights.units(rules.min_samples_leaf)),
      least_split_(least_split_count(rules, weights)) {}

void ImpurityFinder::start_tree(const std::vector<uint32_t>& features, uint64_t key) {
  features_ = &features;
  key_ = key;
}

void ImpurityFinder::set_sums(const RowIndex& rows, Leaf* leaf) const {
  leaf->vector.assign(sums_.lanes(), 0);
  leaf->packed_sum = 0;
  leaf->pure = true;
  std::optional<uint32_t> first;
  for_each_block(rows.n, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = rows[i];
      if (sums_.weight(row) == 0) continue;
      sums_.add(row, leaf->vector.data());
      leaf->packed_sum += sums_.weight(row);
      if (!first) first = row;
      leaf->pure = leaf->pure && sums_.equal(*first, row);
    }
  });
  if (sums_.outputs() == 1 && leaf->packed_sum > 0)
    leaf->value = sums_.value(leaf->vector.data(), leaf->packed_sum);
}

void ImpurityFinder::set_root_sums(const RowIndex& rows, bool, Leaf* root) const {
  set_sums(rows, root);
}

void ImpurityFinder::set_child_sums(const Leaf& parent, const RowIndex& left,
                                    const RowIndex& right) const {
  set_sums(left, parent.left);
  set_sums(right, parent.right);
}

bool ImpurityFinder::splittable(const Leaf& leaf) const {
  if (rules_.max_depth > 0 && leaf.depth >= rules_.max_depth) return false;
  return !leaf.pure && leaf.count >= least_split_;
}

void ImpurityFinder::begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
                           Scan* node) const {
  node->leaf = &leaf;
  node->rows = rows;
  node->key = draw(key_, leaf.path);
  node->allowed = std::move(allowed);
  node->candidates.assign(features_->size(), {});
  node->centre.assign(sums_.lanes(), 0);
  if (!sums_.has_classes() && !rules_.poisson)
    for (size_t k = 0; k < sums_.lanes(); ++k)
      node->centre[k] =
          std::llrint(static_cast<double>(leaf.vector[k]) / static_cast<double>(leaf.packed_sum));
  node->unsplit = score(*node, leaf.vector.data(), leaf.packed_sum);
}

void ImpurityFinder::scan_few_rows(Scan* node, Scratch* scratch) const {
  for (size_t j = 0; j < features_->size(); ++j)
    if (node->allows(j))
      scan_sorted(node, j, sort_by_code(bins_, node->rows, (*features_)[j], &scratch->sort),
                  scratch);
}

void ImpurityFinder::scan_sorted(Scan* node, size_t position, const SortedRow* rows,
                                 Scratch* scratch) const {
  const uint32_t feature = (*features_)[position];
  node->candidates[position] = bins_.coding(feature).categorical()
                                   ? scan_categories(*node, feature, rows, scratch)
                                   : scan_numbers(*node, feature, rows, scratch);
}

// sum_k S_k^2 / W about the mean of the node, where the difference of scores has no cancellation.
double ImpurityFinder::squared_score(const Scan& node, const int64_t* sums, int64_t weight) const {
  double score = 0.0;
  for (size_t k = 0; k < sums_.lanes(); ++k) {
    const double s = static_cast<double>(sums[k] - node.centre[k] * weight) * sums_.unit(k);
    score += s * s;
  }
  return score / static_cast<double>(weight);
}

// sum_k S_k log(S_k / W); a side without events has no Poisson deviance.
double ImpurityFinder::poisson_score(const int64_t* sums, int64_t weight) const {
  double score = 0.0;
  for (size_t k = 0; k < sums_.lanes(); ++k) {
    if (sums[k] <= 0) return kNoSplit;
    const double s = static_cast<double>(sums[k]) * sums_.unit(k);
    score += s * std::log(s / static_cast<double>(weight));
  }
  return score;
}

double ImpurityFinder::class_score(const int64_t* sums, int64_t weight) const {
  const auto all = static_cast<double>(weight);
  double score = 0.0;
  for (size_t k = 0; k < sums_.outputs(); ++k) {
    const int64_t* const first = sums + sums_.first_lane(k);
    const int64_t* const last = sums + sums_.first_lane(k + 1);
    double own = 0.0;
    if (rules_.criterion == ClassCriterion::misclassification) {
      own = static_cast<double>(*std::max_element(first, last));
    } else if (rules_.criterion == ClassCriterion::gini) {
      for (const int64_t* w = first; w < last; ++w)
        own += static_cast<double>(*w) * static_cast<double>(*w) / all;
    } else {
      own = -x_log_x(all);
      for (const int64_t* w = first; w < last; ++w) own += x_log_x(static_cast<double>(*w));
    }
    score += own;
  }
  return score;
}

double ImpurityFinder::score(const Scan& node, const int64_t* sums, int64_t weight) const {
  if (sums_.has_classes()) return class_score(sums, weight);
  return rules_.poisson ? poisson_score(sums, weight) : squared_score(node, sums, weight);
}

// The gain in units of the target and of the weights.
double ImpurityFinder::real_gain(double gain) const {
  const bool halved = !sums_.has_classes() && !rules_.poisson;
  return sums_.real_weight(1) * gain * (halved ? 0.5 : 1.0) / static_cast<double>(sums_.outputs());
}

bool ImpurityFinder::in_order(const Leaf& leaf, uint32_t feature, const Side& left,
                              const Scratch& scratch) const {
  const int direction = rules_.constraints.monotone[feature];
  if (direction == 0) return true;
  const double low = sums_.value(scratch.left.data(), left.weight);
  const double high = sums_.value(scratch.right.data(), leaf.packed_sum - left.weight);
  const Bounds& b = leaf.bounds;
  return (high - low) * direction >= 0.0 && std::min(low, high) >= b.low &&
         std::max(low, high) <= b.high;
}

double ImpurityFinder::cut_score(const Scan& node, uint32_t feature, const Side& left,
                                 Scratch* scratch) const {
  const Leaf& leaf = *node.leaf;
  const int64_t right = leaf.packed_sum - left.weight;
  if (left.count < min_count_ || leaf.count - left.count < min_count_ || left.weight <= 0 ||
      right <= 0)
    return kNoSplit;
  for (size_t k = 0; k < sums_.lanes(); ++k) scratch->right[k] = leaf.vector[k] - scratch->left[k];
  if (!rules_.constraints.monotone.empty() && !in_order(leaf, feature, left, *scratch))
    return kNoSplit;
  return score(node, scratch->left.data(), left.weight) + score(node, scratch->right.data(), right);
}

ScanResult ImpurityFinder::best_cut(const Scan& node, uint32_t feature, const SortedRow* rows,
                                    size_t n, size_t present, const Positions& within,
                                    Scratch* scratch) const {
  bool missing = false;
  for (size_t i = present; i < n; ++i) missing = missing || sums_.weight(rows[i].row) > 0;
  ScanResult best;  // ties: the first, and missing values on the right
  for (const bool to_left : {false, true}) {
    if (to_left && !missing) break;
    std::fill(scratch->left.begin(), scratch->left.end(), 0);
    Side left;
    const auto add = [&](size_t i) {
      const uint32_t row = rows[i].row;
      if (sums_.weight(row) == 0) return;
      sums_.add(row, scratch->left.data());
      left.weight += sums_.weight(row);
      left.count += weights_[row];
    };
    for (size_t i = present; to_left && i < n; ++i) add(i);
    for_each_block(within.last, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        add(i);
        if (i < within.first || (i + 1 < present && rows[i].rank == rows[i + 1].rank)) continue;
        const double found = cut_score(node, feature, left, scratch);
        if (found > best.score) best = {found, i, to_left, left.weight};
      }
    });
  }
  best.missing_seen = missing;
  return best;
}

ImpurityFinder::Candidate ImpurityFinder::scan_numbers(const Scan& node, uint32_t feature,
                                                       const SortedRow* rows,
                                                       Scratch* scratch) const {
  const size_t n = node.rows.n;
  const size_t present = count_present(rows, n, bins_.value_bins(feature));
  const auto weightless = [&](size_t row) { return sums_.weight(row) == 0; };
  const std::optional<size_t> only = single_cut(
      rules_, node, feature, [&] { return weighted_code_range(rows, present, weightless); });
  const Positions within = only ? position_of(rows, present, *only) : Positions{0, present};
  Candidate candidate;
  candidate.result = best_cut(node, feature, rows, n, present, within, scratch);
  if (candidate.result.score > kNoSplit) {
    size_t next = candidate.result.position + 1;
    while (next < present && weightless(rows[next].row)) ++next;
    set_cut(bins_.coding(feature), only, rows[candidate.result.position].rank,
            next < present ? rows[next].rank : bins_.value_bins(feature), &candidate);
  }
  return candidate;
}

std::vector<uint32_t> ImpurityFinder::ordered_categories(const SortedRow* rows, size_t present,
                                                         size_t lane) const {
  struct Category {
    double mean;
    uint32_t code;
  };
  std::vector<Category> categories;
  std::vector<int64_t> sums(sums_.lanes(), 0);
  int64_t weight = 0;
  for (size_t i = 0; i < present; ++i) {
    if (sums_.weight(rows[i].row) > 0) {
      sums_.add(rows[i].row, sums.data());
      weight += sums_.weight(rows[i].row);
    }
    if (i + 1 < present && rows[i + 1].rank == rows[i].rank) continue;
    if (weight > 0)
      categories.push_back(
          {static_cast<double>(sums[lane]) / static_cast<double>(weight), rows[i].rank});
    std::fill(sums.begin(), sums.end(), 0);
    weight = 0;
  }
  std::sort(categories.begin(), categories.end(), [](const Category& a, const Category& b) {
    return a.mean != b.mean ? a.mean < b.mean : a.code < b.code;
  });
  std::vector<uint32_t> order;
  for (const Category& category : categories) order.push_back(category.code);
  return order;
}

// Of two classes one order is enough; with random cuts, one random lane.
ImpurityFinder::Candidate ImpurityFinder::scan_categories(const Scan& node, uint32_t feature,
                                                          const SortedRow* rows,
                                                          Scratch* scratch) const {
  const size_t n = node.rows.n, bins = bins_.value_bins(feature), lanes = sums_.lanes();
  const size_t present = count_present(rows, n, static_cast<uint32_t>(bins));
  std::vector<size_t> start(bins + 1, 0);  // the first row of each category
  for (size_t i = 0; i < present; ++i) ++start[rows[i].rank + 1];
  for (size_t b = 0; b < bins; ++b) start[b + 1] += start[b];
  Positions by{sums_.outputs() == 1 && lanes == 2 ? size_t{1} : 0, lanes};
  if (rules_.random_thresholds) {
    by.first += ((draw(draw(node.key, feature), lanes) >> 32) * (by.last - by.first)) >> 32;
    by.last = by.first + 1;
  }
  Candidate best;
  for (size_t lane = by.first; lane < by.last; ++lane) {
    const std::vector<uint32_t> order = ordered_categories(rows, present, lane);
    std::vector<SortedRow> in_order;
    for (uint32_t i = 0; i < order.size(); ++i)
      for (size_t k = start[order[i]]; k < start[order[i] + 1]; ++k)
        in_order.push_back({rows[k].row, i});
    const size_t ordered = in_order.size();
    in_order.insert(in_order.end(), rows + present, rows + n);
    Positions within{0, ordered};
    if (rules_.random_thresholds && !order.empty())
      within =
          position_of(in_order.data(), ordered, draw_position(node, feature, 0, order.size() - 1));
    const ScanResult found =
        best_cut(node, feature, in_order.data(), in_order.size(), ordered, within, scratch);
    if (lane > by.first && !(found.score > best.result.score)) continue;
    best.result = found;
    best.category_lane = lane;
    if (found.score > kNoSplit) best.bin = in_order[found.position].rank;
  }
  return best;
}

Split ImpurityFinder::choose_split(Scan* node, Scratch* scratch) const {
  const Leaf& leaf = *node->leaf;
  size_t best = features_->size();
  double best_score = kNoSplit;
  for (size_t i = 0; i < features_->size(); ++i) {
    if (!node->allows(i) || !(node->candidates[i].result.score > best_score)) continue;
    best = i;
    best_score = node->candidates[i].result.score;
  }
  if (best == features_->size()) return {};
  const double gain = best_score - node->unsplit;
  const double rounding = kRelativeGain * std::abs(best_score);
  const bool accepts_zero_gain =
      rules_.grow_until_pure && rules_.min_gain == 0.0 && gain >= -rounding;
  if (!accepts_zero_gain && !(gain > rounding && real_gain(gain) > rules_.min_gain)) return {};
  const Candidate& candidate = node->candidates[best];
  const int64_t left = candidate.result.left_sum;
  const bool heavier_left = left >= leaf.packed_sum - left;
  Split split;
  split.gain = std::max(real_gain(gain), kNeutralGain);
  split.feature = (*features_)[best];
  split.bin = candidate.bin;
  split.next_bin = candidate.next_bin;
  const bool decided =
      candidate.result.missing_seen || any_missing(bins_, weights_, node->rows, split.feature);
  split.missing_left = decided ? candidate.result.missing_left : heavier_left;
  split.left_sum = left;
  if (bins_.coding(split.feature).categorical()) {
    const SortedRow* const rows = sort_by_code(bins_, node->rows, split.feature, &scratch->sort);
    const uint32_t bins = bins_.value_bins(split.feature);
    const auto order =
        ordered_categories(rows, count_present(rows, node->rows.n, bins), candidate.category_lane);
    split.right_bins.assign(bins, heavier_left ? 0 : 1);
    for (size_t i = 0; i < order.size(); ++i)
      split.right_bins[order[i]] = i <= candidate.bin ? 0 : 1;
  }
  return split;
}

}  // namespace stagewise
