// Sums of vectors of packed gradients per bin. The sums of a bin are adjacent, so adding a row to a
// bin is a few additions of vectors, while the vector of the row stays in registers.
#pragma once

#include "kernels/histogram.hpp"

namespace stagewise {
namespace {

typedef int64_t LaneWords __attribute__((vector_size(kLaneBlock * sizeof(int64_t))));

LaneWords load_lanes(const int64_t* packed_sums) {
  LaneWords lanes;
  __builtin_memcpy(&lanes, packed_sums, sizeof lanes);
  return lanes;
}

void store_lanes(int64_t* packed_sums, LaneWords lanes) {
  __builtin_memcpy(packed_sums, &lanes, sizeof lanes);
}

// `Blocks` blocks of lanes of every vector.
template <size_t Blocks, class Code, class Listed, class RowAt>
void add_vectors(const Code* codes, size_t stride, const uint32_t* offset, Listed listed,
                 size_t features, RowAt rows, size_t n, const int64_t* vectors, size_t lanes,
                 int64_t* hist) {
  for (size_t i = 0; i < n; ++i) {
    if (RowAt::kPrefetch && i + kAhead < n) {
      __builtin_prefetch(codes + rows[i + kAhead] * stride);
      __builtin_prefetch(vectors + rows[i + kAhead] * lanes);
    }
    const Code* const a = codes + rows[i] * stride;
    const int64_t* const own = vectors + rows[i] * lanes;
    LaneWords packed_sum[Blocks];
    for (size_t b = 0; b < Blocks; ++b) packed_sum[b] = load_lanes(own + b * kLaneBlock);
    for (size_t j = 0; j < features; ++j) {
      int64_t* const bin = hist + (offset[j] + a[listed[j]]) * lanes;
#pragma GCC unroll 4
      for (size_t b = 0; b < Blocks; ++b)
        store_lanes(bin + b * kLaneBlock, load_lanes(bin + b * kLaneBlock) + packed_sum[b]);
    }
  }
}

template <class Code>
void vector_histogram(const Code* codes, size_t stride, const uint32_t* offset,
                      const uint32_t* listed, size_t features, const RowIndex& rows,
                      const int64_t* vectors, size_t lanes, int64_t* hist) {
  const auto with_blocks = [&](auto row_index, auto list) {
    for (size_t lane = 0; lane < lanes;) {
      const size_t blocks = (lanes - lane) / kLaneBlock;
      const auto add = [&](auto count) {
        add_vectors<count()>(codes, stride, offset, list, features, row_index, rows.n,
                             vectors + lane, lanes, hist + lane);
        lane += count() * kLaneBlock;
      };
      if (blocks >= 4) {
        add(std::integral_constant<size_t, 4>{});
      } else if (blocks == 3) {
        add(std::integral_constant<size_t, 3>{});
      } else if (blocks == 2) {
        add(std::integral_constant<size_t, 2>{});
      } else {
        add(std::integral_constant<size_t, 1>{});
      }
    }
  };
  with_row_forms(rows, Planes{}, [&](auto row_index, auto) {
    if (listed == nullptr) {
      with_blocks(row_index, EveryFeature{});
    } else {
      with_blocks(row_index, listed);
    }
  });
}

}  // namespace
}  // namespace stagewise
