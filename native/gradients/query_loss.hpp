// Losses of ranked documents: all documents of a query are evaluated together.
//
// Pairwise losses compare documents in the order of their scores; the softmax loss is the cross
// entropy of shares of relevance. Each query is computed by one thread, in one order of its
// documents, so threads do not change a bit, and neither does the order of the rows: documents
// with the same score are ordered by relevance, the least relevant first, and those with the same
// relevance share the means of their ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

struct QueryScratch;

enum class QueryMetric {
  ndcg,      // normalised discounted cumulative gain
  map,       // mean average precision, of documents with a positive gain
  pairs,     // every pair counts once
  softmax,   // no pairs: the cross entropy of gain / sum of gains and softmax(score)
  xendcg,    // the same, of gains + uniform numbers, with a bound of the inverse hessian
  yetirank,  // pairs of neighbours in random orders
  squared,   // squared error, of which a constant of each query is subtracted
};

struct QueryRules {
  QueryMetric metric;
  double sigmoid;       // the steepness of the logistic loss
  uint64_t truncation;  // pairs have a document of rank <= truncation; 0: any rank
  bool normalise;       // by the distance of scores, and by the sum of the gradients
  uint64_t orders;      // the number of random orders of yetirank
  double decay;         // the factor of the weight of a pair from one rank to the next
};

class QueryLoss {
 public:
  // gain: of each row; query: codes 0, 1, ..., of each row.
  QueryLoss(std::span<const double> gain, std::span<const int32_t> query, QueryRules rules);

  size_t rows() const { return rows_.size(); }
  size_t queries() const { return starts_.size() - 1; }
  size_t size(size_t query) const { return starts_[query + 1] - starts_[query]; }

  // Whether the metric of a query is defined: it has a positive gain, or documents of two gains;
  // for the squared error two documents.
  bool is_measured(size_t query) const { return measured_[query] != 0; }

  // Fills the derivatives of each row, and the loss of each query: 1 - metric, the mean logistic
  // loss of its pairs, or the cross entropy.
  void evaluate(Workers& workers, const Kernels& kernels, std::span<const double> score,
                std::span<double> gradient, std::span<double> hessian,
                std::span<double> loss) const;

 private:
  double rank_query(const Kernels& kernels, size_t query, const double* score,
                    QueryScratch& scratch, double* gradient, double* hessian) const;
  double softmax_query(const Kernels& kernels, size_t query, const double* score,
                       QueryScratch& scratch, double* gradient, double* hessian) const;
  double xendcg_query(const Kernels& kernels, size_t query, const double* score,
                      QueryScratch& scratch, double* gradient, double* hessian) const;
  double yetirank_query(const Kernels& kernels, size_t query, const double* score,
                        QueryScratch& scratch, double* gradient, double* hessian) const;
  double squared_query(size_t query, const double* score, double* gradient, double* hessian) const;
  void add_neighbours(const Kernels& kernels, uint64_t key, QueryScratch& scratch) const;
  void sort_query(const Kernels& kernels, size_t query, const double* score,
                  QueryScratch& scratch) const;
  double set_moves(size_t query, QueryScratch& scratch) const;
  PairSums compare_pairs(const Kernels& kernels, size_t query, float scale, float least_gap,
                         QueryScratch& scratch) const;
  void sort_gains(std::span<const double> gain);
  void centre_gains(std::span<const double> gain);
  void describe_query(size_t query);
  uint64_t last_rank(size_t n) const;
  // Whether the loss that is reported is 1 - NDCG.
  bool reports_ndcg() const {
    return rules_.metric == QueryMetric::ndcg || rules_.metric == QueryMetric::yetirank;
  }

  QueryRules rules_;
  std::vector<uint32_t> rows_;      // of all queries, one after the other, sorted by their gains
  std::vector<uint32_t> starts_;    // of each query in rows_, and the end
  std::vector<float> gain_;         // in the order of rows_; 0 for the squared error
  std::vector<double> centred_;     // gain - mean gain of the query, for the squared error
  std::vector<double> best_;        // of each query: the largest possible DCG, or the sum of gains
  std::vector<double> discount_;    // of each rank, 1 / log2(2 + rank)
  std::vector<uint8_t> measured_;   // of each query
  std::vector<float> common_gain_;  // of each query: the most frequent one
};

}  // namespace stagewise
