#include "chunks/chunk_grower.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "chunks/chunk_sampling.hpp"
#include "core/exact_sum.hpp"
#include "core/random.hpp"
#include "grow/grow_by_policy.hpp"
#include "grow/leaves/score_update.hpp"
#include "grow/nodes/split_condition.hpp"

namespace stagewise {
namespace {

constexpr FieldSet kGrowing = {Field::codes, Field::weight, Field::gradient, Field::rows};
constexpr FieldSet kStarting = {Field::codes, Field::weight, Field::gradient, Field::rows,
                                Field::multiplier};
constexpr size_t kCacheLine = 64;    // bytes
constexpr size_t kLeastDivided = 5;  // a chunk is loaded if at least one in so many rows is divided

}  // namespace

ChunkGrower::ChunkGrower(const ChunkGrowerInput& input)
    : workers_(input.workers),
      kernels_(input.kernels),
      store_(input.store),
      layout_(input.layout, nullptr, 0),
      weights_(input.weights),
      rules_(input.rules),
      constraints_(layout_, rules_.constraints),
      growing_(layout_, rules_, constraints_, weights_.unit()),
      sampler_(layout_, rules_, constraints_),
      histograms_(layout_, kernels_, Planes{}, 1),
      finder_(layout_, kernels_, rules_, weights_, histograms_),
      scratch_(finder_.make_scratch()),
      leaves_per_pass_(constraints_.monotone() ? 1 : input.leaves_per_pass),
      has_absent_rows_(input.has_absent_rows),
      exchange_(input.exchange),
      parts_(static_cast<size_t>(workers_.threads())) {
  finder_.set_few_rows(0);
  finder_.set_counter(this);
  for (size_t f = 0; f < layout_.features(); ++f)
    categorical_ = categorical_ || layout_.coding(f).categorical();
  for (Part& part : parts_) part.aside.resize(store_.chunk_rows() + 16);
}

// --- passes before a tree ----------------------------------------------------------------------

// As Gradients::dispersion().
double ChunkGrower::dispersion() {
  std::vector<ExactSum> sums(2 * parts_.size());
  store_.visit(workers_, {Field::weight, Field::gradient}, {},
               [&](const RowStore::Chunk& chunk, size_t worker) {
                 const auto* const slots = chunk.get<const GradientSlot>(Field::gradient);
                 const auto* const weight = chunk.get<const double>(Field::weight);
                 store_.for_each_block(chunk, [&](size_t begin, size_t n, uint64_t) {
                   double squares = 0.0, hessian = 0.0;
                   for (size_t i = begin; i < begin + n; ++i) {
                     const double w = weight == nullptr ? 1.0 : weight[i];
                     const auto g = static_cast<double>(slots[i].pair.gradient);
                     squares += w * g * g;
                     hessian += w * static_cast<double>(slots[i].pair.hessian);
                   }
                   sums[2 * worker].add(squares);
                   sums[2 * worker + 1].add(hessian);
                 });
               });
  std::vector<int64_t> integers(2 * ExactSum::kIntegers, 0);
  for (size_t s = 0; s < sums.size(); ++s)
    for (size_t i = 0; i < ExactSum::kIntegers; ++i)
      integers[s % 2 * ExactSum::kIntegers + i] += sums[s].integers()[i];
  add_up(integers);
  const double squares = ExactSum::of(integers.data()).value();
  const double hessian = ExactSum::of(integers.data() + ExactSum::kIntegers).value();
  return hessian > 0.0 ? squares / hessian : 0.0;
}

double ChunkGrower::largest_hessian() {
  std::vector<float> largest(parts_.size(), 0.0f);
  store_.visit(workers_, {Field::gradient}, {}, [&](const RowStore::Chunk& chunk, size_t worker) {
    const auto* const slots = chunk.get<const GradientSlot>(Field::gradient);
    for (size_t i = 0; i < chunk.n; ++i)
      largest[worker] = std::max(largest[worker], slots[i].pair.hessian);
  });
  // Floats that are not negative have the order of their bits.
  int64_t bits = std::bit_cast<uint32_t>(*std::max_element(largest.begin(), largest.end()));
  if (exchange_ != nullptr) exchange_->max({&bits, 1});
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
}

// --- one tree ----------------------------------------------------------------------------------

Tree ChunkGrower::grow(const LossSums& sums, const BagRule& bag, uint64_t seed,
                       uint64_t tree_number) {
  share_ = bag.share;
  multiplied_ = bag.multiplied;
  const double chance = categorical_ ? dispersion() : 0.0;
  const bool unbounded = rules_.hessian_bound == 0.0 && rules_.min_samples_leaf > 1.0;
  no_rows_.set_largest_hessian(unbounded || multiplied_ ? largest_hessian() : 0.0);
  const Packing packing =
      choose_packing(sums, store_.table_rows(), weights_.whole(), weights_.total(),
                     draw_key(seed, Draw::rounding, tree_number), rules_.grow_until_pure);
  sampler_.start_tree(seed, tree_number);
  finder_.start_tree(packing.scales, no_rows_, sampler_.features(),
                     draw_key(seed, Draw::thresholds, tree_number), chance);
  Tree tree;
  tree.grower = this;
  tree.number = ++grown_;
  Leaf* const root = start(packing, draw_key(seed, Draw::rows, bag.round), &tree);
  grow_by_policy(
      rules_, growing_, root, &tree,
      [&](Leaf* leaf) {
        if (leaf->hist >= 0) find_splits({leaf});
      },
      [&](const Frontier& frontier, size_t left) { divide_next(frontier, left); },
      [&](const Leaf& leaf) { final_leaves_.emplace_back(leaf.node, &leaf); });
  finder_.add_used_features(tree.feature);
  return tree;
}

// Makes room for the sums of several leaves.
void ChunkGrower::reserve_sums(size_t leaves) {
  const size_t size = histograms_.joint_size();
  for (Part& part : parts_) {
    if (part.capacity < size) part.sums.clear();
    part.capacity = std::max(part.capacity, size);
    while (part.sums.size() < leaves) part.sums.push_back(make_large_array<int64_t>(part.capacity));
    part.begun.assign(leaves, 0);
  }
}

int64_t* ChunkGrower::sums_of(Part* part, size_t leaf) const {
  int64_t* const sums = part->sums[leaf].get();
  if (part->begun[leaf] == 0) std::memset(sums, 0, histograms_.joint_size() * sizeof(int64_t));
  part->begun[leaf] = 1;
  return sums;
}

// Packs the gradients of a chunk.
void ChunkGrower::pack_chunk(const RowStore::Chunk& chunk, const Packing& packing) const {
  auto* const slots = chunk.get<GradientSlot>(Field::gradient);
  const auto* const weight = chunk.get<const double>(Field::weight);
  store_.for_each_block(chunk, [&](size_t begin, size_t rows, uint64_t first_row) {
    kernels_.pack(slots + begin, weight == nullptr ? nullptr : weight + begin, rows, first_row,
                  packing);
  });
}

// Lists the rows of a chunk that are drawn; returns their number.
template <class IsDrawn>
size_t ChunkGrower::draw_chunk(const RowStore::Chunk& chunk, IsDrawn is_drawn) const {
  const auto* const weight = chunk.get<const double>(Field::weight);
  auto* const list = chunk.get<uint32_t>(Field::rows);
  size_t n = 0;
  store_.for_each_block(chunk, [&](size_t begin, size_t rows, uint64_t first_row) {
    for (size_t i = 0; i < rows; ++i) {
      list[n] = static_cast<uint32_t>(begin + i);
      const bool present = weight == nullptr || weight[begin + i] > 0.0;
      n += present && is_drawn(begin + i, first_row + i) ? 1 : 0;
    }
  });
  return n;
}

// Adds up the first n rows of the list of a chunk.
void ChunkGrower::add_root(const RowStore::Chunk& chunk, size_t n, const Leaf& root, Part* part) {
  const auto* const slots = chunk.get<const GradientSlot>(Field::gradient);
  const auto* const weight = chunk.get<const double>(Field::weight);
  range(root, chunk.index) = {0, static_cast<uint32_t>(n)};
  const RowIndex rows = rows_of(chunk, root);
  for (size_t i = 0; i < n; ++i) part->root.packed += slots[rows[i]].packed;
  part->root.rows += static_cast<int64_t>(n);
  for (size_t i = 0; i < n; ++i)
    part->root.count += weight == nullptr ? 1 : weights_.units_of(weight[rows[i]]);
  histograms_.add(sums_of(part, 0), rows, {slots, nullptr, chunk.get<const uint8_t>(Field::codes)});
}

// Adds up the roots of all threads and processes: the histogram, the packed sum, the number of rows
// and their count.
std::vector<int64_t> ChunkGrower::merge_root() const {
  const size_t size = histograms_.joint_size();
  std::vector<int64_t> all(size + 3, 0);
  for (const Part& part : parts_) {
    all[size] += part.root.packed;
    all[size + 1] += part.root.rows;
    all[size + 2] += part.root.count;
    if (part.begun[0] != 0)
      for (size_t i = 0; i < size; ++i) all[i] += part.sums[0][i];
  }
  add_up(all);
  return all;
}

// Finds the split of the root.
Leaf* ChunkGrower::start(const Packing& packing, uint64_t row_key, Tree* tree) {
  final_leaves_.clear();
  ranges_.clear();
  Leaf* const root = growing_.start();
  ranges_.emplace_back(store_.chunks());
  histograms_.use_features(sampler_.features());
  root->hist = histograms_.acquire();
  reserve_sums(1);
  for (Part& part : parts_) part.root = {};
  const uint64_t limit =
      share_ >= 1.0 ? ~0ull : static_cast<uint64_t>(std::ldexp(share_, 64));  // as draw_rows()
  store_.visit(workers_, kStarting, {Field::gradient, Field::rows},
               [&](const RowStore::Chunk& chunk, size_t worker) {
                 pack_chunk(chunk, packing);
                 const auto* const multiplier = chunk.get<const float>(Field::multiplier);
                 const auto drawn = [&](size_t i, uint64_t row) {
                   return multiplied_ ? multiplier[i] > 0.0f : draw(row_key, row) <= limit;
                 };
                 const size_t n = bagged() ? draw_chunk(chunk, drawn) : chunk.n;
                 add_root(chunk, n, *root, &parts_[worker]);
               });
  const size_t size = histograms_.joint_size();
  std::vector<int64_t> all = merge_root();
  if (all[size + 1] == 0) {  // no row was drawn: one random row counts, as in draw_rows()
    const uint64_t lone = lone_row({workers_, store_, exchange_, row_key});
    store_.visit(workers_, kGrowing, {Field::rows},
                 [&](const RowStore::Chunk& chunk, size_t worker) {
                   const auto drawn = [&](size_t, uint64_t row) { return row == lone; };
                   add_root(chunk, draw_chunk(chunk, drawn), *root, &parts_[worker]);
                 });
    all = merge_root();
  }
  std::copy_n(all.begin(), size, histograms_.joint(root->hist));
  for (size_t group = 0; group < histograms_.groups(); ++group)
    histograms_.finish(root->hist, group);
  finder_.set_root(all[size], root);
  root->begin = 0;
  root->end = static_cast<size_t>(all[size + 1]);
  root->count = all[size + 2];
  root->node = growing_.add_node(*root, tree);
  find_splits({root});
  return root;
}

// The next leaf, and those that will probably be split after it.
std::vector<Leaf*> ChunkGrower::choose_leaves(const Frontier& frontier, size_t splits_left) const {
  std::vector<Leaf*> leaves;
  size_t before = 0;
  frontier.visit_next([&](Leaf* leaf) {
    if (leaves.size() == leaves_per_pass_ || before == splits_left) return false;
    if (!leaf->split.found()) return true;
    ++before;
    if (leaf->left == nullptr) leaves.push_back(leaf);
    return true;
  });
  return leaves;
}

void ChunkGrower::divide_next(const Frontier& frontier, size_t splits_left) {
  divide(choose_leaves(frontier, splits_left), splits_left == 1);
}

void ChunkGrower::divide(const std::vector<Leaf*>& leaves, bool last) {
  std::vector<Division> divisions;
  for (Leaf* leaf : leaves) {
    growing_.add_children(leaf);
    growing_.describe_children(*leaf);
    histograms_.acquire_for_children(leaf);
    Division division{leaf};
    const bool deepest = rules_.max_depth > 0 && leaf->depth + 1 >= rules_.max_depth;
    // All processes have the same sums, but different rows: the smaller child is that with the
    // smaller hessian.
    if (!last && !deepest)
      division.built = 2 * packed_hessian(leaf->split.left_sum) <= packed_hessian(leaf->packed_sum)
                           ? leaf->left
                           : leaf->right;
    divisions.push_back(division);
    ranges_.resize(leaf->right->index + 1, std::vector<Range>(store_.chunks()));
  }
  reserve_sums(divisions.size());
  for (Part& part : parts_) part.divisions = divisions;
  const auto needed = [&](size_t chunk) {
    return std::any_of(leaves.begin(), leaves.end(),
                       [&](const Leaf* leaf) { return range(*leaf, chunk).n() > 0; });
  };
  store_.visit(
      workers_, kGrowing, {Field::rows}, needed,
      [&](const RowStore::Chunk& chunk, size_t worker) { divide_chunk(chunk, &parts_[worker]); });
  merge(parts_, &divisions);
  complete(&divisions);
}

RowIndex ChunkGrower::rows_of(const RowStore::Chunk& chunk, const Leaf& leaf) const {
  const Range& own = range(leaf, chunk.index);
  const bool whole = leaf.depth == 0 && !bagged();
  return {whole ? nullptr : chunk.get<const uint32_t>(Field::rows) + own.begin, 0, own.n()};
}

int64_t ChunkGrower::count_rows(const RowStore::Chunk& chunk, const uint32_t* rows,
                                size_t n) const {
  const auto* const weight = chunk.get<const double>(Field::weight);
  if (weight == nullptr) return static_cast<int64_t>(n);
  int64_t count = 0;
  for (size_t i = 0; i < n; ++i) count += weights_.units_of(weight[rows[i]]);
  return count;
}

template <class Code, class Partition>
size_t ChunkGrower::partition(const RowStore::Chunk& chunk, const Leaf& leaf, Partition kernel,
                              Part* part) {
  const Split& s = leaf.split;
  const Bins bins = bins_of(chunk);
  const SplitCondition<Code> sides(bins, s.feature, bins.codes_of<Code>(s.feature), s.bin,
                                   s.missing_left, s.right_bins);
  const Range& own = range(leaf, chunk.index);
  uint32_t* const list = chunk.get<uint32_t>(Field::rows) + own.begin;
  const size_t lefts = kernel(sides.codes, rows_of(chunk, leaf), sides.last_left, sides.missing,
                              list, part->aside.data());
  std::memcpy(list + lefts, part->aside.data(), (own.n() - lefts) * sizeof(uint32_t));
  return lefts;
}

// Loads the codes of a chunk into the second-level cache if many of its rows are divided: the rows
// of a leaf are read in an order that the processor cannot predict, a whole chunk is not.
void ChunkGrower::load_codes(const RowStore::Chunk& chunk, const Part& part) const {
  size_t divided = 0;
  for (const Division& division : part.divisions)
    divided += range(*division.parent, chunk.index).n();
  if (divided < chunk.n / kLeastDivided) return;
  const auto* const codes = chunk.get<const volatile uint8_t>(Field::codes);
  const size_t bytes = chunk.n * layout_.layout()->row_bytes();
  for (size_t at = 0; at < bytes; at += kCacheLine) (void)codes[at];
}

void ChunkGrower::divide_chunk(const RowStore::Chunk& chunk, Part* part) {
  load_codes(chunk, *part);
  const PackedRows packed{chunk.get<const GradientSlot>(Field::gradient), nullptr,
                          chunk.get<const uint8_t>(Field::codes)};
  for (size_t i = 0; i < part->divisions.size(); ++i) {
    Division& division = part->divisions[i];
    const Leaf& leaf = *division.parent;
    const Range own = range(leaf, chunk.index);
    if (own.n() == 0) {
      range(*leaf.left, chunk.index) = range(*leaf.right, chunk.index) = {own.begin, own.begin};
      continue;
    }
    const size_t lefts = layout_.wide()
                             ? partition<uint16_t>(chunk, leaf, kernels_.partition16, part)
                             : partition<uint8_t>(chunk, leaf, kernels_.partition8, part);
    const auto middle = own.begin + static_cast<uint32_t>(lefts);
    range(*leaf.left, chunk.index) = {own.begin, middle};
    range(*leaf.right, chunk.index) = {middle, own.end};
    division.n_left += static_cast<int64_t>(lefts);
    division.left_count +=
        count_rows(chunk, chunk.get<const uint32_t>(Field::rows) + own.begin, lefts);
    if (division.built == nullptr) continue;
    const RowIndex rows = rows_of(chunk, *division.built);
    if (rows.n == 0) continue;
    histograms_.add(sums_of(part, i), rows, packed);
  }
}

// Adds the sums of all threads and processes: two numbers of each division, then its histogram.
void ChunkGrower::merge(const std::vector<Part>& parts, std::vector<Division>* divisions) {
  const size_t size = histograms_.joint_size(), n = divisions->size();
  std::vector<int64_t> all(2 * n, 0);
  std::vector<size_t> at(n, 0);
  for (size_t i = 0; i < n; ++i)
    if ((*divisions)[i].built != nullptr) {
      at[i] = all.size();
      all.resize(all.size() + size, 0);
    }
  for (size_t i = 0; i < n; ++i)
    for (const Part& part : parts) {
      all[2 * i] += part.divisions[i].n_left;
      all[2 * i + 1] += part.divisions[i].left_count;
    }
  workers_.run(n, [&](size_t i, int) {
    if (at[i] == 0) return;
    for (const Part& part : parts)
      if (part.begun[i] != 0)
        for (size_t k = 0; k < size; ++k) all[at[i] + k] += part.sums[i][k];
  });
  add_up(all);
  for (size_t i = 0; i < n; ++i) {
    Division& division = (*divisions)[i];
    division.n_left = all[2 * i];
    division.left_count = all[2 * i + 1];
    if (division.built == nullptr) continue;
    division.built->hist = division.parent->spare;
    std::copy_n(all.data() + at[i], size, histograms_.joint(division.built->hist));
  }
}

// Sets the rows, sums, histograms and splits of the children.
void ChunkGrower::complete(std::vector<Division>* divisions) {
  std::vector<Leaf*> searched;
  for (const Division& division : *divisions) {
    Leaf& parent = *division.parent;
    Leaf &left = *parent.left, &right = *parent.right;
    left.end = static_cast<size_t>(division.n_left);
    right.end = parent.rows() - left.end;
    left.count = division.left_count;
    right.count = parent.count - left.count;
    finder_.set_child_sums(parent, {}, {});
    growing_.complete_split(&parent);
    if (division.built == nullptr) continue;
    Leaf& other = division.built == &left ? right : left;
    other.hist = parent.hist;
    searched.push_back(&left);
    searched.push_back(&right);
  }
  workers_.run(divisions->size() * histograms_.groups(), [&](size_t task, int) {
    const Division& division = (*divisions)[task / histograms_.groups()];
    const size_t group = task % histograms_.groups();
    if (division.built == nullptr) return;
    histograms_.finish(division.built->hist, group);
    histograms_.subtract(division.parent->hist, division.built->hist, group);
  });
  find_splits(searched);
  // A leaf whose bounds change, or whose forced split was not possible, is searched again.
  const bool again = constraints_.monotone() || !rules_.forced_splits.empty();
  for (const Division& division : *divisions) {
    if (again) {
      histograms_.release_slots(*division.parent);
    } else {
      histograms_.release_unused(*division.parent);
    }
  }
}

void ChunkGrower::add_scores(const Tree& tree, std::span<const double> value, size_t output) {
  const FieldSet reads = bagged() ? FieldSet{Field::codes, Field::rows, Field::score, Field::weight}
                                  : FieldSet{Field::rows, Field::score};
  store_.visit(workers_, reads, {Field::score}, [&](const RowStore::Chunk& chunk, size_t) {
    double* const score = chunk.get<double>(Field::score) + output * chunk.n;
    std::vector<uint8_t> inside(bagged() ? chunk.n : 0, 0);
    for (const auto& [node, leaf] : final_leaves_) {
      const RowIndex rows = rows_of(chunk, *leaf);
      const double own = value[static_cast<size_t>(node)];
      for (size_t i = 0; i < rows.n; ++i) score[rows[i]] += own;
      if (bagged())
        for (size_t i = 0; i < rows.n; ++i) inside[rows[i]] = 1;
    }
    if (!bagged()) return;
    std::vector<uint32_t> outside;
    for (size_t i = 0; i < chunk.n; ++i)
      if (inside[i] == 0) outside.push_back(static_cast<uint32_t>(i));
    const ScoreUpdate update{value.data(), 1, score, chunk.n};
    add_tree(kernels_, bins_of(chunk), {}, tree, update, &outside);
  });
}

}  // namespace stagewise
