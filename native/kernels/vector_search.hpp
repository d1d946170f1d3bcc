// The best cut of one feature of one node where trees have several outputs.
//
// One idea: running sums of vectors from bin to bin. What a cut is worth is added up in as many
// lanes as a block has, then across them in one fixed order, whatever the vector width; whether its
// sides are heavy enough is asked only of one that would be the best.
#pragma once

#include "kernels/search.hpp"
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

LaneReals gradients_of(LaneWords words) {
  const Halves halves = (Halves)words;
  return __builtin_convertvector(__builtin_shufflevector(halves, halves, 1, 3, 5, 7), LaneReals);
}

LaneReals hessians_of(LaneWords words) {
  const Halves halves = (Halves)words;
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
  void set(size_t b, LaneWords words) { sums_[b] = words; }

 private:
  LaneWords sums_[Blocks];
};

template <>
class LeftSums<0> {
 public:
  explicit LeftSums(int64_t* memory) : memory_(memory) {}
  LaneWords operator[](size_t b) const { return load_lanes(memory_ + b * kLaneBlock); }
  void set(size_t b, LaneWords words) { store_lanes(memory_ + b * kLaneBlock, words); }

 private:
  int64_t* memory_;
};

template <size_t Blocks>
class VectorScan {
 public:
  VectorScan(const VectorScanInput& input, const VectorRules& rules, int64_t* scratch)
      : in_(input), rules_(rules), left_(scratch) {}

  // The first of equals stays; missing values on the right are tried first.
  ScanResult best(int64_t* left) {
    ScanResult best;
    for (int to_left = 0; to_left < (in_.missing != nullptr ? 2 : 1); ++to_left) {
      for (size_t b = 0; b < blocks(); ++b)
        left_.set(b, to_left != 0 ? load_lanes(in_.missing + b * kLaneBlock) : LaneWords{});
      for (size_t i = 0; i < in_.bins; ++i) {
        if (!advance(i)) continue;  // an empty bin: as the cut before it
        const double score = rules_.plain ? plain_score() : bounded_score();
        if (!(score > best.score) || !heavy_enough()) continue;
        best.score = score;
        best.position = i;
        best.missing_left = to_left != 0;
        for (size_t b = 0; b < blocks(); ++b) store_lanes(left + b * kLaneBlock, left_[b]);
      }
    }
    return best;
  }

 private:
  size_t blocks() const { return Blocks > 0 ? Blocks : rules_.lanes / kLaneBlock; }
  LaneWords total(size_t b) const { return load_lanes(in_.total + b * kLaneBlock); }
  int64_t word(size_t lane) const { return left_[lane / kLaneBlock][lane % kLaneBlock]; }

  bool advance(size_t bin) {
    const int64_t* const words = in_.words + bin * blocks() * kLaneBlock;
    LaneWords any = {};
    for (size_t b = 0; b < blocks(); ++b) {
      const LaneWords own = load_lanes(words + b * kLaneBlock);
      any |= own;
      left_.set(b, left_[b] + own);
    }
    return (any[0] | any[1] | any[2] | any[3]) != 0;
  }

  double plain_score() const {
    LaneReals sum = {};
    for (size_t b = 0; b < blocks(); ++b) {
      const LaneWords l = left_[b], r = total(b) - l;
      const LaneReals gl = gradients_of(l), gr = gradients_of(r);
      const LaneReals l2 = load_reals(rules_.l2 + b * kLaneBlock);
      const LaneReals dl = at_least_one(hessians_of(l)) + l2;
      const LaneReals dr = at_least_one(hessians_of(r)) + l2;
      const LaneReals unit = load_reals(rules_.unit + b * kLaneBlock);
      sum += (gl * gl * dr + gr * gr * dl) / (dl * dr) * unit;
    }
    return sum_across(sum);
  }

  double bounded_score() const {
    double sum = 0.0;
    for (size_t k = 0; k < rules_.outputs; ++k) {
      Regularisation r;
      r.l1 = rules_.l1[k];
      r.l2 = rules_.l2[k];
      r.high = rules_.high[k];
      r.low = -r.high;
      double both = 0.0;
      for (const int64_t side : {word(k), in_.total[k] - word(k)}) {
        const auto h = static_cast<double>(word_hessian(side));
        both += leaf_gain(static_cast<double>(word_gradient(side)), h > 1.0 ? h : 1.0, r);
      }
      sum += both * rules_.unit[k];
    }
    return sum;
  }

  bool heavy_enough() const {
    const int64_t all = in_.total[rules_.count_lane], own = word(rules_.count_lane);
    if ((own & rules_.count_mask) < rules_.least_count) return false;
    if (((all - own) & rules_.count_mask) < rules_.least_count) return false;
    LaneReals hl = {}, hr = {};
    for (size_t b = 0; b < blocks(); ++b) {
      const LaneReals unit = load_reals(rules_.hessian_unit + b * kLaneBlock);
      hl += hessians_of(left_[b]) * unit;
      hr += hessians_of(total(b) - left_[b]) * unit;
    }
    const double of_left = sum_across(hl), of_right = sum_across(hr);
    const double least = of_left < of_right ? of_left : of_right;
    return least > 0.0 && least >= rules_.least_hessian;
  }

  const VectorScanInput& in_;
  const VectorRules& rules_;
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
