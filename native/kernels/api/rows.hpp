// The rows of a node and the codes of a feature, as kernels read them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

// The rows of a node: the listed ones, or n of them from `first` on where the list is null.
struct RowIndex {
  const uint32_t* listed = nullptr;
  uint32_t first = 0;
  size_t n = 0;

  uint32_t operator[](size_t i) const {
    return listed == nullptr ? first + static_cast<uint32_t>(i) : listed[i];
  }
  RowIndex part(size_t begin, size_t count) const {
    return {listed == nullptr ? nullptr : listed + begin, first + static_cast<uint32_t>(begin),
            count};
  }
};

// A row and the code it has of some feature.
struct SortedRow {
  uint32_t row, rank;
};

// The codes of one feature: a column, or a place in every row, perhaps of a code that is shared.
template <class Code>
struct FeatureCodes {
  const Code* codes;
  size_t stride = 1;
  const uint8_t* decode = nullptr;
};

}  // namespace stagewise
