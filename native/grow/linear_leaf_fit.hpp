// Lines for the leaves of a tree: a small ridge regression in each of them.
//
// One idea: the sums that a line needs (means, squares and products of its features, weighted by
// the hessians) can be made of any part of a leaf's rows, about the mean of that part, and merged
// (Chan, Golub & LeVeque 1983). Parts are fixed ranges of the table and merged in order, so neither
// threads nor instruction sets change a bit; and as sums are about means, an offset of a feature
// costs no digits. Features are multiplied by a power of two first, so their unit costs none
// either.
#pragma once

#include <cstdint>
#include <vector>

#include "core/columns.hpp"
#include "grow/finders/gradient_finder.hpp"
#include "grow/leaf_statistics.hpp"
#include "grow/tree.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// Over rows in which all features are there: weight w, gradient g, hessian h.
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

// slope: of each feature, 0 where it has none; all 0: there is no line. spread: the standard
// deviation, by h, of what the line says of its rows.
struct Slopes {
  std::vector<double> slope;
  double spread = 0.0;
};

// A feature of a leaf as it is read: multiplied by a power of two.
struct LinearFeature {
  uint32_t number;
  Column column;
  double unit;
};

// The slopes u of standardised features that minimise sum(g f + h f^2 / 2) + l2 u.u / 2 for
// f = u.z, in units of the features themselves. A feature that is constant here, or a sum of
// others, has none; nor has one whose slope would go against its direction (1 up, -1 down, 0
// either). There are none at all of few rows; bound: the most that h can be for a weight of 1, or 0
// if unknown.
Slopes ridge_slopes(const LinearLeafSums& sums, double l2, double bound,
                    const std::vector<int>& direction);

// Lines of some leaves, in the order of their nodes.
struct LinearLeafFits {
  std::vector<int32_t> node;
  std::vector<uint64_t> start = {0};
  std::vector<int32_t> feature;
  std::vector<double> slope, centre;      // of every term
  std::vector<double> gradient, hessian;  // sums over the rows that have all features
  std::vector<double> newton;             // what a leaf of only these rows would say
  std::vector<uint8_t> complete;          // whether these are all rows of the leaf
  std::vector<double> spread;             // of what the line says of them
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
