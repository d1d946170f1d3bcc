#include "predict/partial_dependence.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/interrupt.hpp"

namespace stagewise {

NodeMeans node_means(const FlatTrees& trees, std::span<const double> cover) {
  const size_t n = trees.feature.size(), width = trees.width;
  NodeMeans made{std::vector<double>(n, 0.5), {trees.value.begin(), trees.value.end()}};
  for (size_t t = 0; t + 1 < trees.start.size(); ++t) {
    check_interrupt();
    const size_t root = trees.start[t];
    // Children come after their parents.
    for (size_t at = trees.start[t + 1]; at-- > root;) {
      if (trees.feature[at] < 0) continue;
      const auto after = static_cast<int64_t>(at - root);
      const auto size = static_cast<int64_t>(trees.start[t + 1] - root);
      if (trees.left[at] <= after || trees.right[at] <= after || trees.left[at] >= size ||
          trees.right[at] >= size)
        throw std::invalid_argument("a node's child is out of range");
      const size_t left = root + static_cast<size_t>(trees.left[at]);
      const size_t right = root + static_cast<size_t>(trees.right[at]);
      const double both = cover[left] + cover[right];
      if (both > 0.0) made.share[at] = cover[left] / both;
      for (size_t k = 0; k < width; ++k)
        made.mean[at * width + k] = made.share[at] * made.mean[left * width + k] +
                                    (1.0 - made.share[at]) * made.mean[right * width + k];
    }
  }
  return made;
}

namespace {

// Some values of each axis, from low up to but not including high, and perhaps the missing one.
template <size_t kAxes>
struct Box {
  size_t node;
  double weight;
  std::array<size_t, kAxes> low, high;
  std::array<bool, kAxes> missing;
};

template <size_t kAxes>
class BoxWalk {
 public:
  BoxWalk(const FlatTrees& trees, std::span<const double> share, std::span<const double> mean,
          size_t outputs, std::span<const GridAxis> axes, double* surface)
      : trees_(trees),
        share_(share),
        mean_(mean),
        outputs_(outputs),
        axes_(axes),
        surface_(surface),
        active_(trees.feature.size(), 0) {}

  void run() {
    for (size_t t = 0; t + 1 < trees_.start.size(); ++t) {
      root_ = trees_.start[t];
      output_ = trees_.width == 1 ? t % outputs_ : 0;
      mark(trees_.start[t + 1]);
      walk();
    }
  }

 private:
  size_t left(size_t node) const { return root_ + static_cast<size_t>(trees_.left[node]); }
  size_t right(size_t node) const { return root_ + static_cast<size_t>(trees_.right[node]); }
  // The axis that a node tests, or kAxes.
  size_t axis_of(size_t node) const {
    size_t axis = 0;
    while (axis < kAxes && axes_[axis].column != trees_.feature[node]) ++axis;
    return axis;
  }

  // Nodes at or below which a known column is tested.
  void mark(size_t end) {
    for (size_t at = end; at-- > root_;)
      active_[at] = trees_.feature[at] >= 0 &&
                    (axis_of(at) < kAxes || active_[left(at)] != 0 || active_[right(at)] != 0);
  }

  void walk() {
    Box<kAxes> whole{root_, 1.0, {}, {}, {}};
    for (size_t axis = 0; axis < kAxes; ++axis) whole.high[axis] = axes_[axis].values.size();
    whole.missing.fill(true);
    boxes_.push_back(whole);
    for (size_t looks = 0; !boxes_.empty(); ++looks) {
      if (looks % 1024 == 0) check_interrupt();
      const Box<kAxes> box = boxes_.back();
      boxes_.pop_back();
      if (active_[box.node] == 0) {
        add(box);
        continue;
      }
      const size_t axis = axis_of(box.node);
      Box<kAxes> to_left = box, to_right = box;
      to_left.node = left(box.node);
      to_right.node = right(box.node);
      if (axis == kAxes) {
        to_left.weight *= share_[box.node];
        to_right.weight *= 1.0 - share_[box.node];
      } else {
        split(axis, &to_left, &to_right, box);
      }
      if (axis == kAxes || reached(to_right, axis)) boxes_.push_back(to_right);
      if (axis == kAxes || reached(to_left, axis)) boxes_.push_back(to_left);
    }
  }

  void split(size_t axis, Box<kAxes>* to_left, Box<kAxes>* to_right, const Box<kAxes>& box) const {
    const std::span<const double> values = axes_[axis].values;
    const auto cut = static_cast<size_t>(
        std::upper_bound(values.begin(), values.end(), trees_.threshold[box.node]) -
        values.begin());
    const bool missing_left = trees_.missing_left[box.node] != 0;
    to_left->high[axis] = std::min(box.high[axis], cut);
    to_right->low[axis] = std::max(box.low[axis], cut);
    to_left->missing[axis] = box.missing[axis] && missing_left;
    to_right->missing[axis] = box.missing[axis] && !missing_left;
  }

  static bool reached(const Box<kAxes>& box, size_t axis) {
    return box.low[axis] < box.high[axis] || box.missing[axis];
  }

  // The prediction of a box at its corners: of the values and of the missing one of each axis.
  void add(const Box<kAxes>& box) {
    for (size_t k = 0; k < trees_.width; ++k)
      corners(box, 0, 0, box.weight * mean_[box.node * trees_.width + k], output_ + k);
  }

  void corners(const Box<kAxes>& box, size_t axis, size_t at, double node_prediction,
               size_t output) {
    if (axis == kAxes) {
      surface_[at * outputs_ + output] += node_prediction;
      return;
    }
    const size_t first = at * axes_[axis].places(), missing = axes_[axis].values.size() + 1;
    if (box.low[axis] < box.high[axis]) {
      corners(box, axis + 1, first + box.low[axis], node_prediction, output);
      corners(box, axis + 1, first + box.high[axis], -node_prediction, output);
    }
    if (box.missing[axis]) {
      corners(box, axis + 1, first + missing, node_prediction, output);
      corners(box, axis + 1, first + missing + 1, -node_prediction, output);
    }
  }

  const FlatTrees& trees_;
  std::span<const double> share_, mean_;
  size_t outputs_;
  std::span<const GridAxis> axes_;
  double* surface_;
  std::vector<uint8_t> active_;
  std::vector<Box<kAxes>> boxes_;
  size_t root_ = 0, output_ = 0;
};

}  // namespace

void add_partial_dependence(const FlatTrees& trees, std::span<const double> share,
                            std::span<const double> mean, size_t outputs,
                            std::span<const GridAxis> axes, double* surface) {
  if (axes.size() == 1) {
    BoxWalk<1>(trees, share, mean, outputs, axes, surface).run();
  } else {
    BoxWalk<2>(trees, share, mean, outputs, axes, surface).run();
  }
}

}  // namespace stagewise
