// Sums of packed words per bin: the loop where most of a fit's time goes.
//
// One idea: a row's codes lie together, so one row is one visit, and an update is a load, an
// addition and a store. Where the histograms lie evenly, their places are constants of the
// instructions; where they do not, four rows share the loading of a place.
#pragma once

#include "kernels/rows.hpp"

namespace stagewise {
namespace {

constexpr size_t kAhead = 16;  // rows between a prefetch and its use

// Every feature, or the listed ones: an index that the compiler can drop when it is the identity.
struct EveryFeature {
  size_t operator[](size_t j) const { return j; }
};

// Four rows at a time: their updates are independent, which hides the latency of the additions, and
// one pass over the offsets serves all four.
template <class Code, class Listed, class RowIndex>
void add_to_histogram(const Code* codes, size_t stride, const uint32_t* offset, Listed listed,
                      size_t features, RowIndex rows, size_t n, const GradientSlot* slots,
                      int64_t* hist) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    if (RowIndex::kPrefetch && i + kAhead + 4 <= n) {
      for (size_t k = i + kAhead; k < i + kAhead + 4; ++k) {
        __builtin_prefetch(codes + rows[k] * stride);
        __builtin_prefetch(slots + rows[k]);
      }
    }
    const Code* a = codes + rows[i] * stride;
    const Code* b = codes + rows[i + 1] * stride;
    const Code* c = codes + rows[i + 2] * stride;
    const Code* d = codes + rows[i + 3] * stride;
    const int64_t wa = slots[rows[i]].word, wb = slots[rows[i + 1]].word;
    const int64_t wc = slots[rows[i + 2]].word, wd = slots[rows[i + 3]].word;
    for (size_t j = 0; j < features; ++j) {
      int64_t* h = hist + offset[j];
      const size_t f = listed[j];
      h[a[f]] += wa;
      h[b[f]] += wb;
      h[c[f]] += wc;
      h[d[f]] += wd;
    }
  }
  for (; i < n; ++i) {
    const Code* a = codes + rows[i] * stride;
    const int64_t wa = slots[rows[i]].word;
    for (size_t j = 0; j < features; ++j) hist[offset[j] + a[listed[j]]] += wa;
  }
}

// Histograms kEvenStride words apart: a feature's place is part of the instruction.
template <class RowIndex>
void add_to_even_histogram(const uint8_t* codes, size_t stride, size_t features, RowIndex rows,
                           size_t n, const GradientSlot* slots, int64_t* hist) {
  constexpr size_t kUnrolled = 8;
  for (size_t i = 0; i < n; ++i) {
    if (RowIndex::kPrefetch && i + kAhead < n) {
      __builtin_prefetch(codes + rows[i + kAhead] * stride);
      __builtin_prefetch(slots + rows[i + kAhead]);
    }
    const uint8_t* a = codes + rows[i] * stride;
    const int64_t word = slots[rows[i]].word;
    int64_t* h = hist;
    size_t j = 0;
    for (; j + kUnrolled <= features; j += kUnrolled, h += kUnrolled * kEvenStride)
#pragma GCC unroll 8
      for (size_t k = 0; k < kUnrolled; ++k) h[k * kEvenStride + a[j + k]] += word;
    for (; j < features; ++j, h += kEvenStride) h[a[j]] += word;
  }
}

void even_histogram(const uint8_t* codes, size_t stride, size_t features, const Rows& rows,
                    const GradientSlot* slots, int64_t* hist) {
  if (rows.listed == nullptr) {
    add_to_even_histogram(codes, stride, features, ConsecutiveRows{rows.first}, rows.n, slots,
                          hist);
  } else {
    add_to_even_histogram(codes, stride, features, ListedRows{rows.listed}, rows.n, slots, hist);
  }
}

template <class Code>
void histogram(const Code* codes, size_t stride, const uint32_t* offset, const uint32_t* listed,
               size_t features, const Rows& rows, const GradientSlot* slots, int64_t* hist) {
  const auto add = [&](auto feature_index, auto row_index) {
    add_to_histogram(codes, stride, offset, feature_index, features, row_index, rows.n, slots,
                     hist);
  };
  const auto add_rows = [&](auto row_index) {
    if (listed == nullptr) {
      add(EveryFeature{}, row_index);
    } else {
      add(listed, row_index);
    }
  };
  if (rows.listed == nullptr) {
    add_rows(ConsecutiveRows{rows.first});
  } else {
    add_rows(ListedRows{rows.listed});
  }
}

void subtract(int64_t* parent, const int64_t* child, size_t n) {
  for (size_t i = 0; i < n; ++i) parent[i] -= child[i];
}

}  // namespace
}  // namespace stagewise
