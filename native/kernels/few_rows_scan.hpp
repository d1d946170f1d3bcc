// The best cut of one feature of a node with few rows, from the codes of its rows.
//
// The place of a row is the number of rows with smaller codes. Rows are added at their places, so
// rows of one code share the first place of their codes, and the places behind it, up to the next
// code, are empty: a prefix sum over the places is the sum of the left side of every cut, and a
// place is one less than the number of rows before the next one.
#pragma once

#include "kernels/split_scan.hpp"

namespace stagewise {
namespace {

constexpr size_t kByteLanes = 32;
typedef int8_t ByteLanes __attribute__((vector_size(kByteLanes)));

// The codes of the rows, less 128; those behind the last row are the largest.
struct RowCodes {
  alignas(64) int8_t code[kMostPlaced];
  alignas(64) int8_t place[kMostPlaced];
};

void read_codes(const FewRowsInput& in, RowCodes* out) {
  for (size_t i = 0; i < in.n; ++i) {
    const uint8_t own = in.codes[in.begin[i]];
    out->code[i] = static_cast<int8_t>((in.decode == nullptr ? own : in.decode[own]) ^ 0x80);
  }
  for (size_t i = in.n; i % kByteLanes != 0; ++i) out->code[i] = 127;
}

// The places of kVectors * kByteLanes rows from `first` on.
template <size_t kVectors>
void find_places(size_t first, size_t n, RowCodes* rows) {
  ByteLanes own[kVectors], smaller[kVectors];
  for (size_t v = 0; v < kVectors; ++v) {
    __builtin_memcpy(&own[v], rows->code + first + v * kByteLanes, kByteLanes);
    smaller[v] = ByteLanes{};
  }
  for (size_t i = 0; i < n; ++i) {
    const ByteLanes other = ByteLanes{} + rows->code[i];
    for (size_t v = 0; v < kVectors; ++v) smaller[v] -= (ByteLanes)(own[v] > other);
  }
  for (size_t v = 0; v < kVectors; ++v)
    __builtin_memcpy(rows->place + first + v * kByteLanes, &smaller[v], kByteLanes);
}

void find_places(size_t n, RowCodes* rows) {
  switch ((n + kByteLanes - 1) / kByteLanes) {
    case 1:
      return find_places<1>(0, n, rows);
    case 2:
      return find_places<2>(0, n, rows);
    case 3:
      return find_places<3>(0, n, rows);
    default:
      return find_places<4>(0, n, rows);
  }
}

// Where the codes that contain this place begin, and the number of their rows.
Positions code_of_place(const RowCodes& rows, size_t n, size_t place) {
  int8_t begin = 0;
  for (size_t i = 0; i < n; ++i) {
    const bool before = rows.place[i] <= static_cast<int8_t>(place);
    const int8_t own = before ? rows.place[i] : int8_t{0};
    begin = own > begin ? own : begin;
  }
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) count += rows.place[i] == begin ? 1 : 0;
  return {static_cast<size_t>(begin), static_cast<size_t>(begin) + count};
}

// The code of a place, and the first one behind it that has a sum, or with `counted` a row.
void describe_cut(const FewRowsInput& in, const RowCodes& rows, const int64_t* sums,
                  FewRowsResult* out) {
  const Positions own = code_of_place(rows, in.n, out->result.position);
  size_t next = own.last;
  while (next < in.n && sums[next] == 0) ++next;
  out->next_with_sum = out->next = in.none;
  for (size_t i = 0; i < in.n; ++i) {
    const auto place = static_cast<size_t>(rows.place[i]);
    const uint32_t code = static_cast<uint8_t>(rows.code[i]) ^ 0x80u;
    if (place == own.first) out->last = code;
    if (place == own.last) out->next = code;
    if (place == next) out->next_with_sum = code;
  }
}

FewRowsResult scan_few_rows(const FewRowsInput& in, const ScanRules& rules) {
  FewRowsResult out;
  RowCodes rows;
  read_codes(in, &rows);
  if (in.has_missing) {
    const auto missing = static_cast<int8_t>(in.none ^ 0x80u);
    for (size_t i = 0; i < in.n; ++i) out.missing_seen |= rows.code[i] == missing;
    if (out.missing_seen) return out;
  }
  find_places(in.n, &rows);
  int64_t sums[kMostPlaced];
  for (size_t i = 0; i < in.n; ++i) sums[i] = 0;
  for (size_t i = 0; i < in.n; ++i) sums[static_cast<size_t>(rows.place[i])] += in.packed[i];
  Positions tried{0, in.n};
  if (in.least_rows > 1) {
    if (2 * in.least_rows > in.n) return out;
    // Behind the last place that is tried, a code must end; else it has too few rows on its right.
    tried = {in.least_rows - 1, in.n - in.least_rows};
    const Positions own = code_of_place(rows, in.n, tried.last - 1);
    if (own.last != tried.last) tried.last = own.first;
  }
  const Node node{side_of(in.total_sum), static_cast<int32_t>(__builtin_ceil(rules.min_hessian)), 0,
                  true, rules};
  Prefixes p;
  prefix(sums, in.n, 0, &p);
  out.result.score = in.above;
  offer(p, 0, tried.first, tried.last, Side{}, false, node, &out.result);
  if (out.result.score > in.above) {
    describe_cut(in, rows, sums, &out);
  } else {
    out.result.score = kNoSplit;
  }
  return out;
}

}  // namespace
}  // namespace stagewise
