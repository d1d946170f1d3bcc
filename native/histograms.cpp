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
  used_.clear();
  for (const uint32_t f : features) used_.push_back(bins_.group_of(f));
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  all_groups_ = used_.size() == bins_.groups().size();
  offset_.assign(1, 0);
  marginal_at_.assign(bins_.features(), 0);
  size_t total = 0, shared = 0;
  for (const uint32_t g : used_) {
    const Bins::Group& group = bins_.groups()[g];
    total += group.size;
    if (total > 0xffffffffu) throw std::invalid_argument("more than 2^32 bins in one histogram");
    offset_.push_back(static_cast<uint32_t>(total));
    if (group.features.size() == 1) continue;
    for (const uint32_t f : group.features) {
      marginal_at_[f] = shared;
      shared += bins_.span(f);
    }
  }
  marginals_.resize(shared);
  positions_.clear();
  for (const uint32_t f : features) {
    const uint32_t g = bins_.group_of(f);
    const auto u =
        static_cast<size_t>(std::lower_bound(used_.begin(), used_.end(), g) - used_.begin());
    const bool alone = bins_.groups()[g].features.size() == 1;
    positions_.push_back({!alone, alone ? offset_[u] : marginal_at_[f]});
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

// Member by member from the last: the joint sums are a matrix of (its codes) x (those before it);
// its bins are the sums of the rows, and the sum of the rows is the joint histogram of the rest.
void Histograms::marginalise(int slot) {
  for (size_t u = 0; u < used_.size(); ++u) {
    const Bins::Group& group = bins_.groups()[used_[u]];
    if (group.features.size() == 1) continue;
    joint_.assign(at(slot) + offset_[u], at(slot) + offset_[u + 1]);
    for (size_t k = group.features.size(); k-- > 0;) {
      const uint32_t f = group.features[k];
      const size_t before = bins_.radix(f);
      for (size_t code = 0; code < bins_.span(f); ++code) {
        const int64_t* const row = joint_.data() + code * before;
        int64_t sum = 0;
        for (size_t i = 0; i < before; ++i) sum += row[i];
        marginals_[marginal_at_[f] + code] = sum;
        if (code == 0) continue;
        for (size_t i = 0; i < before; ++i) joint_[i] += row[i];
      }
    }
  }
}

void Histograms::add_rows(int64_t* hist, size_t first, size_t last, const uint32_t* rows, size_t n,
                          const Gradients& gradients) const {
  const uint32_t* offset = offset_.data() + first;
  const uint32_t* listed = all_groups_ ? nullptr : used_.data() + first;
  const size_t skip = all_groups_ ? first : 0;
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
  if (used_.size() > kFeatureBlock) {
    build_by_feature_blocks(hist, rows, n, gradients);
  } else if (workers_.threads() > 1 && n * used_.size() >= kParallelUpdates) {
    build_by_rows(hist, rows, n, gradients);
  } else {
    std::memset(hist, 0, size() * sizeof(int64_t));
    add_rows(hist, 0, used_.size(), rows, n, gradients);
  }
}

void Histograms::build_by_feature_blocks(int64_t* hist, const uint32_t* rows, size_t n,
                                         const Gradients& gradients) {
  const size_t blocks = (used_.size() + kFeatureBlock - 1) / kFeatureBlock;
  const auto block = [&](size_t b, int) {
    const size_t first = b * kFeatureBlock;
    const size_t last = std::min(used_.size(), first + kFeatureBlock);
    std::memset(hist + offset_[first], 0, (offset_[last] - offset_[first]) * sizeof(int64_t));
    add_rows(hist, first, last, rows, n, gradients);
  };
  if (n * used_.size() >= kParallelUpdates) {
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
    add_rows(mine(worker), 0, used_.size(), rows + begin, std::min(size_of_chunk, n - begin),
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
    const size_t row = rows[i] * bins_.row_stride();
    for (size_t j = 0; j < used_.size(); ++j) {
      const size_t code =
          bins_.wide() ? bins_.by_row16()[row + used_[j]] : bins_.by_row8()[row + used_[j]];
      hist[offset_[j] + code] -= word;
    }
  }
}

}  // namespace stagewise
