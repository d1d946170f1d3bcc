// The leaves that can still be split, and which of them is next.
//
// One idea: best-first and depth-wise growth are one queue with two orders. Ties go to the older
// node, never to whoever finished first. A tree without a limit needs no order; there the newest
// leaf is next, whose rows are still in the cache.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "grow/constraints.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

enum class GrowthPolicy { best_first, depth_wise, depth_first, symmetric };

struct Split {
  double gain = 0.0;    // 0: none found, unless it is forced
  bool forced = false;  // taken before all others
  uint32_t feature = 0;
  uint32_t bin = 0;        // the last that goes left
  uint32_t next_bin = 0;   // the first of the node's that goes right
  double threshold = 0.0;  // between both, once the leaf is expanded
  // By gain, or towards the larger hessian when none is missing in the node. Of a feature that no
  // row lacks: towards the larger weight, once the leaf is expanded.
  bool missing_left = false;
  int64_t left_sum = 0;
  std::vector<int64_t> left_vector;  // the same of several outputs
  std::vector<uint8_t> right_bins;   // of levels: 1 for each bin that goes right; else empty

  bool found() const { return gain > 0.0 || forced; }
};

struct Leaf {
  int32_t node = 0;
  int depth = 0;
  uint64_t path = 1;            // which way from the root, as a hash
  int list = 0;                 // which of the grower's lists has its rows
  size_t begin = 0, end = 0;    // and where
  int64_t packed_sum = 0;       // sums of gradients and hessians
  std::vector<int64_t> vector;  // the same of several outputs or classes; else empty
  int64_t count = 0;            // sum of weights, in the grower's units
  bool pure = false;            // its rows all want the same; where somebody looks
  double value = 0.0;           // what it says
  std::vector<double> values;   // of several outputs
  Region region;                // where it is; empty if nobody asks
  Bounds bounds;                // of the values of its children, when its split was found
  int hist = -1;                // its histogram's slot, or -1
  int spare = -1;               // a slot for its smaller child
  int forced_split = -1;        // which of the forced splits is its, or -1
  Split split;
  Leaf *left = nullptr, *right = nullptr;  // its children, once they are known
  const Leaf* parent = nullptr;

  size_t rows() const { return end - begin; }
};

// The leaves of a tree, which stay where they are; the memory serves the next tree too.
class LeafPool {
 public:
  Leaf* add() {
    if (used_ == kChunk * chunks_.size()) chunks_.push_back(std::make_unique<Leaf[]>(kChunk));
    Leaf* const leaf = &chunks_[used_ / kChunk][used_ % kChunk];
    ++used_;
    *leaf = Leaf{};
    return leaf;
  }
  void clear() { used_ = 0; }

 private:
  static constexpr size_t kChunk = 128;
  std::vector<std::unique_ptr<Leaf[]>> chunks_;
  size_t used_ = 0;
};

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

  // look(leaf) in the order in which they will be taken, as far as is known now, until it is false.
  template <class Rescan>
  void look_ahead(Rescan look) const {
    if (newest_) {
      for (auto leaf = stack_.rbegin(); leaf != stack_.rend() && look(*leaf); ++leaf) continue;
    } else {
      for (auto leaf = queue_.begin(); leaf != queue_.end() && look(*leaf); ++leaf) continue;
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
