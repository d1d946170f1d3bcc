#include "split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace stagewise {
namespace {

// Splits must gain more than rounding could fake; relative, so that the scale of y cannot matter.
constexpr double kRelativeGain = 1e-10;
// Units per weight when weights are not whole: fine enough for any min_samples_leaf.
constexpr double kFractionUnit = 1048576.0;

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

SplitFinder::SplitFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                         const RowWeights& weights, const Histograms& histograms)
    : bins_(bins), kernels_(kernels), rules_(rules), weights_(weights), histograms_(histograms) {
  size_t all = 0;
  for (size_t f = 0; f < bins.features(); ++f) all += bins.value_bins(f);
  set_few_rows(bins.features() > 0 ? all / bins.features() / 2 : 0);
}

SplitFinder::Scratch::Scratch(const Bins& bins) {
  size_t most = 0;
  for (size_t f = 0; f < bins.features(); ++f)
    most = std::max<size_t>(most, bins.value_bins(f) + 1);
  counts.resize(most);
  few_words.resize(most, 0);
  few_counts.resize(most, 0);
  touched.resize(most / 64 + 1, 0);
}

uint32_t SplitFinder::Scratch::touched_bin(size_t place) const {
  size_t block = 0;
  for (;; ++block) {
    const auto here = static_cast<size_t>(std::popcount(touched[block]));
    if (place < here) break;
    place -= here;
  }
  uint64_t bits = touched[block];
  for (; place > 0; --place) bits &= bits - 1;
  return static_cast<uint32_t>(block * 64) + static_cast<uint32_t>(std::countr_zero(bits));
}

void SplitFinder::start_tree(const Scales& scales, const Gradients& gradients,
                             const std::vector<uint32_t>& features) {
  features_ = &features;
  scales_ = scales;
  gradients_ = &gradients;
  const double gs = scales.gradient, hs = scales.hessian;
  const Regularisation& r = rules_.regularisation;
  scan_.regularisation = {r.l1 * gs, r.l2 * hs, r.max_step * (gs / hs)};
  scan_.plain = r.l1 == 0.0 && r.max_step == 0.0;
  scan_.min_hessian = std::max(1.0, rules_.min_hessian * hs);
  scan_.criterion = rules_.criterion;
  // Whole weights: the next whole number; others are rounded to the unit themselves.
  const double least_weight = rules_.min_samples_leaf * weights_.unit();
  min_count_ = static_cast<int64_t>(weights_.whole() ? std::ceil(least_weight)
                                                     : std::floor(least_weight + 0.5));
  counts_needed_ = rules_.min_samples_leaf > 1.0 || !weights_.whole();
  const double multiplied = gradients.largest_hessian();
  const double bound = multiplied > 0.0 ? multiplied : rules_.hessian_bound;
  hessian_cap_ = bound > 0.0 ? std::floor(bound * hs) + 1.0 : 0.0;
  if (counts_needed_ && rules_.hessian_is_weight && rules_.hessian_bound * hs >= 1.0 &&
      weights_.whole()) {
    // Powers of two: the packed hessian is the weight, exactly.
    const double least = rules_.min_samples_leaf * rules_.hessian_bound * hs;
    scan_.min_hessian = std::max(scan_.min_hessian, least);
    counts_needed_ = false;
  }
}

// Half of what the sums of squares gain (Chen & Guestrin, eq. 7), or the weight that classes gain.
double SplitFinder::real_gain(double packed_gain) const {
  if (of_classes()) return packed_gain / scales_.gradient;
  return 0.5 * packed_gain * (scales_.hessian / (scales_.gradient * scales_.gradient));
}

double SplitFinder::unsplit_score(const Leaf& leaf, const Found& found) const {
  if (of_classes()) return found.result.unsplit;
  return leaf_gain(static_cast<double>(word_gradient(leaf.word)),
                   static_cast<double>(word_hessian(leaf.word)), scan_.regularisation);
}

// A node of classes has no value of its own: a step gives it one.
double SplitFinder::value(int64_t word) const {
  if (of_classes()) return 0.0;
  return leaf_value(static_cast<double>(word_gradient(word)) / scales_.gradient,
                    static_cast<double>(word_hessian(word)) / scales_.hessian,
                    rules_.regularisation);
}

bool SplitFinder::splittable(const Leaf& leaf) const {
  if (rules_.max_depth > 0 && leaf.depth >= rules_.max_depth) return false;
  if (leaf.rows() < 2 || leaf.count < 2 * min_count_) return false;
  return static_cast<double>(word_hessian(leaf.word)) >= 2.0 * scan_.min_hessian;
}

bool SplitFinder::proven(const Leaf& leaf, int64_t left_word) const {
  if (!counts_needed_) return true;
  if (hessian_cap_ == 0.0 || !weights_.whole()) return false;
  const double least = rules_.min_samples_leaf * hessian_cap_;
  const int64_t left = word_hessian(left_word), right = word_hessian(leaf.word) - left;
  return static_cast<double>(std::min(left, right)) >= least;
}

// The positions that leave at least the minimal count on both sides, of which `left` and `right`
// are there in any case.
Positions SplitFinder::heavy_enough(const int64_t* counts, size_t bins, int64_t left,
                                    int64_t right) const {
  Positions p{0, bins};
  while (p.first < bins && (left += counts[p.first]) < min_count_) ++p.first;
  while (p.last > p.first && right < min_count_) right += counts[--p.last];
  return p;
}

SplitFinder::Found SplitFinder::scan_histogram(const Leaf& leaf, size_t position,
                                               const int64_t* counts) const {
  const uint32_t feature = (*features_)[position];
  const int64_t* words = histograms_.feature(leaf.hist, position);
  const size_t bins = bins_.value_bins(feature);
  const bool has_missing = bins_.has_missing(feature);
  Positions missing_right{0, bins}, missing_left{0, bins};
  if (counts != nullptr) {
    const int64_t missing = has_missing ? counts[bins] : 0;
    missing_right = heavy_enough(counts, bins, 0, missing);
    missing_left = heavy_enough(counts, bins, missing, 0);
  }
  Found found;
  if (of_classes()) {
    const Planes& planes = histograms_.planes();
    std::vector<int64_t> scratch(3 * planes.n);
    found.result = kernels_.scan_classes(
        {words, planes.words, planes.n, bins, has_missing, missing_right, missing_left}, scan_,
        scratch.data());
    found.missing_seen = found.result.missing_seen;
  } else {
    const int64_t missing_word = has_missing ? words[bins] : 0;
    found.result =
        kernels_.scan({words, bins, missing_word, leaf.word, missing_right, missing_left}, scan_);
    found.missing_seen = missing_word != 0;
  }
  found.bin = static_cast<uint32_t>(found.result.position);
  found.exact = counts != nullptr;
  return found;
}

void SplitFinder::scan_group(Search* search, size_t group) const {
  for (const uint32_t position : histograms_.members(group))
    if (search->allows(position))
      search->found[position] = scan_histogram(*search->leaf, position, nullptr);
}

void SplitFinder::count_bins(const Search& search, uint32_t feature, Scratch* scratch) const {
  auto& counts = scratch->counts;
  std::fill(counts.begin(), counts.begin() + bins_.value_bins(feature) + 1, 0);
  for (size_t i = 0; i < search.rows.n; ++i) {
    const uint32_t row = search.rows[i];
    counts[bins_.code(row, feature)] += weights_[row];
  }
}

// Whether a missing value of the feature occurs in the leaf at all.
bool SplitFinder::any_missing(const Search& search, uint32_t feature) const {
  if (!bins_.has_missing(feature)) return false;
  const uint32_t missing = bins_.value_bins(feature);
  for (size_t i = 0; i < search.rows.n; ++i)
    if (bins_.code(search.rows[i], feature) == missing) return true;
  return false;
}

// Sums of words and counts per bin of one feature, and which bins they are.
template <class Code, class Decode>
void SplitFinder::collect(const Code* codes, Decode own_code, size_t n, Scratch* scratch) const {
  int64_t* const words = scratch->few_words.data();
  int64_t* const counts = scratch->few_counts.data();
  const int64_t* const row_words = scratch->row_words.data();
  const int64_t* const row_counts = scratch->row_counts.data();
  const size_t* const row_begin = scratch->row_begin.data();
  uint64_t* const touched = scratch->touched.data();
  for (size_t i = 0; i < n; ++i) {
    const size_t code = own_code(codes[row_begin[i]]);
    words[code] += row_words[i];
    counts[code] += row_counts[i];
    touched[code / 64] |= 1ull << (code % 64);
  }
}

template <class Code>
void SplitFinder::scan_few_rows_of(const Code* codes, Search* search, Scratch* scratch) const {
  const Leaf& leaf = *search->leaf;
  const size_t n = leaf.rows();
  Scratch& s = *scratch;
  for (size_t j = 0; j < features_->size(); ++j) {
    if (!search->allows(j)) continue;
    const uint32_t feature = (*features_)[j];
    const Groups& groups = bins_.groups();
    if (groups.alone(feature)) {
      collect(codes + groups.of(feature), [](Code c) { return size_t{c}; }, n, scratch);
    } else {
      const uint8_t* const decode = groups.decode(feature);
      collect(codes + groups.of(feature), [=](Code c) { return size_t{decode[c]}; }, n, scratch);
    }
    const uint32_t bins = bins_.value_bins(feature);
    size_t k = 0;
    for (size_t block = 0; block <= bins / 64; ++block)
      for (uint64_t bits = s.touched[block]; bits != 0; bits &= bits - 1) {
        const size_t code = block * 64 + static_cast<size_t>(std::countr_zero(bits));
        s.packed_words[k] = s.few_words[code];
        s.packed_counts[k++] = s.few_counts[code];
        s.few_words[code] = s.few_counts[code] = 0;
      }
    ScanInput in;
    int64_t missing_count = 0;
    in.words = s.packed_words.data();
    if ((s.touched[bins / 64] >> (bins % 64) & 1) != 0) {
      in.missing_word = s.packed_words[--k];
      missing_count = s.packed_counts[k];
    }
    in.bins = k;
    in.total_word = leaf.word;
    in.missing_right = in.missing_left = {0, k};
    if (counts_needed_) {
      in.missing_right = heavy_enough(s.packed_counts.data(), k, 0, missing_count);
      in.missing_left = heavy_enough(s.packed_counts.data(), k, missing_count, 0);
    }
    Found& found = search->found[j];
    found.missing_seen = in.missing_word != 0;
    found.result = kernels_.scan(in, scan_);
    found.exact = true;
    if (found.result.score >= 0.0) found.bin = s.touched_bin(found.result.position);
    std::fill(s.touched.begin(), s.touched.end(), 0);
  }
}

void SplitFinder::scan_few_rows(Search* search, Scratch* scratch) const {
  const size_t n = search->rows.n;
  Scratch& s = *scratch;
  if (s.row_words.size() < n) {
    s.row_words.resize(n);
    s.row_counts.resize(n);
    s.row_begin.resize(n);
    s.packed_words.resize(n);
    s.packed_counts.resize(n);
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = search->rows[i];
    s.row_words[i] = gradients_->slots()[row].word;
    s.row_counts[i] = weights_[row];
    s.row_begin[i] = row * bins_.row_stride();
  }
  if (bins_.wide()) {
    scan_few_rows_of(bins_.by_row16(), search, scratch);
  } else {
    scan_few_rows_of(bins_.by_row8(), search, scratch);
  }
}

Split SplitFinder::settle(Search* search, Scratch* scratch) const {
  const Leaf& leaf = *search->leaf;
  for (;;) {
    size_t best = 0;
    while (!search->allows(best)) ++best;
    for (size_t i = best + 1; i < features_->size(); ++i)
      if (search->allows(i) && search->found[i].result.score > search->found[best].result.score)
        best = i;
    Found& found = search->found[best];
    const double packed_gain = found.result.score - unsplit_score(leaf, found);
    if (!(packed_gain > kRelativeGain * found.result.score)) return {};
    const double gain = real_gain(packed_gain);
    if (!(gain > rules_.min_gain)) return {};
    const uint32_t feature = (*features_)[best];
    const int64_t left_word = found.result.left_word;
    if (found.exact || proven(leaf, left_word)) {
      const int64_t left = word_hessian(left_word), both = word_hessian(leaf.word);
      const bool decided = found.missing_seen || any_missing(*search, feature);
      const bool missing_left = decided ? found.result.missing_left : left >= both - left;
      return {gain, feature, found.bin, missing_left, left_word};
    }
    count_bins(*search, feature, scratch);
    found = scan_histogram(leaf, best, scratch->counts.data());
  }
}

}  // namespace stagewise
