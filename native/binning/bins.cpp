#include "binning/bins.hpp"

#include "binning/feature_coder.hpp"
#include "core/radix_sort.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace stagewise {
namespace {

constexpr size_t kBlock = FeatureCoder::kMost;

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

// Pads rows if that keeps them from crossing two cache lines.
size_t padded_row(size_t bytes) {
  constexpr size_t kLine = 64;
  size_t padded = bytes <= kLine ? 1 : (bytes + kLine - 1) / kLine * kLine;
  while (padded < bytes) padded *= 2;
  return padded * 100 <= bytes * 115 ? padded : bytes;
}

}  // namespace

Bins::Bins(Workers& workers, const Kernels& kernels, const Columns& table,
           std::vector<FeatureCoding> codings)
    : rows_(table.rows), codings_(std::move(codings)), has_missing_(codings_.size(), 0) {
  if (codings_.size() != table.features())
    throw std::invalid_argument("one list of cuts per feature");
  check();
  if (wide_) {
    fill<uint16_t>(workers, kernels, table);
  } else {
    fill<uint8_t>(workers, kernels, table);
  }
}

Bins::Bins(Workers& workers, const Kernels& kernels, const SparseTable& table,
           std::vector<FeatureCoding> codings)
    : rows_(table.rows()), codings_(std::move(codings)), has_missing_(codings_.size(), 0) {
  if (codings_.size() != table.features())
    throw std::invalid_argument("one list of cuts per feature");
  for (const FeatureCoding& c : codings_)
    if (c.categorical()) throw std::invalid_argument("a sparse table has no categorical features");
  check();
  sparse_.emplace(workers, kernels, table, codings_);
  for (size_t f = 0; f < features(); ++f) has_missing_[f] = sparse_->has_missing(f) ? 1 : 0;
  group_nothing();
}

void Bins::check() {
  if (rows_ >= std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("at most 4,294,967,294 rows can be trained on");
  for (const FeatureCoding& c : codings_) {
    value_bins_.push_back(c.bins());
    if (c.bins() > 65535) throw std::invalid_argument("at most 65,535 bins per feature");
    wide_ = wide_ || c.bins() + 1 > 256;  // bins and the missing one
  }
}

// No feature has a code in the rows.
void Bins::group_nothing() {
  const std::vector<const uint8_t*> no_columns(features(), nullptr);
  groups_.emplace(no_columns, size_t{0},
                  std::vector<uint32_t>(features(), FeatureGroups::kSmall + 1));
}

bool Bins::constant(size_t feature) const {
  if (sparse()) {
    const size_t n = sparse_->stored(feature);
    const uint32_t first = n < rows_ ? sparse_->default_bin(feature) : code(0, feature);
    for (size_t k = 0; k < n; ++k)
      if (sparse_->code_of(feature, k) != first) return false;
    return true;
  }
  for (size_t row = 1; row < rows_; ++row)
    if (code(row, feature) != code(0, feature)) return false;
  return true;
}

// First the columns of features that may share a code, to find which of them can. This gives the
// length of a row; then all features are coded.
template <class Code>
void Bins::fill(Workers& workers, const Kernels& kernels, const Columns& table) {
  const size_t p = features();
  std::vector<FeatureCoder> search;
  search.reserve(p);
  for (const FeatureCoding& coding : codings_) search.emplace_back(coding);
  std::vector<std::atomic<uint8_t>> missing(p);
  const auto code_block = [&](size_t f, size_t begin, size_t n, uint16_t* codes) {
    const auto none = static_cast<uint16_t>(value_bins(f));
    search[f].code(kernels, table, f, begin, n, none, codes);
    bool any = false;
    for (size_t i = 0; i < n; ++i) any |= codes[i] == none;
    if (any) missing[f].store(1, std::memory_order_relaxed);
  };

  std::vector<uint32_t> small;
  for (size_t f = 0; f < p; ++f)
    if (value_bins(f) <= FeatureGroups::kSmall) small.push_back(static_cast<uint32_t>(f));
  auto columns = make_large_array<Code>(small.size() * rows_);
  run_blocks(workers, rows_, small.size(), [&](size_t begin, size_t n) {
    uint16_t codes[kBlock];
    for (size_t s = 0; s < small.size(); ++s) {
      code_block(small[s], begin, n, codes);
      Code* const out = columns.get() + s * rows_ + begin;
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<Code>(codes[i]);
    }
  });
  std::vector<const Code*> column(p, nullptr);
  std::vector<uint32_t> spans;
  for (size_t s = 0; s < small.size(); ++s) {
    column[small[s]] = columns.get() + s * rows_;
    has_missing_[small[s]] = missing[small[s]].load();
  }
  for (size_t f = 0; f < p; ++f) spans.push_back(span(f));
  groups_.emplace(column, rows_, spans);

  std::vector<std::vector<uint32_t>> members(groups_->all().size());
  for (size_t f = 0; f < p; ++f) members[groups_->of(f)].push_back(static_cast<uint32_t>(f));
  row_stride_ = padded_row(members.size() * sizeof(Code)) / sizeof(Code);
  by_row_ = make_large_array<uint8_t>(rows_ * row_stride_ * sizeof(Code) + 64);
  auto* const by_row = reinterpret_cast<Code*>(by_row_.get());
  run_blocks(workers, rows_, p, [&](size_t begin, size_t n) {
    uint16_t codes[kBlock];
    for (size_t g = 0; g < members.size(); ++g) {
      const uint32_t first = members[g][0];
      if (groups_->alone(first)) {
        code_block(first, begin, n, codes);
      } else {
        for (size_t i = 0; i < n; ++i) codes[i] = 0;
        for (const uint32_t f : members[g]) {
          const uint32_t* const part = groups_->part(f);
          const Code* const own = column[f] + begin;
          for (size_t i = 0; i < n; ++i) codes[i] = static_cast<uint16_t>(codes[i] + part[own[i]]);
        }
      }
      Code* const out = by_row + begin * row_stride_ + g;
      for (size_t i = 0; i < n; ++i) out[i * row_stride_] = static_cast<Code>(codes[i]);
    }
  });
  for (size_t f = 0; f < p; ++f) {
    has_missing_[f] = missing[f].load();
    if (groups_->alone(f)) groups_->set_span(f, span(f));
  }
}

template <class Code>
void Bins::extract_into(Workers& workers, size_t feature, Code* out) const {
  const FeatureCodes<Code> from = codes_of<Code>(feature);
  constexpr size_t kRows = 65536;
  workers.run((rows_ + kRows - 1) / kRows, [&](size_t chunk, int) {
    const size_t last = std::min(rows_, (chunk + 1) * kRows);
    if (from.decode == nullptr) {
      for (size_t i = chunk * kRows; i < last; ++i) out[i] = from.codes[i * from.stride];
    } else {
      for (size_t i = chunk * kRows; i < last; ++i)
        out[i] = static_cast<Code>(from.decode[from.codes[i * from.stride]]);
    }
  });
}

LargeArray<uint8_t> Bins::extract(Workers& workers, size_t feature) const {
  auto out = make_large_array<uint8_t>(rows_ * (wide_ ? 2 : 1) + 64);
  if (wide_) {
    extract_into(workers, feature, reinterpret_cast<uint16_t*>(out.get()));
  } else {
    extract_into(workers, feature, out.get());
  }
  return out;
}

namespace {

// The distinct values of a column in order, and the rank of every row's value.
std::vector<double> rank_values(const Columns& table, size_t feature, uint32_t* rank) {
  struct Item {
    uint64_t key;
    uint32_t row;
  };
  std::vector<Item> items;
  items.reserve(table.rows);
  for (size_t row = 0; row < table.rows; ++row) {
    const double x = table.at(feature, row);
    if (x == x) items.push_back({order_key<uint64_t>(x), static_cast<uint32_t>(row)});
  }
  radix_sort(&items, [](const Item& i) { return i.key; });
  std::vector<double> values;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i == 0 || items[i].key != items[i - 1].key)
      values.push_back(from_order_key<double>(items[i].key));
    rank[items[i].row] = static_cast<uint32_t>(values.size()) - 1;
  }
  return values;
}

}  // namespace

Bins Bins::ranks(Workers& workers, const Columns& table, std::vector<FeatureCoding> codings) {
  if (codings.size() != table.features()) throw std::invalid_argument("one coding per feature");
  if (table.rows >= std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("at most 4,294,967,294 rows can be trained on");
  Bins bins(table.rows);
  const size_t p = table.features(), n = table.rows;
  bins.codings_ = std::move(codings);
  bins.has_missing_.assign(p, 0);
  bins.value_bins_.assign(p, 1);
  bins.ranks_ = make_large_array<uint32_t>(n * p + 1);
  workers.run(p, [&](size_t f, int) {
    uint32_t* const rank = bins.ranks_.get() + f * n;
    FeatureCoding& coding = bins.codings_[f];
    if (!coding.categorical()) coding = FeatureCoding::by_values(rank_values(table, f, rank));
    const uint32_t missing = bins.value_bins_[f] = coding.bins();
    for (size_t row = 0; row < n; ++row) {
      const double x = table.at(f, row);
      if (x != x) {
        rank[row] = missing;
        bins.has_missing_[f] = 1;
      } else if (coding.categorical()) {
        rank[row] = coding.category_bin[coding.category(x)];
      }
    }
  });
  bins.group_nothing();
  return bins;
}

}  // namespace stagewise
