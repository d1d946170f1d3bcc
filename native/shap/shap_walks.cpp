#include "shap/shap_walks.hpp"

#include <utility>

#include "core/interrupt.hpp"
#include "shap/leaf_game.hpp"

namespace stagewise {
namespace {

constexpr size_t kNobody = static_cast<size_t>(-1);

// The edges into the nodes of a tree.
struct Edges {
  std::vector<size_t> depth;
  std::vector<size_t> before;  // the node above whose edge has the same feature, or kNobody
  std::vector<double> share;   // of all edges of the feature down to this one
  size_t deepest = 0;
  size_t most_features = 0;  // on a path

  explicit Edges(const ShapTree& tree)
      : depth(tree.nodes(), 0), before(tree.nodes(), kNobody), share(tree.nodes(), 1.0) {
    std::vector<size_t> features(tree.nodes(), 0);
    for (size_t node = 1; node < tree.nodes(); ++node) {
      const auto above = static_cast<size_t>(tree.parent[node]);
      depth[node] = depth[above] + 1;
      deepest = std::max(deepest, depth[node]);
      size_t at = above;
      while (at != 0 && tree.split_feature(at) != tree.split_feature(node))
        at = static_cast<size_t>(tree.parent[at]);
      before[node] = at == 0 ? kNobody : at;
      share[node] = tree.share[node] * (at == 0 ? 1.0 : share[at]);
      features[node] = features[above] + (at == 0 ? 1 : 0);
      most_features = std::max(most_features, features[node]);
    }
  }
};

class Walked : public TreeAttributions {
 public:
  Walked(ShapTree tree, const ShapRules& rules)
      : tree_(std::move(tree)),
        rules_(rules),
        edges_(tree_),
        quadrature_(std::max<size_t>(1, (edges_.most_features + 1) / 2)) {}

  size_t bytes() const override { return tree_.nodes() * 96; }

  void add(const Kernels& kernels, const ShapRows& rows, double* out) const override {
    Walk walk(*this, kernels, rows.decisions, rows.n, out);
    walk.run();
  }

 private:
  // One way through the whole tree, with the rows of a part side by side; what is known at a depth
  // lies at that depth.
  struct Walk {
    Walk(const Walked& all, const Kernels& kernels, const int16_t* decisions, size_t n, double* out)
        : tree(all.tree_),
          edges(all.edges_),
          rules(all.rules_),
          rule(all.quadrature_),
          kernels(kernels),
          decisions(decisions),
          n(n),
          out(out),
          points(rule.points()),
          per_depth(points * kDecisionRows),
          products((edges.deepest + 1) * per_depth, 1.0),
          met((edges.deepest + 1) * kDecisionRows, -1),
          terms((edges.deepest + 1) * points) {
      if (!rules.interactions) sums.assign((edges.deepest + 1) * tree.outputs * per_depth, 0.0);
    }

    void run() {
      std::vector<std::pair<size_t, bool>> stops = {{0, false}};  // a node; on the way back?
      while (!stops.empty()) {
        const auto [node, back] = stops.back();
        stops.pop_back();
        check_interrupt();
        if (back) {
          leave(node);
          continue;
        }
        enter(node);
        stops.push_back({node, true});
        if (tree.is_leaf(node)) continue;
        stops.push_back({static_cast<size_t>(tree.right[node]), false});
        stops.push_back({static_cast<size_t>(tree.left[node]), false});
      }
    }

    double* sums_at(size_t depth) { return sums.data() + depth * tree.outputs * per_depth; }
    int64_t* met_at(size_t depth) { return met.data() + depth * kDecisionRows; }
    // Whether rows met the conditions on the feature before this edge: always, if there are none.
    const int64_t* met_before(size_t node) {
      return met_at(edges.before[node] == kNobody ? 0 : edges.depth[edges.before[node]]);
    }

    void enter(size_t node) {
      const size_t depth = edges.depth[node];
      if (node != 0) {
        set_terms(node);
        const Literal literal = tree.literal(node);
        const int16_t* const decision = decisions + literal.split * kDecisionRows;
        const int64_t* const then = met_before(node);
        int64_t* const now = met_at(depth);
        for (size_t i = 0; i < kDecisionRows; ++i)
          now[i] = static_cast<int64_t>(static_cast<int16_t>(decision[i] ^ literal.flip)) & then[i];
        kernels.edge_products(terms.data() + depth * points, points, now, then,
                              products.data() + (depth - 1) * per_depth,
                              products.data() + depth * per_depth);
      }
      if (rules.interactions) {
        if (tree.is_leaf(node)) add_pairs(node);
        return;
      }
      double* const sum = sums_at(depth);
      for (size_t k = 0; k < tree.outputs; ++k) {
        const double value = tree.is_leaf(node) ? tree.value[node * tree.outputs + k] : 0.0;
        const double* const product = products.data() + depth * per_depth;
        for (size_t i = 0; i < per_depth; ++i) sum[k * per_depth + i] = value * product[i];
      }
    }

    // The sums below are complete: they are credited to the feature of the edge.
    void leave(size_t node) {
      if (node == 0 || rules.interactions) return;
      const size_t depth = edges.depth[node];
      const auto f = static_cast<size_t>(tree.split_feature(node));
      double attribution[kDecisionRows];
      for (size_t k = 0; k < tree.outputs; ++k) {
        const double* const sum = sums_at(depth) + k * per_depth;
        kernels.edge_attributions(terms.data() + depth * points, points, met_at(depth),
                                  met_before(node), sum, attribution);
        const uint32_t slot = rules.slot(f, f, tree.output + k);
        for (size_t i = 0; i < n; ++i) out[i * rules.stride() + slot] += attribution[i];
      }
      double* const above = sums_at(depth - 1);
      const double* const own = sums_at(depth);
      for (size_t i = 0; i < tree.outputs * per_depth; ++i) above[i] += own[i];
    }

    // Products carry the factor f of all edges of a feature; an edge replaces the one before, g.
    void set_terms(size_t node) {
      const size_t before = edges.before[node];
      const double z = edges.share[node], z_before = before == kNobody ? 1.0 : edges.share[before];
      EdgeTerms* const term = terms.data() + edges.depth[node] * points;
      for (size_t q = 0; q < points; ++q) {
        const double t = rule.point[q], rest = rule.rest[q], w = rule.weight[q];
        const double f = t + rest * z, g = before == kNobody ? 1.0 : t + rest * z_before;
        const double credited = before == kNobody ? 0.0 : w * (1.0 - z_before) / g;
        term[q] = {f / g, rest * z / g, tree.share[node], w * (1.0 - z) / f - credited,
                   -w / rest - credited};
      }
    }

    // A leaf's games of single features and of pairs, one row after another.
    void add_pairs(size_t leaf) {
      std::vector<size_t> last;  // the last edge of each feature on the path
      for (size_t node = leaf; node != 0; node = static_cast<size_t>(tree.parent[node])) {
        const auto same = [&](size_t other) {
          return tree.split_feature(other) == tree.split_feature(node);
        };
        if (std::none_of(last.begin(), last.end(), same)) last.push_back(node);
      }
      std::vector<double> instead(last.size() * points);
      const double* const product = products.data() + edges.depth[leaf] * per_depth;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < last.size(); ++j)
          for (size_t q = 0; q < points; ++q) {
            const double z = edges.share[last[j]];
            const bool own = met_at(edges.depth[last[j]])[i] != 0;
            instead[j * points + q] =
                own ? (1.0 - z) / (rule.point[q] + rule.rest[q] * z) : -1.0 / rule.rest[q];
          }
        LeafGame::each_attribution(last.size(), true, [&](size_t a, size_t b) {
          double sum = 0.0;
          for (size_t q = 0; q < points; ++q) {
            const double part = rule.weight[q] * product[q * kDecisionRows + i];
            sum += a == b ? part * instead[a * points + q]
                          : 0.5 * (part * instead[a * points + q] * instead[b * points + q]);
          }
          attribution(leaf, last[a], last[b], i, sum);
        });
      }
    }

    void attribution(size_t leaf, size_t a, size_t b, size_t row, double sum) {
      const auto f = static_cast<size_t>(tree.split_feature(a)),
                 g = static_cast<size_t>(tree.split_feature(b));
      for (size_t k = 0; k < tree.outputs; ++k)
        out[row * rules.stride() + rules.slot(std::min(f, g), std::max(f, g), tree.output + k)] +=
            tree.value[leaf * tree.outputs + k] * sum;
    }

    const ShapTree& tree;
    const Edges& edges;
    const ShapRules& rules;
    const Quadrature& rule;
    const Kernels& kernels;
    const int16_t* decisions;
    size_t n;
    double* out;
    size_t points, per_depth;
    std::vector<double> products, sums;
    std::vector<int64_t> met;
    std::vector<EdgeTerms> terms;
  };

  ShapTree tree_;
  ShapRules rules_;
  Edges edges_;
  Quadrature quadrature_;
};

}  // namespace

std::unique_ptr<TreeAttributions> walked_attributions(ShapTree tree, const ShapRules& rules) {
  return std::make_unique<Walked>(std::move(tree), rules);
}

}  // namespace stagewise
