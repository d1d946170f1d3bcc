#include "core/row_weights.hpp"

#include <cmath>

#include "core/exact_sum.hpp"

namespace stagewise {
namespace {

// Units per unit of weight when weights are not integers: fine enough for any min_samples_leaf.
constexpr double kFractionUnit = 1048576.0;
// Sums of integers up to this one are exact.
constexpr double kExactTotal = 9007199254740992.0;

}  // namespace

RowWeights::RowWeights(std::span<const double> weight, size_t rows)
    : weight_(weight), total_(static_cast<double>(rows)) {
  if (weight.empty()) return;
  total_ = 0.0;
  for (const double w : weight) {
    total_ += w;
    whole_ = whole_ && w == std::floor(w);
  }
  if (!whole_) unit_ = kFractionUnit;
  if (whole_ && total_ < kExactTotal) return;
  ExactSum sum;
  sum.add_all(weight.data(), nullptr, weight.size());
  total_ = sum.value();
}

RowWeights::RowWeights(bool whole, double total)
    : whole_(whole), unit_(whole ? 1.0 : kFractionUnit), total_(total) {}

// Integer weights: the next integer. Other weights are rounded to the unit themselves.
int64_t RowWeights::units(double least) const {
  return static_cast<int64_t>(whole_ ? std::ceil(least * unit_) : std::floor(least * unit_ + 0.5));
}

}  // namespace stagewise
