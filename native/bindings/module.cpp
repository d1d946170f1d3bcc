// The native module: bindings check shapes, release the GIL and call the core. They compute
// nothing.
#include "bindings/bindings.hpp"

NB_MODULE(_native, m) {
  using namespace stagewise;
  m.doc() = "The native core of Stagewise: arrays in, arrays out.";
  m.def("supported_isas", [] {
    ListOf<nb::str> names;
    for (const std::string& name : supported_isas()) names.append(name.c_str());
    return names;
  });
  nb::class_<Engine>(m, "Workers")
      .def(nb::init<int, const char*>(), "threads"_a, "isa"_a = "")
      .def_prop_ro("threads", [](const Engine& e) { return e.workers.threads(); })
      .def_prop_ro("isa", [](const Engine& e) { return e.kernels.name; });

  bind_interruption(m);
  bind_linear_leaves(m);
  bind_exact_sums(m);
  bind_tables(m);
  bind_sparse(m);
  bind_elementary(m);
  bind_losses(m);
  bind_query_loss(m);
  bind_distributions(m);
  bind_cox_loss(m);
  bind_aft_loss(m);
  bind_sampling(m);
  bind_grown_tree(m);
  bind_grower(m);
  bind_rounds(m);
  bind_chunks(m);
  bind_forest_grower(m);
  bind_forest(m);
  bind_target_encoding(m);
  bind_shap(m);
  bind_partial_dependence(m);
}
