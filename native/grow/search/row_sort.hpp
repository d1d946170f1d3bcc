// The rows of a node in the order of the codes that they have of one feature.
//
// One idea: who needs rows in order, and not sums per bin, sorts them when a node is searched;
// codes are small integers, so every row hangs itself on its code, and the codes that have rows are
// gone through in order. Rows of equal codes stay in their order. Not of sparse tables.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "binning/bins.hpp"
#include "grow/search/code_set.hpp"
#include "kernels/api/split_scan.hpp"

namespace stagewise {

// The smallest and the largest code of some rows.
struct CodeEnds {
  uint32_t lowest, highest;
};

// The memory of a sort.
struct CodeSort {
  explicit CodeSort(const Bins& bins) {
    size_t most = 0;
    for (size_t f = 0; f < bins.features(); ++f)
      most = std::max<size_t>(most, bins.value_bins(f) + 1);
    first.resize(most, 0);
    seen.reserve(most);
  }

  std::vector<int32_t> row_codes;  // per row of the node
  std::vector<SortedRow> sorted;
  // Linked lists, counted from 1: the first row of each code, 0 between calls, and the row after
  // each row.
  std::vector<uint32_t> first, next;
  CodeSet seen;  // the codes of the rows; empty between calls
};

// The codes of the rows, into scratch->row_codes, by their places; there is at least one.
CodeEnds list_codes(const Bins& bins, const RowIndex& rows, size_t feature, CodeSort* scratch);

// Rows whose codes are listed, in the order of these, in scratch->sorted; a row is called by its
// place.
const SortedRow* sort_places(size_t n, size_t codes, CodeSort* scratch);

// The same for rows whose codes are not listed yet, by their own numbers.
const SortedRow* sort_by_code(const Bins& bins, const RowIndex& rows, size_t feature,
                              CodeSort* scratch);

// How many of n rows in the order of their codes come before those whose value is missing.
size_t count_present(const SortedRow* rows, size_t n, uint32_t missing);

// The first and the last code of rows with a say; both 0 if none has one. silent(row): it has none.
template <class Weightless>
std::pair<size_t, size_t> weighted_code_range(const SortedRow* rows, size_t present,
                                              Weightless&& weightless) {
  size_t first = 0, last = present;
  while (first < last && weightless(rows[first].row)) ++first;
  while (last > first && weightless(rows[last - 1].row)) --last;
  if (first == last) return {0, 0};
  return {rows[first].rank, rows[last - 1].rank};
}

// The last of the first `present` rows whose code is at most this one, as a range of one position;
// an empty range if there is none.
Positions position_of(const SortedRow* rows, size_t present, size_t code);

}  // namespace stagewise
