#include "grow/leaves/linear_leaves.hpp"

#include <algorithm>
#include <stdexcept>

namespace stagewise {
namespace {

constexpr size_t kBlock = 128;  // rows whose sums stay in the first-level cache

template <class Real>
void add_term(const Column& column, const size_t* at, size_t n, double slope, double centre,
              double* sums) {
  for (size_t i = 0; i < n; ++i) {
    const char* const x = column.data + static_cast<ptrdiff_t>(at[i]) * column.stride;
    sums[i] += slope * (static_cast<double>(*reinterpret_cast<const Real*>(x)) - centre);
  }
}

}  // namespace

LinearLeaves::LinearLeaves(const FlatLinearLeaves& flat, size_t nodes, size_t features)
    : features_(features), of_node_(nodes, -1) {
  const size_t n = flat.node.size(), terms = flat.feature.size();
  for (const size_t size : {flat.intercept.size(), flat.low.size(), flat.high.size(),
                            flat.beyond.size(), flat.grain.size()})
    if (size != n) throw std::invalid_argument("one intercept, bound and grain per linear model");
  if (flat.slope.size() != terms || flat.centre.size() != terms)
    throw std::invalid_argument("one slope and one centre per term");
  if (flat.start.size() != n + 1 || flat.start.front() != 0 || flat.start.back() != terms ||
      !std::is_sorted(flat.start.begin(), flat.start.end()))
    throw std::invalid_argument("the starts of linear models do not cover their terms");
  for (const int32_t feature : flat.feature)
    if (feature < 0 || static_cast<size_t>(feature) >= features)
      throw std::invalid_argument("a linear model has a feature out of range");
  terms_.reserve(terms);
  for (size_t k = 0; k < terms; ++k)
    terms_.push_back({flat.feature[k], flat.slope[k], flat.centre[k]});
  heads_.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t node = flat.node[i];
    if (node < 0 || static_cast<size_t>(node) >= nodes || (i > 0 && flat.node[i - 1] >= node))
      throw std::invalid_argument("a linear model has a node out of range");
    of_node_[static_cast<size_t>(node)] = static_cast<int32_t>(i);
    heads_.push_back({flat.start[i], flat.start[i + 1], flat.intercept[i], flat.low[i],
                      flat.high[i], flat.grain[i],
                      flat.beyond[i] != 0 ? std::numeric_limits<double>::infinity()
                                          : std::numeric_limits<double>::max()});
  }
}

void LinearLeaves::add(int32_t line, double constant, const Columns& table, const uint32_t* rows,
                       size_t n, double* score) const {
  const Head& own = head(line);
  size_t at[kBlock];
  double sums[kBlock];
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t m = std::min(kBlock, n - begin);
    for (size_t i = 0; i < m; ++i) {
      const uint32_t row = rows[begin + i];
      at[i] = table.chosen != nullptr ? table.chosen[row] : row;
      sums[i] = own.intercept;
    }
    for (size_t k = own.begin; k < own.end; ++k) {
      const Term& term = terms_[k];
      const Column& column = table.columns[static_cast<size_t>(term.feature)];
      if (column.single) {
        add_term<float>(column, at, m, term.slope, term.centre, sums);
      } else {
        add_term<double>(column, at, m, term.slope, term.centre, sums);
      }
    }
    for (size_t i = 0; i < m; ++i) score[rows[begin + i]] += choose_split(own, constant, sums[i]);
  }
}

}  // namespace stagewise
