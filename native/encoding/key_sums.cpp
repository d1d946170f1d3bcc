#include "encoding/key_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/interrupt.hpp"
#include "core/random.hpp"

namespace stagewise {

std::vector<uint8_t> draw_encoding_folds(size_t rows, uint64_t first_row, uint64_t seed,
                                         uint64_t version) {
  static_assert(std::has_single_bit(kEncodingFolds));
  constexpr int shift = 64 - std::countr_zero(kEncodingFolds);
  const uint64_t key = draw_key(seed, Draw::target_encoding, version);
  std::vector<uint8_t> fold(rows);
  for (size_t i = 0; i < rows; ++i)
    fold[i] = static_cast<uint8_t>(draw(key, first_row + i) >> shift);
  return fold;
}

void KeyIndex::find(const Columns& table) {
  if (sources_.size() == 1) return;
  for_each_block(table.rows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) found_.add(key_of(table, sources_, i));
  });
}

std::vector<uint64_t> KeyIndex::keys() const {
  std::vector<uint64_t> keys = found_.keys();
  std::sort(keys.begin(), keys.end());
  return keys;
}

void KeyIndex::set_keys(std::span<const uint64_t> keys) {
  found_ = KeyNumbers(keys.size());
  for (const uint64_t key : keys) found_.add(key);
}

std::vector<uint32_t> KeyIndex::numbers(const Columns& table) const {
  std::vector<uint32_t> number(table.rows);
  const auto unknown = static_cast<uint32_t>(n_keys());
  for_each_block(table.rows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const uint64_t key = key_of(table, sources_, i);
      number[i] = sources_.size() == 1 ? static_cast<uint32_t>(key) : found_.find(key, unknown);
    }
  });
  return number;
}

void add_key_sums(std::span<const uint32_t> number, const KeyTerms& terms, size_t n_numbers,
                  int64_t* sums) {
  for_each_block(number.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (terms.fold[i] == kNoFold) continue;
      int64_t* sum = sums + 2 * (terms.fold[i] * n_numbers + number[i]);
      sum[0] += std::llrint(terms.pairs[2 * i] * terms.g_scale);
      sum[1] += std::llrint(terms.pairs[2 * i + 1] * terms.h_scale);
    }
  });
}

std::vector<float> look_up_keys(std::span<const uint32_t> number, std::span<const uint8_t> fold,
                                size_t n_numbers, const float* values) {
  std::vector<float> out(number.size());
  for_each_block(number.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = values[fold[i] * n_numbers + number[i]];
  });
  return out;
}

}  // namespace stagewise
