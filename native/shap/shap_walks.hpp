// Shapley values by the shares of rows, of trees that are too large for tables.
//
// One idea: the products of all leaves below an edge are summed at the points of a quadrature, so
// that an edge costs a few operations for each point, and a row O(leaves * depth) (as Linear
// TreeSHAP does with polynomials, Yu et al. 2022).
// Must not: depend on how many rows are asked about.
#pragma once

#include "shap/shap_tree.hpp"

namespace stagewise {

// Without or with pairs.
std::unique_ptr<TreeAttributions> walked_attributions(ShapTree tree, const ShapRules& rules);

}  // namespace stagewise
