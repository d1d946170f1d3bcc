// Sorts the rows of a node by their codes of one feature. Codes are small integers, so rows are
// bucket-sorted: linked lists of rows per code, visited in the order of the codes. Stable. Not for
// sparse tables.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "binning/bins.hpp"
#include "grow/nodes/code_set.hpp"
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

// Writes the codes of the rows, at least one, to row_codes; returns their range.
CodeEnds list_codes(const Bins& bins, const RowIndex& rows, size_t feature, CodeSort* sort);

// Sorts n rows whose codes are in row_codes; `row` of the result is the position in row_codes.
const SortedRow* sort_places(size_t n, size_t codes, CodeSort* sort);

// Lists the codes of rows and sorts them; `row` of the result is the row number.
const SortedRow* sort_by_code(const Bins& bins, const RowIndex& rows, size_t feature,
                              CodeSort* sort);

// The number of rows before those with a missing value, of n sorted rows.
size_t count_present(const SortedRow* rows, size_t n, uint32_t missing);

// The smallest and the largest code of rows with a weight; both 0 if there is none.
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
