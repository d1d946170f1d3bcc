// Shared by the binding files: arrays in and out, and shared objects. Arrays come in without
// conversion (a wrong dtype is an error, not a hidden copy), and results are arrays that own their
// memory. Arguments have types that nanobind converts without allocating: its conversions of
// containers, strings and shared pointers must not throw, so they would abort the process if memory
// is short. Lists come as nb::sequence.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>

#include "bindings/gil_release.hpp"
#include "binning/feature_coding.hpp"
#include "binning/sparse_table.hpp"
#include "core/columns.hpp"
#include "core/threads.hpp"
#include "grow/leaves/linear_leaves.hpp"
#include "grow/leaves/score_update.hpp"
#include "kernels/kernels.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace stagewise {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
using Weight = std::optional<In<double>>;     // none: every row counts once
using Multiplier = std::optional<In<float>>;  // how often it counts besides; none: once
template <class T>
std::span<const T> span_of(const In<T>& array) {
  return {array.data(), array.shape(0)};
}
template <class T>
std::span<const T> span_of(const std::optional<In<T>>& array) {  // none: empty
  return array ? span_of(*array) : std::span<const T>();
}
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
// Containers with the types of their items, for the signatures of the stub.
template <class... T>
using TupleOf = nb::typed<nb::tuple, T...>;
template <class T>
using ListOf = nb::typed<nb::list, T>;
template <class T>
using SequenceOf = nb::typed<nb::sequence, T>;

// float64 or float32, in signatures that nanobind cannot derive.
#define STAGEWISE_REAL_ARRAY \
  "numpy.typing.NDArray[numpy.float64] | numpy.typing.NDArray[numpy.float32]"
// Cuts, or the bins of categories.
#define STAGEWISE_CODING "numpy.typing.NDArray[numpy.float64] | numpy.typing.NDArray[numpy.uint32]"

// A capsule that owns an object.
template <class T>
nb::capsule capsule_of(std::unique_ptr<T> object) {
  nb::capsule owner(object.get(), [](void* p) noexcept { delete static_cast<T*>(p); });
  object.release();
  return owner;
}

template <class T>
Out<T> to_numpy(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owned->data();
  const size_t size = owned->size();
  return Out<T>(data, {size}, capsule_of(std::move(owned)));
}

// The item of a sequence; a TypeError if it is of another type.
template <class T>
T item_of(const nb::object& item) {
  T out;
  if (!nb::try_cast(item, out)) throw nb::type_error("an item of a list has the wrong type");
  return out;
}

template <class T>
std::vector<T> items_of(const nb::sequence& list) {
  std::vector<T> out;
  out.reserve(nb::len(list));
  for (nb::handle item : list) out.push_back(item_of<T>(nb::borrow(item)));
  return out;
}

template <class T>
nb::list list_of(std::vector<T>&& values) {
  nb::list out;
  for (T& value : values) out.append(std::move(value));
  return out;
}

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// The threads and the kernels of one fit or one call.
struct Engine {
  Engine(int threads, const char* isa) : workers(threads), kernels(kernels_for(isa)) {}
  Workers workers;
  const Kernels& kernels;
};

// Columns and the arrays they point into.
struct Table {
  Columns columns;
  std::vector<AnyArray> owners;
  std::vector<std::shared_ptr<double[]>> copies;  // of columns that the table owns
  std::optional<In<uint32_t>> index;

  explicit Table(const AnyArray& matrix);
  explicit Table(const nb::sequence& list);
  Table(const Table& whole, const In<uint32_t>& rows);
  // More columns behind those of a table, for all rows that its own have.
  Table(const Table& table, const nb::sequence& more);

 private:
  void append(const std::vector<AnyArray>& list);
};

// A sparse table and the arrays it points into; none where it has memory of its own.
struct SparseCells {
  SparseTable table;
  std::optional<In<int64_t>> start_owner;
  std::optional<In<uint32_t>> index_owner;
  std::optional<AnyArray> values_owner;

  SparseCells(const In<int64_t>& start, const In<uint32_t>& index, const AnyArray& values,
              size_t rows, size_t features, bool by_rows, double absent);
  explicit SparseCells(SparseTable own) : table(std::move(own)) {}

  // The same by rows, made at the first call.
  const SparseTable& by_rows() const;

 private:
  mutable std::mutex making_;
  mutable std::optional<SparseTable> rows_;
};

// Lines as Python holds them.
struct SharedLinearLeaves {
  std::shared_ptr<const LinearLeaves> linear_leaves;

  static std::shared_ptr<const LinearLeaves> of(const SharedLinearLeaves* shared) {
    return shared == nullptr ? nullptr : shared->linear_leaves;
  }
};

// The score update of a tree; checks the shapes of its arguments.
ScoreUpdate scores_of(const Tree& tree, const In<double>& value, const InOut<double>& score,
                      size_t rows, const SharedLinearLeaves* linear_leaves, const Table* table);

// Throws where the rules of a tree do not fit a table of so many features, or classes their rows.
struct TreeRules;
class Bins;
// The codings of the features: cuts, or bins of categories.
std::vector<FeatureCoding> codings_of(const nb::sequence& arrays);
void check_rules(const TreeRules& rules, size_t features);
void check_classes(const TreeRules& rules, const In<int32_t>& classes, size_t n_classes,
                   size_t rows);
void check_medians(const TreeRules& rules, const In<double>& target, const Bins& bins);

// Each adds its part of the module.
void bind_interruption(nb::module_& m);
void bind_exact_sums(nb::module_& m);
void bind_chunks(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_sparse(nb::module_& m);
void bind_elementary(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_query_loss(nb::module_& m);
void bind_distributions(nb::module_& m);
void bind_cox_loss(nb::module_& m);
void bind_aft_loss(nb::module_& m);
void bind_sampling(nb::module_& m);
void bind_grown_tree(nb::module_& m);
void bind_grower(nb::module_& m);
void bind_rounds(nb::module_& m);
void bind_forest_grower(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_target_encoding(nb::module_& m);
void bind_linear_leaves(nb::module_& m);
void bind_shap(nb::module_& m);
void bind_partial_dependence(nb::module_& m);

}  // namespace stagewise
