// Adds the predictions of a tree to the scores of rows. Rows go down the tree together: a node
// partitions its rows as in training, without branches, which walks of single rows would
// mispredict.
#pragma once

#include <vector>

#include "binning/bins.hpp"
#include "grow/leaves/linear_leaves.hpp"
#include "grow/nodes/tree.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// The node values of a tree, one per output, and the scores that they are added to: all rows of the
// first output, then of the next. With one output, leaves may be linear models of the columns of a
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

// Adds the leaf value of every listed row; reorders the list. It should have adjacent rows that fit
// the second-level cache. columns: of extracted features, null for others; or empty.
void add_tree(const Kernels& kernels, const Bins& bins, const std::vector<const uint8_t*>& columns,
              const Tree& tree, const ScoreUpdate& scores, std::vector<uint32_t>* rows);

// The same for rows [begin, end) of a table without codes, one by one.
void add_tree(const Columns& table, const Tree& tree, const ScoreUpdate& scores, size_t begin,
              size_t end);

constexpr size_t kDescentRows = 16384;  // per call of add_tree()

// The same for all rows of a table.
void add_tree(Workers& workers, const Kernels& kernels, const Bins& bins, const Tree& tree,
              const ScoreUpdate& scores);
void add_tree(Workers& workers, const Columns& table, const Tree& tree, const ScoreUpdate& scores);

}  // namespace stagewise
