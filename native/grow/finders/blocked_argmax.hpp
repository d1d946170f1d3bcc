// The largest of n scores that may change: the maximum of blocks of scores. If a score changes,
// only its block is scanned again, which matters with thousands of features of which few are
// scanned twice.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/api/split_scan.hpp"

namespace stagewise {

// score(i): for i < n. Ties go to the first.
template <class Score>
class BlockedArgmax {
 public:
  BlockedArgmax(size_t n, Score score)
      : n_(n), score_(score), later_(n > kBlock ? (n - 1) / kBlock : 0) {
    for (size_t block = 0; block <= later_.size(); ++block) hold(block);
  }

  struct Place {
    double score = kNoSplit;
    size_t index = 0;
  };
  Place best() const {
    Place best = first_;
    for (const Place& p : later_)
      if (p.score > best.score) best = p;
    return best;
  }
  void update(size_t index) { hold(index / kBlock); }

 private:
  static constexpr size_t kBlock = 128;

  void hold(size_t block) {
    Place best;
    for (size_t i = block * kBlock; i < std::min(n_, (block + 1) * kBlock); ++i)
      if (score_(i) > best.score) best = {score_(i), i};
    (block == 0 ? first_ : later_[block - 1]) = best;
  }

  size_t n_;
  Score score_;
  Place first_;               // of the first block, which needs no memory of its own
  std::vector<Place> later_;  // of the others
};

}  // namespace stagewise
