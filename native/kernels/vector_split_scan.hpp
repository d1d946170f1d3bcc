// The best cut of one feature of one node with several outputs, or for symmetric trees the scores
// of all cuts: running sums of vectors from bin to bin. The score of a cut is summed in the lanes
// of a block, then across them in one fixed order, for any vector width; the minimal hessian and
// count of the sides are checked only for a cut that would be the best, or at both ends of the
// cuts. A lane that counts rows may need more than 32 bits; its unit is 0.
#pragma once

#include "kernels/split_scan.hpp"
#include "kernels/vector_histogram.hpp"

namespace stagewise {
namespace {

typedef double LaneReals __attribute__((vector_size(kLaneBlock * sizeof(double))));
typedef uint64_t LaneBits __attribute__((vector_size(kLaneBlock * sizeof(uint64_t))));

LaneReals load_reals(const double* numbers) {
  LaneReals lanes;
  __builtin_memcpy(&lanes, numbers, sizeof lanes);
  return lanes;
}

double sum_across(LaneReals lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

// The halves of packed sums as doubles: their bits become the last ones of 2^52, which is then
// subtracted. That is exact, and in vectors faster than a conversion.
LaneReals gradients_of(LaneWords packed_sums) {
  const LaneBits bits = ((LaneBits)packed_sums >> 32) ^ (LaneBits{} + 0x4330000080000000u);
  return (LaneReals)bits - (0x1p52 + 0x1p31);
}

LaneReals hessians_of(LaneWords packed_sums) {
  const LaneBits bits = ((LaneBits)packed_sums & 0xffffffffu) | (LaneBits{} + 0x4330000000000000u);
  return (LaneReals)bits - 0x1p52;
}

// Where nothing is curved one unit of rounding is: with no penalty either, 0/0 must be nothing.
LaneReals at_least_one(LaneReals hessian) {
  const LaneReals one = LaneReals{} + 1.0;
#if defined(__AVX__)
  return (LaneReals)_mm256_max_pd((__m256d)hessian, (__m256d)one);
#else
  return hessian > one ? hessian : one;
#endif
}

bool any_bit(LaneWords lanes) {
#if defined(__AVX__)
  return _mm256_testz_si256((__m256i)lanes, (__m256i)lanes) == 0;
#else
  return (lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0;
#endif
}

// Running sums of `Blocks` blocks of lanes, in registers; 0: of any number, in memory.
template <size_t Blocks>
class LeftSums {
 public:
  explicit LeftSums(int64_t*) {}
  LaneWords operator[](size_t b) const { return sums_[b]; }
  void set(size_t b, LaneWords packed_sums) { sums_[b] = packed_sums; }

 private:
  LaneWords sums_[Blocks];
};

template <>
class LeftSums<0> {
 public:
  explicit LeftSums(int64_t* memory) : memory_(memory) {}
  LaneWords operator[](size_t b) const { return load_lanes(memory_ + b * kLaneBlock); }
  void set(size_t b, LaneWords packed_sums) { store_lanes(memory_ + b * kLaneBlock, packed_sums); }

 private:
  int64_t* memory_;
};

// The gradients and hessians of the whole node, block by block: computed once, or if the number of
// blocks is not known, each time.
template <size_t Blocks>
class NodeSums {
 public:
  explicit NodeSums(const int64_t* total) {
    for (size_t b = 0; b < Blocks; ++b) {
      gradient_[b] = gradients_of(load_lanes(total + b * kLaneBlock));
      hessian_[b] = hessians_of(load_lanes(total + b * kLaneBlock));
    }
  }
  LaneReals gradients(size_t b) const { return gradient_[b]; }
  LaneReals hessians(size_t b) const { return hessian_[b]; }

 private:
  LaneReals gradient_[Blocks], hessian_[Blocks];
};

template <>
class NodeSums<0> {
 public:
  explicit NodeSums(const int64_t* total) : total_(total) {}
  LaneReals gradients(size_t b) const { return gradients_of(load_lanes(total_ + b * kLaneBlock)); }
  LaneReals hessians(size_t b) const { return hessians_of(load_lanes(total_ + b * kLaneBlock)); }

 private:
  const int64_t* total_;
};

// Whether a side has the minimal count and hessian, where sum(k) is its packed sum of a lane. If it
// has, every larger side has them, too: neither is ever negative, and a sum of floats is monotone
// in each term.
template <class Sum>
bool has_min_count(const VectorRules& rules, Sum sum) {
  if ((sum(rules.count_lane) & rules.count_mask) < rules.least_count) return false;
  double hessian = 0.0;
  for (size_t k = 0; k < rules.outputs; ++k)
    hessian += static_cast<double>(packed_hessian(sum(k))) * rules.hessian_unit[k];
  return hessian > 0.0 && hessian >= rules.least_hessian;
}

// The two sides of a cut, lane by lane, from memory.
struct VectorSides {
  const int64_t* left;
  const int64_t* total;
  const VectorRules& rules;

  double score() const {
    double sum = 0.0;
    for (size_t k = 0; k < rules.outputs; ++k) {
      Regularisation r;
      r.l1 = rules.l1[k];
      r.l2 = rules.l2[k];
      r.high = rules.high[k];
      r.low = -r.high;
      double both = 0.0;
      for (const int64_t side : {left[k], total[k] - left[k]}) {
        const auto h = static_cast<double>(packed_hessian(side));
        both += leaf_score(static_cast<double>(packed_gradient(side)), h > 1.0 ? h : 1.0, r);
      }
      sum += both * rules.unit[k];
    }
    return sum;
  }

  bool both_have_min_count() const {
    return has_min_count(rules, [&](size_t k) { return left[k]; }) &&
           has_min_count(rules, [&](size_t k) { return total[k] - left[k]; });
  }
};

template <size_t Blocks>
class VectorScan {
 public:
  VectorScan(const VectorScanInput& input, const VectorRules& rules, int64_t* scratch)
      : in_(input), rules_(rules), scratch_(scratch), node_(input.total), left_(scratch) {}

  // The first of equals stays; missing values on the right are tried first.
  ScanResult best(int64_t* left) {
    ScanResult best;
    for (int to_left = 0; to_left < (in_.missing != nullptr ? 2 : 1); ++to_left) {
      start(to_left != 0 ? in_.missing : nullptr);
      for (size_t i = 0; i < in_.bins; ++i) {
        if (!advance(i)) continue;  // an empty bin: as the cut before it
        double score = kNoSplit;
        if (rules_.plain) {
          score = plain_score();
          if (!(score > best.score)) continue;
        }
        const VectorSides sides = exact_sides();
        if (!rules_.plain) score = sides.score();
        if (!(score > best.score) || !sides.both_have_min_count()) continue;
        best.score = score;
        best.position = i;
        best.missing_left = to_left != 0;
        for (size_t k = 0; k < rules_.lanes; ++k) left[k] = scratch_[k];
      }
    }
    return best;
  }

  // out[i] += the score of the cut behind bin i, or `unsplit` if it is not possible; the same for
  // `also`, if it is not null. first: what is on the left of all cuts, last: on the right; or null.
  // The possible cuts are adjacent, so only those at both ends are checked.
  // Inlined, so that the sums stay in registers.
  __attribute__((always_inline)) void add_scores(const int64_t* first, const int64_t* last,
                                                 double unsplit, double* out, double* also) {
    const size_t end = possible_end(last);
    start(first);
    bool possible = false, changed = first != nullptr;
    double score = unsplit;
    for (size_t i = 0; i < in_.bins; ++i) {
      if (i >= end) {
        score = unsplit;
      } else if (advance(i) || changed) {  // behind an empty bin: the same score
        possible = possible || left_has_min_count();
        if (possible) score = rules_.plain ? plain_score() : exact_sides().score();
        changed = false;
      }
      out[i] += score;
      if (also != nullptr) also[i] += score;
    }
  }

 private:
  void start(const int64_t* packed_sums) {
    for (size_t b = 0; b < blocks(); ++b)
      left_.set(b, packed_sums != nullptr ? load_lanes(packed_sums + b * kLaneBlock) : LaneWords{});
  }

  // The end of the cuts whose right side, summed from the last bin on, has the minimal count and
  // hessian.
  size_t possible_end(const int64_t* last) {
    start(last);
    bool possible = left_has_min_count();
    size_t end = in_.bins;
    for (; end > 0 && !possible; --end) possible = advance(end - 1) && left_has_min_count();
    return end;
  }

  VectorSides exact_sides() {
    for (size_t b = 0; b < blocks(); ++b) store_lanes(scratch_ + b * kLaneBlock, left_[b]);
    return {scratch_, in_.total, rules_};
  }
  bool left_has_min_count() {
    const VectorSides sides = exact_sides();
    return has_min_count(rules_, [&](size_t k) { return sides.left[k]; });
  }

  size_t blocks() const { return Blocks > 0 ? Blocks : rules_.lanes / kLaneBlock; }

  bool advance(size_t bin) {
    const int64_t* const packed_sums = in_.packed_sums + bin * blocks() * kLaneBlock;
    LaneWords any = {};
    for (size_t b = 0; b < blocks(); ++b) {
      const LaneWords own = load_lanes(packed_sums + b * kLaneBlock);
      any |= own;
      left_.set(b, left_[b] + own);
    }
    return any_bit(any);
  }

  // Sums are integers below 2^31, so their differences are exact in double.
  double plain_score() const {
    LaneReals sum = {};
    for (size_t b = 0; b < blocks(); ++b) {
      const LaneReals gl = gradients_of(left_[b]), gr = node_.gradients(b) - gl;
      const LaneReals hl = hessians_of(left_[b]), hr = node_.hessians(b) - hl;
      const LaneReals l2 = load_reals(rules_.l2 + b * kLaneBlock);
      const LaneReals dl = at_least_one(hl) + l2, dr = at_least_one(hr) + l2;
      const LaneReals unit = load_reals(rules_.unit + b * kLaneBlock);
      sum += (gl * gl * dr + gr * gr * dl) / (dl * dr) * unit;
    }
    return sum_across(sum);
  }

  const VectorScanInput& in_;
  const VectorRules& rules_;
  int64_t* const scratch_;
  const NodeSums<Blocks> node_;
  LeftSums<Blocks> left_;
};

// use(scan) with the scan for this number of lanes.
template <class Use>
auto with_scan(const VectorScanInput& in, const VectorRules& rules, int64_t* scratch, Use use) {
  switch (rules.lanes / kLaneBlock) {
    case 1:
      return use(VectorScan<1>(in, rules, scratch));
    case 2:
      return use(VectorScan<2>(in, rules, scratch));
    case 3:
      return use(VectorScan<3>(in, rules, scratch));
    case 4:
      return use(VectorScan<4>(in, rules, scratch));
    default:
      return use(VectorScan<0>(in, rules, scratch));
  }
}

ScanResult scan_vectors(const VectorScanInput& in, const VectorRules& rules, int64_t* left,
                        int64_t* scratch) {
  return with_scan(in, rules, scratch, [=](auto scan) { return scan.best(left); });
}

void symmetric_vector_scores(const VectorScanInput& in, const VectorRules& rules, double unsplit,
                             int64_t* scratch, double* right, double* left) {
  with_scan(in, rules, scratch, [&](auto scan) {
    if (in.missing == nullptr) return scan.add_scores(nullptr, nullptr, unsplit, right, left);
    for (int to_left = 0; to_left < 2; ++to_left)
      scan.add_scores(to_left != 0 ? in.missing : nullptr, to_left != 0 ? nullptr : in.missing,
                      unsplit, to_left != 0 ? left : right, nullptr);
  });
}

}  // namespace
}  // namespace stagewise
