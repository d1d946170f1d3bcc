// Interface of the packing kernel: pairs of floats become packed integers (core/fixed_point.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/fixed_point.hpp"

namespace stagewise {

// How pairs of floats are packed for a tree.
struct Packing {
  Scales scales;
  bool whole_weights = false;  // round first, then multiply: k copies of a row are exactly weight k
  bool stochastic = false;
  uint32_t key = 0;
};

struct PackingKernels {
  // Packs n rows; returns their packed sum. first_row: among all rows of the fit, a multiple of
  // kRowBlock.
  int64_t (*pack)(GradientSlot* slots, const double* weight, size_t n, uint64_t first_row,
                  const Packing& packing);
};

}  // namespace stagewise
