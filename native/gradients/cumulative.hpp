// Losses of ordered classes, -log(G(b) - G(a)): the limits a < b of a row are the thresholds beside
// its class less its score, and G is the logistic or the normal distribution. Sums by class are
// what Newton's method for the thresholds needs. Slow reference: tests/reference/losses.py.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/threads.hpp"
#include "gradients/gradients.hpp"

namespace stagewise {

enum class Latent { logistic, normal };

// The derivatives of the loss of a row with respect to a and b.
struct Interval {
  double lower, upper, lower_lower, upper_upper, lower_upper;
};
constexpr size_t kIntervalNumbers = 5;

class CumulativeRows {
 public:
  // weight: empty: all ones. thresholds: one less than there are classes, increasing.
  CumulativeRows(std::span<const int32_t> y, std::span<const double> score,
                 std::span<const double> weight, std::span<const double> thresholds, Latent latent);

  // Fills the gradients and hessians of all rows; returns the weighted sum of the loss.
  double fill(Workers& workers, Gradients& gradients) const;

  // The weighted sums of the numbers of an interval by class: classes x kIntervalNumbers.
  std::vector<double> sums(Workers& workers) const;

 private:
  struct Class {
    double lower, upper;
    double inverse;  // 1 / (e^(upper - lower) - 1)
    double log_gap;  // log(1 - e^(lower - upper))
  };
  struct Slope {
    double loss, gradient, curvature;
  };
  Slope slope(size_t row) const;
  Interval interval(size_t row) const;
  Interval logistic(const Class& own, double score) const;
  Interval normal(const Class& own, double score, double* log_p) const;

  std::span<const int32_t> y_;
  std::span<const double> score_, weight_;
  std::vector<Class> classes_;
  Latent latent_;
};

}  // namespace stagewise
