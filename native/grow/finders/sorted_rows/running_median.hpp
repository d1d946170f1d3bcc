// The weighted sum of distances to the median, while numbers are added. A binary indexed tree
// (Fenwick 1994) over the distinct numbers keeps weights and weighted sums; one descent finds the
// median and the sums below it, so an addition and a query cost O(log n). All sums are integers, so
// they do not depend on the order of additions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagewise {

__extension__ typedef __int128 WideSum;

class RunningMedian {
 public:
  // Empty. values: n distinct numbers, increasing; must stay valid.
  void start(const int64_t* values, size_t n) {
    values_ = values;
    nodes_.assign(n + 1, {});
    top_ = std::bit_floor(n);
    weight_ = 0;
    weighted_sum_ = 0;
  }

  // Adds weight at a position of the values.
  void add(size_t place, int64_t weight) {
    const WideSum weighted_sum = static_cast<WideSum>(weight) * values_[place];
    weight_ += weight;
    weighted_sum_ += weighted_sum;
    for (size_t i = place + 1; i < nodes_.size(); i += i & (~i + 1)) {
      nodes_[i].weight += weight;
      nodes_[i].weighted_sum += weighted_sum;
    }
  }

  int64_t weight() const { return weight_; }

  // sum w |v - median| of all added numbers.
  WideSum cost() const {
    if (weight_ == 0) return 0;
    size_t place = 0;  // of the median: less than half of the weight is below it
    int64_t below = 0;
    WideSum weighted_sum = 0;
    for (size_t step = top_; step > 0; step /= 2) {
      const size_t next = place + step;
      if (next >= nodes_.size() || 2 * (below + nodes_[next].weight) >= weight_) continue;
      place = next;
      below += nodes_[next].weight;
      weighted_sum += nodes_[next].weighted_sum;
    }
    return weighted_sum_ - 2 * weighted_sum +
           static_cast<WideSum>(values_[place]) * (2 * below - weight_);
  }

 private:
  struct Node {
    int64_t weight = 0;
    WideSum weighted_sum = 0;
  };

  const int64_t* values_ = nullptr;
  std::vector<Node> nodes_;  // from 1: node i has the sums of the i & -i positions up to it
  size_t top_ = 0;
  int64_t weight_ = 0;
  WideSum weighted_sum_ = 0;
};

}  // namespace stagewise
