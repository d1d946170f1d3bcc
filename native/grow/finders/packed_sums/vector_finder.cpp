#include "grow/finders/packed_sums/vector_finder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/interrupt.hpp"
#include "core/random.hpp"

namespace stagewise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Up to this total weight, packed hessians that are weights are exact.
constexpr double kExactTotal = 268435456.0;

}  // namespace

bool rows_counted(const TreeRules& rules, const RowWeights& weights) {
  if (rules.min_samples_leaf <= 1.0 && weights.whole()) return false;
  return !(rules.hessian_is_weight && weights.whole() && weights.total() <= kExactTotal);
}

VectorFinder::VectorFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                           const RowWeights& weights, const Histograms& histograms, size_t outputs)
    : bins_(bins),
      kernels_(kernels),
      rules_(rules),
      weights_(weights),
      histograms_(histograms),
      outputs_(outputs),
      counted_(rows_counted(rules, weights)),
      lanes_(vector_lanes(outputs, counted_)) {
  size_t all = 0;
  for (size_t f = 0; f < bins.features(); ++f) all += bins.value_bins(f);
  set_few_rows(bins.features() > 0 ? all / bins.features() / 2 : 0);
}

VectorFinder::Scratch::Scratch(const Bins& bins, size_t lanes) : FinderScratch(bins) {
  size_t most = 0;
  for (size_t f = 0; f < bins.features(); ++f)
    most = std::max<size_t>(most, bins.value_bins(f) + 1);
  few_sums.resize(most * lanes, 0);
  touched.resize(most / 64 + 1, 0);
  listed_sums.resize(most * lanes);
  all_sums.resize(most * lanes);
  side.resize(2 * lanes);
}

VectorFinder::Lanes VectorFinder::make_lanes(double more_l2) const {
  Lanes lanes;
  for (std::vector<double>* each : {&lanes.unit, &lanes.l1, &lanes.l2, &lanes.hessian_unit})
    each->assign(lanes_, 0.0);
  lanes.high.assign(lanes_, kInfinity);
  for (size_t k = 0; k < outputs_; ++k) {
    const double gs = gradients_->scales(k).gradient, hs = gradients_->scales(k).hessian;
    lanes.unit[k] = hs / (gs * gs);
    lanes.l1[k] = rules_.l1 * gs;
    lanes.l2[k] = (rules_.l2 + more_l2) * hs;
    if (rules_.max_step > 0.0) lanes.high[k] = rules_.max_step * (gs / hs);
    lanes.hessian_unit[k] = 1.0 / hs;
  }
  VectorRules& r = lanes.rules;
  r.lanes = lanes_;
  r.outputs = outputs_;
  r.unit = lanes.unit.data();
  r.l1 = lanes.l1.data();
  r.l2 = lanes.l2.data();
  r.high = lanes.high.data();
  r.hessian_unit = lanes.hessian_unit.data();
  r.plain = rules_.l1 == 0.0 && rules_.max_step == 0.0;
  r.least_hessian = rules_.min_hessian * static_cast<double>(outputs_);
  if (counted_) {
    r.count_lane = outputs_;
    r.count_mask = -1;
    r.least_count = weights_.units(rules_.min_samples_leaf);
  } else if (rules_.hessian_is_weight) {
    r.count_mask = 0xffffffff;
    r.least_count = static_cast<int64_t>(
        std::ceil(rules_.min_samples_leaf * rules_.hessian_bound * gradients_->scales(0).hessian));
  }
  return lanes;
}

void VectorFinder::start_tree(const VectorGradients& gradients,
                              const std::vector<uint32_t>& features, uint64_t key,
                              double dispersion) {
  gradients_ = &gradients;
  features_ = &features;
  key_ = key;
  numeric_lanes_ = make_lanes(0.0);
  category_lanes_ = make_lanes(rules_.categories.l2);
  category_chance_ = rules_.categories.chance * dispersion;
}

std::vector<double> VectorFinder::values(const int64_t* packed_sums) const {
  Regularisation r;
  r.l1 = rules_.l1;
  r.l2 = rules_.l2;
  if (rules_.max_step > 0.0) {
    r.low = -rules_.max_step;
    r.high = rules_.max_step;
  }
  std::vector<double> out(outputs_);
  for (size_t k = 0; k < outputs_; ++k)
    out[k] = leaf_value(
        static_cast<double>(packed_gradient(packed_sums[k])) / gradients_->scales(k).gradient,
        static_cast<double>(packed_hessian(packed_sums[k])) / gradients_->scales(k).hessian, r);
  return out;
}

double VectorFinder::hessian(const int64_t* packed_sums) const {
  double sum = 0.0;
  for (size_t k = 0; k < outputs_; ++k)
    sum += static_cast<double>(packed_hessian(packed_sums[k])) * numeric_lanes_.hessian_unit[k];
  return sum;
}

void VectorFinder::set_root_sums(const RowIndex& rows, bool all, Leaf* root) const {
  root->vector = gradients_->total();
  if (!all) {
    std::fill(root->vector.begin(), root->vector.end(), 0);
    for (size_t i = 0; i < rows.n; ++i) {
      const int64_t* const own = gradients_->packed() + rows[i] * lanes_;
      for (size_t k = 0; k < lanes_; ++k) root->vector[k] += own[k];
    }
  }
  root->values = values(root->vector.data());
}

void VectorFinder::set_child_sums(const Leaf& parent, const RowIndex&, const RowIndex&) const {
  parent.left->vector = parent.split.left_vector;
  parent.right->vector = parent.vector;
  for (size_t k = 0; k < lanes_; ++k) parent.right->vector[k] -= parent.left->vector[k];
  for (Leaf* child : {parent.left, parent.right}) child->values = values(child->vector.data());
}

bool VectorFinder::splittable(const Leaf& leaf) const {
  if (rules_.max_depth > 0 && leaf.depth >= rules_.max_depth) return false;
  if (leaf.rows() < 2 || leaf.count < least_split_count(rules_, weights_)) return false;
  return hessian(leaf.vector.data()) >= 2.0 * numeric_lanes_.rules.least_hessian;
}

void VectorFinder::begin(const Leaf& leaf, const RowIndex& rows, std::vector<uint8_t> allowed,
                         Scan* node) const {
  node->leaf = &leaf;
  node->rows = rows;
  node->key = draw(key_, leaf.path);
  node->pure = false;
  node->allowed = std::move(allowed);
  if (rules_.grow_policy == GrowthPolicy::symmetric) return;  // no candidates of single nodes
  node->candidates.resize(features_->size());
  node->left.resize(features_->size() * 2 * lanes_);  // and space for a scan
}

VectorFinder::Candidate VectorFinder::scan_bins(const Scan& node, const VectorSums& sums,
                                                const Lanes& lanes, int64_t* left) const {
  const std::optional<size_t> only = single_cut(rules_, node, sums.feature, [&] {
    size_t first = 0, last = sums.bins;
    while (first < last && !has_rows(sums.packed_sums + first * lanes_)) ++first;
    while (last > first && !has_rows(sums.packed_sums + (last - 1) * lanes_)) --last;
    if (first == last) return std::pair<size_t, size_t>{0, 0};
    return std::pair<size_t, size_t>{sums.code(first), sums.code(last - 1)};
  });
  Candidate candidate;
  candidate.missing_seen = sums.missing != nullptr;
  size_t next = 0;
  if (only) {
    next = std::min(sums.bins_upto(*only), sums.bins);
    candidate.result = scan_one_cut(node, sums, next, lanes, left);
  } else {
    candidate.result =
        kernels_.scan_vectors({sums.packed_sums, sums.bins, sums.missing, node.leaf->vector.data()},
                              lanes.rules, left, left + lanes_);
    next = candidate.result.position + 1;
  }
  if (candidate.result.score > kNoSplit) {
    const uint32_t last = only ? 0 : sums.code(candidate.result.position);
    while (next < sums.bins && !has_rows(sums.packed_sums + next * lanes_)) ++next;
    set_cut(bins_.coding(sums.feature), only, last,
            next < sums.bins ? sums.code(next) : bins_.value_bins(sums.feature), &candidate);
  }
  return candidate;
}

// The cut is scored as a feature with one bin, the sum of the first ones.
ScanResult VectorFinder::scan_one_cut(const Scan& node, const VectorSums& sums, size_t bins,
                                      const Lanes& lanes, int64_t* left) const {
  std::vector<int64_t> below(lanes_, 0);
  for (size_t b = 0; b < bins; ++b)
    for (size_t k = 0; k < lanes_; ++k) below[k] += sums.packed_sums[b * lanes_ + k];
  return kernels_.scan_vectors({below.data(), 1, sums.missing, node.leaf->vector.data()},
                               lanes.rules, left, left + lanes_);
}

void VectorFinder::scan(Scan* node, size_t position, const VectorSums& sums) const {
  int64_t* const left = node->left.data() + position * 2 * lanes_;
  node->candidates[position] = bins_.coding(sums.feature).categorical()
                                   ? scan_categories(*node, sums, left)
                                   : scan_bins(*node, sums, numeric_lanes_, left);
}

void VectorFinder::scan_group(Scan* node, size_t group) const {
  for (const uint32_t position : histograms_.members(group)) {
    if (!node->allows(position)) continue;
    VectorSums sums;
    sums.feature = (*features_)[position];
    sums.packed_sums = histograms_.feature(node->leaf->hist, position);
    sums.bins = bins_.value_bins(sums.feature);
    const int64_t* const missing = sums.packed_sums + sums.bins * lanes_;
    if (bins_.has_missing(sums.feature) && has_rows(missing)) sums.missing = missing;
    scan(node, position, sums);
  }
}

bool VectorFinder::has_rows(const int64_t* packed_sums) const {
  return std::any_of(packed_sums, packed_sums + lanes_,
                     [](int64_t packed_sum) { return packed_sum != 0; });
}

void VectorFinder::add_rows(const RowIndex& rows, uint32_t feature, int64_t* packed_sums) const {
  const FeatureGroups& groups = bins_.groups();
  const uint32_t start = 0;
  if (groups.alone(feature) && bins_.wide()) {
    kernels_.vector_histogram16(bins_.by_row16() + groups.of(feature), bins_.row_stride(), &start,
                                nullptr, 1, rows, gradients_->packed(), lanes_, packed_sums);
  } else if (groups.alone(feature)) {
    kernels_.vector_histogram8(bins_.by_row8() + groups.of(feature), bins_.row_stride(), &start,
                               nullptr, 1, rows, gradients_->packed(), lanes_, packed_sums);
  }
  for (size_t i = 0; i < rows.n && !groups.alone(feature); ++i) {
    const uint32_t code = bins_.code(rows[i], feature);
    const int64_t* const own = gradients_->packed() + rows[i] * lanes_;
    for (size_t k = 0; k < lanes_; ++k) packed_sums[code * lanes_ + k] += own[k];
  }
}

void VectorFinder::collect(const RowIndex& rows, uint32_t feature, Scratch* scratch) const {
  add_rows(rows, feature, scratch->few_sums.data());
  for (size_t i = 0; i < rows.n; ++i) {
    const uint32_t code = bins_.code(rows[i], feature);
    scratch->touched[code / 64] |= 1ull << (code % 64);
  }
}

const int64_t* VectorFinder::feature_sums(const Scan& node, size_t position,
                                          Scratch* scratch) const {
  if (node.leaf->hist >= 0) return histograms_.feature(node.leaf->hist, position);
  const uint32_t feature = (*features_)[position];
  std::fill_n(scratch->all_sums.data(), (bins_.value_bins(feature) + 1) * lanes_, 0);
  for_each_block(node.rows.n, [&](size_t begin, size_t end) {
    add_rows(node.rows.part(begin, end - begin), feature, scratch->all_sums.data());
  });
  return scratch->all_sums.data();
}

void VectorFinder::scan_few_rows(Scan* node, Scratch* scratch) const {
  Scratch& s = *scratch;
  for (size_t j = 0; j < features_->size(); ++j) {
    if (!node->allows(j)) continue;
    VectorSums sums;
    sums.feature = (*features_)[j];
    collect(node->rows, sums.feature, scratch);
    const uint32_t missing = bins_.value_bins(sums.feature);
    for (size_t block = 0; block <= missing / 64; ++block)
      for (uint64_t bits = s.touched[block]; bits != 0; bits &= bits - 1) {
        const size_t code = block * 64 + static_cast<size_t>(std::countr_zero(bits));
        int64_t* const own = s.few_sums.data() + code * lanes_;
        std::copy(own, own + lanes_, s.listed_sums.data() + sums.bins++ * lanes_);
        std::fill(own, own + lanes_, 0);
      }
    sums.packed_sums = s.listed_sums.data();
    sums.touched = s.touched.data();
    if ((s.touched[missing / 64] >> (missing % 64) & 1) != 0) {
      const int64_t* const behind = sums.packed_sums + --sums.bins * lanes_;
      if (has_rows(behind)) sums.missing = behind;
    }
    scan(node, j, sums);
    std::fill(s.touched.begin(), s.touched.end(), 0);
  }
}

// The score of the node without a split.
double VectorFinder::unsplit_score(const Leaf& leaf) const {
  double sum = 0.0;
  for (size_t k = 0; k < outputs_; ++k) {
    Regularisation r;
    r.l1 = numeric_lanes_.l1[k];
    r.l2 = numeric_lanes_.l2[k];
    const double unit = gradients_->scales(k).gradient / gradients_->scales(k).hessian;
    const auto h = static_cast<double>(std::max<int64_t>(1, packed_hessian(leaf.vector[k])));
    sum += score_of(static_cast<double>(packed_gradient(leaf.vector[k])), h, leaf.values[k] * unit,
                    r) *
           numeric_lanes_.unit[k];
  }
  return sum;
}

Split VectorFinder::choose_split(Scan* node, Scratch* scratch) const {
  const Leaf& leaf = *node->leaf;
  const size_t best = best_position(*node, features_->size());
  if (best == features_->size()) return {};
  const Candidate& candidate = node->candidates[best];
  const double best_score = candidate.result.score;
  const double twice = best_score - unsplit_score(leaf);
  if (!(twice > kRelativeGain * std::abs(best_score)) || !(0.5 * twice > rules_.min_gain))
    return {};
  const int64_t* const left = node->left.data() + best * 2 * lanes_;
  const bool left_heavier = heavier_left(leaf, left);
  Split split = make_split(bins_, weights_, *node, (*features_)[best], candidate,
                           candidate.missing_seen, left_heavier);
  split.gain = 0.5 * twice;
  split.left_vector.assign(left, left + lanes_);
  if (bins_.coding(split.feature).categorical())
    split.right_bins = right_bins(*node, best, left_heavier, scratch);
  return split;
}

bool VectorFinder::heavier_left(const Leaf& leaf, const int64_t* left_sums) const {
  const double of_left = hessian(left_sums), of_all = hessian(leaf.vector.data());
  return of_left >= of_all - of_left;
}

void VectorFinder::add_scores(const Scan& node, const CutSums& sums, double unsplit,
                              Scratch* scratch, double* right, double* left) const {
  kernels_.symmetric_vector_scores(
      {sums.packed_sums, sums.bins, sums.missing, node.leaf->vector.data()}, numeric_lanes_.rules,
      unsplit, scratch->side.data(), right, left);
}

// The cut is scored as a feature with one bin.
bool VectorFinder::complete(const Scan& node, const int64_t* left_sums, const int64_t*,
                            Scratch* scratch, Split* split) const {
  const Leaf& leaf = *node.leaf;
  ScanResult result;
  if (splittable(leaf))
    result =
        kernels_.scan_vectors({left_sums, 1, nullptr, leaf.vector.data()}, numeric_lanes_.rules,
                              scratch->side.data(), scratch->side.data() + lanes_);
  if (result.score == kNoSplit) {
    *split = {};
    return false;
  }
  split->left_vector.assign(left_sums, left_sums + lanes_);
  split->gain = std::max(0.0, 0.5 * (result.score - unsplit_score(leaf)));
  return true;
}

}  // namespace stagewise
