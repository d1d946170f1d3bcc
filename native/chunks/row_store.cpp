#include "chunks/row_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stagewise {
namespace {

constexpr size_t kBehind = 64;  // bytes that kernels may read behind the last row

[[noreturn]] void fail(const char* what) {
  const int error = errno;
  throw StoreError(error, std::string(what) + ": " + std::strerror(error));
}

}  // namespace

RowStore::RowStore(const StoreOptions& options)
    : rows_(options.rows),
      table_rows_(options.table_rows),
      first_rows_(options.first_rows),
      chunk_rows_(options.chunk_rows),
      width_(options.width) {
  if (chunk_rows_ == 0 || chunk_rows_ % kRowBlock != 0)
    throw std::invalid_argument("chunks begin at a multiple of 1024");
  if (!first_rows_.empty() && first_rows_.size() != (rows_ + kRowBlock - 1) / kRowBlock)
    throw std::invalid_argument("one first row per block of 1024 rows");
  for (const uint64_t first : first_rows_)
    if (first % kRowBlock != 0 || first >= table_rows_)
      throw std::invalid_argument("blocks begin at a multiple of 1024, within the table");
  size_t row_bytes = 0;
  for (const size_t w : width_) row_bytes += w;
  const size_t chunk_bytes = row_bytes * chunk_rows_;
  pinned_ = chunks();
  if (options.folder != nullptr && options.memory / std::max<size_t>(chunk_bytes, 1) < chunks()) {
    const auto buffers = static_cast<size_t>(options.threads);
    const size_t fit = options.memory / std::max<size_t>(chunk_bytes, 1);
    if (fit < buffers)
      throw std::invalid_argument("the memory limit is smaller than one chunk per thread");
    pinned_ = fit - buffers;
    buffers_.resize(buffers);
  }
  size_t file_bytes = 0;
  for (size_t f = 0; f < kFields; ++f) {
    if (width_[f] == 0) continue;
    in_memory_[f] =
        make_large_array<uint8_t>(std::min(rows_, pinned_ * chunk_rows_) * width_[f] + kBehind);
    for (auto& buffer : buffers_)
      buffer[f] = make_large_array<uint8_t>(chunk_rows_ * width_[f] + kBehind);
    file_at_[f] = file_bytes;
    if (pinned_ < chunks()) file_bytes += (chunks() - pinned_) * chunk_rows_ * width_[f];
  }
  if (file_bytes == 0) return;
  make_file(options.folder);
  const int error = posix_fallocate(file_, 0, static_cast<off_t>(file_bytes));
  if (error == 0) return;
  ::close(file_);
  errno = error;
  fail("no space for the rows");
}

RowStore::~RowStore() {
  if (file_ >= 0) ::close(file_);
}

// A file without a name.
void RowStore::make_file(const char* folder) {
  file_ = ::open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return;
  std::string path = std::string(folder) + "/stagewise-XXXXXX";
  file_ = mkostemp(path.data(), O_CLOEXEC);
  if (file_ < 0) fail("no file for the rows can be made");
  unlink(path.c_str());
}

size_t RowStore::rows_of(size_t index) const {
  return std::min(chunk_rows_, rows_ - index * chunk_rows_);
}

uint8_t* RowStore::pinned(size_t field, size_t index) const {
  return in_memory_[field].get() + index * chunk_rows_ * width_[field];
}

void RowStore::transfer(bool writes, uint8_t* data, size_t bytes, size_t at) const {
  while (bytes > 0) {
    const auto place = static_cast<off_t>(at);
    const ssize_t done =
        writes ? pwrite(file_, data, bytes, place) : pread(file_, data, bytes, place);
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = EIO;
    if (done <= 0) fail(writes ? "rows cannot be written" : "rows cannot be read");
    data += done;
    bytes -= static_cast<size_t>(done);
    at += static_cast<size_t>(done);
  }
}

RowStore::Chunk RowStore::open(size_t index, size_t worker, FieldSet reads) {
  Chunk chunk{index, index * chunk_rows_, rows_of(index), {}};
  for (size_t f = 0; f < kFields; ++f) {
    if (width_[f] == 0) continue;
    if (index < pinned_) {
      chunk.data[f] = pinned(f, index);
      continue;
    }
    chunk.data[f] = buffers_[worker][f].get();
    if (reads.has(f))
      transfer(false, chunk.data[f], chunk.n * width_[f],
               file_at_[f] + (index - pinned_) * chunk_rows_ * width_[f]);
  }
  return chunk;
}

void RowStore::close(const Chunk& chunk, FieldSet writes) {
  if (chunk.index < pinned_) return;
  for (size_t f = 0; f < kFields; ++f)
    if (width_[f] > 0 && writes.has(f))
      transfer(true, chunk.data[f], chunk.n * width_[f],
               file_at_[f] + (chunk.index - pinned_) * chunk_rows_ * width_[f]);
}

void RowStore::drop(Field field) {
  const auto f = static_cast<size_t>(field);
  width_[f] = 0;
  in_memory_[f].reset();
  for (auto& buffer : buffers_) buffer[f].reset();
}

// part(index of the chunk, first row in it, rows, rows before) for the chunks of a range of rows.
template <class Part>
void RowStore::for_each_part(size_t begin, size_t n, Part&& part) const {
  if (begin > rows_ || n > rows_ - begin) throw std::invalid_argument("no such rows");
  for (size_t done = 0; done < n;) {
    const size_t index = (begin + done) / chunk_rows_, first = (begin + done) % chunk_rows_;
    const size_t rows = std::min(n - done, rows_of(index) - first);
    part(index, first, rows, done);
    done += rows;
  }
}

void RowStore::write(Field field, size_t begin, size_t n, const void* data) {
  const auto f = static_cast<size_t>(field);
  auto* const from = static_cast<uint8_t*>(const_cast<void*>(data));
  for_each_part(begin, n, [&](size_t index, size_t first, size_t rows, size_t done) {
    uint8_t* const part = from + done * width_[f];
    if (index < pinned_) {
      std::memcpy(pinned(f, index) + first * width_[f], part, rows * width_[f]);
    } else {
      transfer(true, part, rows * width_[f],
               file_at_[f] + ((index - pinned_) * chunk_rows_ + first) * width_[f]);
    }
  });
}

void RowStore::read(Field field, size_t begin, size_t n, void* data) {
  const auto f = static_cast<size_t>(field);
  auto* const to = static_cast<uint8_t*>(data);
  for_each_part(begin, n, [&](size_t index, size_t first, size_t rows, size_t done) {
    uint8_t* const part = to + done * width_[f];
    if (index < pinned_) {
      std::memcpy(part, pinned(f, index) + first * width_[f], rows * width_[f]);
    } else {
      transfer(false, part, rows * width_[f],
               file_at_[f] + ((index - pinned_) * chunk_rows_ + first) * width_[f]);
    }
  });
}

}  // namespace stagewise
