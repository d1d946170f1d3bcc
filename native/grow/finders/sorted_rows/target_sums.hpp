// Sums of the targets of rows as integers, so that they are exact: they depend neither on the order
// of the rows nor on whether a row is repeated or has a weight. A node has one lane per numeric
// target, or one per class of each target, and the weight of its rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/integer_weights.hpp"
#include "grow/nodes/constraints.hpp"

namespace stagewise {

// The targets of rows: numbers, or classes. Both row by row.
struct ImpurityTarget {
  std::span<const double> y;          // per row and target; empty: classes
  std::span<const int32_t> class_of;  // per row and target, below n_classes of the target
  std::vector<size_t> n_classes;      // per target; empty: numbers
  size_t outputs = 1;                 // the number of targets
};

class TargetSums {
 public:
  // integers: of the weights; they must live as long. non_negative: numbers are not centred, so
  // that no sum is negative.
  TargetSums(const ImpurityTarget& target, const RowWeights& weights,
             const IntegerWeights& integers, bool non_negative);

  size_t outputs() const { return target_.outputs; }
  size_t lanes() const { return lanes_; }
  bool has_classes() const { return !target_.n_classes.empty(); }
  // The lanes of one target: [first_lane(k), first_lane(k + 1)).
  size_t first_lane(size_t output) const { return first_lane_[output]; }

  void add(size_t row, int64_t* sums) const {
    const size_t at = row * target_.outputs;
    if (has_classes()) {
      for (size_t k = 0; k < target_.outputs; ++k)
        sums[first_lane_[k] + static_cast<size_t>(target_.class_of[at + k])] += weight_[row];
    } else {
      for (size_t k = 0; k < target_.outputs; ++k) sums[k] += value_[at + k];
    }
  }
  bool equal(size_t a, size_t b) const;  // whether two rows have the same targets

  double real_weight(int64_t weight) const;               // in the units of the weights
  double unit(size_t lane) const { return unit_[lane]; }  // of a sum, per unit of weight
  // The prediction of a node with one output: the mean, or p_1 - p_0 of two classes.
  double value(const int64_t* sums, int64_t weight) const;

 private:
  void set_values(const RowWeights& weights, bool non_negative);
  Bounds range(size_t output, const RowWeights& weights) const;

  const ImpurityTarget target_;
  size_t lanes_ = 0;
  std::vector<size_t> first_lane_;
  const IntegerWeights& weight_;
  std::vector<int64_t> value_;  // per row and target: weight times value; |sum| below 2^61
  std::vector<double> middle_;  // per target: what is subtracted from its values
  std::vector<double> unit_;    // per lane
};

}  // namespace stagewise
