// A set of codes that is emptied in increasing order: a bit for each code, and a bit for each block
// of 64 codes. Emptying it takes time in proportion to its codes, so nodes with few rows cost the
// same for any number of bins.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stagewise {

class CodeSet {
 public:
  // For codes below n.
  void reserve(size_t n) {
    if (blocks_.size() * 64 >= n) return;
    groups_.resize(n / 4096 + 1, 0);
    blocks_.resize(n / 64 + 1, 0);  // last, because its size is compared
  }

  void add(size_t code) {
    blocks_[code / 64] |= uint64_t{1} << (code % 64);
    groups_[code / 4096] |= uint64_t{1} << (code / 64 % 64);
  }

  // visit(code) for every code below n, in increasing order; empties the set.
  template <class Visit>
  void drain(size_t n, Visit&& visit) {
    for (size_t group = 0; group <= n / 4096; ++group)
      for (uint64_t some = std::exchange(groups_[group], 0); some != 0; some &= some - 1) {
        const size_t block = group * 64 + static_cast<size_t>(std::countr_zero(some));
        for (uint64_t bits = std::exchange(blocks_[block], 0); bits != 0; bits &= bits - 1)
          visit(block * 64 + static_cast<size_t>(std::countr_zero(bits)));
      }
  }

 private:
  std::vector<uint64_t> blocks_, groups_;
};

}  // namespace stagewise
