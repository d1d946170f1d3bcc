// Compiled once per instruction set with STAGEWISE_ISA naming it. Only static functions and raw
// pointers here: an inline function of a shared header, compiled for AVX-512 and picked by the
// linker for everybody, would crash a lesser machine.
#include "kernels.hpp"

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
    sums->hessian = lane_sum(hessian, weight, n);
    sums->loss = lane_sum(loss, weight, n);
    for (size_t i = 0; i < n; ++i) gradient[i] = gradient[i] < 0.0f ? -gradient[i] : gradient[i];
    sums->abs_gradient = lane_sum(gradient, weight, n);
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

float round_down(float x) { return __builtin_floorf(x); }

template <bool Stochastic, class Weigh>
void pack_rows(GradientSlot* slots, size_t n, uint32_t first_row, const Packing& packing,
               Weigh weigh) {
  const float gs = static_cast<float>(packing.scales.gradient);
  const float hs = static_cast<float>(packing.scales.hessian);
  for (size_t i = 0; i < n; ++i) {
    float ug = 0.5f, uh = 0.5f;
    if constexpr (Stochastic) {
      const uint32_t u = draw32(packing.key, first_row + static_cast<uint32_t>(i));
      ug = static_cast<float>(static_cast<int32_t>(u & 0xffffu)) * 0x1p-16f + 0x1p-17f;
      uh = static_cast<float>(static_cast<int32_t>(u >> 16)) * 0x1p-16f + 0x1p-17f;
    }
    weigh(i, slots[i].pair.gradient * gs, slots[i].pair.hessian * hs, ug, uh);
  }
}

template <bool Stochastic>
void pack_all(GradientSlot* slots, const double* weight, size_t n, uint32_t first_row,
              const Packing& packing) {
  const auto word = [](int64_t g, int64_t h) {
    return static_cast<int64_t>(static_cast<uint64_t>(g) << 32) + h;
  };
  if (weight == nullptr) {
    pack_rows<Stochastic>(slots, n, first_row, packing,
                          [=](size_t i, float g, float h, float ug, float uh) {
                            slots[i].word = word(static_cast<int32_t>(round_down(g + ug)),
                                                 static_cast<int32_t>(round_down(h + uh)));
                          });
  } else if (packing.whole_weights) {
    pack_rows<Stochastic>(slots, n, first_row, packing,
                          [=](size_t i, float g, float h, float ug, float uh) {
                            const auto w = static_cast<int64_t>(weight[i]);
                            slots[i].word = word(static_cast<int64_t>(round_down(g + ug)) * w,
                                                 static_cast<int64_t>(round_down(h + uh)) * w);
                          });
  } else {
    pack_rows<Stochastic>(slots, n, first_row, packing,
                          [=](size_t i, float g, float h, float ug, float uh) {
                            const auto w = static_cast<float>(weight[i]);
                            slots[i].word = word(static_cast<int64_t>(round_down(g * w + ug)),
                                                 static_cast<int64_t>(round_down(h * w + uh)));
                          });
  }
}

void pack(GradientSlot* slots, const double* weight, size_t n, uint32_t first_row,
          const Packing& packing) {
  if (packing.stochastic) {
    pack_all<true>(slots, weight, n, first_row, packing);
  } else {
    pack_all<false>(slots, weight, n, first_row, packing);
  }
}

// ---------------------------------------------------------------------------------------------
// Histograms

constexpr size_t kAhead = 16;  // rows between a prefetch and its use

// Every feature, or the listed ones: an index that the compiler can drop when it is the identity.
struct EveryFeature {
  size_t operator[](size_t j) const { return j; }
};

template <class Code, class Listed>
void add_to_histogram(const Code* codes, size_t stride, const uint32_t* offset, Listed listed,
                      size_t features, const uint32_t* rows, size_t n, const GradientSlot* slots,
                      int64_t* hist) {
  // Two rows at a time: their updates are independent, which hides the latency of the additions.
  size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    if (i + kAhead + 1 < n) {
      const size_t next = rows[i + kAhead], after = rows[i + kAhead + 1];
      __builtin_prefetch(codes + next * stride);
      __builtin_prefetch(codes + after * stride);
      __builtin_prefetch(slots + next);
      __builtin_prefetch(slots + after);
    }
    const Code* a = codes + rows[i] * stride;
    const Code* b = codes + rows[i + 1] * stride;
    const int64_t wa = slots[rows[i]].word, wb = slots[rows[i + 1]].word;
    for (size_t j = 0; j < features; ++j) {
      int64_t* h = hist + offset[j];
      h[a[listed[j]]] += wa;
      h[b[listed[j]]] += wb;
    }
  }
  if (i < n) {
    const Code* a = codes + rows[i] * stride;
    const int64_t wa = slots[rows[i]].word;
    for (size_t j = 0; j < features; ++j) hist[offset[j] + a[listed[j]]] += wa;
  }
}

template <class Code>
void histogram(const Code* codes, size_t stride, const uint32_t* offset, const uint32_t* listed,
               size_t features, const uint32_t* rows, size_t n, const GradientSlot* slots,
               int64_t* hist) {
  if (listed == nullptr) {
    add_to_histogram(codes, stride, offset, EveryFeature{}, features, rows, n, slots, hist);
  } else {
    add_to_histogram(codes, stride, offset, listed, features, rows, n, slots, hist);
  }
}

void subtract(int64_t* parent, const int64_t* child, size_t n) {
  for (size_t i = 0; i < n; ++i) parent[i] -= child[i];
}

// ---------------------------------------------------------------------------------------------
// Split search

#if defined(__AVX512F__)
constexpr size_t kLanes = 8;
#else
constexpr size_t kLanes = 4;
#endif
typedef double DoubleLanes __attribute__((vector_size(kLanes * 8)));
typedef int64_t IntLanes __attribute__((vector_size(kLanes * 8)));
typedef uint64_t WordLanes __attribute__((vector_size(kLanes * 8)));

// Integers below 2^32 become doubles by writing them into the mantissa of 2^52.
DoubleLanes low_half(WordLanes w) {
  const WordLanes magic = (w & 0xffffffffull) | 0x4330000000000000ull;
  return (DoubleLanes)magic -  // a vector cast keeps the bits
         0x1p52;
}

DoubleLanes high_half(WordLanes w) {
  const WordLanes magic = ((w >> 32) ^ 0x80000000ull) | 0x4330000000000000ull;
  return (DoubleLanes)magic -  // a vector cast keeps the bits
         (0x1p52 + 0x1p31);
}

struct LaneBest {
  DoubleLanes score;
  IntLanes position;

  void offer(DoubleLanes candidate, IntLanes where) {
    const IntLanes better = candidate > score;  // strictly: the first of equals stays
    score = better ? candidate : score;
    position = better ? where : position;
  }

  void into(ScanResult* result, bool missing_left) const {
    for (size_t j = 0; j < kLanes; ++j) {
      const bool better = score[j] > result->score;
      const bool earlier = score[j] == result->score && missing_left == result->missing_left &&
                           static_cast<size_t>(position[j]) < result->position;
      if (better || earlier) {
        result->score = score[j];
        result->position = static_cast<size_t>(position[j]);
        result->missing_left = missing_left;
      }
    }
  }
};

constexpr size_t kScanChunk = 256;

struct Prefixes {  // running sums over a chunk of bins: everything at or before each bin
  alignas(64) int64_t words[kScanChunk];
  alignas(64) int64_t counts[kScanChunk];
};

// Fills a chunk and pads it with the total, which leaves an empty right side: never admissible.
size_t prefix(const ScanInput& in, size_t begin, int64_t* word, int64_t* count, Prefixes* out) {
  const size_t n = in.bins - begin < kScanChunk ? in.bins - begin : kScanChunk;
  int64_t w = *word;
  for (size_t i = 0; i < n; ++i) out->words[i] = w += in.words[begin + i];
  *word = w;
  const size_t padded = (n + kLanes - 1) / kLanes * kLanes;
  for (size_t i = n; i < padded; ++i) out->words[i] = in.total_word;
  if (in.counts != nullptr) {
    int64_t c = *count;
    for (size_t i = 0; i < n; ++i) out->counts[i] = c += in.counts[begin + i];
    *count = c;
    for (size_t i = n; i < padded; ++i) out->counts[i] = in.total_count;
  }
  return padded;
}

// G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) over one common denominator: one division.
DoubleLanes pair_score(DoubleLanes gl, DoubleLanes hl, DoubleLanes gr, DoubleLanes hr, double l2) {
  const DoubleLanes dl = hl + l2, dr = hr + l2;
  return (gl * gl * dr + gr * gr * dl) / (dl * dr);
}

// The same for any regularisation, one lane at a time.
DoubleLanes pair_score_general(DoubleLanes gl, DoubleLanes hl, DoubleLanes gr, DoubleLanes hr,
                               const Regularisation& r) {
  DoubleLanes score = gl;
  for (size_t j = 0; j < kLanes; ++j)
    score[j] = leaf_gain(gl[j], hl[j], r) + leaf_gain(gr[j], hr[j], r);
  return score;
}

template <bool Counted>
void offer_all(const Prefixes& p, size_t padded, size_t begin, const ScanInput& in,
               const ScanRules& rules, bool missing_left, LaneBest* best) {
  const double total_g = static_cast<double>(word_gradient(in.total_word));
  const double total_h = static_cast<double>(word_hessian(in.total_word));
  const int64_t shift = missing_left ? in.missing_word : 0;
  const int64_t count_shift = missing_left ? in.missing_count : 0;
  const DoubleLanes worst = DoubleLanes{} - 1.0;
  IntLanes where;
  for (size_t j = 0; j < kLanes; ++j) where[j] = static_cast<int64_t>(begin + j);
  for (size_t i = 0; i < padded; i += kLanes, where += static_cast<int64_t>(kLanes)) {
    WordLanes left;
    __builtin_memcpy(&left, p.words + i, sizeof left);
    left += static_cast<uint64_t>(shift);
    const DoubleLanes gl = high_half(left), hl = low_half(left);
    const DoubleLanes gr = total_g - gl, hr = total_h - hl;
    IntLanes allowed = (hl >= rules.min_hessian) & (hr >= rules.min_hessian);
    if constexpr (Counted) {
      IntLanes cl;
      __builtin_memcpy(&cl, p.counts + i, sizeof cl);
      cl += count_shift;
      allowed &= (cl >= rules.min_count) & (in.total_count - cl >= rules.min_count);
    }
    const DoubleLanes score = rules.plain
                                  ? pair_score(gl, hl, gr, hr, rules.regularisation.l2)
                                  : pair_score_general(gl, hl, gr, hr, rules.regularisation);
    best->offer(allowed ? score : worst, where);
  }
}

ScanResult scan(const ScanInput& in, const ScanRules& rules) {
  const bool missing = in.missing_word != 0;
  LaneBest right{DoubleLanes{} - 1.0, IntLanes{}}, left = right;
  Prefixes p;
  int64_t word = 0, count = 0;
  for (size_t begin = 0; begin < in.bins; begin += kScanChunk) {
    const size_t padded = prefix(in, begin, &word, &count, &p);
    if (in.counts != nullptr) {
      offer_all<true>(p, padded, begin, in, rules, false, &right);
      if (missing) offer_all<true>(p, padded, begin, in, rules, true, &left);
    } else {
      offer_all<false>(p, padded, begin, in, rules, false, &right);
      if (missing) offer_all<false>(p, padded, begin, in, rules, true, &left);
    }
  }
  ScanResult result;
  right.into(&result, false);
  if (missing) left.into(&result, true);
  return result;
}

// ---------------------------------------------------------------------------------------------
// Partition

// [abcdefgh] with b, e, f going left becomes left = [bef], right = [acdgh]. Every row is written to
// both sides and only one cursor moves: no branch to mispredict.
template <class Code>
size_t partition(const Code* column, const uint32_t* rows, size_t n, uint32_t bin, uint32_t missing,
                 uint32_t* left, uint32_t* right) {
  size_t l = 0, r = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = rows[i];
    const uint32_t code = column[row];
    const size_t go_left = static_cast<size_t>(code <= bin) | static_cast<size_t>(code == missing);
    left[l] = row;
    right[r] = row;
    l += go_left;
    r += 1 - go_left;
  }
  return l;
}

// ---------------------------------------------------------------------------------------------
// Binning

// How many of the 16 sorted cuts of one node are below x.
size_t count_below(const double* node, double x) {
  IntLanes sum = {};
  for (size_t j = 0; j < CutTree::kWays; j += kLanes) {
    DoubleLanes cuts;
    __builtin_memcpy(&cuts, node + j, sizeof cuts);
    sum += cuts < x;
  }
  int64_t total = 0;
  for (size_t j = 0; j < kLanes; ++j) total -= sum[j];
  return static_cast<size_t>(total);
}

void bin_values(const double* values, size_t n, const CutTree& cuts, uint16_t missing,
                uint16_t* out) {
  for (size_t i = 0; i < n; ++i) {
    const double x = values[i];
    size_t position = 0;
    for (int l = 0; l < cuts.levels; ++l)
      position =
          position * CutTree::kWays + count_below(cuts.level[l] + position * CutTree::kWays, x);
    out[i] = x == x ? static_cast<uint16_t>(position) : missing;
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
    .bin_values = bin_values,
};

}  // namespace stagewise
