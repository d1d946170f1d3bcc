// Sums over rows without rounding errors.
#include "bindings/bindings.hpp"
#include "core/exact_sum.hpp"

namespace stagewise {
namespace {

using Integers = nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>;

// The integers of sum w x for each code. values: null: all 1.
std::vector<int64_t> integers_of(const double* values, const double* weight, const int32_t* codes,
                                 size_t rows, size_t n_codes) {
  std::vector<ExactSum> sums(n_codes);
  const double* const plain = values != nullptr ? values : weight;
  for_each_block(rows, [&](size_t begin, size_t end) {
    if (codes == nullptr && plain != nullptr) {
      const double* const factor =
          values != nullptr && weight != nullptr ? weight + begin : nullptr;
      return sums[0].add_all(plain + begin, factor, end - begin);
    }
    for (size_t i = begin; i < end; ++i) {
      ExactSum& sum = sums[codes == nullptr ? 0 : static_cast<size_t>(codes[i])];
      if (weight != nullptr && values != nullptr) {
        sum.add_product(weight[i], values[i]);
      } else {
        sum.add(weight != nullptr ? weight[i] : values != nullptr ? values[i] : 1.0);
      }
    }
  });
  std::vector<int64_t> out;
  out.reserve(n_codes * ExactSum::kIntegers);
  for (ExactSum& sum : sums) out.insert(out.end(), sum.integers().begin(), sum.integers().end());
  return out;
}

Integers exact_sums(size_t rows, const std::optional<In<double>>& values, const Weight& weight,
                    const std::optional<In<int32_t>>& codes, size_t n_codes) {
  require(!values || values->shape(0) == rows, "one value per row");
  require(!weight || weight->shape(0) == rows, "one weight per row");
  require(!codes || codes->shape(0) == rows, "one code per row");
  require(codes || n_codes == 1, "one sum without codes");
  for (const int32_t code : span_of(codes))
    require(code >= 0 && static_cast<size_t>(code) < n_codes, "a code is out of range");
  auto owned = std::make_unique<std::vector<int64_t>>();
  {
    const GilRelease release;
    *owned = integers_of(values ? values->data() : nullptr, weight ? weight->data() : nullptr,
                         codes ? codes->data() : nullptr, rows, n_codes);
  }
  int64_t* const data = owned->data();
  return Integers(data, {n_codes, ExactSum::kIntegers}, capsule_of(std::move(owned)));
}

Out<double> round_exact_sums(
    const nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& integers) {
  require(integers.shape(1) == ExactSum::kIntegers, "a row of integers per sum");
  std::vector<double> out;
  for (size_t i = 0; i < integers.shape(0); ++i)
    out.push_back(ExactSum::of(integers.data() + i * ExactSum::kIntegers).value());
  return to_numpy(std::move(out));
}

}  // namespace

void bind_exact_sums(nb::module_& m) {
  m.def("exact_sums", exact_sums, "rows"_a, "values"_a.noconvert().none() = nb::none(),
        "weight"_a.noconvert().none() = nb::none(), "codes"_a.noconvert().none() = nb::none(),
        "n_codes"_a = 1);
  m.def("round_exact_sums", round_exact_sums, "integers"_a.noconvert());
}

}  // namespace stagewise
