#include "grow/finders/sorted_rows/integer_target.hpp"

#include <algorithm>
#include <cmath>

#include "core/integer_weights.hpp"
#include "core/radix_sort.hpp"

namespace stagewise {
namespace {

constexpr int kValueBits = 60;

}  // namespace

IntegerTarget::IntegerTarget(std::span<const double> y) : y_(y), rank_(y.size()) {
  const size_t rows = y.size();
  std::vector<uint32_t> order(rows);
  for (size_t i = 0; i < rows; ++i) order[i] = static_cast<uint32_t>(i);
  radix_sort(&order, [=](uint32_t row) { return order_key<uint64_t>(y[row]); });
  if (rows == 0) return;
  // Relative to the middle, so that a large offset costs no precision.
  const double middle = y[order.front()] / 2 + y[order.back()] / 2;
  exponent_ =
      kValueBits - exponent_above(std::max(middle - y[order.front()], y[order.back()] - middle));
  for (size_t i = 0; i < rows; ++i) {
    const double x = y[order[i]];
    if (i == 0 || x != y[order[i - 1]])
      values_.push_back(static_cast<int64_t>(std::ldexp(x - middle, exponent_)));
    rank_[order[i]] = static_cast<uint32_t>(values_.size() - 1);
  }
}

}  // namespace stagewise
