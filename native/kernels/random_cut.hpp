// One cut of a feature of a node, from the codes of its rows: both loops are sums and minima of
// integers.
#pragma once

#include "kernels/api/split_scan.hpp"

namespace stagewise {
namespace {

CodeRange code_range(const uint16_t* codes, size_t n) {
  uint16_t least = 0xffff, most = 0;
  for (size_t i = 0; i < n; ++i) {
    least = codes[i] < least ? codes[i] : least;
    most = codes[i] > most ? codes[i] : most;
  }
  return {least, most};
}

CutSides cut_sides(const uint16_t* codes, const int64_t* packed, size_t n, uint16_t last) {
  uint16_t next = 0xffff;
  for (size_t i = 0; i < n; ++i) {
    const uint16_t right = codes[i] > last ? codes[i] : uint16_t{0xffff};
    next = right < next ? right : next;
  }
  int64_t left = 0;
  for (size_t i = 0; i < n; ++i) left += codes[i] <= last ? packed[i] : 0;
  return {left, next};
}

}  // namespace
}  // namespace stagewise
