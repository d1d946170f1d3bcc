// Row sampling of the rows of a RowStore: the multipliers are those that sampling.hpp gives the
// same rows in memory. Statistics of all processes are sums of integers.
#pragma once

#include "chunks/chunk_losses.hpp"
#include "chunks/row_store.hpp"
#include "core/exchange.hpp"

namespace stagewise {

// The rows to draw from.
struct StoreDraw {
  Workers& workers;
  RowStore& store;
  Exchange* exchange;  // null: there are no other processes
  uint64_t key;        // of the draws of a round
};

// The row that counts if no row is drawn: a random one of those with positive weight.
uint64_t lone_row(const StoreDraw& from);

// Fill the multipliers of the rows: 0 outside the bag. GOSS and MVS read the importances.
void draw_bootstrap(const StoreDraw& from, double rate);
void draw_goss(const StoreDraw& from, double top, double other);
void draw_mvs(const StoreDraw& from, double share);

// The squared importances become 0; w^2 (g^2 + ridge * h^2) is added to them.
void clear_squares(Workers& workers, RowStore& store);
void add_squares(Workers& workers, RowStore& store, double ridge);

// Multiplies gradients and hessians by the multipliers of the rows; the sums of the products.
LossIntegers multiply_gradients(Workers& workers, RowStore& store);

}  // namespace stagewise
