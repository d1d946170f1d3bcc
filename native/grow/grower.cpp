#include "grow/grower.hpp"

#include <algorithm>

#include "core/interrupt.hpp"
#include "core/random.hpp"

namespace stagewise {
namespace {

constexpr size_t kSharedUpdates =
    200000;  // a leaf with at least this work is shared by all threads
constexpr size_t kScoreRows = kDescentRows;  // whose scores fit the second-level cache
constexpr size_t kLinearLeafRows = 4096;     // whose feature values fit it

}  // namespace

PackedGradientFinder& Grower::packed_finder() {
  if (auto* const classes = std::get_if<ClassFinder>(&finder_)) return *classes;
  return std::get<GradientFinder>(finder_);
}

bool Grower::shared(const Leaf& leaf) { return search().work(leaf) >= kSharedUpdates; }

// Sets what new rows are split by: the threshold and the side of missing values.
void Grower::complete_split(Leaf* parent) const {
  Split& split = parent->split;
  if (split.right_bins.empty())
    split.threshold = bins_.coding(split.feature).threshold(split.bin, split.next_bin);
  if (!bins_.has_missing(split.feature))
    split.missing_left = parent->left->count >= parent->right->count;
}

// Adds the leaves of a split, without rows yet. Called by one thread, because leaves share the
// pool, the slots of histograms and the counts.
void Grower::add_children(Leaf* parent) {
  parent->left = leaves_.add();
  parent->right = leaves_.add();
  histograms_.acquire_for_children(parent);
  rows_.count_use(*parent);
}

void Grower::place_children(Workers& team, size_t worker, Leaf* leaf) {
  const Leaf& parent = *leaf;
  Leaf &left = *parent.left, &right = *parent.right;
  rows_.partition(team, parent, search().row_marks(worker));
  left.depth = right.depth = parent.depth + 1;
  left.parent = right.parent = &parent;
  left.path = draw(parent.path, 0);
  right.path = draw(parent.path, 1);
  if (weights_.all_one()) {
    left.count = static_cast<int64_t>(left.rows());
  } else {
    for (size_t i = 0; i < left.rows(); ++i) left.count += weights_[rows_.list_of(left)[i]];
  }
  right.count = parent.count - left.count;
  if (parent.forced_split >= 0) {
    left.forced_split = rules_.forced_splits[static_cast<size_t>(parent.forced_split)].left;
    right.forced_split = rules_.forced_splits[static_cast<size_t>(parent.forced_split)].right;
  }
  finder().set_child_sums(parent, rows_.of(left), rows_.of(right));
  complete_split(leaf);
  if (constraints_.monotone() || constraints_.groups()) constrain_children(parent);
}

// Sets the regions of the children, and the bounds of the values of their children.
void Grower::constrain_children(const Leaf& parent) {
  for (Leaf* child : {parent.left, parent.right})
    child->region = constraints_.child(parent.region, parent.split, child == parent.left);
  if (!constraints_.monotone() || depth_search() != nullptr)
    return;  // symmetric trees are made monotone at the end
  std::erase(current_leaves_, &parent);
  current_leaves_.push_back(parent.left);
  current_leaves_.push_back(parent.right);
  for (Leaf* child : {parent.left, parent.right}) child->bounds = bounds_of(*child);
}

Bounds Grower::bounds_of(const Leaf& leaf) const {
  Bounds bounds;
  for (const Leaf* other : current_leaves_) {
    if (other == &leaf) continue;
    if (constraints_.below(other->region, leaf.region))
      bounds.low = std::max(bounds.low, other->value);
    if (constraints_.below(leaf.region, other->region))
      bounds.high = std::min(bounds.high, other->value);
  }
  return bounds;
}

// Whether the split of the leaf is valid: its monotone bounds have not changed, and a forced split
// was possible. If not, the leaf is searched again.
bool Grower::split_still_valid(Leaf* leaf) {
  const Bounds now = constraints_.monotone() ? bounds_of(*leaf) : leaf->bounds;
  const bool failed = leaf->forced_split >= 0 && !leaf->split.found();
  if (now == leaf->bounds && !failed) return true;
  if (failed) leaf->forced_split = -1;
  leaf->bounds = now;
  leaf->split = {};
  search().search_again(workers_, leaf);
  return false;
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

int32_t Grower::add_node(const Leaf& leaf, Tree* tree) const {
  return tree->add(std::holds_alternative<VectorFinder>(finder_) ? leaf.values.data() : &leaf.value,
                   static_cast<double>(leaf.count) / weights_.unit());
}

void Grower::commit(const Leaf& parent, Tree* tree) const {
  for (Leaf* child : {parent.left, parent.right}) child->node = add_node(*child, tree);
  const auto node = static_cast<size_t>(parent.node);
  const Split& s = parent.split;
  tree->feature[node] = static_cast<int32_t>(s.feature);
  if (s.right_bins.empty()) {
    tree->threshold[node] = s.threshold;
    // Rows outside the bag may have values between two values of the bag: the threshold decides.
    tree->bin[node] = bins_.ranked() ? bins_.coding(s.feature).code_below(s.threshold) : s.bin;
  } else {
    write_category_set(s, node, tree);
  }
  tree->left[node] = parent.left->node;
  tree->right[node] = parent.right->node;
  tree->gain[node] = s.gain;
  tree->missing_left[node] = s.missing_left;
}

void Grower::write_category_set(const Split& split, size_t node, Tree* tree) const {
  const FeatureCoding& coding = bins_.coding(split.feature);
  const size_t start = tree->sets.size();
  tree->set_start[node] = static_cast<int32_t>(start);
  tree->n_categories.resize(bins_.features(), 0);
  tree->n_categories[split.feature] = coding.n_categories();
  tree->sets.resize(start + category_set_words(coding.n_categories()), 0);
  for (size_t category = 0; category < coding.category_bin.size(); ++category)
    if (split.right_bins[coding.category_bin[category]] == 0)
      tree->sets[start + category / 64] |= 1ull << (category % 64);
}

void Grower::finish_leaf(const Leaf& leaf) {
  grown_leaves_.push_back({leaf.node, {rows_.finish(leaf), leaf.rows()}, &leaf});
}

Leaf* Grower::start(Bag bag, Tree* tree) {
  rows_.start_tree(bag);
  grown_leaves_.clear();
  leaves_.clear();
  Leaf& root = *leaves_.add();
  root.end = rows_.size();
  root.count = static_cast<int64_t>(rows_.size());
  const RowIndex rows = rows_.of(root);
  if (!weights_.all_one()) {
    root.count = 0;
    for (size_t i = 0; i < rows.n; ++i) root.count += weights_[rows[i]];
  }
  finder().set_root_sums(rows, !rows_.bagged(), &root);
  root.forced_split = rules_.forced_splits.empty() ? -1 : 0;
  root.node = add_node(root, tree);
  current_leaves_.assign(1, &root);
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
  std::get<MedianFinder>(finder_).start_tree(sampler_.features(),
                                             draw_key(seed, Draw::thresholds, tree_number));
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
    grow_by_policy(root, &tree);
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
      commit(*leaf, tree);
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

void Grower::grow_by_policy(Leaf* root, Tree* tree) {
  Frontier frontier(rules_.grow_policy);
  frontier.push(root);
  for (size_t leaves = 1; !frontier.empty();) {
    check_interrupt();
    Leaf* const leaf = frontier.next();
    const bool full = rules_.max_leaves > 0 && leaves >= rules_.max_leaves;
    if (!full && !split_still_valid(leaf)) {
      frontier.pop();
      frontier.push(leaf);
      continue;
    }
    if (full || !leaf->split.found()) {
      frontier.pop();
      finish_leaf(*leaf);
      continue;
    }
    if (leaf->left == nullptr)
      expand_next(frontier, rules_.max_leaves > 0 ? rules_.max_leaves - leaves : SIZE_MAX);
    frontier.pop();
    commit(*leaf, tree);
    ++leaves;
    frontier.push(leaf->left);
    frontier.push(leaf->right);
  }
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
