// The loss of the rows of a fit: its sum, and the gradients of each of its scores.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "gradients/gradients.hpp"

namespace stagewise {

// What a loss reads must live as long as it does. Scores: those of all rows for the first output,
// then for the next.
class RowLoss {
 public:
  RowLoss(size_t rows, size_t outputs) : outputs_(outputs), gradients_(rows) {}
  virtual ~RowLoss() = default;
  RowLoss(const RowLoss&) = delete;
  RowLoss& operator=(const RowLoss&) = delete;

  size_t rows() const { return gradients_.rows(); }
  size_t outputs() const { return outputs_; }
  size_t scores() const { return rows() * outputs(); }

  // The sum of the losses.
  virtual double evaluate(Workers& workers, std::span<const double> score) = 0;

  // The gradients of an output at the scores of the last evaluation, which are passed again; only
  // those of outputs before it may have changed. The caller may change the gradients.
  virtual Gradients& gradients(Workers& workers, std::span<const double> score, size_t output) = 0;

 protected:
  std::span<const double> of_output(std::span<const double> score, size_t output) const {
    return score.subspan(output * rows(), rows());
  }

 private:
  size_t outputs_;

 protected:
  Gradients gradients_;
};

// A loss of one score whose rows do not depend on each other: one pass fills the gradients.
class KernelLoss final : public RowLoss {
 public:
  // Fills rows [begin, begin + n), as the blocks of Gradients::fill.
  using Block =
      std::function<void(const double* score, size_t begin, size_t n, GradientSlot*, LossSums*)>;

  KernelLoss(size_t rows, Block block) : RowLoss(rows, 1), block_(std::move(block)) {}

  double evaluate(Workers& workers, std::span<const double> score) override {
    gradients_.fill(workers, [&](size_t begin, size_t n, GradientSlot* out, LossSums* sums) {
      block_(score.data(), begin, n, out, sums);
    });
    taken_ = false;
    return gradients_.sums().loss;
  }
  // The sums of the last evaluation.
  LossTotals totals() const { return gradients_.totals(); }

  Gradients& gradients(Workers& workers, std::span<const double> score, size_t) override {
    if (taken_) evaluate(workers, score);
    taken_ = true;
    return gradients_;
  }

 private:
  Block block_;
  bool taken_ = true;
};

// A loss whose derivatives are computed for all rows and outputs at once.
class DerivativeLoss final : public RowLoss {
 public:
  // Returns the sum of the losses; sets one derivative per score, if there is room for them.
  using Derive = std::function<double(Workers& workers, std::span<const double> score,
                                      std::span<double> gradient, std::span<double> hessian)>;

  // with_losses: derivatives are needed for the losses, too.
  DerivativeLoss(size_t rows, size_t outputs, std::span<const double> weight, bool with_losses,
                 Derive derive)
      : RowLoss(rows, outputs), weight_(weight), derive_(std::move(derive)) {
    if (with_losses) make_room();
  }

  double evaluate(Workers& workers, std::span<const double> score) override {
    return derive_(workers, score, gradient_, hessian_);
  }

  Gradients& gradients(Workers& workers, std::span<const double> score, size_t output) override {
    if (gradient_.empty()) {  // so far the loss alone was evaluated, as for evaluation rows
      make_room();
      evaluate(workers, score);
    }
    gradients_.assign(workers, of_output(gradient_, output).data(),
                      of_output(hessian_, output).data(),
                      weight_.empty() ? nullptr : weight_.data());
    return gradients_;
  }

 private:
  void make_room() {
    gradient_.assign(scores(), 0.0);
    hessian_.assign(scores(), 0.0);
  }

  std::span<const double> weight_;
  Derive derive_;
  std::vector<double> gradient_, hessian_;
};

// A loss of several scores that keeps a state of every row, and not its gradients.
class StateLoss final : public RowLoss {
 public:
  using Evaluate = std::function<double(Workers& workers, std::span<const double> score)>;
  using Fill = std::function<void(Workers& workers, std::span<const double> score, size_t output,
                                  Gradients& gradients)>;

  StateLoss(size_t rows, size_t outputs, Evaluate evaluate, Fill fill)
      : RowLoss(rows, outputs), evaluate_(std::move(evaluate)), fill_(std::move(fill)) {}

  double evaluate(Workers& workers, std::span<const double> score) override {
    return evaluate_(workers, score);
  }

  Gradients& gradients(Workers& workers, std::span<const double> score, size_t output) override {
    fill_(workers, of_output(score, output), output, gradients_);
    return gradients_;
  }

 private:
  Evaluate evaluate_;
  Fill fill_;
};

}  // namespace stagewise
