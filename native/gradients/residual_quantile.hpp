// The quantile of |y - score| over all rows: the width of the Huber loss, computed every round.
// Three passes (the largest value, counts per bucket, the values of one bucket) compute the values
// again, so threads share only a few counts.
#pragma once

#include <span>

#include "core/threads.hpp"

namespace stagewise {

// Equals weighted_quantile() of these values; weight empty: all ones.
double residual_quantile(Workers& workers, std::span<const double> y, std::span<const double> score,
                         std::span<const double> weight, double q);

}  // namespace stagewise
