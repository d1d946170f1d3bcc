// Interface of the histogram kernels: sums of packed gradients per bin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/fixed_point.hpp"
#include "kernels/api/rows.hpp"

namespace stagewise {

// A histogram has one plane, or one for each class, `n_sums` apart.
struct Planes {
  const int32_t* of_row = nullptr;  // the class of every row; null: one plane
  size_t n_sums = 0;
  size_t n = 1;
};

constexpr size_t kLaneBlock = 4;  // vectors are padded with zeros to a multiple of it

// The even stride of histograms of byte codes: 256 sums and one cache line more, because otherwise
// the same bins of many features would map to the same lines of the first-level cache.
constexpr size_t kEvenStride = 264;

struct HistogramKernels {
  // hist[offset[j] + code of the j-th listed feature] += packed gradient, for every row, in the
  // row's plane; listed null: all.
  void (*histogram8)(const uint8_t* codes, size_t stride, const uint32_t* offset,
                     const uint32_t* listed, size_t features, const RowIndex& rows,
                     const Planes& planes, const GradientSlot* slots, int64_t* hist);
  void (*histogram16)(const uint16_t* codes, size_t stride, const uint32_t* offset,
                      const uint32_t* listed, size_t features, const RowIndex& rows,
                      const Planes& planes, const GradientSlot* slots, int64_t* hist);
  // hist[j * kEvenStride + code of feature j] += packed gradient, for every row.
  void (*even_histogram8)(const uint8_t* codes, size_t stride, size_t features,
                          const RowIndex& rows, const Planes& planes, const GradientSlot* slots,
                          int64_t* hist);
  // hist[places[cell]] += sign * packed gradient, for every cell [start[row], start[row + 1]) of
  // every row.
  void (*sparse_histogram)(const uint32_t* start, const uint32_t* places, const RowIndex& rows,
                           const Planes& planes, const GradientSlot* slots, int64_t sign,
                           int64_t* hist);
  // hist[(offset[j] + code of the j-th listed feature) * lanes ...] += the vector of the row.
  void (*vector_histogram8)(const uint8_t* codes, size_t stride, const uint32_t* offset,
                            const uint32_t* listed, size_t features, const RowIndex& rows,
                            const int64_t* vectors, size_t lanes, int64_t* hist);
  void (*vector_histogram16)(const uint16_t* codes, size_t stride, const uint32_t* offset,
                             const uint32_t* listed, size_t features, const RowIndex& rows,
                             const int64_t* vectors, size_t lanes, int64_t* hist);
  void (*subtract)(int64_t* parent, const int64_t* child, size_t n);  // parent -= child
};

}  // namespace stagewise
