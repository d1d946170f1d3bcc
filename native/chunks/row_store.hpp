// What a fit has for every row (codes, target, score, …), divided into chunks of adjacent rows. A
// chunk is in memory, or in a file if there is no memory for all: a pass over the chunks then reads
// the fields that it needs and writes those that it changes, with plain reads and writes, since a
// disk that fails under a memory map ends the process. Every thread works on a chunk of its own.
// The chunks that are in memory are always the same, because a cache of recent chunks would never
// be hit by passes in a cycle. The file has no name, so it disappears with the process.
#pragma once

#include <array>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/large_array.hpp"
#include "core/shard.hpp"
#include "core/threads.hpp"

namespace stagewise {

enum class Field : uint8_t {
  codes,       // a row of a BinLayout
  target,      // a double or an int32_t
  weight,      // a double
  score,       // doubles: all rows of the first output, then of the next
  state,       // floats of losses with several outputs
  gradient,    // a GradientSlot
  rows,        // uint32_t: the rows of the chunk in the order of the leaves of a tree
  importance,  // a double: the squared importance of the row, by which it is drawn
  multiplier,  // a float: how often the row counts in a round
};
constexpr size_t kFields = 9;

class FieldSet {
 public:
  constexpr FieldSet(std::initializer_list<Field> fields) {
    for (const Field f : fields) bits_ |= 1u << static_cast<unsigned>(f);
  }
  constexpr bool has(size_t field) const { return (bits_ >> field & 1u) != 0; }

 private:
  unsigned bits_ = 0;
};

// The file cannot be made, read or written.
struct StoreError : std::runtime_error {
  StoreError(int code, const std::string& what) : std::runtime_error(what), error(code) {}
  int error;  // errno
};

struct StoreOptions {
  size_t rows = 0;
  uint64_t table_rows = 0;
  // The number, among all rows of the fit, of the first row of each block of kRowBlock rows; empty:
  // they are the first rows of the fit. All blocks but the last one are full.
  std::vector<uint64_t> first_rows;
  size_t chunk_rows = 65536;            // a multiple of kRowBlock
  std::array<size_t, kFields> width{};  // bytes of a field per row; 0: there is no such field
  size_t memory = SIZE_MAX;             // bytes
  const char* folder = nullptr;         // of the file; null: the memory is not limited
  int threads = 1;
};

class RowStore {
 public:
  explicit RowStore(const StoreOptions& options);
  ~RowStore();
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;

  size_t rows() const { return rows_; }
  uint64_t table_rows() const { return table_rows_; }
  size_t chunks() const { return (rows_ + chunk_rows_ - 1) / chunk_rows_; }
  size_t chunk_rows() const { return chunk_rows_; }
  size_t chunks_in_memory() const { return pinned_; }
  bool has(Field field) const { return width_[static_cast<size_t>(field)] > 0; }
  size_t width(Field field) const { return width_[static_cast<size_t>(field)]; }

  struct Chunk {
    size_t index, begin, n;  // begin: its first row in the store
    std::array<uint8_t*, kFields> data;

    template <class T>
    T* get(Field field) const {
      return reinterpret_cast<T*>(data[static_cast<size_t>(field)]);
    }
  };

  // body(chunk, worker) for every chunk; needed(index): whether the chunk is visited.
  template <class Needed, class Body>
  void visit(Workers& workers, FieldSet reads, FieldSet writes, Needed&& needed, Body&& body) {
    workers.run(chunks(), [&](size_t index, int worker) {
      if (!needed(index)) return;
      const Chunk chunk = open(index, static_cast<size_t>(worker), reads);
      body(chunk, static_cast<size_t>(worker));
      close(chunk, writes);
    });
  }
  template <class Body>
  void visit(Workers& workers, FieldSet reads, FieldSet writes, Body&& body) {
    visit(workers, reads, writes, [](size_t) { return true; }, body);
  }

  // body(chunk) for one chunk, while no other one is visited.
  template <class Body>
  void visit_one(size_t index, FieldSet reads, FieldSet writes, Body&& body) {
    const Chunk chunk = open(index, 0, reads);
    body(chunk);
    close(chunk, writes);
  }

  // body(begin, n, first_row) for the blocks of a chunk. begin: in the chunk; first_row: its number
  // among all rows of the fit.
  template <class Body>
  void for_each_block(const Chunk& chunk, Body&& body) const {
    for (size_t begin = 0; begin < chunk.n; begin += kRowBlock) {
      const size_t at = chunk.begin + begin;
      body(begin, chunk.n - begin < kRowBlock ? chunk.n - begin : kRowBlock,
           first_rows_.empty() ? at : first_rows_[at / kRowBlock]);
    }
  }

  // Removes a field.
  void drop(Field field);

  // Rows [begin, begin + n) of a field with one item per row.
  void write(Field field, size_t begin, size_t n, const void* data);
  void read(Field field, size_t begin, size_t n, void* data);

 private:
  Chunk open(size_t index, size_t worker, FieldSet reads);
  void close(const Chunk& chunk, FieldSet writes);
  size_t rows_of(size_t index) const;
  uint8_t* pinned(size_t field, size_t index) const;
  void transfer(bool writes, uint8_t* data, size_t bytes, size_t at) const;
  void make_file(const char* folder);
  template <class Part>
  void for_each_part(size_t begin, size_t n, Part&& part) const;

  size_t rows_;
  uint64_t table_rows_;
  std::vector<uint64_t> first_rows_;
  size_t chunk_rows_;
  std::array<size_t, kFields> width_;
  size_t pinned_ = 0;  // chunks in memory: the first ones
  std::array<LargeArray<uint8_t>, kFields> in_memory_;
  std::array<size_t, kFields> file_at_{};  // where the field begins in the file
  std::vector<std::array<LargeArray<uint8_t>, kFields>> buffers_;  // per thread
  int file_ = -1;
};

}  // namespace stagewise
