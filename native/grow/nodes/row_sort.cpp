#include "grow/nodes/row_sort.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace stagewise {
namespace {

constexpr size_t kCodesPerRow = 1024;  // with more codes, a comparison sort is faster
constexpr size_t kCountedRows = 32;    // at most, comparing every pair of rows is fastest
constexpr size_t kMostCounted = size_t{1} << 26;  // codes, which share 32 bits with a place

bool earlier(const SortedRow& a, const SortedRow& b) { return a.rank < b.rank; }

template <class Codes>
CodeEnds copy_codes(size_t n, Codes code_of, int32_t* out) {
  int32_t lowest = code_of(0), highest = lowest;
  for (size_t i = 0; i < n; ++i) {
    const int32_t code = code_of(i);
    out[i] = code;
    lowest = code < lowest ? code : lowest;
    highest = code > highest ? code : highest;
  }
  return {static_cast<uint32_t>(lowest), static_cast<uint32_t>(highest)};
}

template <class Code>
CodeEnds copy_codes(const Bins& bins, const RowIndex& rows, size_t feature, int32_t* out) {
  const FeatureCodes<Code> from = bins.codes_of<Code>(feature);
  const auto code = [from](size_t row) {
    return static_cast<int32_t>(from.codes[row * from.stride]);
  };
  if (rows.listed == nullptr)
    return copy_codes(
        rows.n,
        [&](size_t i) {
          const int32_t own = code(rows.first + i);
          return from.decode != nullptr ? int32_t{from.decode[own]} : own;
        },
        out);
  if (from.decode != nullptr)
    return copy_codes(
        rows.n,
        [=, listed = rows.listed](size_t i) { return int32_t{from.decode[code(listed[i])]}; }, out);
  return copy_codes(rows.n, [=, listed = rows.listed](size_t i) { return code(listed[i]); }, out);
}

// The place of a row is the number of smaller keys, which are a vector of comparisons for each row.
template <class Name>
void sort_by_counting(size_t n, const int32_t* code_of, Name name, SortedRow* out) {
  int32_t key[kCountedRows];
  for (int32_t& own : key) own = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < n; ++i)
    key[i] = code_of[i] * static_cast<int32_t>(kCountedRows) + static_cast<int32_t>(i);
  const size_t padded = (n + 3) / 4 * 4;
  for (size_t i = 0; i < n; ++i) {
    uint32_t smaller = 0;
    for (size_t j = 0; j < padded; ++j) smaller += key[j] < key[i] ? 1 : 0;
    out[smaller] = {name(i), static_cast<uint32_t>(code_of[i])};
  }
}

// name(place): the number that identifies a row in the result.
template <class Name>
const SortedRow* sort_named(size_t n, size_t codes, CodeSort* scratch, Name name) {
  CodeSort& s = *scratch;
  if (s.sorted.size() < n) {
    s.next.resize(n);
    s.sorted.resize(n);
  }
  SortedRow* const out = s.sorted.data();
  const int32_t* const code_of = s.row_codes.data();
  if (n <= kCountedRows && codes <= kMostCounted) {
    sort_by_counting(n, code_of, name, out);
    return out;
  }
  if (codes > kCodesPerRow * (n + 4)) {
    for (size_t i = 0; i < n; ++i) out[i] = {name(i), static_cast<uint32_t>(code_of[i])};
    std::stable_sort(out, out + n, earlier);
    return out;
  }
  uint32_t* const first = s.first.data();
  uint32_t* const next = s.next.data();
  for (size_t i = n; i-- > 0;) {
    const auto code = static_cast<size_t>(code_of[i]);
    next[i] = first[code];
    first[code] = static_cast<uint32_t>(i + 1);
    s.seen.add(code);
  }
  SortedRow* at = out;
  s.seen.drain(codes, [&](size_t code) {
    for (size_t i = std::exchange(first[code], 0); i != 0; i = next[i - 1])
      *at++ = {name(i - 1), static_cast<uint32_t>(code)};
  });
  return out;
}

}  // namespace

CodeEnds list_codes(const Bins& bins, const RowIndex& rows, size_t feature, CodeSort* scratch) {
  if (scratch->row_codes.size() < rows.n) scratch->row_codes.resize(rows.n);
  int32_t* const out = scratch->row_codes.data();
  if (bins.ranked()) return copy_codes<uint32_t>(bins, rows, feature, out);
  if (bins.wide()) return copy_codes<uint16_t>(bins, rows, feature, out);
  return copy_codes<uint8_t>(bins, rows, feature, out);
}

const SortedRow* sort_places(size_t n, size_t codes, CodeSort* scratch) {
  return sort_named(n, codes, scratch, [](size_t i) { return static_cast<uint32_t>(i); });
}

const SortedRow* sort_by_code(const Bins& bins, const RowIndex& rows, size_t feature,
                              CodeSort* scratch) {
  list_codes(bins, rows, feature, scratch);
  return sort_named(rows.n, bins.value_bins(feature) + 1, scratch,
                    [&](size_t i) { return rows[i]; });
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
