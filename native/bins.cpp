#include "bins.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

namespace stagewise {
namespace {

constexpr size_t kBlock = 256;  // rows binned together: a block of a C-ordered table stays in cache

// Cuts in the width of their column. A float x is above a cut exactly if it is above the largest
// float that is not above the cut.
double as_cut(double cut, double) { return cut; }
float as_cut(double cut, float) {
  const auto near = static_cast<float>(cut);
  return static_cast<double>(near) <= cut
             ? near
             : std::nextafter(near, -std::numeric_limits<float>::infinity());
}

// The levels of a CutTree and the memory behind them.
template <class Real>
struct OwnedCutTree {
  std::vector<Real> memory;
  CutTree<Real> tree;

  explicit OwnedCutTree(const std::vector<double>& cuts) {
    size_t leaves = kCutWays;  // entries of the innermost level: more than there are cuts
    tree.levels = 1;
    while (leaves <= cuts.size()) {
      leaves *= kCutWays;
      ++tree.levels;
    }
    size_t total = 0;
    for (size_t n = leaves; n >= kCutWays; n /= kCutWays) total += n;
    memory.assign(total, std::numeric_limits<Real>::infinity());
    // Entry j of an outer level is the last entry of block j of the next one.
    size_t at = 0, span = leaves / kCutWays;
    for (int l = 0; l < tree.levels; ++l, span /= kCutWays) {
      const size_t entries = leaves / span;
      for (size_t j = 0; j < entries; ++j) {
        const size_t last = (j + 1) * span - 1;
        if (last < cuts.size()) memory[at + j] = as_cut(cuts[last], Real{});
      }
      tree.level[l] = memory.data() + at;
      at += entries;
    }
  }
};

// Bins blocks of one column, whatever its width.
class ColumnBinner {
 public:
  ColumnBinner(const Kernels& kernels, const Columns& table, size_t feature,
               const std::vector<double>& cuts)
      : kernels_(kernels),
        table_(table),
        feature_(feature),
        single_(table.columns[feature].single) {
    if (single_) {
      floats_.emplace(cuts);
    } else {
      doubles_.emplace(cuts);
    }
  }

  void operator()(size_t begin, size_t n, uint16_t missing, uint16_t* out) const {
    if (single_) {
      float values[kBlock];
      table_.read(feature_, begin, n, values);
      kernels_.bin_floats(values, n, floats_->tree, missing, out);
    } else {
      double values[kBlock];
      table_.read(feature_, begin, n, values);
      kernels_.bin_doubles(values, n, doubles_->tree, missing, out);
    }
  }

 private:
  const Kernels& kernels_;
  const Columns& table_;
  size_t feature_;
  bool single_;
  std::optional<OwnedCutTree<float>> floats_;
  std::optional<OwnedCutTree<double>> doubles_;
};

}  // namespace

Bins::Bins(Workers& workers, const Kernels& kernels, const Columns& table,
           std::vector<std::vector<double>> cuts)
    : rows_(table.rows), cuts_(std::move(cuts)), has_missing_(cuts_.size(), 0) {
  if (cuts_.size() != table.features()) throw std::invalid_argument("one list of cuts per feature");
  if (rows_ >= std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument("at most 4,294,967,294 rows can be trained on");
  for (const auto& c : cuts_) {
    if (c.size() + 2 > 65536 + 1) throw std::invalid_argument("at most 65,535 bins per feature");
    wide_ = wide_ || c.size() + 2 > 256;  // bins and the missing one
  }
  const size_t bytes = rows_ * features() * (wide_ ? 2 : 1);
  by_row_.reset(new uint8_t[bytes + 64]);
  by_column_.reset(new uint8_t[bytes + 64]);
  if (wide_) {
    fill<uint16_t>(workers, kernels, table);
  } else {
    fill<uint8_t>(workers, kernels, table);
  }
}

template <class Code>
void Bins::fill(Workers& workers, const Kernels& kernels, const Columns& table) {
  const size_t p = features();
  std::vector<ColumnBinner> binners;
  binners.reserve(p);
  for (size_t f = 0; f < p; ++f) binners.emplace_back(kernels, table, f, cuts_[f]);
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
        binners[f](begin, n, none, codes);
        bool any = false;
        for (size_t i = 0; i < n; ++i) {
          by_row[(begin + i) * p + f] = static_cast<Code>(codes[i]);
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
