// Which levels of a categorical feature may go left together.
//
// One idea: with few levels each may stand alone against the rest; with more they are put in the
// order of their own leaf values, and a split cuts this order. For a convex loss no other
// subset is better (Fisher 1958; Breiman et al. 1984, section 9.4); smoothing the values keeps rare
// levels from the ends. An order of many means can be cut well even if nothing but chance tells
// them apart, so what chance gains is taken off. A level that no row of the node has goes where
// most rows go.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.hpp"

namespace stagewise {

struct CategoryRules {
  double smoothing = 10.0;  // added to the hessian of a level when levels are put in order
  double l2 = 10.0;         // added to the penalty of a split by an order
  double chance = 1.0;      // times what cutting an order of levels gains by chance alone
  size_t one_vs_rest = 4;   // up to this many levels in a node, each is tried alone
};

// How much the best cut of an order of this many levels gains by chance, beyond what the best cut
// of a number does, in units of the dispersion.
double chance_of_order(size_t categories);

// The sums of one feature of one node, bin by bin.
struct BinSums {
  uint32_t feature = 0;
  const int64_t* packed_sums = nullptr;
  const int64_t* counts = nullptr;  // weights of the rows; null: nobody needs them
  size_t bins = 0;
  int64_t missing_sum = 0, missing_count = 0;
  const uint32_t* codes = nullptr;  // of the bins; null: see touched
  // Where a bin is a run of codes: the first of each, `codes` being the last; null: they are one.
  const uint32_t* first_codes = nullptr;
  const uint64_t* touched =
      nullptr;  // a bit for each code that has one of the bins; null: all have

  uint32_t code(size_t bin) const;  // of the bin at a place
  uint32_t first_code(size_t bin) const {
    return first_codes != nullptr ? first_codes[bin] : code(bin);
  }
  size_t bins_upto(size_t code) const;  // how many have a code that is not larger
};

// The bins of a node whose rows have a say, in the order of g / (h + smoothing); ties by bin.
std::vector<uint32_t> ordered_bins(const int64_t* packed_sums, size_t bins, double smoothing);

// The same where rows have classes: by the share that a class has of the bin's weight.
std::vector<uint32_t> ordered_bins(const ClassScanInput& sums, size_t by_class);

}  // namespace stagewise
