// Chooses the table of kernels from the processor and the requested name.
#include <stdexcept>

#include "kernels/kernels.hpp"

namespace stagewise {

extern const Kernels kernels_generic;
#ifdef STAGEWISE_X86
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

std::vector<const Kernels*> runnable() {
  std::vector<const Kernels*> tables = {&kernels_generic};
#ifdef STAGEWISE_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("popcnt")) {
    tables.push_back(&kernels_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      tables.push_back(&kernels_avx512);
    }
  }
#endif
  return tables;
}

}  // namespace

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Kernels* table : runnable()) names.emplace_back(table->name);
  return names;
}

const Kernels& kernels_for(const std::string& isa) {
  const auto tables = runnable();
  if (isa.empty()) return *tables.back();
  std::string known;
  for (const Kernels* table : tables) {
    if (isa == table->name) return *table;
    known += (known.empty() ? "" : ", ") + std::string(table->name);
  }
  throw std::invalid_argument("instruction set '" + isa +
                              "' is not available here; STAGEWISE_ISA may be one of: " + known);
}

}  // namespace stagewise
