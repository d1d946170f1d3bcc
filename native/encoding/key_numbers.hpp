// Numbers of keys: the n-th new key gets the number n. A hash table with open addressing, at most
// half full.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/random.hpp"

namespace stagewise {

class KeyNumbers {
 public:
  explicit KeyNumbers(size_t expected = 0) { resize(2 * expected); }

  // In the order of their numbers.
  const std::vector<uint64_t>& keys() const { return keys_; }

  uint32_t find(uint64_t key, uint32_t otherwise) const {
    const size_t at = place(key);
    return slot_[at].key == key ? slot_[at].number : otherwise;
  }
  void add(uint64_t key) {
    size_t at = place(key);
    if (slot_[at].key == key) return;
    if (keys_.size() == std::numeric_limits<uint32_t>::max())
      throw std::length_error("too many combinations of categories");
    if (2 * (keys_.size() + 1) > slot_.size()) {
      resize(2 * slot_.size());
      at = place(key);
    }
    slot_[at] = {key, static_cast<uint32_t>(keys_.size())};
    keys_.push_back(key);
  }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  struct Slot {
    uint64_t key = kNone;
    uint32_t number = 0;
  };

  void resize(size_t least) {
    size_t slots = 2;
    while (slots < least) slots *= 2;
    slot_.assign(slots, Slot());
    for (size_t i = 0; i < keys_.size(); ++i)
      slot_[place(keys_[i])] = {keys_[i], static_cast<uint32_t>(i)};
  }

  size_t place(uint64_t key) const {
    size_t at = mix64(key + 1) & (slot_.size() - 1);
    while (slot_[at].key != key && slot_[at].key != kNone) at = (at + 1) & (slot_.size() - 1);
    return at;
  }

  std::vector<Slot> slot_;
  std::vector<uint64_t> keys_;
};

}  // namespace stagewise
