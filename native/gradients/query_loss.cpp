#include "gradients/query_loss.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/exact_sum.hpp"
#include "core/float_math.hpp"
#include "gradients/query_scratch.hpp"

namespace stagewise {
namespace {

constexpr float kLeastGap = 0.01f;
constexpr double kFarBelow = -80.0;  // scores further below the best one count as this far
constexpr size_t kPairsPerCheck = 1 << 18;

double log2_of(double x) { return log_from_one(x) * 1.4426950408889634; }

// The most frequent one of increasing numbers.
float most_frequent(std::span<const float> sorted) {
  float found = 0.0f;
  for (size_t begin = 0, end, most = 0; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && sorted[end] == sorted[begin];) ++end;
    if (end - begin <= most) continue;
    most = end - begin;
    found = sorted[begin];
  }
  return found;
}

}  // namespace

QueryLoss::QueryLoss(std::span<const double> gain, std::span<const int32_t> query, QueryRules rules)
    : rules_(rules) {
  const size_t n = gain.size();
  const size_t queries =
      n == 0 ? 0 : static_cast<size_t>(*std::max_element(query.begin(), query.end())) + 1;
  starts_.assign(queries + 1, 0);
  for (const int32_t code : query) ++starts_[static_cast<size_t>(code) + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  rows_.resize(n);
  std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
  for (size_t row = 0; row < n; ++row)
    rows_[next[static_cast<size_t>(query[row])]++] = static_cast<uint32_t>(row);
  gain_.resize(n);
  if (rules_.metric == QueryMetric::squared)
    centre_gains(gain);
  else
    sort_gains(gain);
  size_t longest = 0;
  for (size_t q = 0; q < queries; ++q) longest = std::max(longest, size(q));
  for (size_t rank = 0; rank < longest; ++rank)
    discount_.push_back(1.0 / log2_of(2.0 + static_cast<double>(rank)));
  best_.resize(queries);
  measured_.resize(queries);
  common_gain_.resize(queries);
  for (size_t q = 0; q < queries; ++q) describe_query(q);
}

// Sorts the rows of every query by their gains, the least one first.
void QueryLoss::sort_gains(std::span<const double> gain) {
  for (size_t q = 0; q < queries(); ++q)
    std::sort(rows_.begin() + starts_[q], rows_.begin() + starts_[q + 1],
              [&](uint32_t a, uint32_t b) {
                const auto ga = static_cast<float>(gain[a]), gb = static_cast<float>(gain[b]);
                return ga != gb ? ga < gb : a < b;
              });
  for (size_t i = 0; i < gain_.size(); ++i) gain_[i] = static_cast<float>(gain[rows_[i]]);
}

// Sets what does not depend on the scores.
void QueryLoss::describe_query(size_t q) {
  const std::span<const float> gains(gain_.data() + starts_[q], size(q));
  const size_t n = gains.size();
  const uint64_t last = reports_ndcg() ? last_rank(n) : n;
  size_t relevant = 0;
  for (size_t rank = 0; rank < n; ++rank) {
    const auto own = static_cast<double>(gains[n - 1 - rank]);
    relevant += own > 0.0 ? 1 : 0;
    if (reports_ndcg())
      best_[q] += rank < last ? own * discount_[rank] : 0.0;
    else
      best_[q] += rules_.metric == QueryMetric::map ? (own > 0.0 ? 1.0 : 0.0) : own;
  }
  const bool differs = n > 0 && gains.front() != gains.back();
  const bool by_best =
      reports_ndcg() || rules_.metric == QueryMetric::map || rules_.metric == QueryMetric::softmax;
  measured_[q] = by_best ? best_[q] > 0.0 : differs;
  if (rules_.metric == QueryMetric::squared) measured_[q] = n > 1;
  common_gain_[q] =
      rules_.metric == QueryMetric::map ? (2 * relevant > n ? 1.0f : 0.0f) : most_frequent(gains);
}

// In double: gains may be large beside their differences within a query.
void QueryLoss::centre_gains(std::span<const double> gain) {
  centred_.resize(gain.size());
  for (size_t q = 0; q < queries(); ++q) {
    ExactSum sum;
    for (size_t i = starts_[q]; i < starts_[q + 1]; ++i) sum.add(gain[rows_[i]]);
    const double mean = sum.value() / static_cast<double>(size(q));
    for (size_t i = starts_[q]; i < starts_[q + 1]; ++i) centred_[i] = gain[rows_[i]] - mean;
  }
}

// The ranks that the metric counts.
uint64_t QueryLoss::last_rank(size_t n) const {
  return rules_.truncation == 0 ? n : std::min<uint64_t>(n, rules_.truncation);
}

// Documents with equal scores are in the order of their gains, as the rows of a query are.
void QueryLoss::sort_query(const Kernels& kernels, size_t query, const double* score,
                           QueryScratch& s) const {
  const size_t begin = starts_[query], n = size(query);
  s.resize(n);
  for (size_t place = 0; place < n; ++place) s.exact[place] = score[rows_[begin + place]];
  s.order_exact(kernels, &s.order);
  const double best = n == 0 ? 0.0 : s.exact[s.order[0]];
  for (size_t i = 0; i < n; ++i) {
    const double below = std::max(kFarBelow, rules_.sigmoid * (s.exact[s.order[i]] - best));
    s.gain[i] = gain_[begin + s.order[i]];
    s.score[i] = static_cast<float>(below);
  }
  kernels.strengths(s.score.data(), s.score.size(), s.strength.data());
}

// Sets `up` and `down` of the documents, and returns the metric.
double QueryLoss::set_moves(size_t query, QueryScratch& s) const {
  const size_t n = s.size();
  double value = 0.0;
  if (rules_.metric == QueryMetric::pairs) {
    std::fill_n(s.up.begin(), n, 1.0f);
    std::fill_n(s.down.begin(), n, 0.0f);
    return value;
  }
  if (reports_ndcg()) {
    const uint64_t last = last_rank(n);
    for (size_t i = 0; i < n; ++i) s.up[i] = i < last ? static_cast<float>(discount_[i]) : 0.0f;
    // Documents with the same score have each of their ranks with the same probability.
    for (size_t begin = 0, end; begin < n; begin = end) {
      double gain = 0.0, discount = 0.0;
      for (end = begin; end < n && s.tied(begin, end); ++end) {
        gain += static_cast<double>(s.gain[end]);
        discount += static_cast<double>(s.up[end]);
      }
      value +=
          end - begin == 1 ? gain * discount : gain * discount / static_cast<double>(end - begin);
    }
    s.down = s.up;
  } else {
    double hits = 0.0, inverse_ranks = 0.0;
    for (size_t i = 0; i < n; ++i) {
      const double rank = static_cast<double>(i + 1);
      const bool hit = s.gain[i] > 0.0f;
      const double before = inverse_ranks;
      hits += hit ? 1.0 : 0.0;
      inverse_ranks += hit ? 1.0 / rank : 0.0;
      value += hit ? hits / rank : 0.0;
      s.up[i] = static_cast<float>((hits + (hit ? 0.0 : 1.0)) / rank - inverse_ranks);
      s.down[i] = static_cast<float>(hits / rank - before);
      s.gain[i] = hit ? 1.0f : 0.0f;
    }
  }
  // Documents with the same score and gain are equal.
  for (size_t begin = 0, end; begin < n; begin = end) {
    end = begin + 1;
    if (end == n || !s.equal(begin, end)) continue;
    double up = 0.0, down = 0.0;
    for (end = begin; end < n && s.equal(begin, end); ++end) {
      up += static_cast<double>(s.up[end]);
      down += static_cast<double>(s.down[end]);
    }
    const auto count = static_cast<double>(end - begin);
    std::fill(s.up.begin() + begin, s.up.begin() + end, static_cast<float>(up / count));
    std::fill(s.down.begin() + begin, s.down.begin() + end, static_cast<float>(down / count));
  }
  return best_[query] > 0.0 ? value / best_[query] : 1.0;
}

// Adds the derivatives of the pairs of documents.
PairSums QueryLoss::compare_pairs(const Kernels& kernels, size_t query, float scale,
                                  float least_gap, QueryScratch& s) const {
  const size_t n = s.size();
  uint64_t last = last_rank(n);  // and the documents that are equal to the last one
  while (last > 0 && last < n && s.equal(last - 1, last)) ++last;
  const PairRules rules{scale, least_gap, common_gain_[query], static_cast<size_t>(last),
                        rules_.metric == QueryMetric::pairs};
  s.list_pivots(rules.common_gain);
  PairSums sums;
  const size_t at_once = std::max<size_t>(1, kPairsPerCheck / std::max<size_t>(n, 1));
  for (size_t begin = 0; begin < s.pivots.size(); begin += at_once) {
    if (begin > 0) check_interrupt();
    kernels.compare_pivots(s.pivots.data() + begin, std::min(at_once, s.pivots.size() - begin),
                           s.documents(), rules, s.gradient.data(), s.hessian.data(), &sums);
  }
  return sums;
}

double QueryLoss::rank_query(const Kernels& kernels, size_t query, const double* score,
                             QueryScratch& s, double* gradient, double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(kernels, query, score, s);
  const double value = set_moves(query, s);
  const bool pairs_only = rules_.metric == QueryMetric::pairs;
  const bool apart = n > 1 && s.score[0] != s.score[n - 1];
  const double unit = pairs_only ? 1.0 : best_[query];
  const PairSums sums =
      unit > 0.0 ? compare_pairs(kernels, query, static_cast<float>(1.0 / unit),
                                 rules_.normalise && apart && !pairs_only ? kLeastGap : 0.0f, s)
                 : PairSums{};
  const auto total = static_cast<double>(sums.gradient);
  double factor = rules_.sigmoid;
  if (rules_.normalise && total > 0.0) factor *= log2_of(1.0 + total) / total;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = rows_[begin + s.order[i]];
    gradient[row] = factor * static_cast<double>(s.gradient[i]);
    hessian[row] = factor * rules_.sigmoid * static_cast<double>(s.hessian[i]);
  }
  if (!pairs_only) return 1.0 - value;
  return sums.pairs > 0.0f ? static_cast<double>(sums.loss) / static_cast<double>(sums.pairs) : 0.0;
}

double QueryLoss::softmax_query(const Kernels& kernels, size_t query, const double* score,
                                QueryScratch& s, double* gradient, double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(kernels, query, score, s);
  double sum = 0.0, loss = 0.0;
  for (size_t i = 0; i < n; ++i) sum += static_cast<double>(s.strength[i]);
  const double log_sum = sum > 0.0 ? log_from_one(std::max(1.0, sum)) : 0.0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = rows_[begin + s.order[i]];
    const double p = static_cast<double>(s.strength[i]) / sum;
    const double share = best_[query] > 0.0 ? static_cast<double>(s.gain[i]) / best_[query] : 0.0;
    gradient[row] = best_[query] > 0.0 ? rules_.sigmoid * (p - share) : 0.0;
    hessian[row] = best_[query] > 0.0 ? rules_.sigmoid * rules_.sigmoid * p * (1.0 - p) : 0.0;
    loss += share * (log_sum - static_cast<double>(s.score[i]));
  }
  return loss;
}

// The cross entropy of softmax(score) and the shares of gain + u, with uniform u in (0, 1), and its
// gradient times a series of the inverse hessian of three terms (Bruch 2021, section 4).
// Every document draws its u by a hash of its query and of its score and gain, so it needs no
// state, and a query that is repeated draws the same numbers.
double QueryLoss::xendcg_query(const Kernels& kernels, size_t query, const double* score,
                               QueryScratch& s, double* gradient, double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(kernels, query, score, s);
  double sum = 0.0, drawn = 0.0, whole = 0.0, loss = 0.0;
  const uint64_t key = s.key();
  for (size_t i = 0; i < n; ++i) {
    sum += static_cast<double>(s.strength[i]);
    s.up[i] = s.gain[i] + uniform_of(mix64(key ^ s.key_of(i)));
    drawn += static_cast<double>(s.up[i]);
    whole += static_cast<double>(s.gain[i]) + 0.5;
  }
  const double log_sum = log_from_one(std::max(1.0, sum));
  const auto p_of = [&](size_t i) { return static_cast<double>(s.strength[i]) / sum; };
  const auto rest_of = [&](size_t i) { return std::max(1.0 - p_of(i), 1e-6); };
  // Each term is p times a sum over the other documents of the term before, divided by 1 - p.
  double others = 0.0;
  for (size_t i = 0; i < n; ++i) {
    const double term = p_of(i) - static_cast<double>(s.up[i]) / drawn;
    const double share = (static_cast<double>(s.gain[i]) + 0.5) / whole;
    loss += share * (log_sum - static_cast<double>(s.score[i]));
    s.gradient[i] = static_cast<float>(term);
    s.down[i] = static_cast<float>(term / rest_of(i));
    others += static_cast<double>(s.down[i]);
  }
  for (int order = 0; order < 2; ++order) {
    double next = 0.0;
    for (size_t i = 0; i < n; ++i) {
      const double term = p_of(i) * (others - static_cast<double>(s.down[i]));
      s.gradient[i] += static_cast<float>(term);
      s.down[i] = static_cast<float>(term / rest_of(i));
      next += static_cast<double>(s.down[i]);
    }
    others = next;
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = rows_[begin + s.order[i]];
    const double factor = is_measured(query) ? rules_.sigmoid : 0.0;
    gradient[row] = factor * static_cast<double>(s.gradient[i]);
    hessian[row] = factor * rules_.sigmoid * p_of(i) * (1.0 - p_of(i));
  }
  return loss;
}

// Adds the derivatives of the pairs of neighbours in one order of the scores + logistic noise, so
// that a document is before another one with the probability of the logistic loss. key: of the
// order; each document has a noise of its own, by its place.
void QueryLoss::add_neighbours(const Kernels& kernels, uint64_t key, QueryScratch& s) const {
  const size_t n = s.size();
  for (size_t i = 0; i < n; ++i)
    s.exact[i] = static_cast<double>(s.score[i] + logistic_noise(mix64(key + i)));
  s.order_exact(kernels, &s.drawn);
  double weight = 1.0;
  for (size_t rank = 0; rank + 1 < n; ++rank, weight *= rules_.decay) {
    const bool upper_wins = s.gain[s.drawn[rank]] >= s.gain[s.drawn[rank + 1]];
    const uint32_t winner = s.drawn[upper_wins ? rank : rank + 1];
    const uint32_t loser = s.drawn[upper_wins ? rank + 1 : rank];
    const float own = static_cast<float>(weight) * (s.gain[winner] - s.gain[loser]);
    const float p = s.strength[loser] / (s.strength[winner] + s.strength[loser]);
    s.gradient[winner] -= own * p;
    s.gradient[loser] += own * p;
    s.hessian[winner] += own * p * (1.0f - p);
    s.hessian[loser] += own * p * (1.0f - p);
  }
}

// YetiRank (Gulin et al. 2011): the mean of some orders; the loss that is reported is 1 - NDCG.
double QueryLoss::yetirank_query(const Kernels& kernels, size_t query, const double* score,
                                 QueryScratch& s, double* gradient, double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(kernels, query, score, s);
  const double value = set_moves(query, s);
  // Queries have orders of their own, so that the errors of many queries average out.
  const uint64_t key = mix64(s.key() + query);
  for (uint64_t order = 0; order < rules_.orders; ++order) {
    check_interrupt();
    add_neighbours(kernels, mix64(key + order), s);
  }
  const double factor = rules_.sigmoid / static_cast<double>(rules_.orders);
  for (size_t i = 0, end; i < n; i = end) {  // documents with the same score and gain are equal
    double g = 0.0, h = 0.0;
    for (end = i; end < n && s.equal(i, end); ++end) {
      g += static_cast<double>(s.gradient[end]);
      h += static_cast<double>(s.hessian[end]);
    }
    const double share = factor / static_cast<double>(end - i);
    for (size_t k = i; k < end; ++k) {
      gradient[rows_[begin + s.order[k]]] = share * g;
      hessian[rows_[begin + s.order[k]]] = share * rules_.sigmoid * h;
    }
  }
  return 1.0 - value;
}

// Half the variance of the residuals of a query.
double QueryLoss::squared_query(size_t query, const double* score, double* gradient,
                                double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  ExactSum residuals, squares;
  for (size_t i = 0; i < n; ++i) residuals.add(score[rows_[begin + i]] - centred_[begin + i]);
  const double mean = residuals.value() / static_cast<double>(n);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t row = rows_[begin + i];
    const double own = score[row] - centred_[begin + i] - mean;
    gradient[row] = own;
    hessian[row] = is_measured(query) ? 1.0 : 0.0;
    squares.add(own * own);
  }
  return 0.5 * squares.value() / static_cast<double>(n);
}

void QueryLoss::evaluate(Workers& workers, const Kernels& kernels, std::span<const double> score,
                         std::span<double> gradient, std::span<double> hessian,
                         std::span<double> loss) const {
  // Chunks of about the same number of documents, whatever the number of threads.
  constexpr size_t kRowsPerChunk = 1024;
  std::vector<size_t> chunks = {0};
  for (size_t q = 0; q < queries(); ++q)
    if (starts_[q + 1] - starts_[chunks.back()] >= kRowsPerChunk) chunks.push_back(q + 1);
  if (chunks.back() != queries()) chunks.push_back(queries());
  std::vector<QueryScratch> scratch(static_cast<size_t>(workers.threads()));
  workers.run(chunks.size() - 1, [&](size_t chunk, int worker) {
    QueryScratch& own = scratch[static_cast<size_t>(worker)];
    for (size_t q = chunks[chunk]; q < chunks[chunk + 1]; ++q) {
      check_interrupt();
      double *g = gradient.data(), *h = hessian.data();
      switch (rules_.metric) {
        case QueryMetric::softmax:
          loss[q] = softmax_query(kernels, q, score.data(), own, g, h);
          break;
        case QueryMetric::xendcg:
          loss[q] = xendcg_query(kernels, q, score.data(), own, g, h);
          break;
        case QueryMetric::yetirank:
          loss[q] = yetirank_query(kernels, q, score.data(), own, g, h);
          break;
        case QueryMetric::squared:
          loss[q] = squared_query(q, score.data(), g, h);
          break;
        default:
          loss[q] = rank_query(kernels, q, score.data(), own, g, h);
      }
    }
  });
}

}  // namespace stagewise
