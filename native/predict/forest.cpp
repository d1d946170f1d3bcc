#include "predict/forest.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/interrupt.hpp"

namespace stagewise {
namespace {

constexpr size_t kBlock = 64;              // rows that walk together
constexpr size_t kWalkBytes = 256u << 10;  // of rows that see a tree while it is in the cache
constexpr size_t kWalkedRows = 512;        // whose walks take as long as making a QuickScorer
constexpr size_t kWalkedPerNode = 4;       // the same of a CodedWalk, for a node of each tree

}  // namespace

// The nodes of a tree, breadth first, so that children are next to each other. One for all trees:
// its memory is reused.
struct Forest::Order {
  std::vector<int32_t> nodes;
  std::vector<uint8_t> reached;
};

Forest::Forest(const FlatTrees& trees, size_t features, size_t outputs,
               std::shared_ptr<const LinearLeaves> linear_leaves)
    : features_(features),
      outputs_(outputs),
      width_(trees.width),
      linear_leaves_(std::move(linear_leaves)) {
  const size_t nodes = trees.feature.size();
  for (const size_t size :
       {trees.threshold.size(), trees.missing_left.size(), trees.left.size(), trees.right.size()})
    if (size != nodes) throw std::invalid_argument("tree arrays differ in length");
  if (trees.start.empty() || trees.start.front() != 0 || trees.start.back() != nodes)
    throw std::invalid_argument("tree starts do not cover the nodes");
  if (trees.value.size() != nodes * width_ || (width_ != 1 && width_ != outputs))
    throw std::invalid_argument("a node has one value, or one for each output");
  if (outputs == 0 || (trees.start.size() - 1) % (outputs / width_) != 0)
    throw std::invalid_argument("the number of trees is not a multiple of the outputs");
  if (nodes >= 0x7fffffffu) throw std::invalid_argument("more than 2^31 nodes");
  if (!trees.n_categories.empty()) {
    if (trees.n_categories.size() != features || trees.set_start.size() != nodes)
      throw std::invalid_argument("one number of categories per feature, one set per node");
    n_categories_.assign(trees.n_categories.begin(), trees.n_categories.end());
    sets_.assign(trees.sets.begin(), trees.sets.end());
  }
  if (linear_leaves_ != nullptr &&
      (linear_leaves_->nodes() != nodes || linear_leaves_->features() != features))
    throw std::invalid_argument("lines of other nodes or features");
  if (features > SplitNode::kFeatureBits) throw std::invalid_argument("more than 2^30 features");
  nodes_.reserve(nodes);
  values_.reserve(nodes * width_);
  original_.reserve(nodes);
  Order order;
  for (size_t t = 0; t + 1 < trees.start.size(); ++t) {
    check_interrupt();
    add_tree(trees, t, order);
  }
}

void Forest::add_tree(const FlatTrees& trees, size_t t, Order& order) {
  const uint64_t start = trees.start[t], end = trees.start[t + 1];
  if (start >= end || end > trees.feature.size())
    throw std::invalid_argument("a tree has no nodes or starts out of order");
  const auto size = static_cast<int32_t>(end - start);
  const size_t first = nodes_.size();
  order.nodes.assign(1, 0);
  order.reached.assign(static_cast<size_t>(size), 0);
  const auto reach = [&](int32_t node, int32_t parent) {
    if (node <= parent || node >= size || order.reached[static_cast<size_t>(node)]++ != 0)
      throw std::invalid_argument("a node's feature or child is out of range");
    order.nodes.push_back(node);
  };
  for (size_t i = 0; i < order.nodes.size(); ++i) {
    const int32_t node = order.nodes[i];
    const size_t at = start + static_cast<size_t>(node);
    const int32_t feature = trees.feature[at];
    original_.push_back(node);
    if (linear_leaves_ != nullptr) model_of_.push_back(feature < 0 ? linear_leaves_->of(at) : -1);
    if (feature < 0) {
      nodes_.push_back(
          {{std::numeric_limits<double>::quiet_NaN()}, 0, static_cast<uint32_t>(nodes_.size())});
      continue;
    }
    if (static_cast<size_t>(feature) >= features_)
      throw std::invalid_argument("a node's feature or child is out of range");
    SplitNode split{{trees.threshold[at]},
                    static_cast<uint32_t>(feature) |
                        (trees.missing_left[at] != 0 ? 0 : SplitNode::kMissingRightBit),
                    static_cast<uint32_t>(first + order.nodes.size())};
    if (trees.categorical(static_cast<size_t>(feature))) {
      const int64_t set = trees.set_start[at];
      if (set < 0 || static_cast<size_t>(set) +
                             category_set_words(n_categories_[static_cast<size_t>(feature)]) >
                         sets_.size())
        throw std::invalid_argument("a node's set of categories is out of range");
      split.set = static_cast<uint64_t>(set);
      split.test |= SplitNode::kCategoryBit;
    }
    nodes_.push_back(split);
    reach(trees.left[at], node);
    reach(trees.right[at], node);
  }
  if (order.nodes.size() != static_cast<size_t>(size))
    throw std::invalid_argument("a tree has nodes that no split leads to");
  for (const int32_t node : order.nodes) {
    const auto value =
        trees.value.begin() + static_cast<ptrdiff_t>((start + static_cast<size_t>(node)) * width_);
    values_.insert(values_.end(), value, value + static_cast<ptrdiff_t>(width_));
  }
  roots_.push_back(static_cast<uint32_t>(first));
}

// From the flat arrays of the trees, which are restored for it.
std::optional<QuickScorer> Forest::make_scorer(bool planes) const {
  const size_t n = nodes_.size();
  std::vector<uint64_t> start(roots_.begin(), roots_.end());
  start.push_back(n);
  std::vector<int32_t> feature(n, -1), left(n, -1), right(n, -1);
  std::vector<double> threshold(n), value(values_.size());
  std::vector<uint8_t> missing_left(n);
  std::vector<int64_t> set_start(n_categories_.empty() ? 0 : n, -1);
  for (size_t t = 0; t < roots_.size(); ++t)
    for (size_t i = start[t]; i < start[t + 1]; ++i) {
      const SplitNode& node = nodes_[i];
      const size_t at = start[t] + static_cast<size_t>(original_[i]);
      std::copy_n(values_.data() + i * width_, width_, value.data() + at * width_);
      if (node.child == i) continue;  // a leaf
      feature[at] = static_cast<int32_t>(node.feature());
      left[at] = original_[node.child];
      right[at] = original_[node.child + 1];
      missing_left[at] = !node.missing_right();
      if (node.categorical()) {
        set_start[at] = static_cast<int64_t>(node.set);
      } else {
        threshold[at] = node.threshold;
      }
    }
  return QuickScorer::make({start, feature, threshold, missing_left, left, right, value, width_,
                            set_start, sets_, n_categories_, linear_leaves_.get()},
                           features_, outputs_, planes);
}

// Null: the trees are too large, or walks are faster than making it. Counts the rows.
const QuickScorer* Forest::scorer_for(const Kernels& kernels, size_t rows) const {
  if (scored_.fetch_add(rows, std::memory_order_relaxed) + rows <= kWalkedRows) return nullptr;
  std::call_once(scorer_made_, [&] { scorer_ = make_scorer(kernels.add_leaf_planes != nullptr); });
  return scorer_ ? &*scorer_ : nullptr;
}

// Null: nodes have categories or leaves lines, or walks of nodes are faster than making it.
const CodedWalk* Forest::walk_for(size_t rows) const {
  if (linear_leaves_ != nullptr || rows < kScoredRows || roots_.empty()) return nullptr;
  const size_t least = kWalkedPerNode * (nodes_.size() / roots_.size());
  if (scored_.load(std::memory_order_relaxed) <= least) return nullptr;
  std::call_once(walk_made_, [&] { walk_ = CodedWalk::make(nodes_, roots_, features_); });
  return walk_ ? &*walk_ : nullptr;
}

bool Forest::goes_right(const SplitNode& node, double x) const {
  if (x != x) return node.missing_right();
  if (!node.categorical()) return x > node.threshold;
  const double unknown = n_categories_[node.feature()];
  const double category = x >= 0.0 && x < unknown ? x : unknown;
  return !has_category(sets_.data() + node.set, static_cast<size_t>(category));
}

void Forest::add_value(size_t tree, size_t node, const double* row, double* out) const {
  if (width_ == 1) {
    out[tree % outputs_] += node_prediction(node, row);
    return;
  }
  const double* const value = values_.data() + node * width_;
  for (size_t k = 0; k < width_; ++k) out[k] += value[k];
}

// The same of n rows whose leaves have no lines.
void Forest::add_values(size_t tree, const uint32_t* leaf, size_t n, double* out) const {
  const double* const values = values_.data();
  if (width_ == 1) {
    double* const own = out + tree % outputs_;
    for (size_t i = 0; i < n; ++i) own[i * outputs_] += values[leaf[i]];
    return;
  }
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < width_; ++k) out[i * width_ + k] += values[leaf[i] * width_ + k];
}

inline size_t Forest::leaf_of(const double* row, size_t tree) const {
  const SplitNode* const nodes = nodes_.data();
  size_t at = roots_[tree];
  for (;;) {
    const SplitNode& node = nodes[at];
    if (node.child == at) return at;
    const bool right = goes_right(node, row[node.feature()]);
    at = node.child + static_cast<size_t>(right);
  }
}

void Forest::add_row(const double* row, size_t first, size_t last, double* out) const {
  for (size_t t = first; t < last; ++t) add_value(t, leaf_of(row, t), row, out);
}

template <class Arrived>
void Forest::walk_block(const double* rows, size_t n, size_t tree, Arrived&& arrived) const {
  if (n_categories_.empty()) {
    walk_block_of<false>(rows, n, tree, arrived);
  } else {
    walk_block_of<true>(rows, n, tree, arrived);
  }
}

template <bool kCategories, class Arrived>
void Forest::walk_block_of(const double* rows, size_t n, size_t tree, Arrived&& arrived) const {
  uint32_t at[kBlock], live[kBlock];  // where rows are, and which are not in leaves yet
  const SplitNode* const nodes = nodes_.data();
  for (size_t i = 0; i < n; ++i) {
    at[i] = roots_[tree];
    live[i] = static_cast<uint32_t>(i);
  }
  for (size_t left = n; left > 0;) {
    size_t kept = 0;
    for (size_t k = 0; k < left; ++k) {
      const uint32_t i = live[k], here = at[i];
      const SplitNode node = nodes[here];
      const auto inner = static_cast<uint32_t>(node.child != here);  // a leaf is its own left child
      const double x = rows[i * features_ + node.feature()];
      if constexpr (kCategories) {
        at[i] = node.child + (inner & static_cast<uint32_t>(goes_right(node, x)));
      } else {
        const uint32_t missing_right = static_cast<uint32_t>(x != x) & (node.test >> 31);
        at[i] = node.child + (static_cast<uint32_t>(x > node.threshold) | missing_right);
      }
      live[kept] = i;
      kept += inner;
    }
    left = kept;
  }
  for (size_t i = 0; i < n; ++i) arrived(i, at[i]);
}

// arrived(tree, row, its values, node) for all rows and trees [first, last), of a row in their
// order. Many rows go through a tree before the next one, so that it stays in the cache; but there
// is work for all threads.
template <class Arrived>
void Forest::walk_rows(Workers& workers, const Columns& table, size_t first, size_t last,
                       Arrived&& arrived) const {
  const size_t most = kWalkBytes / (kBlock * std::max<size_t>(features_, 1) * sizeof(double));
  const auto threads = static_cast<size_t>(workers.threads());
  const size_t share = table.rows / ((threads == 1 ? 1 : 4 * threads) * kBlock);
  const size_t at_once = kBlock * std::clamp<size_t>(share, 1, std::max<size_t>(most, 1));
  workers.run((table.rows + at_once - 1) / at_once, [&](size_t chunk, int) {
    const size_t begin = chunk * at_once, n = std::min(at_once, table.rows - begin);
    std::vector<double> rows(n * features_);
    for (size_t f = 0; f < features_; ++f) table.read(f, begin, n, rows.data() + f, features_);
    for (size_t t = first; t < last; ++t) {
      check_interrupt();
      for (size_t b = 0; b < n; b += kBlock) {
        const double* const block = rows.data() + b * features_;
        walk_block(block, std::min(kBlock, n - b), t, [&](size_t i, uint32_t node) {
          arrived(t, begin + b + i, block + i * features_, node);
        });
      }
    }
  });
}

// arrived(tree, begin, n, leaf) for all rows [begin, begin + n) and trees [first, last), of a row
// in their order.
template <class Arrived>
void Forest::walk_coded(Workers& workers, const Kernels& kernels, const CodedWalk& walk,
                        const Columns& table, size_t first, size_t last, Arrived&& arrived) const {
  const auto threads = static_cast<size_t>(workers.threads());
  const size_t share = table.rows / ((threads == 1 ? 1 : 4 * threads) * kScoredRows);
  const size_t at_once = std::min(walk.rows_at_once(), kScoredRows * std::max<size_t>(share, 1));
  workers.run((table.rows + at_once - 1) / at_once, [&](size_t chunk, int) {
    const size_t begin = chunk * at_once, n = std::min(at_once, table.rows - begin);
    CodedWalk::Codes codes = walk.make_codes();
    walk.code(kernels, table, begin, n, &codes);
    uint32_t leaf[kScoredRows];
    for (size_t t = first; t < last; ++t) {
      check_interrupt();
      for (size_t b = 0; b < n; b += kScoredRows) {
        const size_t rows = std::min(kScoredRows, n - b);
        walk.find_leaves(kernels, codes, b / kScoredRows, rows, t, leaf);
        arrived(t, begin + b, rows, leaf);
      }
    }
  });
}

void Forest::add_scores(Workers& workers, const Kernels& kernels, const Columns& table,
                        size_t first, size_t last, double* out) const {
  const QuickScorer* const scorer = scorer_for(kernels, table.rows);
  const CodedWalk* const walk = scorer == nullptr ? walk_for(table.rows) : nullptr;
  if (walk != nullptr)
    return walk_coded(workers, kernels, *walk, table, first, last,
                      [&](size_t t, size_t begin, size_t n, const uint32_t* leaf) {
                        add_values(t, leaf, n, out + begin * outputs_);
                      });
  if (scorer == nullptr)
    return walk_rows(workers, table, first, last,
                     [&](size_t t, size_t row, const double* values, uint32_t node) {
                       add_value(t, node, values, out + row * outputs_);
                     });
  constexpr size_t kRows = kScoredRows;
  workers.run((table.rows + kRows - 1) / kRows, [&](size_t chunk, int) {
    const size_t begin = chunk * kRows, n = std::min(kRows, table.rows - begin);
    scorer->add(kernels, table, begin, n, first, last, out + begin * outputs_);
  });
}

// body(row, values) for every row, with all of its cells during the call.
template <class Body>
void Forest::spread_rows(Workers& workers, const SparseTable& table, Body&& body) const {
  constexpr size_t kRows = kScoredRows;
  workers.run((table.rows() + kRows - 1) / kRows, [&](size_t chunk, int) {
    std::vector<double> values(features_, table.default_value());
    const size_t end = std::min(table.rows(), (chunk + 1) * kRows);
    for (size_t row = chunk * kRows; row < end; ++row) {
      for (size_t cell = table.first(row); cell < table.last(row); ++cell)
        values[table.index()[cell]] = table.value(cell);
      if (row % kBlock == 0) check_interrupt();
      body(row, values.data());
      for (size_t cell = table.first(row); cell < table.last(row); ++cell)
        values[table.index()[cell]] = table.default_value();
    }
  });
}

void Forest::add_scores(Workers& workers, const Kernels& kernels, const SparseTable& table,
                        size_t first, size_t last, double* out) const {
  const QuickScorer* const scorer =
      linear_leaves_ == nullptr ? scorer_for(kernels, table.rows()) : nullptr;
  if (scorer == nullptr || scorer->has_sets())
    return spread_rows(workers, table, [&](size_t row, const double* values) {
      add_row(values, first, last, out + row * outputs_);
    });
  constexpr size_t kRows = kScoredRows;
  workers.run((table.rows() + kRows - 1) / kRows, [&](size_t chunk, int) {
    const size_t begin = chunk * kRows, n = std::min(kRows, table.rows() - begin);
    scorer->add(kernels, table, begin, n, first, last, out + begin * outputs_);
  });
}

void Forest::leaves(Workers& workers, const SparseTable& table, int32_t* out) const {
  spread_rows(workers, table, [&](size_t row, const double* values) {
    for (size_t t = 0; t < trees(); ++t) out[row * trees() + t] = original_[leaf_of(values, t)];
  });
}

void Forest::leaves(Workers& workers, const Kernels& kernels, const Columns& table,
                    int32_t* out) const {
  scored_.fetch_add(table.rows, std::memory_order_relaxed);
  if (const CodedWalk* const walk = walk_for(table.rows))
    return walk_coded(workers, kernels, *walk, table, 0, trees(),
                      [&](size_t t, size_t begin, size_t n, const uint32_t* leaf) {
                        for (size_t i = 0; i < n; ++i)
                          out[(begin + i) * trees() + t] = original_[leaf[i]];
                      });
  walk_rows(workers, table, 0, trees(), [&](size_t t, size_t row, const double*, uint32_t node) {
    out[row * trees() + t] = original_[node];
  });
}

}  // namespace stagewise
