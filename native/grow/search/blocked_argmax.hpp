// Who leads, where scores may still change.
//
// One idea: contestants run in heats, and when a score changes only its heat is held again; with
// thousands of features, of which a few are looked at twice, that is most of the work saved.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/api/split_scan.hpp"

namespace stagewise {

// score(i): of contestant i, below n. The first of equals leads.
template <class Score>
class BlockedArgmax {
 public:
  BlockedArgmax(size_t n, Score score) : n_(n), score_(score), blocks_((n + kBlock - 1) / kBlock) {
    for (size_t block = 0; block < blocks_.size(); ++block) hold(block);
  }

  struct Place {
    double score = kNoSplit;
    size_t index = 0;
  };
  Place best() const {
    Place best;
    for (const Place& p : blocks_)
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
    blocks_[block] = best;
  }

  size_t n_;
  Score score_;
  std::vector<Place> blocks_;
};

}  // namespace stagewise
