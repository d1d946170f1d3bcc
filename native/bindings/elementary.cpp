// exp and log with the same bits on every machine.
#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

Out<double> apply(const Engine* engine, const In<double>& x,
                  void (*ElementaryKernels::*function)(const double*, size_t, double*)) {
  const Kernels& kernels = engine == nullptr ? kernels_for("") : engine->kernels;
  std::vector<double> out(x.shape(0));
  {
    const GilRelease release;
    for_each_block(out.size(), [&](size_t begin, size_t end) {
      (kernels.*function)(x.data() + begin, end - begin, out.data() + begin);
    });
  }
  return to_numpy(std::move(out));
}

}  // namespace

void bind_elementary(nb::module_& m) {
  m.def(
      "exp",
      [](const In<double>& x, const Engine* workers) {
        return apply(workers, x, &ElementaryKernels::exp);
      },
      "x"_a.noconvert(), "workers"_a.none() = nb::none());
  m.def(
      "log",
      [](const In<double>& x, const Engine* workers) {
        return apply(workers, x, &ElementaryKernels::log);
      },
      "x"_a.noconvert(), "workers"_a.none() = nb::none());
}

}  // namespace stagewise
