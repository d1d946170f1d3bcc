// The rows of a node in the order of the codes that they have of one feature.
//
// One idea: who needs rows in order, and not sums per bin, sorts them when a node is searched;
// codes are small integers, so every row hangs itself on its code, and the codes that have rows are
// gone through in order. Rows of equal codes stay in their order. Not of sparse tables.
#pragma once

#include "split.hpp"

namespace stagewise {

// body(place, code) for the rows of a list, the last one first.
template <class Body>
void visit_codes(const Bins& bins, const Rows& rows, size_t feature, Body&& body) {
  const auto visit = [&](const auto& codes) {
    if (codes.decode != nullptr) {
      for (size_t i = rows.n; i-- > 0;)
        body(i, uint32_t{codes.decode[codes.codes[rows[i] * codes.stride]]});
    } else {
      for (size_t i = rows.n; i-- > 0;) body(i, uint32_t{codes.codes[rows[i] * codes.stride]});
    }
  };
  if (bins.ranked()) {
    visit(bins.codes_of<uint32_t>(feature));
  } else if (bins.wide()) {
    visit(bins.codes_of<uint16_t>(feature));
  } else {
    visit(bins.codes_of<uint8_t>(feature));
  }
}

// The rows with their codes in order, in scratch->sorted.
const SortedRow* sort_by_code(const Bins& bins, const Rows& rows, size_t feature,
                              Finder::Scratch* scratch);

// The same, where a row is called by its place in the list.
const SortedRow* sort_places(const Bins& bins, const Rows& rows, size_t feature,
                             Finder::Scratch* scratch);

// How many of n rows in the order of their codes come before those whose value is missing.
size_t count_present(const SortedRow* rows, size_t n, uint32_t missing);

// The first and the last code of rows with a say; both 0 if none has one. silent(row): it has none.
template <class Silent>
std::pair<size_t, size_t> codes_heard(const SortedRow* rows, size_t present, Silent&& silent) {
  size_t first = 0, last = present;
  while (first < last && silent(rows[first].row)) ++first;
  while (last > first && silent(rows[last - 1].row)) --last;
  if (first == last) return {0, 0};
  return {rows[first].rank, rows[last - 1].rank};
}

// The last of the first `present` rows whose code is at most this one, as a range of one position;
// an empty range if there is none.
Positions position_of(const SortedRow* rows, size_t present, size_t code);

}  // namespace stagewise
