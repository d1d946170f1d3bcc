// The i-th row of a node, in a form that the compiler can inline.
#pragma once

#include "kernels/api/rows.hpp"

namespace stagewise {
namespace {

// Rows that follow each other: the processor fetches them ahead by itself.
struct ConsecutiveRows {
  size_t first;
  size_t operator[](size_t i) const { return first + i; }
  static constexpr bool kPrefetch = false;
};

struct ListedRows {
  const uint32_t* rows;
  size_t operator[](size_t i) const { return rows[i]; }
  static constexpr bool kPrefetch = true;
};

}  // namespace
}  // namespace stagewise
