#include "grow.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "descend.hpp"
#include "quantile.hpp"
#include "random.hpp"

namespace stagewise {
namespace {

constexpr size_t kPartitionChunk = 8192;
constexpr size_t kParallelPartition = 16384;  // rows; below, the caller is faster alone
constexpr size_t kParallelUpdates = 60000;    // of a histogram, likewise
constexpr size_t kParallelBins = 4096;        // of a search, likewise
constexpr size_t kSharedUpdates = 200000;     // a leaf with as many is worked on by all threads
constexpr size_t kGroupBlock = 64;  // groups whose histograms stay in the second-level cache
constexpr size_t kScoreRows = kDescentRows;  // of which the scores stay in the second-level cache

}  // namespace

Grower::Grower(Workers& workers, const Kernels& kernels, const Bins& bins, const double* weight,
               const TreeRules& rules, const int32_t* class_of, size_t classes)
    : workers_(workers),
      kernels_(kernels),
      bins_(bins),
      rules_(rules),
      weights_(weight, bins.rows()),
      histograms_(bins, kernels, class_of, classes),
      finder_(bins, kernels, rules_, weights_, histograms_),
      desks_(static_cast<size_t>(workers.threads()), Desk(bins)),
      uses_(bins.features()),
      lists_{make_large_array<uint32_t>(bins.rows() + 1),
             make_large_array<uint32_t>(bins.rows() + 1)} {}

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

// Per position in features_; empty: all.
std::vector<uint8_t> Grower::allowed_features(const Leaf& leaf) const {
  if (rules_.columns_per_level >= 1.0 && rules_.columns_per_node >= 1.0) return {};
  const uint64_t level = draw_key(seed_, Draw::columns, tree_number_, 1);
  const uint64_t node = draw_key(seed_, Draw::columns, tree_number_, 2);
  std::vector<uint32_t> chosen =
      choose(positions_, rules_.columns_per_level, draw(level, static_cast<uint64_t>(leaf.depth)));
  chosen = choose(chosen, rules_.columns_per_node, draw(node, leaf.path));
  std::vector<uint8_t> allowed(positions_.size(), 0);
  for (const uint32_t position : chosen) allowed[position] = 1;
  return allowed;
}

// The root of a whole table has no list: its rows are all there are.
Rows Grower::rows_of(const Leaf& leaf) const {
  const bool whole = leaf.depth == 0 && !bagged_;
  return {whole ? nullptr : list_of(leaf), 0, leaf.rows()};
}

bool Grower::shared(const Leaf& leaf) const {
  return leaf.rows() * histograms_.groups() >= kSharedUpdates;
}

// A feature that leaves with as many rows as the table were split on gets a column.
void Grower::note_use(const Leaf& leaf) {
  FeatureUse& use = uses_[leaf.split.feature];
  use.rows += leaf.rows();
  if (!use.column && use.rows >= bins_.rows())
    use.column = bins_.extract(workers_, leaf.split.feature);
}

template <class Code>
FeatureCodes<Code> Grower::codes_of(uint32_t feature) const {
  const uint8_t* const column = uses_[feature].column.get();
  if (column == nullptr) return bins_.codes_of<Code>(feature);
  return {reinterpret_cast<const Code*>(column)};
}

// Lists the rows that go left at the front of the leaf's part of a list, the others behind them;
// the list is the leaf's own, or the other one. Sets where the children are.
void Grower::partition(Workers& team, const Leaf& leaf) {
  if (bins_.wide()) {
    partition_by(team, leaf, codes_of<uint16_t>(leaf.split.feature), kernels_.partition16,
                 kernels_.mark16);
  } else {
    partition_by(team, leaf, codes_of<uint8_t>(leaf.split.feature), kernels_.partition8,
                 kernels_.mark8);
  }
}

template <class Codes, class Partition, class Mark>
void Grower::partition_by(Workers& team, const Leaf& leaf, const Codes& codes, Partition partition,
                          Mark mark) {
  const Split& s = leaf.split;
  const Rows rows = rows_of(leaf);
  const size_t n = rows.n;
  const uint32_t missing = s.missing_left ? bins_.value_bins(s.feature) : kMissingRight;
  const auto children = [&](int list, size_t lefts) {
    Leaf &left = *leaf.left, &right = *leaf.right;
    left.list = right.list = list;
    left.begin = leaf.begin;
    left.end = right.begin = leaf.begin + lefts;
    right.end = leaf.end;
  };
  if (team.threads() == 1 || n < kParallelPartition) {
    uint32_t* const own = list_of(leaf);
    uint32_t* const aside = lists_[1 - leaf.list].get() + leaf.begin;
    const size_t lefts = partition(codes, rows, s.bin, missing, own, aside);
    std::memcpy(own + lefts, aside, (n - lefts) * sizeof(uint32_t));
    return children(leaf.list, lefts);
  }
  const size_t chunks = (n + kPartitionChunk - 1) / kPartitionChunk;
  const auto part = [&](size_t c) {
    const size_t begin = c * kPartitionChunk;
    return rows.part(begin, std::min(kPartitionChunk, n - begin));
  };
  marks_.resize(std::max(marks_.size(), (n + 7) / 8));
  const auto marks = [&](size_t c) { return marks_.data() + c * kPartitionChunk / 8; };
  std::vector<size_t> before(chunks + 1, 0);  // rows of earlier chunks that go left
  team.run(chunks,
           [&](size_t c, int) { before[c + 1] = mark(codes, part(c), s.bin, missing, marks(c)); });
  for (size_t c = 0; c < chunks; ++c) before[c + 1] += before[c];
  uint32_t* const left = lists_[1 - leaf.list].get() + leaf.begin;
  uint32_t* const right = left + before[chunks];
  team.run(chunks, [&](size_t c, int) {
    kernels_.distribute(part(c), marks(c), before[c + 1] - before[c], left + before[c],
                        right + c * kPartitionChunk - before[c]);
  });
  children(1 - leaf.list, before[chunks]);
}

void Grower::place_children(Workers& team, const Leaf& parent) {
  Leaf &left = *parent.left, &right = *parent.right;
  partition(team, parent);
  left.depth = right.depth = parent.depth + 1;
  left.path = draw(parent.path, 0);
  right.path = draw(parent.path, 1);
  left.word = parent.split.left_word;
  right.word = parent.word - left.word;
  if (weights_.weight() == nullptr) {
    left.count = static_cast<int64_t>(left.rows());
  } else {
    for (size_t i = 0; i < left.rows(); ++i) left.count += weights_[list_of(left)[i]];
  }
  right.count = parent.count - left.count;
}

// Finds the children of a leaf and their splits. Touches nothing but the leaf's part of the list,
// its slots, its children and the desk.
void Grower::expand(Workers& team, Desk* desk, Leaf* parent) {
  place_children(team, *parent);
  Leaf* small = parent->left->rows() <= parent->right->rows() ? parent->left : parent->right;
  Leaf* large = small == parent->left ? parent->right : parent->left;
  Leaf *built = nullptr, *rest = nullptr, *few[2] = {small, large};
  if (parent->hist >= 0 && large->rows() > finder_.few_rows()) {
    large->hist = parent->hist;
    rest = large;
    few[1] = nullptr;
    if (!finder_.splittable(*large) && !finder_.splittable(*small)) return;
    if (small->rows() * 4 <= finder_.few_rows()) {
      histograms_.remove(large->hist, rows_of(*small), *gradients_);
    } else {
      small->hist = parent->spare;
      built = small;
      few[0] = nullptr;
    }
  }
  search(team, desk, built, rest, few);
}

// The best splits of up to two leaves: one whose histogram is built from its rows, its sibling,
// whose histogram is still its parent's, or leaves of few rows.
void Grower::search(Workers& team, Desk* desk, Leaf* built, Leaf* rest, Leaf* few[2]) {
  Leaf* leaves[2] = {built != nullptr ? built : few[0], rest != nullptr ? rest : few[1]};
  SplitFinder::Search* of_groups[2] = {};
  SplitFinder::Search* of_rows[2] = {};
  size_t groups = 0, rows = 0;
  for (size_t i = 0; i < 2; ++i) {
    if (leaves[i] == nullptr || !finder_.splittable(*leaves[i])) continue;
    SplitFinder::Search& search = desk->searches[i];
    search.leaf = leaves[i];
    search.rows = rows_of(*leaves[i]);
    search.allowed = allowed_features(*leaves[i]);
    search.found.resize(features_.size());
    (leaves[i]->hist >= 0 ? of_groups[groups++] : of_rows[rows++]) = &search;
  }

  const bool together = histograms_.groups() <= kGroupBlock;  // all groups of a row at once
  Histograms::Parts parts;
  const bool parted = built != nullptr && together && team.threads() > 1 &&
                      built->rows() * histograms_.groups() >= kParallelUpdates;
  if (parted) parts = histograms_.add_in_parts(team, built->hist, rows_of(*built), *gradients_);

  const bool alone = team.threads() == 1 || histograms_.size() < kParallelBins;
  const auto pieces = static_cast<size_t>(2 * team.threads());
  const size_t block =
      alone ? kGroupBlock : std::min(kGroupBlock, (histograms_.groups() + pieces - 1) / pieces);
  const size_t blocks = groups > 0 || built != nullptr || rest != nullptr
                            ? (histograms_.groups() + block - 1) / block
                            : 0;
  const auto work = [&](size_t task, int worker) {
    if (task >= blocks) {
      Desk* const own = team.threads() == 1 ? desk : &desks_[static_cast<size_t>(worker)];
      finder_.scan_few_rows(of_rows[task - blocks], &own->scratch);
      return;
    }
    const size_t first = task * block, last = std::min(histograms_.groups(), first + block);
    if (built != nullptr && !parted)
      histograms_.add(built->hist, first, last, rows_of(*built), *gradients_);
    for (size_t group = first; group < last; ++group) {
      if (built != nullptr) {
        histograms_.merge(built->hist, group, parts);
        if (rest != nullptr) histograms_.subtract(rest->hist, built->hist, group);
        histograms_.finish(built->hist, group);
      }
      if (rest != nullptr) histograms_.finish(rest->hist, group);
      for (size_t i = 0; i < groups; ++i) finder_.scan_group(of_groups[i], group);
    }
  };
  if (alone && blocks <= 1) {
    for (size_t task = 0; task < blocks + rows; ++task) work(task, 0);
  } else {
    team.run(blocks + rows, work);
  }
  for (size_t i = 0; i < 2; ++i)
    if (leaves[i] != nullptr && finder_.splittable(*leaves[i]))
      leaves[i]->split = finder_.settle(&desk->searches[i], &desk->scratch);
}

// Expands the next leaf, and while it is at it, leaves behind it that will probably be taken too.
void Grower::expand_next(const Frontier& frontier, size_t splits_left) {
  std::vector<Leaf*> batch = {frontier.next()};
  if (workers_.threads() > 1 && !shared(*batch[0])) {
    const auto most = static_cast<size_t>(workers_.threads());
    size_t looked_at = 0, before = 0;
    for (Leaf* leaf : frontier) {
      if (batch.size() == most || ++looked_at > 4 * most || before + 1 >= splits_left) break;
      if (leaf->split.gain <= 0.0) continue;
      if (before++ > 0 && leaf->left == nullptr && !shared(*leaf)) batch.push_back(leaf);
    }
  }
  for (Leaf* leaf : batch) {
    leaf->left = &leaves_.emplace_back();
    leaf->right = &leaves_.emplace_back();
    if (leaf->hist >= 0) leaf->spare = histograms_.acquire();
    note_use(*leaf);
  }
  if (splits_left == 1) {
    place_children(workers_, *batch[0]);
  } else if (batch.size() == 1) {
    expand(workers_, desks_.data(), batch[0]);
  } else {
    workers_.run(batch.size(), [&](size_t i, int worker) {
      expand(alone_, &desks_[static_cast<size_t>(worker)], batch[i]);
    });
  }
  for (const Leaf* leaf : batch) {
    for (Leaf* child : {leaf->left, leaf->right})
      if (child->split.gain <= 0.0) child->hist = -1;  // nobody will look at it again
    for (const int slot : {leaf->hist, leaf->spare})
      if (slot >= 0 && leaf->left->hist != slot && leaf->right->hist != slot)
        histograms_.release(slot);
  }
}

void Grower::commit(const Leaf& parent, Tree* tree) {
  for (Leaf* child : {parent.left, parent.right})
    child->node =
        tree->add(finder_.value(child->word), static_cast<double>(child->count) / weights_.unit());
  const auto node = static_cast<size_t>(parent.node);
  const Split& s = parent.split;
  const auto& cuts = bins_.cuts(s.feature);
  tree->feature[node] = static_cast<int32_t>(s.feature);
  tree->bin[node] = s.bin;
  tree->threshold[node] =
      s.bin < cuts.size() ? cuts[s.bin] : std::numeric_limits<double>::infinity();
  tree->left[node] = parent.left->node;
  tree->right[node] = parent.right->node;
  tree->gain[node] = s.gain;
  // A feature that was never missing: at predict a missing value follows the heavier child.
  tree->missing_left[node] =
      bins_.has_missing(s.feature) ? s.missing_left : parent.left->count >= parent.right->count;
}

void Grower::retire(const Leaf& leaf) {
  uint32_t* const rows = list_of(leaf);
  if (leaf.left != nullptr)  // its turn never came: its rows in order again
    std::inplace_merge(rows, rows + leaf.left->rows(), rows + leaf.rows());
  if (leaf.depth == 0 && !bagged_)
    for (size_t i = 0; i < leaf.rows(); ++i) rows[i] = static_cast<uint32_t>(i);
  grown_leaves_.push_back({leaf.node, rows, leaf.rows()});
}

Leaf* Grower::start(const Gradients& gradients, const uint32_t* bag, size_t bag_size, Tree* tree) {
  bagged_ = bag != nullptr;
  bag_size_ = bagged_ ? bag_size : bins_.rows();
  if (bagged_) {
    bag_.assign(bag, bag + bag_size);
    bag_.push_back(std::numeric_limits<uint32_t>::max());  // no row: the list ends here
    std::memcpy(lists_[0].get(), bag, bag_size * sizeof(uint32_t));
  }
  grown_leaves_.clear();
  leaves_.clear();
  Leaf& root = leaves_.emplace_back();
  root.end = bag_size_;
  root.count = static_cast<int64_t>(bag_size_);
  root.word = gradients.total_word();
  const Rows rows = rows_of(root);
  if (weights_.weight() != nullptr) {
    root.count = 0;
    for (size_t i = 0; i < rows.n; ++i) root.count += weights_[rows[i]];
  }
  if (bagged_) {
    root.word = 0;
    for (size_t i = 0; i < rows.n; ++i) root.word += gradients.slots()[rows[i]].word;
  }
  root.node =
      tree->add(finder_.value(root.word), static_cast<double>(root.count) / weights_.unit());
  Leaf *built = nullptr, *few[2] = {&root, nullptr};
  if (bag_size_ > finder_.few_rows() && finder_.splittable(root)) {
    root.hist = histograms_.acquire();
    std::swap(built, few[0]);
  }
  search(workers_, desks_.data(), built, nullptr, few);
  return &root;
}

Tree Grower::grow(Gradients& gradients, const uint32_t* bag, size_t bag_size, uint64_t seed,
                  uint64_t tree_number) {
  seed_ = seed;
  tree_number_ = tree_number;
  gradients_ = &gradients;
  const Scales scales =
      gradients.pack(workers_, kernels_, weights_.weight(), weights_.whole(), weights_.total(),
                     draw_key(seed, Draw::rounding, tree_number));
  std::vector<uint32_t> all(bins_.features());
  for (size_t f = 0; f < all.size(); ++f) all[f] = static_cast<uint32_t>(f);
  features_ = choose(all, rules_.columns_per_tree, draw_key(seed, Draw::columns, tree_number));
  positions_.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(features_.size()));
  histograms_.use_features(features_);
  finder_.start_tree(scales, gradients, features_);

  Tree tree;
  tree.grower = this;
  tree.number = ++grown_;
  Frontier frontier(rules_.growth);
  frontier.push(start(gradients, bag, bag_size, &tree));
  for (size_t leaves = 1; !frontier.empty();) {
    Leaf* const leaf = frontier.next();
    if (leaf->split.gain <= 0.0 || (rules_.max_leaves > 0 && leaves >= rules_.max_leaves)) {
      frontier.pop();
      retire(*leaf);
      continue;
    }
    if (leaf->left == nullptr)
      expand_next(frontier, rules_.max_leaves > 0 ? rules_.max_leaves - leaves : SIZE_MAX);
    frontier.pop();
    commit(*leaf, &tree);
    ++leaves;
    frontier.push(leaf->left);
    frontier.push(leaf->right);
  }
  std::sort(grown_leaves_.begin(), grown_leaves_.end(),
            [](const GrownLeaf& a, const GrownLeaf& b) { return a.node < b.node; });
  return tree;
}

// Every leaf lists its rows in increasing order, so a thread can take a range of the table and add
// the values of all leaves to the scores in it, while they are in its cache and in no other's.
void Grower::add_to(double* score, const Tree& tree, const double* value) {
  const size_t n = bins_.rows();
  std::vector<const uint8_t*> columns;
  for (const FeatureUse& use : uses_) columns.push_back(use.column.get());
  workers_.run((n + kScoreRows - 1) / kScoreRows, [&](size_t chunk, int) {
    const size_t begin = chunk * kScoreRows, end = std::min(n, begin + kScoreRows);
    for (const GrownLeaf& leaf : grown_leaves_) {
      const double own = value[leaf.node];
      const uint32_t* const from = std::lower_bound(leaf.rows, leaf.rows + leaf.n, begin);
      const uint32_t* const to = std::lower_bound(from, leaf.rows + leaf.n, end);
#pragma GCC unroll 4
      for (const uint32_t* row = from; row < to; ++row) score[*row] += own;
    }
    if (!bagged_) return;
    std::vector<uint32_t> outside(end - begin + 1);
    size_t n_outside = 0;
    auto next = std::lower_bound(bag_.begin(), bag_.end(), begin);
    for (size_t row = begin; row < end; ++row) {
      const bool inside = *next == row;
      outside[n_outside] = static_cast<uint32_t>(row);
      n_outside += inside ? 0 : 1;
      next += inside ? 1 : 0;
    }
    outside.resize(n_outside);
    add_tree(kernels_, bins_, columns, tree, value, &outside, score);
  });
}

// summary(values, weights) of the residuals of every leaf; weights are empty if all are 1.
template <class Summary>
std::vector<double> Grower::per_leaf(const double* residual, const float* times, Summary summary) {
  std::vector<double> out(grown_leaves_.size(), 0.0);
  workers_.run(out.size(), [&](size_t i, int) {
    const GrownLeaf& leaf = grown_leaves_[i];
    std::vector<double> values, weight;
    values.reserve(leaf.n);
    for (size_t k = 0; k < leaf.n; ++k) {
      const uint32_t row = leaf.rows[k];
      values.push_back(residual[row]);
      if (weights_.weight() == nullptr && times == nullptr) continue;
      const double w = weights_.weight() == nullptr ? 1.0 : weights_.weight()[row];
      weight.push_back(times == nullptr ? w : w * static_cast<double>(times[row]));
    }
    out[i] = summary(&values, weight);
  });
  return out;
}

std::vector<double> Grower::leaf_quantiles(const double* residual, const float* times, double q) {
  const auto summary = [=](std::vector<double>* values, const std::vector<double>& weight) {
    return weighted_quantile(values, weight, q);
  };
  return per_leaf(residual, times, summary);
}

std::vector<double> Grower::leaf_huber_means(const double* residual, const float* times,
                                             double width) {
  const auto summary = [=](std::vector<double>* values, const std::vector<double>& weight) {
    std::vector<double> in_order(*values);  // the quantile reorders them
    const double middle = weighted_quantile(values, weight, 0.5);
    double sum = 0.0, total = 0.0;
    for (size_t i = 0; i < in_order.size(); ++i) {
      const double w = weight.empty() ? 1.0 : weight[i];
      sum += w * std::clamp(in_order[i] - middle, -width, width);
      total += w;
    }
    return total > 0.0 ? middle + sum / total : middle;
  };
  return per_leaf(residual, times, summary);
}

Grower::LeafSums Grower::leaf_sums(const Gradients& pairs) {
  const size_t n = grown_leaves_.size();
  const Planes& planes = histograms_.planes();
  LeafSums sums{std::vector<double>(n * planes.n, 0.0), std::vector<double>(n, 0.0)};
  workers_.run(n, [&](size_t i, int) {
    const GrownLeaf& leaf = grown_leaves_[i];
    std::vector<double> g(planes.n, 0.0);
    double h = 0.0;
    for (size_t k = 0; k < leaf.n; ++k) {
      const uint32_t row = leaf.rows[k];
      const double w = weights_.weight() == nullptr ? 1.0 : weights_.weight()[row];
      const size_t plane = planes.of_row == nullptr ? 0 : static_cast<size_t>(planes.of_row[row]);
      g[plane] += w * static_cast<double>(pairs.slots()[row].pair.gradient);
      h += w * static_cast<double>(pairs.slots()[row].pair.hessian);
    }
    std::copy(g.begin(), g.end(), sums.gradient.begin() + static_cast<ptrdiff_t>(i * planes.n));
    sums.hessian[i] = h;
  });
  return sums;
}

}  // namespace stagewise
