"""The native core: arrays in, arrays out. See native/bindings/."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

_F64 = npt.NDArray[np.float64]
_F32 = npt.NDArray[np.float32]
_Real = npt.NDArray[np.float64] | npt.NDArray[np.float32]
_I32 = npt.NDArray[np.int32]
_U8 = npt.NDArray[np.uint8]
_U16 = npt.NDArray[np.uint16]
_U32 = npt.NDArray[np.uint32]
_I64 = npt.NDArray[np.int64]
_U64 = npt.NDArray[np.uint64]

def supported_isas() -> list[str]: ...

class Workers:
    def __init__(self, threads: int, isa: str = "") -> None: ...
    @property
    def threads(self) -> int: ...
    @property
    def isa(self) -> str: ...

class Cancellation:
    """Ends the native calls of all threads that work under it, with KeyboardInterrupt."""

    def __init__(self) -> None: ...
    def cancel(self) -> None: ...
    def cancelled(self) -> bool: ...

def set_cancellation(cancellation: Cancellation | None) -> Cancellation | None:
    """Set what ends the native calls of this thread; return what did before."""

class SparseColumns:
    def __init__(
        self,
        start: _I64,
        index: _U32,
        values: _Real,
        n_rows: int,
        n_features: int,
        by_rows: bool,
        default_value: float,
    ) -> None: ...
    def by_columns(self) -> SparseColumns: ...
    def take(self, rows: _U32) -> SparseColumns: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_stored(self) -> int: ...

class Columns:
    def __init__(self, columns: _Real | Sequence[_Real]) -> None: ...
    def take(self, rows: _U32) -> Columns: ...
    def extended(self, columns: Sequence[_Real]) -> Columns: ...
    def by_columns(self) -> Columns: ...
    def contiguous(self, workers: Workers) -> Columns: ...
    def column(self, feature: int) -> _F64: ...
    def add_tree(
        self,
        workers: Workers,
        tree: GrownTree,
        value: _F64,
        score: _F64,
        linear_leaves: LeafModels | None = None,
    ) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...

class CategoryKeys:
    def __init__(
        self,
        workers: Workers,
        columns: Columns,
        sources: Sequence[Sequence[tuple[int, int]]],
        training_rows: _U32 | None,
    ) -> None: ...
    def keys(self, kind: int) -> _U64: ...
    def strengths(self, workers: Workers, pairs: _F32) -> list[float]: ...
    def means(self, workers: Workers, pairs: _F32, strength: Sequence[float]) -> list[_F32]: ...
    def ordered_means(
        self, workers: Workers, pairs: _F32, strength: Sequence[float], seed: int, version: int
    ) -> list[_F32]: ...
    def gains(
        self, workers: Workers, pairs: _F32, seed: int, version: int
    ) -> list[tuple[float, float]]: ...

def encode_keys(columns: Columns, sources: Sequence[tuple[int, int]], keys: _U64) -> _U32: ...

class LeafModels:
    def __init__(
        self,
        node: _I64,
        start: _U64,
        feature: _I32,
        slope: _F64,
        centre: _F64,
        intercept: _F64,
        low: _F64,
        high: _F64,
        beyond: _U8,
        grain: _F64,
        n_nodes: int,
        n_features: int,
    ) -> None: ...

def learn_cuts(
    workers: Workers,
    columns: Columns | SparseColumns,
    weight: _F64 | None,
    max_bins: int,
    sample_limit: int,
    seed: int,
) -> list[_F64]: ...
def learn_category_bins(
    columns: Columns, feature: int, n_categories: int, weight: _F64 | None, max_bins: int
) -> _U32: ...
def cut_between(a: float, b: float) -> float: ...
def residual_quantile(
    workers: Workers, y: _F64, score: _F64, weight: _F64 | None, q: float
) -> float: ...
def weighted_quantile(values: _F64, weight: _F64 | None, q: float) -> float: ...
def draw_rows(
    workers: Workers,
    rows: int,
    weight: _F64 | None,
    share: float,
    seed: int,
    round_number: int,
) -> _U32: ...
def draw_groups(
    workers: Workers,
    groups: _U32,
    weight: _F64 | None,
    share: float,
    seed: int,
    round_number: int,
) -> _U32: ...
def draw_bootstrap(
    workers: Workers,
    rows: int,
    weight: _F64 | None,
    rate: float,
    seed: int,
    round_number: int,
) -> tuple[_U32, _F32]: ...
def draw_goss(
    workers: Workers,
    squares: _F64,
    weight: _F64 | None,
    top: float,
    other: float,
    seed: int,
    round_number: int,
) -> tuple[_U32, _F32]: ...
def draw_mvs(
    workers: Workers,
    squares: _F64,
    weight: _F64 | None,
    share: float,
    seed: int,
    round_number: int,
) -> tuple[_U32, _F32]: ...
def draw_dropout(
    n: int, share: float, most: int, skip: float, seed: int, round_number: int
) -> _U32: ...
def exponential_state(
    workers: Workers,
    y: _I32,
    scores: _F64,
    weight: _F64 | None,
    outputs: int,
    state: _F32,
) -> float: ...
def softmax_state(
    workers: Workers,
    y: _I32,
    scores: _F64,
    weight: _F64 | None,
    outputs: int,
    state: _F32,
) -> float: ...

class Bins:
    def __init__(
        self, workers: Workers, columns: Columns | SparseColumns, codings: Sequence[_F64 | _U32]
    ) -> None: ...
    @staticmethod
    def ranks(workers: Workers, columns: Columns, codings: Sequence[_F64 | _U32]) -> Bins: ...
    @property
    def codes_per_row(self) -> int: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def code_bytes(self) -> int: ...
    def value_bins(self, feature: int) -> int: ...
    def has_missing(self, feature: int) -> bool: ...
    def bin_below(self, feature: int, threshold: float) -> int: ...
    def is_constant(self, feature: int) -> bool: ...
    def codes(self) -> _U32: ...
    def add_tree(
        self,
        workers: Workers,
        tree: GrownTree,
        value: _F64,
        score: _F64,
        linear_leaves: LeafModels | None = None,
        columns: Columns | None = None,
    ) -> None: ...

class Gradients:
    def __init__(self, n_rows: int) -> None: ...
    @property
    def n_rows(self) -> int: ...
    def transform(
        self,
        workers: Workers,
        weight: _F64 | None,
        limit: float = 0.0,
        unit_hessians: bool = False,
        absolute: bool = False,
    ) -> None: ...
    def multiply(
        self, workers: Workers, weight: _F64 | None, multiplier: _F32, hessians: bool = True
    ) -> None: ...
    def add_squares(
        self, workers: Workers, weight: _F64 | None, ridge: float, out: _F64
    ) -> None: ...
    def multiclass_exponential(
        self,
        workers: Workers,
        y: _I32,
        state: _F32,
        output: int,
        outputs: int,
        weight: _F64 | None,
    ) -> None: ...
    def pairs(self) -> _F32: ...
    def squared(
        self, workers: Workers, y: _F64, score: _F64, weight: _F64 | None, parameter: float = 0.0
    ) -> float: ...
    def absolute(
        self, workers: Workers, y: _F64, score: _F64, weight: _F64 | None, parameter: float = 0.0
    ) -> float: ...
    def quantile(
        self, workers: Workers, y: _F64, score: _F64, weight: _F64 | None, parameter: float = 0.0
    ) -> float: ...
    def huber(
        self, workers: Workers, y: _F64, score: _F64, weight: _F64 | None, parameter: float = 0.0
    ) -> float: ...
    def poisson(
        self, workers: Workers, y: _F64, score: _F64, weight: _F64 | None, parameter: float = 0.0
    ) -> float: ...
    def gamma(
        self, workers: Workers, y: _F64, score: _F64, weight: _F64 | None, parameter: float = 0.0
    ) -> float: ...
    def tweedie(
        self, workers: Workers, y: _F64, score: _F64, weight: _F64 | None, parameter: float = 0.0
    ) -> float: ...
    def logistic(self, workers: Workers, y: _I32, score: _F64, weight: _F64 | None) -> float: ...
    def exponential(self, workers: Workers, y: _I32, score: _F64, weight: _F64 | None) -> float: ...
    def softmax(
        self,
        workers: Workers,
        y: _I32,
        score: _F64,
        state: _F32,
        output: int,
        weight: _F64 | None,
    ) -> None: ...
    def assign(
        self, workers: Workers, gradient: _F64, hessian: _F64, weight: _F64 | None
    ) -> None: ...

class VectorGradients:
    def __init__(self, n_rows: int, n_outputs: int) -> None: ...
    @property
    def n_outputs(self) -> int: ...
    def take(self, output: int, gradients: Gradients) -> None: ...

class TreeRules:
    def __init__(self, rules: Mapping[str, object]) -> None: ...

class GrownTree:
    def arrays(self) -> tuple[_I32, _F64, _U8, _I32, _I32, _F64, _F64, _F64]: ...
    @property
    def outputs(self) -> int: ...
    def category_sets(self) -> tuple[_I32, _U64]: ...

class Grower:
    def __init__(
        self,
        workers: Workers,
        bins: Bins,
        weight: _F64 | None,
        rules: TreeRules,
        classes: _I32 | None = None,
        n_classes: int = 0,
        outputs: int = 0,
        target: _F64 | None = None,
    ) -> None: ...
    def grow_medians(self, bag: _U32 | None, seed: int, tree_number: int) -> GrownTree: ...
    def grow(
        self,
        gradients: Gradients | VectorGradients,
        bag: _U32 | None,
        seed: int,
        tree_number: int,
    ) -> GrownTree: ...
    def add_scores(
        self,
        tree: GrownTree,
        value: _F64,
        score: _F64,
        linear_leaves: LeafModels | None = None,
        columns: Columns | None = None,
    ) -> None: ...
    def fit_linear_leaves(
        self, tree: GrownTree, columns: Columns, gradients: Gradients, l2: float, bound: float
    ) -> tuple[_I32, _U64, _I32, _F64, _F64, _F64, _F64, _F64, _U8, _F64]: ...
    def monotone_bounds(self, values: _F64) -> tuple[_F64, _F64]: ...
    def set_few_rows(self, rows: int) -> None: ...
    def leaf_quantiles(self, residual: _F64, q: float, multiplier: _F32 | None = None) -> _F64: ...
    def leaf_huber_means(
        self, residual: _F64, width: float, multiplier: _F32 | None = None
    ) -> _F64: ...
    def leaf_sums(self, gradients: Gradients) -> tuple[_F64, _F64]: ...
    def enforce_monotone(self, values: _F64) -> _F64: ...
    def leaf_nodes(self) -> _I32: ...
    def leaf_rows(self) -> tuple[_U32, _U64]: ...

class ForestGrower:
    def __init__(
        self,
        workers: Workers,
        bins: Bins,
        weight: _F64 | None,
        target: _F64 | None,
        classes: _I32 | None,
        n_classes: int,
        rules: TreeRules,
        bootstrap: bool,
        share: float,
    ) -> None: ...
    def grow(
        self, seed: int, first: int, n: int, list_oob: bool
    ) -> list[tuple[GrownTree, _U32, _I32]]: ...

class Forest:
    def __init__(
        self,
        start: _U64,
        feature: _I32,
        threshold: _F64,
        missing_left: _U8,
        left: _I32,
        right: _I32,
        value: _F64,
        n_features: int,
        n_outputs: int,
        outputs_per_tree: int = 1,
        set_start: _I64 | None = None,
        sets: _U64 | None = None,
        n_categories: _U32 | None = None,
        linear_leaves: LeafModels | None = None,
    ) -> None: ...
    @property
    def n_trees(self) -> int: ...
    def add_scores(
        self,
        workers: Workers,
        columns: Columns | SparseColumns,
        first: int,
        last: int,
        out: _F64,
    ) -> None: ...
    def add_rows(self, rows: _F64, first: int, last: int, out: _F64) -> None: ...
    def leaves(self, workers: Workers, columns: Columns | SparseColumns, out: _I32) -> None: ...

class Shap:
    def __init__(
        self,
        workers: Workers,
        start: _U64,
        feature: _I32,
        threshold: _F64,
        missing_left: _U8,
        left: _I32,
        right: _I32,
        value: _F64,
        cover: _F64 | None,
        background: Columns | None,
        n_features: int,
        n_outputs: int,
        outputs_per_tree: int,
        interactions: bool,
        first: int,
        max_bytes: int,
        table_bytes: int = ...,
        set_start: _I64 | None = None,
        sets: _U64 | None = None,
        n_categories: _U32 | None = None,
        linear_leaves: LeafModels | None = None,
    ) -> None: ...
    @property
    def last(self) -> int: ...
    @property
    def n_walked(self) -> int: ...
    def base(self) -> _F64: ...
    def add(self, workers: Workers, columns: Columns, begin: int, end: int, out: _F64) -> None: ...

def node_means(
    start: _U64, feature: _I32, left: _I32, right: _I32, value: _F64, cover: _F64, width: int
) -> tuple[_F64, _F64]: ...
def add_partial_dependence(
    start: _U64,
    feature: _I32,
    threshold: _F64,
    missing_left: _U8,
    left: _I32,
    right: _I32,
    share: _F64,
    mean: _F64,
    width: int,
    outputs: int,
    known: Sequence[tuple[int, _F64]],
    out: _F64,
) -> None: ...
