// The best cut of one feature of one node with several outputs: running sums of vectors from bin to
// bin. The score of a cut is summed in the lanes of a block, then across them in one fixed order,
// for any vector width; the minimal hessian and count of the sides are checked only for a cut that
// would be the best. A lane that counts rows may need more than 32 bits; its unit is 0.
#pragma once

#include "kernels/split_scan.hpp"
#include "kernels/vector_histogram.hpp"

namespace stagewise {
namespace {

typedef double LaneReals __attribute__((vector_size(kLaneBlock * sizeof(double))));
typedef int32_t LaneInts __attribute__((vector_size(kLaneBlock * sizeof(int32_t))));

LaneReals load_reals(const double* numbers) {
  LaneReals lanes;
  __builtin_memcpy(&lanes, numbers, sizeof lanes);
  return lanes;
}

double sum_across(LaneReals lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

LaneReals gradients_of(LaneWords packed_sums) {
  const Halves halves = (Halves)packed_sums;
  return __builtin_convertvector(__builtin_shufflevector(halves, halves, 1, 3, 5, 7), LaneReals);
}

LaneReals hessians_of(LaneWords packed_sums) {
  const Halves halves = (Halves)packed_sums;
  return __builtin_convertvector(__builtin_shufflevector(halves, halves, 0, 2, 4, 6), LaneReals);
}

// Where nothing is curved one unit of rounding is: with no penalty either, 0/0 must be nothing.
LaneReals at_least_one(LaneReals hessian) {
  const LaneReals one = LaneReals{} + 1.0;
  return hessian > one ? hessian : one;
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
    const int64_t all = total[rules.count_lane], own = left[rules.count_lane];
    if ((own & rules.count_mask) < rules.least_count) return false;
    if (((all - own) & rules.count_mask) < rules.least_count) return false;
    double of_left = 0.0, of_right = 0.0;
    for (size_t k = 0; k < rules.outputs; ++k) {
      of_left += static_cast<double>(packed_hessian(left[k])) * rules.hessian_unit[k];
      of_right += static_cast<double>(packed_hessian(total[k] - left[k])) * rules.hessian_unit[k];
    }
    const double least = of_left < of_right ? of_left : of_right;
    return least > 0.0 && least >= rules.least_hessian;
  }
};

template <size_t Blocks>
class VectorScan {
 public:
  VectorScan(const VectorScanInput& input, const VectorRules& rules, int64_t* scratch)
      : in_(input), rules_(rules), scratch_(scratch), left_(scratch) {}

  // The first of equals stays; missing values on the right are tried first.
  ScanResult best(int64_t* left) {
    ScanResult best;
    for (int to_left = 0; to_left < (in_.missing != nullptr ? 2 : 1); ++to_left) {
      for (size_t b = 0; b < blocks(); ++b)
        left_.set(b, to_left != 0 ? load_lanes(in_.missing + b * kLaneBlock) : LaneWords{});
      for (size_t i = 0; i < in_.bins; ++i) {
        if (!advance(i)) continue;  // an empty bin: as the cut before it
        double score = kNoSplit;
        if (rules_.plain) {
          score = plain_score();
          if (!(score > best.score)) continue;
        }
        for (size_t b = 0; b < blocks(); ++b) store_lanes(scratch_ + b * kLaneBlock, left_[b]);
        const VectorSides sides{scratch_, in_.total, rules_};
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

 private:
  size_t blocks() const { return Blocks > 0 ? Blocks : rules_.lanes / kLaneBlock; }

  bool advance(size_t bin) {
    const int64_t* const packed_sums = in_.packed_sums + bin * blocks() * kLaneBlock;
    LaneWords any = {};
    for (size_t b = 0; b < blocks(); ++b) {
      const LaneWords own = load_lanes(packed_sums + b * kLaneBlock);
      any |= own;
      left_.set(b, left_[b] + own);
    }
    return (any[0] | any[1] | any[2] | any[3]) != 0;
  }

  // Sums are integers below 2^31, so their differences are exact in double.
  double plain_score() const {
    LaneReals sum = {};
    for (size_t b = 0; b < blocks(); ++b) {
      const LaneWords all = load_lanes(in_.total + b * kLaneBlock);
      const LaneReals gl = gradients_of(left_[b]), gr = gradients_of(all) - gl;
      const LaneReals hl = hessians_of(left_[b]), hr = hessians_of(all) - hl;
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
  LeftSums<Blocks> left_;
};

ScanResult scan_vectors(const VectorScanInput& in, const VectorRules& rules, int64_t* left,
                        int64_t* scratch) {
  switch (rules.lanes / kLaneBlock) {
    case 1:
      return VectorScan<1>(in, rules, scratch).best(left);
    case 2:
      return VectorScan<2>(in, rules, scratch).best(left);
    case 3:
      return VectorScan<3>(in, rules, scratch).best(left);
    case 4:
      return VectorScan<4>(in, rules, scratch).best(left);
    default:
      return VectorScan<0>(in, rules, scratch).best(left);
  }
}

}  // namespace
}  // namespace stagewise
