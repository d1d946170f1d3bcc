#include "histograms.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace stagewise {
namespace {

constexpr size_t kFeatureBlock = 64;        // histograms of a block stay in the second-level cache
constexpr size_t kParallelUpdates = 60000;  // below, a region costs more than it saves
constexpr size_t kLeastRows = 512, kMostRows = 8192;  // of a chunk

}  // namespace

void Histograms::use_features(const std::vector<uint32_t>& features) {
  if (features == features_) return;
  features_ = features;
  all_features_ = features.size() == bins_.features();
  offset_.assign(1, 0);
  size_t total = 0;
  for (const uint32_t f : features) {
    total += bins_.value_bins(f) + (bins_.has_missing(f) ? 1 : 0);
    if (total > 0xffffffffu) throw std::invalid_argument("more than 2^32 bins in one histogram");
    offset_.push_back(static_cast<uint32_t>(total));
  }
  if (total > capacity_) {
    capacity_ = total;
    slots_.clear();
    own_.clear();
    free_.clear();
  }
}

int Histograms::acquire() {
  if (free_.empty()) {
    slots_.emplace_back(new int64_t[capacity_]);
    return static_cast<int>(slots_.size()) - 1;
  }
  const int slot = free_.back();
  free_.pop_back();
  return slot;
}

void Histograms::add_rows(int64_t* hist, size_t first, size_t last, const uint32_t* rows, size_t n,
                          const Gradients& gradients) const {
  const uint32_t* offset = offset_.data() + first;
  const uint32_t* listed = all_features_ ? nullptr : features_.data() + first;
  const size_t skip = all_features_ ? first : 0;
  if (bins_.wide()) {
    kernels_.histogram16(bins_.by_row16() + skip, bins_.row_stride(), offset, listed, last - first,
                         rows, n, gradients.slots(), hist);
  } else {
    kernels_.histogram8(bins_.by_row8() + skip, bins_.row_stride(), offset, listed, last - first,
                        rows, n, gradients.slots(), hist);
  }
}

void Histograms::build(int slot, const uint32_t* rows, size_t n, const Gradients& gradients) {
  int64_t* hist = at(slot);
  if (features_.size() > kFeatureBlock) {
    build_by_feature_blocks(hist, rows, n, gradients);
  } else if (workers_.threads() > 1 && n * features_.size() >= kParallelUpdates) {
    build_by_rows(hist, rows, n, gradients);
  } else {
    std::memset(hist, 0, size() * sizeof(int64_t));
    add_rows(hist, 0, features_.size(), rows, n, gradients);
  }
}

void Histograms::build_by_feature_blocks(int64_t* hist, const uint32_t* rows, size_t n,
                                         const Gradients& gradients) {
  const size_t blocks = (features_.size() + kFeatureBlock - 1) / kFeatureBlock;
  const auto block = [&](size_t b, int) {
    const size_t first = b * kFeatureBlock;
    const size_t last = std::min(features_.size(), first + kFeatureBlock);
    std::memset(hist + offset_[first], 0, (offset_[last] - offset_[first]) * sizeof(int64_t));
    add_rows(hist, first, last, rows, n, gradients);
  };
  if (n * features_.size() >= kParallelUpdates) {
    workers_.run(blocks, block);
  } else {
    for (size_t b = 0; b < blocks; ++b) block(b, 0);
  }
}

void Histograms::build_by_rows(int64_t* hist, const uint32_t* rows, size_t n,
                               const Gradients& gradients) {
  const auto threads = static_cast<size_t>(workers_.threads());
  const size_t bytes = size() * sizeof(int64_t);
  while (own_.size() < threads) own_.emplace_back(new int64_t[capacity_]);
  std::vector<uint8_t> used(threads, 0);
  const auto mine = [&](int worker) {
    return worker == 0 ? hist : own_[static_cast<size_t>(worker)].get();
  };
  const size_t size_of_chunk = std::clamp(n / (4 * threads), kLeastRows, kMostRows);
  workers_.run((n + size_of_chunk - 1) / size_of_chunk, [&](size_t chunk, int worker) {
    auto& started = used[static_cast<size_t>(worker)];
    if (started == 0) std::memset(mine(worker), 0, bytes);
    started = 1;
    const size_t begin = chunk * size_of_chunk;
    add_rows(mine(worker), 0, features_.size(), rows + begin, std::min(size_of_chunk, n - begin),
             gradients);
  });
  if (used[0] == 0) std::memset(hist, 0, bytes);
  for (size_t w = 1; w < threads; ++w) {
    if (used[w] == 0) continue;
    const int64_t* other = mine(static_cast<int>(w));
    for (size_t i = 0; i < size(); ++i) hist[i] += other[i];
  }
}

int64_t Histograms::total(int slot) {
  int64_t sum = 0;
  for (size_t i = 0; i < offset_[1]; ++i) sum += at(slot)[i];
  return sum;
}

void Histograms::subtract(int parent, int child) {
  kernels_.subtract(at(parent), at(child), size());
}

void Histograms::remove(int slot, const uint32_t* rows, size_t n, const Gradients& gradients) {
  int64_t* hist = at(slot);
  for (size_t i = 0; i < n; ++i) {
    const int64_t word = gradients.slots()[rows[i]].word;
    for (size_t j = 0; j < features_.size(); ++j)
      hist[offset_[j] + bins_.code(rows[i], features_[j])] -= word;
  }
}

}  // namespace stagewise
