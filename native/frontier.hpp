// The leaves that can still be split, and which of them is next.
//
// One idea: best-first and depth-wise growth are one queue with two orders. Ties go to the older
// node, never to whoever finished first.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels.hpp"

namespace stagewise {

enum class Growth { best_first, depth_wise };

struct Split {
  double gain = 0.0;  // 0: none found
  uint32_t feature = 0;
  uint32_t bin = 0;
  bool missing_left = false;  // by gain, or towards the larger hessian when none is missing here
  int64_t left_word = 0;
};

struct Leaf {
  int32_t node = 0;
  int depth = 0;
  size_t begin = 0, end = 0;  // its rows, in the grower's list
  int64_t word = 0;           // sums of gradients and hessians
  int64_t count = 0;          // sum of weights, in the grower's units
  int hist = -1;              // its histogram's slot, or -1
  Split split;

  size_t rows() const { return end - begin; }
};

class Frontier {
 public:
  explicit Frontier(Growth growth) : growth_(growth) {}

  bool empty() const { return leaves_.empty(); }

  void push(const Leaf& leaf) {
    leaves_.push_back(leaf);
    std::push_heap(leaves_.begin(), leaves_.end(), later());
  }

  Leaf pop() {
    std::pop_heap(leaves_.begin(), leaves_.end(), later());
    const Leaf leaf = leaves_.back();
    leaves_.pop_back();
    return leaf;
  }

 private:
  struct Later {
    Growth growth;
    bool operator()(const Leaf& a, const Leaf& b) const {
      if (growth == Growth::best_first && a.split.gain != b.split.gain)
        return a.split.gain < b.split.gain;
      if (growth == Growth::depth_wise && a.depth != b.depth) return a.depth > b.depth;
      return a.node > b.node;
    }
  };
  Later later() const { return {growth_}; }

  Growth growth_;
  std::vector<Leaf> leaves_;
};

}  // namespace stagewise
