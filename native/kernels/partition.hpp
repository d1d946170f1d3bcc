// The rows of a node go to its children, each side in order.
//
// One idea: eight rows are compared at once, and a table of permutations moves those of a side
// together; there is no branch that could be mispredicted.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/rows.hpp"

namespace stagewise {
namespace {

bool goes_left(uint32_t code, uint32_t bin, uint32_t missing) {
  return code <= bin || code == missing;
}

// [abcdefgh] with b, e, f going left becomes left = [bef], right = [acdgh]. Every row is written to
// both sides and only one cursor moves: no branch to mispredict.
template <class Code, class RowIndex>
size_t partition_tail(const Code* column, RowIndex rows, size_t begin, size_t end, uint32_t bin,
                      uint32_t missing, uint32_t* left, uint32_t* right) {
  size_t l = 0, r = 0;
  for (size_t i = begin; i < end; ++i) {
    const auto row = static_cast<uint32_t>(rows[i]);
    const size_t to_left = goes_left(column[row], bin, missing) ? 1 : 0;
    left[l] = row;
    right[r] = row;
    l += to_left;
    r += 1 - to_left;
  }
  return l;
}

// The marks of the rows from `begin`, a multiple of eight, on; returns how many go left.
template <class Code, class RowIndex>
size_t mark_tail(const Code* column, RowIndex rows, size_t begin, size_t end, uint32_t bin,
                 uint32_t missing, uint8_t* marks) {
  size_t lefts = 0;
  for (size_t i = begin; i < end; ++i) {
    if (i % 8 == 0) marks[i / 8] = 0;
    const bool left = goes_left(column[rows[i]], bin, missing);
    lefts += left ? 1 : 0;
    marks[i / 8] = static_cast<uint8_t>(marks[i / 8] | (left ? 0u : 1u << (i % 8)));
  }
  return lefts;
}

template <class RowIndex>
void distribute_tail(RowIndex rows, size_t begin, size_t end, const uint8_t* marks, uint32_t* left,
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

template <class Code>
__m256i eight_codes(const Code* column, ListedRows rows, size_t i) {
  return _mm256_set_epi32(column[rows[i + 7]], column[rows[i + 6]], column[rows[i + 5]],
                          column[rows[i + 4]], column[rows[i + 3]], column[rows[i + 2]],
                          column[rows[i + 1]], column[rows[i]]);
}

inline __m256i eight_codes(const uint8_t* column, ConsecutiveRows rows, size_t i) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(column + rows[i])));
}

inline __m256i eight_codes(const uint16_t* column, ConsecutiveRows rows, size_t i) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(column + rows[i])));
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
template <class Code, class RowIndex>
size_t partition_rows(const Code* column, RowIndex rows, size_t n, uint32_t bin, uint32_t missing,
                      uint32_t* left, uint32_t* right) {
  const EightWays ways(bin, missing);
  size_t l = 0, r = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i row = eight_rows(rows, i);
    const unsigned goes_right = ways(eight_codes(column, rows, i));
    store_rows(left + l, compacted(row, ~goes_right & 255));
    store_rows(right + r, compacted(row, goes_right));
    const auto gone = static_cast<size_t>(__builtin_popcount(goes_right));
    l += 8 - gone;
    r += gone;
  }
  return l + partition_tail(column, rows, i, n, bin, missing, left + l, right + r);
}

template <class Code, class RowIndex>
size_t mark_rows(const Code* column, RowIndex rows, size_t n, uint32_t bin, uint32_t missing,
                 uint8_t* marks) {
  const EightWays ways(bin, missing);
  size_t lefts = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const unsigned goes_right = ways(eight_codes(column, rows, i));
    marks[i / 8] = static_cast<uint8_t>(goes_right);
    lefts += 8 - static_cast<size_t>(__builtin_popcount(goes_right));
  }
  return lefts + mark_tail(column, rows, i, n, bin, missing, marks);
}

// Full vectors while they end inside both sides; what is behind a side may be another thread's.
template <class RowIndex>
void distribute_rows(RowIndex rows, size_t n, const uint8_t* marks, size_t n_left, uint32_t* left,
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
template <class Code, class RowIndex>
size_t partition_rows(const Code* column, RowIndex rows, size_t n, uint32_t bin, uint32_t missing,
                      uint32_t* left, uint32_t* right) {
  return partition_tail(column, rows, 0, n, bin, missing, left, right);
}

template <class Code, class RowIndex>
size_t mark_rows(const Code* column, RowIndex rows, size_t n, uint32_t bin, uint32_t missing,
                 uint8_t* marks) {
  return mark_tail(column, rows, 0, n, bin, missing, marks);
}

template <class RowIndex>
void distribute_rows(RowIndex rows, size_t n, const uint8_t* marks, size_t, uint32_t* left,
                     uint32_t* right) {
  distribute_tail(rows, 0, n, marks, left, right);
}
#endif

template <class Code>
size_t partition(const Code* column, const Rows& rows, uint32_t bin, uint32_t missing,
                 uint32_t* left, uint32_t* right) {
  if (rows.listed == nullptr)
    return partition_rows(column, ConsecutiveRows{rows.first}, rows.n, bin, missing, left, right);
  return partition_rows(column, ListedRows{rows.listed}, rows.n, bin, missing, left, right);
}

template <class Code>
size_t mark(const Code* column, const Rows& rows, uint32_t bin, uint32_t missing, uint8_t* marks) {
  if (rows.listed == nullptr)
    return mark_rows(column, ConsecutiveRows{rows.first}, rows.n, bin, missing, marks);
  return mark_rows(column, ListedRows{rows.listed}, rows.n, bin, missing, marks);
}

void distribute(const Rows& rows, const uint8_t* marks, size_t n_left, uint32_t* left,
                uint32_t* right) {
  if (rows.listed == nullptr) {
    distribute_rows(ConsecutiveRows{rows.first}, rows.n, marks, n_left, left, right);
  } else {
    distribute_rows(ListedRows{rows.listed}, rows.n, marks, n_left, left, right);
  }
}

}  // namespace
}  // namespace stagewise
