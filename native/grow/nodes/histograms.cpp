#include "grow/nodes/histograms.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace stagewise {
namespace {

constexpr size_t kLeastRows = 512, kMostRows = 8192;  // of a chunk
constexpr size_t kVectorBytes = size_t{1} << 29;      // limit for histograms of vectors or planes
constexpr size_t kLeastSlots = 8;
constexpr size_t kGroupsAtOnce = 64;  // whose histograms stay in the second-level cache
// Integers of rows and of bins that are processed at once: both fit the second-level cache.
constexpr size_t kVectorChunk = 32768, kVectorBins = 16384;

}  // namespace

void Histograms::use_features(const std::vector<uint32_t>& features) {
  free_.clear();
  for (size_t slot = slots_.size(); slot-- > 0;) free_.push_back(static_cast<int>(slot));
  if (features == features_) return;
  features_ = features;
  used_.clear();
  if (!bins_.sparse())
    for (const uint32_t f : features) used_.push_back(groups_.of(f));
  std::sort(used_.begin(), used_.end());
  used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
  all_groups_ = bins_.sparse() || used_.size() == groups_.all().size();
  // Even strides are faster; up to a third of the memory may be padding.
  size_t needed = 0;
  for (const uint32_t g : used_) needed += groups_.all()[g].size;
  even_ =
      lanes_ == 1 && all_groups_ && !bins_.wide() && 2 * used_.size() * kEvenStride <= 3 * needed;
  offset_.assign(1, 0);
  size_t total = 0;
  for (const uint32_t g : used_) {
    total += even_ ? kEvenStride : groups_.all()[g].size;
    if (total > 0xffffffffu) throw std::invalid_argument("more than 2^32 bins in one histogram");
    offset_.push_back(static_cast<uint32_t>(total));
  }
  apart_at_.assign(bins_.features(), 0);
  apart_.assign(1, total);
  for (const uint32_t g : used_) {
    for (const Digit& digit : groups_.all()[g].digits)
      for (const uint32_t f : digit.features) {
        apart_at_[f] = total;
        total += bins_.span(f);
      }
    apart_.push_back(total);
  }
  members_.assign(used_.size(), {});
  position_at_.clear();
  if (bins_.sparse()) total = place_blocks(total);
  for (const uint32_t f : features) {
    if (bins_.sparse()) break;
    const uint32_t g = groups_.of(f);
    const auto u =
        static_cast<size_t>(std::lower_bound(used_.begin(), used_.end(), g) - used_.begin());
    members_[u].push_back(static_cast<uint32_t>(position_at_.size()));
    position_at_.push_back(groups_.alone(f) ? offset_[u] : apart_at_[f]);
  }
  planes_.n_sums = total;
  if (total * planes_.n * lanes_ > capacity_) {
    capacity_ = total * planes_.n * lanes_;
    slots_.clear();
    own_.clear();
    free_.clear();
  }
}

// All blocks of a sparse table, for any features; returns their end.
size_t Histograms::place_blocks(size_t begin) {
  const SparseCodes& codes = bins_.sparse_codes();
  block_at_ = begin;
  block_sums_ = codes.n_sums();
  block_members_.assign(blocks(), {});
  size_t block = 0;
  for (const uint32_t f : features_) {
    while (f >= codes.blocks()[block].last_feature) ++block;
    block_members_[block].push_back(static_cast<uint32_t>(position_at_.size()));
    position_at_.push_back(block_at_ + codes.place(f));
  }
  return begin + block_sums_ + 1;
}

int Histograms::acquire() {
  if (free_.empty()) {
    slots_.push_back(make_large_array<int64_t>(capacity_));
    return static_cast<int>(slots_.size()) - 1;
  }
  const int slot = free_.back();
  free_.pop_back();
  return slot;
}

bool Histograms::crowded() const {
  const size_t most = kVectorBytes / (capacity_ * sizeof(int64_t) + 1);
  const bool large = lanes_ > 1 || (planes_.n > 1 && !bins_.sparse());
  return large && slots_.size() - free_.size() > std::max(kLeastSlots, most);
}

void Histograms::acquire_for_children(Leaf* parent) {
  if (parent->hist >= 0) parent->spare = acquire();
}

void Histograms::release_unused(const Leaf& parent) {
  for (Leaf* child : {parent.left, parent.right})
    if (!child->split.found()) child->hist = -1;
  release_slots(parent);
}

void Histograms::release_slots(const Leaf& parent) {
  for (Leaf* child : {parent.left, parent.right})
    if (crowded()) child->hist = -1;
  for (const int slot : {parent.hist, parent.spare})
    if (slot >= 0 && parent.left->hist != slot && parent.right->hist != slot) free_.push_back(slot);
}

void Histograms::release(Leaf* leaf) {
  if (leaf->hist >= 0) free_.push_back(leaf->hist);
  leaf->hist = -1;
}

void Histograms::clear(int64_t* hist, size_t first, size_t last) const {
  for (size_t plane = 0; plane < planes_.n; ++plane)
    std::memset(hist + plane * planes_.n_sums + offset_[first] * lanes_, 0,
                (offset_[last] - offset_[first]) * lanes_ * sizeof(int64_t));
}

void Histograms::add_vectors(int64_t* hist, size_t first, size_t last, const RowIndex& rows,
                             const int64_t* vectors) const {
  const size_t chunk = std::max<size_t>(64, kVectorChunk / lanes_);
  for (size_t begin = 0; begin < rows.n; begin += chunk) {
    const RowIndex part = rows.part(begin, std::min(chunk, rows.n - begin));
    for (size_t from = first, to = first; from < last; from = to) {
      while (to < last && (to == from || (offset_[to + 1] - offset_[from]) * lanes_ <= kVectorBins))
        ++to;
      const uint32_t* const listed = all_groups_ ? nullptr : used_.data() + from;
      const size_t skip = all_groups_ ? from : 0;
      if (bins_.wide()) {
        kernels_.vector_histogram16(bins_.by_row16() + skip, bins_.row_stride(),
                                    offset_.data() + from, listed, to - from, part, vectors, lanes_,
                                    hist);
      } else {
        kernels_.vector_histogram8(bins_.by_row8() + skip, bins_.row_stride(),
                                   offset_.data() + from, listed, to - from, part, vectors, lanes_,
                                   hist);
      }
    }
  }
}

void Histograms::add_rows(int64_t* hist, size_t first, size_t last, const RowIndex& rows,
                          const PackedRows& packed) const {
  if (lanes_ > 1) {
    add_vectors(hist, first, last, rows, packed.vectors);
    return;
  }
  const uint8_t* const codes = packed.codes != nullptr ? packed.codes : bins_.by_row8();
  if (even_) {
    kernels_.even_histogram8(codes + first, bins_.row_stride(), last - first, rows, planes_,
                             packed.slots, hist + offset_[first]);
    return;
  }
  const uint32_t* offset = offset_.data() + first;
  const uint32_t* listed = all_groups_ ? nullptr : used_.data() + first;
  const size_t skip = all_groups_ ? first : 0;
  if (bins_.wide()) {
    kernels_.histogram16(reinterpret_cast<const uint16_t*>(codes) + skip, bins_.row_stride(),
                         offset, listed, last - first, rows, planes_, packed.slots, hist);
  } else {
    kernels_.histogram8(codes + skip, bins_.row_stride(), offset, listed, last - first, rows,
                        planes_, packed.slots, hist);
  }
}

void Histograms::build(int slot, size_t first, size_t last, const RowIndex& rows,
                       const PackedRows& packed) {
  clear(at(slot), first, last);
  add_rows(at(slot), first, last, rows, packed);
}

void Histograms::add(int64_t* sums, const RowIndex& rows, const PackedRows& packed) const {
  for (size_t first = 0; first < groups(); first += kGroupsAtOnce)
    add_rows(sums, first, std::min(groups(), first + kGroupsAtOnce), rows, packed);
}

Histograms::Parts Histograms::build_in_parts(Workers& team, int slot, const RowIndex& rows,
                                             const PackedRows& packed) {
  const auto threads = static_cast<size_t>(team.threads());
  while (own_.size() < threads) own_.push_back(make_large_array<int64_t>(capacity_));
  const auto mine = [&](size_t worker) { return worker == 0 ? at(slot) : own_[worker].get(); };
  std::vector<uint8_t> begun(threads, 0);
  begun[0] = 1;
  clear(at(slot), 0, groups());
  const size_t size_of_chunk = std::clamp(rows.n / (4 * threads), kLeastRows, kMostRows);
  team.run((rows.n + size_of_chunk - 1) / size_of_chunk, [&](size_t chunk, int w) {
    const auto worker = static_cast<size_t>(w);
    if (begun[worker] == 0) clear(mine(worker), 0, groups());
    begun[worker] = 1;
    const size_t begin = chunk * size_of_chunk;
    add_rows(mine(worker), 0, groups(), rows.part(begin, std::min(size_of_chunk, rows.n - begin)),
             packed);
  });
  Parts parts;
  for (size_t w = 1; w < threads; ++w)
    if (begun[w] != 0) parts.push_back(mine(w));
  return parts;
}

void Histograms::merge(int slot, size_t group, const Parts& parts) {
  const size_t size = (offset_[group + 1] - offset_[group]) * lanes_;
  for (size_t plane = 0; plane < planes_.n; ++plane) {
    const size_t begin = plane * planes_.n_sums + offset_[group] * lanes_;
    int64_t* const hist = at(slot) + begin;
    for (const int64_t* part : parts)
      for (size_t i = 0; i < size; ++i) hist[i] += part[begin + i];
  }
}

void Histograms::subtract(int parent, int child, size_t group) {
  for (size_t plane = 0; plane < planes_.n; ++plane) {
    const bool shared = apart_[group] != apart_[group + 1];
    const size_t first = shared ? apart_[group] : offset_[group];
    const size_t last = shared ? apart_[group + 1] : offset_[group + 1];
    const size_t begin = plane * planes_.n_sums + first * lanes_;
    kernels_.subtract(at(parent) + begin, at(child) + begin, (last - first) * lanes_);
  }
}

void Histograms::finish(int slot, size_t group) {
  const Group& shared = groups_.all()[used_[group]];
  if (shared.digits.empty()) return;
  for (size_t plane = 0; plane < planes_.n; ++plane) {
    int64_t* const hist = at(slot) + plane * planes_.n_sums;
    for (size_t lane = 0; lane < lanes_; ++lane)
      groups_.unbundle(shared, hist + offset_[group] * lanes_ + lane, apart_at_.data(), hist + lane,
                       lanes_);
  }
}

int64_t* Histograms::total(int slot, size_t plane) const {
  return at(slot) + plane * planes_.n_sums + block_at_ + block_sums_;
}

void Histograms::add_to_total(int slot, const RowIndex& rows, const PackedRows& packed,
                              int64_t sign) {
  for (size_t i = 0; i < rows.n; ++i) {
    const int32_t* const plane = planes_.of_row;
    *total(slot, plane == nullptr ? 0 : static_cast<size_t>(plane[rows[i]])) +=
        sign * packed.slots[rows[i]].packed;
  }
}

void Histograms::build_total(int slot, const RowIndex& rows, const PackedRows& packed) {
  for (size_t plane = 0; plane < planes_.n; ++plane) *total(slot, plane) = 0;
  add_to_total(slot, rows, packed, 1);
}

void Histograms::remove_from_total(int slot, const RowIndex& rows, const PackedRows& packed) {
  add_to_total(slot, rows, packed, -1);
}

void Histograms::subtract_total(int parent, int child) {
  for (size_t plane = 0; plane < planes_.n; ++plane) *total(parent, plane) -= *total(child, plane);
}

int64_t* Histograms::block(int slot, size_t block) const {
  const SparseCodes& codes = bins_.sparse_codes();
  return at(slot) + block_at_ + codes.place(codes.blocks()[block].first_feature);
}

void Histograms::build_block(int slot, size_t number, const RowIndex& rows,
                             const PackedRows& packed) {
  const SparseCodes::Block& own = bins_.sparse_codes().blocks()[number];
  int64_t* const sums = block(slot, number);
  for (size_t plane = 0; plane < planes_.n; ++plane)
    std::memset(sums + plane * planes_.n_sums, 0, own.n_sums * sizeof(int64_t));
  kernels_.sparse_histogram(own.start.data(), own.places, rows, planes_, packed.slots, 1, sums);
}

void Histograms::remove_from_block(int slot, size_t number, const RowIndex& rows,
                                   const PackedRows& packed) {
  const SparseCodes::Block& own = bins_.sparse_codes().blocks()[number];
  kernels_.sparse_histogram(own.start.data(), own.places, rows, planes_, packed.slots, -1,
                            block(slot, number));
}

void Histograms::subtract_block(int parent, int child, size_t number) {
  for (size_t plane = 0; plane < planes_.n; ++plane)
    kernels_.subtract(block(parent, number) + plane * planes_.n_sums,
                      block(child, number) + plane * planes_.n_sums,
                      bins_.sparse_codes().blocks()[number].n_sums);
}

// The sum of the default bin is the sum of all rows minus the other bins.
void Histograms::finish_block(int slot, size_t number) {
  const SparseCodes& codes = bins_.sparse_codes();
  const SparseCodes::Block& own = codes.blocks()[number];
  for (size_t plane = 0; plane < planes_.n; ++plane) {
    const int64_t all = *total(slot, plane);
    int64_t* packed_sums = block(slot, number) + plane * planes_.n_sums;
    for (size_t f = own.first_feature; f < own.last_feature; ++f) {
      const size_t span = bins_.span(f), default_bin = codes.default_bin(f);
      int64_t others = 0;
      for (size_t b = 0; b < span; ++b) others += packed_sums[b];
      if (default_bin < span)
        packed_sums[default_bin] =
            all - (others - packed_sums[default_bin]);  // else all cells are stored
      packed_sums += span;
    }
  }
}

void Histograms::remove_rows(int slot, const RowIndex& rows, const PackedRows& packed) {
  for (size_t i = 0; i < rows.n; ++i) {
    const int32_t* const plane = planes_.of_row;
    int64_t* const hist =
        at(slot) +
        (plane == nullptr ? 0 : static_cast<size_t>(plane[rows.listed[i]]) * planes_.n_sums);
    const size_t row = rows.listed[i] * bins_.row_stride();
    const auto remove = [&](size_t bin) {
      if (lanes_ == 1) {
        hist[bin] -= packed.slots[rows.listed[i]].packed;
        return;
      }
      kernels_.subtract(hist + bin * lanes_, packed.vectors + rows.listed[i] * lanes_, lanes_);
    };
    for (size_t j = 0; j < used_.size(); ++j) {
      const size_t code =
          bins_.wide() ? bins_.by_row16()[row + used_[j]] : bins_.by_row8()[row + used_[j]];
      if (apart_[j] == apart_[j + 1]) remove(offset_[j] + code);
      for (const Digit& digit : groups_.all()[used_[j]].digits)
        for (const uint32_t f : digit.features) remove(apart_at_[f] + groups_.decode(f)[code]);
    }
  }
}

}  // namespace stagewise
