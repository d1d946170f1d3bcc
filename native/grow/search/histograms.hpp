// Histograms of packed gradients: one flat array of 64-bit sums per node.
//
// One idea: features lie behind each other, each with exactly its own number of bins or, where all
// have nearly as many as a byte can tell apart, evenly (kEvenStride), and slots are recycled.
// Features that share a code have one joint histogram, which finish() takes apart into their own
// ones at the end of the slot. Where rows have classes a slot has a plane of all this for each.
// Where trees have several outputs a bin has a vector of sums, `lanes` words beside each other, so
// that a row's visit to a bin is one addition of vectors. The
// steps after the sums work on one group, so that it can go
// through all of them while it is in the cache, and groups can go to different threads. The sums of
// a sparse table lie behind these, block by block (sparse_codes.hpp), and then one of all rows,
// from which finish_block() makes those of the absent cells.
#pragma once

#include <memory>

#include "binning/bins.hpp"
#include "gradients/gradients.hpp"

namespace stagewise {

// What a row adds to its bins: one word, or where trees have several outputs a vector of them.
struct PackedRows {
  const GradientSlot* slots = nullptr;
  const int64_t* vectors = nullptr;
};

class Histograms {
 public:
  // planes: the classes of the rows, if they have classes. lanes: the packed sums of a bin.
  Histograms(const Bins& bins, const Kernels& kernels, const Planes& planes, size_t lanes)
      : bins_(bins), groups_(bins.groups()), kernels_(kernels), lanes_(lanes), planes_(planes) {}

  // The features that the next tree may use, in increasing order. All slots are free again.
  void use_features(const std::vector<uint32_t>& features);

  int acquire();  // an uninitialised slot
  void release(int slot) { free_.push_back(slot); }
  // Whether there are as many slots in use as vectors, or planes, should have memory for.
  bool crowded() const;

  size_t groups() const { return used_.size(); }
  size_t lanes() const { return lanes_; }
  // Sums of a node.
  size_t size() const { return (offset_.back() + block_sums_) * planes_.n * lanes_; }
  const Planes& planes() const { return planes_; }
  // The features of a group, as positions in the list of features.
  const std::vector<uint32_t>& members(size_t group) const { return members_[group]; }
  // The bins of the feature at a position of the list, in the first plane.
  const int64_t* feature(int slot, size_t position) const {
    return at(slot) + position_at_[position] * lanes_;
  }

  // The sums of some rows, for all groups. Every thread adds up for itself; what the others have
  // must then be merged in, group by group.
  using Parts = std::vector<const int64_t*>;
  Parts add_in_parts(Workers& team, int slot, const RowIndex& rows, const PackedRows& packed);
  void merge(int slot, size_t group, const Parts& parts);
  // The same for the groups [first, last), at once.
  void add(int slot, size_t first, size_t last, const RowIndex& rows, const PackedRows& packed);

  void subtract(int parent, int child, size_t group);
  void finish(int slot, size_t group);

  // The same of a sparse table: first the sum of all rows, then block by block.
  bool sparse() const { return bins_.sparse(); }
  double cells_per_row() const { return bins_.sparse_codes().cells_per_row(); }
  size_t blocks() const { return bins_.sparse_codes().blocks().size(); }
  // The features of a block, as positions in the list of features.
  const std::vector<uint32_t>& block_members(size_t block) const { return block_members_[block]; }
  void start_sums(int slot, const RowIndex& rows, const PackedRows& packed);
  void subtract_total(int parent, int child);
  void remove_total(int slot, const RowIndex& rows, const PackedRows& packed);
  void build_block(int slot, size_t block, const RowIndex& rows, const PackedRows& packed);
  void subtract_block(int parent, int child, size_t block);
  void remove_from_block(int slot, size_t block, const RowIndex& rows, const PackedRows& packed);
  void finish_block(int slot, size_t block);

  // Up to how many rows removing them is quicker than building their histogram.
  size_t few_to_remove(size_t few_rows) const { return sparse() ? few_rows : few_rows / 4; }
  // Takes a few rows out of a histogram without building theirs.
  void remove(int slot, const RowIndex& rows, const PackedRows& packed);

 private:
  int64_t* at(int slot) const { return slots_[static_cast<size_t>(slot)].get(); }
  size_t place_blocks(size_t begin);
  int64_t* block(int slot, size_t block) const;
  int64_t* total(int slot, size_t plane) const;
  void add_to_total(int slot, const RowIndex& rows, const PackedRows& packed, int64_t sign);
  void clear(int64_t* hist, size_t first, size_t last) const;
  void add_rows(int64_t* hist, size_t first, size_t last, const RowIndex& rows,
                const PackedRows& packed) const;
  void add_vectors(int64_t* hist, size_t first, size_t last, const RowIndex& rows,
                   const int64_t* vectors) const;

  const Bins& bins_;
  const FeatureGroups& groups_;
  const Kernels& kernels_;
  const size_t lanes_;  // words of a bin

  std::vector<uint32_t> features_;
  std::vector<size_t> position_at_;             // per feature of the list: its place in a slot
  std::vector<uint32_t> used_;                  // the groups of these features
  std::vector<std::vector<uint32_t>> members_;  // per used group
  std::vector<size_t> apart_at_;                // per feature of the table: its place, if it shares
  std::vector<std::vector<uint32_t>> block_members_;
  size_t block_at_ = 0;    // where the sums of the blocks begin in a slot
  size_t block_sums_ = 0;  // how many there are, and behind them the sum of all rows
  bool all_groups_ = true;
  bool even_ = false;
  std::vector<uint32_t> offset_;  // per used group
  Planes planes_;
  size_t capacity_ = 0;
  std::vector<LargeArray<int64_t>> slots_;
  std::vector<LargeArray<int64_t>> own_;  // one per helper thread
  std::vector<int> free_;
};

}  // namespace stagewise
