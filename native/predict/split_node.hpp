// A node of a tree as a walk reads it: 16 bytes, siblings are adjacent.
#pragma once

#include <cstdint>

namespace stagewise {

struct SplitNode {
  union {
    double threshold;  // of a leaf: NaN, so that nothing is greater
    uint64_t set;      // of a categorical split: start of its set
  };
  uint32_t test;   // the feature; top bit: missing goes right; next bit: categorical
  uint32_t child;  // left; right is the next one; of a leaf: itself

  static constexpr uint32_t kMissingRightBit = 0x80000000u, kCategoryBit = 0x40000000u;
  static constexpr uint32_t kFeatureBits = kCategoryBit - 1;

  uint32_t feature() const { return test & kFeatureBits; }
  bool missing_right() const { return (test & kMissingRightBit) != 0; }
  bool categorical() const { return (test & kCategoryBit) != 0; }
};

}  // namespace stagewise
