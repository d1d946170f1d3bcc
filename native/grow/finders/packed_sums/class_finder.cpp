#include "grow/finders/packed_sums/class_finder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/float_math.hpp"
#include "core/random.hpp"
#include "grow/finders/category_order.hpp"

namespace stagewise {
namespace {

// This many sums per bin and class are read in the time of sorting and moving one row.
constexpr size_t kSumsPerRow = 8;
constexpr int64_t kLogs = 4096;

// Bins of categories in another order, followed by the missing values.
struct ReorderedClasses {
  std::vector<int64_t> packed_sums, counts;
  ClassScanInput sums;

  ReorderedClasses(const ClassScanInput& from, std::vector<uint32_t> order) : sums(from) {
    sums.bins = order.size();
    if (from.has_missing) order.push_back(static_cast<uint32_t>(from.bins));
    for (size_t k = 0; k < from.node.classes; ++k)
      for (const uint32_t b : order) packed_sums.push_back(from.packed_sum(b, k));
    sums.packed_sums = packed_sums.data();
    sums.class_stride = order.size();
    sums.within = {0, sums.bins};
    if (from.counts == nullptr) return;
    for (const uint32_t b : order) counts.push_back(from.counts[b]);
    sums.counts = counts.data();
  }
};

bool has_rows(const ClassScanInput& sums, size_t bin) {
  for (size_t k = 0; k < sums.node.classes; ++k)
    if (sums.packed_sum(bin, k) != 0) return true;
  return false;
}

// Whether at most one class has weight.
bool is_pure(const std::vector<int64_t>& packed_sums) {
  return std::count_if(packed_sums.begin(), packed_sums.end(),
                       [](int64_t packed_sum) { return packed_gradient(packed_sum) != 0; }) < 2;
}

}  // namespace

ClassFinder::ClassFinder(const Bins& bins, const Kernels& kernels, const TreeRules& rules,
                         const RowWeights& weights, const Histograms& histograms)
    : PackedGradientFinder(bins, kernels, rules, weights, histograms),
      class_of_(histograms.planes().of_row),
      classes_(histograms.planes().n) {
  size_t all = 0;
  for (size_t f = 0; f < bins.features(); ++f) all += bins.value_bins(f);
  set_few_rows(bins.features() > 0 ? all / bins.features() * classes_ / kSumsPerRow : 0);
  if (bins.sparse()) limit_few_rows(0);
}

ClassFinder::Scratch::Scratch(const Bins& bins) : PackedGradientFinder::Scratch(bins), sort(bins) {
  reserve_bins(counts.size());
}

// The vector that is compared grows last: if there is no memory for all, the next call tries again.
void ClassFinder::Scratch::reserve_bins(size_t n) {
  if (few_sums.size() >= n) return;
  few_counts.resize(n, 0);
  few_sums.resize(n, 0);
}

void ClassFinder::start_tree(const Scales& scales, const Gradients& gradients,
                             const std::vector<uint32_t>& features, uint64_t key,
                             double dispersion) {
  PackedGradientFinder::start_tree(scales, gradients, features, key, dispersion);
  scan_.criterion = rules_.criterion;
  if (rules_.criterion == ClassCriterion::entropy) share_unit();
}

// Divides all weights by their common power of two, so that most sums are small integers, whose
// logarithms are tabulated.
void ClassFinder::share_unit() {
  for (auto w = static_cast<int64_t>(logs_.size()); w < kLogs; ++w) logs_.push_back(whole_log(w));
  uint64_t bits = uint64_t{1} << 31;
  for (size_t i = 0; i < gradients_->rows(); ++i)
    bits |= static_cast<uint64_t>(packed_gradient(gradients_->slots()[i].packed));
  scan_.logs = {logs_.data(), kLogs, std::countr_zero(bits), 0.0};
  scan_.logs.real = std::ldexp(1.0 / kLogUnit, scan_.logs.shift);
}

std::vector<int64_t> ClassFinder::class_sums(const RowIndex& rows) const {
  std::vector<int64_t> packed_sums(classes_, 0);
  for (size_t i = 0; i < rows.n; ++i)
    packed_sums[static_cast<size_t>(class_of_[rows[i]])] += gradients_->slots()[rows[i]].packed;
  return packed_sums;
}

void ClassFinder::set_root_sums(const RowIndex& rows, bool all, Leaf* root) const {
  PackedGradientFinder::set_root_sums(rows, all, root);
  root->vector = class_sums(rows);
  root->pure = is_pure(root->vector);
}

void ClassFinder::set_child_sums(const Leaf& parent, const RowIndex& left,
                                 const RowIndex& right) const {
  PackedGradientFinder::set_child_sums(parent, left, right);
  const bool left_first = left.n <= right.n;
  Leaf* const first = left_first ? parent.left : parent.right;
  Leaf* const second = left_first ? parent.right : parent.left;
  first->vector = class_sums(left_first ? left : right);
  second->vector = parent.vector;
  for (size_t k = 0; k < classes_; ++k) second->vector[k] -= first->vector[k];
  for (Leaf* child : {first, second}) {
    child->pure = is_pure(child->vector);
    if (!splittable(*child)) child->vector = std::vector<int64_t>();  // not needed again
  }
}

ClassNode ClassFinder::node_of(const Leaf& leaf, bool counted) const {
  return {leaf.vector.data(), classes_, counted ? leaf.count : 0, counted ? min_count_ : 0};
}

ClassScanInput ClassFinder::histogram_sums(const Scan& node, size_t position,
                                           const int64_t* counts) const {
  const uint32_t feature = (*features_)[position];
  ClassScanInput sums;
  sums.node = node_of(*node.leaf, counts != nullptr);
  sums.packed_sums = histograms_.feature(node.leaf->hist, position);
  sums.class_stride = histograms_.planes().n_sums;
  sums.bins = bins_.value_bins(feature);
  sums.has_missing = bins_.has_missing(feature);
  sums.counts = counts;
  sums.within = {0, sums.bins};
  return sums;
}

ClassFinder::Candidate ClassFinder::scan_histogram(const Scan& node, size_t position,
                                                   const int64_t* counts) const {
  std::vector<int64_t> sides(2 * classes_);
  return scan(node, (*features_)[position], histogram_sums(node, position, counts), sides.data());
}

ClassFinder::Candidate ClassFinder::scan(const Scan& node, uint32_t feature,
                                         const ClassScanInput& sums, int64_t* sides) const {
  Candidate candidate = bins_.coding(feature).categorical()
                            ? scan_categories(node, feature, sums, sides)
                            : scan_bins(node, feature, sums, sides);
  candidate.missing_seen = candidate.result.missing_seen;
  candidate.exact = sums.counts != nullptr;
  return candidate;
}

// A numeric feature: the bins in their order.
ClassFinder::Candidate ClassFinder::scan_bins(const Scan& node, uint32_t feature,
                                              const ClassScanInput& sums, int64_t* sides) const {
  ClassScanInput in = sums;
  const std::optional<size_t> only = single_cut(rules_, node, feature, [&] {
    size_t first = 0, last = sums.bins;
    while (first < last && !has_rows(sums, first)) ++first;
    while (last > first && !has_rows(sums, last - 1)) --last;
    return first < last ? std::pair{first, last - 1} : std::pair<size_t, size_t>{0, 0};
  });
  if (only) in.within = {*only, *only + 1};
  Candidate candidate;
  candidate.result = kernels_.scan_classes(in, node.rules, sides);
  if (candidate.result.score > kNoSplit) {
    size_t next = candidate.result.position + 1;
    while (next < sums.bins && !has_rows(sums, next)) ++next;
    set_cut(bins_.coding(feature), only, static_cast<uint32_t>(candidate.result.position),
            static_cast<uint32_t>(next), &candidate);
  }
  return candidate;
}

// Sorted by the share of each class in turn; with random cuts, of one random class.
ClassFinder::Candidate ClassFinder::scan_categories(const Scan& node, uint32_t feature,
                                                    const ClassScanInput& sums,
                                                    int64_t* sides) const {
  Positions by{classes_ == 2 ? size_t{1} : 0, classes_};
  if (rules_.random_thresholds && classes_ > 2) {
    by.first = (draw(draw(node.key, feature), classes_) >> 32) * classes_ >> 32;
    by.last = by.first + 1;
  }
  Candidate best;
  for (size_t k = by.first; k < by.last; ++k) {
    ReorderedClasses in_order(sums, ordered_bins(sums, k));
    if (rules_.random_thresholds && in_order.sums.bins > 0) {
      const size_t cut = draw_position(node, feature, 0, in_order.sums.bins - 1);
      in_order.sums.within = {cut, cut + 1};
    }
    const ScanResult result = kernels_.scan_classes(in_order.sums, node.rules, sides);
    if (k == by.first || result.score > best.result.score) {
      best.result = result;
      best.bin = static_cast<uint32_t>(result.position);
      best.category_order = k;
    }
  }
  return best;
}

// Computes the order of the categories again, and from it the bins that go right. Categories
// without rows in the node go to the heavier side.
std::vector<uint8_t> ClassFinder::right_bins(const Scan& node, size_t position, bool heavier_left,
                                             Scratch* scratch) const {
  const Candidate& candidate = node.candidates[position];
  const uint32_t feature = (*features_)[position];
  const bool in_histogram = node.leaf->hist >= 0;
  if (!in_histogram) {
    list_rows(node.rows, scratch);
    list_codes(bins_, node.rows, feature, &scratch->sort);
  }
  const ClassScanInput sums =
      in_histogram ? histogram_sums(node, position, nullptr) : bin_sums(node, feature, scratch);
  const std::vector<uint32_t> order = ordered_bins(sums, candidate.category_order);
  std::vector<uint8_t> right(sums.bins, heavier_left ? 0 : 1);
  for (size_t i = 0; i < order.size(); ++i) right[order[i]] = i <= candidate.bin ? 0 : 1;
  if (!in_histogram) clear(sums, scratch);
  return right;
}

Split ClassFinder::choose_split(Scan* node, Scratch* scratch) const {
  return choose_split_with(node, scratch, [&](size_t position, bool heavier_left) {
    return right_bins(*node, position, heavier_left, scratch);
  });
}

void ClassFinder::scan_block(Scan* node, size_t block) const {
  for (const uint32_t position : histograms_.block_members(block)) {
    if (too_few_rows((*features_)[position]) || !node->allows(position)) continue;
    node->set(position, scan_histogram(*node, position, nullptr));
  }
}

void ClassFinder::list_rows(const RowIndex& rows, Scratch* scratch) const {
  Scratch& s = *scratch;
  s.sides.resize(2 * classes_);
  if (s.row_classes.size() < rows.n) {
    s.row_slots.resize(rows.n);
    s.row_classes.resize(rows.n);
  }
  bool all_weighted = true;
  for (size_t i = 0; i < rows.n; ++i) {
    s.row_classes[i] = class_of_[rows[i]];
    s.row_slots[i] = gradients_->slots()[rows[i]];
    all_weighted = all_weighted && s.row_slots[i].packed != 0;
  }
  s.all_weighted = all_weighted;
}

template <class Bin>
ClassScanInput ClassFinder::row_sums(const Scan& node, uint32_t feature, size_t bins,
                                     Scratch* scratch, Bin bin) const {
  ClassScanInput sums;
  sums.node = node_of(*node.leaf, counts_needed_);
  sums.class_stride = bins + 1;
  sums.bins = bins;
  sums.has_missing = bins_.has_missing(feature);
  sums.within = {0, bins};
  scratch->reserve_bins((bins + 1) * classes_);
  int64_t* const packed_sums = scratch->few_sums.data();
  const int32_t* const class_of = scratch->row_classes.data();
  const GradientSlot* const slots = scratch->row_slots.data();
  const int32_t* const codes = scratch->sort.row_codes.data();
  for (size_t i = 0; i < node.rows.n; ++i)
    packed_sums[static_cast<size_t>(class_of[i]) * (bins + 1) + bin(codes[i])] += slots[i].packed;
  sums.packed_sums = packed_sums;
  if (!counts_needed_) return sums;
  int64_t* const counts = scratch->few_counts.data();
  for (size_t i = 0; i < node.rows.n; ++i) counts[bin(codes[i])] += weights_[node.rows[i]];
  sums.counts = counts;
  return sums;
}

ClassScanInput ClassFinder::bin_sums(const Scan& node, uint32_t feature, Scratch* scratch) const {
  return row_sums(node, feature, bins_.value_bins(feature), scratch,
                  [](int32_t code) { return static_cast<size_t>(code); });
}

void ClassFinder::clear(const ClassScanInput& sums, Scratch* scratch) const {
  std::fill_n(scratch->few_sums.begin(), sums.class_stride * classes_, 0);
  if (sums.counts != nullptr) std::fill_n(scratch->few_counts.begin(), sums.bins + 1, 0);
}

bool ClassFinder::summed(uint32_t feature, size_t rows) const {
  return bins_.coding(feature).categorical() ||
         rows * kSumsPerRow > bins_.value_bins(feature) * classes_;
}

void ClassFinder::scan_few_rows(Scan* node, Scratch* scratch) const {
  list_rows(node->rows, scratch);
  node->visit_allowed(features_->size(), [&](size_t position) {
    node->set(position, scan_rows(*node, (*features_)[position], scratch));
  });
}

// One feature from the rows that are listed in the scratch.
ClassFinder::Candidate ClassFinder::scan_rows(const Scan& node, uint32_t feature,
                                              Scratch* scratch) const {
  const CodeEnds range = list_codes(bins_, node.rows, feature, &scratch->sort);
  if (range.lowest == range.highest) return {};
  const bool categorical = bins_.coding(feature).categorical();
  if (!categorical && (rules_.random_thresholds || node.leaf->forced_split >= 0))
    return scan_only_cut(node, feature, range, scratch);
  if (summed(feature, node.rows.n)) return scan_bin_sums(node, feature, scratch);
  return sweep(node, feature,
               sort_places(node.rows.n, bins_.value_bins(feature) + 1, &scratch->sort),
               {node.rows, scratch->row_classes.data(), scratch->row_slots.data()}, scratch);
}

ClassFinder::Candidate ClassFinder::scan_bin_sums(const Scan& node, uint32_t feature,
                                                  Scratch* scratch) const {
  const ClassScanInput sums = bin_sums(node, feature, scratch);
  Candidate candidate = scan(node, feature, sums, scratch->sides.data());
  candidate.exact = true;
  clear(sums, scratch);
  return candidate;
}

// With a single cut, two bins are enough.
ClassFinder::Candidate ClassFinder::scan_only_cut(const Scan& node, uint32_t feature,
                                                  const CodeEnds& range, Scratch* scratch) const {
  const auto missing = static_cast<int32_t>(bins_.value_bins(feature));
  const auto cut = single_cut(rules_, node, feature, [&] {
    std::pair<size_t, size_t> ends{range.lowest, range.highest};
    if (scratch->all_weighted && ends.second < static_cast<size_t>(missing)) return ends;
    int32_t first = missing, last = 0;
    for (size_t i = 0; i < node.rows.n; ++i) {
      const int32_t code = scratch->sort.row_codes[i];
      const bool weighted = scratch->row_slots[i].packed != 0 && code != missing;
      first = weighted && code < first ? code : first;
      last = weighted && code > last ? code : last;
    }
    if (first <= last) return std::pair<size_t, size_t>{first, last};
    return std::pair<size_t, size_t>{0, 0};
  });
  const auto last_left = static_cast<int32_t>(*cut);
  ClassScanInput sums = row_sums(node, feature, 2, scratch, [=](int32_t code) {
    return static_cast<size_t>(code > last_left) + static_cast<size_t>(code == missing);
  });
  sums.within = {0, 1};
  Candidate candidate;
  candidate.result = kernels_.scan_classes(sums, node.rules, scratch->sides.data());
  candidate.missing_seen = candidate.result.missing_seen;
  candidate.exact = true;
  candidate.bin = static_cast<uint32_t>(*cut);
  candidate.next_bin = candidate.bin + 1;
  clear(sums, scratch);
  return candidate;
}

void ClassFinder::scan_sorted(Scan* node, size_t position, const SortedRow* rows,
                              Scratch* scratch) const {
  const uint32_t feature = (*features_)[position];
  if (bins_.coding(feature).categorical()) {
    list_rows(node->rows, scratch);
    list_codes(bins_, node->rows, feature, &scratch->sort);
    node->set(position, scan_bin_sums(*node, feature, scratch));
  } else {
    scratch->sides.resize(2 * classes_);
    node->set(position, sweep(*node, feature, rows, {{}, class_of_, gradients_->slots()}, scratch));
  }
}

ClassFinder::Candidate ClassFinder::sweep(const Scan& node, uint32_t feature, const SortedRow* rows,
                                          const Named& named, Scratch* scratch) const {
  ClassSweepInput in;
  in.node = node_of(*node.leaf, counts_needed_);
  in.rows = rows;
  in.n = node.rows.n;
  Candidate candidate;
  candidate.exact = true;
  if (rows[0].rank == rows[in.n - 1].rank) return candidate;
  in.present = count_present(rows, in.n, bins_.value_bins(feature));
  in.class_of = named.class_of;
  in.slots = named.slots;
  if (counts_needed_) {
    if (scratch->row_counts.size() < in.n) scratch->row_counts.resize(in.n);
    for (size_t i = 0; i < in.n; ++i) scratch->row_counts[i] = weights_[named.rows[rows[i].row]];
    in.counts = scratch->row_counts.data();
  }
  in.within = {0, in.present};
  const std::optional<size_t> only = single_cut(rules_, node, feature, [&] {
    return weighted_code_range(rows, in.present,
                               [&](size_t row) { return in.slots[row].packed == 0; });
  });
  if (only) in.within = position_of(rows, in.present, *only);
  candidate.result = kernels_.sweep_classes(in, node.rules, scratch->sides.data());
  candidate.missing_seen = candidate.result.missing_seen;
  if (candidate.result.score > kNoSplit) {
    size_t next = candidate.result.position + 1;
    while (next < in.present && in.slots[rows[next].row].packed == 0) ++next;
    set_cut(bins_.coding(feature), only, rows[candidate.result.position].rank,
            next < in.present ? rows[next].rank : bins_.value_bins(feature), &candidate);
  }
  return candidate;
}

}  // namespace stagewise
