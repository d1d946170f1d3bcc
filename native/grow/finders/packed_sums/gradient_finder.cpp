#include "grow/finders/packed_sums/gradient_finder.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace stagewise {
namespace {

// Of a leaf of a symmetric tree: their bins and that of missing values can be listed.
constexpr size_t kFewOfDepth = kMostListed - 1;
constexpr double kMostL2 = 0x1p60;          // above, bounds in float would overflow
constexpr size_t kMostConfirmed = 1 << 13;  // rows that are counted for a candidate in a scan
// With fewer features too many reach the best score so far: 10 and 28 took 1.2 times the time.
constexpr size_t kLeastBounded = 256;

}  // namespace

GradientFinder::GradientFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                               const RowWeights& weights, const Histograms& histograms)
    : PackedGradientFinder(bins, kernels, rules, weights, histograms) {
  const bool symmetric = rules.grow_policy == GrowthPolicy::symmetric;
  if (symmetric) limit_few_rows(bins.sparse() ? 0 : kFewOfDepth);
  size_t all = 0;
  for (size_t f = 0; f < bins.features(); ++f) all += bins.value_bins(f);
  if (bins.sparse()) {  // whose cells are fewer than half of all sums
    const double cells = std::max(bins.sparse_codes().cells_per_row(), 1.0);
    set_few_rows(static_cast<size_t>(static_cast<double>(all) / cells / 2.0));
  } else if (symmetric) {
    set_few_rows(bins.features() > 0 ? all / bins.features() / 4 : 0);
  } else {
    set_few_rows(bins.features() > 0 ? all / bins.features() / 2 : 0);
  }
}

GradientFinder::Scratch::Scratch(const Bins& bins) : PackedGradientFinder::Scratch(bins) {
  reserve_bins(counts.size());
  reserve_rows(kFewOfDepth + 1);
  all_sums.resize(counts.size());
}

// The vector that is compared grows last: if there is no memory for all, the next call tries again.
void GradientFinder::Scratch::reserve_rows(size_t n) {
  if (row_packed.size() >= n) return;
  row_counts.resize(n);
  row_begin.resize(n);
  row_codes.resize(n);
  listed_sums.resize(n);
  listed_counts.resize(n);
  listed_codes.resize(n);
  listed_first_codes.resize(n);
  row_packed.resize(n);
}

void GradientFinder::Scratch::reserve_bins(size_t n) {
  if (few_sums.size() >= n) return;
  few_counts.resize(n, 0);
  touched.resize(n / 64 + 1, 0);
  seen.reserve(n);
  few_sums.resize(n, 0);
}

void GradientFinder::start_tree(const Scales& scales, const Gradients& gradients,
                                const std::vector<uint32_t>& features, uint64_t key,
                                double dispersion) {
  PackedGradientFinder::start_tree(scales, gradients, features, key, dispersion);
  const double gs = scales.gradient, hs = scales.hessian;
  scan_.regularisation.l1 = rules_.l1 * gs;
  scan_.regularisation.l2 = rules_.l2 * hs;
  category_smoothing_ = rules_.categories.smoothing * hs;
  category_chance_ = rules_.categories.chance * dispersion * (gs * gs / hs);
}

// Half of the difference of scores (Chen & Guestrin, eq. 7).
double GradientFinder::real_gain(double packed_gain) const {
  return 0.5 * packed_gain * (scales_.hessian / (scales_.gradient * scales_.gradient));
}

// The score of the node without a split, including the path smoothing of its children.
double GradientFinder::unsplit_score(const Leaf& leaf) const {
  const auto g = static_cast<double>(packed_gradient(leaf.packed_sum));
  const auto h = static_cast<double>(packed_hessian(leaf.packed_sum));
  const double w = leaf.value * (scales_.gradient / scales_.hessian);
  return score_of(g, h, w, scan_.regularisation) +
         2.0 * rules_.path_smoothing * scales_.hessian * w * w;
}

double GradientFinder::value(int64_t packed_sum, const Leaf* parent) const {
  return value(static_cast<double>(packed_gradient(packed_sum)) / scales_.gradient,
               static_cast<double>(packed_hessian(packed_sum)) / scales_.hessian, parent);
}

double GradientFinder::value(double gradient, double hessian, const Leaf* parent) const {
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

void GradientFinder::set_root_sums(const RowIndex& rows, bool all, Leaf* root) const {
  PackedGradientFinder::set_root_sums(rows, all, root);
  root->value = value(root->packed_sum, nullptr);
}

void GradientFinder::set_root(int64_t packed_sum, Leaf* root) const {
  root->packed_sum = packed_sum;
  root->value = value(packed_sum, nullptr);
}

void GradientFinder::set_child_sums(const Leaf& parent, const RowIndex& left,
                                    const RowIndex& right) const {
  PackedGradientFinder::set_child_sums(parent, left, right);
  for (Leaf* child : {parent.left, parent.right}) child->value = value(child->packed_sum, &parent);
}

// Sets the regularisation of the children of the node, in packed units.
void GradientFinder::begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
                           Scan* node) const {
  PackedGradientFinder::begin(leaf, rows, std::move(allowed), node);
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
  node->rules.regularisation = r;
  node->bounded = bounded(*node);
  node->reached = kNoSplit;
}

// Whether an upper bound of scores is available: no l1, bounds, path smoothing or constraints.
bool GradientFinder::bounded(const Scan& node) const {
  const Regularisation& r = node.rules.regularisation;
  return r.plain() && r.l2 <= kMostL2 && !rules_.random_thresholds && node.leaf->forced_split < 0 &&
         rules_.constraints.monotone.empty();
}

// Whether features of a histogram are compared by bounds before they are scanned.
bool GradientFinder::prunes(const Scan& node) const {
  return node.bounded && rules_.feature_penalty.empty() && features_->size() >= kLeastBounded;
}

// The positions with at least the minimal count on both sides. `left` and `right` are counts that
// the sides have in any case.
Positions GradientFinder::positions_with_min_count(const int64_t* counts, size_t bins, int64_t left,
                                                   int64_t right) const {
  Positions p{0, bins};
  while (p.first < bins && (left += counts[p.first]) < min_count_) ++p.first;
  while (p.last > p.first && right < min_count_) right += counts[--p.last];
  return p;
}

// A numeric feature: the bins in their order.
GradientFinder::Candidate GradientFinder::scan_bins(const Scan& node, const BinSums& sums,
                                                    const ScanRules& rules) const {
  ScanInput in;
  in.packed_sums = sums.packed_sums;
  in.bins = sums.bins;
  in.missing_sum = sums.missing_sum;
  in.total_sum = node.leaf->packed_sum;
  if (!rules_.constraints.monotone.empty())
    in.direction = rules_.constraints.monotone[sums.feature];
  in.missing_right = in.missing_left = {0, sums.bins};
  if (sums.counts != nullptr) {
    in.missing_right = positions_with_min_count(sums.counts, sums.bins, 0, sums.missing_count);
    in.missing_left = positions_with_min_count(sums.counts, sums.bins, sums.missing_count, 0);
  }
  if (in.direction != 0) {  // as among few rows, which have no empty bins
    size_t first = 0;
    while (first < sums.bins && sums.packed_sums[first] == 0) ++first;
    in.missing_left.first = std::max(in.missing_left.first, first);
  }
  const std::optional<size_t> only = single_cut(rules_, node, sums.feature, [&] {
    size_t first = 0, last = sums.bins;
    while (first < last && sums.packed_sums[first] == 0) ++first;
    while (last > first && sums.packed_sums[last - 1] == 0) --last;
    if (first == last) return std::pair<size_t, size_t>{0, 0};
    return std::pair<size_t, size_t>{sums.code(first), sums.code(last - 1)};
  });
  if (only) {
    const size_t upto = sums.bins_upto(*only);
    for (Positions* p : {&in.missing_right, &in.missing_left})
      *p = p->first < upto && upto <= p->last ? Positions{upto - 1, upto} : Positions{0, 0};
  }
  Candidate candidate;
  candidate.result = kernels_.scan(in, rules);
  candidate.missing_seen = sums.missing_sum != 0;
  candidate.exact = sums.counts != nullptr;
  if (candidate.result.score > kNoSplit) {
    // Gradient and hessian of a row may round to 0. If its side then needs it for min_samples_leaf,
    // the cut does not pass it.
    const bool counted =
        sums.counts != nullptr && !min_count_proven(*node.leaf, candidate.result.left_sum);
    size_t next = candidate.result.position + 1;
    while (next < sums.bins && sums.packed_sums[next] == 0 && !(counted && sums.counts[next] != 0))
      ++next;
    set_cut(bins_.coding(sums.feature), only, sums.code(candidate.result.position),
            next < sums.bins ? sums.first_code(next) : bins_.value_bins(sums.feature), &candidate);
  }
  return candidate;
}

GradientFinder::Candidate GradientFinder::scan_histogram(const Scan& node, size_t position,
                                                         const int64_t* counts) const {
  const uint32_t feature = (*features_)[position];
  const bool has_missing = bins_.has_missing(feature);
  BinSums sums;
  sums.feature = feature;
  sums.packed_sums = histograms_.feature(node.leaf->hist, position);
  sums.counts = counts;
  sums.bins = bins_.value_bins(feature);
  if (has_missing) {
    sums.missing_sum = sums.packed_sums[sums.bins];
    if (counts != nullptr) sums.missing_count = counts[sums.bins];
  }
  return scan(node, sums);
}

// Whether the scores of all cuts of a numeric feature of a histogram are less than this one.
bool GradientFinder::below(const Scan& node, size_t position, double score) const {
  const uint32_t feature = (*features_)[position];
  if (score == kNoSplit || bins_.coding(feature).categorical()) return false;
  const int64_t* const sums = histograms_.feature(node.leaf->hist, position);
  const uint32_t bins = bins_.value_bins(feature);
  return !kernels_.may_reach(sums, bins, bins_.has_missing(feature) ? sums[bins] : 0,
                             node.leaf->packed_sum, node.rules, score);
}

// A feature is scanned only if it may be better than those before it.
void GradientFinder::scan_group(Scan* node, size_t group) const {
  if (!prunes(*node)) return PackedGradientFinder::scan_group(node, group);
  const std::atomic_ref<double> reached(node->reached);
  for (const uint32_t position : histograms_.members(group)) {
    if (!node->allows(position)) continue;
    double best = reached.load(std::memory_order_relaxed);
    if (below(*node, position, best)) {
      node->set_bound(position, best);
      continue;
    }
    Candidate candidate = scan_histogram(*node, position, nullptr);
    const double score = candidate.result.score;
    if (score > best &&
        (min_count_proven(*node->leaf, candidate.result.left_sum) ||
         (node->rows.n <= kMostConfirmed && confirm(*node, (*features_)[position], &candidate)))) {
      while (score > best &&
             !reached.compare_exchange_weak(best, score, std::memory_order_relaxed)) {
      }
    }
    node->set(position, candidate);
  }
}

// Whether all rows have the same gradient per unit of weight. They are compared with a row of
// positive count, since a row of count 0 equals all others.
bool GradientFinder::is_uniform(const Scan& node) const {
  const RowIndex& rows = node.rows;
  size_t first = 0;
  while (first + 1 < rows.n && weights_[rows[first]] == 0) ++first;
  const auto gradient = [&](size_t i) {
    return packed_gradient(gradients_->slots()[rows[i]].packed);
  };
  const int64_t g = gradient(first), count = weights_[rows[first]];
  for (size_t i = 0; i < rows.n; ++i)
    if (gradient(i) * count != g * weights_[rows[i]]) return false;
  return true;
}

Split GradientFinder::choose_split(Scan* node, Scratch* scratch) const {
  return choose_split_with(node, scratch, [&](size_t position, bool heavier_left) {
    return right_bins(*node, position, heavier_left, scratch);
  });
}

void GradientFinder::add_scores(const Scan& node, const CutSums& sums, double unsplit, Scratch*,
                                double* right, double* left) const {
  ScanInput in;
  in.packed_sums = sums.packed_sums;
  in.bins = sums.bins;
  if (sums.missing != nullptr) in.missing_sum = *sums.missing;
  in.total_sum = node.leaf->packed_sum;
  if (!rules_.constraints.monotone.empty())
    in.direction = rules_.constraints.monotone[sums.feature];
  in.missing_right = in.missing_left = {0, sums.bins};
  if (sums.counts != nullptr) {
    in.missing_right = positions_with_min_count(sums.counts, sums.bins, 0, sums.missing_count);
    in.missing_left = positions_with_min_count(sums.counts, sums.bins, sums.missing_count, 0);
  }
  kernels_.symmetric_scores(in, node.rules, unsplit, right, left);
}

bool GradientFinder::complete(const Scan& node, const int64_t* left_sum, const int64_t* counts,
                              Scratch* scratch, Split* split) const {
  const Leaf& leaf = *node.leaf;
  const int64_t left = split->left_sum = *left_sum, right = leaf.packed_sum - left;
  const auto hl = static_cast<double>(packed_hessian(left));
  const auto hr = static_cast<double>(packed_hessian(right));
  bool fits = splittable(leaf) && hl >= node.rules.min_hessian && hr >= node.rules.min_hessian;
  if (fits && !min_count_proven(leaf, left)) {
    const size_t bins = bins_.value_bins(split->feature);
    if (counts == nullptr) {
      count_bins(node, split->feature, scratch);
      counts = scratch->counts.data();
    }
    int64_t count = split->missing_left ? counts[bins] : 0;
    for (size_t b = 0; b < bins; ++b) count += split->goes_left(b) ? counts[b] : 0;
    fits = count >= min_count_ && leaf.count - count >= min_count_;
  }
  if (!fits) {
    *split = {};
    return false;
  }
  const Regularisation& r = node.rules.regularisation;
  const double score = leaf_score(static_cast<double>(packed_gradient(left)), hl, r) +
                       leaf_score(static_cast<double>(packed_gradient(right)), hr, r);
  split->gain = std::max(0.0, real_gain(score - unsplit_score(leaf)));
  return true;
}

}  // namespace stagewise
