#include "grow/growing_tree.hpp"

#include <algorithm>

#include "core/random.hpp"

namespace stagewise {

Leaf* GrowingTree::start() {
  leaves_->clear();
  Leaf* const root = leaves_->add();
  root->forced_split = rules_.forced_splits.empty() ? -1 : 0;
  current_leaves_.assign(1, root);
  return root;
}

void GrowingTree::add_children(Leaf* parent) {
  parent->left = leaves_->add();
  parent->right = leaves_->add();
}

void GrowingTree::describe_children(const Leaf& parent) const {
  Leaf &left = *parent.left, &right = *parent.right;
  left.depth = right.depth = parent.depth + 1;
  left.parent = right.parent = &parent;
  left.path = draw(parent.path, 0);
  right.path = draw(parent.path, 1);
  if (parent.forced_split < 0) return;
  left.forced_split = rules_.forced_splits[static_cast<size_t>(parent.forced_split)].left;
  right.forced_split = rules_.forced_splits[static_cast<size_t>(parent.forced_split)].right;
}

void GrowingTree::complete_split(Leaf* parent) {
  Split& split = parent->split;
  if (split.right_bins.empty())
    split.threshold = bins_.coding(split.feature).threshold(split.bin, split.next_bin);
  if (!bins_.has_missing(split.feature))
    split.missing_left = parent->left->count >= parent->right->count;
  if (constraints_.monotone() || constraints_.groups()) constrain_children(*parent);
}

// Sets the regions of the children, and the bounds of the values of their children.
void GrowingTree::constrain_children(const Leaf& parent) {
  if (constraints_.midpoint_bounds()) {
    divide_bounds(parent);
    return;
  }
  for (Leaf* child : {parent.left, parent.right})
    child->region = constraints_.child(parent.region, parent.split, child == parent.left);
  if (!constraints_.monotone() || rules_.grow_policy == GrowthPolicy::symmetric)
    return;  // symmetric trees are made monotone at the end
  std::erase(current_leaves_, &parent);
  current_leaves_.push_back(parent.left);
  current_leaves_.push_back(parent.right);
  for (Leaf* child : {parent.left, parent.right}) child->bounds = bounds_of(*child);
}

void GrowingTree::divide_bounds(const Leaf& parent) const {
  Leaf &left = *parent.left, &right = *parent.right;
  left.bounds = right.bounds = parent.bounds;
  const int direction = constraints_.direction(parent.split.feature);
  if (direction == 0) return;
  const double middle = left.value / 2 + right.value / 2;
  (direction > 0 ? left : right).bounds.high = middle;
  (direction > 0 ? right : left).bounds.low = middle;
}

Bounds GrowingTree::bounds_of(const Leaf& leaf) const {
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

bool GrowingTree::keep_split(Leaf* leaf) const {
  const bool may_change = constraints_.monotone() && !constraints_.midpoint_bounds();
  const Bounds now = may_change ? bounds_of(*leaf) : leaf->bounds;
  const bool failed = leaf->forced_split >= 0 && !leaf->split.found();
  if (now == leaf->bounds && !failed) return true;
  if (failed) leaf->forced_split = -1;
  leaf->bounds = now;
  leaf->split = {};
  return false;
}

int32_t GrowingTree::add_node(const Leaf& leaf, Tree* tree) const {
  return tree->add(leaf.values.empty() ? &leaf.value : leaf.values.data(),
                   static_cast<double>(leaf.count) / unit_);
}

void GrowingTree::commit(const Leaf& parent, Tree* tree) const {
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

void GrowingTree::write_category_set(const Split& split, size_t node, Tree* tree) const {
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

}  // namespace stagewise
