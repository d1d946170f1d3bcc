// GradientFinder: candidates from the rows of a node.
#include "grow/finders/packed_sums/gradient_finder.hpp"

#include <algorithm>

namespace stagewise {

// Counts the rows on the left. The next bin is that of the next row with a weight, as in a scan
// with counts.
bool GradientFinder::confirm(const Scan& node, uint32_t feature, Candidate* candidate) const {
  const FeatureCoding& coding = bins_.coding(feature);
  if (!prunes(node) || counted_elsewhere() || bins_.sparse() || bins_.ranked() ||
      coding.categorical())
    return false;
  const size_t last = candidate->result.position, missing = bins_.value_bins(feature);
  int64_t count = 0, missing_count = 0;
  size_t next = missing;
  for_each_code(node, feature, [&](size_t code, uint32_t row) {
    const int64_t weight = weights_[row];
    count += code <= last ? weight : 0;
    missing_count += code == missing ? weight : 0;
    next = code > last && code < next && weight != 0 ? code : next;
  });
  if (candidate->result.missing_left) count += missing_count;
  if (count < min_count_ || node.leaf->count - count < min_count_) return false;
  candidate->exact = true;
  set_cut(coding, std::nullopt, static_cast<uint32_t>(last), static_cast<uint32_t>(next),
          candidate);
  return true;
}

// Sums of gradients, and of counts if they are needed, per bin of one feature; marks the bins.
template <bool kCounts, class Code, class Decode>
void GradientFinder::collect(const Code* codes, Decode own_code, size_t n, Scratch* scratch) const {
  int64_t* const packed_sums = scratch->few_sums.data();
  int64_t* const counts = scratch->few_counts.data();
  const int64_t* const row_packed = scratch->row_packed.data();
  const int64_t* const row_counts = scratch->row_counts.data();
  const size_t* const row_begin = scratch->row_begin.data();
  CodeSet& seen = scratch->seen;
  for (size_t i = 0; i < n; ++i) {
    const size_t code = own_code(codes[row_begin[i]]);
    packed_sums[code] += row_packed[i];
    if constexpr (kCounts) counts[code] += row_counts[i];
    seen.add(code);
  }
}

// Lists the marked bins in increasing order and clears them; returns their number.
template <bool kCounts>
size_t GradientFinder::list_touched(uint32_t bins, Scratch* scratch) const {
  Scratch& s = *scratch;
  size_t k = 0;
  s.seen.drain(bins + 1, [&](size_t code) {
    s.listed_sums[k] = s.few_sums[code];
    s.listed_codes[k] = static_cast<uint32_t>(code);
    s.few_sums[code] = 0;
    if constexpr (kCounts) {
      s.listed_counts[k] = s.few_counts[code];
      s.few_counts[code] = 0;
    }
    ++k;
  });
  return k;
}

template <bool kCounts, class Code>
void GradientFinder::scan_few_rows_of(const Code* codes, Scan* node, Scratch* scratch) const {
  const size_t n = node->leaf->rows();
  Scratch& s = *scratch;
  const bool random_cuts = !kCounts && has_random_cuts(*node, s);
  node->visit_allowed(features_->size(), [&](size_t j) {
    const uint32_t feature = (*features_)[j];
    const FeatureGroups& groups = bins_.groups();
    const Code* const own = codes + groups.of(feature);
    if (random_cuts && groups.alone(feature) && !bins_.has_missing(feature) &&
        !bins_.coding(feature).categorical()) {
      for (size_t i = 0; i < n; ++i) s.row_codes[i] = own[s.row_begin[i]];
      return node->set(j, random_cut(*node, feature, s));
    }
    if (groups.alone(feature)) {
      collect<kCounts>(own, [](Code c) { return size_t{c}; }, n, scratch);
    } else {
      const uint8_t* const decode = groups.decode(feature);
      collect<kCounts>(own, [=](Code c) { return size_t{decode[c]}; }, n, scratch);
    }
    const uint32_t bins = bins_.value_bins(feature);
    const size_t k = list_touched<kCounts>(bins, scratch);
    BinSums sums;
    sums.feature = feature;
    sums.packed_sums = s.listed_sums.data();
    sums.counts = kCounts ? s.listed_counts.data() : nullptr;
    sums.bins = k;
    sums.codes = s.listed_codes.data();
    if (s.listed_codes[k - 1] == bins) {
      sums.missing_sum = s.listed_sums[--sums.bins];
      if (kCounts) sums.missing_count = s.listed_counts[sums.bins];
    }
    Candidate candidate = scan(*node, sums);
    candidate.exact = true;
    node->set(j, candidate);
  });
}

void GradientFinder::scan_few_rows(Scan* node, Scratch* scratch) const {
  const size_t n = node->rows.n;
  Scratch& s = *scratch;
  s.reserve_rows(n);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = node->rows[i];
    s.row_packed[i] = gradients_->slots()[row].packed;
    s.row_counts[i] = weights_[row];
    s.row_begin[i] = row * bins_.row_stride();
  }
  node->pure = rules_.grow_until_pure && is_uniform(*node);
  if (node->pure) return;
  const auto scan_all = [&](const auto* codes) {
    if (counts_needed_) {
      scan_few_rows_of<true>(codes, node, scratch);
    } else {
      scan_few_rows_of<false>(codes, node, scratch);
    }
  };
  if (bins_.wide()) {
    scan_all(bins_.by_row16());
  } else {
    scan_all(bins_.by_row8());
  }
}

const int64_t* GradientFinder::feature_sums(const Scan& node, size_t position,
                                            Scratch* scratch) const {
  if (node.leaf->hist >= 0) return histograms_.feature(node.leaf->hist, position);
  const uint32_t feature = (*features_)[position];
  int64_t* const sums = scratch->all_sums.data();
  std::fill_n(sums, bins_.value_bins(feature) + 1, 0);
  for_each_code(node, feature,
                [&](size_t code, uint32_t row) { sums[code] += gradients_->slots()[row].packed; });
  return sums;
}

bool GradientFinder::add_scores_of_rows(const Scan& node, size_t position, double unsplit,
                                        Scratch* scratch, double* right, double* left) const {
  const uint32_t feature = (*features_)[position];
  Scratch& s = *scratch;
  for_each_code(node, feature, [&](size_t code, uint32_t row) {
    s.few_sums[code] += gradients_->slots()[row].packed;
    s.seen.add(code);
  });
  const uint32_t bins = bins_.value_bins(feature);
  ScanInput in;
  in.packed_sums = s.listed_sums.data();
  in.bins = list_touched<false>(bins, scratch);
  if (in.bins > 0 && s.listed_codes[in.bins - 1] == bins) in.missing_sum = s.listed_sums[--in.bins];
  in.total_sum = node.leaf->packed_sum;
  if (!rules_.constraints.monotone.empty()) in.direction = rules_.constraints.monotone[feature];
  kernels_.symmetric_scores_of_listed(in, s.listed_codes.data(), bins, node.rules, unsplit, right,
                                      left);
  return in.missing_sum != 0;
}

}  // namespace stagewise
