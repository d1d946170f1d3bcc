// The sample weights of a fit, as integers, so that sums of them are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stagewise {

class RowWeights {
 public:
  // weight: one per row, or empty if every weight is 1.
  RowWeights(std::span<const double> weight, size_t rows);
  // Without the weights themselves, which are elsewhere.
  RowWeights(bool whole, double total);

  bool all_one() const { return weight_.empty(); }
  std::span<const double> values() const { return weight_; }  // empty: all 1
  const double* data() const { return weight_.data(); }       // null: all 1
  double value(size_t row) const { return data() == nullptr ? 1.0 : data()[row]; }
  bool whole() const { return whole_; }  // all weights are integers
  double unit() const { return unit_; }  // integer units per unit of weight
  double total() const { return total_; }
  int64_t units(double least) const;  // the minimal count of a leaf with minimal weight `least`
  // Compares the pointer, not the size: loops that store integers need not load it again.
  int64_t operator[](size_t row) const { return data() == nullptr ? 1 : units_of(data()[row]); }
  int64_t units_of(double weight) const { return static_cast<int64_t>(weight * unit_ + 0.5); }

 private:
  std::span<const double> weight_;
  bool whole_ = true;
  double unit_ = 1.0;
  double total_;
};

}  // namespace stagewise
