// How far weighted numbers are from their median, while more of them come in.
//
// One idea: a binary indexed tree (Fenwick 1994) over the different numbers, in order, keeps the
// weight and the weighted sum of those that are in. One descent finds the median and what lies
// below it, so an addition and a question cost the logarithm of how many there are. All sums are
// integers: they do not depend on the order of additions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagewise {

__extension__ typedef __int128 WideSum;

class RunningMedian {
 public:
  // Nothing is in; values: n different numbers, increasing, which must stay where they are.
  void start(const int64_t* values, size_t n) {
    values_ = values;
    nodes_.assign(n + 1, {});
    top_ = std::bit_floor(n);
    weight_ = 0;
    moment_ = 0;
  }

  // At a place among the values.
  void add(size_t place, int64_t weight) {
    const WideSum moment = static_cast<WideSum>(weight) * values_[place];
    weight_ += weight;
    moment_ += moment;
    for (size_t i = place + 1; i < nodes_.size(); i += i & (~i + 1)) {
      nodes_[i].weight += weight;
      nodes_[i].moment += moment;
    }
  }

  int64_t weight() const { return weight_; }

  // sum w |v - median| of all that are in.
  WideSum cost() const {
    if (weight_ == 0) return 0;
    size_t place = 0;  // the median's: less than half of the weight is below it
    int64_t below = 0;
    WideSum moment = 0;
    for (size_t step = top_; step > 0; step /= 2) {
      const size_t next = place + step;
      if (next >= nodes_.size() || 2 * (below + nodes_[next].weight) >= weight_) continue;
      place = next;
      below += nodes_[next].weight;
      moment += nodes_[next].moment;
    }
    return moment_ - 2 * moment + static_cast<WideSum>(values_[place]) * (2 * below - weight_);
  }

 private:
  struct Node {
    int64_t weight = 0;
    WideSum moment = 0;
  };

  const int64_t* values_ = nullptr;
  std::vector<Node> nodes_;  // from 1 on: node i has what the i & -i places up to it have
  size_t top_ = 0;
  int64_t weight_ = 0;
  WideSum moment_ = 0;
};

}  // namespace stagewise
