// The quantile of |y - score| over all rows: the width of the Huber loss, computed every round.
// Three passes (the largest value, counts per bucket, the values of one bucket) compute the values
// again, so threads share only a few counts.
#pragma once

#include "core/threads.hpp"

namespace stagewise {

// Equals weighted_quantile() of these values; weight null: all ones.
double residual_quantile(Workers& workers, const double* y, const double* score,
                         const double* weight, size_t n, double q);

}  // namespace stagewise
