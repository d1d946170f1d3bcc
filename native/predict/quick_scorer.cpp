#include "predict/quick_scorer.hpp"

#include <algorithm>
#include <bit>

namespace stagewise {
namespace {

constexpr size_t kMostLeaves = 256, kMostDepth = 8;  // a leaf's number is a byte
constexpr size_t kGroup = 16;  // trees whose leaves are found before their values are added

// complete: for rows without missing values.
bool same_test(const FlatTrees& trees, size_t a, size_t b, bool complete) {
  const auto feature = static_cast<size_t>(trees.feature[a]);
  if (trees.feature[a] != trees.feature[b]) return false;
  const bool same_missing = trees.missing_left[a] == trees.missing_left[b];
  if (!trees.categorical(feature))
    return trees.threshold[a] == trees.threshold[b] && (complete || same_missing);
  if (!same_missing) return false;
  const size_t words = category_set_words(trees.n_categories[feature]);
  return std::equal(trees.set(a), trees.set(a) + words, trees.set(b));
}

// The different tests of a tree. A leaf of a symmetric tree that a depth does not split may be
// split by a later one, so a depth is not the distance from the root.
struct CommonTests {
  std::vector<size_t> node_of;       // a node of each test
  std::vector<uint32_t> own, below;  // per node: its test as a bit, and those of all nodes below it

  // Nothing if there are more than a symmetric tree may have.
  static std::optional<CommonTests> of(const FlatTrees& trees, size_t t, bool complete) {
    const size_t start = trees.start[t], size = trees.start[t + 1] - start;
    CommonTests tests;
    tests.own.assign(size, 0);
    tests.below.assign(size, 0);
    for (size_t i = 0; i < size; ++i) {
      if (trees.feature[start + i] < 0) continue;
      const auto same = std::find_if(tests.node_of.begin(), tests.node_of.end(), [&](size_t node) {
        return same_test(trees, node, start + i, complete);
      });
      tests.own[i] = 1u << (same - tests.node_of.begin());
      if (same != tests.node_of.end()) continue;
      if (tests.node_of.size() == kMostDepth) return std::nullopt;
      tests.node_of.push_back(start + i);
    }
    for (size_t i = size; i-- > 0;) {  // children come after their parents
      if (trees.feature[start + i] < 0) continue;
      for (const int32_t child : {trees.left[start + i], trees.right[start + i]}) {
        const auto at = static_cast<size_t>(child);
        tests.below[i] |= tests.own[at] | tests.below[at];
      }
    }
    return tests;
  }
};

}  // namespace

std::optional<QuickScorer> QuickScorer::make(const FlatTrees& trees, size_t features,
                                             size_t outputs, bool planes) {
  for (size_t t = 0; t < trees.trees(); ++t)
    if ((trees.start[t + 1] - trees.start[t] + 1) / 2 > kMostLeaves) return std::nullopt;
  auto codes = RowCodes::make(trees, features);
  if (!codes) return std::nullopt;
  QuickScorer scorer(std::move(*codes));
  scorer.columns_ = features;
  scorer.linear_leaves_ = trees.linear_leaves;
  scorer.outputs_ = outputs;
  scorer.width_ = trees.width;
  for (size_t t = 0; t < trees.trees(); ++t) scorer.add_tree(trees, t, planes);
  if (scorer.codes_.has_too_many_sets()) return std::nullopt;
  return scorer;
}

QuickScorer::Tests QuickScorer::next_tests() const {
  Tests tests;
  tests.first = tests_.size();
  tests.ends = ends_.size();
  tests.leaves = values_.size() / width_;
  return tests;
}

void QuickScorer::add_tree(const FlatTrees& trees, size_t t, bool planes) {
  const auto finish = [&](Tests* tests) {
    if (planes && width_ == 1) add_words(tests);
  };
  Tests any = next_tests();
  const bool symmetric = add_symmetric_tree(trees, t, false, &any);
  if (!symmetric) add_mask_tree(trees, t, &any);
  finish(&any);
  trees_.push_back(any);
  Tests complete = next_tests();
  const bool twice = !symmetric && add_symmetric_tree(trees, t, true, &complete);
  if (twice) finish(&complete);
  complete_.push_back(twice ? complete : any);
}

void QuickScorer::add_leaf(const FlatTrees& trees, size_t node, Tests* tests) {
  values_.insert(values_.end(), trees.value.begin() + static_cast<ptrdiff_t>(node * width_),
                 trees.value.begin() + static_cast<ptrdiff_t>((node + 1) * width_));
  if (linear_leaves_ == nullptr) return;
  model_of_.push_back(linear_leaves_->of(node));
  tests->is_linear |= linear_leaves_->of(node) >= 0;
}

// Of the last tests, which have one value per leaf.
void QuickScorer::add_words(Tests* tests) {
  const size_t leaves = values_.size() - tests->leaves;
  if (tests->is_linear || leaves > kMostPlaneLeaves) return;
  tests->plane = leaves <= kMostPlaneLeaves / 2 ? kMostPlaneLeaves / 2 : kMostPlaneLeaves;
  tests->words = words_.size();
  words_.resize(words_.size() + 4 * tests->plane, 0);
  for (size_t i = 0; i < leaves; ++i) {
    const auto bits = std::bit_cast<uint64_t>(values(*tests)[i]);
    for (size_t w = 0; w < 4; ++w)
      words_[tests->words + w * tests->plane + i] = static_cast<uint16_t>(bits >> (16 * w));
  }
}

// A tree with few different tests; a node that does not have the test of a depth is repeated.
bool QuickScorer::add_symmetric_tree(const FlatTrees& trees, size_t t, bool complete,
                                     Tests* tests) {
  const size_t start = trees.start[t];
  const auto known = CommonTests::of(trees, t, complete);
  if (!known) return false;
  std::vector<size_t> test_of;      // of each depth: a node
  std::vector<size_t> nodes = {0};  // of a depth, by the number of the leaf that they will be
  for (;;) {
    uint32_t here = 0, later = 0;
    for (const size_t node : nodes) {
      here |= known->own[node];
      later |= known->below[node];
    }
    if (here == 0) break;
    if (test_of.size() == kMostDepth) return false;
    // A test that is needed further below waits, so that it is made once.
    const uint32_t first = (here & ~later) != 0 ? here & ~later : here;
    const int test = std::countr_zero(first);
    test_of.push_back(known->node_of[static_cast<size_t>(test)]);
    std::vector<size_t> next(2 * nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      const bool splits = known->own[nodes[i]] == 1u << test;
      const size_t node = start + nodes[i];
      next[i] = splits ? static_cast<size_t>(trees.left[node]) : nodes[i];
      next[i + nodes.size()] = splits ? static_cast<size_t>(trees.right[node]) : nodes[i];
    }
    nodes = std::move(next);
  }
  const size_t leaves = (trees.start[t + 1] - start + 1) / 2;
  if (nodes.size() > 4 * leaves) return false;  // a narrow tree: masks take less memory
  tests->depth = static_cast<uint32_t>(test_of.size());
  for (const size_t node : test_of) tests_.push_back(codes_.test(trees, node, true));
  for (const size_t node : nodes) add_leaf(trees, start + node, tests);
  return true;
}

void QuickScorer::add_mask_tree(const FlatTrees& trees, size_t t, Tests* of_tree) {
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
    ends_.push_back(static_cast<uint32_t>(tests_.size() - of_tree->first));
  }
  of_tree->planes = static_cast<uint32_t>(planes);
  for (const size_t node : leaf_at) add_leaf(trees, node, of_tree);
}

void QuickScorer::find_leaves(const Kernels& kernels, const Tests& tests, const Block& block,
                              uint8_t* leaf) const {
  const CodeTest* const own = tests_.data() + tests.first;
  if (tests.planes == 0) {
    kernels.symmetric_leaves({own, tests.depth}, block.codes, block.n, leaf);
  } else {
    kernels.mask_leaves({own, ends_.data() + tests.ends, tests.planes}, block.codes, block.n, leaf);
  }
}

void QuickScorer::add_linear_tree(const Kernels& kernels, const Tests& tests, const Block& block,
                                  double* sums) const {
  uint8_t leaf[kScoredRows];
  find_leaves(kernels, tests, block, leaf);
  for (size_t i = 0; i < block.n; ++i) {
    const double constant = values(tests)[leaf[i]];
    const int32_t line = model_of_[tests.leaves + leaf[i]];
    const double* const row = block.rows + i * columns_;
    sums[i] += line < 0 ? constant
                        : linear_leaves_->predict(line, constant, [=](size_t f) { return row[f]; });
  }
}

void QuickScorer::add_vectors(const Kernels& kernels, const Block& block, size_t first, size_t last,
                              double* out) const {
  uint8_t leaf[kScoredRows];
  for (size_t t = first; t < last; ++t) {
    const Tests& tests = tests_for(block)[t];
    find_leaves(kernels, tests, block, leaf);
    for (size_t i = 0; i < block.n; ++i) {
      const double* const value = values(tests) + leaf[i] * outputs_;
      for (size_t k = 0; k < outputs_; ++k) out[i * outputs_ + k] += value[k];
    }
  }
}

// sums[i] += the values of at most kGroup trees at the leaves of the rows, in order.
void QuickScorer::add_values(const Kernels& kernels, const Tests* const* trees, size_t count,
                             const uint8_t* leaf, size_t n, double* sums) const {
  LeafPlanes planes[kGroup];
  const double* value[kGroup];
  bool all_planes = kernels.add_leaf_planes != nullptr;
  for (size_t k = 0; k < count; ++k) {
    value[k] = values(*trees[k]);
    planes[k] = {words_.data() + trees[k]->words, trees[k]->plane};
    all_planes = all_planes && trees[k]->plane > 0;
  }
  if (all_planes) {
    kernels.add_leaf_planes(planes, leaf, count, n, sums);
  } else {
    kernels.add_leaf_values(value, leaf, count, n, sums);
  }
}

void QuickScorer::add_coded(const Kernels& kernels, const Block& block, size_t first, size_t last,
                            double* out) const {
  if (width_ > 1) return add_vectors(kernels, block, first, last, out);
  double sums[kScoredRows] = {};
  uint8_t leaf[kGroup * kScoredRows];
  const Tests* group[kGroup];  // trees whose leaves are found
  for (size_t o = 0; o < outputs_; ++o) {
    for (size_t i = 0; i < block.n; ++i) sums[i] = out[i * outputs_ + o];
    size_t found = 0;
    const auto add_found = [&] {
      if (found == 0) return;
      add_values(kernels, group, found, leaf, block.n, sums);
      found = 0;
    };
    for (size_t t = first + (o + outputs_ - first % outputs_) % outputs_; t < last; t += outputs_) {
      const Tests& tests = tests_for(block)[t];
      if (tests.is_linear) {
        add_found();
        add_linear_tree(kernels, tests, block, sums);
        continue;
      }
      const bool other_kind = found > 0 && (group[0]->plane > 0) != (tests.plane > 0);
      if (other_kind) add_found();
      find_leaves(kernels, tests, block, leaf + found * kScoredRows);
      group[found++] = &tests;
      if (found == kGroup) add_found();
    }
    add_found();
    for (size_t i = 0; i < block.n; ++i) out[i * outputs_ + o] = sums[i];
  }
}

void QuickScorer::add(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                      size_t first, size_t last, double* out) const {
  std::vector<int8_t> codes(codes_.bytes());
  const bool complete = codes_.code(kernels, table, begin, n, codes.data());
  std::vector<double> rows;  // row by row, if there are linear leaves
  if (linear_leaves_ != nullptr) {
    rows.resize(n * columns_);
    for (size_t f = 0; f < columns_; ++f) table.read(f, begin, n, rows.data() + f, columns_);
  }
  add_coded(kernels, {codes.data(), complete, rows.data(), n}, first, last, out);
}

void QuickScorer::add(const Kernels& kernels, const SparseTable& table, size_t begin, size_t n,
                      size_t first, size_t last, double* out) const {
  std::vector<int8_t> codes(codes_.bytes());
  const bool complete = codes_.code(kernels, table, begin, n, codes.data());
  add_coded(kernels, {codes.data(), complete, nullptr, n}, first, last, out);
}

}  // namespace stagewise
