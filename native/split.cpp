#include "split.hpp"

#include <algorithm>
#include <cmath>

namespace stagewise {
namespace {

// Splits must gain more than rounding could fake; relative, so that the scale of y cannot matter.
constexpr double kRelativeGain = 1e-10;
// Units per weight when weights are not whole: fine enough for any min_samples_leaf.
constexpr double kFractionUnit = 1048576.0;
constexpr size_t kParallelBins = 65536;

}  // namespace

RowWeights::RowWeights(const double* weight, size_t rows)
    : weight_(weight), total_(static_cast<double>(rows)) {
  if (weight == nullptr) return;
  total_ = 0.0;
  for (size_t i = 0; i < rows; ++i) {
    total_ += weight[i];
    whole_ = whole_ && weight[i] == std::floor(weight[i]);
  }
  if (!whole_) unit_ = kFractionUnit;
}

SplitFinder::SplitFinder(const Bins& bins, const Kernels& kernels, Workers& workers,
                         const TreeRules& rules, const RowWeights& weights, Histograms& histograms)
    : bins_(bins),
      kernels_(kernels),
      workers_(workers),
      rules_(rules),
      weights_(weights),
      histograms_(histograms) {
  size_t most = 0, all = 0;
  for (size_t f = 0; f < bins.features(); ++f) {
    most = std::max<size_t>(most, bins.value_bins(f) + 1);
    all += bins.value_bins(f);
  }
  sums_.resize(most);
  touched_.resize(most / 64 + 1, 0);
  counts_.resize(most);
  few_rows_ = bins.features() > 0 ? all / bins.features() / 2 : 0;
}

void SplitFinder::start_tree(const Scales& scales, const Gradients& gradients) {
  scales_ = scales;
  gradients_ = &gradients;
  const double gs = scales.gradient, hs = scales.hessian;
  const Regularisation& r = rules_.regularisation;
  scan_.regularisation = {r.l1 * gs, r.l2 * hs, r.max_step * (gs / hs)};
  scan_.plain = r.l1 == 0.0 && r.max_step == 0.0;
  scan_.min_hessian = std::max(1.0, rules_.min_hessian * hs);
  // Whole weights: the next whole number; others are rounded to the unit themselves.
  const double least_weight = rules_.min_samples_leaf * weights_.unit();
  scan_.min_count = static_cast<int64_t>(weights_.whole() ? std::ceil(least_weight)
                                                          : std::floor(least_weight + 0.5));
  counts_needed_ = rules_.min_samples_leaf > 1.0 || !weights_.whole();
  hessian_cap_ = rules_.hessian_bound > 0.0 ? std::floor(rules_.hessian_bound * hs) + 1.0 : 0.0;
  if (counts_needed_ && rules_.hessian_is_weight && rules_.hessian_bound * hs >= 1.0 &&
      weights_.whole()) {
    // Powers of two: the packed hessian is the weight, exactly.
    const double least = rules_.min_samples_leaf * rules_.hessian_bound * hs;
    scan_.min_hessian = std::max(scan_.min_hessian, least);
    counts_needed_ = false;
  }
}

double SplitFinder::real_gain(double packed_gain) const {
  return packed_gain * (scales_.hessian / (scales_.gradient * scales_.gradient));
}

double SplitFinder::value(int64_t word) const {
  return leaf_value(static_cast<double>(word_gradient(word)) / scales_.gradient,
                    static_cast<double>(word_hessian(word)) / scales_.hessian,
                    rules_.regularisation);
}

bool SplitFinder::splittable(const Leaf& leaf) const {
  if (rules_.max_depth > 0 && leaf.depth >= rules_.max_depth) return false;
  if (leaf.rows() < 2 || leaf.count < 2 * scan_.min_count) return false;
  return static_cast<double>(word_hessian(leaf.word)) >= 2.0 * scan_.min_hessian;
}

bool SplitFinder::proven(const Leaf& leaf, int64_t left_word) const {
  if (!counts_needed_) return true;
  if (hessian_cap_ == 0.0 || !weights_.whole()) return false;
  const double least = rules_.min_samples_leaf * hessian_cap_;
  const int64_t left = word_hessian(left_word), right = word_hessian(leaf.word) - left;
  return static_cast<double>(std::min(left, right)) >= least;
}

SplitFinder::Found SplitFinder::scan_histogram(const Leaf& leaf, size_t position, uint32_t feature,
                                               const int64_t* counts) {
  const int64_t* words = histograms_.feature(leaf.hist, position);
  ScanInput in;
  in.words = words;
  in.counts = counts;
  in.bins = bins_.value_bins(feature);
  in.total_word = leaf.word;
  in.total_count = leaf.count;
  if (bins_.has_missing(feature)) {
    in.missing_word = words[in.bins];
    in.missing_count = counts != nullptr ? counts[in.bins] : 0;
  }
  Found found;
  found.missing_seen = in.missing_word != 0;
  found.result = kernels_.scan(in, scan_);
  found.bin = static_cast<uint32_t>(found.result.position);
  found.exact = counts != nullptr;
  return found;
}

void SplitFinder::count_bins(const Leaf& leaf, const uint32_t* rows, uint32_t feature) {
  std::fill(counts_.begin(), counts_.begin() + bins_.value_bins(feature) + 1, 0);
  for (size_t i = leaf.begin; i < leaf.end; ++i) {
    const uint32_t row = rows[i];
    const uint32_t code = bins_.wide() ? bins_.column16(feature)[row] : bins_.column8(feature)[row];
    counts_[code] += weights_[row];
  }
}

// Whether a missing value of the feature occurs in the leaf at all.
bool SplitFinder::any_missing(const Leaf& leaf, const uint32_t* rows, uint32_t feature) const {
  if (!bins_.has_missing(feature)) return false;
  const uint32_t missing = bins_.value_bins(feature);
  const auto code = [&](uint32_t row) -> uint32_t {
    return bins_.wide() ? bins_.column16(feature)[row] : bins_.column8(feature)[row];
  };
  return std::any_of(rows + leaf.begin, rows + leaf.end,
                     [&](uint32_t row) { return code(row) == missing; });
}

void SplitFinder::find_in_histogram(const Leaf& leaf, const std::vector<uint32_t>& positions,
                                    const std::vector<uint32_t>& features) {
  const auto one = [&](size_t i) {
    const uint32_t p = positions[i];
    found_[i] = scan_histogram(leaf, p, features[p], nullptr);
  };
  histograms_.marginalise(leaf.hist);
  if (histograms_.size() < kParallelBins) {
    for (size_t i = 0; i < positions.size(); ++i) one(i);
    return;
  }
  constexpr size_t kTogether = 16;
  workers_.run((positions.size() + kTogether - 1) / kTogether, [&](size_t chunk, int) {
    const size_t last = std::min(positions.size(), (chunk + 1) * kTogether);
    for (size_t i = chunk * kTogether; i < last; ++i) one(i);
  });
}

// row_codes_[j * n + i] = code of the j-th feature in a row, of which `codes` are the shared ones.
template <class Code>
void SplitFinder::copy_codes(const Code* codes, size_t i, size_t n,
                             const std::vector<uint32_t>& positions,
                             const std::vector<uint32_t>& features) {
  for (size_t j = 0; j < positions.size(); ++j) {
    const uint32_t f = features[positions[j]];
    const uint8_t* const decode = bins_.decode(f);
    const Code shared = codes[bins_.group_of(f)];
    row_codes_[j * n + i] = decode == nullptr ? shared : decode[shared];
  }
}

void SplitFinder::find_in_rows(const Leaf& leaf, const uint32_t* rows,
                               const std::vector<uint32_t>& positions,
                               const std::vector<uint32_t>& features) {
  const size_t n = leaf.rows(), p = positions.size();
  if (row_words_.size() < n) {  // only grows: resizing down and up would fill with zeros again
    row_words_.resize(n);
    row_counts_.resize(n);
    packed_words_.resize(n);
    packed_counts_.resize(n);
    packed_bins_.resize(n);
  }
  if (row_codes_.size() < n * p) row_codes_.resize(n * p);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = rows[leaf.begin + i];
    row_words_[i] = gradients_->slots()[row].word;
    row_counts_[i] = weights_[row];
    if (bins_.wide()) {
      copy_codes(bins_.by_row16() + row * bins_.row_stride(), i, n, positions, features);
    } else {
      copy_codes(bins_.by_row8() + row * bins_.row_stride(), i, n, positions, features);
    }
  }
  for (size_t j = 0; j < p; ++j) {
    const uint32_t bins = bins_.value_bins(features[positions[j]]);
    const uint16_t* codes = &row_codes_[j * n];
    for (size_t i = 0; i < n; ++i) {
      const size_t code = codes[i];
      sums_[code].word += row_words_[i];
      sums_[code].count += row_counts_[i];
      touched_[code >> 6] |= 1ull << (code & 63);
    }
    ScanInput in;
    size_t k = 0;
    for (size_t block = 0; block <= bins / 64; ++block) {
      for (uint64_t bits = touched_[block]; bits != 0; bits &= bits - 1) {
        const size_t code = block * 64 + static_cast<size_t>(__builtin_ctzll(bits));
        packed_words_[k] = sums_[code].word;
        packed_counts_[k] = sums_[code].count;
        packed_bins_[k++] = static_cast<uint32_t>(code);
        sums_[code] = {};
      }
      touched_[block] = 0;
    }
    if (packed_bins_[k - 1] == bins) {
      --k;
      in.missing_word = packed_words_[k];
      in.missing_count = packed_counts_[k];
    }
    in.words = packed_words_.data();
    in.counts = counts_needed_ ? packed_counts_.data() : nullptr;
    in.bins = k;
    in.total_word = leaf.word;
    in.total_count = leaf.count;
    Found& found = found_[j];
    found.result = ScanResult{};
    found.missing_seen = in.missing_word != 0;
    if (k > 0) found.result = kernels_.scan(in, scan_);
    if (found.result.score >= 0.0) {
      found.bin = packed_bins_[found.result.position];
      found.left_word = found.result.missing_left ? in.missing_word : 0;
      for (size_t i = 0; i <= found.result.position; ++i) found.left_word += packed_words_[i];
    }
    found.exact = true;
  }
}

Split SplitFinder::find(const Leaf& leaf, const uint32_t* rows,
                        const std::vector<uint32_t>& positions,
                        const std::vector<uint32_t>& features) {
  found_.resize(std::max(found_.size(), positions.size()));
  if (leaf.hist < 0) {
    find_in_rows(leaf, rows, positions, features);
  } else {
    find_in_histogram(leaf, positions, features);
  }
  for (;;) {
    size_t best = 0;
    for (size_t i = 1; i < positions.size(); ++i)
      if (found_[i].result.score > found_[best].result.score) best = i;
    Found& found = found_[best];
    const double parent =
        leaf_gain(static_cast<double>(word_gradient(leaf.word)),
                  static_cast<double>(word_hessian(leaf.word)), scan_.regularisation);
    const double gain = found.result.score - parent;
    if (!(gain > kRelativeGain * found.result.score)) return {};
    const double halved = 0.5 * real_gain(gain);
    if (!(halved > rules_.min_gain)) return {};
    const uint32_t position = positions[best], feature = features[position];
    if (leaf.hist >= 0) {
      const int64_t* words = histograms_.feature(leaf.hist, position);
      found.left_word = found.result.missing_left ? words[bins_.value_bins(feature)] : 0;
      for (size_t b = 0; b <= found.result.position; ++b) found.left_word += words[b];
    }
    if (found.exact || proven(leaf, found.left_word)) {
      const int64_t left = word_hessian(found.left_word), both = word_hessian(leaf.word);
      const bool decided = found.missing_seen || any_missing(leaf, rows, feature);
      const bool missing_left = decided ? found.result.missing_left : left >= both - left;
      return {halved, feature, found.bin, missing_left, found.left_word};
    }
    count_bins(leaf, rows, feature);
    found = scan_histogram(leaf, position, feature, counts_.data());
  }
}

}  // namespace stagewise
