// Interface of the loss kernels: gradients and hessians of blocks of rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/fixed_point.hpp"
#include "core/shard.hpp"
#include "kernels/api/formula.hpp"

namespace stagewise {

struct LossSums {
  double loss = 0.0;
  double abs_gradient = 0.0;  // these two choose a power of two: good to about 1e-5
  double hessian = 0.0;
};

struct LossKernels {
  // Losses: at most kRowBlock rows; weight may be null (all ones). Losses of numbers have one
  // number of their own, which only some of them use.
  using NumberLoss = void (*)(const double* y, const double* score, const double* weight, size_t n,
                              double parameter, GradientSlot* out, LossSums* sums);
  using LabelLoss = void (*)(const int32_t* y, const double* score, const double* weight, size_t n,
                             GradientSlot* out, LossSums* sums);
  NumberLoss squared, absolute, quantile, huber, poisson, gamma, tweedie, cross_entropy;
  LabelLoss logistic, exponential;
  // A loss that was compiled from a formula.
  void (*formula)(const FormulaProgram* program, const double* y, const double* score,
                  const double* weight, size_t n, GradientSlot* out, LossSums* sums);
  // softmax_state: per row (max score, 1 / sum exp(score - max)); scores are K columns `stride`
  // apart.
  void (*softmax_state)(const int32_t* y, const double* scores, size_t stride, size_t outputs,
                        const double* weight, size_t n, float* state, LossSums* sums);
  void (*softmax)(const int32_t* y, const double* score, const float* state, int32_t output,
                  const double* weight, size_t n, GradientSlot* out, LossSums* sums);

  // The same for the exponential loss of K classes; its state is one number per row.
  void (*exponential_state)(const int32_t* y, const double* scores, size_t stride, size_t outputs,
                            const double* weight, size_t n, float* state, LossSums* sums);
  void (*multiclass_exponential)(const int32_t* y, const float* state, int32_t output,
                                 size_t outputs, const double* weight, size_t n, GradientSlot* out,
                                 LossSums* sums);
};

}  // namespace stagewise
