// The weights of rows as integers, so that their sums are exact and do not depend on the order of
// the rows. Whole weights stay as they are while their sum is small; others are multiples of a
// power of two.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/row_weights.hpp"

namespace stagewise {

// The smallest e with x < 2^e; 0 for x = 0.
inline int exponent_above(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return exponent;
}

class IntegerWeights {
 public:
  explicit IntegerWeights(const RowWeights& weights);

  int64_t operator[](size_t row) const { return weight_.empty() ? 1 : weight_[row]; }
  // A weight is its integer times 2^-exponent.
  int exponent() const { return exponent_; }

 private:
  std::vector<int64_t> weight_;  // per row, with a sum of about 2^50 at most; empty: all 1
  int exponent_ = 0;
};

}  // namespace stagewise
