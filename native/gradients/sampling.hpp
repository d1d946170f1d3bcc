// Row sampling: the bag of a round, and a multiplier of the weight of each row. Whether row i is in
// the bag of round m depends on a hash of (seed, m, i), where i counts all rows of the fit, and on
// integer statistics of all rows, so neither threads nor earlier rounds matter. Rows of weight 0
// are never drawn and count in no share. No floats are summed across rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "core/shard.hpp"
#include "core/threads.hpp"

namespace stagewise {

struct Bag {
  std::vector<uint32_t> rows;     // increasing; empty only if all weights are 0
  std::vector<float> multiplier;  // of every row of the table, 0 outside the bag; empty: all 1
};

// The rows to draw from.
struct DrawnRows {
  Workers& workers;
  size_t rows;
  std::span<const double> weight;  // per row; empty: all ones
  uint64_t seed, round;
  uint64_t first_row = 0;  // the number of the first of them among all rows of the fit

  bool present(size_t row) const { return weight.empty() || weight[row] > 0.0; }
  uint64_t key() const { return draw_key(seed, Draw::rows, round); }
};

// Each row with probability `share`.
Bag draw_rows(const DrawnRows& from, double share);

// A share of the rows, rounded to a number of rows, without replacement; at least one row.
Bag draw_fixed_size(const DrawnRows& from, double share);

// All rows of a group, with probability `share`.
Bag draw_groups(const DrawnRows& from, const uint32_t* group, double share);

// Each row a Poisson number of times, `rate` (at most 1) in the mean: the bootstrap of a large
// table (Oza & Russell 2001).
Bag draw_bootstrap(const DrawnRows& from, double rate);

// GOSS: the rows with the largest importance, a share `top` of all, with multiplier 1; the others
// with probability p = other / (1 - top) and multiplier 1 / p (Ke et al. 2017, Algorithm 2).
// squares: the importance of every row, squared. Ties go to the first rows.
Bag draw_goss(const DrawnRows& from, const double* squares, double top, double other);

// MVS: each row with probability p = min(1, importance / mu) and multiplier 1 / p, where mu is such
// that the expected share of rows is `share` (Ibragimov & Gusev 2019, eq. 8 and Algorithm 1).
Bag draw_mvs(const DrawnRows& from, const double* squares, double share);

// A number in [0, 1) for each row, by which rows are held out.
std::vector<double> held_out_draws(size_t rows, uint64_t first_row, uint64_t seed);

// Dropout (DART): each of `n` earlier rounds with probability `share`, at most `most` of them (0:
// no limit); with probability `skip` none.
std::vector<uint32_t> draw_dropout(size_t n, double share, size_t most, double skip, uint64_t seed,
                                   uint64_t round);

}  // namespace stagewise
