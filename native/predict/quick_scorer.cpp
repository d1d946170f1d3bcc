#include "predict/quick_scorer.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kMostLeaves = 256, kMostDepth = 8;  // a leaf's number is a byte
constexpr size_t kGroup = 16;  // trees whose leaves are found before their values are added

bool same_test(const FlatTrees& trees, size_t a, size_t b) {
  const auto feature = static_cast<size_t>(trees.feature[a]);
  if (trees.feature[a] != trees.feature[b] || trees.missing_left[a] != trees.missing_left[b])
    return false;
  if (!trees.categorical(feature)) return trees.threshold[a] == trees.threshold[b];
  const size_t words = category_set_words(trees.n_categories[feature]);
  return std::equal(trees.set(a), trees.set(a) + words, trees.set(b));
}

}  // namespace

std::optional<QuickScorer> QuickScorer::make(const FlatTrees& trees, size_t features,
                                             size_t outputs) {
  for (size_t t = 0; t < trees.trees(); ++t)
    if ((trees.start[t + 1] - trees.start[t] + 1) / 2 > kMostLeaves) return std::nullopt;
  auto codes = RowCodes::make(trees, features);
  if (!codes) return std::nullopt;
  QuickScorer scorer(std::move(*codes));
  scorer.columns_ = features;
  scorer.linear_leaves_ = trees.linear_leaves;
  scorer.outputs_ = outputs;
  scorer.width_ = trees.width;
  for (size_t t = 0; t < trees.trees(); ++t) scorer.add_tree(trees, t);
  if (scorer.codes_.has_too_many_sets()) return std::nullopt;
  return scorer;
}

void QuickScorer::add_tree(const FlatTrees& trees, size_t t) {
  Tests& tree = trees_.emplace_back();
  tree.first = tests_.size();
  tree.ends = ends_.size();
  tree.leaves = values_.size() / width_;
  if (!add_symmetric_tree(trees, t)) add_mask_tree(trees, t);
}

void QuickScorer::add_leaf(const FlatTrees& trees, size_t node) {
  values_.insert(values_.end(), trees.value.begin() + static_cast<ptrdiff_t>(node * width_),
                 trees.value.begin() + static_cast<ptrdiff_t>((node + 1) * width_));
  if (linear_leaves_ == nullptr) return;
  model_of_.push_back(linear_leaves_->of(node));
  trees_.back().is_linear |= linear_leaves_->of(node) >= 0;
}

// A tree whose nodes of one depth have the same test; a leaf of a smaller depth is repeated.
bool QuickScorer::add_symmetric_tree(const FlatTrees& trees, size_t t) {
  const size_t start = trees.start[t];
  std::vector<size_t> test_of;      // of each depth: the first node
  std::vector<size_t> nodes = {0};  // of a depth, by the number of the leaf that they will be
  for (;;) {
    size_t first = start;
    bool splits = false;
    for (const size_t node : nodes) {
      if (trees.feature[start + node] < 0) continue;
      if (splits && !same_test(trees, first, start + node)) return false;
      if (!splits) first = start + node;
      splits = true;
    }
    if (!splits) break;
    if (test_of.size() == kMostDepth) return false;
    test_of.push_back(first);
    std::vector<size_t> next(2 * nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const size_t node = start + nodes[i];
      const bool leaf = trees.feature[node] < 0;
      next[i] = leaf ? nodes[i] : static_cast<size_t>(trees.left[node]);
      next[i + nodes.size()] = leaf ? nodes[i] : static_cast<size_t>(trees.right[node]);
    }
    nodes = std::move(next);
  }
  const size_t leaves = (trees.start[t + 1] - start + 1) / 2;
  if (nodes.size() > 4 * leaves) return false;  // a narrow tree: masks take less memory
  trees_.back().depth = static_cast<uint32_t>(test_of.size());
  for (const size_t node : test_of) tests_.push_back(codes_.test(trees, node, true));
  for (const size_t node : nodes) add_leaf(trees, start + node);
  return true;
}

void QuickScorer::add_mask_tree(const FlatTrees& trees, size_t t) {
  const size_t start = trees.start[t], size = trees.start[t + 1] - start;
  // Children come after their parents, so leaves below a node are counted from the end.
  std::vector<size_t> leaves(size, 1), first(size, 0), leaf_at;
  for (size_t i = size; i-- > 0;)
    if (trees.feature[start + i] >= 0)
      leaves[i] = leaves[static_cast<size_t>(trees.left[start + i])] +
                  leaves[static_cast<size_t>(trees.right[start + i])];
  leaf_at.resize(leaves[0]);
  const size_t planes = (leaves[0] + 7) / 8;
  std::vector<std::vector<CodeTest>> tests(planes);
  for (size_t i = 0; i < size; ++i) {
    if (trees.feature[start + i] < 0) {
      leaf_at[first[i]] = start + i;
      continue;
    }
    const auto left = static_cast<size_t>(trees.left[start + i]);
    const auto right = static_cast<size_t>(trees.right[start + i]);
    const bool left_is_smaller = leaves[left] <= leaves[right];
    const size_t smaller = left_is_smaller ? left : right, larger = left_is_smaller ? right : left;
    first[smaller] = first[i];
    first[larger] = first[i] + leaves[smaller];
    CodeTest test = codes_.test(trees, start + i, left_is_smaller);
    const size_t end = first[i] + leaves[smaller];
    for (size_t plane = first[i] / 8; plane * 8 < end; ++plane) {
      const size_t from = std::max(first[i], plane * 8) - plane * 8;
      const size_t to = std::min(end, plane * 8 + 8) - plane * 8;
      test.ruled_out = static_cast<uint8_t>((1u << to) - (1u << from));
      tests[plane].push_back(test);
    }
  }
  for (const auto& own : tests) {
    tests_.insert(tests_.end(), own.begin(), own.end());
    ends_.push_back(static_cast<uint32_t>(tests_.size() - trees_.back().first));
  }
  trees_.back().planes = static_cast<uint32_t>(planes);
  for (const size_t node : leaf_at) add_leaf(trees, node);
}

void QuickScorer::find_leaves(const Kernels& kernels, size_t t, const int8_t* codes, size_t n,
                              uint8_t* leaf) const {
  const Tests& tree = trees_[t];
  const CodeTest* const tests = tests_.data() + tree.first;
  if (tree.planes == 0) {
    kernels.symmetric_leaves({tests, tree.depth}, codes, n, leaf);
  } else {
    kernels.mask_leaves({tests, ends_.data() + tree.ends, tree.planes}, codes, n, leaf);
  }
}

// rows: the values of the block, row by row.
void QuickScorer::add_linear_tree(const Kernels& kernels, size_t t, const int8_t* codes,
                                  const double* rows, size_t n, double* sums) const {
  uint8_t leaf[kScoredRows];
  find_leaves(kernels, t, codes, n, leaf);
  for (size_t i = 0; i < n; ++i) {
    const double constant = values(t)[leaf[i]];
    const int32_t line = model_of_[trees_[t].leaves + leaf[i]];
    const double* const row = rows + i * columns_;
    sums[i] += line < 0 ? constant
                        : linear_leaves_->predict(line, constant, [=](size_t f) { return row[f]; });
  }
}

void QuickScorer::add_vectors(const Kernels& kernels, const int8_t* codes, size_t n, size_t first,
                              size_t last, double* out) const {
  uint8_t leaf[kScoredRows];
  for (size_t t = first; t < last; ++t) {
    find_leaves(kernels, t, codes, n, leaf);
    for (size_t i = 0; i < n; ++i) {
      const double* const value = values(t) + leaf[i] * outputs_;
      for (size_t k = 0; k < outputs_; ++k) out[i * outputs_ + k] += value[k];
    }
  }
}

// rows: the values of the block if there are linear leaves.
void QuickScorer::add_coded(const Kernels& kernels, const int8_t* codes, const double* rows,
                            size_t n, size_t first, size_t last, double* out) const {
  if (width_ > 1) return add_vectors(kernels, codes, n, first, last, out);
  double sums[kScoredRows];
  uint8_t leaf[kGroup * kScoredRows];
  const double* value[kGroup];
  for (size_t o = 0; o < outputs_; ++o) {
    for (size_t i = 0; i < n; ++i) sums[i] = out[i * outputs_ + o];
    size_t found = 0;
    const auto add_found = [&] {
      if (found == 0) return;
      kernels.add_leaf_values(value, leaf, found, n, sums);
      found = 0;
    };
    for (size_t t = first + (o + outputs_ - first % outputs_) % outputs_; t < last; t += outputs_) {
      if (trees_[t].is_linear) {
        add_found();
        add_linear_tree(kernels, t, codes, rows, n, sums);
        continue;
      }
      find_leaves(kernels, t, codes, n, leaf + found * kScoredRows);
      value[found++] = values(t);
      if (found == kGroup) add_found();
    }
    add_found();
    for (size_t i = 0; i < n; ++i) out[i * outputs_ + o] = sums[i];
  }
}

void QuickScorer::add(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                      size_t first, size_t last, double* out) const {
  std::vector<int8_t> codes(codes_.bytes());
  codes_.code(kernels, table, begin, n, codes.data());
  std::vector<double> rows;  // row by row, if there are linear leaves
  if (linear_leaves_ != nullptr) {
    rows.resize(n * columns_);
    for (size_t f = 0; f < columns_; ++f) table.read(f, begin, n, rows.data() + f, columns_);
  }
  add_coded(kernels, codes.data(), rows.data(), n, first, last, out);
}

void QuickScorer::add(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n,
                      size_t first, size_t last, double* out) const {
  std::vector<int8_t> codes(codes_.bytes());
  codes_.code(kernels, table, begin, n, codes.data());
  add_coded(kernels, codes.data(), nullptr, n, first, last, out);
}

}  // namespace stagewise
