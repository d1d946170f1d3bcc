#include "grow/finders/sorted_rows/median_finder.hpp"

#include <algorithm>
#include <cmath>

#include "core/interrupt.hpp"
#include "core/quantile.hpp"
#include "core/radix_sort.hpp"
#include "core/random.hpp"
#include "grow/nodes/row_sort.hpp"

namespace stagewise {
namespace {

constexpr int kValueBits = 60, kWeightBits = 50;

// The smallest e with x < 2^e; 0 for x = 0.
int exponent_of(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return exponent;
}

}  // namespace

IntegerTarget::IntegerTarget(std::span<const double> y, std::span<const double> weight)
    : y_(y), rank_(y.size()) {
  const size_t rows = y.size();
  std::vector<uint32_t> order(rows);
  for (size_t i = 0; i < rows; ++i) order[i] = static_cast<uint32_t>(i);
  radix_sort(&order, [=](uint32_t row) { return order_key<uint64_t>(y[row]); });
  if (rows == 0) return;
  // Relative to the middle, so that a large offset costs no precision.
  const double middle = y[order.front()] / 2 + y[order.back()] / 2;
  value_exponent_ =
      kValueBits - exponent_of(std::max(middle - y[order.front()], y[order.back()] - middle));
  for (size_t i = 0; i < rows; ++i) {
    const double x = y[order[i]];
    if (i == 0 || x != y[order[i - 1]])
      values_.push_back(static_cast<int64_t>(std::ldexp(x - middle, value_exponent_)));
    rank_[order[i]] = static_cast<uint32_t>(values_.size() - 1);
  }
  if (weight.empty()) return;
  double total = 0.0;
  bool whole = true;
  for (size_t i = 0; i < rows; ++i) {
    total += weight[i];
    whole = whole && weight[i] == std::floor(weight[i]);
  }
  weight_exponent_ = kWeightBits - exponent_of(total);
  if (whole) weight_exponent_ = std::min(weight_exponent_, 0);
  for (size_t i = 0; i < rows; ++i)
    weight_.push_back(
        static_cast<int64_t>(std::floor(std::ldexp(weight[i], weight_exponent_) + 0.5)));
}

double IntegerTarget::real(double units) const {
  return std::ldexp(units, -value_exponent_ - weight_exponent_);
}

MedianFinder::MedianFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights,
                           std::span<const double> target)
    : bins_(bins),
      rules_(rules),
      weights_(weights),
      target_(target, weights.values()),
      min_count_(weights.units(rules.min_samples_leaf)),
      least_split_(least_split_count(rules, weights)),
      place_(make_large_array<uint32_t>(bins.rows())) {}

void MedianFinder::start_tree(const std::vector<uint32_t>& features, uint64_t key) {
  features_ = &features;
  key_ = key;
}

void MedianFinder::set_sums(const RowIndex& rows, Leaf* leaf) const {
  std::vector<double> values(rows.n), weight;
  uint32_t least = UINT32_MAX, most = 0;
  for (size_t i = 0; i < rows.n; ++i) {
    const uint32_t row = rows[i];
    values[i] = target_.y(row);
    if (!weights_.all_one()) weight.push_back(weights_.value(row));
    if (target_.weight(row) == 0) continue;
    leaf->packed_sum += target_.weight(row);
    least = std::min(least, target_.rank(row));
    most = std::max(most, target_.rank(row));
  }
  leaf->pure = least >= most;
  leaf->value = weighted_quantile(&values, weight, 0.5);
}

void MedianFinder::set_root_sums(const RowIndex& rows, bool, Leaf* root) const {
  set_sums(rows, root);
}

void MedianFinder::set_child_sums(const Leaf& parent, const RowIndex& left,
                                  const RowIndex& right) const {
  set_sums(left, parent.left);
  set_sums(right, parent.right);
}

bool MedianFinder::splittable(const Leaf& leaf) const {
  if (rules_.max_depth > 0 && leaf.depth >= rules_.max_depth) return false;
  return !leaf.pure && leaf.count >= least_split_;
}

// Lists the distinct targets of the node in order, and the position of each row's target.
void MedianFinder::begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
                         Scan* node) const {
  node->leaf = &leaf;
  node->rows = rows;
  node->key = draw(key_, leaf.path);
  node->allowed = std::move(allowed);
  node->candidates.assign(features_->size(), {});
  std::vector<SortedRow> order(rows.n);
  for (size_t i = 0; i < rows.n; ++i) order[i] = {rows[i], target_.rank(rows[i])};
  radix_sort(&order, [](const SortedRow& r) { return r.rank; });
  node->targets.clear();
  for (size_t i = 0; i < rows.n; ++i) {
    if (i == 0 || order[i].rank != order[i - 1].rank)
      node->targets.push_back(target_.value(order[i].rank));
    place_[order[i].row] = static_cast<uint32_t>(node->targets.size() - 1);
  }
  RunningMedian whole;
  whole.start(node->targets.data(), node->targets.size());
  for_each_block(rows.n, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) whole.add(place_[rows[i]], target_.weight(rows[i]));
  });
  node->unsplit = -static_cast<double>(whole.cost());
}

void MedianFinder::scan_few_rows(Scan* node, Scratch* scratch) const {
  for (size_t j = 0; j < features_->size(); ++j)
    if (node->allows(j))
      scan_sorted(node, j, sort_by_code(bins_, node->rows, (*features_)[j], &scratch->sort),
                  scratch);
}

void MedianFinder::scan_sorted(Scan* node, size_t position, const SortedRow* rows,
                               Scratch* scratch) const {
  const uint32_t feature = (*features_)[position];
  node->candidates[position] = bins_.coding(feature).categorical()
                                   ? scan_categories(*node, feature, rows, scratch)
                                   : scan_numbers(*node, feature, rows, scratch);
}

ScanResult MedianFinder::best_cut(const Scan& node, const SortedRow* rows, size_t n, size_t present,
                                  const Positions& within, Scratch* scratch) const {
  RunningMedian& median = scratch->median;
  auto& costs = scratch->costs;
  if (costs.size() < present) costs.resize(present);
  const auto begin_side = [&](bool with_missing) {
    median.start(node.targets.data(), node.targets.size());
    int64_t count = 0;
    for (size_t i = present; with_missing && i < n; ++i) {
      median.add(place_[rows[i].row], target_.weight(rows[i].row));
      count += weights_[rows[i].row];
    }
    return count;
  };
  const auto end_of_code = [&](size_t i) {
    return i + 1 == present || rows[i].rank != rows[i + 1].rank;
  };
  bool missing = false;
  for (size_t i = present; i < n; ++i) missing = missing || target_.weight(rows[i].row) > 0;
  ScanResult best;
  best.missing_seen = missing;
  for (const bool to_left : {false, true}) {
    if (to_left && !missing) break;
    ScanResult own;  // ties: the first, and missing values on the right
    begin_side(to_left);
    for_each_block(within.last, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        median.add(place_[rows[i].row], target_.weight(rows[i].row));
        if (i >= within.first && end_of_code(i)) costs[i] = median.cost();
      }
    });
    int64_t count = begin_side(!to_left);
    const int64_t all = node.leaf->packed_sum;
    for_each_block(present - within.first, [&](size_t begin, size_t end) {
      for (size_t i = present - begin; i-- > present - end;) {
        if (i < within.last && end_of_code(i)) {
          const bool heavy = count >= min_count_ && node.leaf->count - count >= min_count_ &&
                             median.weight() > 0 && median.weight() < all;
          const double score = heavy ? -static_cast<double>(costs[i] + median.cost()) : kNoSplit;
          if (heavy && score >= own.score) own = {score, i, to_left, all - median.weight()};
        }
        median.add(place_[rows[i].row], target_.weight(rows[i].row));
        count += weights_[rows[i].row];
      }
    });
    own.missing_seen = missing;
    if (own.score > best.score) best = own;
  }
  return best;
}

MedianFinder::Candidate MedianFinder::scan_numbers(const Scan& node, uint32_t feature,
                                                   const SortedRow* rows, Scratch* scratch) const {
  const size_t n = node.rows.n;
  const size_t present = count_present(rows, n, bins_.value_bins(feature));
  const std::optional<size_t> only = single_cut(rules_, node, feature, [&] {
    return weighted_code_range(rows, present, [&](size_t row) { return target_.weight(row) == 0; });
  });
  const Positions within = only ? position_of(rows, present, *only) : Positions{0, present};
  Candidate candidate;
  candidate.result = best_cut(node, rows, n, present, within, scratch);
  candidate.missing_seen = candidate.result.missing_seen;
  if (candidate.result.score > kNoSplit) {
    size_t next = candidate.result.position + 1;
    while (next < present && target_.weight(rows[next].row) == 0) ++next;
    set_cut(bins_.coding(feature), only, rows[candidate.result.position].rank,
            next < present ? rows[next].rank : bins_.value_bins(feature), &candidate);
  }
  return candidate;
}

std::vector<uint32_t> MedianFinder::ordered_categories(const Scan& node, const SortedRow* rows,
                                                       size_t present) const {
  struct Category {
    int64_t middle;  // twice the median
    uint32_t code;
  };
  std::vector<Category> categories;
  std::vector<std::pair<uint32_t, int64_t>> own;  // positions and weights of the rows of a category
  for (size_t i = 0; i < present; ++i) {
    const uint32_t row = rows[i].row;
    if (target_.weight(row) > 0) own.emplace_back(place_[row], target_.weight(row));
    if ((i + 1 < present && rows[i + 1].rank == rows[i].rank) || own.empty()) continue;
    std::sort(own.begin(), own.end());
    int64_t all = 0, upto = 0;
    for (const auto& [place, weight] : own) all += weight;
    size_t at = 0;
    while (2 * (upto + own[at].second) < all) upto += own[at++].second;
    const bool between = 2 * (upto + own[at].second) == all;
    categories.push_back(
        {node.targets[own[at].first] + node.targets[own[at + between].first], rows[i].rank});
    own.clear();
  }
  std::sort(categories.begin(), categories.end(), [](const Category& a, const Category& b) {
    return a.middle != b.middle ? a.middle < b.middle : a.code < b.code;
  });
  std::vector<uint32_t> order;
  for (const Category& category : categories) order.push_back(category.code);
  return order;
}

MedianFinder::Candidate MedianFinder::scan_categories(const Scan& node, uint32_t feature,
                                                      const SortedRow* rows,
                                                      Scratch* scratch) const {
  const size_t n = node.rows.n, bins = bins_.value_bins(feature);
  const size_t present = count_present(rows, n, static_cast<uint32_t>(bins));
  const std::vector<uint32_t> order = ordered_categories(node, rows, present);
  std::vector<size_t> start(bins + 1, 0);  // the first row of each category
  for (size_t i = 0; i < present; ++i) ++start[rows[i].rank + 1];
  for (size_t b = 0; b < bins; ++b) start[b + 1] += start[b];
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
  Candidate candidate;
  candidate.result = best_cut(node, in_order.data(), in_order.size(), ordered, within, scratch);
  candidate.missing_seen = candidate.result.missing_seen;
  if (candidate.result.score > kNoSplit) candidate.bin = in_order[candidate.result.position].rank;
  return candidate;
}

Split MedianFinder::choose_split(Scan* node, Scratch* scratch) const {
  const Leaf& leaf = *node->leaf;
  size_t best = features_->size();
  double best_score = kNoSplit;
  for (size_t i = 0; i < features_->size(); ++i) {
    if (!node->allows(i) || !(node->candidates[i].result.score > best_score)) continue;
    best = i;
    best_score = node->candidates[i].result.score;
  }
  if (best == features_->size()) return {};
  const double units = best_score - node->unsplit;
  const bool forced = leaf.forced_split >= 0;
  const bool enough = units > -kRelativeGain * node->unsplit;
  const bool accepts_zero_gain =
      rules_.grow_until_pure && rules_.min_gain == 0.0 && units >= kRelativeGain * node->unsplit;
  if (!forced && !accepts_zero_gain && !(enough && target_.real(units) > rules_.min_gain))
    return {};
  const Candidate& candidate = node->candidates[best];
  const int64_t left = candidate.result.left_sum;
  const bool heavier_left = left >= leaf.packed_sum - left;
  Split split;
  split.gain = std::max(target_.real(units), forced ? 0.0 : kNeutralGain);
  split.forced = forced;
  split.feature = (*features_)[best];
  split.bin = candidate.bin;
  split.next_bin = candidate.next_bin;
  const bool decided =
      candidate.missing_seen || any_missing(bins_, weights_, node->rows, split.feature);
  split.missing_left = decided ? candidate.result.missing_left : heavier_left;
  split.left_sum = left;
  if (bins_.coding(split.feature).categorical()) {
    const SortedRow* const rows = sort_by_code(bins_, node->rows, split.feature, &scratch->sort);
    const uint32_t bins = bins_.value_bins(split.feature);
    const auto order = ordered_categories(*node, rows, count_present(rows, node->rows.n, bins));
    split.right_bins.assign(bins, heavier_left ? 0 : 1);
    for (size_t i = 0; i < order.size(); ++i)
      split.right_bins[order[i]] = i <= candidate.bin ? 0 : 1;
  }
  return split;
}

}  // namespace stagewise
