// Who leads, where scores may still change.
//
// One idea: contestants run in heats, and when a score changes only its heat is held again; with
// thousands of features, of which a few are looked at twice, that is most of the work saved.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/kernels.hpp"

namespace stagewise {

// score(i): of contestant i, below n. The first of equals leads.
template <class Score>
class Contest {
 public:
  Contest(size_t n, Score score) : n_(n), score_(score), heats_((n + kHeat - 1) / kHeat) {
    for (size_t heat = 0; heat < heats_.size(); ++heat) hold(heat);
  }

  struct Place {
    double score = kNoSplit;
    size_t who = 0;
  };
  Place leader() const {
    Place best;
    for (const Place& p : heats_)
      if (p.score > best.score) best = p;
    return best;
  }
  void update(size_t who) { hold(who / kHeat); }

 private:
  static constexpr size_t kHeat = 128;

  void hold(size_t heat) {
    Place best;
    for (size_t i = heat * kHeat; i < std::min(n_, (heat + 1) * kHeat); ++i)
      if (score_(i) > best.score) best = {score_(i), i};
    heats_[heat] = best;
  }

  size_t n_;
  Score score_;
  std::vector<Place> heats_;
};

}  // namespace stagewise
