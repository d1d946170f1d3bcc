// A leaf of the growing tree, and its best split.
#pragma once

#include <memory>
#include <vector>

#include "grow/nodes/constraints.hpp"

namespace stagewise {

struct Split {
  double gain = 0.0;    // 0: none found, unless it is forced
  bool forced = false;  // taken before all others
  uint32_t feature = 0;
  uint32_t bin = 0;        // the last bin that goes left
  uint32_t next_bin = 0;   // the first bin of the node that goes right
  double threshold = 0.0;  // between both, once the leaf is expanded
  // The side of missing values: by gain; if the node has none, the side with the larger hessian; if
  // the table has none, the side with the larger weight, once the leaf is expanded.
  bool missing_left = false;
  int64_t left_sum = 0;
  std::vector<int64_t> left_vector;  // the left sums of several outputs
  std::vector<uint8_t> right_bins;   // of a categorical feature: 1 for each bin that goes right

  bool found() const { return gain > 0.0 || forced; }
  bool goes_left(size_t value_bin) const {
    return right_bins.empty() ? value_bin <= bin : right_bins[value_bin] == 0;
  }
};

struct Leaf {
  int32_t node = 0;
  size_t index = 0;  // in the pool
  int depth = 0;
  uint64_t path = 1;            // hash of the path from the root
  int list = 0;                 // which array of RowPartition has its rows
  size_t begin = 0, end = 0;    // and its range there
  int64_t packed_sum = 0;       // packed sum of gradients and hessians
  std::vector<int64_t> vector;  // packed sums of several outputs or classes; else empty
  int64_t count = 0;            // sum of weights, in units of RowWeights
  bool pure = false;            // all rows have the same target (class and median targets only)
  double value = 0.0;           // its prediction
  std::vector<double> values;   // its predictions of several outputs
  Region region;                // its feature ranges; only with constraints
  Bounds bounds;                // of the values of its children when its split was found
  int hist = -1;                // slot of its histogram, or -1
  int spare = -1;               // a slot for its smaller child
  int forced_split = -1;        // index of its forced split, or -1
  Split split;
  Leaf *left = nullptr, *right = nullptr;  // null until it is expanded
  const Leaf* parent = nullptr;

  size_t rows() const { return end - begin; }
};

// The leaves of a tree at fixed addresses; the memory is reused by the next tree.
class LeafPool {
 public:
  Leaf* add() {
    if (used_ == kChunk * chunks_.size()) chunks_.push_back(std::make_unique<Leaf[]>(kChunk));
    Leaf* const leaf = &chunks_[used_ / kChunk][used_ % kChunk];
    *leaf = Leaf{};
    leaf->index = used_++;
    return leaf;
  }
  void clear() { used_ = 0; }

 private:
  static constexpr size_t kChunk = 128;
  std::vector<std::unique_ptr<Leaf[]>> chunks_;
  size_t used_ = 0;
};

}  // namespace stagewise
