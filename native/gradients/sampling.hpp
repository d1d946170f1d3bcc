// Which rows a round sees, and how often each of them counts.
//
// One idea: whether row i is in the bag of round m is decided by a hash of (seed, m, i), and by
// what is known of all rows together, which is found with integers. So neither threads nor earlier
// rounds have a say. Rows of weight 0 are absent: they are never drawn and count in no share.
//
// Must not: add up floats across rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "core/threads.hpp"

namespace stagewise {

struct Bag {
  std::vector<uint32_t> rows;     // increasing; never empty unless all rows are absent
  std::vector<float> multiplier;  // of every row of the table, 0 outside the bag; empty: once each
};

// What every draw needs to know.
struct DrawnRows {
  Workers& workers;
  size_t rows;
  const double* weight;  // null: all ones
  uint64_t seed, round;

  bool present(size_t row) const { return weight == nullptr || weight[row] > 0.0; }
  uint64_t key() const { return draw_key(seed, Draw::rows, round); }
};

// Each row with probability `share`.
Bag draw_rows(const DrawnRows& from, double share);

// All rows of a group, with probability `share`.
Bag draw_groups(const DrawnRows& from, const uint32_t* group, double share);

// Each row a Poisson number of times, `rate` (at most 1) in the mean: the bootstrap of a table that
// is large (Oza & Russell 2001). More than kMostCount happens once in 10^19 draws and is cut off.
constexpr int kMostCount = 20;
Bag draw_bootstrap(const DrawnRows& from, double rate);

// The rows with the largest importance, a share `top` of all, once each; of the others each with
// probability other / (1 - top), the inverse of which it counts (Ke et al. 2017, Algorithm 2).
// squares: the importance of every row, squared. Equals are taken in the order of the rows.
Bag draw_goss(const DrawnRows& from, const double* squares, double top, double other);

// Each row with probability p = min(1, importance / mu), where mu makes `share` of the rows the
// mean number, and 1 / p times (Ibragimov & Gusev 2019, eq. 8 and Algorithm 1).
Bag draw_mvs(const DrawnRows& from, const double* squares, double share);

// Of `n` earlier rounds each with probability `share`, at most `most` of them (0: any number), and
// with probability `skip` none.
std::vector<uint32_t> draw_dropout(size_t n, double share, size_t most, double skip, uint64_t seed,
                                   uint64_t round);

}  // namespace stagewise
