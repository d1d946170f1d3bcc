// Cuts between bins: quantiles of a sample of rows. The sample is chosen by a hash of the row
// number, so chunks and threads do not change it. If a feature has few distinct values, each gets
// its own bin.
#pragma once

#include <span>
#include <vector>

#include "binning/sparse_table.hpp"
#include "core/columns.hpp"
#include "core/shard.hpp"
#include "core/threads.hpp"

namespace stagewise {

// The rows of a shard, counted from its first one, that cuts are computed from: all if the table
// has at most `limit` rows, else about `limit` of all shards.
std::vector<uint32_t> sample_for_cuts(size_t rows, const Shard& shard, size_t limit, uint64_t seed);

// A number c with a <= c < b (both may be infinite, a < b). If float32 copies of a and b differ,
// they are on the same sides of c.
double cut_between(double a, double b);

// At most max_bins - 1 increasing cuts for every feature. Row i of the sample counts
// weight[sample[i]] times (weight is empty: once).
std::vector<std::vector<double>> find_cuts(Workers& workers, const Columns& table,
                                           const std::vector<uint32_t>& sample,
                                           std::span<const double> weight, size_t max_bins);

// The same for a sparse table, by columns: the cuts that a dense copy of it would have.
std::vector<std::vector<double>> find_cuts(Workers& workers, const SparseTable& table,
                                           const std::vector<uint32_t>& sample,
                                           std::span<const double> weight, size_t max_bins);

// The bin of each category of a categorical feature, in increasing order; at most max_bins. If
// there are more categories, those with the least weight share the last bin.
std::vector<uint32_t> find_category_bins(const Columns& table, size_t feature, size_t n_categories,
                                         std::span<const double> weight, size_t max_bins);
// The same from the total weight of each category, in units of RowWeights.
std::vector<uint32_t> find_category_bins(std::span<const int64_t> total, size_t max_bins);

}  // namespace stagewise
