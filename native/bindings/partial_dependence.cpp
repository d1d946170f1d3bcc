// Bindings of partial dependence.
#include "predict/partial_dependence.hpp"

#include "bindings/bindings.hpp"

namespace stagewise {
namespace {

template <class T>
std::span<const T> span_of(const In<T>& a) {
  return {a.data(), a.shape(0)};
}

TupleOf<Out<double>, Out<double>> means_of(const In<uint64_t>& start, const In<int32_t>& feature,
                                           const In<int32_t>& left, const In<int32_t>& right,
                                           const In<double>& value, const In<double>& cover,
                                           size_t width) {
  require(cover.shape(0) == feature.shape(0) && value.shape(0) == width * feature.shape(0),
          "a cover and `width` values per node");
  const FlatTrees trees{span_of(start),
                        span_of(feature),
                        {},
                        {},
                        span_of(left),
                        span_of(right),
                        span_of(value),
                        width,
                        {},
                        {},
                        {},
                        nullptr};
  NodeMeans made = [&] {
    const GilRelease release;
    return node_means(trees, span_of(cover));
  }();
  return nb::make_tuple(to_numpy(std::move(made.share)), to_numpy(std::move(made.mean)));
}

void partial_dependence_add(const In<uint64_t>& start, const In<int32_t>& feature,
                            const In<double>& threshold, const In<uint8_t>& missing_left,
                            const In<int32_t>& left, const In<int32_t>& right,
                            const In<double>& share, const In<double>& mean, size_t width,
                            size_t outputs, const SequenceOf<TupleOf<int, In<double>>>& known,
                            const InOut<double>& out) {
  require(nb::len(known) == 1 || nb::len(known) == 2, "one or two known columns");
  require(share.shape(0) == feature.shape(0) && mean.shape(0) == width * feature.shape(0),
          "a share and `width` means per node");
  std::vector<GridAxis> axes;
  size_t cells = outputs;
  std::vector<In<double>> values;  // of each
  for (nb::handle axis : known) {
    const auto pair = item_of<nb::sequence>(nb::borrow(axis));
    require(nb::len(pair) == 2, "a known column is its number and its values");
    values.push_back(item_of<In<double>>(pair[1]));
    axes.push_back({item_of<int32_t>(pair[0]), span_of(values.back())});
    cells *= axes.back().places();
  }
  require(out.shape(0) == cells, "the surface has the wrong shape");
  const FlatTrees trees{span_of(start),
                        span_of(feature),
                        span_of(threshold),
                        span_of(missing_left),
                        span_of(left),
                        span_of(right),
                        {},
                        width,
                        {},
                        {},
                        {},
                        nullptr};
  const GilRelease release;
  add_partial_dependence(trees, span_of(share), span_of(mean), outputs, axes, out.data());
}

}  // namespace

void bind_partial_dependence(nb::module_& m) {
  m.def("node_means", &means_of, "start"_a.noconvert(), "feature"_a.noconvert(),
        "left"_a.noconvert(), "right"_a.noconvert(), "value"_a.noconvert(), "cover"_a.noconvert(),
        "width"_a);
  m.def("add_partial_dependence", &partial_dependence_add, "start"_a.noconvert(),
        "feature"_a.noconvert(), "threshold"_a.noconvert(), "missing_left"_a.noconvert(),
        "left"_a.noconvert(), "right"_a.noconvert(), "share"_a.noconvert(), "mean"_a.noconvert(),
        "width"_a, "outputs"_a, "known"_a, "out"_a.noconvert());
}

}  // namespace stagewise
