// The best cut of one feature of one node whose rows have classes.
//
// Rows move from the right side to the left one, bin by bin or in the order of their
// codes, and each side keeps what the criterion needs of the weights W_k of its classes up
// to date. That is an integer for every criterion, so the order in which rows come does not matter,
// and a move costs the same for two classes and for a hundred.
#pragma once

#include "core/float_math.hpp"
#include "kernels/api/split_scan.hpp"
#include "kernels/packing.hpp"

namespace stagewise {
namespace {

// max_k W_k.
struct MostOfSide {
  int64_t* weight;  // per class
  size_t classes;
  int64_t most = 0;

  MostOfSide(int64_t* own, size_t n, const ScanRules&) : weight(own), classes(n) {}
  void add(size_t k, int64_t w) {
    if (w == 0) return;
    const int64_t before = weight[k];
    weight[k] = before + w;
    if (w > 0) {
      most = weight[k] > most ? weight[k] : most;
    } else if (before == most) {
      most = 0;
      for (size_t j = 0; j < classes; ++j) most = weight[j] > most ? weight[j] : most;
    }
  }
  static double score(const MostOfSide& left, const MostOfSide& right) {
    return static_cast<double>(left.most) + static_cast<double>(right.most);
  }
};

// sum_k W_k log W_k - W log W, which is the same for all units of the weights: so these are whole
// ones of a unit that all rows share.
struct EntropyOfSide {
  int64_t* weight;
  const WeightLogs& logs;
  int64_t own_logs = 0, sum = 0;

  EntropyOfSide(int64_t* own, size_t, const ScanRules& rules) : weight(own), logs(rules.logs) {}
  void add(size_t k, int64_t w) {
    if (w == 0) return;
    w >>= logs.shift;
    own_logs += log_of(weight[k] + w) - log_of(weight[k]);
    weight[k] += w;
    sum += w;
  }
  int64_t log_of(int64_t w) const { return w < logs.n ? logs.few[w] : whole_log(w); }
  int64_t units() const { return own_logs - log_of(sum); }
  static double score(const EntropyOfSide& left, const EntropyOfSide& right) {
    return static_cast<double>(left.units() + right.units()) * left.logs.real;
  }
};

// Two sides that keep what they need of their own classes. Everything is on the right at first.
template <class Side>
struct TwoSides {
  Side left, right;

  // scratch: 2 * classes zeros.
  TwoSides(const ClassNode& node, const ScanRules& rules, int64_t* scratch)
      : left(scratch, node.classes, rules), right(scratch + node.classes, node.classes, rules) {
    for (size_t k = 0; k < node.classes; ++k) right.add(k, packed_gradient(node.packed_sums[k]));
  }
  void move(size_t k, int64_t w) {
    left.add(k, w);
    right.add(k, -w);
  }
  double score() const { return Side::score(left, right); }
};

// squares / sum; the sum of squares is below 2^62.
double gini_score(int64_t squares, int64_t sum) {
  return sum > 0 ? static_cast<double>(squares) / static_cast<double>(sum) : 0.0;
}

// sum_k W_k^2 / W of either side, of which only the left one is kept: the classes on the right
// set_sums what is left over.
struct GiniSides {
  const int64_t* all;  // per class, packed
  int64_t* weight;     // per class, on the left
  int64_t squares = 0, sum = 0, right_squares = 0, right_sum = 0;

  GiniSides(const ClassNode& node, const ScanRules&, int64_t* scratch)
      : all(node.packed_sums), weight(scratch) {
    for (size_t k = 0; k < node.classes; ++k) {
      const int64_t w = packed_gradient(all[k]);
      right_squares += w * w;
      right_sum += w;
    }
  }
  void move(size_t k, int64_t w) {
    const int64_t before = weight[k], right = packed_gradient(all[k]) - before;
    squares += w * (2 * before + w);
    right_squares -= w * (2 * right - w);
    weight[k] = before + w;
    sum += w;
    right_sum -= w;
  }
  double score() const { return gini_score(squares, sum) + gini_score(right_squares, right_sum); }
};

// What a side must have so that a cut may be offered.
struct Weighed {
  const ScanRules& rules;
  int64_t all_word = 0, count = 0, least_count = 0;

  Weighed(const ClassNode& node, const ScanRules& scan_rules)
      : rules(scan_rules), count(node.count), least_count(node.least_count) {
    for (size_t k = 0; k < node.classes; ++k) all_word += node.packed_sums[k];
  }
  bool enough(int64_t left_sum, int64_t count_left) const {
    const auto hl = static_cast<double>(packed_hessian(left_sum));
    const auto hr = static_cast<double>(packed_hessian(all_word - left_sum));
    return hl >= rules.min_hessian && hr >= rules.min_hessian && count_left >= least_count &&
           count - count_left >= least_count;
  }
};

// A cut that moves through the rows of a node.
template <class SplitCondition>
struct MovingCut {
  const Weighed weighed;
  SplitCondition sides;
  int64_t left_sum = 0, count_left = 0;

  // scratch: 2 * classes numbers.
  MovingCut(const ClassNode& node, const ScanRules& rules, int64_t* scratch)
      : weighed(node, rules), sides(node, rules, cleared(scratch, 2 * node.classes)) {}

  void move(size_t k, int64_t packed_sum, int64_t count) {
    sides.move(k, packed_gradient(packed_sum));
    left_sum += packed_sum;
    count_left += count;
  }

  // Offers the cut behind a position; the first of equals stays.
  void offer(size_t position, bool missing_left, ScanResult* best) const {
    if (!weighed.enough(left_sum, count_left)) return;
    const double now = sides.score();
    if (now > best->score) *best = {now, position, missing_left, left_sum};
  }

 private:
  static int64_t* cleared(int64_t* numbers, size_t n) {
    for (size_t i = 0; i < n; ++i) numbers[i] = 0;
    return numbers;
  }
};

// Both ways for missing values, of which the second is tried where there are any:
// offer_all(to_left, best) offers the cuts of one way.
template <class OfferAll>
ScanResult best_of_both(bool missing, OfferAll offer_all) {
  ScanResult best[2];  // missing values to the right, to the left
  for (int to_left = 0; to_left < (missing ? 2 : 1); ++to_left)
    offer_all(to_left != 0, &best[to_left]);
  ScanResult result = best[1].score > best[0].score ? best[1] : best[0];
  result.missing_seen = missing;
  return result;
}

bool any_missing(const ClassScanInput& in) {
  bool missing = false;
  for (size_t k = 0; in.has_missing && k < in.node.classes; ++k)
    missing = missing || in.packed_sum(in.bins, k) != 0;
  return missing;
}

template <class SplitCondition>
ScanResult scan_classes_by(const ClassScanInput& in, const ScanRules& rules, int64_t* scratch) {
  const auto move_bin = [&](MovingCut<SplitCondition>& cut, size_t bin) {
    bool any = false;
    for (size_t k = 0; k < in.node.classes; ++k) {
      const int64_t packed_sum = in.packed_sum(bin, k);
      if (packed_sum == 0) continue;
      cut.move(k, packed_sum, 0);
      any = true;
    }
    const int64_t count = in.counts != nullptr ? in.counts[bin] : 0;
    cut.count_left += count;
    return any || count != 0;
  };
  double unsplit = 0.0;
  ScanResult result = best_of_both(any_missing(in), [&](bool to_left, ScanResult* best) {
    MovingCut<SplitCondition> cut(in.node, rules, scratch);
    unsplit = cut.sides.score();
    if (to_left) move_bin(cut, in.bins);
    bool any = false;
    for (size_t bin = 0; bin < in.within.last; ++bin) {
      const bool moved = move_bin(cut, bin);
      any = any || moved;
      // Behind an empty bin nothing has changed.
      if (bin >= in.within.first && any && (moved || bin == in.within.first))
        cut.offer(bin, to_left, best);
    }
  });
  result.unsplit = unsplit;
  return result;
}

constexpr size_t kGiniChunk = 256;  // bins
constexpr size_t kFewBins = 8;      // of which a cut is moved through each, class by class

// The left sides of the cuts behind the bins of a chunk, and squares of both sides.
struct GiniChunk {
  alignas(64) uint32_t weight[kGiniChunk];  // of one class
  alignas(64) int64_t squares[kGiniChunk], right_squares[kGiniChunk];
  alignas(64) int64_t packed_sum[kGiniChunk];  // of all classes
  alignas(64) double score[kGiniChunk];
  size_t n;

  void start(size_t bins) {
    n = bins;
    for (size_t b = 0; b < n; ++b) squares[b] = right_squares[b] = packed_sum[b] = 0;
  }

  // A class whose weight in the node is `all` and left of the chunk is `before`; returns that left
  // of the next one.
  uint32_t add_class(const int64_t* packed_sums, uint32_t all, uint32_t before) {
    for (size_t b = 0; b < n; ++b) {
      before += static_cast<uint32_t>(packed_gradient(packed_sums[b]));
      weight[b] = before;
    }
    for (size_t b = 0; b < n; ++b) packed_sum[b] += packed_sums[b];
    for (size_t b = 0; b < n; ++b) {
      const uint32_t left = weight[b], right = all - left;
      squares[b] += static_cast<int64_t>(uint64_t{left} * left);
      right_squares[b] += static_cast<int64_t>(uint64_t{right} * right);
    }
    return before;
  }

  // Scores, once all classes are there; before: the word of all that is left of the chunk.
  int64_t finish(int64_t before, int64_t all) {
    for (size_t b = 0; b < n; ++b) packed_sum[b] = before += packed_sum[b];
    const int32_t sum = high_half(all);
    for (size_t b = 0; b < n; ++b) {
      const int32_t left = high_half(packed_sum[b]), right = sum - left;
      const double of_left = as_double(squares[b]) / left;
      const double of_right = as_double(right_squares[b]) / right;
      score[b] = (left > 0 ? of_left : 0.0) + (right > 0 ? of_right : 0.0);
    }
    return before;
  }

 private:
  static int32_t high_half(int64_t packed_sum) {
    return static_cast<int32_t>(static_cast<uint64_t>(packed_sum) >> 32);
  }
  // The double next to a number from 0 to 2^62, in operations that all instruction sets have for
  // vectors: its halves are digits of two doubles, whose sum is rounded once.
  static double as_double(int64_t x) {
    const auto bits = static_cast<uint64_t>(x);
    const double low = __builtin_bit_cast(double, (bits & 0xffffffffu) | 0x4330000000000000u);
    const double high = __builtin_bit_cast(double, (bits >> 32) | 0x4530000000000000u);
    return (high - (0x1p84 + 0x1p52)) + low;
  }
};

// Of many bins: class by class, many bins at once, with the same integers.
ScanResult scan_gini(const ClassScanInput& in, const ScanRules& rules, int64_t* scratch) {
  const ClassNode& node = in.node;
  const Weighed weighed(node, rules);
  GiniChunk chunk;
  ScanResult result = best_of_both(any_missing(in), [&](bool to_left, ScanResult* best) {
    int64_t packed_sum = 0, count = 0;
    for (size_t k = 0; k < node.classes; ++k) {
      scratch[k] = to_left ? packed_gradient(in.packed_sum(in.bins, k)) : 0;
      packed_sum += to_left ? in.packed_sum(in.bins, k) : 0;
    }
    if (to_left && in.counts != nullptr) count = in.counts[in.bins];
    const int64_t missing_sum = packed_sum, missing_count = count;
    for (size_t begin = 0; begin < in.within.last; begin += kGiniChunk) {
      const size_t left = in.within.last - begin;
      chunk.start(left < kGiniChunk ? left : kGiniChunk);
      for (size_t k = 0; k < node.classes; ++k)
        if (node.packed_sums[k] != 0)
          scratch[k] = chunk.add_class(in.packed_sums + k * in.class_stride + begin,
                                       static_cast<uint32_t>(packed_gradient(node.packed_sums[k])),
                                       static_cast<uint32_t>(scratch[k]));
      packed_sum = chunk.finish(packed_sum, weighed.all_word);
      for (size_t b = 0; b < chunk.n; ++b) {
        count += in.counts != nullptr ? in.counts[begin + b] : 0;
        if (!(chunk.score[b] > best->score) || begin + b < in.within.first) continue;
        const bool any = chunk.packed_sum[b] != missing_sum || count != missing_count;
        if (any && weighed.enough(chunk.packed_sum[b], count))
          *best = {chunk.score[b], begin + b, to_left, chunk.packed_sum[b]};
      }
    }
  });
  result.unsplit = GiniSides(node, rules, scratch).score();
  return result;
}

template <class SplitCondition>
ScanResult sweep_classes_by(const ClassSweepInput& in, const ScanRules& rules, int64_t* scratch) {
  const auto move_row = [&](MovingCut<SplitCondition>& cut, size_t i) {
    const uint32_t row = in.rows[i].row;
    cut.move(static_cast<size_t>(in.class_of[row]), in.slots[row].packed,
             in.counts != nullptr ? in.counts[i] : 0);
  };
  bool missing = false;
  for (size_t i = in.present; i < in.n; ++i)
    missing = missing || in.slots[in.rows[i].row].packed != 0;
  double unsplit = 0.0;
  ScanResult result = best_of_both(missing, [&](bool to_left, ScanResult* best) {
    MovingCut<SplitCondition> cut(in.node, rules, scratch);
    unsplit = cut.sides.score();
    for (size_t i = in.present; to_left && i < in.n; ++i) move_row(cut, i);
    for (size_t i = 0; i < in.within.last; ++i) {
      move_row(cut, i);
      const bool end = i + 1 == in.present || in.rows[i].rank != in.rows[i + 1].rank;
      if (end && i >= in.within.first) cut.offer(i, to_left, best);
    }
  });
  result.unsplit = unsplit;
  return result;
}

ScanResult scan_classes(const ClassScanInput& in, const ScanRules& rules, int64_t* scratch) {
  switch (rules.criterion) {
    case ClassCriterion::gini:
      return in.within.last < kFewBins ? scan_classes_by<GiniSides>(in, rules, scratch)
                                       : scan_gini(in, rules, scratch);
    case ClassCriterion::entropy:
      return scan_classes_by<TwoSides<EntropyOfSide>>(in, rules, scratch);
    default:
      return scan_classes_by<TwoSides<MostOfSide>>(in, rules, scratch);
  }
}

ScanResult sweep_classes(const ClassSweepInput& in, const ScanRules& rules, int64_t* scratch) {
  switch (rules.criterion) {
    case ClassCriterion::gini:
      return sweep_classes_by<GiniSides>(in, rules, scratch);
    case ClassCriterion::entropy:
      return sweep_classes_by<TwoSides<EntropyOfSide>>(in, rules, scratch);
    default:
      return sweep_classes_by<TwoSides<MostOfSide>>(in, rules, scratch);
  }
}

}  // namespace
}  // namespace stagewise
