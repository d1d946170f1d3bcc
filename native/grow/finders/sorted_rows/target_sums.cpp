#include "grow/finders/sorted_rows/target_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewise {
namespace {

constexpr int kSumBits = 61;

}  // namespace

TargetSums::TargetSums(const ImpurityTarget& target, const RowWeights& weights,
                       const IntegerWeights& integers, bool non_negative)
    : target_(target), weight_(integers) {
  if (!has_classes()) {
    set_values(weights, non_negative);
    return;
  }
  for (const size_t n : target_.n_classes) {
    first_lane_.push_back(lanes_);
    lanes_ += n;
  }
  first_lane_.push_back(lanes_);
  unit_.assign(lanes_, 1.0);
}

// The smallest and the largest value of a target among the rows with a weight.
Bounds TargetSums::range(size_t output, const RowWeights& weights) const {
  Bounds found{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (size_t at = output, row = 0; at < target_.y.size(); at += target_.outputs, ++row) {
    if (weights.value(row) == 0.0) continue;
    found.low = std::min(found.low, target_.y[at]);
    found.high = std::max(found.high, target_.y[at]);
  }
  return found.low <= found.high ? found : Bounds{0.0, 0.0};
}

// Whole weights multiply the integer of a value, so that a row of weight 2 is the row twice. Values
// are relative to the middle of their range, so that a large offset costs no precision.
void TargetSums::set_values(const RowWeights& weights, bool non_negative) {
  const size_t outputs = target_.outputs;
  lanes_ = outputs;
  for (size_t k = 0; k <= outputs; ++k) first_lane_.push_back(k);
  value_.assign(target_.y.size(), 0);
  const int weight_bits = exponent_above(std::max(weights.total(), 1.0));
  for (size_t k = 0; k < outputs; ++k) {
    const Bounds ends = range(k, weights);
    const double middle = non_negative ? 0.0 : ends.low / 2 + ends.high / 2;
    const int exponent =
        kSumBits - weight_bits - exponent_above(std::max(ends.high - middle, middle - ends.low));
    for (size_t at = k, row = 0; at < target_.y.size(); at += outputs, ++row) {
      const double y = target_.y[at] - middle, w = weights.value(row);
      if (w == 0.0) continue;
      value_[at] = weights.whole() ? std::llrint(std::ldexp(y, exponent)) * std::llrint(w)
                                   : std::llrint(std::ldexp(y * w, exponent));
    }
    middle_.push_back(middle);
    // A sum is a multiple of 2^-exponent, and a weight of 2^-weight_.exponent().
    unit_.push_back(std::ldexp(1.0, weight_.exponent() - exponent));
  }
}

bool TargetSums::equal(size_t a, size_t b) const {
  for (size_t k = 0; k < target_.outputs; ++k) {
    const size_t i = a * target_.outputs + k, j = b * target_.outputs + k;
    if (has_classes() ? target_.class_of[i] != target_.class_of[j] : target_.y[i] != target_.y[j])
      return false;
  }
  return true;
}

double TargetSums::real_weight(int64_t weight) const {
  return std::ldexp(static_cast<double>(weight), -weight_.exponent());
}

double TargetSums::value(const int64_t* sums, int64_t weight) const {
  const auto w = static_cast<double>(weight);
  if (has_classes()) return static_cast<double>(sums[1] - sums[0]) / w;
  return middle_[0] + static_cast<double>(sums[0]) / w * unit_[0];
}

}  // namespace stagewise
