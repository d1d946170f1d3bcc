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

std::shared_ptr<BinLayout> layout_of(std::vector<FeatureCoding> codings, size_t features) {
  if (codings.size() != features) throw std::invalid_argument("one list of cuts per feature");
  return std::make_shared<BinLayout>(std::move(codings));
}

// No feature has a code in the rows.
FeatureGroups no_groups(size_t features) {
  const std::vector<const uint8_t*> no_columns(features, nullptr);
  return {no_columns, size_t{0}, std::vector<uint32_t>(features, FeatureGroups::kSmall + 1)};
}

}  // namespace

void Bins::check_rows() const {
  if (rows_ >= std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("at most 4,294,967,294 rows can be trained on");
}

Bins::Bins(Workers& workers, const Kernels& kernels, const Columns& table,
           std::vector<FeatureCoding> codings)
    : rows_(table.rows) {
  check_rows();
  const auto layout = layout_of(std::move(codings), table.features());
  layout_ = layout;
  if (layout->wide) {
    fill<uint16_t>(workers, kernels, table, layout.get());
  } else {
    fill<uint8_t>(workers, kernels, table, layout.get());
  }
}

Bins::Bins(Workers& workers, const Kernels& kernels, const Columns& table,
           std::shared_ptr<const BinLayout> layout)
    : rows_(table.rows), layout_(std::move(layout)) {
  check_rows();
  if (features() != table.features()) throw std::invalid_argument("one list of cuts per feature");
  if (wide()) {
    fill_with_layout<uint16_t>(workers, kernels, table);
  } else {
    fill_with_layout<uint8_t>(workers, kernels, table);
  }
}

Bins::Bins(Workers& workers, const Kernels& kernels, const SparseTable& table,
           std::vector<FeatureCoding> codings)
    : rows_(table.rows()) {
  check_rows();
  const auto layout = layout_of(std::move(codings), table.features());
  layout_ = layout;
  for (const FeatureCoding& c : layout->codings)
    if (c.categorical()) throw std::invalid_argument("a sparse table has no categorical features");
  sparse_.emplace(workers, kernels, table, layout->codings);
  for (size_t f = 0; f < features(); ++f) layout->has_missing[f] = sparse_->has_missing(f) ? 1 : 0;
  layout->set_groups(no_groups(features()));
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

namespace {

// Codes the features of blocks of rows, and finds which features have missing values.
class TableCoder {
 public:
  TableCoder(const Kernels& kernels, const Columns& table, const BinLayout& layout)
      : kernels_(kernels), table_(table), layout_(layout), missing_(layout.features()) {
    coders_.reserve(layout.features());
    for (const FeatureCoding& coding : layout.codings) coders_.emplace_back(coding);
  }

  void code(size_t feature, size_t begin, size_t n, uint16_t* codes) {
    const auto none = static_cast<uint16_t>(layout_.value_bins[feature]);
    coders_[feature].code(kernels_, table_, feature, begin, n, none, codes);
    bool any = false;
    for (size_t i = 0; i < n; ++i) any |= codes[i] == none;
    if (any) missing_[feature].store(1, std::memory_order_relaxed);
  }
  uint8_t missing(size_t feature) const { return missing_[feature].load(); }

 private:
  const Kernels& kernels_;
  const Columns& table_;
  const BinLayout& layout_;
  std::vector<FeatureCoder> coders_;
  std::vector<std::atomic<uint8_t>> missing_;
};

// The features of each group.
std::vector<std::vector<uint32_t>> members_of(const FeatureGroups& groups, size_t features) {
  std::vector<std::vector<uint32_t>> members(groups.all().size());
  for (size_t f = 0; f < features; ++f) members[groups.of(f)].push_back(static_cast<uint32_t>(f));
  return members;
}

}  // namespace

// First the columns of features that may share a code, to find which of them can. This gives the
// length of a row; then all features are coded.
template <class Code>
void Bins::fill(Workers& workers, const Kernels& kernels, const Columns& table, BinLayout* layout) {
  const size_t p = features();
  TableCoder coder(kernels, table, *layout);
  std::vector<uint32_t> small;
  for (size_t f = 0; f < p; ++f)
    if (value_bins(f) <= FeatureGroups::kSmall) small.push_back(static_cast<uint32_t>(f));
  auto columns = make_large_array<Code>(small.size() * rows_);
  run_blocks(workers, rows_, small.size(), [&](size_t begin, size_t n) {
    uint16_t codes[kBlock];
    for (size_t s = 0; s < small.size(); ++s) {
      coder.code(small[s], begin, n, codes);
      Code* const out = columns.get() + s * rows_ + begin;
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<Code>(codes[i]);
    }
  });
  std::vector<const Code*> column(p, nullptr);
  std::vector<uint32_t> spans;
  for (size_t s = 0; s < small.size(); ++s) {
    column[small[s]] = columns.get() + s * rows_;
    layout->has_missing[small[s]] = coder.missing(small[s]);
  }
  for (size_t f = 0; f < p; ++f) spans.push_back(span(f));
  layout->set_groups(FeatureGroups(column, rows_, spans));

  const auto members = members_of(groups(), p);
  own_codes_ = make_large_array<uint8_t>(rows_ * layout->row_bytes() + 64);
  by_row_ = own_codes_.get();
  auto* const by_row = reinterpret_cast<Code*>(own_codes_.get());
  run_blocks(workers, rows_, p, [&](size_t begin, size_t n) {
    uint16_t codes[kBlock];
    for (size_t g = 0; g < members.size(); ++g) {
      const uint32_t first = members[g][0];
      if (groups().alone(first)) {
        coder.code(first, begin, n, codes);
      } else {
        for (size_t i = 0; i < n; ++i) codes[i] = 0;
        for (const uint32_t f : members[g]) {
          const uint32_t* const part = groups().part(f);
          const Code* const own = column[f] + begin;
          for (size_t i = 0; i < n; ++i) codes[i] = static_cast<uint16_t>(codes[i] + part[own[i]]);
        }
      }
      Code* const out = by_row + begin * row_stride() + g;
      for (size_t i = 0; i < n; ++i) out[i * row_stride()] = static_cast<Code>(codes[i]);
    }
  });
  for (size_t f = 0; f < p; ++f) {
    layout->has_missing[f] = coder.missing(f);
    if (groups().alone(f)) layout->groups->set_span(f, span(f));
  }
}

template <class Code>
void Bins::fill_with_layout(Workers& workers, const Kernels& kernels, const Columns& table) {
  const size_t p = features();
  TableCoder coder(kernels, table, *layout_);
  const auto members = members_of(groups(), p);
  own_codes_ = make_large_array<uint8_t>(rows_ * layout_->row_bytes() + 64);
  by_row_ = own_codes_.get();
  auto* const by_row = reinterpret_cast<Code*>(own_codes_.get());
  run_blocks(workers, rows_, p, [&](size_t begin, size_t n) {
    uint16_t shared[kBlock], codes[kBlock];
    for (size_t g = 0; g < members.size(); ++g) {
      for (size_t i = 0; i < n; ++i) shared[i] = 0;
      for (const uint32_t f : members[g]) {
        coder.code(f, begin, n, codes);
        if (coder.missing(f) != 0 && !has_missing(f))
          throw std::invalid_argument("a feature has missing values, but its layout has none");
        if (groups().alone(f)) {
          for (size_t i = 0; i < n; ++i) shared[i] = codes[i];
          continue;
        }
        const uint32_t* const part = groups().part(f);
        for (size_t i = 0; i < n; ++i)
          shared[i] = static_cast<uint16_t>(shared[i] + part[codes[i]]);
      }
      Code* const out = by_row + begin * row_stride() + g;
      for (size_t i = 0; i < n; ++i) out[i * row_stride()] = static_cast<Code>(shared[i]);
    }
  });
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
  auto out = make_large_array<uint8_t>(rows_ * (wide() ? 2 : 1) + 64);
  if (wide()) {
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
  std::vector<uint8_t> has_missing(p, 0);
  bins.ranks_ = make_large_array<uint32_t>(n * p + 1);
  workers.run(p, [&](size_t f, int) {
    uint32_t* const rank = bins.ranks_.get() + f * n;
    FeatureCoding& coding = codings[f];
    if (!coding.categorical()) coding = FeatureCoding::by_values(rank_values(table, f, rank));
    const uint32_t missing = coding.bins();
    for (size_t row = 0; row < n; ++row) {
      const double x = table.at(f, row);
      if (x != x) {
        rank[row] = missing;
        has_missing[f] = 1;
      } else if (coding.categorical()) {
        rank[row] = coding.category_bin[coding.category(x)];
      }
    }
  });
  const auto layout = BinLayout::of_ranks(std::move(codings));
  layout->has_missing = std::move(has_missing);
  layout->set_groups(no_groups(p));
  bins.layout_ = layout;
  return bins;
}

}  // namespace stagewise
