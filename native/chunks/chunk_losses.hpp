// Losses and scores of the rows of a RowStore.
#pragma once

#include <memory>
#include <span>

#include "binning/bin_layout.hpp"
#include "chunks/row_store.hpp"
#include "core/exact_sum.hpp"
#include "grow/nodes/tree.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// The integers of three exact sums over the rows of the store: of losses, |g| and h.
using LossIntegers = std::vector<int64_t>;

// Fill the gradients of the rows from their targets and scores, as Gradients::fill() does.
LossIntegers fill_gradients(Workers& workers, RowStore& store, LossKernels::NumberLoss loss,
                            double parameter);
LossIntegers fill_gradients(Workers& workers, RowStore& store, LossKernels::LabelLoss loss);
// Several classes: first the state of the rows, then the gradients of one output.
LossIntegers fill_softmax_state(Workers& workers, RowStore& store, const Kernels& kernels,
                                size_t outputs);
LossIntegers fill_softmax(Workers& workers, RowStore& store, const Kernels& kernels, size_t output);

// Sets the scores of all rows to the same numbers, one per output.
void set_scores(Workers& workers, RowStore& store, std::span<const double> base);
// Adds the leaf values of a tree to the scores of one output.
void add_tree(Workers& workers, RowStore& store, const Kernels& kernels,
              const std::shared_ptr<const BinLayout>& layout, const Tree& tree,
              std::span<const double> value, size_t output);

}  // namespace stagewise
