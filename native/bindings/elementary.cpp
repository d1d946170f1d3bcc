// exp, log and related functions with the same bits on every machine.
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
  const auto def = [&](const char* name,
                       void (*ElementaryKernels::*function)(const double*, size_t, double*)) {
    m.def(
        name,
        [=](const In<double>& x, const Engine* workers) { return apply(workers, x, function); },
        "x"_a.noconvert(), "workers"_a.none() = nb::none());
  };
  def("exp", &ElementaryKernels::exp);
  def("log", &ElementaryKernels::log);
  def("expm1", &ElementaryKernels::expm1);
  def("log1p", &ElementaryKernels::log1p);
  def("log_gamma", &ElementaryKernels::log_gamma);
  def("digamma", &ElementaryKernels::digamma);
  def("trigamma", &ElementaryKernels::trigamma);
  def("scaled_erfc", &ElementaryKernels::scaled_erfc);
}

}  // namespace stagewise
