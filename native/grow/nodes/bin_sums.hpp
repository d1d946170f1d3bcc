// The packed sums of one feature of one node, bin by bin.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

struct BinSums {
  uint32_t feature = 0;
  const int64_t* packed_sums = nullptr;  // per bin
  const int64_t* counts = nullptr;       // sums of weights per bin; null: not needed
  size_t bins = 0;
  int64_t missing_sum = 0, missing_count = 0;
  const uint32_t* codes = nullptr;  // the code of each bin; null: see `touched`
  // If a bin is a run of codes: its first code, while `codes` has its last one; null: one code
  // each.
  const uint32_t* first_codes = nullptr;
  const uint64_t* touched =
      nullptr;  // a bit for each code that has a bin; null: all codes have one

  uint32_t code(size_t bin) const;
  uint32_t first_code(size_t bin) const {
    return first_codes != nullptr ? first_codes[bin] : code(bin);
  }
  size_t bins_upto(size_t code) const;  // the number of bins with this code or a smaller one
};

}  // namespace stagewise
