#include "descend.hpp"

#include <algorithm>

#include "sides.hpp"

namespace stagewise {
namespace {

struct Stop {  // some rows, and the node that they have come to
  size_t node, begin, end;
};

template <class Code>
FeatureCodes<Code> codes_of(const Bins& bins, const std::vector<const uint8_t*>& columns,
                            size_t feature) {
  if (columns.empty() || columns[feature] == nullptr) return bins.codes_of<Code>(feature);
  return {reinterpret_cast<const Code*>(columns[feature])};
}

// Empty for a number.
std::vector<uint8_t> right_bins(const Bins& bins, const Tree& tree, size_t node) {
  std::vector<uint8_t> right;
  if (tree.set_start[node] < 0) return right;
  const uint64_t* const set = tree.sets.data() + tree.set_start[node];
  for (const uint32_t level : bins.coding(static_cast<size_t>(tree.feature[node])).first_level)
    right.push_back(has_level(set, level) ? 0 : 1);
  return right;
}

template <class Code, class Partition>
void descend(const Bins& bins, const std::vector<const uint8_t*>& columns, const Tree& tree,
             const LeafValues& values, std::vector<uint32_t>* rows, double* score,
             Partition partition) {
  std::vector<uint32_t> aside(rows->size());
  std::vector<Stop> stops = {{0, 0, rows->size()}};
  while (!stops.empty()) {
    const Stop at = stops.back();
    stops.pop_back();
    uint32_t* const first = rows->data() + at.begin;
    const size_t n = at.end - at.begin;
    if (tree.feature[at.node] < 0) {
      values.add(at.node, first, n, score);
      continue;
    }
    const auto f = static_cast<size_t>(tree.feature[at.node]);
    const Sides<Code> sides(bins, f, codes_of<Code>(bins, columns, f), tree.bin[at.node],
                            tree.missing_left[at.node] != 0, right_bins(bins, tree, at.node));
    const size_t lefts = partition(sides.codes, Rows{first, 0, n}, sides.last_left, sides.missing,
                                   first, aside.data());
    std::copy(aside.begin(), aside.begin() + static_cast<ptrdiff_t>(n - lefts), first + lefts);
    const auto left = static_cast<size_t>(tree.left[at.node]);
    const auto right = static_cast<size_t>(tree.right[at.node]);
    if (lefts > 0) stops.push_back({left, at.begin, at.begin + lefts});
    if (lefts < n) stops.push_back({right, at.begin + lefts, at.end});
  }
}

}  // namespace

void add_tree(const Kernels& kernels, const Bins& bins, const std::vector<const uint8_t*>& columns,
              const Tree& tree, const LeafValues& values, std::vector<uint32_t>* rows,
              double* score) {
  if (bins.ranked()) {
    descend<uint32_t>(bins, columns, tree, values, rows, score, kernels.partition32);
  } else if (bins.wide()) {
    descend<uint16_t>(bins, columns, tree, values, rows, score, kernels.partition16);
  } else {
    descend<uint8_t>(bins, columns, tree, values, rows, score, kernels.partition8);
  }
}

void add_tree(const Columns& table, const Tree& tree, const LeafValues& values, size_t begin,
              size_t end, double* score) {
  for (size_t row = begin; row < end; ++row) {
    size_t node = 0;
    while (tree.feature[node] >= 0) {
      const auto f = static_cast<size_t>(tree.feature[node]);
      const double x = table.at(f, row);
      bool left = tree.missing_left[node] != 0;
      if (x == x && tree.set_start[node] < 0) {
        left = x <= tree.threshold[node];
      } else if (x == x) {
        const double unknown = tree.levels[f];
        const double level = x >= 0.0 && x < unknown ? x : unknown;
        left = has_level(tree.sets.data() + tree.set_start[node], static_cast<size_t>(level));
      }
      node = static_cast<size_t>(left ? tree.left[node] : tree.right[node]);
    }
    const auto own = static_cast<uint32_t>(row);
    values.add(node, &own, 1, score);
  }
}

}  // namespace stagewise
