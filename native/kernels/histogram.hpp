// Sums of packed gradients per bin: the loop that takes most of the time of a fit. The codes of a
// row are adjacent, and an update is a load, an addition and a store. With an even stride, the
// offsets of the histograms are constants of the instructions; otherwise four rows share the
// loading of an offset.
#pragma once

#include "kernels/api/histograms.hpp"
#include "kernels/row_index.hpp"

namespace stagewise {
namespace {

constexpr size_t kAhead = 16;  // rows between a prefetch and its use

// Every feature, or the listed ones: an index that the compiler can drop when it is the identity.
struct EveryFeature {
  size_t operator[](size_t j) const { return j; }
};

// Where the plane of a row begins: all in one, or one for each class.
struct OnePlane {
  size_t operator[](size_t) const { return 0; }
};

struct ClassPlanes {
  const int32_t* of_row;
  size_t n_sums;
  size_t operator[](size_t row) const { return static_cast<size_t>(of_row[row]) * n_sums; }
};

// Four rows at a time: their updates are independent, which hides the latency of the additions, and
// one pass over the offsets serves all four.
template <class Code, class Listed, class RowAt, class PlaneIndex>
void add_to_histogram(const Code* codes, size_t stride, const uint32_t* offset, Listed listed,
                      size_t features, RowAt rows, size_t n, PlaneIndex plane,
                      const GradientSlot* slots, int64_t* hist) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    if (RowAt::kPrefetch && i + kAhead + 4 <= n) {
      for (size_t k = i + kAhead; k < i + kAhead + 4; ++k) {
        __builtin_prefetch(codes + rows[k] * stride);
        __builtin_prefetch(slots + rows[k]);
      }
    }
    const Code* a = codes + rows[i] * stride;
    const Code* b = codes + rows[i + 1] * stride;
    const Code* c = codes + rows[i + 2] * stride;
    const Code* d = codes + rows[i + 3] * stride;
    const int64_t wa = slots[rows[i]].packed, wb = slots[rows[i + 1]].packed;
    const int64_t wc = slots[rows[i + 2]].packed, wd = slots[rows[i + 3]].packed;
    const size_t pa = plane[rows[i]], pb = plane[rows[i + 1]];
    const size_t pc = plane[rows[i + 2]], pd = plane[rows[i + 3]];
    for (size_t j = 0; j < features; ++j) {
      int64_t* h = hist + offset[j];
      const size_t f = listed[j];
      h[pa + a[f]] += wa;
      h[pb + b[f]] += wb;
      h[pc + c[f]] += wc;
      h[pd + d[f]] += wd;
    }
  }
  for (; i < n; ++i) {
    const Code* a = codes + rows[i] * stride;
    const int64_t wa = slots[rows[i]].packed;
    int64_t* h = hist + plane[rows[i]];
    for (size_t j = 0; j < features; ++j) h[offset[j] + a[listed[j]]] += wa;
  }
}

// Histograms kEvenStride sums apart: a feature's offset is a constant of the instruction.
template <class RowAt, class PlaneIndex>
void add_to_even_histogram(const uint8_t* codes, size_t stride, size_t features, RowAt rows,
                           size_t n, PlaneIndex plane, const GradientSlot* slots, int64_t* hist) {
  constexpr size_t kUnrolled = 8;
  for (size_t i = 0; i < n; ++i) {
    if (RowAt::kPrefetch && i + kAhead < n) {
      __builtin_prefetch(codes + rows[i + kAhead] * stride);
      __builtin_prefetch(slots + rows[i + kAhead]);
    }
    const uint8_t* a = codes + rows[i] * stride;
    const int64_t packed_sum = slots[rows[i]].packed;
    int64_t* h = hist + plane[rows[i]];
    size_t j = 0;
    for (; j + kUnrolled <= features; j += kUnrolled, h += kUnrolled * kEvenStride)
#pragma GCC unroll 8
      for (size_t k = 0; k < kUnrolled; ++k) h[k * kEvenStride + a[j + k]] += packed_sum;
    for (; j < features; ++j, h += kEvenStride) h[a[j]] += packed_sum;
  }
}

// body(rows, plane) with both in the form that the compiler can see through.
template <class Body>
void with_row_forms(const RowIndex& rows, const Planes& planes, Body body) {
  const auto with_planes = [&](auto row_index) {
    if (planes.of_row == nullptr) {
      body(row_index, OnePlane{});
    } else {
      body(row_index, ClassPlanes{planes.of_row, planes.n_sums});
    }
  };
  if (rows.listed == nullptr) {
    with_planes(ConsecutiveRows{rows.first});
  } else {
    with_planes(ListedRows{rows.listed});
  }
}

void even_histogram(const uint8_t* codes, size_t stride, size_t features, const RowIndex& rows,
                    const Planes& planes, const GradientSlot* slots, int64_t* hist) {
  with_row_forms(rows, planes, [&](auto row_index, auto plane) {
    add_to_even_histogram(codes, stride, features, row_index, rows.n, plane, slots, hist);
  });
}

template <class Code>
void histogram(const Code* codes, size_t stride, const uint32_t* offset, const uint32_t* listed,
               size_t features, const RowIndex& rows, const Planes& planes,
               const GradientSlot* slots, int64_t* hist) {
  with_row_forms(rows, planes, [&](auto row_index, auto plane) {
    if (listed == nullptr) {
      add_to_histogram(codes, stride, offset, EveryFeature{}, features, row_index, rows.n, plane,
                       slots, hist);
    } else {
      add_to_histogram(codes, stride, offset, listed, features, row_index, rows.n, plane, slots,
                       hist);
    }
  });
}

// The cells of a sparse row are places of sums, from start[row] on.
template <class RowAt, class PlaneIndex>
void add_to_sparse_histogram(const uint32_t* start, const uint32_t* places, RowAt rows, size_t n,
                             PlaneIndex plane, const GradientSlot* slots, int64_t sign,
                             int64_t* hist) {
  for (size_t i = 0; i < n; ++i) {
    if (RowAt::kPrefetch && i + kAhead < n) {
      __builtin_prefetch(start + rows[i + kAhead]);
      __builtin_prefetch(slots + rows[i + kAhead]);
      __builtin_prefetch(places + start[rows[i + kAhead / 2]]);
    }
    const int64_t packed_sum = sign * slots[rows[i]].packed;
    int64_t* const h = hist + plane[rows[i]];
    const uint32_t last = start[rows[i] + 1];
    for (uint32_t cell = start[rows[i]]; cell < last; ++cell) h[places[cell]] += packed_sum;
  }
}

void sparse_histogram(const uint32_t* start, const uint32_t* places, const RowIndex& rows,
                      const Planes& planes, const GradientSlot* slots, int64_t sign,
                      int64_t* hist) {
  with_row_forms(rows, planes, [&](auto row_index, auto plane) {
    add_to_sparse_histogram(start, places, row_index, rows.n, plane, slots, sign, hist);
  });
}

void subtract(int64_t* parent, const int64_t* child, size_t n) {
  for (size_t i = 0; i < n; ++i) parent[i] -= child[i];
}

}  // namespace
}  // namespace stagewise
