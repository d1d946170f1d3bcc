// The best cut of one feature of one node whose rows have classes.
//
// One idea: rows move from the right side to the left one, bin by bin or in the order of their
// codes, and each side keeps what the criterion needs to know of the weights W_k of its classes up
// to date. That is an integer for every criterion, so the order in which rows come does not matter,
// and a move costs the same for two classes and for a hundred.
#pragma once

#include "float_math.hpp"
#include "kernels.hpp"
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

// sum_k W_k^2 / W; the sum of squares is below 2^62.
struct GiniOfSide {
  int64_t* weight;
  int64_t squares = 0, sum = 0;

  GiniOfSide(int64_t* own, size_t, const ScanRules&) : weight(own) {}
  void add(size_t k, int64_t w) {
    squares += w * (2 * weight[k] + w);
    weight[k] += w;
    sum += w;
  }
  double score() const {
    return sum > 0 ? static_cast<double>(squares) / static_cast<double>(sum) : 0.0;
  }
  static double score(const GiniOfSide& left, const GiniOfSide& right) {
    return left.score() + right.score();
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

// Both sides of a cut that moves through the rows of a node.
template <class Side>
struct ClassSides {
  const ScanRules& rules;
  Side left, right;
  int64_t all_word = 0, left_word = 0;
  int64_t count_left = 0, count_right = 0, least_count = 0;

  // scratch: 2 * classes numbers. Everything is on the right.
  ClassSides(const ClassNode& node, const ScanRules& scan_rules, int64_t* scratch)
      : rules(scan_rules),
        left(scratch, node.classes, scan_rules),
        right(scratch + node.classes, node.classes, scan_rules),
        count_right(node.count),
        least_count(node.least_count) {
    for (size_t k = 0; k < 2 * node.classes; ++k) scratch[k] = 0;
    for (size_t k = 0; k < node.classes; ++k) {
      right.add(k, word_gradient(node.words[k]));
      all_word += node.words[k];
    }
  }

  void move(size_t k, int64_t word, int64_t count) {
    const int64_t w = word_gradient(word);
    left.add(k, w);
    right.add(k, -w);
    left_word += word;
    count_left += count;
    count_right -= count;
  }

  double score() const { return Side::score(left, right); }

  // Offers the cut behind a position; the first of equals stays.
  void offer(size_t position, bool missing_left, ScanResult* best) const {
    const auto hl = static_cast<double>(word_hessian(left_word));
    const auto hr = static_cast<double>(word_hessian(all_word - left_word));
    if (hl < rules.min_hessian || hr < rules.min_hessian) return;
    if (count_left < least_count || count_right < least_count) return;
    const double now = score();
    if (now > best->score) *best = {now, position, missing_left, left_word};
  }
};

// Both ways for missing values: sweep(sides, to_left, best) moves rows and offers cuts.
template <class Side, class Sweep>
ScanResult best_of_both(const ClassNode& node, bool missing, const ScanRules& rules,
                        int64_t* scratch, Sweep sweep) {
  ScanResult best[2];  // missing values to the right, to the left
  double unsplit = 0.0;
  for (int to_left = 0; to_left < (missing ? 2 : 1); ++to_left) {
    ClassSides<Side> sides(node, rules, scratch);
    unsplit = sides.score();
    sweep(sides, to_left != 0, &best[to_left]);
  }
  ScanResult result = best[1].score > best[0].score ? best[1] : best[0];
  result.unsplit = unsplit;
  result.missing_seen = missing;
  return result;
}

template <class Side>
ScanResult scan_classes_by(const ClassScanInput& in, const ScanRules& rules, int64_t* scratch) {
  const auto move_bin = [&](ClassSides<Side>& sides, size_t bin) {
    bool any = false;
    for (size_t k = 0; k < in.classes; ++k) {
      const int64_t word = in.word(bin, k);
      if (word == 0) continue;
      sides.move(k, word, 0);
      any = true;
    }
    const int64_t count = in.counts != nullptr ? in.counts[bin] : 0;
    sides.count_left += count;
    sides.count_right -= count;
    return any || count != 0;
  };
  bool missing = false;
  for (size_t k = 0; in.has_missing && k < in.classes; ++k)
    missing = missing || in.word(in.bins, k) != 0;
  return best_of_both<Side>(
      in.node, missing, rules, scratch,
      [&](ClassSides<Side>& sides, bool to_left, ScanResult* best) {
        if (to_left) move_bin(sides, in.bins);
        bool any = false;
        for (size_t bin = 0; bin < in.within.last; ++bin) {
          const bool moved = move_bin(sides, bin);
          any = any || moved;
          // Behind an empty bin nothing has changed.
          if (bin >= in.within.first && any && (moved || bin == in.within.first))
            sides.offer(bin, to_left, best);
        }
      });
}

template <class Side>
ScanResult sweep_classes_by(const ClassSweepInput& in, const ScanRules& rules, int64_t* scratch) {
  const auto move_row = [&](ClassSides<Side>& sides, size_t i) {
    const uint32_t row = in.rows[i].row;
    sides.move(static_cast<size_t>(in.class_of[row]), in.slots[row].word,
               in.counts != nullptr ? in.counts[i] : 0);
  };
  bool missing = false;
  for (size_t i = in.present; i < in.n; ++i)
    missing = missing || in.slots[in.rows[i].row].word != 0;
  return best_of_both<Side>(in.node, missing, rules, scratch,
                            [&](ClassSides<Side>& sides, bool to_left, ScanResult* best) {
                              for (size_t i = in.present; to_left && i < in.n; ++i)
                                move_row(sides, i);
                              for (size_t i = 0; i < in.within.last; ++i) {
                                move_row(sides, i);
                                const bool end =
                                    i + 1 == in.present || in.rows[i].rank != in.rows[i + 1].rank;
                                if (end && i >= in.within.first) sides.offer(i, to_left, best);
                              }
                            });
}

ScanResult scan_classes(const ClassScanInput& in, const ScanRules& rules, int64_t* scratch) {
  switch (rules.criterion) {
    case ClassCriterion::gini:
      return scan_classes_by<GiniOfSide>(in, rules, scratch);
    case ClassCriterion::entropy:
      return scan_classes_by<EntropyOfSide>(in, rules, scratch);
    default:
      return scan_classes_by<MostOfSide>(in, rules, scratch);
  }
}

ScanResult sweep_classes(const ClassSweepInput& in, const ScanRules& rules, int64_t* scratch) {
  switch (rules.criterion) {
    case ClassCriterion::gini:
      return sweep_classes_by<GiniOfSide>(in, rules, scratch);
    case ClassCriterion::entropy:
      return sweep_classes_by<EntropyOfSide>(in, rules, scratch);
    default:
      return sweep_classes_by<MostOfSide>(in, rules, scratch);
  }
}

}  // namespace
}  // namespace stagewise
