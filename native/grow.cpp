#include "grow.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "quantile.hpp"
#include "random.hpp"

namespace stagewise {
namespace {

constexpr size_t kPartitionChunk = 8192;
constexpr size_t kParallelPartition = 16384;  // rows; below, the caller is faster alone
constexpr size_t kParallelScores = 32768;
constexpr size_t kWalkChunk = 4096;

size_t walk(const Bins& bins, const Tree& tree, size_t row) {
  size_t node = 0;
  while (tree.feature[node] >= 0) {
    const auto f = static_cast<size_t>(tree.feature[node]);
    const uint32_t code = bins.wide() ? bins.column16(f)[row] : bins.column8(f)[row];
    const bool left =
        code <= tree.bin[node] || (tree.missing_left[node] != 0 && code == bins.value_bins(f));
    node = static_cast<size_t>(left ? tree.left[node] : tree.right[node]);
  }
  return node;
}

}  // namespace

void add_tree(const Bins& bins, const Tree& tree, const double* value, size_t begin, size_t end,
              double* score) {
  for (size_t row = begin; row < end; ++row) score[row] += value[walk(bins, tree, row)];
}

Grower::Grower(Workers& workers, const Kernels& kernels, const Bins& bins, const double* weight,
               const TreeRules& rules)
    : workers_(workers),
      kernels_(kernels),
      bins_(bins),
      rules_(rules),
      weights_(weight, bins.rows()),
      histograms_(bins, kernels, workers),
      finder_(bins, kernels, workers, rules_, weights_, histograms_),
      rows_(make_large_array<uint32_t>(bins.rows() + 1)),
      scratch_left_(make_large_array<uint32_t>(bins.rows() + 1)),
      scratch_right_(make_large_array<uint32_t>(bins.rows() + 1)) {}

void Grower::start_rows(const uint32_t* bag, size_t bag_size) {
  bagged_ = bag != nullptr;
  bag_size_ = bagged_ ? bag_size : bins_.rows();
  if (bagged_) {
    bag_.assign(bag, bag + bag_size);
    std::memcpy(rows_.get(), bag, bag_size * sizeof(uint32_t));
  } else {
    for (size_t i = 0; i < bag_size_; ++i) rows_[i] = static_cast<uint32_t>(i);
  }
}

std::vector<uint32_t> Grower::choose(const std::vector<uint32_t>& from, double share,
                                     uint64_t key) const {
  const auto n = static_cast<double>(from.size());
  const auto wanted = static_cast<size_t>(std::max(1.0, std::floor(share * n + 0.5)));
  if (wanted >= from.size()) return from;
  std::vector<std::pair<uint64_t, uint32_t>> lots;
  lots.reserve(from.size());
  for (const uint32_t f : from) lots.emplace_back(draw(key, f), f);
  std::nth_element(lots.begin(), lots.begin() + static_cast<ptrdiff_t>(wanted), lots.end());
  std::vector<uint32_t> chosen;
  chosen.reserve(wanted);
  for (size_t i = 0; i < wanted; ++i) chosen.push_back(lots[i].second);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<uint32_t> Grower::node_positions(const Leaf& leaf) const {
  std::vector<uint32_t> positions = positions_;
  if (rules_.columns_per_level >= 1.0 && rules_.columns_per_node >= 1.0) return positions;
  const uint64_t level = draw_key(seed_, Draw::columns, tree_number_, 1);
  const uint64_t node = draw_key(seed_, Draw::columns, tree_number_, 2);
  positions =
      choose(positions, rules_.columns_per_level, draw(level, static_cast<uint64_t>(leaf.depth)));
  return choose(positions, rules_.columns_per_node, draw(node, static_cast<uint64_t>(leaf.node)));
}

size_t Grower::partition(const Leaf& leaf) {
  uint32_t* const rows = rows_.get() + leaf.begin;
  const size_t n = leaf.rows();
  const Split& s = leaf.split;
  const uint32_t missing = s.missing_left ? bins_.value_bins(s.feature) : kMissingRight;
  const auto part = [&](size_t begin, size_t count, uint32_t* left, uint32_t* right) {
    return bins_.wide() ? kernels_.partition16(bins_.column16(s.feature), rows + begin, count,
                                               s.bin, missing, left, right)
                        : kernels_.partition8(bins_.column8(s.feature), rows + begin, count, s.bin,
                                              missing, left, right);
  };
  if (workers_.threads() == 1 || n < kParallelPartition) {
    const size_t left = part(0, n, rows, scratch_right_.get());
    std::memcpy(rows + left, scratch_right_.get(), (n - left) * sizeof(uint32_t));
    return left;
  }
  const size_t chunks = (n + kPartitionChunk - 1) / kPartitionChunk;
  std::vector<size_t> lefts(chunks + 1, 0);
  const auto size = [&](size_t c) { return std::min(kPartitionChunk, n - c * kPartitionChunk); };
  workers_.run(chunks, [&](size_t c, int) {
    const size_t begin = c * kPartitionChunk;
    lefts[c] = part(begin, size(c), scratch_left_.get() + begin, scratch_right_.get() + begin);
  });
  size_t total = 0;
  std::vector<size_t> before(chunks);
  for (size_t c = 0; c < chunks; ++c) {
    before[c] = total;
    total += lefts[c];
  }
  workers_.run(chunks, [&](size_t c, int) {
    const size_t begin = c * kPartitionChunk, right = size(c) - lefts[c];
    std::memcpy(rows + before[c], scratch_left_.get() + begin, lefts[c] * sizeof(uint32_t));
    std::memcpy(rows + total + (begin - before[c]), scratch_right_.get() + begin,
                right * sizeof(uint32_t));
  });
  return total;
}

void Grower::make_children(const Leaf& parent, size_t left_rows, Tree* tree, Leaf* left,
                           Leaf* right) {
  left->begin = parent.begin;
  left->end = right->begin = parent.begin + left_rows;
  right->end = parent.end;
  left->depth = right->depth = parent.depth + 1;
  left->word = parent.split.left_word;
  right->word = parent.word - left->word;
  if (weights_.weight() == nullptr) {
    left->count = static_cast<int64_t>(left_rows);
  } else {
    left->count = 0;
    for (size_t i = left->begin; i < left->end; ++i) left->count += weights_[rows_[i]];
  }
  right->count = parent.count - left->count;
  const auto node = static_cast<size_t>(parent.node);
  const Split& s = parent.split;
  for (Leaf* child : {left, right})
    child->node =
        tree->add(finder_.value(child->word), static_cast<double>(child->count) / weights_.unit());
  const auto& cuts = bins_.cuts(s.feature);
  tree->feature[node] = static_cast<int32_t>(s.feature);
  tree->bin[node] = s.bin;
  tree->threshold[node] =
      s.bin < cuts.size() ? cuts[s.bin] : std::numeric_limits<double>::infinity();
  tree->left[node] = left->node;
  tree->right[node] = right->node;
  tree->gain[node] = s.gain;
  // A feature that was never missing: at predict a missing value follows the heavier child.
  tree->missing_left[node] =
      bins_.has_missing(s.feature) ? s.missing_left : left->count >= right->count;
}

void Grower::prepare_histograms(const Leaf& parent, Leaf* left, Leaf* right,
                                const Gradients& gradients) {
  Leaf* small = left->rows() <= right->rows() ? left : right;
  Leaf* large = small == left ? right : left;
  if (large->rows() <= finder_.few_rows() || parent.hist < 0) {
    if (parent.hist >= 0) histograms_.release(parent.hist);
    return;
  }
  large->hist = parent.hist;
  if (!finder_.splittable(*large) && !finder_.splittable(*small)) return;
  if (small->rows() * 4 <= finder_.few_rows()) {
    histograms_.remove(large->hist, rows_.get() + small->begin, small->rows(), gradients);
    return;
  }
  small->hist = histograms_.acquire();
  histograms_.build(small->hist, rows_.get() + small->begin, small->rows(), gradients);
  histograms_.subtract(large->hist, small->hist);
}

void Grower::search(Leaf* leaf) {
  leaf->split = {};
  if (finder_.splittable(*leaf))
    leaf->split = finder_.find(*leaf, rows_.get(), node_positions(*leaf), features_);
}

void Grower::retire(const Leaf& leaf) {
  if (leaf.hist >= 0) histograms_.release(leaf.hist);
  leaf_nodes_.push_back(leaf.node);
  leaf_begin_.push_back(leaf.begin);
}

Tree Grower::grow(Gradients& gradients, const uint32_t* bag, size_t bag_size, uint64_t seed,
                  uint64_t tree_number) {
  seed_ = seed;
  tree_number_ = tree_number;
  start_rows(bag, bag_size);
  const Scales scales =
      gradients.pack(workers_, kernels_, weights_.weight(), weights_.whole(), weights_.total(),
                     draw_key(seed, Draw::rounding, tree_number));
  finder_.start_tree(scales, gradients);
  std::vector<uint32_t> all(bins_.features());
  for (size_t f = 0; f < all.size(); ++f) all[f] = static_cast<uint32_t>(f);
  features_ = choose(all, rules_.columns_per_tree, draw_key(seed, Draw::columns, tree_number));
  histograms_.use_features(features_);
  positions_.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(features_.size()));
  leaf_nodes_.clear();
  leaf_begin_.clear();

  Leaf root;
  root.end = bag_size_;
  if (weights_.weight() == nullptr) {
    root.count = static_cast<int64_t>(bag_size_);
  } else {
    for (size_t i = 0; i < bag_size_; ++i) root.count += weights_[rows_[i]];
  }
  if (bag_size_ > finder_.few_rows()) {
    root.hist = histograms_.acquire();
    histograms_.build(root.hist, rows_.get(), bag_size_, gradients);
    root.word = histograms_.total(root.hist);
  } else {
    for (size_t i = 0; i < bag_size_; ++i) root.word += gradients.slots()[rows_[i]].word;
  }
  Tree tree;
  tree.grower = this;
  tree.number = ++grown_;
  root.node = tree.add(finder_.value(root.word), static_cast<double>(root.count) / weights_.unit());
  search(&root);

  Frontier frontier(rules_.growth);
  frontier.push(root);
  size_t leaves = 1;
  while (!frontier.empty()) {
    const Leaf leaf = frontier.pop();
    if (leaf.split.gain <= 0.0 || (rules_.max_leaves > 0 && leaves >= rules_.max_leaves)) {
      retire(leaf);
      continue;
    }
    Leaf left, right;
    make_children(leaf, partition(leaf), &tree, &left, &right);
    ++leaves;
    if (rules_.max_leaves == 0 || leaves < rules_.max_leaves) {
      prepare_histograms(leaf, &left, &right, gradients);
      search(&left);
      search(&right);
    } else if (leaf.hist >= 0) {
      histograms_.release(leaf.hist);  // the last split: nobody will ask its children
    }
    frontier.push(left);
    frontier.push(right);
  }
  return tree;
}

void Grower::add_to(double* score, const Tree& tree, const double* value) {
  struct Piece {
    size_t begin, end;
    double value;
  };
  std::vector<Piece> pieces;
  std::vector<size_t> order(leaf_nodes_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return leaf_begin_[a] < leaf_begin_[b]; });
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t end = i + 1 < order.size() ? leaf_begin_[order[i + 1]] : bag_size_;
    for (size_t at = leaf_begin_[order[i]]; at < end; at += kPartitionChunk)
      pieces.push_back({at, std::min(end, at + kPartitionChunk), value[leaf_nodes_[order[i]]]});
  }
  const auto add = [&](size_t i, int) {
    const Piece& piece = pieces[i];
    for (size_t k = piece.begin; k < piece.end; ++k) score[rows_[k]] += piece.value;
  };
  if (bag_size_ < kParallelScores) {
    for (size_t i = 0; i < pieces.size(); ++i) add(i, 0);
  } else {
    workers_.run(pieces.size(), add);
  }
  if (!bagged_) return;
  const size_t n = bins_.rows();
  workers_.run((n + kWalkChunk - 1) / kWalkChunk, [&](size_t chunk, int) {
    const size_t begin = chunk * kWalkChunk, end = std::min(n, begin + kWalkChunk);
    auto next = std::lower_bound(bag_.begin(), bag_.end(), static_cast<uint32_t>(begin));
    for (size_t row = begin; row < end; ++row) {
      if (next != bag_.end() && *next == row) {
        ++next;
      } else {
        score[row] += value[walk(bins_, tree, row)];
      }
    }
  });
}

std::vector<double> Grower::leaf_quantiles(const double* residual, double q) {
  const size_t leaves = leaf_nodes_.size();
  std::vector<size_t> ends(leaf_begin_);
  std::sort(ends.begin(), ends.end());
  ends.push_back(bag_size_);
  std::vector<double> out(leaves, 0.0);
  workers_.run(leaves, [&](size_t leaf, int) {
    const size_t begin = leaf_begin_[leaf];
    const size_t end = *std::upper_bound(ends.begin(), ends.end(), begin);
    std::vector<double> values, weight;
    for (size_t k = begin; k < end; ++k) {
      values.push_back(residual[rows_[k]]);
      if (weights_.weight() != nullptr) weight.push_back(weights_.weight()[rows_[k]]);
    }
    out[leaf] = weighted_quantile(&values, weight, q);
  });
  return out;
}

}  // namespace stagewise
