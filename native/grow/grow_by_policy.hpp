// The loop over the frontier: the next leaf is split, until the tree is full or no leaf has a
// split. It has no rows; growers pass the functions that have.
#pragma once

#include "core/interrupt.hpp"
#include "grow/frontier.hpp"
#include "grow/growing_tree.hpp"

namespace stagewise {

// search_again(leaf): its split must be found once more. expand(frontier, splits_left): gives the
// next leaf its children. finish(leaf): it stays a leaf.
template <class SearchAgain, class Expand, class Finish>
void grow_by_policy(const TreeRules& rules, const GrowingTree& growing, Leaf* root, Tree* tree,
                    SearchAgain search_again, Expand expand, Finish finish) {
  Frontier frontier(rules.grow_policy);
  frontier.push(root);
  for (size_t leaves = 1; !frontier.empty();) {
    check_interrupt();
    Leaf* const leaf = frontier.next();
    const bool full = rules.max_leaves > 0 && leaves >= rules.max_leaves;
    if (!full && !growing.keep_split(leaf)) {
      search_again(leaf);
      frontier.pop();
      frontier.push(leaf);
      continue;
    }
    if (full || !leaf->split.found()) {
      frontier.pop();
      finish(*leaf);
      continue;
    }
    if (leaf->left == nullptr)
      expand(frontier, rules.max_leaves > 0 ? rules.max_leaves - leaves : SIZE_MAX);
    frontier.pop();
    growing.commit(*leaf, tree);
    ++leaves;
    frontier.push(leaf->left);
    frontier.push(leaf->right);
  }
}

}  // namespace stagewise
