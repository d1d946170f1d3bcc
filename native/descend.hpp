// Rows that a tree was not grown on, on their way to its leaves.
//
// One idea: rows go down together. A node partitions its rows as the grower does, which has no
// branch to mispredict, where a walk of each row by itself would have one at every node.
#pragma once

#include <vector>

#include "bins.hpp"
#include "kernels.hpp"
#include "lines.hpp"
#include "tree.hpp"

namespace stagewise {

// score[row] += what the row's leaf says for the listed rows, which are reordered. As many as stay
// in the second-level cache should be listed at once, near each other. columns: the codes of
// features that were extracted, null for others; or empty.
void add_tree(const Kernels& kernels, const Bins& bins, const std::vector<const uint8_t*>& columns,
              const Tree& tree, const LeafValues& values, std::vector<uint32_t>* rows,
              double* score);

// The same for rows [begin, end) of values that have no codes, one by one.
void add_tree(const Columns& table, const Tree& tree, const LeafValues& values, size_t begin,
              size_t end, double* score);

constexpr size_t kDescentRows = 16384;  // at once

}  // namespace stagewise
