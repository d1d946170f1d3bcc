// GradientFinder: candidates of the features of sparse tables, block by block.
#include "grow/finders/packed_sums/gradient_finder.hpp"

#include <algorithm>
#include <bit>

namespace stagewise {
namespace {

// body(i) for every bit i of [first, last) that is set, in order.
template <class Body>
void visit_bits(const uint64_t* bits, size_t first, size_t last, Body&& body) {
  for (size_t w = first / 64; w <= (last - 1) / 64; ++w) {
    uint64_t word = bits[w];
    if (w == first / 64) word &= ~uint64_t{0} << (first % 64);
    if (w == (last - 1) / 64) word &= ~uint64_t{0} >> (63 - (last - 1) % 64);
    for (; word != 0; word &= word - 1) body(w * 64 + static_cast<size_t>(std::countr_zero(word)));
  }
}

}  // namespace

// Bounds of consecutive features with two bins, from a position on; returns their number.
size_t GradientFinder::bound_pairs(Scan* node, const std::vector<uint32_t>& positions,
                                   size_t first) const {
  const auto pair = [&](size_t i) {
    const uint32_t f = (*features_)[positions[i]];
    return bins_.value_bins(f) == 2 && !bins_.has_missing(f);
  };
  const uint32_t begin = positions[first];
  size_t n = 0;
  for (; first + n < positions.size() && pair(first + n); ++n)
    if ((*features_)[begin + n] != (*features_)[begin] + n) break;
  if (n == 0) return 0;
  kernels_.score_bounds(histograms_.feature(node->leaf->hist, begin), n, node->leaf->packed_sum,
                        node->rules, node->score.data() + begin);
  for (size_t i = 0; i < n; ++i)
    if (too_few_rows((*features_)[begin + i]) || !node->allows(begin + i))
      node->score[begin + i] = kNoSplit;
  return n;
}

void GradientFinder::scan_block(Scan* node, size_t block) const {
  const std::vector<uint32_t>& positions = histograms_.block_members(block);
  const bool bounds = node->bounded;
  for (size_t i = 0; i < positions.size();) {
    const size_t pairs = bounds ? bound_pairs(node, positions, i) : 0;
    if (pairs > 0) {
      i += pairs;
      continue;
    }
    const uint32_t position = positions[i++], feature = (*features_)[position];
    if (too_few_rows(feature) || !node->allows(position)) continue;
    if (bounds && !bins_.has_missing(feature)) {
      node->score[position] =
          kernels_.score_bound(histograms_.feature(node->leaf->hist, position),
                               bins_.value_bins(feature), node->leaf->packed_sum, node->rules);
    } else {
      node->set(position, scan_histogram(*node, position, nullptr));
    }
  }
}

// The sums of the bins of a feature with rows of the node, in the order of the codes. first: the
// position of the first bin in the block. No bins: too few rows are outside the default bin.
BinSums GradientFinder::collect_cells(const Scan& node, uint32_t feature, size_t first,
                                      Scratch* scratch) const {
  Scratch& s = *scratch;
  const uint32_t default_bin = bins_.sparse_codes().default_bin(feature),
                 missing = bins_.value_bins(feature);
  const size_t span = bins_.span(feature);
  s.reserve_rows(span + 1);
  BinSums sums;
  int64_t packed_sum = 0, count = 0;  // of all bins except the default bin
  size_t hole = SIZE_MAX;             // position of the default bin
  visit_bits(s.touched.data(), first, first + span, [&](size_t place) {
    const auto code = static_cast<uint32_t>(place - first);
    if (code == default_bin) return;
    packed_sum += s.few_sums[place];
    count += s.few_counts[place];
    if (code == missing) {
      sums.missing_sum = s.few_sums[place];
      sums.missing_count = s.few_counts[place];
      return;
    }
    if (code > default_bin && hole == SIZE_MAX) hole = sums.bins++;
    s.listed_sums[sums.bins] = s.few_sums[place];
    s.listed_counts[sums.bins] = s.few_counts[place];
    s.listed_codes[sums.bins++] = code;
  });
  if (count < min_count_) return {};
  if (default_bin == missing) {
    sums.missing_sum = node.leaf->packed_sum - packed_sum;
    sums.missing_count = node.leaf->count - count;
  } else {
    if (hole == SIZE_MAX) hole = sums.bins++;
    s.listed_sums[hole] = node.leaf->packed_sum - packed_sum;
    s.listed_counts[hole] = node.leaf->count - count;
    s.listed_codes[hole] = default_bin;
  }
  sums.feature = feature;
  sums.packed_sums = s.listed_sums.data();
  sums.counts = counts_needed_ ? s.listed_counts.data() : nullptr;
  sums.codes = s.listed_codes.data();
  return sums;
}

// Only features with stored cells in the node are scanned.
void GradientFinder::scan_few_rows_block(Scan* node, size_t number, Scratch* scratch) const {
  Scratch& s = *scratch;
  const SparseCodes& codes = bins_.sparse_codes();
  const SparseCodes::Block& block = codes.blocks()[number];
  s.reserve_bins(block.n_sums);
  for (size_t i = 0; i < node->rows.n; ++i) {
    const uint32_t row = node->rows[i];
    const int64_t packed_sum = gradients_->slots()[row].packed, count = weights_[row];
    for (uint32_t cell = block.start[row]; cell < block.start[row + 1]; ++cell) {
      const uint32_t place = block.places[cell];
      s.few_sums[place] += packed_sum;
      s.few_counts[place] += count;
      s.touched[place / 64] |= 1ull << (place % 64);
    }
  }
  const size_t base = codes.place(block.first_feature);
  for (const uint32_t position : histograms_.block_members(number)) {
    const uint32_t feature = (*features_)[position];
    if (too_few_rows(feature) || !node->allows(position)) continue;
    const BinSums sums = collect_cells(*node, feature, codes.place(feature) - base, scratch);
    if (sums.bins == 0) continue;
    Candidate candidate = scan(*node, sums);
    candidate.exact = true;
    node->set(position, candidate);
  }
  for (size_t w = 0; w <= block.n_sums / 64; ++w)
    for (; s.touched[w] != 0; s.touched[w] &= s.touched[w] - 1) {
      const size_t place = w * 64 + static_cast<size_t>(std::countr_zero(s.touched[w]));
      s.few_sums[place] = s.few_counts[place] = 0;
    }
}

}  // namespace stagewise
