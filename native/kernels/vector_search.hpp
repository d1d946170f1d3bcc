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

class VectorScan {
 public:
  VectorScan(const VectorScanInput& input, const VectorRules& rules) : in_(input), rules_(rules) {}

  double score(const int64_t* left) const {
    return rules_.plain ? plain_score(left) : bounded_score(left);
  }

  bool heavy_enough(const int64_t* left) const {
    const int64_t of_left = left[rules_.count_lane] & rules_.count_mask;
    const int64_t of_right =
        (in_.total[rules_.count_lane] - left[rules_.count_lane]) & rules_.count_mask;
    if (of_left < rules_.least_count || of_right < rules_.least_count) return false;
    LaneReals hl = {}, hr = {};
    for (size_t k = 0; k < rules_.lanes; k += kLaneBlock) {
      const LaneWords l = load_lanes(left + k);
      const LaneReals unit = load_reals(rules_.hessian_unit + k);
      hl += hessians_of(l) * unit;
      hr += hessians_of(load_lanes(in_.total + k) - l) * unit;
    }
    const double least = sum_across(hl) < sum_across(hr) ? sum_across(hl) : sum_across(hr);
    return least > 0.0 && least >= rules_.least_hessian;
  }

 private:
  double plain_score(const int64_t* left) const {
    LaneReals sum = {};
    for (size_t k = 0; k < rules_.lanes; k += kLaneBlock) {
      const LaneWords l = load_lanes(left + k), r = load_lanes(in_.total + k) - l;
      const LaneReals gl = gradients_of(l), gr = gradients_of(r), l2 = load_reals(rules_.l2 + k);
      const LaneReals dl = at_least_one(hessians_of(l)) + l2;
      const LaneReals dr = at_least_one(hessians_of(r)) + l2;
      sum += (gl * gl * dr + gr * gr * dl) / (dl * dr) * load_reals(rules_.unit + k);
    }
    return sum_across(sum);
  }

  double bounded_score(const int64_t* left) const {
    double sum = 0.0;
    for (size_t k = 0; k < rules_.outputs; ++k) {
      Regularisation r;
      r.l1 = rules_.l1[k];
      r.l2 = rules_.l2[k];
      r.high = rules_.high[k];
      r.low = -r.high;
      double both = 0.0;
      for (const int64_t word : {left[k], in_.total[k] - left[k]}) {
        const auto h = static_cast<double>(word_hessian(word));
        both += leaf_gain(static_cast<double>(word_gradient(word)), h > 1.0 ? h : 1.0, r);
      }
      sum += both * rules_.unit[k];
    }
    return sum;
  }

  const VectorScanInput& in_;
  const VectorRules& rules_;
};

ScanResult scan_vectors(const VectorScanInput& in, const VectorRules& rules, int64_t* left,
                        int64_t* scratch) {
  const VectorScan scan(in, rules);
  const size_t lanes = rules.lanes;
  ScanResult best;
  for (int to_left = 0; to_left < (in.missing != nullptr ? 2 : 1); ++to_left) {
    for (size_t k = 0; k < lanes; ++k) scratch[k] = to_left != 0 ? in.missing[k] : 0;
    for (size_t i = 0; i < in.bins; ++i) {
      const int64_t* const bin = in.words + i * lanes;
      LaneWords any = {};
      for (size_t k = 0; k < lanes; k += kLaneBlock) {
        const LaneWords own = load_lanes(bin + k);
        any |= own;
        store_lanes(scratch + k, load_lanes(scratch + k) + own);
      }
      if ((any[0] | any[1] | any[2] | any[3]) == 0) continue;  // as the cut before it
      const double score = scan.score(scratch);
      if (!(score > best.score) || !scan.heavy_enough(scratch)) continue;
      best.score = score;
      best.position = i;
      best.missing_left = to_left != 0;
      for (size_t k = 0; k < lanes; ++k) left[k] = scratch[k];
    }
  }
  return best;
}

}  // namespace
}  // namespace stagewise
