// Room for numbers in a function that is called for every node of a tree: it needs memory of its
// own only if they are many.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagewise {

class ShortList {
 public:
  explicit ShortList(size_t n) : many_(n > kFew ? n : 0) {}
  ShortList(const ShortList&) = delete;
  ShortList& operator=(const ShortList&) = delete;

  uint32_t& operator[](size_t i) { return many_.empty() ? few_[i] : many_[i]; }
  uint32_t operator[](size_t i) const { return many_.empty() ? few_[i] : many_[i]; }

 private:
  static constexpr size_t kFew = 128;
  std::array<uint32_t, kFew> few_;
  std::vector<uint32_t> many_;
};

}  // namespace stagewise
