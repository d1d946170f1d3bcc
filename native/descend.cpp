#include "descend.hpp"

#include <algorithm>

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

template <class Code, class Partition>
void descend(const Bins& bins, const std::vector<const uint8_t*>& columns, const Tree& tree,
             const double* value, std::vector<uint32_t>* rows, double* score, Partition partition) {
  std::vector<uint32_t> aside(rows->size());
  std::vector<Stop> stops = {{0, 0, rows->size()}};
  while (!stops.empty()) {
    const Stop at = stops.back();
    stops.pop_back();
    uint32_t* const first = rows->data() + at.begin;
    const size_t n = at.end - at.begin;
    if (tree.feature[at.node] < 0) {
      for (size_t i = 0; i < n; ++i) score[first[i]] += value[at.node];
      continue;
    }
    const auto f = static_cast<size_t>(tree.feature[at.node]);
    const uint32_t missing = tree.missing_left[at.node] != 0 ? bins.value_bins(f) : kMissingRight;
    const size_t lefts = partition(codes_of<Code>(bins, columns, f), Rows{first, 0, n},
                                   tree.bin[at.node], missing, first, aside.data());
    std::copy(aside.begin(), aside.begin() + static_cast<ptrdiff_t>(n - lefts), first + lefts);
    const auto left = static_cast<size_t>(tree.left[at.node]);
    const auto right = static_cast<size_t>(tree.right[at.node]);
    if (lefts > 0) stops.push_back({left, at.begin, at.begin + lefts});
    if (lefts < n) stops.push_back({right, at.begin + lefts, at.end});
  }
}

}  // namespace

void add_tree(const Kernels& kernels, const Bins& bins, const std::vector<const uint8_t*>& columns,
              const Tree& tree, const double* value, std::vector<uint32_t>* rows, double* score) {
  if (bins.wide()) {
    descend<uint16_t>(bins, columns, tree, value, rows, score, kernels.partition16);
  } else {
    descend<uint8_t>(bins, columns, tree, value, rows, score, kernels.partition8);
  }
}

}  // namespace stagewise
