// What the binding files share: arrays in and out, and the objects that several of them know.
//
// Arrays come in without conversion (a wrong dtype is an error, not a hidden copy) and results go
// out as arrays that own their memory.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>

#include "arrays.hpp"
#include "kernels.hpp"
#include "lines.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace stagewise {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Weight = std::optional<In<double>>;  // none: every row counts once
using Times = std::optional<In<float>>;    // how often it counts besides; none: once
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

template <class T>
Out<T> to_numpy(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), {owned->size()}, owner);
}

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// The threads and the kernels of one fit or one call.
struct Engine {
  Engine(int threads, const std::string& isa) : workers(threads), kernels(kernels_for(isa)) {}
  Workers workers;
  const Kernels& kernels;
};

// Columns and the arrays they point into.
struct Table {
  Columns columns;
  std::vector<AnyArray> owners;
  std::vector<std::shared_ptr<double[]>> copies;  // of columns that are nobody else's
  std::optional<In<uint32_t>> index;

  explicit Table(const AnyArray& matrix);
  explicit Table(const std::vector<AnyArray>& list);
  Table(const Table& whole, const In<uint32_t>& rows);
};

// A tree's constants and lines as the core takes them; checks that they belong together.
LeafValues leaf_values(const In<double>& value, const Lines* lines, const Table* table,
                       size_t nodes, size_t rows);

// Each adds its part of the module.
void bind_tables(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_lines(nb::module_& m);

}  // namespace stagewise
