#include "core/integer_weights.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr int kSumBits = 50;

}  // namespace

IntegerWeights::IntegerWeights(const RowWeights& weights) {
  if (weights.all_one()) return;
  exponent_ = kSumBits - exponent_above(weights.total());
  if (weights.whole()) exponent_ = std::min(exponent_, 0);
  weight_.reserve(weights.values().size());
  for (const double w : weights.values())
    weight_.push_back(static_cast<int64_t>(std::floor(std::ldexp(w, exponent_) + 0.5)));
}

}  // namespace stagewise
