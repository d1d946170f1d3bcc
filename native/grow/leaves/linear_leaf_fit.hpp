// Fits linear models in the leaves of a tree: a small ridge regression in each. The sums that a
// model needs (means, squares and products of its features, weighted by hessians) are computed for
// parts of the rows of a leaf, about the mean of the part, and merged (Chan, Golub & LeVeque 1983).
// Parts are fixed ranges of the table, merged in order, so threads and instruction sets do not
// change a bit. Sums about means, and features scaled by powers of two, keep full precision for any
// offset and unit of a feature.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"
#include "grow/finders/packed_sums/gradient_finder.hpp"
#include "grow/leaves/leaf_statistics.hpp"
#include "grow/nodes/tree.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// Sums over the rows without missing features: weight w, gradient g, hessian h.
class LinearLeafSums {
 public:
  explicit LinearLeafSums(size_t features = 0)
      : mean(features), cross(features), square(features * (features + 1) / 2) {}

  double weight = 0.0, gradient = 0.0, hessian = 0.0;
  bool complete = true;        // no row was left out
  std::vector<double> mean;    // of each feature, by h
  std::vector<double> cross;   // sum of g (x - mean)
  std::vector<double> square;  // of h (x - mean) (x' - mean'), for pairs x' at or before x

  size_t features() const { return mean.size(); }
  double of_pair(size_t a, size_t b) const { return square[a * (a + 1) / 2 + b]; }  // b <= a
  void merge(const LinearLeafSums& other);
};

// slope: of each feature; all 0: there is no linear model. spread: the standard deviation, weighted
// by h, of the predictions.
struct Slopes {
  std::vector<double> slope;
  double spread = 0.0;
};

// A feature of a leaf and the power of two that it is multiplied by.
struct LinearFeature {
  uint32_t number;
  Column column;
  double unit;
};

// The slopes u of standardised features that minimise sum(g f + h f^2 / 2) + l2 u.u / 2 for
// f = u.z, in units of the features. A feature has slope 0 if it is constant in the leaf, depends
// linearly on others, or its slope would violate its direction (1 increasing, -1 decreasing, 0
// none). With few rows all slopes are 0. bound: the largest h per unit of weight; 0: unknown.
Slopes ridge_slopes(const LinearLeafSums& sums, double l2, double bound,
                    const std::vector<int>& direction);

// The linear models of some leaves, in the order of their nodes.
struct LinearLeafFits {
  std::vector<int32_t> node;
  std::vector<uint64_t> start = {0};
  std::vector<int32_t> feature;
  std::vector<double> slope, centre;      // of every term
  std::vector<double> gradient, hessian;  // sums over the rows that have all features
  std::vector<double> newton;             // the leaf value of only these rows
  std::vector<uint8_t> complete;          // whether these are all rows of the leaf
  std::vector<double> spread;             // of the predictions
};

// A grown tree, and what its linear models are fitted to.
struct LinearLeafProblem {
  Workers& workers;
  const Kernels& kernels;
  const Bins& bins;
  const RowWeights& weights;
  const Constraints& constraints;
  const GradientFinder& finder;  // computes the values of leaves without a linear model
  std::span<const GrownLeaf> leaves;
  const Tree& tree;
  const Columns& table;    // the rows before they were binned
  const Gradients& pairs;  // the derivatives that the models are fitted to
  double l2;
  double bound;  // largest hessian per unit of weight; 0: unknown
};

// Fits a linear model in each leaf, in the numeric features that are tested on its path.
LinearLeafFits fit_linear_leaves(const LinearLeafProblem& problem);

}  // namespace stagewise
