// The leaves that can still be split, and which is next. Best-first and depth-wise growth are one
// queue with two orders; ties go to the older node. A tree without a limit needs no order: the
// newest leaf is next, whose rows are in the cache.
#pragma once

#include <set>
#include <vector>

#include "grow/nodes/leaf.hpp"
#include "grow/nodes/tree_rules.hpp"

namespace stagewise {

class Frontier {
 public:
  explicit Frontier(GrowthPolicy grow_policy)
      : newest_(grow_policy == GrowthPolicy::depth_first), queue_({grow_policy}) {}

  bool empty() const { return newest_ ? stack_.empty() : queue_.empty(); }
  Leaf* next() const { return newest_ ? stack_.back() : *queue_.begin(); }
  void push(Leaf* leaf) {
    if (newest_) {
      stack_.push_back(leaf);
    } else {
      queue_.insert(leaf);
    }
  }
  void pop() {
    if (newest_) {
      stack_.pop_back();
    } else {
      queue_.erase(queue_.begin());
    }
  }

  // visit(leaf) for the leaves in the order of the queue, until it returns false.
  template <class Visit>
  void visit_next(Visit visit) const {
    if (newest_) {
      for (auto leaf = stack_.rbegin(); leaf != stack_.rend() && visit(*leaf); ++leaf) continue;
    } else {
      for (auto leaf = queue_.begin(); leaf != queue_.end() && visit(*leaf); ++leaf) continue;
    }
  }

 private:
  struct Earlier {
    GrowthPolicy grow_policy;
    bool operator()(const Leaf* a, const Leaf* b) const {
      if (a->split.forced != b->split.forced) return a->split.forced;
      if (grow_policy == GrowthPolicy::best_first && a->split.gain != b->split.gain)
        return a->split.gain > b->split.gain;
      if (grow_policy == GrowthPolicy::depth_wise && a->depth != b->depth)
        return a->depth < b->depth;
      return a->node < b->node;
    }
  };

  bool newest_;
  std::vector<Leaf*> stack_;
  std::set<Leaf*, Earlier> queue_;
};

}  // namespace stagewise
