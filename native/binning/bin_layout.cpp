#include "binning/bin_layout.hpp"

#include <stdexcept>

namespace stagewise {
namespace {

// Pads rows if that keeps them from crossing two cache lines.
size_t padded_row(size_t bytes) {
  constexpr size_t kLine = 64;
  size_t padded = bytes <= kLine ? 1 : (bytes + kLine - 1) / kLine * kLine;
  while (padded < bytes) padded *= 2;
  return padded * 100 <= bytes * 115 ? padded : bytes;
}

}  // namespace

BinLayout::BinLayout(std::vector<FeatureCoding> own)
    : codings(std::move(own)), has_missing(codings.size(), 0) {
  for (const FeatureCoding& c : codings) {
    value_bins.push_back(c.bins());
    if (c.bins() > 65535) throw std::invalid_argument("at most 65,535 bins per feature");
    wide = wide || c.bins() + 1 > 256;  // bins and the missing one
  }
}

std::shared_ptr<BinLayout> BinLayout::of_ranks(std::vector<FeatureCoding> own) {
  auto layout = std::make_shared<BinLayout>(std::vector<FeatureCoding>{});
  for (const FeatureCoding& c : own) layout->value_bins.push_back(c.bins());
  layout->has_missing.assign(own.size(), 0);
  layout->codings = std::move(own);
  return layout;
}

void BinLayout::set_groups(FeatureGroups own) {
  groups.emplace(std::move(own));
  const size_t bytes = wide ? 2 : 1;
  row_stride = padded_row(groups->all().size() * bytes) / bytes;
}

void BinLayout::group_without_rows() {
  std::vector<uint32_t> spans;
  for (size_t f = 0; f < features(); ++f) spans.push_back(span(f));
  set_groups(FeatureGroups(spans));
}

}  // namespace stagewise
