#include "grow/finders/class_finder.hpp"

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
  if (bins.sparse()) fix_few_rows(0);  // every node has a histogram
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

ClassScanInput ClassFinder::histogram_sums(const Search& search, size_t position,
                                           const int64_t* counts) const {
  const uint32_t feature = (*features_)[position];
  ClassScanInput sums;
  sums.node = node_of(*search.leaf, counts != nullptr);
  sums.packed_sums = histograms_.feature(search.leaf->hist, position);
  sums.class_stride = histograms_.planes().n_sums;
  sums.bins = bins_.value_bins(feature);
  sums.has_missing = bins_.has_missing(feature);
  sums.counts = counts;
  sums.within = {0, sums.bins};
  return sums;
}

ClassFinder::Found ClassFinder::scan_histogram(const Search& search, size_t position,
                                               const int64_t* counts) const {
  std::vector<int64_t> sides(2 * classes_);
  return scan(search, (*features_)[position], histogram_sums(search, position, counts),
              sides.data());
}

ClassFinder::Found ClassFinder::scan(const Search& search, uint32_t feature,
                                     const ClassScanInput& sums, int64_t* sides) const {
  Found found = bins_.coding(feature).categorical() ? scan_categories(search, feature, sums, sides)
                                                    : scan_bins(search, feature, sums, sides);
  found.missing_seen = found.result.missing_seen;
  found.exact = sums.counts != nullptr;
  return found;
}

// A numeric feature: the bins in their order.
ClassFinder::Found ClassFinder::scan_bins(const Search& search, uint32_t feature,
                                          const ClassScanInput& sums, int64_t* sides) const {
  ClassScanInput in = sums;
  const std::optional<size_t> only = single_cut(rules_, search, feature, [&] {
    size_t first = 0, last = sums.bins;
    while (first < last && !has_rows(sums, first)) ++first;
    while (last > first && !has_rows(sums, last - 1)) --last;
    return first < last ? std::pair{first, last - 1} : std::pair<size_t, size_t>{0, 0};
  });
  if (only) in.within = {*only, *only + 1};
  Found found;
  found.result = kernels_.scan_classes(in, search.rules, sides);
  found.bin = static_cast<uint32_t>(found.result.position);
  found.next_bin = found.bin + 1;
  return found;
}

// Sorted by the share of each class in turn; with random cuts, of one random class.
ClassFinder::Found ClassFinder::scan_categories(const Search& search, uint32_t feature,
                                                const ClassScanInput& sums, int64_t* sides) const {
  Positions by{classes_ == 2 ? size_t{1} : 0, classes_};
  if (rules_.random_thresholds && classes_ > 2) {
    by.first = (draw(draw(search.key, feature), classes_) >> 32) * classes_ >> 32;
    by.last = by.first + 1;
  }
  Found best;
  for (size_t k = by.first; k < by.last; ++k) {
    ReorderedClasses in_order(sums, ordered_bins(sums, k));
    if (rules_.random_thresholds && in_order.sums.bins > 0) {
      const size_t cut = draw_position(search, feature, 0, in_order.sums.bins - 1);
      in_order.sums.within = {cut, cut + 1};
    }
    const ScanResult result = kernels_.scan_classes(in_order.sums, search.rules, sides);
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
std::vector<uint8_t> ClassFinder::right_bins(const Search& search, size_t position,
                                             const Found& found, bool heavier_left,
                                             FinderScratch* finder_scratch) const {
  Scratch* const scratch = own(finder_scratch);
  const uint32_t feature = (*features_)[position];
  const bool in_histogram = search.leaf->hist >= 0;
  if (!in_histogram) {
    list_rows(search.rows, scratch);
    list_codes(bins_, search.rows, feature, &scratch->sort);
  }
  const ClassScanInput sums =
      in_histogram ? histogram_sums(search, position, nullptr) : bin_sums(search, feature, scratch);
  const std::vector<uint32_t> order = ordered_bins(sums, found.category_order);
  std::vector<uint8_t> right(sums.bins, heavier_left ? 0 : 1);
  for (size_t i = 0; i < order.size(); ++i) right[order[i]] = i <= found.bin ? 0 : 1;
  if (!in_histogram) clear(sums, scratch);
  return right;
}

void ClassFinder::scan_block(NodeScan* scan_state, size_t block) const {
  Search* const search = own(scan_state);
  for (const uint32_t position : histograms_.block_members(block)) {
    if (too_few_rows((*features_)[position]) || !search->allows(position)) continue;
    search->set(position, scan_histogram(*search, position, nullptr));
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
ClassScanInput ClassFinder::row_sums(const Search& search, uint32_t feature, size_t bins,
                                     Scratch* scratch, Bin bin) const {
  ClassScanInput sums;
  sums.node = node_of(*search.leaf, counts_needed_);
  sums.class_stride = bins + 1;
  sums.bins = bins;
  sums.has_missing = bins_.has_missing(feature);
  sums.within = {0, bins};
  scratch->reserve_bins((bins + 1) * classes_);
  int64_t* const packed_sums = scratch->few_sums.data();
  const int32_t* const class_of = scratch->row_classes.data();
  const GradientSlot* const slots = scratch->row_slots.data();
  const int32_t* const codes = scratch->sort.row_codes.data();
  for (size_t i = 0; i < search.rows.n; ++i)
    packed_sums[static_cast<size_t>(class_of[i]) * (bins + 1) + bin(codes[i])] += slots[i].packed;
  sums.packed_sums = packed_sums;
  if (!counts_needed_) return sums;
  int64_t* const counts = scratch->few_counts.data();
  for (size_t i = 0; i < search.rows.n; ++i) counts[bin(codes[i])] += weights_[search.rows[i]];
  sums.counts = counts;
  return sums;
}

ClassScanInput ClassFinder::bin_sums(const Search& search, uint32_t feature,
                                     Scratch* scratch) const {
  return row_sums(search, feature, bins_.value_bins(feature), scratch,
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

void ClassFinder::scan_few_rows(NodeScan* scan_state, FinderScratch* finder_scratch) const {
  Search* const search = own(scan_state);
  Scratch* const scratch = own(finder_scratch);
  list_rows(search->rows, scratch);
  search->visit_allowed(features_->size(), [&](size_t position) {
    search->set(position, scan_rows(*search, (*features_)[position], scratch));
  });
}

// One feature from the rows that are listed in the scratch.
ClassFinder::Found ClassFinder::scan_rows(const Search& search, uint32_t feature,
                                          Scratch* scratch) const {
  const CodeEnds range = list_codes(bins_, search.rows, feature, &scratch->sort);
  if (range.lowest == range.highest) return {};
  const bool categorical = bins_.coding(feature).categorical();
  if (!categorical && (rules_.random_thresholds || search.leaf->forced_split >= 0))
    return scan_only_cut(search, feature, range, scratch);
  if (summed(feature, search.rows.n)) return scan_bin_sums(search, feature, scratch);
  return sweep(search, feature,
               sort_places(search.rows.n, bins_.value_bins(feature) + 1, &scratch->sort),
               {search.rows, scratch->row_classes.data(), scratch->row_slots.data()}, scratch);
}

ClassFinder::Found ClassFinder::scan_bin_sums(const Search& search, uint32_t feature,
                                              Scratch* scratch) const {
  const ClassScanInput sums = bin_sums(search, feature, scratch);
  Found found = scan(search, feature, sums, scratch->sides.data());
  found.exact = true;
  clear(sums, scratch);
  return found;
}

// With a single cut, two bins are enough.
ClassFinder::Found ClassFinder::scan_only_cut(const Search& search, uint32_t feature,
                                              const CodeEnds& range, Scratch* scratch) const {
  const auto missing = static_cast<int32_t>(bins_.value_bins(feature));
  const auto cut = single_cut(rules_, search, feature, [&] {
    std::pair<size_t, size_t> ends{range.lowest, range.highest};
    if (scratch->all_weighted && ends.second < static_cast<size_t>(missing)) return ends;
    int32_t first = missing, last = 0;
    for (size_t i = 0; i < search.rows.n; ++i) {
      const int32_t code = scratch->sort.row_codes[i];
      const bool weighted = scratch->row_slots[i].packed != 0 && code != missing;
      first = weighted && code < first ? code : first;
      last = weighted && code > last ? code : last;
    }
    if (first <= last) return std::pair<size_t, size_t>{first, last};
    return std::pair<size_t, size_t>{0, 0};
  });
  const auto last_left = static_cast<int32_t>(*cut);
  ClassScanInput sums = row_sums(search, feature, 2, scratch, [=](int32_t code) {
    return static_cast<size_t>(code > last_left) + static_cast<size_t>(code == missing);
  });
  sums.within = {0, 1};
  Found found;
  found.result = kernels_.scan_classes(sums, search.rules, scratch->sides.data());
  found.missing_seen = found.result.missing_seen;
  found.exact = true;
  found.bin = static_cast<uint32_t>(*cut);
  found.next_bin = found.bin + 1;
  clear(sums, scratch);
  return found;
}

void ClassFinder::scan_sorted(NodeScan* scan_state, size_t position, const SortedRow* rows,
                              FinderScratch* finder_scratch) const {
  Search* const search = own(scan_state);
  Scratch* const scratch = own(finder_scratch);
  const uint32_t feature = (*features_)[position];
  if (bins_.coding(feature).categorical()) {
    list_rows(search->rows, scratch);
    list_codes(bins_, search->rows, feature, &scratch->sort);
    search->set(position, scan_bin_sums(*search, feature, scratch));
  } else {
    scratch->sides.resize(2 * classes_);
    search->set(position,
                sweep(*search, feature, rows, {{}, class_of_, gradients_->slots()}, scratch));
  }
}

ClassFinder::Found ClassFinder::sweep(const Search& search, uint32_t feature, const SortedRow* rows,
                                      const Named& named, Scratch* scratch) const {
  ClassSweepInput in;
  in.node = node_of(*search.leaf, counts_needed_);
  in.rows = rows;
  in.n = search.rows.n;
  Found found;
  found.exact = true;
  if (rows[0].rank == rows[in.n - 1].rank) return found;
  in.present = count_present(rows, in.n, bins_.value_bins(feature));
  in.class_of = named.class_of;
  in.slots = named.slots;
  if (counts_needed_) {
    if (scratch->row_counts.size() < in.n) scratch->row_counts.resize(in.n);
    for (size_t i = 0; i < in.n; ++i) scratch->row_counts[i] = weights_[named.rows[rows[i].row]];
    in.counts = scratch->row_counts.data();
  }
  in.within = {0, in.present};
  const std::optional<size_t> only = single_cut(rules_, search, feature, [&] {
    return weighted_code_range(rows, in.present,
                               [&](size_t row) { return in.slots[row].packed == 0; });
  });
  if (only) in.within = position_of(rows, in.present, *only);
  found.result = kernels_.sweep_classes(in, search.rules, scratch->sides.data());
  found.missing_seen = found.result.missing_seen;
  if (found.result.score > kNoSplit) {
    const size_t next = found.result.position + 1;
    found.bin = only ? static_cast<uint32_t>(*only) : rows[found.result.position].rank;
    found.next_bin = next < in.present ? rows[next].rank : bins_.value_bins(feature);
  }
  return found;
}

}  // namespace stagewise
