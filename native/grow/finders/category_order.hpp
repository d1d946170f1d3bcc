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

#include "kernels/api/split_scan.hpp"

namespace stagewise {

// How much the best cut of an order of this many levels gains by chance, beyond what the best cut
// of a number does, in units of the dispersion.
double chance_of_order(size_t categories);

// The bins of a node whose rows have a say, in the order of g / (h + smoothing); ties by bin.
std::vector<uint32_t> ordered_bins(const int64_t* packed_sums, size_t bins, double smoothing);

// The same where rows have classes: by the share that a class has of the bin's weight.
std::vector<uint32_t> ordered_bins(const ClassScanInput& sums, size_t by_class);

}  // namespace stagewise
