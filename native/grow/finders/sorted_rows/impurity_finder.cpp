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
    : SortedRowFinder(bins, rules, weights),
      sums_(target, weights, integer_weights_, rules.poisson) {}

void ImpurityFinder::set_sums(const RowIndex& rows, Leaf* leaf) const {
  leaf->vector.assign(sums_.lanes(), 0);
  leaf->packed_sum = 0;
  leaf->pure = true;
  std::optional<uint32_t> first;
  for_each_block(rows.n, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint32_t row = rows[i];
      if (!has_weight(row)) continue;
      sums_.add(row, leaf->vector.data());
      leaf->packed_sum += integer_weights_[row];
      if (!first) first = row;
      leaf->pure = leaf->pure && sums_.equal(*first, row);
    }
  });
  if (sums_.outputs() == 1 && leaf->packed_sum > 0)
    leaf->value = sums_.value(leaf->vector.data(), leaf->packed_sum);
}

void ImpurityFinder::begin_scores(Scan* node) const {
  const Leaf& leaf = *node->leaf;
  node->centre.assign(sums_.lanes(), 0);
  if (!sums_.has_classes() && !rules_.poisson)
    for (size_t k = 0; k < sums_.lanes(); ++k)
      node->centre[k] =
          std::llrint(static_cast<double>(leaf.vector[k]) / static_cast<double>(leaf.packed_sum));
  node->unsplit = score(*node, leaf.vector.data(), leaf.packed_sum);
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

ScanResult ImpurityFinder::best_cut(const Scan& node, uint32_t feature, const OrderedRows& rows,
                                    const Positions& within, Scratch* scratch) const {
  const bool missing = any_weight(rows, rows.present);
  ScanResult best;  // ties: the first, and missing values on the right
  for (const bool to_left : {false, true}) {
    if (to_left && !missing) break;
    std::fill(scratch->left.begin(), scratch->left.end(), 0);
    Side left;
    const auto add = [&](size_t i) {
      const uint32_t row = rows[i].row;
      if (!has_weight(row)) return;
      sums_.add(row, scratch->left.data());
      left.weight += integer_weights_[row];
      left.count += weights_[row];
    };
    for (size_t i = rows.present; to_left && i < rows.n; ++i) add(i);
    for_each_block(within.last, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        add(i);
        if (i < within.first || !rows.ends_code(i)) continue;
        const double found = cut_score(node, feature, left, scratch);
        if (found > best.score) best = {found, i, to_left, left.weight};
      }
    });
  }
  best.missing_seen = missing;
  return best;
}

// Of two classes one order is enough; with random cuts, one random lane.
Positions ImpurityFinder::category_orders(const Scan& node, uint32_t feature) const {
  const size_t lanes = sums_.lanes();
  Positions by{sums_.outputs() == 1 && lanes == 2 ? size_t{1} : 0, lanes};
  if (rules_.random_thresholds) {
    by.first += ((draw(draw(node.key, feature), lanes) >> 32) * (by.last - by.first)) >> 32;
    by.last = by.first + 1;
  }
  return by;
}

std::vector<uint32_t> ImpurityFinder::ordered_categories(const Scan&, const OrderedRows& rows,
                                                         size_t lane) const {
  std::vector<CategoryCentre<double>> categories;
  std::vector<int64_t> sums(sums_.lanes(), 0);
  int64_t weight = 0;
  for (size_t i = 0; i < rows.present; ++i) {
    if (has_weight(rows[i].row)) {
      sums_.add(rows[i].row, sums.data());
      weight += integer_weights_[rows[i].row];
    }
    if (!rows.ends_code(i)) continue;
    if (weight > 0)
      categories.push_back(
          {static_cast<double>(sums[lane]) / static_cast<double>(weight), rows[i].rank});
    std::fill(sums.begin(), sums.end(), 0);
    weight = 0;
  }
  return codes_by_centre(std::move(categories));
}

}  // namespace stagewise
