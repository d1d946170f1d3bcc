#include "code_order.hpp"

#include <algorithm>

namespace stagewise {
namespace {

constexpr size_t kHandful = 24;  // rows; of as few, insertions are quicker than counts

bool earlier(const SortedRow& a, const SortedRow& b) { return a.rank < b.rank; }

}  // namespace

const SortedRow* sort_by_code(const Bins& bins, const Rows& rows, size_t feature,
                              Finder::Scratch* scratch) {
  auto& sorted = scratch->sorted;
  if (sorted.size() < 2 * rows.n) sorted.resize(2 * rows.n);
  SortedRow* const out = sorted.data();
  if (rows.n <= kHandful) {
    size_t n = 0;
    visit_codes(bins, rows, feature, [&](uint32_t row, uint32_t code) {
      size_t at = n++;
      for (; at > 0 && code < out[at - 1].rank; --at) out[at] = out[at - 1];
      out[at] = {row, code};
    });
    return out;
  }
  SortedRow* const as_listed = out + rows.n;
  const size_t codes = bins.value_bins(feature) + 1;
  auto& start = scratch->counts;
  const bool counted = codes <= 4 * rows.n;
  if (counted) std::fill_n(start.begin(), codes, 0);
  size_t n = 0;
  visit_codes(bins, rows, feature, [&](uint32_t row, uint32_t code) {
    as_listed[n++] = {row, code};
    if (counted) ++start[code];
  });
  if (!counted) {
    std::stable_sort(as_listed, as_listed + n, earlier);
    return as_listed;
  }
  int64_t before = 0;
  for (size_t code = 0; code < codes; ++code) before += std::exchange(start[code], before);
  for (size_t i = 0; i < n; ++i) out[start[as_listed[i].rank]++] = as_listed[i];
  return out;
}

size_t count_present(const SortedRow* rows, size_t n, uint32_t missing) {
  while (n > 0 && rows[n - 1].rank == missing) --n;
  return n;
}

Positions position_of(const SortedRow* rows, size_t present, size_t code) {
  const auto behind = static_cast<size_t>(
      std::upper_bound(rows, rows + present, code,
                       [](size_t c, const SortedRow& row) { return c < row.rank; }) -
      rows);
  return behind > 0 ? Positions{behind - 1, behind} : Positions{};
}

}  // namespace stagewise
