// Compiled once per instruction set with STAGEWISE_ISA naming it. Only static functions and raw
// pointers here: an inline function of a shared header, compiled for AVX-512 and picked by the
// linker for everybody, would crash a lesser machine.
#include "kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "float_math.hpp"
#include "random.hpp"

namespace stagewise {
namespace {

// ---------------------------------------------------------------------------------------------
// Losses

// Sum of a[i] * weight[i] in eight fixed lanes: one order for every vector width.
double lane_sum(const float* a, const double* weight, size_t n) {
  double lane[8] = {};
  size_t i = 0;
  if (weight == nullptr) {
    for (; i + 8 <= n; i += 8)
      for (size_t j = 0; j < 8; ++j) lane[j] += static_cast<double>(a[i + j]);
    for (size_t j = 0; i + j < n; ++j) lane[j] += static_cast<double>(a[i + j]);
  } else {
    for (; i + 8 <= n; i += 8)
      for (size_t j = 0; j < 8; ++j) lane[j] += static_cast<double>(a[i + j]) * weight[i + j];
    for (size_t j = 0; i + j < n; ++j) lane[j] += static_cast<double>(a[i + j]) * weight[i + j];
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// The same in float, for sums of which only the size matters.
float rough_sum(const float* a, const double* weight, size_t n) {
  float lane[8] = {};
  size_t i = 0;
  if (weight == nullptr) {
    for (; i + 8 <= n; i += 8)
      for (size_t j = 0; j < 8; ++j) lane[j] += a[i + j];
    for (size_t j = 0; i + j < n; ++j) lane[j] += a[i + j];
  } else {
    for (; i + 8 <= n; i += 8)
      for (size_t j = 0; j < 8; ++j) lane[j] += a[i + j] * static_cast<float>(weight[i + j]);
    for (size_t j = 0; i + j < n; ++j) lane[j] += a[i + j] * static_cast<float>(weight[i + j]);
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// What a loss computes for a block of rows before it is stored and summed.
struct LossBlock {
  float gradient[kLossBlock];
  float hessian[kLossBlock];
  float loss[kLossBlock];

  void store(const double* weight, size_t n, GradientSlot* out, LossSums* sums) {
    if (n == 0) return;
    for (size_t i = 0; i < n; ++i) {
      out[i].pair.gradient = gradient[i];
      out[i].pair.hessian = hessian[i];
    }
    sums->loss = lane_sum(loss, weight, n);
    sums->hessian = static_cast<double>(rough_sum(hessian, weight, n));
    for (size_t i = 0; i < n; ++i) gradient[i] = gradient[i] < 0.0f ? -gradient[i] : gradient[i];
    sums->abs_gradient = static_cast<double>(rough_sum(gradient, weight, n));
  }
};

void squared(const double* y, const double* score, const double* weight, size_t n,
             GradientSlot* out, LossSums* sums) {
  LossBlock b;
  for (size_t i = 0; i < n; ++i) {
    const float r = static_cast<float>(score[i] - y[i]);
    b.gradient[i] = r;
    b.hessian[i] = 1.0f;
    b.loss[i] = 0.5f * r * r;
  }
  b.store(weight, n, out, sums);
}

void absolute(const double* y, const double* score, const double* weight, size_t n,
              GradientSlot* out, LossSums* sums) {
  LossBlock b;
  for (size_t i = 0; i < n; ++i) {
    const float r = static_cast<float>(score[i] - y[i]);
    b.gradient[i] = r > 0.0f ? 1.0f : (r < 0.0f ? -1.0f : 0.0f);
    b.hessian[i] = 1.0f;
    b.loss[i] = r < 0.0f ? -r : r;
  }
  b.store(weight, n, out, sums);
}

// p = 1 / (1 + e^-F);  g = p - y;  h = p (1 - p);  loss = log(1 + e^-|F|) + max(F, 0) - y F.
void logistic(const int32_t* y, const double* score, const double* weight, size_t n,
              GradientSlot* out, LossSums* sums) {
  LossBlock b;
  for (size_t i = 0; i < n; ++i) {
    // With F towards the wrong class counted positive, g = ±1 / (1 + e^-F) loses no digits.
    const float f = static_cast<float>(score[i]);
    const float wrong = y[i] != 0 ? -f : f;
    const float size = wrong < 0.0f ? -wrong : wrong;
    const float e = exp_nonpositive(-size);
    const float inverse = 1.0f / (1.0f + e);
    const float p = wrong < 0.0f ? e * inverse : inverse;
    b.gradient[i] = y[i] != 0 ? -p : p;
    b.hessian[i] = e * inverse * inverse;
    b.loss[i] = log1p_unit(e) + (wrong > 0.0f ? wrong : 0.0f);
  }
  b.store(weight, n, out, sums);
}

void softmax_state(const int32_t* y, const double* scores, size_t stride, size_t outputs,
                   const double* weight, size_t n, float* state, LossSums* sums) {
  float top[kLossBlock], sum[kLossBlock], loss[kLossBlock];
  for (size_t i = 0; i < n; ++i) top[i] = static_cast<float>(scores[i]);
  for (size_t k = 1; k < outputs; ++k)
    for (size_t i = 0; i < n; ++i) {
      const float f = static_cast<float>(scores[k * stride + i]);
      top[i] = f > top[i] ? f : top[i];
    }
  for (size_t i = 0; i < n; ++i) sum[i] = 0.0f;
  for (size_t k = 0; k < outputs; ++k)
    for (size_t i = 0; i < n; ++i)
      sum[i] += exp_nonpositive(static_cast<float>(scores[k * stride + i]) - top[i]);
  for (size_t i = 0; i < n; ++i) {
    state[2 * i] = top[i];
    state[2 * i + 1] = 1.0f / sum[i];
    const float own = static_cast<float>(scores[static_cast<size_t>(y[i]) * stride + i]);
    loss[i] = log_from_one(sum[i]) - (own - top[i]);
  }
  sums->loss = lane_sum(loss, weight, n);
}

// p_k = e^(F_k - max) / sum;  g = p_k - [y = k];  h = p_k (1 - p_k).
void softmax(const int32_t* y, const double* score, const float* state, int32_t output,
             const double* weight, size_t n, GradientSlot* out, LossSums* sums) {
  LossBlock b;
  for (size_t i = 0; i < n; ++i) {
    const float d = static_cast<float>(score[i]) - state[2 * i];
    const float p = exp_nonpositive(d < 0.0f ? d : 0.0f) * state[2 * i + 1];
    b.gradient[i] = y[i] == output ? p - 1.0f : p;
    b.hessian[i] = p * (1.0f - p);
    b.loss[i] = 0.0f;
  }
  b.store(weight, n, out, sums);
}

// ---------------------------------------------------------------------------------------------
// Packing

constexpr size_t kPackBlock = 512;

// What is added before rounding down: a half, or a number in (0, 1) from a hash of the row.
void rounding_offsets(const Packing& packing, uint32_t first_row, size_t n, float* g, float* h) {
  if (!packing.stochastic) {
    for (size_t i = 0; i < n; ++i) g[i] = h[i] = 0.5f;
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t u = draw32(packing.key, first_row + static_cast<uint32_t>(i));
    g[i] = static_cast<float>(static_cast<int32_t>(u & 0xffffu)) * 0x1p-16f + 0x1p-17f;
    h[i] = static_cast<float>(static_cast<int32_t>(u >> 16)) * 0x1p-16f + 0x1p-17f;
  }
}

int32_t round_down(float x) {
  const auto towards_zero = static_cast<int32_t>(x);
  return towards_zero - static_cast<int32_t>(static_cast<float>(towards_zero) > x);
}

int64_t make_word(int64_t gradient, int64_t hessian) {
  return static_cast<int64_t>(static_cast<uint64_t>(gradient) << 32) + hessian;
}

int64_t pack_block(GradientSlot* slots, const double* weight, size_t n, uint32_t first_row,
                   const Packing& packing) {
  float ug[kPackBlock], uh[kPackBlock];
  int32_t g[kPackBlock], h[kPackBlock];
  rounding_offsets(packing, first_row, n, ug, uh);
  const auto gs = static_cast<float>(packing.scales.gradient);
  const auto hs = static_cast<float>(packing.scales.hessian);
  if (weight != nullptr && !packing.whole_weights) {
    for (size_t i = 0; i < n; ++i) {
      const auto w = static_cast<float>(weight[i]);
      slots[i].pair.gradient *= w;
      slots[i].pair.hessian *= w;
    }
  }
  for (size_t i = 0; i < n; ++i) {
    g[i] = round_down(slots[i].pair.gradient * gs + ug[i]);
    h[i] = round_down(slots[i].pair.hessian * hs + uh[i]);
  }
  if (weight != nullptr && packing.whole_weights) {
    for (size_t i = 0; i < n; ++i) {
      const auto w = static_cast<int64_t>(weight[i]);
      slots[i].word = make_word(g[i] * w, h[i] * w);
    }
  } else {
    for (size_t i = 0; i < n; ++i) slots[i].word = make_word(g[i], h[i]);
  }
  int64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum += slots[i].word;
  return sum;
}

int64_t pack(GradientSlot* slots, const double* weight, size_t n, uint32_t first_row,
             const Packing& packing) {
  int64_t sum = 0;
  for (size_t at = 0; at < n; at += kPackBlock) {
    const size_t size = n - at < kPackBlock ? n - at : kPackBlock;
    sum += pack_block(slots + at, weight != nullptr ? weight + at : nullptr, size,
                      first_row + static_cast<uint32_t>(at), packing);
  }
  return sum;
}

// ---------------------------------------------------------------------------------------------
// Histograms

constexpr size_t kAhead = 16;  // rows between a prefetch and its use

// Every feature, or the listed ones: an index that the compiler can drop when it is the identity.
struct EveryFeature {
  size_t operator[](size_t j) const { return j; }
};

// Rows that follow each other: the processor fetches them ahead by itself.
struct ConsecutiveRows {
  size_t first;
  size_t operator[](size_t i) const { return first + i; }
  static constexpr bool kPrefetch = false;
};

struct ListedRows {
  const uint32_t* rows;
  size_t operator[](size_t i) const { return rows[i]; }
  static constexpr bool kPrefetch = true;
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

// ---------------------------------------------------------------------------------------------
// Split search

constexpr size_t kScanChunk = 256;
// The screen's score is a few float roundings away from the exact one; candidates this close to the
// best are settled in double.
constexpr float kScreenMargin = 1.0f - 4e-6f;
// Above, squares of the regularised hessians would leave the range of a float.
constexpr double kScreenLimit = 0x1p60;

// Sums of everything at or before each bin of a chunk.
struct Prefixes {
  alignas(64) int32_t gradient[kScanChunk];
  alignas(64) int32_t hessian[kScanChunk];
  alignas(64) int64_t count[kScanChunk];
  size_t n = 0;
};

typedef int64_t Words __attribute__((vector_size(32)));
typedef int32_t Halves __attribute__((vector_size(32)));

// Running sums of four words after `carry`: two shifted additions, [a b c d] -> [a ab abc abcd].
Words running_sums(Words x, Words carry) {
  const Words zero = {};
  x += __builtin_shuffle(x, zero, Words{4, 0, 1, 2});
  x += __builtin_shuffle(x, zero, Words{4, 4, 0, 1});
  return x + carry;
}

void prefix(const ScanInput& in, size_t begin, int64_t* word, int64_t* count, Prefixes* out) {
  const size_t n = in.bins - begin < kScanChunk ? in.bins - begin : kScanChunk;
  out->n = n;
  Words carry = {*word, *word, *word, *word};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Words a, b;
    __builtin_memcpy(&a, in.words + begin + i, sizeof a);
    __builtin_memcpy(&b, in.words + begin + i + 4, sizeof b);
    a = running_sums(a, carry);
    b = running_sums(b, __builtin_shuffle(a, Words{3, 3, 3, 3}));
    carry = __builtin_shuffle(b, Words{3, 3, 3, 3});
    const Halves low = __builtin_shuffle((Halves)a, (Halves)b, Halves{0, 2, 4, 6, 8, 10, 12, 14});
    const Halves high = __builtin_shuffle((Halves)a, (Halves)b, Halves{1, 3, 5, 7, 9, 11, 13, 15});
    __builtin_memcpy(out->hessian + i, &low, sizeof low);
    __builtin_memcpy(out->gradient + i, &high, sizeof high);
  }
  int64_t w = carry[0];
  for (; i < n; ++i) {
    w += in.words[begin + i];
    out->gradient[i] = static_cast<int32_t>(w >> 32);
    out->hessian[i] = static_cast<int32_t>(w);
  }
  *word = w;
  if (in.counts == nullptr) return;
  int64_t c = *count;
  for (size_t k = 0; k < n; ++k) out->count[k] = c += in.counts[begin + k];
  *count = c;
}

// The left sums of a candidate, with or without the missing rows.
struct Side {
  int32_t gradient = 0, hessian = 0;
  int64_t count = 0;
};

struct Totals {
  Side all;
  int32_t min_hessian;
  int64_t min_count;
};

// G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) over one common denominator: one division.
template <class Real>
Real pair_score(Real gl, Real hl, Real gr, Real hr, Real l2) {
  const Real dl = hl + l2, dr = hr + l2;
  return (gl * gl * dr + gr * gr * dl) / (dl * dr);
}

constexpr size_t kGroup = 8;
typedef float FloatGroup __attribute__((vector_size(kGroup * sizeof(float))));

// A bit for each member of a group that is at least `least`.
unsigned at_least(const float* group, float least) {
#if defined(__AVX2__)
  return static_cast<unsigned>(
      _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(group), _mm256_set1_ps(least), _CMP_GE_OQ)));
#else
  unsigned bits = 0;
  for (size_t j = 0; j < kGroup; ++j) bits |= static_cast<unsigned>(group[j] >= least) << j;
  return bits;
#endif
}

// Scores of all bins of a chunk in float; -1 where a side is too light.
template <bool Counted>
float screen(const Prefixes& p, const Side& missing, const Totals& totals, float l2, float* score) {
  for (size_t i = 0; i < p.n; ++i) {
    const int32_t gl = p.gradient[i] + missing.gradient, hl = p.hessian[i] + missing.hessian;
    const int32_t gr = totals.all.gradient - gl, hr = totals.all.hessian - hl;
    const float s = pair_score(static_cast<float>(gl), static_cast<float>(hl),
                               static_cast<float>(gr), static_cast<float>(hr), l2);
    const bool heavy = (hl >= totals.min_hessian) & (hr >= totals.min_hessian);
    score[i] = heavy ? s : -1.0f;
  }
  if constexpr (Counted) {
    for (size_t i = 0; i < p.n; ++i) {
      const int64_t cl = p.count[i] + missing.count;
      const bool heavy = (cl >= totals.min_count) & (totals.all.count - cl >= totals.min_count);
      score[i] = heavy ? score[i] : -1.0f;
    }
  }
  const size_t padded = (p.n + kGroup - 1) / kGroup * kGroup;
  for (size_t i = p.n; i < padded; ++i) score[i] = -1.0f;
  FloatGroup best = FloatGroup{} - 1.0f;
  for (size_t i = 0; i < padded; i += kGroup) {
    FloatGroup s;
    __builtin_memcpy(&s, score + i, sizeof s);
    best = s > best ? s : best;
  }
  float top = best[0];
  for (size_t j = 1; j < kGroup; ++j) top = best[j] > top ? best[j] : top;
  return top;
}

double exact_score(const Prefixes& p, size_t i, const Side& missing, const Totals& totals,
                   const ScanRules& rules) {
  const double gl = p.gradient[i] + missing.gradient, hl = p.hessian[i] + missing.hessian;
  const double gr = totals.all.gradient - gl, hr = totals.all.hessian - hl;
  const Regularisation& r = rules.regularisation;
  return rules.plain ? pair_score(gl, hl, gr, hr, r.l2)
                     : leaf_gain(gl, hl, r) + leaf_gain(gr, hr, r);
}

bool admissible(const Prefixes& p, size_t i, const Side& missing, const Totals& totals,
                bool counted) {
  const int32_t hl = p.hessian[i] + missing.hessian, hr = totals.all.hessian - hl;
  if (hl < totals.min_hessian || hr < totals.min_hessian) return false;
  if (!counted) return true;
  const int64_t cl = p.count[i] + missing.count, cr = totals.all.count - cl;
  return cl >= totals.min_count && cr >= totals.min_count;
}

// Offers the candidates of a chunk to the best so far; the first of equals stays.
void offer(const Prefixes& p, size_t begin, const Side& missing, bool missing_left,
           const Totals& totals, const ScanRules& rules, bool counted, ScanResult* best) {
  const auto consider = [&](size_t i) {
    const double score = exact_score(p, i, missing, totals, rules);
    if (score > best->score) *best = {score, begin + i, missing_left};
  };
  if (p.n <= kGroup || !rules.plain || rules.regularisation.l2 > kScreenLimit) {
    for (size_t i = 0; i < p.n; ++i)
      if (admissible(p, i, missing, totals, counted)) consider(i);
    return;
  }
  alignas(64) float score[kScanChunk];
  const auto l2 = static_cast<float>(rules.regularisation.l2);
  const float top = counted ? screen<true>(p, missing, totals, l2, score)
                            : screen<false>(p, missing, totals, l2, score);
  if (top < 0.0f) return;
  const float close = top * kScreenMargin;
  if (static_cast<double>(top) < best->score * kScreenMargin) return;
  for (size_t i = 0; i < p.n; i += kGroup)
    for (unsigned bits = at_least(score + i, close); bits != 0; bits &= bits - 1)
      consider(i + static_cast<size_t>(__builtin_ctz(bits)));
}

ScanResult scan(const ScanInput& in, const ScanRules& rules) {
  const auto side = [](int64_t word, int64_t count) {
    return Side{static_cast<int32_t>(word_gradient(word)), static_cast<int32_t>(word_hessian(word)),
                count};
  };
  const Totals totals{side(in.total_word, in.total_count),
                      static_cast<int32_t>(__builtin_ceil(rules.min_hessian)), rules.min_count};
  const Side missing = side(in.missing_word, in.missing_count);
  const bool counted = in.counts != nullptr;
  ScanResult right, left;
  Prefixes p;
  int64_t word = 0, count = 0;
  for (size_t begin = 0; begin < in.bins; begin += kScanChunk) {
    prefix(in, begin, &word, &count, &p);
    offer(p, begin, Side{}, false, totals, rules, counted, &right);
    if (in.missing_word != 0) offer(p, begin, missing, true, totals, rules, counted, &left);
  }
  return left.score > right.score ? left : right;
}

// ---------------------------------------------------------------------------------------------
// Partition

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

// ---------------------------------------------------------------------------------------------
// Binning

// How many of the 16 sorted cuts of one node are below x.
#if defined(__AVX2__)
inline size_t count_below(const double* node, double x) {
  const __m256d v = _mm256_set1_pd(x);
  int mask = 0;
  for (int j = 0; j < 4; ++j)
    mask |= _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(node + 4 * j), v, _CMP_LT_OQ))
            << (4 * j);
  return static_cast<size_t>(__builtin_popcount(static_cast<unsigned>(mask)));
}

inline size_t count_below(const float* node, float x) {
  const __m256 v = _mm256_set1_ps(x);
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(node), v, _CMP_LT_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(node + 8), v, _CMP_LT_OQ));
  return static_cast<size_t>(__builtin_popcount(static_cast<unsigned>(low | (high << 8))));
}
#else
template <class Real>
size_t count_below(const Real* node, Real x) {
  int below = 0;
  for (int j = 0; j < kCutWays; ++j) below += node[j] < x;
  return static_cast<size_t>(below);
}
#endif

template <class Real>
void bin_values(const Real* values, size_t n, const CutTree<Real>& cuts, uint16_t missing,
                uint16_t* out) {
  const auto child = [&](int l, size_t position, Real x) {
    return position * kCutWays + count_below(cuts.level[l] + position * kCutWays, x);
  };
  if (cuts.levels == 2) {  // 17 to 256 bins, the usual case, without a loop
    for (size_t i = 0; i < n; ++i) {
      const Real x = values[i];
      out[i] = x == x ? static_cast<uint16_t>(child(1, child(0, 0, x), x)) : missing;
    }
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const Real x = values[i];
    size_t position = 0;
    for (int l = 0; l < cuts.levels; ++l) position = child(l, position, x);
    out[i] = x == x ? static_cast<uint16_t>(position) : missing;
  }
}

// ---------------------------------------------------------------------------------------------
// Prediction

typedef int8_t CodeLanes __attribute__((vector_size(kMaskRows)));

// A row's mask of leaves lies across `Planes` vectors of bytes, so that a comparison of bytes can
// be applied to it without being widened.
template <size_t Planes>
void score_block(const MaskTree& tree, const int8_t* codes, double* out) {
  CodeLanes possible[Planes];
  for (size_t k = 0; k < Planes; ++k) possible[k] = CodeLanes{} - 1;
  for (size_t s = 0; s < tree.n; ++s) {
    const MaskSplit& split = tree.splits[s];
    CodeLanes code;
    __builtin_memcpy(&code, codes + split.feature * kMaskRows, sizeof code);
    CodeLanes right = code > split.code;  // -1 where true
    if (split.missing_left) right &= code != kMaskMissing;
#pragma GCC unroll 8
    for (size_t k = 0; k < Planes; ++k) possible[k] &= ~(right & split.ruled_out[k]);
  }
  for (size_t i = 0; i < kMaskRows; ++i) {
    uint64_t leaves = 0;
#pragma GCC unroll 8
    for (size_t k = 0; k < Planes; ++k)
      leaves |= static_cast<uint64_t>(static_cast<uint8_t>(possible[k][i])) << (8 * k);
    out[i] += tree.values[__builtin_ctzll(leaves)];
  }
}

}  // namespace

#define STAGEWISE_JOIN2(a, b) a##b
#define STAGEWISE_JOIN(a, b) STAGEWISE_JOIN2(a, b)
#define STAGEWISE_TEXT2(a) #a
#define STAGEWISE_TEXT(a) STAGEWISE_TEXT2(a)

extern const Kernels STAGEWISE_JOIN(kernels_, STAGEWISE_ISA);
const Kernels STAGEWISE_JOIN(kernels_, STAGEWISE_ISA) = {
    .name = STAGEWISE_TEXT(STAGEWISE_ISA),
    .squared = squared,
    .absolute = absolute,
    .logistic = logistic,
    .softmax_state = softmax_state,
    .softmax = softmax,
    .pack = pack,
    .histogram8 = histogram<uint8_t>,
    .histogram16 = histogram<uint16_t>,
    .subtract = subtract,
    .scan = scan,
    .partition8 = partition<uint8_t>,
    .partition16 = partition<uint16_t>,
    .mark8 = mark<uint8_t>,
    .mark16 = mark<uint16_t>,
    .distribute = distribute,
    .score32 = score_block<4>,
    .score64 = score_block<8>,
    .bin_doubles = bin_values<double>,
    .bin_floats = bin_values<float>,
};

}  // namespace stagewise
