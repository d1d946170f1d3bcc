#include "grow/nodes/constraints.hpp"

#include <algorithm>
#include <bit>

#include "core/interrupt.hpp"
#include "grow/nodes/leaf.hpp"

namespace stagewise {
namespace {

bool overlap(const ValueRange& a, const ValueRange& b) {
  if (a.missing && b.missing) return true;
  if (a.bins.empty()) return std::max(a.first, b.first) <= std::min(a.last, b.last);
  for (size_t i = 0; i < a.bins.size(); ++i)
    if (a.bins[i] != 0 && b.bins[i] != 0) return true;
  return false;
}

// Whether some value of range a is at or below some value of range b.
bool can_rise(const ValueRange& a, const ValueRange& b) {
  return (a.missing && b.missing) || (a.first <= a.last && b.first <= b.last && a.first <= b.last);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

// The bits of negative numbers decrease while the numbers increase.
int64_t ordinal(double x) {
  const auto bits = std::bit_cast<int64_t>(x + 0.0);
  return bits >= 0 ? bits : std::numeric_limits<int64_t>::min() - bits;
}

Constraints::Constraints(const Bins& bins, const ConstraintRules& rules)
    : bins_(bins), rules_(rules) {
  monotone_ = std::any_of(rules.monotone.begin(), rules.monotone.end(),
                          [](int8_t direction) { return direction != 0; });
}

Region Constraints::child(const Region& parent, const Split& split, bool left) const {
  Region region = parent;
  auto at = std::find_if(region.begin(), region.end(),
                         [&](const ValueRange& r) { return r.feature >= split.feature; });
  if (at == region.end() || at->feature != split.feature) {
    ValueRange whole{split.feature, ordinal(-kInfinity), ordinal(kInfinity), {}, true};
    if (!split.right_bins.empty()) whole.bins.assign(split.right_bins.size(), 1);
    at = region.insert(at, std::move(whole));
  }
  if (!split.right_bins.empty()) {
    for (size_t b = 0; b < at->bins.size(); ++b)
      if ((split.right_bins[b] != 0) == left) at->bins[b] = 0;
  } else if (left) {
    at->last = std::min(at->last, ordinal(split.threshold));
  } else {
    at->first = std::max(at->first, ordinal(split.threshold) + 1);
  }
  at->missing = at->missing && split.missing_left == left;
  return region;
}

// A feature that only one of the regions restricts is no obstacle.
bool Constraints::below(const Region& a, const Region& b) const {
  auto in_a = a.begin();
  auto in_b = b.begin();
  while (in_a != a.end() && in_b != b.end()) {
    if (in_a->feature != in_b->feature) {
      ++(in_a->feature < in_b->feature ? in_a : in_b);
      continue;
    }
    const int way = direction(in_a->feature);
    const bool reachable = way == 0  ? overlap(*in_a, *in_b)
                           : way > 0 ? can_rise(*in_a, *in_b)
                                     : can_rise(*in_b, *in_a);
    if (!reachable) return false;
    ++in_a;
    ++in_b;
  }
  return true;
}

std::vector<uint8_t> Constraints::allowed(const Region& region) const {
  std::vector<uint8_t> allowed(bins_.features(), rules_.interaction_groups.empty() ? 1 : 0);
  if (rules_.max_interaction_order > 0 && region.size() >= rules_.max_interaction_order) {
    allowed.assign(bins_.features(), 0);
    for (const ValueRange& r : region) allowed[r.feature] = 1;
    return allowed;
  }
  for (const auto& group : rules_.interaction_groups) {
    const bool holds = std::all_of(region.begin(), region.end(), [&](const ValueRange& r) {
      return std::find(group.begin(), group.end(), r.feature) != group.end();
    });
    if (holds)
      for (const uint32_t feature : group) allowed[feature] = 1;
  }
  return allowed;
}

std::vector<Bounds> monotone_bounds(const Constraints& constraints,
                                    const std::vector<Region>& regions,
                                    const std::vector<double>& values) {
  std::vector<Bounds> found(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    check_interrupt();
    for (size_t j = 0; j < values.size(); ++j) {
      if (i == j || !constraints.below(regions[i], regions[j])) continue;
      // The same number for both, despite rounding.
      const double middle = std::max(values[i], std::min(values[j], values[i] / 2 + values[j] / 2));
      found[i].high = std::min(found[i].high, middle);
      found[j].low = std::max(found[j].low, middle);
    }
  }
  return found;
}

// Propagates bounds from leaf to leaf until nothing changes, since the relation is transitive.
std::vector<double> enforce_monotone(const Constraints& constraints,
                                     const std::vector<Region>& regions,
                                     const std::vector<double>& values) {
  std::vector<std::pair<size_t, size_t>> pairs;  // the first below the second
  for (size_t i = 0; i < values.size(); ++i) {
    check_interrupt();
    for (size_t j = 0; j < values.size(); ++j)
      if (i != j && constraints.below(regions[i], regions[j])) pairs.emplace_back(i, j);
  }
  std::vector<double> most_below = values, least_above = values;
  for (bool changed = true; changed;) {
    check_interrupt();
    changed = false;
    for (const auto& [low, high] : pairs) {
      if (most_below[low] > most_below[high]) {
        most_below[high] = most_below[low];
        changed = true;
      }
      if (least_above[high] < least_above[low]) {
        least_above[low] = least_above[high];
        changed = true;
      }
    }
  }
  std::vector<double> out(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    out[i] = most_below[i] == least_above[i] ? values[i] : most_below[i] / 2 + least_above[i] / 2;
  return out;
}

}  // namespace stagewise
