#include "grow/search/row_search.hpp"

#include "grow/finders/sorted_rows/impurity_finder.hpp"
#include "grow/finders/sorted_rows/median_finder.hpp"

namespace stagewise {

template <ScansRows F>
void RowSearch<F>::search(Workers& team, size_t worker, std::span<Leaf* const> leaves,
                          size_t work) {
  Workspace<F>& workspace = this->workspaces_[worker];
  Leaf* searched[2] = {};
  size_t n = 0;
  for (Leaf* leaf : leaves) {
    if (!this->finder_.splittable(*leaf)) continue;
    this->begin(*leaf, &workspace.nodes[n]);
    searched[n++] = leaf;
  }
  this->run_in_workspaces(team, worker, n, work, [&](size_t i, Workspace<F>* own) {
    this->finder_.scan_few_rows(&workspace.nodes[i], &own->scratch);
  });
  for (size_t i = 0; i < n; ++i)
    this->choose_split(searched[i], &workspace.nodes[i], &workspace.scratch, [&] {
      this->finder_.scan_few_rows(&workspace.nodes[i], &workspace.scratch);
    });
}

template class RowSearch<MedianFinder>;
template class RowSearch<ImpurityFinder>;

}  // namespace stagewise
