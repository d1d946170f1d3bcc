// Partial dependence of trees on one or two numeric columns, by weighted traversal (Friedman 2001,
// section 8.2). The known columns of the rows that reach a node form a box of values; the other
// columns give a weight. The prediction of a box is added at its corners, and sums along the axes
// give the surface, so the cost is that of the nodes, for any number of values. Trees are processed
// one after the other, so threads do not change the bits. Not for categories or linear leaves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/flat_trees.hpp"

namespace stagewise {

// Of every node: the share of its training rows that went left (0.5 if unknown, and in leaves),
// and its mean prediction, `width` numbers.
struct NodeMeans {
  std::vector<double> share, mean;
};
// Throws std::invalid_argument when a child is out of range or not behind its parent.
NodeMeans node_means(const FlatTrees& trees, std::span<const double> cover);

// A known column, and its distinct values, increasing. Along an axis there is a place for each
// value, an end, a place for a missing one, and an end again.
struct GridAxis {
  int32_t column;
  std::span<const double> values;

  size_t places() const { return values.size() + 3; }
};

// The trees are those that shares and means were made of.
// surface[(i * places of the second axis + j) * outputs + o] += the corners of the boxes.
void add_partial_dependence(const FlatTrees& trees, std::span<const double> share,
                            std::span<const double> mean, size_t outputs,
                            std::span<const GridAxis> axes, double* surface);

}  // namespace stagewise
