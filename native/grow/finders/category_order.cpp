#include "grow/finders/category_order.hpp"

#include <algorithm>
#include <utility>

#include "core/radix_sort.hpp"

namespace stagewise {
namespace {

// If sorted means differ by chance only, a cut in the middle explains 2 / pi of their squares. The
// best cut of a numeric feature also gains by chance: about the largest of twenty squares.
constexpr double kPerCategory = 0.6366197723675814, kNumericGain = 6.0;

struct Ranked {
  double value;
  uint32_t bin;

  bool operator<(const Ranked& other) const {
    return value != other.value ? value < other.value : bin < other.bin;
  }
};

// With fewer, comparisons are faster than digits.
constexpr size_t kFew = 32;

// Bins in increasing order are sorted by the leading 32 bits of their values, eight at a time from
// the lowest on, so that nothing is predicted; then those with equal bits by comparisons.
void sort_by_digits(std::vector<Ranked>* ranked) {
  constexpr size_t kDigits = 4, kSize = 256, kLow = 32;
  const size_t n = ranked->size();
  std::vector<uint64_t> items(n), other(n);  // the leading bits, and the place in `ranked`
  uint32_t counts[kDigits][kSize] = {};
  for (size_t i = 0; i < n; ++i) {
    items[i] = (order_key<uint64_t>((*ranked)[i].value) >> kLow << kLow) | i;
    for (size_t d = 0; d < kDigits; ++d) ++counts[d][items[i] >> (kLow + 8 * d) & 255];
  }
  for (size_t d = 0; d < kDigits; ++d) {
    uint32_t start = 0;
    for (uint32_t& count : counts[d]) start += std::exchange(count, start);
    for (const uint64_t item : items) other[counts[d][item >> (kLow + 8 * d) & 255]++] = item;
    items.swap(other);
  }
  const std::vector<Ranked> before(*ranked);
  for (size_t i = 0; i < n; ++i) (*ranked)[i] = before[static_cast<uint32_t>(items[i])];
  for (size_t begin = 0, end = 1; begin < n; begin = end++) {
    while (end < n && items[end] >> kLow == items[begin] >> kLow) ++end;
    if (end > begin + 1)
      std::sort(ranked->begin() + static_cast<ptrdiff_t>(begin),
                ranked->begin() + static_cast<ptrdiff_t>(end));
  }
}

std::vector<uint32_t> in_order(std::vector<Ranked>* ranked) {
  if (ranked->size() < kFew) {
    std::sort(ranked->begin(), ranked->end());
  } else {
    sort_by_digits(ranked);
  }
  std::vector<uint32_t> order;
  order.reserve(ranked->size());
  for (const Ranked& r : *ranked) order.push_back(r.bin);
  return order;
}

}  // namespace

double chance_of_order(size_t categories) {
  return std::max(0.0, kPerCategory * static_cast<double>(categories - 1) - kNumericGain);
}

std::vector<uint32_t> ordered_bins(const int64_t* packed_sums, size_t bins, double smoothing) {
  std::vector<Ranked> ranked;
  ranked.reserve(bins);
  for (size_t b = 0; b < bins; ++b) {
    if (packed_sums[b] == 0) continue;
    const auto g = static_cast<double>(packed_gradient(packed_sums[b]));
    const auto h = static_cast<double>(packed_hessian(packed_sums[b]));
    ranked.push_back({h + smoothing > 0.0 ? g / (h + smoothing) : 0.0, static_cast<uint32_t>(b)});
  }
  return in_order(&ranked);
}

std::vector<uint32_t> ordered_bins(const ClassScanInput& sums, size_t by_class) {
  std::vector<Ranked> ranked;
  for (size_t b = 0; b < sums.bins; ++b) {
    double all = 0.0, own = 0.0;
    bool any = false;
    for (size_t k = 0; k < sums.node.classes; ++k) {
      const int64_t packed_sum = sums.packed_sum(b, k);
      any = any || packed_sum != 0;
      const auto weight = static_cast<double>(packed_gradient(packed_sum));
      all += weight;
      if (k == by_class) own = weight;
    }
    if (any) ranked.push_back({all > 0.0 ? own / all : 0.0, static_cast<uint32_t>(b)});
  }
  return in_order(&ranked);
}

}  // namespace stagewise
