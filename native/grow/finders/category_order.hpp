// The order in which categories are cut. With few categories, each is tried against the rest. With
// more, they are sorted by their leaf values and the order is cut; for a convex loss no other
// subset is better (Fisher 1958; Breiman et al. 1984, section 9.4). Smoothing the values keeps rare
// categories from the ends. A cut of many sorted means gains even if they differ by chance only, so
// this expected gain is subtracted. A category without rows in the node goes to the heavier side.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/split_scan.hpp"

namespace stagewise {

// The expected gain by chance of the best cut of so many sorted categories, beyond that of the best
// cut of a numeric feature, in units of the dispersion.
double chance_of_order(size_t categories);

// The bins with a nonzero sum, sorted by g / (h + smoothing); ties by bin.
std::vector<uint32_t> ordered_bins(const int64_t* packed_sums, size_t bins, double smoothing);

// The same with classes: sorted by the share of a class in the bin's weight.
std::vector<uint32_t> ordered_bins(const ClassScanInput& sums, size_t by_class);

}  // namespace stagewise
