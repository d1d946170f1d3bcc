// Interface of the kernel of accelerated failure times: log T = F + sigma z.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stagewise {

enum class TimeDistribution : uint8_t { normal, logistic, extreme, count };
constexpr const char* kTimeDistributionNames[] = {"normal", "logistic", "extreme"};
static_assert(sizeof(kTimeDistributionNames) / sizeof(char*) ==
              static_cast<size_t>(TimeDistribution::count));

// What is known of the time of a row: it itself, that it is later, earlier or between two times, or
// that the row is observed because its time is later.
enum class Observation : uint8_t { exact, right, left, interval, entered, count };

struct AftRows {  // the logs of times; `high` is used of left and interval only
  const double* low;
  const double* high;
  const double* score;
  size_t n;
};
// The loss, its first and second derivative with respect to F times -sigma and sigma^2, and the
// derivative with respect to log sigma. If the others are null, only the last one is set.
struct AftTerms {
  double *loss, *slope, *curvature, *spread;
};

struct AftKernels {
  void (*aft)(TimeDistribution distribution, Observation observation, double sigma,
              const AftRows& rows, const AftTerms& out);
};

}  // namespace stagewise
