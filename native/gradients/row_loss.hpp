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
  // Fills the gradients at the scores of all rows, and returns the sum of the losses. What it reads
  // must live as long.
  using Fill =
      std::function<double(Workers& workers, std::span<const double> score, Gradients& gradients)>;

  RowLoss(size_t rows, Fill fill) : fill_(std::move(fill)), gradients_(rows) {}

  size_t rows() const { return gradients_.rows(); }

  // The sum of the losses at these scores.
  double evaluate(Workers& workers, std::span<const double> score) {
    taken_ = false;
    return fill_(workers, score, gradients_);
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
