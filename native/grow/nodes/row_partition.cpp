#include "grow/nodes/row_partition.hpp"

#include <algorithm>
#include <cstring>

namespace stagewise {
namespace {

constexpr size_t kPartitionChunk = 8192;
constexpr size_t kParallelPartition = 16384;  // rows; below, the caller is faster alone

}  // namespace

RowPartition::RowPartition(Workers& workers, const Kernels& kernels, const Bins& bins)
    : workers_(workers),
      kernels_(kernels),
      bins_(bins),
      uses_(bins.features()),
      lists_{make_large_array<uint32_t>(bins.rows() + 1),
             make_large_array<uint32_t>(bins.rows() + 1)} {}

void RowPartition::start_tree(std::span<const uint32_t> bag) {
  bagged_ = bag.data() != nullptr;
  if (!bagged_) return;
  bag_.assign(bag.begin(), bag.end());
  std::memcpy(lists_[0].get(), bag.data(), bag.size() * sizeof(uint32_t));
}

// The root of all rows needs no list.
RowIndex RowPartition::of(const Leaf& leaf) const {
  const bool whole = leaf.depth == 0 && !bagged();
  return {whole ? nullptr : list_of(leaf), 0, leaf.rows()};
}

std::vector<const uint8_t*> RowPartition::columns() const {
  std::vector<const uint8_t*> columns;
  for (const FeatureUse& use : uses_) columns.push_back(use.column.get());
  return columns;
}

const uint32_t* RowPartition::finish(const Leaf& leaf) const {
  uint32_t* const rows = list_of(leaf);
  if (leaf.left != nullptr)  // it was expanded in vain: restore the order
    std::inplace_merge(rows, rows + leaf.left->rows(), rows + leaf.rows());
  if (leaf.depth == 0 && !bagged_)
    for (size_t i = 0; i < leaf.rows(); ++i) rows[i] = static_cast<uint32_t>(i);
  return rows;
}

// A feature gets a column once the leaves that were split on it have as many rows as the table.
void RowPartition::count_use(const Leaf& leaf) {
  if (bins_.ranked() || bins_.sparse()) return;  // codes are columns already
  FeatureUse& use = uses_[leaf.split.feature];
  use.rows += leaf.rows();
  if (!use.column && use.rows >= bins_.rows())
    use.column = bins_.extract(workers_, leaf.split.feature);
}

template <class Code>
FeatureCodes<Code> RowPartition::codes_of(uint32_t feature) const {
  const uint8_t* const column = uses_[feature].column.get();
  if (column == nullptr) return bins_.codes_of<Code>(feature);
  return {reinterpret_cast<const Code*>(column)};
}

template <class Code>
SplitCondition<Code> RowPartition::condition_of(const Leaf& leaf) const {
  const Split& s = leaf.split;
  return {bins_, s.feature, codes_of<Code>(s.feature), s.bin, s.missing_left, s.right_bins};
}

void RowPartition::partition(Workers& team, const Leaf& leaf, std::vector<uint8_t>* sides) {
  if (bins_.ranked()) {
    partition_by(team, leaf, condition_of<uint32_t>(leaf), kernels_.partition32, kernels_.mark32);
  } else if (bins_.sparse()) {
    const Split& s = leaf.split;
    const SparseSplitCondition own(bins_, s.feature, s.bin, s.missing_left, 0, bins_.rows(),
                                   sides->data());
    partition_by(team, leaf, own.sides(), kernels_.partition8, kernels_.mark8);
  } else if (bins_.wide()) {
    partition_by(team, leaf, condition_of<uint16_t>(leaf), kernels_.partition16, kernels_.mark16);
  } else {
    partition_by(team, leaf, condition_of<uint8_t>(leaf), kernels_.partition8, kernels_.mark8);
  }
}

template <class Code, class Partition, class Mark>
void RowPartition::partition_by(Workers& team, const Leaf& leaf, const SplitCondition<Code>& sides,
                                Partition partition, Mark mark) {
  const RowIndex rows = of(leaf);
  const size_t n = rows.n;
  const auto children = [&](int list, size_t lefts) {
    Leaf &left = *leaf.left, &right = *leaf.right;
    left.list = right.list = list;
    left.begin = leaf.begin;
    left.end = right.begin = leaf.begin + lefts;
    right.end = leaf.end;
  };
  if (team.threads() == 1 || n < kParallelPartition) {
    uint32_t* const own = list_of(leaf);
    uint32_t* const aside = lists_[1 - leaf.list].get() + leaf.begin;
    const size_t lefts = partition(sides.codes, rows, sides.last_left, sides.missing, own, aside);
    std::memcpy(own + lefts, aside, (n - lefts) * sizeof(uint32_t));
    return children(leaf.list, lefts);
  }
  const size_t chunks = (n + kPartitionChunk - 1) / kPartitionChunk;
  const auto part = [&](size_t c) {
    const size_t begin = c * kPartitionChunk;
    return rows.part(begin, std::min(kPartitionChunk, n - begin));
  };
  marks_.resize(std::max(marks_.size(), (n + 7) / 8));
  const auto marks = [&](size_t c) { return marks_.data() + c * kPartitionChunk / 8; };
  std::vector<size_t> before(chunks + 1, 0);  // rows of earlier chunks that go left
  team.run(chunks, [&](size_t c, int) {
    before[c + 1] = mark(sides.codes, part(c), sides.last_left, sides.missing, marks(c));
  });
  for (size_t c = 0; c < chunks; ++c) before[c + 1] += before[c];
  uint32_t* const left = lists_[1 - leaf.list].get() + leaf.begin;
  uint32_t* const right = left + before[chunks];
  team.run(chunks, [&](size_t c, int) {
    kernels_.distribute(part(c), marks(c), before[c + 1] - before[c], left + before[c],
                        right + c * kPartitionChunk - before[c]);
  });
  children(1 - leaf.list, before[chunks]);
}

}  // namespace stagewise
