// The loss of the rows of a fit with one score each: its value, and the gradients that it fills in
// the same pass.
#pragma once

#include <functional>
#include <span>
#include <utility>

#include "gradients/gradients.hpp"

namespace stagewise {

class RowLoss {
 public:
  // As the blocks of Gradients::fill, of the scores of all rows.
  using Fill =
      std::function<void(const double* score, size_t begin, size_t n, GradientSlot*, LossSums*)>;

  // Arrays that `fill` reads must live as long.
  RowLoss(size_t rows, Fill fill) : fill_(std::move(fill)), gradients_(rows) {}

  size_t rows() const { return gradients_.rows(); }

  // The sum of the losses at these scores.
  double evaluate(Workers& workers, std::span<const double> score) {
    gradients_.fill(workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
      fill_(score.data(), begin, n, out, sums);
    });
    taken_ = false;
    return gradients_.sums().loss;
  }

  // The gradients at the scores of the last evaluation, which are passed again: the caller may
  // change the gradients, and then they are filled again.
  Gradients& gradients(Workers& workers, std::span<const double> score) {
    if (taken_) evaluate(workers, score);
    taken_ = true;
    return gradients_;
  }

 private:
  Fill fill_;
  Gradients gradients_;
  bool taken_ = true;
};

}  // namespace stagewise
