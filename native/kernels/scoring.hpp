// The leaves of many rows by comparisons of bytes (see CodeTest in kernels/api/scoring.hpp).
#pragma once

#include <cstring>

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include "kernels/api/scoring.hpp"

namespace stagewise {
namespace {

#ifdef __AVX2__
constexpr size_t kLanes = 32;
#else
constexpr size_t kLanes = 16;
#endif
typedef int8_t CodeLanes __attribute__((vector_size(kLanes)));
typedef uint8_t BitLanes __attribute__((vector_size(kLanes)));

inline __attribute__((always_inline)) CodeLanes load_codes(const int8_t* codes) {
  CodeLanes lanes;
  __builtin_memcpy(&lanes, codes, sizeof lanes);
  return lanes;
}

// The number of zeros below the lowest one of each byte; a byte that is 0 has 7.
inline __attribute__((always_inline)) BitLanes trailing_zeros(BitLanes bits) {
  BitLanes below = (bits & -bits) - 1;
  below &= 0x7f;
  below = below - ((below >> 1) & 0x55);
  below = (below & 0x33) + ((below >> 2) & 0x33);
  return (below + (below >> 4)) & 0x0f;
}

// Vectors * kLanes rows. `first` has the bits of the first plane with a possible leaf, and `before`
// the number of planes before it.
template <size_t Vectors>
inline __attribute__((always_inline)) void find_leaves(const MaskTree& tree, const int8_t* codes,
                                                       uint8_t* leaf) {
  CodeLanes first[Vectors], before[Vectors];
  for (size_t v = 0; v < Vectors; ++v) first[v] = before[v] = CodeLanes{};
  size_t t = 0;
  for (size_t plane = 0; plane < tree.planes; ++plane) {
    CodeLanes possible[Vectors];
    for (size_t v = 0; v < Vectors; ++v) possible[v] = CodeLanes{} - 1;
    for (const size_t end = tree.ends[plane]; t < end; ++t) {
      const CodeTest test = tree.tests[t];
      const CodeLanes code = CodeLanes{} + test.code;
      const CodeLanes ruled_out = CodeLanes{} + static_cast<int8_t>(test.ruled_out);
#pragma GCC unroll 8
      for (size_t v = 0; v < Vectors; ++v)
        possible[v] &= ~((load_codes(codes + test.at + v * kLanes) > code) & ruled_out);
    }
#pragma GCC unroll 8
    for (size_t v = 0; v < Vectors; ++v) {
      first[v] |= possible[v] & (first[v] == 0);
      before[v] -= first[v] == 0;  // true is -1
    }
  }
  for (size_t v = 0; v < Vectors; ++v) {
    const BitLanes planes = reinterpret_cast<BitLanes>(before[v]);
    const BitLanes found = trailing_zeros(reinterpret_cast<BitLanes>(first[v])) + (planes << 3);
    __builtin_memcpy(leaf + v * kLanes, &found, sizeof found);
  }
}

void mask_leaves(const MaskTree& tree, const int8_t* codes, size_t n, uint8_t* leaf) {
  size_t i = 0;
  for (; i + 8 * kLanes <= n; i += 8 * kLanes) find_leaves<8>(tree, codes + i, leaf + i);
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) find_leaves<2>(tree, codes + i, leaf + i);
  for (; i < n; i += kLanes) find_leaves<1>(tree, codes + i, leaf + i);
}

void symmetric_leaves(const SymmetricTree& tree, const int8_t* codes, size_t n, uint8_t* leaf) {
  for (size_t i = 0; i < n; i += kLanes) {
    CodeLanes found = CodeLanes{};
    for (size_t d = 0; d < tree.depth; ++d) {
      const auto place = static_cast<int8_t>(1u << d);
      const CodeLanes bit = CodeLanes{} + place;
      found |= (load_codes(codes + tree.tests[d].at + i) > tree.tests[d].code) & bit;
    }
    __builtin_memcpy(leaf + i, &found, sizeof found);
  }
}

typedef int16_t WideCodeLanes __attribute__((vector_size(kLanes)));
constexpr size_t kWideLanes = kLanes / sizeof(int16_t);
constexpr size_t kTopVectors = 2;

struct TopLanes {
  WideCodeLanes lanes[kTopVectors];
};

// The nodes that rows reach below a test.
template <size_t kTest>
inline __attribute__((always_inline)) TopLanes reached_from(const TopTests& top,
                                                            const int16_t* codes) {
  TopLanes reached;
  if constexpr (kTest >= kTopTests) {
    const auto node = static_cast<int16_t>(top.node[kTest - kTopTests]);
    for (size_t v = 0; v < kTopVectors; ++v) reached.lanes[v] = WideCodeLanes{} + node;
  } else {
    const TopLanes left = reached_from<2 * kTest + 1>(top, codes);
    const TopLanes right = reached_from<2 * kTest + 2>(top, codes);
    const WideCodeLanes code = WideCodeLanes{} + top.code[kTest];
    for (size_t v = 0; v < kTopVectors; ++v) {
      WideCodeLanes own;
      __builtin_memcpy(&own, codes + top.at[kTest] + v * kWideLanes, sizeof own);
      const WideCodeLanes goes_right = own > code;
      reached.lanes[v] = (goes_right & right.lanes[v]) | (~goes_right & left.lanes[v]);
    }
  }
  return reached;
}

void top_nodes(const TopTests& top, const int16_t* codes, size_t n, uint16_t* node) {
  for (size_t i = 0; i < n; i += kTopVectors * kWideLanes) {
    const TopLanes reached = reached_from<0>(top, codes + i);
    __builtin_memcpy(node + i, reached.lanes, sizeof reached.lanes);
  }
}

// Four rows at a time: the sums of a row depend on each other, those of several rows do not.
void add_leaf_values(const double* const* values, const uint8_t* leaf, size_t trees, size_t n,
                     double* out) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    double a = out[i], b = out[i + 1], c = out[i + 2], d = out[i + 3];
    for (size_t t = 0; t < trees; ++t) {
      const double* const value = values[t];
      const uint8_t* const at = leaf + t * kScoredRows + i;
      a += value[at[0]];
      b += value[at[1]];
      c += value[at[2]];
      d += value[at[3]];
    }
    out[i] = a;
    out[i + 1] = b;
    out[i + 2] = c;
    out[i + 3] = d;
  }
  for (; i < n; ++i)
    for (size_t t = 0; t < trees; ++t) out[i] += values[t][leaf[t * kScoredRows + i]];
}

#if defined(__AVX512BW__)
constexpr __mmask16 kAllLanes = 0xffff;  // without a mask, GCC 12 warns of its own header

// The values of 32 rows, eight to a vector in their order. Interleaving the words of the four
// planes puts rows 8k + 2l and 8k + 2l + 1 where the indices 8l + 2k and 8l + 2k + 1 are, so the
// indices are put there first.
template <size_t Leaves>
inline __attribute__((always_inline)) void look_up(const uint16_t* words, const uint8_t* leaf,
                                                   __m512d* sums) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i index = _mm512_maskz_permutexvar_epi32(
      kAllLanes, order,
      _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(leaf))));
  __m512i word[4];
#pragma GCC unroll 4
  for (size_t w = 0; w < 4; ++w) {
    const uint16_t* const plane = words + w * Leaves;
    word[w] = Leaves == 32 ? _mm512_permutexvar_epi16(index, _mm512_loadu_si512(plane))
                           : _mm512_permutex2var_epi16(_mm512_loadu_si512(plane), index,
                                                       _mm512_loadu_si512(plane + 32));
  }
  const __m512i low[2] = {_mm512_unpacklo_epi16(word[0], word[1]),
                          _mm512_unpackhi_epi16(word[0], word[1])};
  const __m512i high[2] = {_mm512_unpacklo_epi16(word[2], word[3]),
                           _mm512_unpackhi_epi16(word[2], word[3])};
#pragma GCC unroll 2
  for (size_t k = 0; k < 2; ++k) {
    const __m512i even = _mm512_maskz_unpacklo_epi32(kAllLanes, low[k], high[k]);
    const __m512i odd = _mm512_maskz_unpackhi_epi32(kAllLanes, low[k], high[k]);
    sums[2 * k] = _mm512_add_pd(sums[2 * k], _mm512_castsi512_pd(even));
    sums[2 * k + 1] = _mm512_add_pd(sums[2 * k + 1], _mm512_castsi512_pd(odd));
  }
}

// 64 rows at a time, whose sums stay in registers.
void add_leaf_planes(const LeafPlanes* planes, const uint8_t* leaf, size_t trees, size_t n,
                     double* out) {
  for (size_t i = 0; i < n; i += 64) {
    __m512d sums[8];
    for (size_t k = 0; k < 8; ++k) sums[k] = _mm512_loadu_pd(out + i + 8 * k);
    for (size_t t = 0; t < trees; ++t) {
      const uint8_t* const own = leaf + t * kScoredRows + i;
      if (planes[t].leaves == 32) {
        look_up<32>(planes[t].words, own, sums);
        look_up<32>(planes[t].words, own + 32, sums + 4);
      } else {
        look_up<64>(planes[t].words, own, sums);
        look_up<64>(planes[t].words, own + 32, sums + 4);
      }
    }
    for (size_t k = 0; k < 8; ++k) _mm512_storeu_pd(out + i + 8 * k, sums[k]);
  }
}
#else
constexpr void (*add_leaf_planes)(const LeafPlanes*, const uint8_t*, size_t, size_t,
                                  double*) = nullptr;
#endif

}  // namespace
}  // namespace stagewise
