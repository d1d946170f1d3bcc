// Interface of the partition kernels: the rows of a node go left or right.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/api/rows.hpp"

namespace stagewise {

constexpr uint32_t kMissingRight = 0xffffffffu;  // no code equals it

struct PartitionKernels {
  // Stable partition of rows by code <= bin (or == missing, when missing goes left); left
  // may be the list itself. Returns how many went left.
  size_t (*partition8)(const FeatureCodes<uint8_t>& codes, const RowIndex& rows, uint32_t bin,
                       uint32_t missing, uint32_t* left, uint32_t* right);
  size_t (*partition16)(const FeatureCodes<uint16_t>& codes, const RowIndex& rows, uint32_t bin,
                        uint32_t missing, uint32_t* left, uint32_t* right);
  size_t (*partition32)(const FeatureCodes<uint32_t>& codes, const RowIndex& rows, uint32_t bin,
                        uint32_t missing, uint32_t* left, uint32_t* right);
  // The same in two steps, for several threads: first a bit per row that goes right, then, when it
  // is known how many rows come before these, each to its place; nothing else is written.
  size_t (*mark8)(const FeatureCodes<uint8_t>& codes, const RowIndex& rows, uint32_t bin,
                  uint32_t missing, uint8_t* marks);
  size_t (*mark16)(const FeatureCodes<uint16_t>& codes, const RowIndex& rows, uint32_t bin,
                   uint32_t missing, uint8_t* marks);
  size_t (*mark32)(const FeatureCodes<uint32_t>& codes, const RowIndex& rows, uint32_t bin,
                   uint32_t missing, uint8_t* marks);
  void (*distribute)(const RowIndex& rows, const uint8_t* marks, size_t n_left, uint32_t* left,
                     uint32_t* right);
};

}  // namespace stagewise
