// The weighted quantile: the least v such that the weight at or below v reaches q of the whole.
// Where a value reaches it exactly, the middle between it and the next: the usual median.
// Weight 2 is the same as the value twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagewise {

// Keeps only values among which the k-th smallest is, and says how many smaller ones are gone;
// `above` becomes the least of the larger ones that are gone. Values are counted in buckets of
// equal width: three passes without a branch to mispredict, where nth_element has many. Far
// outliers only make it keep more.
inline size_t narrow_down(std::vector<double>* values, size_t k, double* above) {
  constexpr size_t kBuckets = 1024;
  const auto [least, most] = std::minmax_element(values->begin(), values->end());
  const double low = *least, width = *most - low;
  const double scale = static_cast<double>(kBuckets - 1) / width;
  if (!(width > 0.0) || !(scale > 0.0) || !std::isfinite(scale * width)) return 0;
  const auto bucket = [=](double v) { return static_cast<uint32_t>((v - low) * scale); };
  uint32_t counts[kBuckets + 1] = {};
  for (const double v : *values) ++counts[bucket(v)];
  uint32_t own = 0;
  size_t before = 0;
  for (; before + counts[own] <= k; ++own) before += counts[own];
  double next = std::numeric_limits<double>::infinity();
  size_t kept = 0;
  for (const double v : *values) {
    const uint32_t b = bucket(v);
    (*values)[kept] = v;  // never ahead of what is read
    kept += b == own ? 1 : 0;
    next = b > own && v < next ? v : next;
  }
  values->resize(kept);
  *above = next;
  return before;
}

inline double plain_quantile(std::vector<double>* values, double q) {
  const size_t n = values->size();
  const double reach = q * static_cast<double>(n);
  const double up = std::ceil(reach);
  const size_t k = up < 1.0 ? 0 : std::min(n - 1, static_cast<size_t>(up) - 1);
  constexpr size_t kMany = 2048;
  double above = std::numeric_limits<double>::infinity();
  const size_t gone = n > kMany ? narrow_down(values, k, &above) : 0;
  const auto at = values->begin() + static_cast<ptrdiff_t>(k - gone);
  std::nth_element(values->begin(), at, values->end());
  const double low = *at;
  if (up != reach || up < 1.0 || k + 1 >= n) return low;
  const double high = at + 1 == values->end() ? above : *std::min_element(at + 1, values->end());
  return low + (high - low) / 2;
}

// Reorders `values`, or drops some. `weight` empty: all ones.
inline double weighted_quantile(std::vector<double>* values, const std::vector<double>& weight,
                                double q) {
  if (values->empty()) return 0.0;
  if (weight.empty()) return plain_quantile(values, q);
  std::vector<size_t> order;
  for (size_t i = 0; i < values->size(); ++i)
    if (weight[i] > 0.0) order.push_back(i);  // weight zero: the value is absent
  if (order.empty()) return 0.0;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return (*values)[a] != (*values)[b] ? (*values)[a] < (*values)[b] : a < b;
  });
  double total = 0.0;
  for (const size_t i : order) total += weight[i];
  const double reach = q * total;
  double held = 0.0;
  for (size_t k = 0; k < order.size(); ++k) {
    held += weight[order[k]];
    if (held < reach) continue;
    const double low = (*values)[order[k]];
    if (held != reach || k + 1 == order.size() || reach == 0.0) return low;
    return low + ((*values)[order[k + 1]] - low) / 2;
  }
  return (*values)[order.back()];
}

}  // namespace stagewise
