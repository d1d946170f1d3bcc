#include "grow/leaves/score_update.hpp"

#include <algorithm>
#include <numeric>

#include "grow/nodes/split_condition.hpp"

namespace stagewise {
namespace {

struct Stop {  // rows and the node that they have reached
  size_t node, begin, end;
};

template <class Code>
FeatureCodes<Code> codes_of(const Bins& bins, const std::vector<const uint8_t*>& columns,
                            size_t feature) {
  if (columns.empty() || columns[feature] == nullptr) return bins.codes_of<Code>(feature);
  return {reinterpret_cast<const Code*>(columns[feature])};
}

// Empty for a numeric feature.
std::vector<uint8_t> right_bins(const Bins& bins, const Tree& tree, size_t node) {
  std::vector<uint8_t> right;
  if (tree.set_start[node] < 0) return right;
  const uint64_t* const set = tree.sets.data() + tree.set_start[node];
  for (const uint32_t category :
       bins.coding(static_cast<size_t>(tree.feature[node])).first_category)
    right.push_back(has_category(set, category) ? 0 : 1);
  return right;
}

// divide(node, rows, n, aside): moves rows that go left to the front, the others to aside; returns
// the number of rows that go left.
template <class Divide>
void descend(const Tree& tree, const ScoreUpdate& scores, std::vector<uint32_t>* rows,
             Divide divide) {
  std::vector<uint32_t> aside(rows->size());
  std::vector<Stop> stops = {{0, 0, rows->size()}};
  while (!stops.empty()) {
    const Stop at = stops.back();
    stops.pop_back();
    uint32_t* const first = rows->data() + at.begin;
    const size_t n = at.end - at.begin;
    if (tree.feature[at.node] < 0) {
      scores.add(at.node, first, first + n);
      continue;
    }
    const size_t lefts = divide(at.node, first, n, aside.data());
    std::copy(aside.begin(), aside.begin() + static_cast<ptrdiff_t>(n - lefts), first + lefts);
    const auto left = static_cast<size_t>(tree.left[at.node]);
    const auto right = static_cast<size_t>(tree.right[at.node]);
    if (lefts > 0) stops.push_back({left, at.begin, at.begin + lefts});
    if (lefts < n) stops.push_back({right, at.begin + lefts, at.end});
  }
}

template <class Code, class Partition>
void descend_by(const Bins& bins, const std::vector<const uint8_t*>& columns, const Tree& tree,
                const ScoreUpdate& scores, std::vector<uint32_t>* rows, Partition partition) {
  descend(tree, scores, rows, [&](size_t node, uint32_t* own, size_t n, uint32_t* aside) {
    const auto f = static_cast<size_t>(tree.feature[node]);
    const SplitCondition<Code> sides(bins, f, codes_of<Code>(bins, columns, f), tree.bin[node],
                                     tree.missing_left[node] != 0, right_bins(bins, tree, node));
    return partition(sides.codes, RowIndex{own, 0, n}, sides.last_left, sides.missing, own, aside);
  });
}

// Rows of a sparse table are numbered relative to the first one.
void descend_sparse(const Kernels& kernels, const Bins& bins, const Tree& tree,
                    const ScoreUpdate& scores, std::vector<uint32_t>* rows) {
  if (rows->empty()) return;
  const auto [first, last] = std::minmax_element(rows->begin(), rows->end());
  const size_t begin = *first, end = size_t{*last} + 1;
  for (uint32_t& row : *rows) row -= static_cast<uint32_t>(begin);
  std::vector<uint8_t> marks(end - begin, 0);
  const ScoreUpdate from{scores.value, scores.outputs, scores.score + begin, scores.rows};
  descend(tree, from, rows, [&](size_t node, uint32_t* own, size_t n, uint32_t* aside) {
    const SparseSplitCondition marked(bins, static_cast<size_t>(tree.feature[node]), tree.bin[node],
                                      tree.missing_left[node] != 0, begin, end, marks.data());
    const SplitCondition<uint8_t> sides = marked.sides();
    return kernels.partition8(sides.codes, RowIndex{own, 0, n}, sides.last_left, sides.missing, own,
                              aside);
  });
}

}  // namespace

void add_tree(const Kernels& kernels, const Bins& bins, const std::vector<const uint8_t*>& columns,
              const Tree& tree, const ScoreUpdate& scores, std::vector<uint32_t>* rows) {
  if (bins.ranked()) {
    descend_by<uint32_t>(bins, columns, tree, scores, rows, kernels.partition32);
  } else if (bins.sparse()) {
    descend_sparse(kernels, bins, tree, scores, rows);
  } else if (bins.wide()) {
    descend_by<uint16_t>(bins, columns, tree, scores, rows, kernels.partition16);
  } else {
    descend_by<uint8_t>(bins, columns, tree, scores, rows, kernels.partition8);
  }
}

void add_tree(const Columns& table, const Tree& tree, const ScoreUpdate& scores, size_t begin,
              size_t end) {
  for (size_t row = begin; row < end; ++row) {
    size_t node = 0;
    while (tree.feature[node] >= 0) {
      const auto f = static_cast<size_t>(tree.feature[node]);
      const double x = table.at(f, row);
      bool left = tree.missing_left[node] != 0;
      if (x == x && tree.set_start[node] < 0) {
        left = x <= tree.threshold[node];
      } else if (x == x) {
        const double unknown = tree.n_categories[f];
        const double category = x >= 0.0 && x < unknown ? x : unknown;
        left = has_category(tree.sets.data() + tree.set_start[node], static_cast<size_t>(category));
      }
      node = static_cast<size_t>(left ? tree.left[node] : tree.right[node]);
    }
    const auto at = static_cast<uint32_t>(row);
    scores.add(node, &at, &at + 1);
  }
}

void add_tree(Workers& workers, const Kernels& kernels, const Bins& bins, const Tree& tree,
              const ScoreUpdate& scores) {
  workers.run((bins.rows() + kDescentRows - 1) / kDescentRows, [&](size_t chunk, int) {
    const size_t first = chunk * kDescentRows;
    std::vector<uint32_t> rows(std::min(bins.rows() - first, kDescentRows));
    std::iota(rows.begin(), rows.end(), static_cast<uint32_t>(first));
    add_tree(kernels, bins, {}, tree, scores, &rows);
  });
}

void add_tree(Workers& workers, const Columns& table, const Tree& tree, const ScoreUpdate& scores) {
  constexpr size_t kRows = 4096;
  workers.run((table.rows + kRows - 1) / kRows, [&](size_t chunk, int) {
    add_tree(table, tree, scores, chunk * kRows, std::min(table.rows, (chunk + 1) * kRows));
  });
}

}  // namespace stagewise
