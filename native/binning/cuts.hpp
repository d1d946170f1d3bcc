// Where a feature is cut into bins.
//
// One idea: quantiles of a sample that is chosen by a hash of the row number, so that chunking and
// threads cannot change it; with few distinct values every one of them gets a bin of its own.
#pragma once

#include <vector>

#include "binning/sparse_table.hpp"
#include "core/columns.hpp"
#include "core/threads.hpp"

namespace stagewise {

// The rows from which cuts are learned: all when there are at most `limit`, else about `limit`.
std::vector<uint32_t> sample_for_cuts(size_t rows, size_t limit, uint64_t seed);

// A number c with a <= c < b (both may be infinite, a < b) that float32 copies of a and b fall on
// the same sides of, whenever float32 can tell a and b apart.
double cut_between(double a, double b);

// At most max_bins - 1 increasing cuts for every feature. Row i of the sample counts
// weight[sample[i]] times (null: once).
std::vector<std::vector<double>> find_cuts(Workers& workers, const Columns& table,
                                           const std::vector<uint32_t>& sample,
                                           const double* weight, size_t max_bins);

// The same for a sparse table, by columns: the cuts that a dense copy of it would have.
std::vector<std::vector<double>> find_cuts(Workers& workers, const SparseTable& table,
                                           const std::vector<uint32_t>& sample,
                                           const double* weight, size_t max_bins);

// The bin of each of the levels of a categorical feature: at most max_bins of them, numbered by the
// levels' own numbers; where there are more levels, the lightest ones share the last bin.
std::vector<uint32_t> find_category_bins(const Columns& table, size_t feature, size_t n_categories,
                                         const double* weight, size_t max_bins);

}  // namespace stagewise
