// Interface of the packing kernel: pairs of floats become packed integers (core/fixed_point.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/fixed_point.hpp"

namespace stagewise {

// How the packed words of a tree are made from pairs of floats.
struct Packing {
  Scales scales;
  bool whole_weights = false;  // round first, then multiply: k copies of a row are exactly weight k
  bool stochastic = false;
  uint32_t key = 0;
};

struct PackingKernels {
  // Returns the sum of the words.
  int64_t (*pack)(GradientSlot* slots, const double* weight, size_t n, uint32_t first_row,
                  const Packing& packing);
};

}  // namespace stagewise
