#include "split.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "contest.hpp"
#include "random.hpp"

namespace stagewise {
namespace {

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

// Whole weights: the next whole number; others are rounded to the unit themselves.
int64_t RowWeights::units(double least) const {
  return static_cast<int64_t>(whole_ ? std::ceil(least * unit_) : std::floor(least * unit_ + 0.5));
}

SplitFinder::SplitFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                         const RowWeights& weights, const Histograms& histograms)
    : bins_(bins), kernels_(kernels), rules_(rules), weights_(weights), histograms_(histograms) {
  size_t all = 0;
  for (size_t f = 0; f < bins.features(); ++f) all += bins.value_bins(f);
  if (bins.sparse()) {  // rows whose cells are fewer than half of all sums
    const double cells = std::max(bins.sparse_codes().cells_per_row(), 1.0);
    set_few_rows(static_cast<size_t>(static_cast<double>(all) / cells / 2.0));
    count_sparse_rows();
  } else {
    set_few_rows(bins.features() > 0 ? all / bins.features() / 2 : 0);
  }
  used_.assign(bins.features(), 0);
  for (const uint32_t f : rules.used) used_[f] = 1;
}

Finder::Scratch::Scratch(const Bins& bins, size_t lanes) {
  size_t most = 0;
  for (size_t f = 0; f < bins.features(); ++f)
    most = std::max<size_t>(most, bins.value_bins(f) + 1);
  counts.resize(most);
  reserve_bins(most * lanes);
  if (lanes > 1) packed_words.resize(most * lanes);
  if (bins.sparse()) row_marks.resize(bins.rows(), 0);
}

void Finder::Scratch::reserve_rows(size_t n) {
  if (row_words.size() >= n) return;
  row_words.resize(n);
  row_counts.resize(n);
  row_begin.resize(n);
  packed_words.resize(n);
  packed_counts.resize(n);
  packed_codes.resize(n);
  packed_firsts.resize(n);
}

void Finder::Scratch::reserve_bins(size_t n) {
  if (few_words.size() >= n) return;
  few_words.resize(n, 0);
  few_counts.resize(n, 0);
  touched.resize(n / 64 + 1, 0);
}

void SplitFinder::start_tree(const Scales& scales, const Gradients& gradients,
                             const std::vector<uint32_t>& features, uint64_t key,
                             double dispersion) {
  features_ = &features;
  scales_ = scales;
  gradients_ = &gradients;
  key_ = key;
  for (const uint32_t f : newly_used_)
    used_[f] = 1;  // not earlier: nodes are searched in any order
  newly_used_.clear();
  const double gs = scales.gradient, hs = scales.hessian;
  scan_.regularisation = {};
  scan_.regularisation.l1 = rules_.l1 * gs;
  scan_.regularisation.l2 = rules_.l2 * hs;
  scan_.min_hessian = std::max(1.0, rules_.min_hessian * hs);
  scan_.criterion = rules_.criterion;
  level_smoothing_ = rules_.levels.smoothing * hs;
  level_chance_ = rules_.levels.chance * dispersion * (gs * gs / hs);
  min_count_ = weights_.units(rules_.min_samples_leaf);
  counts_needed_ = rules_.min_samples_leaf > 1.0 || !weights_.whole();
  const double largest = gradients.largest_hessian();
  const double bound = largest > 0.0 ? largest : rules_.hessian_bound;
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

// What the node is worth as it is, and what its children pay for their distance from it.
double SplitFinder::unsplit_score(const Leaf& leaf) const {
  const auto g = static_cast<double>(word_gradient(leaf.word));
  const auto h = static_cast<double>(word_hessian(leaf.word));
  const double w = leaf.value * (scales_.gradient / scales_.hessian);
  return gain_of(g, h, w, scan_.regularisation) +
         2.0 * rules_.path_smoothing * scales_.hessian * w * w;
}

// A node of classes has no value of its own: a step gives it one.
double SplitFinder::value(int64_t word, const Leaf* parent) const {
  if (of_classes()) return 0.0;
  return value(static_cast<double>(word_gradient(word)) / scales_.gradient,
               static_cast<double>(word_hessian(word)) / scales_.hessian, parent);
}

double SplitFinder::value(double gradient, double hessian, const Leaf* parent) const {
  Regularisation r;
  r.l1 = rules_.l1;
  r.l2 = rules_.l2;
  if (rules_.max_step > 0.0) {
    r.low = -rules_.max_step;
    r.high = rules_.max_step;
  }
  if (parent != nullptr) {
    r.l2 += rules_.path_smoothing;
    r.shift = rules_.path_smoothing * parent->value;
    r.low = std::max(r.low, parent->bounds.low);
    r.high = std::min(r.high, parent->bounds.high);
  }
  return leaf_value(gradient, hessian, r);
}

void SplitFinder::weigh_root(const Rows& rows, bool all, Leaf* root) const {
  root->word = gradients_->total_word();
  if (!all) {
    root->word = 0;
    for (size_t i = 0; i < rows.n; ++i) root->word += gradients_->slots()[rows[i]].word;
  }
  root->value = value(root->word, nullptr);
}

void SplitFinder::weigh_children(const Leaf& parent) const {
  parent.left->word = parent.split.left_word;
  parent.right->word = parent.word - parent.left->word;
  for (Leaf* child : {parent.left, parent.right}) child->value = value(child->word, &parent);
}

// The rules of a node's children, in units of the packed integers.
void SplitFinder::begin(const Leaf& leaf, const Rows& rows, std::vector<uint8_t> allowed,
                        Search* search) const {
  search->leaf = &leaf;
  search->rows = rows;
  search->key = draw(key_, leaf.path);
  search->pure = false;
  search->allowed = std::move(allowed);
  search->score.assign(features_->size(), kNoSplit);
  search->is_found.assign(features_->size(), 0);
  search->found.resize(features_->size());
  const double unit = scales_.gradient / scales_.hessian;  // of values
  Regularisation r = scan_.regularisation;
  if (rules_.max_step > 0.0) {
    r.low = -rules_.max_step * unit;
    r.high = rules_.max_step * unit;
  }
  r.low = std::max(r.low, leaf.bounds.low * unit);
  r.high = std::min(r.high, leaf.bounds.high * unit);
  r.l2 += rules_.path_smoothing * scales_.hessian;
  r.shift = rules_.path_smoothing * leaf.value * scales_.gradient;
  search->rules = scan_;
  search->rules.regularisation = r;
  search->level_rules = search->rules;
  search->level_rules.regularisation.l2 += rules_.levels.l2 * scales_.hessian;
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

// A feature that is a number: the bins in their own order.
SplitFinder::Found SplitFinder::scan_bins(const Search& search, const BinSums& sums,
                                          const ScanRules& rules) const {
  ScanInput in;
  in.words = sums.words;
  in.bins = sums.bins;
  in.missing_word = sums.missing_word;
  in.total_word = search.leaf->word;
  if (!rules_.constraints.monotone.empty())
    in.direction = rules_.constraints.monotone[sums.feature];
  in.missing_right = in.missing_left = {0, sums.bins};
  if (sums.counts != nullptr) {
    in.missing_right = heavy_enough(sums.counts, sums.bins, 0, sums.missing_count);
    in.missing_left = heavy_enough(sums.counts, sums.bins, sums.missing_count, 0);
  }
  const std::optional<size_t> only = only_cut(search, sums);
  if (only) {
    const size_t upto = sums.bins_upto(*only);
    for (Positions* p : {&in.missing_right, &in.missing_left})
      *p = p->first < upto && upto <= p->last ? Positions{upto - 1, upto} : Positions{0, 0};
  }
  Found found;
  found.result = kernels_.scan(in, rules);
  found.missing_seen = sums.missing_word != 0;
  found.exact = sums.counts != nullptr;
  if (found.result.score > kNoSplit) {
    const size_t next = found.result.position + 1;
    found.bin = only ? static_cast<uint32_t>(*only) : sums.code(found.result.position);
    found.next_bin = next < sums.bins ? sums.first_code(next) : bins_.value_bins(sums.feature);
  }
  return found;
}

SplitFinder::Found SplitFinder::scan_classes(const BinSums& sums, const Planes& planes,
                                             bool has_missing) const {
  Positions missing_right{0, sums.bins}, missing_left{0, sums.bins};
  if (sums.counts != nullptr) {
    missing_right = heavy_enough(sums.counts, sums.bins, 0, sums.missing_count);
    missing_left = heavy_enough(sums.counts, sums.bins, sums.missing_count, 0);
  }
  std::vector<int64_t> scratch(3 * planes.n);
  Found found;
  found.result = kernels_.scan_classes(
      {sums.words, planes.words, planes.n, sums.bins, has_missing, missing_right, missing_left},
      scan_, scratch.data());
  found.missing_seen = found.result.missing_seen;
  found.exact = sums.counts != nullptr;
  found.bin = static_cast<uint32_t>(found.result.position);
  return found;
}

SplitFinder::Found SplitFinder::scan_histogram(const Search& search, size_t position,
                                               const int64_t* counts) const {
  const uint32_t feature = (*features_)[position];
  const bool has_missing = bins_.has_missing(feature);
  BinSums sums;
  sums.feature = feature;
  sums.words = histograms_.feature(search.leaf->hist, position);
  sums.counts = counts;
  sums.bins = bins_.value_bins(feature);
  if (has_missing) {
    sums.missing_word = sums.words[sums.bins];
    if (counts != nullptr) sums.missing_count = counts[sums.bins];
  }
  const bool levels = bins_.coding(feature).categorical();
  if (of_classes())
    return levels ? scan_class_levels(search, sums, has_missing)
                  : scan_classes(sums, histograms_.planes(), has_missing);
  return levels ? scan_levels(search, sums) : scan_bins(search, sums, search.rules);
}

// The only code to cut behind, where it is given or drawn.
std::optional<size_t> SplitFinder::only_cut(const Search& search, const BinSums& sums) const {
  if (search.leaf->forced >= 0) return rules_.forced[static_cast<size_t>(search.leaf->forced)].bin;
  if (!rules_.random_thresholds) return std::nullopt;
  size_t first = 0, last = sums.bins;
  while (first < last && sums.words[first] == 0) ++first;
  while (last > first && sums.words[last - 1] == 0) --last;
  if (first == last) return 0;
  return drawn(search, sums.feature, sums.code(first), sums.code(last - 1));
}

// One of first, first + 1, ..., last - 1.
size_t SplitFinder::drawn(const Search& search, uint32_t feature, size_t first, size_t last) const {
  if (last <= first + 1) return first;
  return first + static_cast<size_t>((draw(search.key, feature) >> 32) * (last - first) >> 32);
}

void SplitFinder::scan_group(Search* search, size_t group) const {
  for (const uint32_t position : histograms_.members(group))
    if (search->allows(position)) search->set(position, scan_histogram(*search, position, nullptr));
}

void SplitFinder::count_bins(const Search& search, uint32_t feature, Scratch* scratch) const {
  auto& counts = scratch->counts;
  std::fill(counts.begin(), counts.begin() + bins_.value_bins(feature) + 1, 0);
  if (bins_.sparse()) return count_cells(search, feature, scratch);
  for (size_t i = 0; i < search.rows.n; ++i) {
    const uint32_t row = search.rows[i];
    counts[bins_.code(row, feature)] += weights_[row];
  }
}

// Whether a missing value of the feature occurs in these rows at all.
bool any_missing(const Bins& bins, const Rows& rows, uint32_t feature) {
  if (!bins.has_missing(feature)) return false;
  const uint32_t missing = bins.value_bins(feature);
  for (size_t i = 0; i < rows.n; ++i)
    if (bins.code(rows[i], feature) == missing) return true;
  return false;
}

// Sums of words, and where they are needed of counts, per bin of one feature, and which bins they
// are.
template <bool kCounts, class Code, class Decode>
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
    if constexpr (kCounts) counts[code] += row_counts[i];
    touched[code / 64] |= 1ull << (code % 64);
  }
}

// The same one behind the other; returns how many there are.
template <bool kCounts>
size_t SplitFinder::list_touched(uint32_t bins, Scratch* scratch) const {
  Scratch& s = *scratch;
  size_t k = 0;
  for (size_t block = 0; block <= bins / 64; ++block)
    for (uint64_t bits = s.touched[block]; bits != 0; bits &= bits - 1) {
      const size_t code = block * 64 + static_cast<size_t>(std::countr_zero(bits));
      s.packed_words[k] = s.few_words[code];
      s.packed_codes[k] = static_cast<uint32_t>(code);
      s.few_words[code] = 0;
      if constexpr (kCounts) {
        s.packed_counts[k] = s.few_counts[code];
        s.few_counts[code] = 0;
      }
      ++k;
    }
  return k;
}

template <bool kCounts, class Code>
void SplitFinder::scan_few_rows_of(const Code* codes, Search* search, Scratch* scratch) const {
  const size_t n = search->leaf->rows();
  Scratch& s = *scratch;
  for (size_t j = 0; j < features_->size(); ++j) {
    if (!search->allows(j)) continue;
    const uint32_t feature = (*features_)[j];
    const Groups& groups = bins_.groups();
    const Code* const own = codes + groups.of(feature);
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
    sums.words = s.packed_words.data();
    sums.counts = kCounts ? s.packed_counts.data() : nullptr;
    sums.bins = k;
    sums.codes = s.packed_codes.data();
    if (s.packed_codes[k - 1] == bins) {
      sums.missing_word = s.packed_words[--sums.bins];
      if (kCounts) sums.missing_count = s.packed_counts[sums.bins];
    }
    Found found = scan(*search, sums);
    found.exact = true;
    search->set(j, found);
    std::fill_n(s.touched.begin(), bins / 64 + 1, 0);
  }
}

// Whether all rows have the same gradient, each as often as it counts.
bool SplitFinder::pure(const Scratch& scratch, size_t n) const {
  const int64_t g = word_gradient(scratch.row_words[0]), count = scratch.row_counts[0];
  for (size_t i = 1; i < n; ++i)
    if (word_gradient(scratch.row_words[i]) * count != g * scratch.row_counts[i]) return false;
  return true;
}

void SplitFinder::scan_few_rows(Search* search, Scratch* scratch) const {
  const size_t n = search->rows.n;
  Scratch& s = *scratch;
  s.reserve_rows(n);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = search->rows[i];
    s.row_words[i] = gradients_->slots()[row].word;
    s.row_counts[i] = weights_[row];
    s.row_begin[i] = row * bins_.row_stride();
  }
  search->pure = rules_.to_the_end && pure(s, n);
  if (search->pure) return;
  const auto scan_all = [&](const auto* codes) {
    if (counts_needed_) {
      scan_few_rows_of<true>(codes, search, scratch);
    } else {
      scan_few_rows_of<false>(codes, search, scratch);
    }
  };
  if (bins_.wide()) {
    scan_all(bins_.by_row16());
  } else {
    scan_all(bins_.by_row8());
  }
}

void SplitFinder::add_scores(const Search& search, const BinSums& sums, double* right,
                             double* left) const {
  ScanInput in;
  in.words = sums.words;
  in.bins = sums.bins;
  in.missing_word = sums.missing_word;
  in.total_word = search.leaf->word;
  if (!rules_.constraints.monotone.empty())
    in.direction = rules_.constraints.monotone[sums.feature];
  kernels_.level_scores(in, search.rules, unsplit_score(*search.leaf), right, left);
}

bool SplitFinder::complete(const Search& search, size_t position, Scratch* scratch,
                           Split* split) const {
  const Leaf& leaf = *search.leaf;
  const int64_t* const words = histograms_.feature(leaf.hist, position);
  const size_t bins = bins_.value_bins(split->feature);
  const auto goes_left = [&](size_t b) {
    return split->right_bins.empty() ? b <= split->bin : split->right_bins[b] == 0;
  };
  int64_t left = 0;
  for (size_t b = 0; b < bins; ++b) left += goes_left(b) ? words[b] : 0;
  const int64_t missing = bins_.has_missing(split->feature) ? words[bins] : 0;
  const bool heavier = 2 * word_hessian(left) >= word_hessian(leaf.word);
  if (missing == 0) split->missing_left = heavier;
  if (split->missing_left) left += missing;
  split->left_word = left;
  for (size_t b = 0; b < split->right_bins.size(); ++b)
    if (words[b] == 0) split->right_bins[b] = heavier ? 0 : 1;

  const int64_t right = leaf.word - left;
  const auto hl = static_cast<double>(word_hessian(left));
  const auto hr = static_cast<double>(word_hessian(right));
  bool fits = splittable(leaf) && hl >= search.rules.min_hessian && hr >= search.rules.min_hessian;
  if (fits && !proven(leaf, left)) {
    count_bins(search, split->feature, scratch);
    int64_t count = split->missing_left ? scratch->counts[bins] : 0;
    for (size_t b = 0; b < bins; ++b) count += goes_left(b) ? scratch->counts[b] : 0;
    fits = count >= min_count_ && leaf.count - count >= min_count_;
  }
  if (!fits) {
    *split = {};
    return false;
  }
  const Regularisation& r = search.rules.regularisation;
  const double score = leaf_gain(static_cast<double>(word_gradient(left)), hl, r) +
                       leaf_gain(static_cast<double>(word_gradient(right)), hr, r);
  split->gain = std::max(0.0, real_gain(score - unsplit_score(leaf)));
  return true;
}

// What the gain of a split by the feature is less by, in packed units.
double SplitFinder::price(uint32_t feature) const {
  if (rules_.first_use.empty() || used_[feature] != 0) return 0.0;
  return rules_.first_use[feature] / real_gain(1.0);
}

Split SplitFinder::settle(Search* search, Scratch* scratch) const {
  const Leaf& leaf = *search->leaf;
  Contest contest(features_->size(),
                  [&](size_t i) { return search->score[i] - price((*features_)[i]); });
  for (;;) {
    const auto [best_score, best] = contest.leader();
    if (best_score == kNoSplit) return {};
    if (search->is_found[best] == 0) {  // what leads is but a bound
      search->set(best, scan_histogram(*search, best, nullptr));
      contest.update(best);
      continue;
    }
    Found& found = search->found[best];
    const double unsplit = of_classes() ? found.result.unsplit : unsplit_score(leaf);
    const double packed_gain = best_score - unsplit;
    const bool forced = leaf.forced >= 0;
    const double gain = real_gain(packed_gain);
    const bool enough = packed_gain > kRelativeGain * std::abs(found.result.score);
    if (!forced && !(enough && gain > rules_.min_gain)) return {};
    const uint32_t feature = (*features_)[best];
    const int64_t left_word = found.result.left_word;
    if (found.exact || proven(leaf, left_word)) {
      const int64_t left = word_hessian(left_word), both = word_hessian(leaf.word);
      const bool decided =
          found.missing_seen || (bins_.sparse() ? any_missing_cell(*search, feature, scratch)
                                                : any_missing(bins_, search->rows, feature));
      const bool heavier_left = left >= both - left;
      const bool missing_left = decided ? found.result.missing_left : heavier_left;
      Split split{std::max(gain, 0.0), forced,    feature, found.bin, found.next_bin,
                  missing_left,        left_word, {},      {}};
      if (bins_.coding(feature).categorical())
        split.right_bins = right_bins(*search, best, found, heavier_left, scratch);
      return split;
    }
    count_bins(*search, feature, scratch);
    search->set(best, scan_histogram(*search, best, scratch->counts.data()));
    contest.update(best);
  }
}

}  // namespace stagewise
