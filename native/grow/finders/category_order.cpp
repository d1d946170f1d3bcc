#include "grow/finders/category_order.hpp"

#include <algorithm>

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

std::vector<uint32_t> in_order(std::vector<Ranked>* ranked) {
  std::sort(ranked->begin(), ranked->end());
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
