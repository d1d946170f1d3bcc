// The weighted quantile: the smallest v such that the weight at or below v reaches q times the
// total. If a value reaches it exactly, the midpoint between it and the next value, as in the usual
// median. Weight 2 is the same as the value twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagewise {

// Keeps only values near the k-th smallest one; returns the number of smaller values that were
// removed. If the k-th is the largest one kept, `above` becomes the smallest of the larger values
// that were removed. Values are counted in buckets of equal width: passes with no branch to
// mispredict, where nth_element has many. Far outliers only make it keep more.
inline size_t narrow_down(std::vector<double>* values, size_t k, double* above) {
  constexpr size_t kBuckets = 1024, kLanes = 4;
  const double* const v = values->data();
  const size_t n = values->size();
  double least[kLanes], most[kLanes];  // independent lanes hide latency
  for (size_t j = 0; j < kLanes; ++j) least[j] = most[j] = v[0];
  for (size_t i = 0; i + kLanes <= n; i += kLanes)
    for (size_t j = 0; j < kLanes; ++j) {
      least[j] = v[i + j] < least[j] ? v[i + j] : least[j];
      most[j] = v[i + j] > most[j] ? v[i + j] : most[j];
    }
  for (size_t i = n / kLanes * kLanes; i < n; ++i) {
    least[0] = std::min(least[0], v[i]);
    most[0] = std::max(most[0], v[i]);
  }
  const double low = *std::min_element(least, least + kLanes);
  const double width = *std::max_element(most, most + kLanes) - low;
  const double scale = static_cast<double>(kBuckets - 1) / width;
  if (!(width > 0.0) || !(scale > 0.0) || !std::isfinite(scale * width)) return 0;
  std::vector<uint16_t> bucket(n);
  for (size_t i = 0; i < n; ++i)
    bucket[i] = static_cast<uint16_t>(static_cast<int32_t>((v[i] - low) * scale));
  uint32_t counts[kBuckets + 1] = {}, others[kBuckets + 1] = {};  // two histograms, likewise
  for (size_t i = 0; i + 2 <= n; i += 2) {
    ++counts[bucket[i]];
    ++others[bucket[i + 1]];
  }
  if (n % 2 != 0) ++counts[bucket[n - 1]];
  for (size_t b = 0; b <= kBuckets; ++b) counts[b] += others[b];
  uint32_t own = 0;
  size_t before = 0;
  for (; before + counts[own] <= k; ++own) before += counts[own];
  if (before + counts[own] == k + 1)  // the next one is not kept
    for (size_t i = 0; i < n; ++i) *above = bucket[i] > own && v[i] < *above ? v[i] : *above;
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i)
    if (bucket[i] == own) (*values)[kept++] = v[i];  // few; kept <= i
  values->resize(kept);
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
    if (weight[i] > 0.0) order.push_back(i);  // weight 0: the value is ignored
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
