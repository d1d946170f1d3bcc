// Rows that a tree was not grown on, on their way to its leaves.
//
// One idea: rows go down together. A node partitions its rows as the grower does, which has no
// branch to mispredict, where a walk of each row by itself would have one at every node.
#pragma once

#include <vector>

#include "binning/bins.hpp"
#include "grow/linear_leaves.hpp"
#include "grow/tree.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// What the leaves of a tree add, a number for each output, and to which scores: all rows of the
// first output, then all of the next. With one output, leaves may have lines in the values of a
// table.
struct ScoreUpdate {
  const double* value;
  size_t outputs;
  double* score;
  size_t rows;
  const LinearLeaves* linear_leaves = nullptr;
  const Columns* table = nullptr;

  void add(size_t node, const uint32_t* first, const uint32_t* last) const {
    const int32_t line = linear_leaves == nullptr ? -1 : linear_leaves->of(node);
    if (line >= 0)
      return linear_leaves->add(line, value[node], *table, first, static_cast<size_t>(last - first),
                                score);
    for (size_t k = 0; k < outputs; ++k) {
      const double own = value[node * outputs + k];
      double* const to = score + k * rows;
#pragma GCC unroll 4
      for (const uint32_t* row = first; row < last; ++row) to[*row] += own;
    }
  }
};

// Adds the leaf of every listed row, which are reordered. As many as stay in
// the second-level cache should be listed at once, near each other. columns: the codes of features
// that were extracted, null for others; or empty.
void add_tree(const Kernels& kernels, const Bins& bins, const std::vector<const uint8_t*>& columns,
              const Tree& tree, const ScoreUpdate& scores, std::vector<uint32_t>* rows);

// The same for rows [begin, end) of values that have no codes, one by one.
void add_tree(const Columns& table, const Tree& tree, const ScoreUpdate& scores, size_t begin,
              size_t end);

constexpr size_t kDescentRows = 16384;  // at once

}  // namespace stagewise
