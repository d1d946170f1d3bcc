#include "code_order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace stagewise {
namespace {

constexpr size_t kCodesPerRow = 64;  // with more of them, a search for those that have rows is slow

bool earlier(const SortedRow& a, const SortedRow& b) { return a.rank < b.rank; }

// name(place): what a row is called.
template <class Name>
const SortedRow* sort_named(const Bins& bins, const Rows& rows, size_t feature,
                            Finder::Scratch* scratch, Name name) {
  Finder::Scratch& s = *scratch;
  if (s.sorted.size() < rows.n) {
    s.sorted.resize(rows.n);
    s.next.resize(rows.n);
  }
  SortedRow* const out = s.sorted.data();
  const size_t codes = bins.value_bins(feature) + 1;
  if (codes > kCodesPerRow * (rows.n + 4)) {
    visit_codes(bins, rows, feature, [&](size_t i, uint32_t code) { out[i] = {name(i), code}; });
    std::stable_sort(out, out + rows.n, earlier);
    return out;
  }
  uint32_t* const first = s.first.data();
  uint32_t* const next = s.next.data();
  uint64_t* const touched = s.touched.data();
  visit_codes(bins, rows, feature, [=](size_t i, uint32_t code) {
    next[i] = first[code];
    first[code] = static_cast<uint32_t>(i + 1);
    touched[code / 64] |= 1ull << (code % 64);
  });
  SortedRow* at = out;
  for (size_t block = 0; block <= codes / 64; ++block)
    for (uint64_t bits = std::exchange(touched[block], 0); bits != 0; bits &= bits - 1) {
      const size_t code = block * 64 + static_cast<size_t>(std::countr_zero(bits));
      for (size_t i = std::exchange(first[code], 0); i != 0; i = next[i - 1])
        *at++ = {name(i - 1), static_cast<uint32_t>(code)};
    }
  return out;
}

}  // namespace

const SortedRow* sort_by_code(const Bins& bins, const Rows& rows, size_t feature,
                              Finder::Scratch* scratch) {
  return sort_named(bins, rows, feature, scratch, [&](size_t i) { return rows[i]; });
}

const SortedRow* sort_places(const Bins& bins, const Rows& rows, size_t feature,
                             Finder::Scratch* scratch) {
  return sort_named(bins, rows, feature, scratch,
                    [](size_t i) { return static_cast<uint32_t>(i); });
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
