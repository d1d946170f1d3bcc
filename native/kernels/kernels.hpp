// The table of kernels: the loops that touch every row or every bin, once per instruction set.
//
// kernels.cpp is compiled several times with different compiler flags. Every loop is elementwise
// floating point or integer arithmetic, so every table computes the same bits. Callers get a table
// from kernels_for(). The parts of the table are declared in kernels/api/, one file per concern.
#pragma once

#include <string>
#include <vector>

#include "kernels/api/aft.hpp"
#include "kernels/api/binning.hpp"
#include "kernels/api/cross_products.hpp"
#include "kernels/api/distributions.hpp"
#include "kernels/api/elementary.hpp"
#include "kernels/api/histograms.hpp"
#include "kernels/api/losses.hpp"
#include "kernels/api/packing.hpp"
#include "kernels/api/partition.hpp"
#include "kernels/api/queries.hpp"
#include "kernels/api/scoring.hpp"
#include "kernels/api/shap.hpp"
#include "kernels/api/split_scan.hpp"

namespace stagewise {

struct Kernels : LossKernels,
                 QueryKernels,
                 PackingKernels,
                 HistogramKernels,
                 SplitScanKernels,
                 PartitionKernels,
                 ScoringKernels,
                 ShapKernels,
                 CrossProductKernels,
                 BinningKernels,
                 ElementaryKernels,
                 DistributionKernels,
                 AftKernels {
  const char* name;  // of the instruction set
};

// The instruction sets that this build has and this processor can run, the best one last.
std::vector<std::string> supported_isas();
// "" chooses the best one; throws std::invalid_argument for an unknown or unsupported name.
const Kernels& kernels_for(const std::string& isa);

}  // namespace stagewise
