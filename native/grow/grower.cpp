#include "grow/grower.hpp"

#include <algorithm>
#include <atomic>

#include "core/random.hpp"
#include "grow/grow_by_policy.hpp"

namespace stagewise {
namespace {

constexpr size_t kSharedUpdates =
    200000;  // a leaf with at least this work is shared by all threads
constexpr size_t kScoreRows = kDescentRows;  // whose scores fit the second-level cache
constexpr size_t kLinearLeafRows = 4096;     // whose feature values fit it
constexpr size_t kCountedRows = 8192;        // whose weights a thread adds

}  // namespace

PackedGradientFinder& Grower::packed_finder() {
  if (auto* const classes = std::get_if<ClassFinder>(&finder_)) return *classes;
  return std::get<GradientFinder>(finder_);
}

bool Grower::shared(const Leaf& leaf) { return search().work(leaf) >= kSharedUpdates; }

// Adds the leaves of a split, without rows yet. Called by one thread, because leaves share the
// pool, the slots of histograms and the counts.
void Grower::add_children(Leaf* parent) {
  growing_.add_children(parent);
  histograms_.acquire_for_children(parent);
  rows_.count_use(*parent);
}

// The weight of some rows, in units of RowWeights.
int64_t Grower::count(Workers& team, const RowIndex& rows) const {
  if (weights_.all_one()) return static_cast<int64_t>(rows.n);
  std::atomic<int64_t> total{0};
  team.run((rows.n + kCountedRows - 1) / kCountedRows, [&](size_t chunk, int) {
    const size_t begin = chunk * kCountedRows;
    const RowIndex part = rows.part(begin, std::min(kCountedRows, rows.n - begin));
    int64_t sum = 0;
    for (size_t i = 0; i < part.n; ++i) sum += weights_[part[i]];
    total += sum;
  });
  return total;
}

void Grower::place_children(Workers& team, size_t worker, Leaf* leaf) {
  const Leaf& parent = *leaf;
  Leaf &left = *parent.left, &right = *parent.right;
  rows_.partition(team, parent, search().row_marks(worker));
  growing_.describe_children(parent);
  Leaf &smaller = left.rows() <= right.rows() ? left : right,
       &larger = &smaller == &left ? right : left;
  smaller.count = count(team, rows_.of(smaller));
  larger.count = parent.count - smaller.count;
  finder().set_child_sums(parent, rows_.of(left), rows_.of(right));
  growing_.complete_split(leaf);
}

// Finds the children of a leaf and their splits. Writes only to the rows of the leaf, its
// histograms, its children and the workspace of the thread, so that threads can expand different
// leaves.
void Grower::expand(Workers& team, size_t worker, Leaf* parent) {
  place_children(team, worker, parent);
  search().search_children(team, worker, parent);
}

// Expands the next leaf, and in parallel later leaves that will probably be split too.
void Grower::expand_next(const Frontier& frontier, size_t splits_left) {
  std::vector<Leaf*> batch = {frontier.next()};
  if (workers_.threads() > 1 && !shared(*batch[0]) && !constraints_.monotone()) {
    const auto most = static_cast<size_t>(workers_.threads());
    size_t looked_at = 0, before = 0;
    frontier.visit_next([&](Leaf* leaf) {
      if (batch.size() == most || ++looked_at > 4 * most || before + 1 >= splits_left) return false;
      if (!leaf->split.found()) return true;
      if (before++ > 0 && leaf->left == nullptr && !shared(*leaf)) batch.push_back(leaf);
      return true;
    });
  }
  for (Leaf* leaf : batch) add_children(leaf);
  if (splits_left == 1) {
    place_children(workers_, 0, batch[0]);
  } else if (batch.size() == 1) {
    expand(workers_, 0, batch[0]);
  } else {
    workers_.run(batch.size(), [&](size_t i, int worker) {
      expand(alone_, static_cast<size_t>(worker), batch[i]);
    });
  }
  for (const Leaf* leaf : batch) histograms_.release_unused(*leaf);
}

void Grower::finish_leaf(const Leaf& leaf) {
  grown_leaves_.push_back({leaf.node, {rows_.finish(leaf), leaf.rows()}, &leaf});
}

Leaf* Grower::start(Bag bag, Tree* tree) {
  rows_.start_tree(bag);
  grown_leaves_.clear();
  Leaf& root = *growing_.start();
  root.end = rows_.size();
  const RowIndex rows = rows_.of(root);
  if (rows_.bagged()) {
    root.count = count(workers_, rows);
  } else {
    if (all_count_ < 0) all_count_ = count(workers_, rows);
    root.count = all_count_;
  }
  finder().set_root_sums(rows, !rows_.bagged(), &root);
  root.node = growing_.add_node(root, tree);
  search().start_tree(workers_, &root);
  return &root;
}

Tree Grower::grow(Gradients& gradients, Bag bag, uint64_t seed, uint64_t tree_number) {
  const double dispersion = categorical_ ? gradients.dispersion(workers_, weights_.data()) : 0.0;
  // With a bound of the hessians, fewer rows must be counted.
  if (rules_.hessian_bound == 0.0 && rules_.min_samples_leaf > 1.0)
    gradients.find_largest_hessian(workers_);
  const Scales scales =
      gradients.pack(workers_, kernels_, weights_.data(), weights_.whole(), weights_.total(),
                     draw_key(seed, Draw::rounding, tree_number), rules_.grow_until_pure);
  sampler_.start_tree(seed, tree_number);
  packed_finder().start_tree(scales, gradients, sampler_.features(),
                             draw_key(seed, Draw::thresholds, tree_number), dispersion);
  Tree tree = grow_tree(bag);
  packed_finder().add_used_features(tree.feature);
  return tree;
}

Tree Grower::grow(VectorGradients& gradients, Bag bag, uint64_t seed, uint64_t tree_number) {
  const double dispersion = categorical_ ? gradients.dispersion(workers_, weights_.data()) : 0.0;
  auto& vectors = std::get<VectorFinder>(finder_);
  gradients.pack(workers_, kernels_, weights_, vectors.counted(), [&](size_t output) {
    return draw_key(seed, Draw::rounding, tree_number * gradients.outputs() + output);
  });
  sampler_.start_tree(seed, tree_number);
  vectors.start_tree(gradients, sampler_.features(), draw_key(seed, Draw::thresholds, tree_number),
                     dispersion);
  return grow_tree(bag);
}

Tree Grower::grow(Bag bag, uint64_t seed, uint64_t tree_number) {
  sampler_.start_tree(seed, tree_number);
  const uint64_t key = draw_key(seed, Draw::thresholds, tree_number);
  if (auto* const impurity = std::get_if<ImpurityFinder>(&finder_)) {
    impurity->start_tree(sampler_.features(), key);
  } else {
    std::get<MedianFinder>(finder_).start_tree(sampler_.features(), key);
  }
  return grow_tree(bag);
}

Tree Grower::grow_tree(Bag bag) {
  Tree tree;
  tree.grower = this;
  tree.number = ++grown_;
  tree.outputs = std::max<size_t>(1, outputs());
  Leaf* const root = start(bag, &tree);
  if (DepthSearch* const common = depth_search()) {
    grow_symmetric(*common, root, &tree);
  } else {
    grow_by_policy(
        rules_, growing_, root, &tree, [&](Leaf* leaf) { search().search_again(workers_, leaf); },
        [&](const Frontier& frontier, size_t left) { expand_next(frontier, left); },
        [&](const Leaf& leaf) { finish_leaf(leaf); });
  }
  std::sort(grown_leaves_.begin(), grown_leaves_.end(),
            [](const GrownLeaf& a, const GrownLeaf& b) { return a.node < b.node; });
  return tree;
}

bool Grower::may_split_level(int depth, size_t leaves) const {
  return (rules_.max_depth == 0 || depth < rules_.max_depth) &&
         (rules_.max_leaves == 0 || 2 * leaves <= rules_.max_leaves);
}

// Splits all leaves of a depth by one split, while max_leaves permits twice as many leaves.
void Grower::grow_symmetric(DepthSearch& search, Leaf* root, Tree* tree) {
  std::vector<Leaf*> level = {root};
  for (int depth = 0; may_split_level(depth, level.size()); ++depth) {
    if (std::none_of(level.begin(), level.end(),
                     [&](const Leaf* leaf) { return finder().splittable(*leaf); }))
      break;
    if (!search.split_level(workers_, level)) break;
    const auto splits = std::count_if(level.begin(), level.end(),
                                      [](const Leaf* leaf) { return leaf->split.found(); });
    const bool more = may_split_level(depth + 1, level.size() + static_cast<size_t>(splits));
    std::vector<Leaf*> next;
    for (Leaf* leaf : level) {
      if (!more) histograms_.release(leaf);
      if (!leaf->split.found()) {
        next.push_back(leaf);
        continue;
      }
      add_children(leaf);
      place_children(workers_, 0, leaf);
      if (more) search.build_child_histograms(workers_, leaf);
      growing_.commit(*leaf, tree);
      next.push_back(leaf->left);
      next.push_back(leaf->right);
    }
    level = std::move(next);
  }
  for (const Leaf* leaf : level) finish_leaf(*leaf);
  if (!constraints_.monotone()) return;
  std::vector<double> values;
  for (const GrownLeaf& leaf : grown_leaves_) values.push_back(leaf.leaf->value);
  values = enforce_monotone(values);
  for (size_t i = 0; i < values.size(); ++i)
    tree->value[static_cast<size_t>(grown_leaves_[i].node)] = values[i];
}

// The rows of every leaf are increasing, so a thread can take a range of the table and add the
// values of all leaves to its scores while they are in its cache.
void Grower::add_scores(const ScoreUpdate& scores, const Tree& tree) {
  const size_t n = bins_.rows();
  const std::vector<const uint8_t*> columns = rows_.columns();
  const size_t range = scores.linear_leaves != nullptr ? kLinearLeafRows : kScoreRows;
  workers_.run((n + range - 1) / range, [&](size_t chunk, int) {
    const size_t begin = chunk * range, end = std::min(n, begin + range);
    for (const GrownLeaf& leaf : grown_leaves_) {
      const uint32_t* const from =
          std::lower_bound(leaf.rows.data(), leaf.rows.data() + leaf.rows.size(), begin);
      const uint32_t* const to = std::lower_bound(from, leaf.rows.data() + leaf.rows.size(), end);
      scores.add(static_cast<size_t>(leaf.node), from, to);
    }
    if (!rows_.bagged()) return;
    const std::vector<uint32_t>& bag = rows_.bag();
    std::vector<uint32_t> outside(end - begin + 1);
    size_t n_outside = 0;
    auto next = std::lower_bound(bag.begin(), bag.end(), begin);
    for (size_t row = begin; row < end; ++row) {
      const bool inside = next != bag.end() && *next == row;
      outside[n_outside] = static_cast<uint32_t>(row);
      n_outside += inside ? 0 : 1;
      next += inside ? 1 : 0;
    }
    outside.resize(n_outside);
    add_tree(kernels_, bins_, columns, tree, scores, &outside);
  });
}

std::vector<Region> Grower::leaf_regions() const {
  std::vector<Region> regions;
  for (const GrownLeaf& leaf : grown_leaves_) regions.push_back(leaf.leaf->region);
  return regions;
}

LinearLeafFits Grower::fit_linear_leaves(const Tree& tree, const Columns& table,
                                         const Gradients& pairs, double l2, double bound) const {
  return stagewise::fit_linear_leaves({workers_, kernels_, bins_, weights_, constraints_,
                                       std::get<GradientFinder>(finder_), grown_leaves_, tree,
                                       table, pairs, l2, bound});
}

std::vector<double> Grower::enforce_monotone(const std::vector<double>& values) const {
  if (!constraints_.monotone()) return values;
  return stagewise::enforce_monotone(constraints_, leaf_regions(), values);
}

std::vector<Bounds> Grower::monotone_bounds(const std::vector<double>& values) const {
  if (!constraints_.monotone()) return std::vector<Bounds>(values.size());
  return stagewise::monotone_bounds(constraints_, leaf_regions(), values);
}

}  // namespace stagewise
