#include "grow/grower.hpp"

#include <algorithm>

#include "core/interrupt.hpp"
#include "core/random.hpp"
#include "grow/search/histogram_search.hpp"
#include "grow/search/presorted_gradient_search.hpp"

namespace stagewise {
namespace {

constexpr size_t kSharedUpdates = 200000;    // a leaf with as many is worked on by all threads
constexpr size_t kScoreRows = kDescentRows;  // of which the scores stay in the second-level cache
constexpr double kShareOfHistograms = 0.5;
constexpr size_t kLinearLeafRows = 4096;  // and of which the values do

}  // namespace

Grower::Grower(Workers& workers, const Kernels& kernels, const Bins& bins, const double* weight,
               const TreeRules& rules, const int32_t* class_of, size_t classes, size_t outputs,
               const double* target)
    : workers_(workers),
      kernels_(kernels),
      bins_(bins),
      rules_(rules),
      weights_(weight, bins.rows()),
      constraints_(bins, rules_.constraints),
      sampler_(bins, rules_, constraints_),
      rows_(workers, kernels, bins),
      histograms_(bins, kernels, class_of, classes,
                  outputs == 0 ? 1 : vector_lanes(outputs, rows_counted(rules_, weights_))),
      finder_(make_finder(outputs, target)),
      workspaces_(static_cast<size_t>(workers.threads()), Workspace(bins, histograms_.lanes())),
      search_(make_search()) {
  // Alone, with few columns a node, what is read of these is less than what histograms are of all.
  if (workers.threads() == 1 && !bins.sparse() && sampler_.share_of_node() < kShareOfHistograms)
    set_few_rows(SIZE_MAX);
  for (size_t f = 0; f < bins.features(); ++f)
    categorical_ = categorical_ || bins.coding(f).categorical();
}

std::unique_ptr<Finder> Grower::make_finder(size_t outputs, const double* target) {
  if (target != nullptr) {
    auto medians = std::make_unique<MedianFinder>(bins_, rules_, weights_, target);
    medians_ = medians.get();
    return medians;
  }
  if (outputs > 0) {
    auto vectors =
        std::make_unique<VectorFinder>(bins_, kernels_, rules_, weights_, histograms_, outputs);
    vectors_ = vectors.get();
    return vectors;
  }
  if (histograms_.planes().of_row != nullptr) {
    auto classes = std::make_unique<ClassFinder>(bins_, kernels_, rules_, weights_, histograms_);
    words_ = classes.get();
    return classes;
  }
  auto numbers = std::make_unique<GradientFinder>(bins_, kernels_, rules_, weights_, histograms_);
  words_ = numbers_ = numbers.get();
  return numbers;
}

std::unique_ptr<NodeSearch> Grower::make_search() {
  if (bins_.ranked() && numbers_ != nullptr)
    return std::make_unique<PresortedGradientSearch>(*numbers_, rows_, sampler_, workspaces_, bins_,
                                                     weights_, rules_.proposal);
  if (bins_.ranked())
    return std::make_unique<PresortedSearch>(*finder_, rows_, sampler_, workspaces_, bins_);
  if (rules_.grow_policy == GrowthPolicy::symmetric) {
    auto symmetric = std::make_unique<SymmetricSearch>(*numbers_, rows_, sampler_, workspaces_,
                                                       histograms_, bins_);
    symmetric_ = symmetric.get();
    return symmetric;
  }
  return std::make_unique<HistogramSearch>(*finder_, rows_, sampler_, workspaces_, histograms_);
}

bool Grower::shared(const Leaf& leaf) const { return search_->work(leaf) >= kSharedUpdates; }

// Whatever new rows go by, so that regions and the tree have it from one place.
void Grower::complete_split(Leaf* parent) const {
  Split& split = parent->split;
  if (split.right_bins.empty())
    split.threshold = bins_.coding(split.feature).threshold(split.bin, split.next_bin);
  if (!bins_.has_missing(split.feature))
    split.missing_left = parent->left->count >= parent->right->count;
}

void Grower::place_children(Workers& team, Workspace* workspace, Leaf* leaf) {
  const Leaf& parent = *leaf;
  Leaf &left = *parent.left, &right = *parent.right;
  rows_.partition(team, parent, &workspace->scratch.row_marks);
  left.depth = right.depth = parent.depth + 1;
  left.parent = right.parent = &parent;
  left.path = draw(parent.path, 0);
  right.path = draw(parent.path, 1);
  if (weights_.weight() == nullptr) {
    left.count = static_cast<int64_t>(left.rows());
  } else {
    for (size_t i = 0; i < left.rows(); ++i) left.count += weights_[rows_.list_of(left)[i]];
  }
  right.count = parent.count - left.count;
  if (parent.forced_split >= 0) {
    left.forced_split = rules_.forced_splits[static_cast<size_t>(parent.forced_split)].left;
    right.forced_split = rules_.forced_splits[static_cast<size_t>(parent.forced_split)].right;
  }
  finder_->set_child_sums(parent, rows_.of(left), rows_.of(right));
  complete_split(leaf);
  if (constraints_.monotone() || constraints_.groups()) constrain_children(parent);
}

// Where the children are, and between which values those of their own children must lie.
void Grower::constrain_children(const Leaf& parent) {
  for (Leaf* child : {parent.left, parent.right})
    child->region = constraints_.child(parent.region, parent.split, child == parent.left);
  if (!constraints_.monotone() || symmetric_ != nullptr)
    return;  // levels are put in order at the end
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

// Whether the leaf's split still holds, now that leaves around it may have other values, and if it
// was to be forced, could be; if not, it gets another one.
bool Grower::split_still_valid(Leaf* leaf) {
  const Bounds now = constraints_.monotone() ? bounds_of(*leaf) : leaf->bounds;
  const bool failed = leaf->forced_split >= 0 && !leaf->split.found();
  if (now == leaf->bounds && !failed) return true;
  if (failed) leaf->forced_split = -1;
  leaf->bounds = now;
  leaf->split = {};
  search_->again(workers_, leaf);
  return false;
}

// Finds the children of a leaf and their splits. Touches nothing but the leaf's part of the lists,
// its slots, its children and the desk.
void Grower::expand(Workers& team, Workspace* workspace, Leaf* parent) {
  place_children(team, workspace, parent);
  search_->children(team, workspace, parent);
}

// Expands the next leaf, and while it is at it, leaves behind it that will probably be taken too.
void Grower::expand_next(const Frontier& frontier, size_t splits_left) {
  std::vector<Leaf*> batch = {frontier.next()};
  if (workers_.threads() > 1 && !shared(*batch[0]) && !constraints_.monotone()) {
    const auto most = static_cast<size_t>(workers_.threads());
    size_t looked_at = 0, before = 0;
    frontier.look_ahead([&](Leaf* leaf) {
      if (batch.size() == most || ++looked_at > 4 * most || before + 1 >= splits_left) return false;
      if (!leaf->split.found()) return true;
      if (before++ > 0 && leaf->left == nullptr && !shared(*leaf)) batch.push_back(leaf);
      return true;
    });
  }
  for (Leaf* leaf : batch) {
    leaf->left = leaves_.add();
    leaf->right = leaves_.add();
    search_->before(leaf);
    rows_.count_use(*leaf);
  }
  if (splits_left == 1) {
    place_children(workers_, workspaces_.data(), batch[0]);
  } else if (batch.size() == 1) {
    expand(workers_, workspaces_.data(), batch[0]);
  } else {
    workers_.run(batch.size(), [&](size_t i, int worker) {
      expand(alone_, &workspaces_[static_cast<size_t>(worker)], batch[i]);
    });
  }
  for (const Leaf* leaf : batch) search_->after(*leaf);
}

int32_t Grower::add_node(const Leaf& leaf, Tree* tree) const {
  return tree->add(vectors_ != nullptr ? leaf.values.data() : &leaf.value,
                   static_cast<double>(leaf.count) / weights_.unit());
}

void Grower::commit(const Leaf& parent, Tree* tree) {
  for (Leaf* child : {parent.left, parent.right}) child->node = add_node(*child, tree);
  const auto node = static_cast<size_t>(parent.node);
  const Split& s = parent.split;
  tree->feature[node] = static_cast<int32_t>(s.feature);
  if (s.right_bins.empty()) {
    tree->threshold[node] = s.threshold;
    // Between two values of the bag there may be values of other rows; they go by the threshold.
    tree->bin[node] = bins_.ranked() ? bins_.coding(s.feature).code_below(s.threshold) : s.bin;
  } else {
    write_category_set(s, node, tree);
  }
  tree->left[node] = parent.left->node;
  tree->right[node] = parent.right->node;
  tree->gain[node] = s.gain;
  finder_->count_use(s.feature);
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
  grown_leaves_.push_back({leaf.node, rows_.finish(leaf), leaf.rows(), &leaf});
}

Leaf* Grower::start(const uint32_t* bag, size_t bag_size, Tree* tree) {
  rows_.start_tree(bag, bag_size);
  grown_leaves_.clear();
  leaves_.clear();
  Leaf& root = *leaves_.add();
  root.end = rows_.size();
  root.count = static_cast<int64_t>(rows_.size());
  const RowIndex rows = rows_.of(root);
  if (weights_.weight() != nullptr) {
    root.count = 0;
    for (size_t i = 0; i < rows.n; ++i) root.count += weights_[rows[i]];
  }
  finder_->set_root_sums(rows, !rows_.bagged(), &root);
  root.forced_split = rules_.forced_splits.empty() ? -1 : 0;
  root.node = add_node(root, tree);
  current_leaves_.assign(1, &root);
  search_->start_tree(workers_);
  search_->root(workers_, &root);
  return &root;
}

Tree Grower::grow(Gradients& gradients, const uint32_t* bag, size_t bag_size, uint64_t seed,
                  uint64_t tree_number) {
  const double dispersion = categorical_ ? gradients.dispersion(workers_, weights_.weight()) : 0.0;
  // A bound that the loss cannot give: it spares counting rows.
  if (rules_.hessian_bound == 0.0 && rules_.min_samples_leaf > 1.0)
    gradients.find_largest_hessian(workers_);
  const Scales scales =
      gradients.pack(workers_, kernels_, weights_.weight(), weights_.whole(), weights_.total(),
                     draw_key(seed, Draw::rounding, tree_number), rules_.grow_until_pure);
  sampler_.start_tree(seed, tree_number);
  words_->start_tree(scales, gradients, sampler_.features(),
                     draw_key(seed, Draw::thresholds, tree_number), dispersion);
  return grow_tree(bag, bag_size);
}

Tree Grower::grow(VectorGradients& gradients, const uint32_t* bag, size_t bag_size, uint64_t seed,
                  uint64_t tree_number) {
  const double dispersion = categorical_ ? gradients.dispersion(workers_, weights_.weight()) : 0.0;
  gradients.pack(workers_, kernels_, weights_, vectors_->counted(), [&](size_t output) {
    return draw_key(seed, Draw::rounding, tree_number * gradients.outputs() + output);
  });
  sampler_.start_tree(seed, tree_number);
  vectors_->start_tree(gradients, sampler_.features(), dispersion);
  return grow_tree(bag, bag_size);
}

Tree Grower::grow(const uint32_t* bag, size_t bag_size, uint64_t seed, uint64_t tree_number) {
  sampler_.start_tree(seed, tree_number);
  medians_->start_tree(sampler_.features(), draw_key(seed, Draw::thresholds, tree_number));
  return grow_tree(bag, bag_size);
}

Tree Grower::grow_tree(const uint32_t* bag, size_t bag_size) {
  Tree tree;
  tree.grower = this;
  tree.number = ++grown_;
  tree.outputs = std::max<size_t>(1, outputs());
  Leaf* const root = start(bag, bag_size, &tree);
  if (symmetric_ != nullptr) {
    grow_symmetric(root, &tree);
  } else {
    grow_by_policy(root, &tree);
  }
  std::sort(grown_leaves_.begin(), grown_leaves_.end(),
            [](const GrownLeaf& a, const GrownLeaf& b) { return a.node < b.node; });
  return tree;
}

// All leaves of a level by one split, as long as there is room for twice as many.
void Grower::grow_symmetric(Leaf* root, Tree* tree) {
  std::vector<Leaf*> level = {root};
  for (int depth = 0; rules_.max_depth == 0 || depth < rules_.max_depth; ++depth) {
    if (rules_.max_leaves > 0 && 2 * level.size() > rules_.max_leaves) break;
    if (std::none_of(level.begin(), level.end(),
                     [&](const Leaf* leaf) { return finder_->splittable(*leaf); }))
      break;
    if (!symmetric_->split_level(workers_, level)) break;
    std::vector<Leaf*> next;
    for (Leaf* leaf : level) {
      if (!leaf->split.found()) {
        next.push_back(leaf);
        continue;
      }
      leaf->left = leaves_.add();
      leaf->right = leaves_.add();
      search_->before(leaf);
      rows_.count_use(*leaf);
      expand(workers_, workspaces_.data(), leaf);
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

// Every leaf lists its rows in increasing order, so a thread can take a range of the table and add
// the values of all leaves to the scores in it, while they are in its cache and in no other's.
void Grower::add_scores(const ScoreUpdate& scores, const Tree& tree) {
  const size_t n = bins_.rows();
  const std::vector<const uint8_t*> columns = rows_.columns();
  const size_t range = scores.linear_leaves != nullptr ? kLinearLeafRows : kScoreRows;
  workers_.run((n + range - 1) / range, [&](size_t chunk, int) {
    const size_t begin = chunk * range, end = std::min(n, begin + range);
    for (const GrownLeaf& leaf : grown_leaves_) {
      const uint32_t* const from = std::lower_bound(leaf.rows, leaf.rows + leaf.n, begin);
      const uint32_t* const to = std::lower_bound(from, leaf.rows + leaf.n, end);
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

std::vector<double> Grower::enforce_monotone(const std::vector<double>& values) const {
  if (!constraints_.monotone()) return values;
  std::vector<Region> regions;
  for (const GrownLeaf& leaf : grown_leaves_) regions.push_back(leaf.leaf->region);
  return stagewise::enforce_monotone(constraints_, regions, values);
}

std::vector<Bounds> Grower::monotone_bounds(const std::vector<double>& values) const {
  if (!constraints_.monotone()) return std::vector<Bounds>(values.size());
  std::vector<Region> regions;
  for (const GrownLeaf& leaf : grown_leaves_) regions.push_back(leaf.leaf->region);
  return stagewise::monotone_bounds(constraints_, regions, values);
}

}  // namespace stagewise
