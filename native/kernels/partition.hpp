// The rows of a node go to its children, each side in order.
//
// Eight rows are compared at once, and a table of permutations moves those of a side
// together; there is no branch that could be mispredicted.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/api/partition.hpp"
#include "kernels/row_index.hpp"

namespace stagewise {
namespace {

// Codes by row: of a column, of a place in every row, of a place that is shared.
template <class Code>
struct ColumnCodes {
  const Code* codes;
  uint32_t operator[](size_t row) const { return codes[row]; }
};

template <class Code>
struct PlaceCodes {
  const Code* codes;
  size_t stride;
  uint32_t operator[](size_t row) const { return codes[row * stride]; }
};

template <class Code>
struct SharedCodes {
  const Code* codes;
  size_t stride;
  const uint8_t* decode;
  uint32_t operator[](size_t row) const { return decode[codes[row * stride]]; }
};

bool goes_left(uint32_t code, uint32_t bin, uint32_t missing) {
  return code <= bin || code == missing;
}

// [abcdefgh] with b, e, f going left becomes left = [bef], right = [acdgh]. Every row is written to
// both sides and only one cursor moves: no branch to mispredict.
template <class Codes, class RowAt>
size_t partition_tail(Codes codes, RowAt rows, size_t begin, size_t end, uint32_t bin,
                      uint32_t missing, uint32_t* left, uint32_t* right) {
  size_t l = 0, r = 0;
  for (size_t i = begin; i < end; ++i) {
    const auto row = static_cast<uint32_t>(rows[i]);
    const size_t to_left = goes_left(codes[row], bin, missing) ? 1 : 0;
    left[l] = row;
    right[r] = row;
    l += to_left;
    r += 1 - to_left;
  }
  return l;
}

// The marks of the rows from `begin`, a multiple of eight, on; returns how many go left.
template <class Codes, class RowAt>
size_t mark_tail(Codes codes, RowAt rows, size_t begin, size_t end, uint32_t bin, uint32_t missing,
                 uint8_t* marks) {
  size_t lefts = 0;
  for (size_t i = begin; i < end; ++i) {
    if (i % 8 == 0) marks[i / 8] = 0;
    const bool left = goes_left(codes[rows[i]], bin, missing);
    lefts += left ? 1 : 0;
    marks[i / 8] = static_cast<uint8_t>(marks[i / 8] | (left ? 0u : 1u << (i % 8)));
  }
  return lefts;
}

template <class RowAt>
void distribute_tail(RowAt rows, size_t begin, size_t end, const uint8_t* marks, uint32_t* left,
                     uint32_t* right) {
  for (size_t i = begin; i < end; ++i) {
    const auto row = static_cast<uint32_t>(rows[i]);
    if ((marks[i / 8] >> (i % 8) & 1) != 0) {
      *right++ = row;
    } else {
      *left++ = row;
    }
  }
}

#if defined(__AVX2__)
// For each of the 256 ways in which eight rows may go: the places of those that go left, in order.
struct Compaction {
  alignas(32) uint8_t places[256][8];
  constexpr Compaction() : places() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      unsigned n = 0;
      for (uint8_t j = 0; j < 8; ++j)
        if ((mask >> j & 1) != 0) places[mask][n++] = j;
    }
  }
};
constexpr Compaction kCompaction;

inline __m256i compacted(__m256i rows, unsigned mask) {
  const __m128i places =
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kCompaction.places[mask]));
  return _mm256_permutevar8x32_epi32(rows, _mm256_cvtepu8_epi32(places));
}

inline void store_rows(uint32_t* to, __m256i rows) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), rows);
}

inline __m256i eight_rows(ListedRows rows, size_t i) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows.rows + i));
}

inline __m256i eight_rows(ConsecutiveRows rows, size_t i) {
  return _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(rows.first + i)),
                          _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

template <class Codes, class RowAt>
[[gnu::always_inline]] inline __m256i eight_codes(Codes codes, RowAt rows, size_t i) {
  const auto code = [&](size_t j) { return static_cast<int>(codes[rows[i + j]]); };
  return _mm256_setr_epi32(code(0), code(1), code(2), code(3), code(4), code(5), code(6), code(7));
}

inline __m256i eight_codes(ColumnCodes<uint8_t> column, ConsecutiveRows rows, size_t i) {
  return _mm256_cvtepu8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(column.codes + rows[i])));
}

inline __m256i eight_codes(ColumnCodes<uint16_t> column, ConsecutiveRows rows, size_t i) {
  return _mm256_cvtepu16_epi32(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(column.codes + rows[i])));
}

// A bit for each of eight rows that goes right.
struct EightWays {
  __m256i last, missing;

  EightWays(uint32_t bin, uint32_t code_of_missing)
      : last(_mm256_set1_epi32(static_cast<int>(bin))),
        missing(_mm256_set1_epi32(static_cast<int>(code_of_missing))) {}

  unsigned operator()(__m256i code) const {
    const __m256i above =
        _mm256_andnot_si256(_mm256_cmpeq_epi32(code, missing), _mm256_cmpgt_epi32(code, last));
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(above)));
  }
};

// Eight rows at a time. Both sides are written in full vectors whose tail the next one overwrites.
// Neither cursor gets ahead of what has been read, so left may be the list itself and nothing is
// written past n.
template <class Codes, class RowAt>
size_t partition_rows(Codes codes, RowAt rows, size_t n, uint32_t bin, uint32_t missing,
                      uint32_t* left, uint32_t* right) {
  const EightWays ways(bin, missing);
  size_t l = 0, r = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i row = eight_rows(rows, i);
    const unsigned goes_right = ways(eight_codes(codes, rows, i));
    store_rows(left + l, compacted(row, ~goes_right & 255));
    store_rows(right + r, compacted(row, goes_right));
    const auto gone = static_cast<size_t>(__builtin_popcount(goes_right));
    l += 8 - gone;
    r += gone;
  }
  return l + partition_tail(codes, rows, i, n, bin, missing, left + l, right + r);
}

template <class Codes, class RowAt>
size_t mark_rows(Codes codes, RowAt rows, size_t n, uint32_t bin, uint32_t missing,
                 uint8_t* marks) {
  const EightWays ways(bin, missing);
  size_t lefts = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const unsigned goes_right = ways(eight_codes(codes, rows, i));
    marks[i / 8] = static_cast<uint8_t>(goes_right);
    lefts += 8 - static_cast<size_t>(__builtin_popcount(goes_right));
  }
  return lefts + mark_tail(codes, rows, i, n, bin, missing, marks);
}

// Full vectors while they end inside both sides; what is behind a side may be another thread's.
template <class RowAt>
void distribute_rows(RowAt rows, size_t n, const uint8_t* marks, size_t n_left, uint32_t* left,
                     uint32_t* right) {
  const size_t n_right = n - n_left;
  size_t l = 0, r = 0, i = 0;
  for (; l + 8 <= n_left && r + 8 <= n_right; i += 8) {
    const __m256i row = eight_rows(rows, i);
    const unsigned goes_right = marks[i / 8];
    store_rows(left + l, compacted(row, ~goes_right & 255));
    store_rows(right + r, compacted(row, goes_right));
    const auto gone = static_cast<size_t>(__builtin_popcount(goes_right));
    l += 8 - gone;
    r += gone;
  }
  distribute_tail(rows, i, n, marks, left + l, right + r);
}
#else
template <class Codes, class RowAt>
size_t partition_rows(Codes codes, RowAt rows, size_t n, uint32_t bin, uint32_t missing,
                      uint32_t* left, uint32_t* right) {
  return partition_tail(codes, rows, 0, n, bin, missing, left, right);
}

template <class Codes, class RowAt>
size_t mark_rows(Codes codes, RowAt rows, size_t n, uint32_t bin, uint32_t missing,
                 uint8_t* marks) {
  return mark_tail(codes, rows, 0, n, bin, missing, marks);
}

template <class RowAt>
void distribute_rows(RowAt rows, size_t n, const uint8_t* marks, size_t, uint32_t* left,
                     uint32_t* right) {
  distribute_tail(rows, 0, n, marks, left, right);
}
#endif

// body(codes, rows) with both in the form that the compiler can see through.
template <class Code, class Body>
size_t with_forms(const FeatureCodes<Code>& feature, const RowIndex& rows, Body body) {
  const auto with_rows = [&](auto codes) {
    if (rows.listed == nullptr) return body(codes, ConsecutiveRows{rows.first});
    return body(codes, ListedRows{rows.listed});
  };
  if (feature.decode != nullptr)
    return with_rows(SharedCodes<Code>{feature.codes, feature.stride, feature.decode});
  if (feature.stride != 1) return with_rows(PlaceCodes<Code>{feature.codes, feature.stride});
  return with_rows(ColumnCodes<Code>{feature.codes});
}

template <class Code>
size_t partition(const FeatureCodes<Code>& feature, const RowIndex& rows, uint32_t bin,
                 uint32_t missing, uint32_t* left, uint32_t* right) {
  return with_forms(feature, rows, [&](auto codes, auto index) {
    return partition_rows(codes, index, rows.n, bin, missing, left, right);
  });
}

template <class Code>
size_t mark(const FeatureCodes<Code>& feature, const RowIndex& rows, uint32_t bin, uint32_t missing,
            uint8_t* marks) {
  return with_forms(feature, rows, [&](auto codes, auto index) {
    return mark_rows(codes, index, rows.n, bin, missing, marks);
  });
}

void distribute(const RowIndex& rows, const uint8_t* marks, size_t n_left, uint32_t* left,
                uint32_t* right) {
  if (rows.listed == nullptr) {
    distribute_rows(ConsecutiveRows{rows.first}, rows.n, marks, n_left, left, right);
  } else {
    distribute_rows(ListedRows{rows.listed}, rows.n, marks, n_left, left, right);
  }
}

}  // namespace
}  // namespace stagewise
