#include "grow/nodes/bin_sums.hpp"

#include <algorithm>
#include <bit>

namespace stagewise {

size_t BinSums::bins_upto(size_t code) const {
  if (codes != nullptr)
    return static_cast<size_t>(std::upper_bound(codes, codes + bins, code) - codes);
  if (touched == nullptr) return code + 1;
  size_t listed = 0;
  for (size_t block = 0; block < code / 64; ++block)
    listed += static_cast<size_t>(std::popcount(touched[block]));
  return listed + static_cast<size_t>(std::popcount(touched[code / 64] << (63 - code % 64)));
}

uint32_t BinSums::code(size_t bin) const {
  if (codes != nullptr) return codes[bin];
  if (touched == nullptr) return static_cast<uint32_t>(bin);
  size_t block = 0;
  for (;; ++block) {
    const auto here = static_cast<size_t>(std::popcount(touched[block]));
    if (bin < here) break;
    bin -= here;
  }
  uint64_t bits = touched[block];
  for (; bin > 0; --bin) bits &= bits - 1;
  return static_cast<uint32_t>(block * 64) + static_cast<uint32_t>(std::countr_zero(bits));
}

}  // namespace stagewise
