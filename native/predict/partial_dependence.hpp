// What trees say of rows of which one or two columns of numbers are known, the others averaged out.
//
// One idea: which rows reach a node by known columns is a box of their values, and how much of them
// by all others a weight. What is said in a box is added at its corners; sums along the axes then
// give what is said everywhere. So it costs as much as the trees have nodes, however many values
// there are. Trees are walked one after the other: the bits do not depend on threads.
// Must not: know levels or lines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/quick_scorer.hpp"

namespace stagewise {

// Of every node: the share of its training rows that went left (0.5 where none are known, and in
// leaves), and what it says of a row about which nothing is known, `width` numbers.
struct NodeMeans {
  std::vector<double> share, mean;
};
// Throws std::invalid_argument when a child is out of range or not behind its parent.
NodeMeans node_means(const FlatTrees& trees, std::span<const double> cover);

// A known column, and its different values, increasing. Along an axis there is a place for each
// value, an end, a place for a missing one, and an end again.
struct GridAxis {
  int32_t column;
  std::span<const double> values;

  size_t places() const { return values.size() + 3; }
};

// The trees are those that shares and means were made of.
// surface[(i * places of the second axis + j) * outputs + o] += the corners of what is said.
void add_partial_dependence(const FlatTrees& trees, std::span<const double> share,
                            std::span<const double> mean, size_t outputs,
                            std::span<const GridAxis> axes, double* surface);

}  // namespace stagewise
