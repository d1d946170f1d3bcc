// Sums over the rows of each key, for target encodings by cross fitting: the rows are divided into
// folds, and a row is encoded by the rows of the other folds. Terms are rounded to multiples of a
// power of two and added as whole numbers, so neither the order of the rows nor their division
// among threads, chunks and machines changes a sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/columns.hpp"
#include "encoding/key_numbers.hpp"
#include "encoding/target_encoding.hpp"

namespace stagewise {

inline constexpr uint32_t kEncodingFolds = 8;
// The fold of a row that is not learned from.
inline constexpr uint8_t kNoFold = kEncodingFolds;

// The fold of each of some rows that follow each other.
std::vector<uint8_t> draw_encoding_folds(size_t rows, uint64_t first_row, uint64_t seed,
                                         uint64_t version);

// The keys of one kind. With one source the number of a key is its place; with several, it is its
// rank among the keys that were found, and all other keys share the next number.
class KeyIndex {
 public:
  explicit KeyIndex(CategorySources sources) : sources_(std::move(sources)) {}

  // Adds the keys of the rows of a table.
  void find(const Columns& table);
  // The keys that were found, increasing; empty with one source.
  std::vector<uint64_t> keys() const;
  // Numbers are those of these keys, which are increasing.
  void set_keys(std::span<const uint64_t> keys);
  size_t n_keys() const {
    return sources_.size() == 1 ? sources_[0].places() : found_.keys().size();
  }
  std::vector<uint32_t> numbers(const Columns& table) const;

 private:
  CategorySources sources_;
  KeyNumbers found_;
};

// The pairs (g, h) of rows, and the factors that make whole numbers of them.
struct KeyTerms {
  std::span<const uint8_t> fold;
  const float* pairs;
  double g_scale, h_scale;
};

// Adds the rows of folds to sums[2 * (fold * n_numbers + number)] (g) and the one behind it (h).
void add_key_sums(std::span<const uint32_t> number, const KeyTerms& terms, size_t n_numbers,
                  int64_t* sums);

// values[fold * n_numbers + number] of each row.
std::vector<float> look_up_keys(std::span<const uint32_t> number, std::span<const uint8_t> fold,
                                size_t n_numbers, const float* values);

}  // namespace stagewise
