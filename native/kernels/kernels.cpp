// The table of kernels of one instruction set; compiled once for each, with STAGEWISE_ISA as its
// name. Only static functions and raw pointers in kernels/: an inline function of a shared header,
// compiled for AVX-512 and chosen by the linker for all callers, would crash on other machines.
#include "kernels/kernels.hpp"

#include "kernels/binning.hpp"
#include "kernels/class_split_scan.hpp"
#include "kernels/cross_products.hpp"
#include "kernels/distributions/aft.hpp"
#include "kernels/distributions/distributions.hpp"
#include "kernels/elementary/exp_log.hpp"
#include "kernels/elementary/gamma.hpp"
#include "kernels/formula.hpp"
#include "kernels/histogram.hpp"
#include "kernels/losses.hpp"
#include "kernels/packing.hpp"
#include "kernels/partition.hpp"
#include "kernels/queries.hpp"
#include "kernels/random_cut.hpp"
#include "kernels/scoring.hpp"
#include "kernels/shap.hpp"
#include "kernels/split_bounds.hpp"
#include "kernels/split_scan.hpp"
#include "kernels/vector_histogram.hpp"
#include "kernels/vector_split_scan.hpp"

namespace stagewise {

#define STAGEWISE_JOIN2(a, b) a##b
#define STAGEWISE_JOIN(a, b) STAGEWISE_JOIN2(a, b)
#define STAGEWISE_TEXT2(a) #a
#define STAGEWISE_TEXT(a) STAGEWISE_TEXT2(a)

extern const Kernels STAGEWISE_JOIN(kernels_, STAGEWISE_ISA);
const Kernels STAGEWISE_JOIN(kernels_, STAGEWISE_ISA) = {
    LossKernels{
        .squared = squared,
        .absolute = absolute,
        .quantile = quantile,
        .huber = huber,
        .poisson = poisson,
        .gamma = gamma,
        .tweedie = tweedie,
        .cross_entropy = cross_entropy,
        .logistic = logistic,
        .exponential = exponential,
        .formula = formula,
        .softmax_state = softmax_state,
        .softmax = softmax,
        .exponential_state = exponential_state,
        .multiclass_exponential = multiclass_exponential,
    },
    QueryKernels{
        .order_scores = order_scores,
        .strengths = strengths,
        .compare_pivots = compare_pivots,
    },
    PackingKernels{
        .pack = pack,
    },
    HistogramKernels{
        .histogram8 = histogram<uint8_t>,
        .histogram16 = histogram<uint16_t>,
        .even_histogram8 = even_histogram,
        .sparse_histogram = sparse_histogram,
        .vector_histogram8 = vector_histogram<uint8_t>,
        .vector_histogram16 = vector_histogram<uint16_t>,
        .subtract = subtract,
    },
    SplitScanKernels{
        .scan = scan,
        .may_reach = may_reach,
        .score_bound = score_bound,
        .score_bounds = score_bounds,
        .symmetric_scores = symmetric_scores,
        .symmetric_bound = symmetric_bound,
        .symmetric_scores_of_listed = symmetric_scores_of_listed,
        .code_range = code_range,
        .cut_sides = cut_sides,
        .scan_classes = scan_classes,
        .sweep_classes = sweep_classes,
        .scan_vectors = scan_vectors,
        .symmetric_vector_scores = symmetric_vector_scores,
    },
    PartitionKernels{
        .partition8 = partition<uint8_t>,
        .partition16 = partition<uint16_t>,
        .partition32 = partition<uint32_t>,
        .mark8 = mark<uint8_t>,
        .mark16 = mark<uint16_t>,
        .mark32 = mark<uint32_t>,
        .distribute = distribute,
    },
    ScoringKernels{
        .mask_leaves = mask_leaves,
        .symmetric_leaves = symmetric_leaves,
        .top_nodes = top_nodes,
        .add_leaf_values = add_leaf_values,
        .add_leaf_planes = add_leaf_planes,
    },
    ShapKernels{
        .decisions = decisions,
        .patterns = patterns,
        .add_patterns = add_patterns,
        .edge_products = edge_products,
        .edge_attributions = edge_attributions,
    },
    CrossProductKernels{
        .products = products,
    },
    BinningKernels{
        .bin_doubles = bin_values<double>,
        .bin_floats = bin_values<float>,
    },
    ElementaryKernels{
        .exp = exp_doubles,
        .log = log_doubles,
        .expm1 = expm1_doubles,
        .log1p = log1p_doubles,
        .log_gamma = log_gamma_doubles,
        .digamma = digamma_doubles,
        .trigamma = trigamma_doubles,
        .scaled_erfc = scaled_erfc_doubles,
    },
    DistributionKernels{
        .distribution_losses = distribution_losses,
        .distribution_steps = distribution_steps,
        .distribution_information = distribution_information,
    },
    AftKernels{
        .aft = aft,
    },
    STAGEWISE_TEXT(STAGEWISE_ISA),
};

}  // namespace stagewise
