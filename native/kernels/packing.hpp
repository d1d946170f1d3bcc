// Packs pairs of floats (core/fixed_point.hpp), rounded to nearest or stochastically by a hash of
// the row.
#pragma once

#include "core/random.hpp"
#include "kernels/api/packing.hpp"

namespace stagewise {
namespace {

constexpr size_t kPackBlock = 512;

// What is added before rounding down: a half, or a number in (0, 1) from a hash of the row.
void rounding_offsets(const Packing& packing, uint64_t first_row, size_t n, float* g, float* h) {
  if (!packing.stochastic) {
    for (size_t i = 0; i < n; ++i) g[i] = h[i] = 0.5f;
    return;
  }
  const uint32_t key = block_key(packing.key, first_row), low = static_cast<uint32_t>(first_row);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t u = draw32(key, low + static_cast<uint32_t>(i));
    g[i] = static_cast<float>(static_cast<int32_t>(u & 0xffffu)) * 0x1p-16f + 0x1p-17f;
    h[i] = static_cast<float>(static_cast<int32_t>(u >> 16)) * 0x1p-16f + 0x1p-17f;
  }
}

int32_t round_down(float x) {
  const auto towards_zero = static_cast<int32_t>(x);
  return towards_zero - static_cast<int32_t>(static_cast<float>(towards_zero) > x);
}

int64_t make_packed(int64_t gradient, int64_t hessian) {
  return static_cast<int64_t>(static_cast<uint64_t>(gradient) << 32) + hessian;
}

int64_t pack_block(GradientSlot* slots, const double* weight, size_t n, uint64_t first_row,
                   const Packing& packing) {
  float ug[kPackBlock], uh[kPackBlock];
  int32_t g[kPackBlock], h[kPackBlock];
  rounding_offsets(packing, first_row, n, ug, uh);
  const auto gs = static_cast<float>(packing.scales.gradient);
  const auto hs = static_cast<float>(packing.scales.hessian);
  const bool whole = weight != nullptr && packing.whole_weights;
  if (whole) {
    // A row of weight 0 did not contribute to the scale, so it could overflow.
    for (size_t i = 0; i < n; ++i)
      if (weight[i] == 0.0) slots[i].pair = {0.0f, 0.0f};
  }
  if (weight != nullptr && !whole) {
    for (size_t i = 0; i < n; ++i) {
      const auto w = static_cast<float>(weight[i]);
      g[i] = round_down(slots[i].pair.gradient * w * gs + ug[i]);
      h[i] = round_down(slots[i].pair.hessian * w * hs + uh[i]);
    }
  } else {
    for (size_t i = 0; i < n; ++i) {
      g[i] = round_down(slots[i].pair.gradient * gs + ug[i]);
      h[i] = round_down(slots[i].pair.hessian * hs + uh[i]);
    }
  }
  int64_t sum = 0;
  if (whole) {
    for (size_t i = 0; i < n; ++i) {
      const auto w = static_cast<int64_t>(weight[i]);
      slots[i].packed = make_packed(g[i] * w, h[i] * w);
      sum += slots[i].packed;
    }
  } else {
    for (size_t i = 0; i < n; ++i) {
      slots[i].packed = make_packed(g[i], h[i]);
      sum += slots[i].packed;
    }
  }
  return sum;
}

int64_t pack(GradientSlot* slots, const double* weight, size_t n, uint64_t first_row,
             const Packing& packing) {
  int64_t sum = 0;
  for (size_t at = 0; at < n; at += kPackBlock) {
    const size_t size = n - at < kPackBlock ? n - at : kPackBlock;
    sum += pack_block(slots + at, weight != nullptr ? weight + at : nullptr, size, first_row + at,
                      packing);
  }
  return sum;
}

}  // namespace
}  // namespace stagewise
