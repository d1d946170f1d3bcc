#include "grow/finders/sorted_rows/median_finder.hpp"

#include <algorithm>

#include "core/interrupt.hpp"
#include "core/quantile.hpp"
#include "core/radix_sort.hpp"

namespace stagewise {

MedianFinder::MedianFinder(const Bins& bins, const TreeRules& rules, const RowWeights& weights,
                           std::span<const double> target)
    : SortedRowFinder(bins, rules, weights),
      target_(target),
      place_(make_large_array<uint32_t>(bins.rows())) {}

void MedianFinder::set_sums(const RowIndex& rows, Leaf* leaf) const {
  std::vector<double> values(rows.n), weight;
  uint32_t least = UINT32_MAX, most = 0;
  for (size_t i = 0; i < rows.n; ++i) {
    const uint32_t row = rows[i];
    values[i] = target_.y(row);
    if (!weights_.all_one()) weight.push_back(weights_.value(row));
    if (!has_weight(row)) continue;
    leaf->packed_sum += integer_weights_[row];
    least = std::min(least, target_.rank(row));
    most = std::max(most, target_.rank(row));
  }
  leaf->pure = least >= most;
  leaf->value = weighted_quantile(&values, weight, 0.5);
}

// Lists the distinct targets of the node in order, and the position of each row's target.
void MedianFinder::begin_scores(Scan* node) const {
  const RowIndex& rows = node->rows;
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
    for (size_t i = begin; i < end; ++i) whole.add(place_[rows[i]], integer_weights_[rows[i]]);
  });
  node->unsplit = -static_cast<double>(whole.cost());
}

ScanResult MedianFinder::best_cut(const Scan& node, uint32_t, const OrderedRows& rows,
                                  const Positions& within, Scratch* scratch) const {
  const size_t present = rows.present;
  RunningMedian& median = scratch->median;
  auto& costs = scratch->costs;
  if (costs.size() < present) costs.resize(present);
  const auto begin_side = [&](bool with_missing) {
    median.start(node.targets.data(), node.targets.size());
    int64_t count = 0;
    for (size_t i = present; with_missing && i < rows.n; ++i) {
      median.add(place_[rows[i].row], integer_weights_[rows[i].row]);
      count += weights_[rows[i].row];
    }
    return count;
  };
  const bool missing = any_weight(rows, present);
  ScanResult best;
  best.missing_seen = missing;
  for (const bool to_left : {false, true}) {
    if (to_left && !missing) break;
    ScanResult own;  // ties: the first, and missing values on the right
    begin_side(to_left);
    for_each_block(within.last, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        median.add(place_[rows[i].row], integer_weights_[rows[i].row]);
        if (i >= within.first && rows.ends_code(i)) costs[i] = median.cost();
      }
    });
    int64_t count = begin_side(!to_left);
    const int64_t all = node.leaf->packed_sum;
    for_each_block(present - within.first, [&](size_t begin, size_t end) {
      for (size_t i = present - begin; i-- > present - end;) {
        if (i < within.last && rows.ends_code(i)) {
          const bool heavy = count >= min_count_ && node.leaf->count - count >= min_count_ &&
                             median.weight() > 0 && median.weight() < all;
          const double score = heavy ? -static_cast<double>(costs[i] + median.cost()) : kNoSplit;
          if (heavy && score >= own.score) own = {score, i, to_left, all - median.weight()};
        }
        median.add(place_[rows[i].row], integer_weights_[rows[i].row]);
        count += weights_[rows[i].row];
      }
    });
    own.missing_seen = missing;
    if (own.score > best.score) best = own;
  }
  return best;
}

std::vector<uint32_t> MedianFinder::ordered_categories(const Scan& node, const OrderedRows& rows,
                                                       size_t) const {
  std::vector<CategoryCentre<int64_t>> categories;  // by twice the median
  std::vector<std::pair<uint32_t, int64_t>> own;  // positions and weights of the rows of a category
  for (size_t i = 0; i < rows.present; ++i) {
    const uint32_t row = rows[i].row;
    if (has_weight(row)) own.emplace_back(place_[row], integer_weights_[row]);
    if (!rows.ends_code(i) || own.empty()) continue;
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
  return codes_by_centre(std::move(categories));
}

}  // namespace stagewise
