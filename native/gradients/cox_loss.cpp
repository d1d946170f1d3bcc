#include "gradients/cox_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/exact_sum.hpp"
#include "core/interrupt.hpp"

namespace stagewise {
namespace {

// Scores that are lower than the largest one by more than this are raised to that distance.
constexpr double kLargestRatio = 250.0;
// Terms are multiples of 2^-78 of a power of two above the largest one, at least; the smallest one
// has so many bits.
constexpr int kUnitBits = 78, kSmallestBits = 30;
constexpr double kLeastSum = 1e-140;  // of a risk set, so that inverse squares are finite
constexpr double kCancelled = 1e-6;   // smaller differences of sums are added up again
constexpr size_t kRowsOfChunk = 16384;

template <class Body>
void for_each_chunk(Workers& workers, size_t n, Body&& body) {
  workers.run((n + kRowsOfChunk - 1) / kRowsOfChunk, [&](size_t chunk, int) {
    body(chunk * kRowsOfChunk, std::min(n, (chunk + 1) * kRowsOfChunk));
  });
}

}  // namespace

CoxLoss::CoxLoss(const RiskSetRows& rows, const EventTimes& times, int digit_bits)
    : digit_bits_(digit_bits), efron_(!times.tied.empty()) {
  row_.reserve(rows.rows.size());
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    row_.push_back(
        {rows.weight[i], rows.rows[i], rows.first[i], rows.last[i], rows.is_event[i] != 0});
    whole_weights_ = whole_weights_ && rows.weight[i] == std::floor(rows.weight[i]);
    table_rows_ = std::max<size_t>(table_rows_, rows.rows[i] + size_t{1});
  }
  times_.resize(times.deaths.size());
  uint32_t events = 0;
  for (size_t k = 0; k < times_.size(); ++k) {
    Time& own = times_[k];
    own.deaths = times.deaths[k];
    own.begin = times.begin[k];
    own.tied = efron_ ? times.tied[k] : 1;
    own.first_tied = events;
    events += own.tied;
  }
  relative_.resize(row_.size());
  rest_.resize(row_.size());
  digit_.resize(row_.size());
  left_.resize(events);
  logs_.resize(events);
  entering_.resize(times_.size() + 1);
  of_events_.resize(times_.size());
}

double CoxLoss::evaluate(Workers& workers, const Kernels& kernels, std::span<const double> score,
                         std::span<double> gradient, std::span<double> hessian) {
  shift_ = -std::numeric_limits<double>::infinity();
  bool finite = true;
  for_each_block(row_.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      shift_ = std::max(shift_, score[row_[i].number]);
      finite = finite && std::isfinite(score[row_[i].number]);
    }
  });
  if (!finite) return std::numeric_limits<double>::quiet_NaN();
  for_each_chunk(workers, row_.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      relative_[i] = std::max(score[row_[i].number] - shift_, -kLargestRatio);
    kernels.exp(relative_.data() + begin, end - begin, relative_.data() + begin);
  });
  add_terms(relative_);
  set_hazards(kernels);
  const double loss = total_loss(score);
  accumulate_hazards();
  for_each_chunk(workers, row_.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Row& row = row_[i];
      double hazard = 0.0, squared = 0.0;
      if (row.last > row.first) {
        const Time& until = times_[row.last - 1];
        hazard = reached(row, &Time::hazard, &Time::hazard_step) -
                 (row.is_event ? until.own_hazard : 0.0);
        squared = reached(row, &Time::squared, &Time::squared_step) -
                  (row.is_event ? until.own_squared : 0.0);
      }
      const double expected = relative_[i] * hazard;
      gradient[row.number] = expected - (row.is_event ? 1.0 : 0.0);
      hessian[row.number] = std::max(expected - relative_[i] * relative_[i] * squared, 0.0);
    }
  });
  return loss;
}

// The sum of steps at the event times of a row: a difference of sums, unless its digits cancel.
double CoxLoss::reached(const Row& row, double Time::* sum, double Time::* step) const {
  const double until = times_[row.last - 1].*sum;
  if (row.first == times_[row.last - 1].begin) return until;
  const double difference = until - times_[row.first - 1].*sum;
  if (difference > kCancelled * until) return difference;
  check_interrupt();
  double total = 0.0;
  for (size_t k = row.first; k < row.last; ++k) total += times_[k].*step;
  return total;
}

// Sets the sums of w x over the rows at risk and over the events of each time.
void CoxLoss::add_terms(std::span<const double> terms) {
  for (Time& time : times_) time.at_risk = time.events = 0.0;
  double largest = 0.0, smallest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < row_.size(); ++i) {
    rest_[i] = whole_weights_ ? terms[i] : terms[i] * row_[i].weight;
    largest = std::max(largest, rest_[i]);
    if (rest_[i] >= kLeastSum) smallest = std::min(smallest, rest_[i]);
  }
  if (largest < kLeastSum) return;
  int scale = 0, least = 0;
  std::frexp(largest, &scale);
  std::frexp(smallest, &least);
  const double from = std::ldexp(1.0, -scale), base = std::ldexp(1.0, digit_bits_);
  for (double& rest : rest_) rest *= from;
  const int bits = std::max(kUnitBits, scale - least + kSmallestBits);
  const int places = (bits + digit_bits_ - 1) / digit_bits_;
  for (int place = 1; place <= places; ++place) {
    check_interrupt();
    for (size_t i = 0; i < row_.size(); ++i) {
      const double shifted = rest_[i] * base;
      digit_[i] = static_cast<double>(static_cast<int64_t>(shifted));
      rest_[i] = shifted - digit_[i];
    }
    add_digit(digit_, std::ldexp(1.0, scale - digit_bits_ * place));
  }
}

// The same of one digit of each term: a whole number of units.
void CoxLoss::add_digit(std::span<const double> digit, double unit) {
  std::fill(entering_.begin(), entering_.end(), 0);
  if (efron_) std::fill(of_events_.begin(), of_events_.end(), 0);
  for (size_t i = 0; i < row_.size(); ++i) {
    const Row& row = row_[i];
    const auto own = static_cast<int64_t>(whole_weights_ ? digit[i] * row.weight : digit[i]);
    entering_[row.first] += own;
    entering_[row.last] -= own;
    if (efron_ && row.is_event) of_events_[row.last - 1] += own;
  }
  int64_t at_risk = 0;
  for (size_t k = 0; k < times_.size(); ++k) {
    at_risk += entering_[k];
    times_[k].at_risk += static_cast<double>(at_risk) * unit;
    if (efron_) times_[k].events += static_cast<double>(of_events_[k]) * unit;
  }
}

// Of n tied events with the weight u = m / n each, the l-th is compared with the rows at risk and
// without l / n of the tied rows (Efron 1977), or with all rows at risk (Breslow 1974).
void CoxLoss::set_hazards(const Kernels& kernels) {
  for (Time& time : times_) {
    time.at_risk = std::max(time.at_risk, kLeastSum);
    for (uint32_t l = 0; l < time.tied; ++l)
      left_[time.first_tied + l] = time.at_risk - share(time, l) * time.events;
  }
  kernels.log(left_.data(), left_.size(), logs_.data());
  for (Time& time : times_) {
    if (efron_) {
      set_tied_hazard(time, logs_.data() + time.first_tied);
    } else {
      time.log = time.deaths * logs_[time.first_tied];
      time.hazard = time.deaths / time.at_risk;
      time.squared = time.deaths / (time.at_risk * time.at_risk);
    }
  }
}

void CoxLoss::set_tied_hazard(Time& time, const double* logs) const {
  double log = 0.0, hazard = 0.0, squared = 0.0, own_hazard = 0.0, own_squared = 0.0;
  for (uint32_t l = 0; l < time.tied; ++l) {
    const double inverse = 1.0 / left_[time.first_tied + l];
    const double kept = (1.0 - share(time, l)) * inverse;
    log += logs[l];
    hazard += inverse;
    squared += inverse * inverse;
    own_hazard += kept;
    own_squared += kept * kept;
  }
  const double unit = time.deaths / static_cast<double>(time.tied);
  time.log = log * unit;
  time.hazard = hazard * unit;
  time.squared = squared * unit;
  time.own_hazard = time.hazard - own_hazard * unit;
  time.own_squared = time.squared - own_squared * unit;
}

// From hazards at event times to sums of them since the first event time of the stratum.
void CoxLoss::accumulate_hazards() {
  for (size_t k = 0; k < times_.size(); ++k) {
    times_[k].hazard_step = times_[k].hazard;
    times_[k].squared_step = times_[k].squared;
    if (k == times_[k].begin) continue;
    times_[k].hazard += times_[k - 1].hazard;
    times_[k].squared += times_[k - 1].squared;
  }
}

double CoxLoss::total_loss(std::span<const double> score) const {
  ExactSum sum;
  for (const Time& time : times_) sum.add(time.log);
  for (const Row& row : row_) {
    if (!row.is_event) continue;
    const double own = score[row.number] - shift_;
    if (row.weight == 1.0) {
      sum.add(-own);
    } else {
      sum.add_product(-row.weight, own);
    }
  }
  return sum.value();
}

}  // namespace stagewise
