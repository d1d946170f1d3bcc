#include "cuts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "random.hpp"

namespace stagewise {
namespace {

struct Item {
  uint64_t key;
  double weight;
};

// Doubles as integers of the same order (negative ones have all bits flipped).
uint64_t order_key(double x) {
  x += 0.0;  // -0.0 and 0.0 are one value
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  return bits ^ ((bits >> 63) != 0 ? ~0ull : 1ull << 63);
}

double from_order_key(uint64_t key) {
  const uint64_t bits = key ^ ((key >> 63) != 0 ? 1ull << 63 : ~0ull);
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}

// Least significant digit first, eight bits at a time, skipping digits that all items share: a
// float32 column has only four to sort.
template <class T, class Key>
void radix_sort(std::vector<T>* items, Key key) {
  const size_t n = items->size();
  if (n < 256) {
    std::stable_sort(items->begin(), items->end(),
                     [&](const T& a, const T& b) { return key(a) < key(b); });
    return;
  }
  std::vector<size_t> counts(8 * 256, 0);
  for (const T& item : *items)
    for (size_t d = 0; d < 8; ++d) ++counts[d * 256 + ((key(item) >> (8 * d)) & 255)];
  std::vector<T> other(n);
  for (size_t d = 0; d < 8; ++d) {
    size_t* count = &counts[d * 256];
    if (std::any_of(count, count + 256, [n](size_t c) { return c == n; })) continue;
    size_t start = 0;
    for (size_t v = 0; v < 256; ++v) {
      const size_t c = count[v];
      count[v] = start;
      start += c;
    }
    for (const T& item : *items) other[count[(key(item) >> (8 * d)) & 255]++] = item;
    items->swap(other);
  }
}

struct Distinct {
  std::vector<double> value;
  std::vector<double> weight;
};

Distinct distinct_values(const Columns& table, size_t feature, const std::vector<uint32_t>& sample,
                         const double* weight) {
  Distinct out;
  const auto add = [&out](double value, double w) {
    if (out.value.empty() || out.value.back() != value) {
      out.value.push_back(value);
      out.weight.push_back(0.0);
    }
    out.weight.back() += w;
  };
  if (weight == nullptr) {
    std::vector<uint64_t> keys;
    keys.reserve(sample.size());
    for (const uint32_t row : sample) {
      const double x = table.at(feature, row);
      if (x == x) keys.push_back(order_key(x));
    }
    radix_sort(&keys, [](uint64_t k) { return k; });
    for (const uint64_t k : keys) add(from_order_key(k), 1.0);
  } else {
    std::vector<Item> items;
    items.reserve(sample.size());
    for (const uint32_t row : sample) {
      const double x = table.at(feature, row);
      if (x == x) items.push_back({order_key(x), weight[row]});
    }
    radix_sort(&items, [](const Item& i) { return i.key; });
    for (const Item& i : items) add(from_order_key(i.key), i.weight);
  }
  return out;
}

}  // namespace

std::vector<uint32_t> sample_for_cuts(size_t rows, size_t limit, uint64_t seed) {
  std::vector<uint32_t> sample;
  if (rows <= limit) {
    sample.resize(rows);
    for (size_t i = 0; i < rows; ++i) sample[i] = static_cast<uint32_t>(i);
    return sample;
  }
  const uint64_t key = draw_key(seed, Draw::cuts, 0);
  const double share = static_cast<double>(limit) / static_cast<double>(rows);
  const auto below = static_cast<uint64_t>(std::ldexp(share, 64));
  sample.reserve(limit + limit / 8);
  for (size_t i = 0; i < rows; ++i)
    if (draw(key, i) < below) sample.push_back(static_cast<uint32_t>(i));
  return sample;
}

double cut_between(double a, double b) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const double a32 = static_cast<double>(static_cast<float>(a));
  const double b32 = static_cast<double>(static_cast<float>(b));
  double low = std::max(a, a32), high = std::min(b, b32);
  if (!(low < high)) {
    low = a;
    high = b;
  }
  if (std::isinf(low)) return high > -kMax ? -kMax : low;  // low is -inf here
  if (std::isinf(high)) return kMax;
  const double middle = low / 2 + high / 2;
  return middle >= low && middle < high ? middle : low;
}

std::vector<double> find_cuts(const Columns& table, size_t feature,
                              const std::vector<uint32_t>& sample, const double* weight,
                              size_t max_bins) {
  const Distinct d = distinct_values(table, feature, sample, weight);
  std::vector<double> cuts;
  const size_t n = d.value.size();
  if (n < 2) return cuts;
  if (n <= max_bins) {
    for (size_t i = 0; i + 1 < n; ++i) cuts.push_back(cut_between(d.value[i], d.value[i + 1]));
    return cuts;
  }
  // Walk the values and close a bin once it holds its share of what is left. A value heavier than
  // a share starts a bin of its own, so that a spike at zero does not hide its neighbours.
  double left = 0.0;
  for (const double w : d.weight) left += w;
  size_t bins_left = max_bins;
  double held = 0.0;
  for (size_t i = 0; i + 1 < n && bins_left > 1; ++i) {
    held += d.weight[i];
    const double share = left / static_cast<double>(bins_left);
    if (held >= share || (d.weight[i + 1] >= share && held >= 0.25 * share)) {
      cuts.push_back(cut_between(d.value[i], d.value[i + 1]));
      left -= held;
      held = 0.0;
      --bins_left;
    }
  }
  return cuts;
}

}  // namespace stagewise
