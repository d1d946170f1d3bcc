// A leaf of the tree that grows, and its best split.
#pragma once

#include <memory>
#include <vector>

#include "grow/constraints.hpp"

namespace stagewise {

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

}  // namespace stagewise
