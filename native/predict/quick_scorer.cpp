#include "predict/quick_scorer.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kMostThresholds = 254;  // codes 0 to 254, and one for missing
constexpr uint16_t kMissingCode = kMaskMissing + 128;
constexpr size_t kMostSets = 2048;  // of levels; more would not stay in the cache

}  // namespace

std::optional<MaskScorer> MaskScorer::make(const FlatTrees& trees, size_t features,
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
  MaskScorer scorer;
  scorer.columns_ = features;
  scorer.lines_ = trees.lines;
  scorer.outputs_ = outputs;
  scorer.width_ = trees.width;
  scorer.narrow_ = most_leaves <= 32;
  scorer.place_.assign(features, kNotAsked);
  scorer.sets_of_.resize(trees.levels.size());
  for (size_t f = 0; f < features; ++f) {
    auto& t = thresholds[f];
    std::sort(t.begin(), t.end());
    t.erase(std::unique(t.begin(), t.end()), t.end());
    if (t.size() > kMostThresholds) return std::nullopt;
    if (t.empty()) continue;
    scorer.place_[f] = static_cast<uint32_t>(scorer.asked_.size());
    scorer.asked_.push_back({static_cast<uint32_t>(f), FeatureCuts(FeatureCoding::by_cuts(t))});
  }
  scorer.features_ = scorer.asked_.size();
  for (size_t t = 0; t < n_trees; ++t) scorer.add_tree(trees, t, thresholds);
  if (scorer.n_sets_ > kMostSets) return std::nullopt;
  scorer.features_ += scorer.n_sets_;
  return scorer;
}

MaskSplit MaskScorer::number_split(const FlatTrees& trees, size_t node,
                                   const std::vector<double>& thresholds) const {
  const auto above = std::lower_bound(thresholds.begin(), thresholds.end(), trees.threshold[node]);
  return {place_[static_cast<size_t>(trees.feature[node])],
          static_cast<int8_t>(above - thresholds.begin() - 128),
          trees.missing_left[node] != 0,
          {}};
}

MaskSplit MaskScorer::level_split(const FlatTrees& trees, size_t node) {
  const auto feature = static_cast<uint32_t>(trees.feature[node]);
  LevelSet set{features_ + n_sets_, {}};
  for (size_t level = 0; level <= trees.levels[feature]; ++level)
    set.side.push_back(has_level(trees.set(node), level) ? 0 : 1);
  set.side.push_back(trees.missing_left[node] != 0 ? 0 : 1);
  sets_of_[feature].push_back(std::move(set));
  return {static_cast<uint32_t>(features_ + n_sets_++), -128, false, {}};
}

void MaskScorer::add_tree(const FlatTrees& trees, size_t t,
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
  if (lines_ != nullptr) {
    line_of_.resize(base + leaves[0], -1);
    has_lines_.push_back(0);
  }
  for (size_t i = 0; i < size; ++i) {
    if (trees.feature[start + i] < 0) {
      for (size_t k = 0; k < width_; ++k)
        values_[base + first[i] * width_ + k] = trees.value[(start + i) * width_ + k];
      if (lines_ != nullptr) {
        line_of_[base + first[i]] = lines_->of(start + i);
        has_lines_.back() |= lines_->of(start + i) >= 0;
      }
      continue;
    }
    const auto feature = static_cast<size_t>(trees.feature[start + i]);
    const auto left = static_cast<size_t>(trees.left[start + i]);
    first[left] = first[i];
    first[static_cast<size_t>(trees.right[start + i])] = first[i] + leaves[left];
    MaskSplit split = trees.categorical(feature)
                          ? level_split(trees, start + i)
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

// The levels of a feature are read once for all sets of them.
void MaskScorer::code_sets(const Columns& table, size_t feature, size_t begin, size_t n,
                           int8_t* codes) const {
  double values[FeatureCuts::kMost];
  table.read(feature, begin, n, values);
  const size_t unknown = sets_of_[feature][0].side.size() - 2;
  uint32_t at[FeatureCuts::kMost];  // in a set's sides
  for (size_t i = 0; i < n; ++i) {
    const double x = values[i];
    const bool known = x >= 0.0 && x < static_cast<double>(unknown);
    at[i] =
        static_cast<uint32_t>(x != x ? unknown + 1 : (known ? static_cast<size_t>(x) : unknown));
  }
  for (const LevelSet& set : sets_of_[feature])
    for (size_t i = 0; i < n; ++i)
      codes[(i / kMaskRows * features_ + set.place) * kMaskRows + i % kMaskRows] =
          static_cast<int8_t>(static_cast<int>(set.side[at[i]]) - 128);
}

MaskTree MaskScorer::tree(size_t t) const {
  const size_t s = split_start_[t];
  return {splits_.data() + s, split_start_[t + 1] - s, values_.data() + leaf_start_[t]};
}

// rows: the values of the block, row by row; n of them are wanted.
void MaskScorer::add_lines(const Kernels& kernels, const MaskTree& tree, size_t first_leaf,
                           const int8_t* codes, const double* rows, size_t n, double* sums) const {
  uint8_t leaf[kMaskRows];
  (narrow_ ? kernels.leaf32 : kernels.leaf64)(tree, codes, leaf);
  for (size_t i = 0; i < n; ++i) {
    const double constant = tree.values[leaf[i]];
    const int32_t line = line_of_[first_leaf + leaf[i]];
    const double* const row = rows + i * columns_;
    sums[i] += line < 0 ? constant : lines_->say(line, constant, [=](size_t f) { return row[f]; });
  }
}

// Up to kMaskRows rows, whose codes lie together, and their values if there are lines.
void MaskScorer::add_part(const Kernels& kernels, const int8_t* codes, const double* values,
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
      if (lines_ != nullptr && has_lines_[t] != 0) {
        add_lines(kernels, tree(t), leaf_start_[t], codes, values, rows, sums);
      } else {
        (narrow_ ? kernels.score32 : kernels.score64)(tree(t), codes, sums);
      }
    for (size_t i = 0; i < rows; ++i) out[i * outputs_ + o] = sums[i];
  }
}

void MaskScorer::add(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                     size_t first, size_t last, double* out) const {
  const size_t parts = (n + kMaskRows - 1) / kMaskRows;
  // codes[part][feature][row of the part], so that a part's codes lie together
  std::vector<int8_t> codes(parts * features_ * kMaskRows, 0);
  uint16_t wide[FeatureCuts::kMost];
  for (size_t place = 0; place < asked_.size(); ++place) {
    const Asked& asked = asked_[place];
    asked.cuts.code(kernels, table, asked.feature, begin, n, kMissingCode, wide);
    for (size_t i = 0; i < n; ++i)
      codes[(i / kMaskRows * features_ + place) * kMaskRows + i % kMaskRows] =
          static_cast<int8_t>(static_cast<int>(wide[i]) - 128);
  }
  for (size_t f = 0; f < sets_of_.size(); ++f)
    if (!sets_of_[f].empty()) code_sets(table, f, begin, n, codes.data());
  std::vector<double> values;  // row by row, if there are lines
  if (lines_ != nullptr) {
    values.resize(n * columns_);
    for (size_t f = 0; f < columns_; ++f) table.read(f, begin, n, values.data() + f, columns_);
  }
  static_assert(FeatureCuts::kMost % kMaskRows == 0);
  for (size_t part = 0; part < parts; ++part)
    add_part(kernels, codes.data() + part * features_ * kMaskRows,
             lines_ == nullptr ? nullptr : values.data() + part * kMaskRows * columns_,
             std::min(kMaskRows, n - part * kMaskRows), first, last,
             out + part * kMaskRows * outputs_);
}

// Absent cells all have the same code; the others are coded one by one. Of trees without lines.
void MaskScorer::add(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n,
                     size_t first, size_t last, double* out) const {
  const auto shifted = [](uint16_t code) {
    return static_cast<int8_t>(static_cast<int>(code) - 128);
  };
  std::vector<int8_t> absent, codes;
  for (const Asked& asked : asked_) {
    const int8_t code = shifted(asked.cuts.code(kernels, table.absent(), kMissingCode));
    absent.insert(absent.end(), kMaskRows, code);
  }
  for (size_t from = 0; from < n; from += kMaskRows) {
    const size_t rows = std::min(kMaskRows, n - from);
    codes = absent;
    for (size_t i = 0; i < rows; ++i)
      for (size_t cell = table.first(begin + from + i); cell < table.last(begin + from + i);
           ++cell) {
        const uint32_t place = place_[table.index()[cell]];
        if (place != kNotAsked)
          codes[place * kMaskRows + i] =
              shifted(asked_[place].cuts.code(kernels, table.value(cell), kMissingCode));
      }
    add_part(kernels, codes.data(), nullptr, rows, first, last, out + from * outputs_);
  }
}

}  // namespace stagewise
