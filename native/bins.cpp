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

// body(begin, n) for blocks of rows, several of them to a chunk of work.
template <class Body>
void run_blocks(Workers& workers, size_t rows, size_t features, Body&& body) {
  const size_t blocks = (rows + kBlock - 1) / kBlock;
  const size_t per_chunk = 4096 / std::max<size_t>(features, 1) + 1;
  workers.run((blocks + per_chunk - 1) / per_chunk, [&](size_t chunk, int) {
    const size_t last = std::min(blocks, (chunk + 1) * per_chunk);
    for (size_t block = chunk * per_chunk; block < last; ++block)
      body(block * kBlock, std::min(kBlock, rows - block * kBlock));
  });
}

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
  by_column_ = make_large_array<uint8_t>(rows_ * features() * code_bytes + 64);
  if (wide_) {
    fill_columns<uint16_t>(workers, kernels, table);
  } else {
    fill_columns<uint8_t>(workers, kernels, table);
  }
  if (wide_) {
    fill_rows<uint16_t>(workers);
  } else {
    fill_rows<uint8_t>(workers);
  }
}

template <class Code>
void Bins::fill_columns(Workers& workers, const Kernels& kernels, const Columns& table) {
  const size_t p = features();
  std::vector<FeatureCuts> search;
  search.reserve(p);
  for (const auto& cuts : cuts_) search.emplace_back(cuts);
  std::vector<std::atomic<uint8_t>> missing(p);
  auto* by_column = reinterpret_cast<Code*>(by_column_.get());
  run_blocks(workers, rows_, p, [&](size_t begin, size_t n) {
    uint16_t codes[kBlock];
    for (size_t f = 0; f < p; ++f) {
      const auto none = static_cast<uint16_t>(value_bins(f));
      search[f].code(kernels, table, f, begin, n, none, codes);
      Code* const column = by_column + f * rows_ + begin;
      bool any = false;
      for (size_t i = 0; i < n; ++i) {
        column[i] = static_cast<Code>(codes[i]);
        any |= codes[i] == none;
      }
      if (any) missing[f].store(1, std::memory_order_relaxed);
    }
  });
  for (size_t f = 0; f < p; ++f) has_missing_[f] = missing[f].load();
}

template <class Code>
void Bins::fill_rows(Workers& workers) {
  const auto* by_column = reinterpret_cast<const Code*>(by_column_.get());
  std::vector<uint32_t> spans;
  for (size_t f = 0; f < features(); ++f) spans.push_back(span(f));
  groups_.emplace(by_column, rows_, spans);
  const size_t groups = groups_->all().size();
  std::vector<std::vector<uint32_t>> members(groups);
  for (size_t f = 0; f < features(); ++f)
    members[groups_->of(f)].push_back(static_cast<uint32_t>(f));
  row_stride_ = padded_row(groups * sizeof(Code)) / sizeof(Code);
  by_row_ = make_large_array<uint8_t>(rows_ * row_stride_ * sizeof(Code) + 64);
  auto* by_row = reinterpret_cast<Code*>(by_row_.get());
  run_blocks(workers, rows_, features(), [&](size_t begin, size_t n) {
    uint32_t codes[kBlock];
    for (size_t g = 0; g < groups; ++g) {
      Code* const out = by_row + begin * row_stride_ + g;
      const Code* const first = by_column + members[g][0] * rows_ + begin;
      if (groups_->alone(members[g][0])) {
        for (size_t i = 0; i < n; ++i) out[i * row_stride_] = first[i];
        continue;
      }
      for (size_t i = 0; i < n; ++i) codes[i] = 0;
      for (const uint32_t f : members[g]) {
        const Code* const column = by_column + f * rows_ + begin;
        const uint32_t* const part = groups_->part(f);
        for (size_t i = 0; i < n; ++i) codes[i] += part[column[i]];
      }
      for (size_t i = 0; i < n; ++i) out[i * row_stride_] = static_cast<Code>(codes[i]);
    }
  });
}

}  // namespace stagewise
