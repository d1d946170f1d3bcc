// Statistics of the leaves of a grown tree, from which steps compute other leaf values.
#pragma once

#include <span>
#include <vector>

#include "core/row_weights.hpp"
#include "core/threads.hpp"
#include "gradients/gradients.hpp"
#include "grow/nodes/leaf.hpp"
#include "kernels/api/histograms.hpp"

namespace stagewise {

// A leaf of a grown tree and its rows in increasing order.
struct GrownLeaf {
  int32_t node;
  std::span<const uint32_t> rows;
  const Leaf* leaf;
};

// Sums over the rows of each leaf, times the weights. With class targets there is a gradient sum
// for each class.
struct LeafSums {
  std::vector<double> gradient, hessian;
};

class LeafStatistics {
 public:
  // planes: the classes of the rows, if they have classes.
  LeafStatistics(Workers& workers, const RowWeights& weights, const Planes& planes,
                 std::span<const GrownLeaf> leaves)
      : workers_(workers), weights_(weights), planes_(planes), leaves_(leaves) {}

  // The weighted q-quantile of the residuals of each leaf. multiplier: of the weight of each row;
  // null: 1.
  std::vector<double> quantiles(const double* residual, const float* multiplier, double q) const;
  // The median m of each leaf plus the weighted mean of residual - m, clipped to [-width, width].
  std::vector<double> huber_means(const double* residual, const float* multiplier,
                                  double width) const;
  LeafSums sums(const Gradients& pairs) const;

 private:
  template <class Summary>
  std::vector<double> per_leaf(const double* residual, const float* multiplier,
                               Summary summary) const;

  Workers& workers_;
  const RowWeights& weights_;
  const Planes& planes_;
  std::span<const GrownLeaf> leaves_;
};

}  // namespace stagewise
