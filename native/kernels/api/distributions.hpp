// Interface of the kernels of distributions: negative log-likelihoods, and what trees are fitted
// to. Scores, and what is computed of them, are columns, `stride` rows apart.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

enum class Family : uint8_t {
  normal,
  laplace,
  student_t,
  student_t_of_df,  // the degrees of freedom are the parameter
  log_normal,
  gamma,
  weibull,
  beta,
  poisson,
  negative_binomial,
  zero_inflated_poisson,
  zero_inflated_negative_binomial,
  hurdle_poisson,
  hurdle_negative_binomial,
  count
};
constexpr size_t kMostScores = 3;
constexpr const char* kFamilyNames[] = {
    "normal",
    "laplace",
    "student_t",
    "student_t_of_df",
    "log_normal",
    "gamma",
    "weibull",
    "beta",
    "poisson",
    "negative_binomial",
    "zero_inflated_poisson",
    "zero_inflated_negative_binomial",
    "hurdle_poisson",
    "hurdle_negative_binomial",
};
constexpr size_t kFamilyScores[] = {2, 2, 3, 2, 2, 2, 2, 2, 1, 2, 2, 3, 2, 3};
static_assert(sizeof(kFamilyNames) / sizeof(char*) == static_cast<size_t>(Family::count));
static_assert(sizeof(kFamilyScores) / sizeof(size_t) == static_cast<size_t>(Family::count));

struct DistributionSpec {
  Family family = Family::normal;
  double parameter = 0.0;
  double low[kMostScores] = {}, high[kMostScores] = {};  // beyond, a score does not matter
};

struct DistributionRows {
  const double* y;
  const double* scores;
  size_t stride, n;
};

struct DistributionKernels {
  // loss[i] = -log p(y[i]).
  void (*distribution_losses)(const DistributionSpec& spec, const DistributionRows& rows,
                              double* loss);
  // And the gradients h n and hessians h of trees, n the natural gradient.
  void (*distribution_steps)(const DistributionSpec& spec, const DistributionRows& rows,
                             double* loss, double* gradient, double* hessian);
  // The gradient of the loss, and the Fisher information: the columns of the matrix, row by row.
  void (*distribution_information)(const DistributionSpec& spec, const DistributionRows& rows,
                                   double* gradient, double* information);
};

}  // namespace stagewise
