// Histograms of packed gradients: one flat array of 64-bit sums per node.
//
// One idea: features lie behind each other, each with exactly its own number of bins (a common
// power-of-two stride would make them fight for the same cache sets), and slots are recycled.
// Features that share a code have one joint histogram; marginalise() takes it apart for a search.
#pragma once

#include <memory>

#include "bins.hpp"
#include "gradients.hpp"

namespace stagewise {

class Histograms {
 public:
  Histograms(const Bins& bins, const Kernels& kernels, Workers& workers)
      : bins_(bins), kernels_(kernels), workers_(workers) {}

  // The features that the next tree may use, in increasing order.
  void use_features(const std::vector<uint32_t>& features);

  int acquire();  // an uninitialised slot
  void release(int slot) { free_.push_back(slot); }
  int64_t* at(int slot) { return slots_[static_cast<size_t>(slot)].get(); }
  // The bins of the feature at a position of the list; of a shared one, of the slot that was
  // marginalised last.
  const int64_t* feature(int slot, size_t position) {
    const Position& p = positions_[position];
    return p.shared ? marginals_.data() + p.at : at(slot) + p.at;
  }
  void marginalise(int slot);
  size_t size() const { return offset_.back(); }

  void build(int slot, const uint32_t* rows, size_t n, const Gradients& gradients);
  int64_t total(int slot);  // the sum over all rows: any feature's bins hold it
  void subtract(int parent, int child);
  // Takes a few rows out of a histogram without building theirs.
  void remove(int slot, const uint32_t* rows, size_t n, const Gradients& gradients);

 private:
  void add_rows(int64_t* hist, size_t first, size_t last, const uint32_t* rows, size_t n,
                const Gradients& gradients) const;
  void build_by_feature_blocks(int64_t* hist, const uint32_t* rows, size_t n, const Gradients& g);
  void build_by_rows(int64_t* hist, const uint32_t* rows, size_t n, const Gradients& g);

  const Bins& bins_;
  const Kernels& kernels_;
  Workers& workers_;
  struct Position {  // where a feature's bins are: in a slot, or in marginals_
    bool shared = false;
    size_t at = 0;
  };

  std::vector<uint32_t> features_;
  std::vector<Position> positions_;  // per feature of the list
  std::vector<uint32_t> used_;       // the groups of these features
  std::vector<size_t> marginal_at_;  // per feature of the table: its place in marginals_
  std::vector<int64_t> marginals_, joint_;
  bool all_groups_ = true;
  std::vector<uint32_t> offset_;  // per used group
  size_t capacity_ = 0;
  std::vector<std::unique_ptr<int64_t[]>> slots_;
  std::vector<std::unique_ptr<int64_t[]>> own_;  // one per helper thread
  std::vector<int> free_;
};

}  // namespace stagewise
