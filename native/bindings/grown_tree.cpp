// Bindings of a grown tree. Its state can be pickled: the ranks of a cluster send each other trees.
#include "bindings/bindings.hpp"
#include "grow/nodes/tree.hpp"

namespace stagewise {
namespace {

// Feature, threshold, missing_left, left, right, value, gain and cover of every node.
using TreeArrays = TupleOf<Out<int32_t>, Out<double>, Out<uint8_t>, Out<int32_t>, Out<int32_t>,
                           Out<double>, Out<double>, Out<double>>;

using TreeState = TupleOf<nb::object, nb::ellipsis>;

// The fields of a tree, to send it to another process. They are those of `take_state`, in order.
TreeState tree_state(const Tree& t) {
  return nb::make_tuple(to_numpy(std::vector(t.feature)), to_numpy(std::vector(t.bin)),
                        to_numpy(std::vector(t.threshold)), to_numpy(std::vector(t.set_start)),
                        to_numpy(std::vector(t.sets)), to_numpy(std::vector(t.n_categories)),
                        to_numpy(std::vector(t.missing_left)), to_numpy(std::vector(t.left)),
                        to_numpy(std::vector(t.right)), to_numpy(std::vector(t.value)),
                        to_numpy(std::vector(t.gain)), to_numpy(std::vector(t.cover)), t.outputs);
}

template <class T>
void take(std::vector<T>& to, nb::handle from) {
  const auto values = span_of(nb::cast<In<T>>(from));
  to.assign(values.begin(), values.end());
}

void take_state(Tree* self, const TreeState& state) {
  require(state.size() == 13, "the state of a tree has 13 fields");
  new (self) Tree();
  take(self->feature, state[0]);
  take(self->bin, state[1]);
  take(self->threshold, state[2]);
  take(self->set_start, state[3]);
  take(self->sets, state[4]);
  take(self->n_categories, state[5]);
  take(self->missing_left, state[6]);
  take(self->left, state[7]);
  take(self->right, state[8]);
  take(self->value, state[9]);
  take(self->gain, state[10]);
  take(self->cover, state[11]);
  self->outputs = nb::cast<size_t>(state[12]);
}

}  // namespace

void bind_grown_tree(nb::module_& m) {
  nb::class_<Tree>(m, "GrownTree")
      .def("arrays",
           [](const Tree& t) -> TreeArrays {
             return nb::make_tuple(
                 to_numpy(std::vector(t.feature)), to_numpy(std::vector(t.threshold)),
                 to_numpy(std::vector(t.missing_left)), to_numpy(std::vector(t.left)),
                 to_numpy(std::vector(t.right)), to_numpy(std::vector(t.value)),
                 to_numpy(std::vector(t.gain)), to_numpy(std::vector(t.cover)));
           })
      .def_prop_ro("outputs", [](const Tree& t) { return t.outputs; })
      .def("category_sets",
           [](const Tree& t) -> TupleOf<Out<int32_t>, Out<uint64_t>> {  // (start per node, bits)
             return nb::make_tuple(to_numpy(std::vector(t.set_start)),
                                   to_numpy(std::vector(t.sets)));
           })
      .def("__getstate__", &tree_state)
      .def("__setstate__", &take_state);
}

}  // namespace stagewise
