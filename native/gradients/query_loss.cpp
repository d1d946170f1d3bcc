#include "gradients/query_loss.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/exact_sum.hpp"
#include "core/float_math.hpp"
#include "core/random.hpp"

namespace stagewise {
namespace {

constexpr float kLeastGap = 0.01f;
constexpr size_t kPadding = 16;
constexpr double kFarBelow = -80.0;     // scores further below the best one count as this far
constexpr double kScoreSteps = 0x1p20;  // of random numbers, which ignore smaller differences
constexpr size_t kPairsPerCheck = 1 << 18;

// A hash of a document: its score below the best one, and its gain.
uint64_t document_key(float below, float gain) {
  const auto steps = static_cast<int64_t>(std::llround(static_cast<double>(below) * kScoreSteps));
  return mix64(mix64(static_cast<uint64_t>(steps)) + std::bit_cast<uint32_t>(gain));
}

// A number in (0, 1).
float uniform_of(uint64_t hash) { return (static_cast<float>(hash >> 40) + 0.5f) * 0x1p-24f; }

// A number of the logistic distribution: log(u / (1 - u)) of a uniform u in (0, 1).
float logistic_noise(uint64_t hash) {
  const float u = (static_cast<float>(hash >> 41) + 0.5f) * 0x1p-23f;
  const float odds = u / (1.0f - u);
  return odds >= 1.0f ? log_from_one(odds) : -log_from_one(1.0f / odds);
}

double log2_of(double x) { return log_from_one(x) * 1.4426950408889634; }

}  // namespace

// The documents of one query in the order of their scores.
struct QueryLoss::Scratch {
  std::vector<uint32_t> order;  // places in the query
  std::vector<uint32_t> drawn;  // places in that order, in the order of the scores + noise
  std::vector<float> gain, up, down, score, strength, gradient, hessian;

  // Of n documents, with numbers behind them up to a multiple of kPadding.
  void resize(size_t n) {
    order.resize(n);
    const size_t padded = (n + kPadding - 1) / kPadding * kPadding;
    for (auto* values : {&gain, &up, &down, &score, &gradient, &hessian}) {
      values->resize(padded);
      std::fill(values->begin() + static_cast<std::ptrdiff_t>(n), values->end(), 0.0f);
    }
    strength.resize(padded);
    std::fill(strength.begin() + static_cast<std::ptrdiff_t>(n), strength.end(), 1.0f);
  }
  size_t size() const { return order.size(); }
  RankedDocuments documents() const {
    return {gain.data(), up.data(), down.data(), score.data(), strength.data(), size()};
  }
  bool tied(size_t a, size_t b) const { return score[a] == score[b]; }
  uint64_t key_of(size_t i) const { return document_key(score[i], gain[i]); }
  // Of all documents, in any order; it changes with their scores, from round to round.
  uint64_t key() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < size(); ++i) sum += key_of(i);
    return mix64(sum);
  }
};

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
    for (size_t i = 0; i < n; ++i) gain_[i] = static_cast<float>(gain[rows_[i]]);
  size_t longest = 0;
  for (size_t q = 0; q < queries; ++q) longest = std::max(longest, size(q));
  for (size_t rank = 0; rank < longest; ++rank)
    discount_.push_back(1.0 / log2_of(2.0 + static_cast<double>(rank)));
  best_.resize(queries);
  measured_.resize(queries);
  std::vector<float> sorted;
  for (size_t q = 0; q < queries; ++q) {
    sorted.assign(gain_.begin() + starts_[q], gain_.begin() + starts_[q + 1]);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const uint64_t last = reports_ndcg() ? last_rank(sorted.size()) : sorted.size();
    for (size_t rank = 0; rank < last; ++rank) {
      const double own = static_cast<double>(sorted[rank]);
      if (reports_ndcg())
        best_[q] += own * discount_[rank];
      else
        best_[q] += rules_.metric == QueryMetric::map ? (own > 0.0 ? 1.0 : 0.0) : own;
    }
    const bool differs = !sorted.empty() && sorted.front() != sorted.back();
    const bool by_best = reports_ndcg() || rules_.metric == QueryMetric::map ||
                         rules_.metric == QueryMetric::softmax;
    measured_[q] = by_best ? best_[q] > 0.0 : differs;
    if (rules_.metric == QueryMetric::squared) measured_[q] = sorted.size() > 1;
  }
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

void QueryLoss::sort_query(size_t query, const double* score, Scratch& s) const {
  const size_t begin = starts_[query], n = size(query);
  s.resize(n);
  std::iota(s.order.begin(), s.order.end(), 0u);
  const auto score_of = [&](uint32_t place) { return score[rows_[begin + place]]; };
  std::sort(s.order.begin(), s.order.end(), [&](uint32_t a, uint32_t b) {
    const double fa = score_of(a), fb = score_of(b);
    if (fa != fb) return fa > fb;
    const float ga = gain_[begin + a], gb = gain_[begin + b];
    return ga != gb ? ga < gb : a < b;
  });
  const double best = n == 0 ? 0.0 : score_of(s.order[0]);
  for (size_t i = 0; i < n; ++i) {
    const double below = std::max(kFarBelow, rules_.sigmoid * (score_of(s.order[i]) - best));
    s.gain[i] = gain_[begin + s.order[i]];
    s.score[i] = static_cast<float>(below);
    s.strength[i] = exp_nonpositive(s.score[i]);
    s.gradient[i] = s.hessian[i] = 0.0f;
  }
}

// Sets `up` and `down` of the documents, and returns the metric.
double QueryLoss::set_moves(size_t query, Scratch& s) const {
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
      value += gain * discount / static_cast<double>(end - begin);
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
    double up = 0.0, down = 0.0;
    for (end = begin; end < n && s.tied(begin, end) && s.gain[begin] == s.gain[end]; ++end) {
      up += static_cast<double>(s.up[end]);
      down += static_cast<double>(s.down[end]);
    }
    const auto count = static_cast<double>(end - begin);
    std::fill(s.up.begin() + begin, s.up.begin() + end, static_cast<float>(up / count));
    std::fill(s.down.begin() + begin, s.down.begin() + end, static_cast<float>(down / count));
  }
  return best_[query] > 0.0 ? value / best_[query] : 1.0;
}

double QueryLoss::rank_query(const Kernels& kernels, size_t query, const double* score, Scratch& s,
                             double* gradient, double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(query, score, s);
  const double value = set_moves(query, s);
  const bool pairs_only = rules_.metric == QueryMetric::pairs;
  const bool apart = n > 1 && s.score[0] != s.score[n - 1];
  const double unit = pairs_only ? 1.0 : best_[query];
  PairSums sums;
  if (unit > 0.0) {
    const PairRules pair_rules{static_cast<float>(1.0 / unit),
                               rules_.normalise && apart && !pairs_only ? kLeastGap : 0.0f,
                               pairs_only};
    const RankedDocuments documents = s.documents();
    uint64_t last = last_rank(n);  // and the documents that are equal to the last one
    while (last < n && s.tied(last - 1, last) && s.gain[last - 1] == s.gain[last]) ++last;
    size_t pairs = 0;
    for (size_t i = 0; i < last && i + 1 < n; ++i) {
      kernels.compare_document(i, documents, pair_rules, s.gradient.data(), s.hessian.data(),
                               &sums);
      pairs += n - i;
      if (pairs < kPairsPerCheck) continue;
      check_interrupt();
      pairs = 0;
    }
  }
  const double total = 2.0 * static_cast<double>(sums.gradient);
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

double QueryLoss::softmax_query(size_t query, const double* score, Scratch& s, double* gradient,
                                double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(query, score, s);
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
double QueryLoss::xendcg_query(size_t query, const double* score, Scratch& s, double* gradient,
                               double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(query, score, s);
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
// that a document is before another one with the probability of the logistic loss. `down`: the
// noisy scores. key: of the order; each document has a noise of its own, by its place.
void QueryLoss::add_neighbours(uint64_t key, Scratch& s) const {
  const size_t n = s.size();
  for (size_t i = 0; i < n; ++i) s.down[i] = s.score[i] + logistic_noise(mix64(key + i));
  s.drawn.resize(n);
  std::iota(s.drawn.begin(), s.drawn.end(), 0u);
  std::sort(s.drawn.begin(), s.drawn.end(), [&](uint32_t a, uint32_t b) {
    return s.down[a] != s.down[b] ? s.down[a] > s.down[b] : a < b;
  });
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
double QueryLoss::yetirank_query(size_t query, const double* score, Scratch& s, double* gradient,
                                 double* hessian) const {
  const size_t begin = starts_[query], n = size(query);
  sort_query(query, score, s);
  const double value = set_moves(query, s);
  // Queries have orders of their own, so that the errors of many queries average out.
  const uint64_t key = mix64(s.key() + query);
  for (uint64_t order = 0; order < rules_.orders; ++order) {
    check_interrupt();
    add_neighbours(mix64(key + order), s);
  }
  const double factor = rules_.sigmoid / static_cast<double>(rules_.orders);
  for (size_t i = 0, end; i < n; i = end) {  // documents with the same score and gain are equal
    double g = 0.0, h = 0.0;
    for (end = i; end < n && s.tied(i, end) && s.gain[i] == s.gain[end]; ++end) {
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
  std::vector<Scratch> scratch(static_cast<size_t>(workers.threads()));
  workers.run(chunks.size() - 1, [&](size_t chunk, int worker) {
    Scratch& own = scratch[static_cast<size_t>(worker)];
    for (size_t q = chunks[chunk]; q < chunks[chunk + 1]; ++q) {
      check_interrupt();
      double *g = gradient.data(), *h = hessian.data();
      switch (rules_.metric) {
        case QueryMetric::softmax:
          loss[q] = softmax_query(q, score.data(), own, g, h);
          break;
        case QueryMetric::xendcg:
          loss[q] = xendcg_query(q, score.data(), own, g, h);
          break;
        case QueryMetric::yetirank:
          loss[q] = yetirank_query(q, score.data(), own, g, h);
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
