// The other processes of a fit, each of which has some of the rows. All of them make the same calls
// in the same order.
#pragma once

#include <cstdint>
#include <span>

namespace stagewise {

class Exchange {
 public:
  virtual ~Exchange() = default;
  // Replaces each number by its sum, or by its maximum, over all processes.
  virtual void sum(std::span<int64_t> values) = 0;
  virtual void max(std::span<int64_t> values) = 0;
};

}  // namespace stagewise
