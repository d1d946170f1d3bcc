// Histograms of packed gradients: one flat array of 64-bit sums per node. Features are adjacent,
// each with its own number of bins or, if most have nearly 256, with an even stride (kEvenStride).
// Slots are recycled. Features that share a code have a joint histogram, from which finish()
// computes their own. With classes, a slot has a plane for each class. With several outputs, a bin
// has a vector of `lanes` sums, so adding a row to a bin is one addition of vectors. All steps
// after the sums work on one group of features, which stays in the cache; threads can work on
// different groups. The sums of a sparse table follow, block by block (sparse_codes.hpp), then the
// sum of all rows, from which finish_block() computes the default bins.
#pragma once

#include <memory>

#include "binning/bins.hpp"
#include "gradients/gradients.hpp"
#include "grow/nodes/leaf.hpp"

namespace stagewise {

// The packed gradients of the rows: one integer per row, or with several outputs a vector.
struct PackedRows {
  const GradientSlot* slots = nullptr;
  const int64_t* vectors = nullptr;
  const uint8_t* codes = nullptr;  // of these rows; null: those of the table
};

class Histograms {
 public:
  // planes: the classes of the rows, if they have classes. lanes: the packed sums of a bin.
  Histograms(const Bins& bins, const Kernels& kernels, const Planes& planes, size_t lanes)
      : bins_(bins), groups_(bins.groups()), kernels_(kernels), lanes_(lanes), planes_(planes) {}

  // The features that the next tree may use, in increasing order. All slots are free again.
  void use_features(const std::vector<uint32_t>& features);

  int acquire();  // an uninitialised slot
  // A slot for the smaller child of a leaf with a histogram; the larger child takes that of the
  // leaf.
  void acquire_for_children(Leaf* parent);
  // Releases the slots of a leaf that its children do not need, after their splits were found.
  void release_unused(const Leaf& parent);
  // Releases the slots of a leaf that its children do not have. With too many slots in use, the
  // children lose theirs, too.
  void release_slots(const Leaf& parent);
  void release(Leaf* leaf);

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

  // The sums of a slot, and the place of a feature in them.
  const int64_t* sums(int slot) const { return at(slot); }
  size_t place(size_t position) const { return position_at_[position] * lanes_; }

  // Computes the sums of some rows for the groups [first, last).
  void build(int slot, size_t first, size_t last, const RowIndex& rows, const PackedRows& packed);
  // The same for all groups, by a team. Every thread has its own sums, which must then be merged,
  // group by group.
  using Parts = std::vector<const int64_t*>;
  Parts build_in_parts(Workers& team, int slot, const RowIndex& rows, const PackedRows& packed);
  void merge(int slot, size_t group, const Parts& parts);

  // Sums of one plane before finish(), and those of a slot. add() adds rows to such sums, which may
  // be elsewhere.
  size_t joint_size() const { return offset_.back(); }
  int64_t* joint(int slot) const { return at(slot); }
  void add(int64_t* sums, const RowIndex& rows, const PackedRows& packed) const;

  // Computes the sums of the features that share the group.
  void finish(int slot, size_t group);
  // After finish(): the sums of the parent become those of the other child. Sums of a shared group
  // are those of its features from then on.
  void subtract(int parent, int child, size_t group);

  // The same for a sparse table: first the sum of all rows, then block by block.
  bool sparse() const { return bins_.sparse(); }
  double cells_per_row() const { return bins_.sparse_codes().cells_per_row(); }
  size_t blocks() const { return bins_.sparse_codes().blocks().size(); }
  // The features of a block, as positions in the list of features.
  const std::vector<uint32_t>& block_members(size_t block) const { return block_members_[block]; }
  void build_total(int slot, const RowIndex& rows, const PackedRows& packed);
  void subtract_total(int parent, int child);
  void remove_from_total(int slot, const RowIndex& rows, const PackedRows& packed);
  void build_block(int slot, size_t block, const RowIndex& rows, const PackedRows& packed);
  void subtract_block(int parent, int child, size_t block);
  void remove_from_block(int slot, size_t block, const RowIndex& rows, const PackedRows& packed);
  void finish_block(int slot, size_t block);

  // Up to this many rows, removing them is faster than building their histogram.
  size_t few_to_remove(size_t few_rows) const { return sparse() ? few_rows : few_rows / 4; }
  // Subtracts a few rows from a histogram.
  void remove_rows(int slot, const RowIndex& rows, const PackedRows& packed);

 private:
  // Whether the slots in use exceed the memory limit for vectors or planes.
  bool crowded() const;
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
  const size_t lanes_;  // sums of a bin

  std::vector<uint32_t> features_;
  std::vector<size_t> position_at_;             // per feature of the list: its place in a slot
  std::vector<uint32_t> used_;                  // the groups of these features
  std::vector<std::vector<uint32_t>> members_;  // per used group
  std::vector<size_t> apart_at_;                // per feature of the table: its place, if it shares
  std::vector<size_t> apart_;  // per used group, and behind: of those that share it
  std::vector<std::vector<uint32_t>> block_members_;
  size_t block_at_ = 0;    // where the sums of the blocks begin in a slot
  size_t block_sums_ = 0;  // their number; the sum of all rows follows them
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
