// Cox's partial likelihood: sums over the rows that are at risk at each event time.
//
// Rows never change, only their scores do. In every evaluation a sum over all risk sets is a sum by
// event time and one running sum. The sums of e^F are exact: terms are rounded down to multiples of
// a small unit, and these are added as integers, so they depend neither on the order of the rows
// nor on whether a row of weight 2 is one row or two, and what leaves a risk set leaves no rounding
// error. All later sums are over event times, in their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/threads.hpp"
#include "kernels/kernels.hpp"

namespace stagewise {

// The rows of positive weight. A row is at risk at the event times from `first` to before `last`.
struct RiskSetRows {
  std::span<const uint32_t> rows;  // their numbers in the table
  std::span<const double> weight;
  std::span<const uint32_t> first, last;
  std::span<const uint8_t> is_event;  // at the event time last - 1
};

// The event times of all strata, one stratum after the other.
struct EventTimes {
  std::span<const uint32_t> begin;  // of each: the first event time of its stratum
  std::span<const double> deaths;   // the weight of its events
  std::span<const uint32_t> tied;   // the number of tied events; empty: Breslow's method
};

class CoxLoss {
 public:
  // digit_bits: a digit of a term has so many bits, so that sums of digits times weights are below
  // 2^53.
  CoxLoss(const RiskSetRows& rows, const EventTimes& times, int digit_bits);

  size_t rows() const { return row_.size(); }        // of positive weight
  size_t table_rows() const { return table_rows_; }  // at least
  size_t times() const { return times_.size(); }

  // Returns minus the log of the partial likelihood; NaN if a score is not finite. score, gradient
  // and hessian have an entry for each row of the table; those of rows that are not in `rows` are
  // not touched.
  double evaluate(Workers& workers, const Kernels& kernels, std::span<const double> score,
                  std::span<double> gradient, std::span<double> hessian);

  // Of the last evaluation: the largest score, e^shift times the cumulative baseline hazard at each
  // event time, and the sum of log(sum of e^(F - shift) at risk) over its events.
  double shift() const { return shift_; }
  double cumulative_hazard(size_t time) const { return times_[time].hazard; }
  double log_risk(size_t time) const { return times_[time].log; }

 private:
  struct Row {
    double weight;
    uint32_t number, first, last;
    bool is_event;
  };
  struct Time {
    double deaths = 0.0;
    uint32_t begin = 0, first_tied = 0, tied = 0;   // its tied events in left_
    double at_risk = 0.0, events = 0.0;             // sums of w e^F
    double log = 0.0, hazard = 0.0, squared = 0.0;  // of the last two: sums up to here
    double hazard_step = 0.0, squared_step = 0.0;
    double own_hazard = 0.0, own_squared = 0.0;  // what `hazard` counts too much for an event
  };
  double share(const Time& time, uint32_t event) const {  // of the tied rows that are not at risk
    return static_cast<double>(event) / static_cast<double>(time.tied);
  }
  double reached(const Row& row, double Time::* sum, double Time::* step) const;
  void add_terms(std::span<const double> terms);
  void add_digit(std::span<const double> digit, double unit);
  void set_hazards(const Kernels& kernels);
  void set_tied_hazard(Time& time, const double* logs) const;
  void accumulate_hazards();
  double total_loss(std::span<const double> score) const;

  std::vector<Row> row_;
  std::vector<Time> times_;
  size_t table_rows_ = 0;
  int digit_bits_;
  bool whole_weights_ = true, efron_;
  double shift_ = 0.0;
  // Workspace. Of each row: e^(F - shift), and its digits.
  std::vector<double> relative_, rest_, digit_;
  std::vector<double> left_, logs_;            // of each tied event: the sum at risk, and its log
  std::vector<int64_t> entering_, of_events_;  // of each event time
};

}  // namespace stagewise
