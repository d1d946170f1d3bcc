// Walks of many rows through deep trees of numeric splits. Rows are coded as 16 bits per feature,
// so that a node has 8 bytes and a tree of thousands of nodes stays in the second-level cache.
//
// The first six tests of a row are comparisons of many rows at once (TopTests). Then eight rows
// walk side by side, some steps at a time; in between, rows that have arrived in leaves are left
// out. No step branches, and eight loads are under way instead of one.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "binning/feature_coder.hpp"
#include "core/large_array.hpp"
#include "kernels/api/scoring.hpp"
#include "predict/split_node.hpp"

namespace stagewise {

class CodedWalk {
 public:
  CodedWalk(CodedWalk&&) = default;
  CodedWalk& operator=(CodedWalk&&) = default;
  CodedWalk(const CodedWalk&) = delete;

  // Nothing if there is no split, a node has categories or a feature has too many thresholds.
  static std::optional<CodedWalk> make(std::span<const SplitNode> nodes,
                                       std::span<const uint32_t> roots, size_t features);

  // Rows in blocks of kScoredRows: row by row, and place by place.
  struct Codes {
    LargeArray<uint16_t> by_row;
    LargeArray<int16_t> by_place;
    std::vector<uint8_t> missing;  // per block: whether a row has a missing value
  };

  size_t rows_at_once() const;  // a multiple of kScoredRows
  Codes make_codes() const;
  // The rows begin to begin + n - 1 of a table; n <= rows_at_once().
  void code(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
            Codes* codes) const;
  // leaf[i]: the leaf of row i of a block of coded rows, n of them, in a tree.
  void find_leaves(const Kernels& kernels, const Codes& codes, size_t block, size_t n, size_t tree,
                   uint32_t* leaf) const;

 private:
  // A row goes right if its code at the place is larger; of a leaf, none is, and its child is
  // itself.
  struct Node {
    uint16_t code;
    uint16_t place;
    uint32_t child;
  };
  struct Place {
    uint32_t feature;
    FeatureCoder coder;
  };

  CodedWalk() = default;
  void add_nodes(std::span<const SplitNode> nodes, const std::vector<std::vector<double>>& cuts);
  void add_top(uint32_t root);
  void code_block(const Kernels& kernels, const Columns& table, size_t begin, size_t n,
                  size_t block, Codes* codes) const;
  template <bool kMissing>
  void walk(const uint16_t* rows, size_t n, uint32_t* at) const;
  template <bool kMissing>
  size_t walk_steps(const uint16_t* rows, size_t left, uint32_t* live, uint32_t* at) const;

  std::vector<Node> nodes_;
  std::vector<uint8_t> missing_left_;  // per node
  std::vector<uint32_t> roots_;
  std::vector<TopTests> tops_;  // per tree
  std::vector<Place> places_;
  size_t stride_ = 1;  // of the codes of a row
};

}  // namespace stagewise
