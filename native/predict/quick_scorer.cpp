#include "predict/quick_scorer.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kMostThresholds = 254;  // codes 0 to 254, and one for missing
constexpr uint16_t kMissingCode = kMaskMissing + 128;
constexpr size_t kMostSets = 2048;  // of categories; more would not fit the cache

}  // namespace

std::optional<QuickScorer> QuickScorer::make(const FlatTrees& trees, size_t features,
                                             size_t outputs) {
  const size_t n_trees = trees.start.size() - 1;
  size_t most_leaves = 0;
  for (size_t t = 0; t < n_trees; ++t)
    most_leaves = std::max<size_t>(most_leaves, (trees.start[t + 1] - trees.start[t] + 1) / 2);
  if (most_leaves > 64) return std::nullopt;
  std::vector<std::vector<double>> thresholds(features);
  for (size_t i = 0; i < trees.feature.size(); ++i)
    if (trees.feature[i] >= 0 && !trees.categorical(static_cast<size_t>(trees.feature[i])))
      thresholds[static_cast<size_t>(trees.feature[i])].push_back(trees.threshold[i]);
  QuickScorer scorer;
  scorer.columns_ = features;
  scorer.linear_leaves_ = trees.linear_leaves;
  scorer.outputs_ = outputs;
  scorer.width_ = trees.width;
  scorer.narrow_ = most_leaves <= 32;
  scorer.place_.assign(features, kNotTested);
  scorer.sets_of_.resize(trees.n_categories.size());
  for (size_t f = 0; f < features; ++f) {
    auto& t = thresholds[f];
    std::sort(t.begin(), t.end());
    t.erase(std::unique(t.begin(), t.end()), t.end());
    if (t.size() > kMostThresholds) return std::nullopt;
    if (t.empty()) continue;
    scorer.place_[f] = static_cast<uint32_t>(scorer.tested_.size());
    scorer.tested_.push_back({static_cast<uint32_t>(f), FeatureCoder(FeatureCoding::by_cuts(t))});
  }
  scorer.features_ = scorer.tested_.size();
  for (size_t t = 0; t < n_trees; ++t) scorer.add_tree(trees, t, thresholds);
  if (scorer.n_sets_ > kMostSets) return std::nullopt;
  scorer.features_ += scorer.n_sets_;
  return scorer;
}

MaskSplit QuickScorer::number_split(const FlatTrees& trees, size_t node,
                                    const std::vector<double>& thresholds) const {
  const auto above = std::lower_bound(thresholds.begin(), thresholds.end(), trees.threshold[node]);
  return {place_[static_cast<size_t>(trees.feature[node])],
          static_cast<int8_t>(above - thresholds.begin() - 128),
          trees.missing_left[node] != 0,
          {}};
}

MaskSplit QuickScorer::category_split(const FlatTrees& trees, size_t node) {
  const auto feature = static_cast<uint32_t>(trees.feature[node]);
  CategorySet set{features_ + n_sets_, {}};
  for (size_t category = 0; category <= trees.n_categories[feature]; ++category)
    set.side.push_back(has_category(trees.set(node), category) ? 0 : 1);
  set.side.push_back(trees.missing_left[node] != 0 ? 0 : 1);
  sets_of_[feature].push_back(std::move(set));
  return {static_cast<uint32_t>(features_ + n_sets_++), -128, false, {}};
}

void QuickScorer::add_tree(const FlatTrees& trees, size_t t,
                           const std::vector<std::vector<double>>& thresholds) {
  const size_t start = trees.start[t], size = trees.start[t + 1] - start;
  // Children come after their parents, so leaves below a node are counted from the end.
  std::vector<size_t> leaves(size, 1), first(size, 0);
  for (size_t i = size; i-- > 0;)
    if (trees.feature[start + i] >= 0)
      leaves[i] = leaves[static_cast<size_t>(trees.left[start + i])] +
                  leaves[static_cast<size_t>(trees.right[start + i])];
  const size_t base = values_.size();
  values_.resize(base + leaves[0] * width_);
  if (linear_leaves_ != nullptr) {
    model_of_.resize(base + leaves[0], -1);
    has_linear_leaves_.push_back(0);
  }
  for (size_t i = 0; i < size; ++i) {
    if (trees.feature[start + i] < 0) {
      for (size_t k = 0; k < width_; ++k)
        values_[base + first[i] * width_ + k] = trees.value[(start + i) * width_ + k];
      if (linear_leaves_ != nullptr) {
        model_of_[base + first[i]] = linear_leaves_->of(start + i);
        has_linear_leaves_.back() |= linear_leaves_->of(start + i) >= 0;
      }
      continue;
    }
    const auto feature = static_cast<size_t>(trees.feature[start + i]);
    const auto left = static_cast<size_t>(trees.left[start + i]);
    first[left] = first[i];
    first[static_cast<size_t>(trees.right[start + i])] = first[i] + leaves[left];
    MaskSplit split = trees.categorical(feature)
                          ? category_split(trees, start + i)
                          : number_split(trees, start + i, thresholds[feature]);
    const uint64_t below = (1ull << leaves[left]) - 1;  // at most 63: the right side has a leaf
    const uint64_t ruled_out = below << first[i];
    for (size_t k = 0; k < 8; ++k)
      split.ruled_out[k] = static_cast<int8_t>(static_cast<uint8_t>(ruled_out >> (8 * k)));
    splits_.push_back(split);
  }
  split_start_.push_back(splits_.size());
  leaf_start_.push_back(values_.size());
}

// The categories of a feature are read once for all its sets.
void QuickScorer::code_sets(const Columns& table, size_t feature, size_t begin, size_t n,
                            int8_t* codes) const {
  double values[FeatureCoder::kMost];
  table.read(feature, begin, n, values);
  const size_t unknown = sets_of_[feature][0].side.size() - 2;
  uint32_t at[FeatureCoder::kMost];  // in a set's sides
  for (size_t i = 0; i < n; ++i) {
    const double x = values[i];
    const bool known = x >= 0.0 && x < static_cast<double>(unknown);
    at[i] =
        static_cast<uint32_t>(x != x ? unknown + 1 : (known ? static_cast<size_t>(x) : unknown));
  }
  for (const CategorySet& set : sets_of_[feature])
    for (size_t i = 0; i < n; ++i)
      codes[(i / kMaskRows * features_ + set.place) * kMaskRows + i % kMaskRows] =
          static_cast<int8_t>(static_cast<int>(set.side[at[i]]) - 128);
}

MaskTree QuickScorer::tree(size_t t) const {
  const size_t s = split_start_[t];
  return {splits_.data() + s, split_start_[t + 1] - s, values_.data() + leaf_start_[t]};
}

// rows: the values of the block, row by row; n of them are wanted.
void QuickScorer::add_linear_leaves(const Kernels& kernels, const MaskTree& tree, size_t first_leaf,
                                    const int8_t* codes, const double* rows, size_t n,
                                    double* sums) const {
  uint8_t leaf[kMaskRows];
  (narrow_ ? kernels.leaf32 : kernels.leaf64)(tree, codes, leaf);
  for (size_t i = 0; i < n; ++i) {
    const double constant = tree.values[leaf[i]];
    const int32_t line = model_of_[first_leaf + leaf[i]];
    const double* const row = rows + i * columns_;
    sums[i] += line < 0 ? constant
                        : linear_leaves_->predict(line, constant, [=](size_t f) { return row[f]; });
  }
}

// Up to kMaskRows rows, whose codes lie together, and their values if there are linear leaves.
void QuickScorer::add_part(const Kernels& kernels, const int8_t* codes, const double* values,
                           size_t rows, size_t first, size_t last, double* out) const {
  if (width_ > 1) {
    for (size_t t = first; t < last; ++t)
      kernels.score_vectors(tree(t), codes, outputs_, rows, out);
    return;
  }
  double sums[kMaskRows];
  for (size_t o = 0; o < outputs_; ++o) {
    for (size_t i = 0; i < rows; ++i) sums[i] = out[i * outputs_ + o];
    for (size_t i = rows; i < kMaskRows; ++i) sums[i] = 0.0;
    for (size_t t = first + (o + outputs_ - first % outputs_) % outputs_; t < last; t += outputs_)
      if (linear_leaves_ != nullptr && has_linear_leaves_[t] != 0) {
        add_linear_leaves(kernels, tree(t), leaf_start_[t], codes, values, rows, sums);
      } else {
        (narrow_ ? kernels.score32 : kernels.score64)(tree(t), codes, sums);
      }
    for (size_t i = 0; i < rows; ++i) out[i * outputs_ + o] = sums[i];
  }
}

void QuickScorer::add(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                      size_t first, size_t last, double* out) const {
  const size_t parts = (n + kMaskRows - 1) / kMaskRows;
  // codes[part][feature][row of the part], so that a part's codes lie together
  std::vector<int8_t> codes(parts * features_ * kMaskRows, 0);
  uint16_t wide[FeatureCoder::kMost];
  for (size_t place = 0; place < tested_.size(); ++place) {
    const TestedFeature& split_feature = tested_[place];
    split_feature.cuts.code(kernels, table, split_feature.feature, begin, n, kMissingCode, wide);
    for (size_t i = 0; i < n; ++i)
      codes[(i / kMaskRows * features_ + place) * kMaskRows + i % kMaskRows] =
          static_cast<int8_t>(static_cast<int>(wide[i]) - 128);
  }
  for (size_t f = 0; f < sets_of_.size(); ++f)
    if (!sets_of_[f].empty()) code_sets(table, f, begin, n, codes.data());
  std::vector<double> values;  // row by row, if there are linear leaves
  if (linear_leaves_ != nullptr) {
    values.resize(n * columns_);
    for (size_t f = 0; f < columns_; ++f) table.read(f, begin, n, values.data() + f, columns_);
  }
  static_assert(FeatureCoder::kMost % kMaskRows == 0);
  for (size_t part = 0; part < parts; ++part)
    add_part(kernels, codes.data() + part * features_ * kMaskRows,
             linear_leaves_ == nullptr ? nullptr : values.data() + part * kMaskRows * columns_,
             std::min(kMaskRows, n - part * kMaskRows), first, last,
             out + part * kMaskRows * outputs_);
}

// Cells that are not stored have one code; the others are coded one by one. Not for linear leaves.
void QuickScorer::add(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n,
                      size_t first, size_t last, double* out) const {
  const auto shifted = [](uint16_t code) {
    return static_cast<int8_t>(static_cast<int>(code) - 128);
  };
  std::vector<int8_t> default_value, codes;
  for (const TestedFeature& split_feature : tested_) {
    const int8_t code =
        shifted(split_feature.cuts.code(kernels, table.default_value(), kMissingCode));
    default_value.insert(default_value.end(), kMaskRows, code);
  }
  for (size_t from = 0; from < n; from += kMaskRows) {
    const size_t rows = std::min(kMaskRows, n - from);
    codes = default_value;
    for (size_t i = 0; i < rows; ++i)
      for (size_t cell = table.first(begin + from + i); cell < table.last(begin + from + i);
           ++cell) {
        const uint32_t place = place_[table.index()[cell]];
        if (place != kNotTested)
          codes[place * kMaskRows + i] =
              shifted(tested_[place].cuts.code(kernels, table.value(cell), kMissingCode));
      }
    add_part(kernels, codes.data(), nullptr, rows, first, last, out + from * outputs_);
  }
}

}  // namespace stagewise
