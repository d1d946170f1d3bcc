// Losses and scores of the rows of a RowStore.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "binning/bin_layout.hpp"
#include "chunks/row_store.hpp"
#include "core/exact_sum.hpp"
#include "gradients/gradients.hpp"
#include "grow/nodes/tree.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// The integers of three exact sums over the rows of the store: of losses, |g| and h.
using LossIntegers = std::vector<int64_t>;

// block(chunk, begin, n, &sums) for every block of rows; the exact sums of the blocks.
template <class Block>
LossIntegers sum_blocks(Workers& workers, RowStore& store, FieldSet reads, FieldSet writes,
                        Block block) {
  std::vector<LossTotals> totals;
  for (int i = 0; i < workers.threads(); ++i) totals.emplace_back(std::span<const LossSums>());
  store.visit(workers, reads, writes, [&](const RowStore::Chunk& chunk, size_t worker) {
    for (size_t begin = 0; begin < chunk.n; begin += kRowBlock) {
      LossSums sums;
      block(chunk, begin, std::min(kRowBlock, chunk.n - begin), &sums);
      totals[worker].add(sums);
    }
  });
  LossIntegers integers(3 * ExactSum::kIntegers, 0);
  for (LossTotals& own : totals) {
    size_t at = 0;
    for (ExactSum* sum : {&own.loss, &own.abs_gradient, &own.hessian})
      for (const int64_t integer : sum->integers()) integers[at++] += integer;
  }
  return integers;
}

// Fill the gradients of the rows from their targets and scores, as Gradients::fill() does.
LossIntegers fill_gradients(Workers& workers, RowStore& store, LossKernels::NumberLoss loss,
                            double parameter);
LossIntegers fill_gradients(Workers& workers, RowStore& store, LossKernels::LabelLoss loss);
// Several classes: first the state of the rows, then the gradients of one output.
LossIntegers fill_softmax_state(Workers& workers, RowStore& store, const Kernels& kernels,
                                size_t outputs);
LossIntegers fill_softmax(Workers& workers, RowStore& store, const Kernels& kernels, size_t output);

// Losses that are computed outside: the gradients of one output of a chunk, those from row `begin`
// on, are put into the store. Those of several outputs are kept as its state, from which they are
// taken.
void put_gradients(RowStore& store, size_t chunk, const Gradients& gradients, size_t begin,
                   size_t output);
void take_gradients(Workers& workers, RowStore& store, size_t output);

// Sets the scores of all rows to the same numbers, one per output.
void set_scores(Workers& workers, RowStore& store, std::span<const double> base);
// Adds the leaf values of a tree to the scores of one output.
void add_tree(Workers& workers, RowStore& store, const Kernels& kernels,
              const std::shared_ptr<const BinLayout>& layout, const Tree& tree,
              std::span<const double> value, size_t output);

}  // namespace stagewise
