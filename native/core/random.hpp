// Stateless random numbers: hashes of (seed, purpose, index), so they do not depend on the order of
// the draws. Static functions only, because this file is compiled once per instruction set.
#pragma once

#include <cstdint>

namespace stagewise {

// What a random number is used for; keeps the streams apart.
enum class Draw : uint64_t {
  rounding = 1,
  rows = 2,
  features = 3,
  cuts = 4,
  rounds = 5,
  thresholds = 6,
  target_encoding = 7,
  held_out = 8
};

static inline uint64_t mix64(uint64_t x) {  // the finaliser of SplitMix64 (Steele et al. 2014)
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static inline uint64_t draw_key(uint64_t seed, Draw purpose, uint64_t a, uint64_t b = 0) {
  uint64_t x = mix64(seed + 0x9e3779b97f4a7c15ull * static_cast<uint64_t>(purpose));
  x = mix64(x ^ (a + 0x9e3779b97f4a7c15ull));
  return mix64(x ^ (b + 0xd1b54a32d192ed03ull));
}

static inline uint64_t draw(uint64_t key, uint64_t index) {
  return mix64(key + 0x9e3779b97f4a7c15ull * (index + 1));
}

static inline double unit_draw(uint64_t key, uint64_t index) {  // in [0, 1)
  return static_cast<double>(draw(key, index) >> 11) * 0x1p-53;
}

// The key of draw32() for rows that share the upper half of their numbers.
static inline uint32_t block_key(uint32_t key, uint64_t row) {
  const uint64_t high = row >> 32;
  return high == 0 ? key : static_cast<uint32_t>(mix64(key + 0x9e3779b97f4a7c15ull * high));
}

// A 32-bit hash for the two roundings of one row: cheap enough to vectorise on every machine.
static inline uint32_t draw32(uint32_t key, uint32_t index) {
  uint32_t x = index * 0x9e3779b1u + key;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

}  // namespace stagewise
