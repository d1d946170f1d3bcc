#include "grow/finders/finder.hpp"

#include <algorithm>

#include "core/random.hpp"

namespace stagewise {

int64_t least_split_count(const TreeRules& rules, const RowWeights& weights) {
  return std::max(2 * weights.units(rules.min_samples_leaf),
                  weights.units(rules.min_samples_split));
}

size_t draw_position(const NodeScan& scan, uint32_t feature, size_t first, size_t last) {
  if (last <= first + 1) return first;
  return first + static_cast<size_t>((draw(scan.key, feature) >> 32) * (last - first) >> 32);
}

bool any_missing(const Bins& bins, const RowWeights& weights, const RowIndex& rows,
                 uint32_t feature) {
  if (!bins.has_missing(feature)) return false;
  const uint32_t missing = bins.value_bins(feature);
  for (size_t i = 0; i < rows.n; ++i)
    if (bins.code(rows[i], feature) == missing && weights[rows[i]] != 0) return true;
  return false;
}

}  // namespace stagewise
