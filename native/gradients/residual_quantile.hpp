// The quantile of |y - score| of all rows: the width of the Huber loss, asked for every round.
//
// One idea: values are made again in each of three passes (the largest; how many in each bucket;
// those of the right bucket) rather than kept, so that threads share nothing but a few counts.
#pragma once

#include "core/threads.hpp"

namespace stagewise {

// As weighted_quantile of these values; weight null: all ones.
double residual_quantile(Workers& workers, const double* y, const double* score,
                         const double* weight, size_t n, double q);

}  // namespace stagewise
