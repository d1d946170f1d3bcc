// Targets as integers, so that sums of their differences are exact, and their ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stagewise {

class IntegerTarget {
 public:
  explicit IntegerTarget(std::span<const double> y);  // y: finite

  double y(size_t row) const { return y_[row]; }
  uint32_t rank(size_t row) const { return rank_[row]; }  // among the distinct values
  int64_t value(uint32_t rank) const { return values_[rank]; }
  // A difference of targets is that of their integers times 2^-exponent.
  int exponent() const { return exponent_; }

 private:
  std::span<const double> y_;
  std::vector<uint32_t> rank_;   // per row
  std::vector<int64_t> values_;  // per rank: below 2^60
  int exponent_ = 0;
};

}  // namespace stagewise
