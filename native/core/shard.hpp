// Where the rows of one table are among all rows of a fit. Whatever depends on a row number uses
// the number among all rows, so the model does not depend on how they are divided.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// Floating-point sums over rows are computed in blocks of this many rows, in the order of the rows;
// the blocks are added without rounding (exact_sum.hpp). So neither threads nor machines change a
// sum, provided that no block is divided.
constexpr size_t kRowBlock = 1024;

struct Shard {
  uint64_t first_row = 0;  // a multiple of kRowBlock
  uint64_t table_rows = 0;
};

}  // namespace stagewise
