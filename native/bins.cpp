#include "bins.hpp"

#include "feature_cuts.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace stagewise {
namespace {

constexpr size_t kBlock = FeatureCuts::kMost;

// A little room after each row, where that keeps rows from straddling two cache lines.
size_t padded_row(size_t bytes) {
  constexpr size_t kLine = 64;
  size_t padded = bytes <= kLine ? 1 : (bytes + kLine - 1) / kLine * kLine;
  while (padded < bytes) padded *= 2;
  return padded * 100 <= bytes * 115 ? padded : bytes;
}

}  // namespace

Bins::Bins(Workers& workers, const Kernels& kernels, const Columns& table,
           std::vector<std::vector<double>> cuts)
    : rows_(table.rows), cuts_(std::move(cuts)), has_missing_(cuts_.size(), 0) {
  if (cuts_.size() != table.features()) throw std::invalid_argument("one list of cuts per feature");
  if (rows_ >= std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("at most 4,294,967,294 rows can be trained on");
  for (const auto& c : cuts_) {
    if (c.size() + 1 > 65535) throw std::invalid_argument("at most 65,535 bins per feature");
    wide_ = wide_ || c.size() + 2 > 256;  // bins and the missing one
  }
  const size_t code_bytes = wide_ ? 2 : 1;
  row_stride_ = padded_row(features() * code_bytes) / code_bytes;
  by_row_ = make_large_array<uint8_t>(rows_ * row_stride_ * code_bytes + 64);
  by_column_ = make_large_array<uint8_t>(rows_ * features() * code_bytes + 64);
  if (wide_) {
    fill<uint16_t>(workers, kernels, table);
  } else {
    fill<uint8_t>(workers, kernels, table);
  }
}

template <class Code>
void Bins::fill(Workers& workers, const Kernels& kernels, const Columns& table) {
  const size_t p = features();
  std::vector<FeatureCuts> search;
  search.reserve(p);
  for (const auto& cuts : cuts_) search.emplace_back(cuts);
  std::vector<std::atomic<uint8_t>> missing(p);
  auto* by_row = reinterpret_cast<Code*>(by_row_.get());
  auto* by_column = reinterpret_cast<Code*>(by_column_.get());
  const size_t blocks = (rows_ + kBlock - 1) / kBlock;
  const size_t per_chunk = std::max<size_t>(1, 16384 / std::max<size_t>(p, 1) / 4 + 1);
  const size_t chunks = (blocks + per_chunk - 1) / per_chunk;
  workers.run(chunks, [&](size_t chunk, int) {
    uint16_t codes[kBlock];
    const size_t last = std::min(blocks, (chunk + 1) * per_chunk);
    for (size_t block = chunk * per_chunk; block < last; ++block) {
      const size_t begin = block * kBlock, n = std::min(kBlock, rows_ - begin);
      for (size_t f = 0; f < p; ++f) {
        const auto none = static_cast<uint16_t>(value_bins(f));
        search[f].code(kernels, table, f, begin, n, none, codes);
        bool any = false;
        for (size_t i = 0; i < n; ++i) {
          by_row[(begin + i) * row_stride_ + f] = static_cast<Code>(codes[i]);
          by_column[f * rows_ + begin + i] = static_cast<Code>(codes[i]);
          any |= codes[i] == none;
        }
        if (any) missing[f].store(1, std::memory_order_relaxed);
      }
    }
  });
  for (size_t f = 0; f < p; ++f) has_missing_[f] = missing[f].load();
}

}  // namespace stagewise
