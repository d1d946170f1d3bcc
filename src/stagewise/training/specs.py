"""Specifications of fits, as frozen values: one for each kind of model.

An estimator checks its parameters and turns them into a specification. Below the estimators there
are no parameter dictionaries, and nothing here depends on data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.recipe import Recipe
from stagewise.boosting.steps import Step
from stagewise.cluster.peers import ALONE, Peers
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.learners.learner import Learner
from stagewise.losses import Loss
from stagewise.model.model import Model
from stagewise.model.terms import TermModel
from stagewise.training.stored.checkpoint import Checkpoints

__all__ = [
    "BagSpec",
    "BoostingSpec",
    "FitContext",
    "ForestSpec",
    "HoldOutSpec",
    "InputSpec",
    "LearnerAdapter",
    "SingleTreeSpec",
    "StoppingSpec",
]

Vector = npt.NDArray[np.float64]


class _FromParameters:
    """A specification whose fields have the names of parameters."""

    @classmethod
    def of(cls, params: Mapping[str, Any], **others: Any) -> Self:
        """Return the specification of checked parameters; fields without one keep defaults."""
        names = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: params[name] for name in names if name in params}, **others)


@dataclass(frozen=True)
class InputSpec(_FromParameters):
    """How the columns of X are read.

    Attributes
    ----------
    missing_values : tuple of numbers
        Values that are missing besides NaN.
    categorical_features : str, tuple or None
        Which columns are categorical.
    handle_unknown : str
        How unknown categories are handled.
    max_bins : int
        The largest number of bins of a feature.
    """

    missing_values: tuple[int | float, ...] = ()
    categorical_features: Any = "from_dtype"
    handle_unknown: Literal["missing", "error", "prior"] = "missing"
    max_bins: int = 255


@dataclass(frozen=True)
class StoppingSpec(_FromParameters):
    """When a fit ends, and which progress it shows.

    Attributes
    ----------
    n_estimators : int
        The largest number of rounds.
    n_iter_no_change, tol
        The rounds without an improvement of more than `tol` after which a fit stops.
    eval_metric : None, or a metric or a list of metrics as of `find_metrics`
        What is measured besides the loss. The first one decides when to stop; None: the loss.
    time_limit : float or None
        Seconds.
    callbacks : tuple of callable
        Called after every round.
    verbose : int
        Which progress is printed; see `ProgressDisplay`.
    """

    n_estimators: int = 1
    n_iter_no_change: int = 10
    tol: float = 0.0
    eval_metric: Any = None
    time_limit: float | None = None
    callbacks: tuple[Any, ...] = ()
    verbose: int = 0


@dataclass(frozen=True)
class HoldOutSpec:
    """Which training rows are held out.

    Attributes
    ----------
    kind : {"none", "fraction", "folds"}
        No rows, a random fraction of them, or every row once, in folds.
    fraction : float
        The fraction.
    cv : int, splitter, list of pairs or "auto"
        The folds; "auto": see `automatic_folds`.
    parts : int or None
        The number of automatic folds; None: by the number of rows.
    extends : bool
        Whether the model of all rows has more rounds than those of the folds, see `refit_rounds`.
    parameter : str
        The parameter that holds rows out, for messages.
    uses_passed_rows : bool
        Whether X_val, or the first set of `eval_set`, takes the place of these rows and stops the
        fit. Otherwise they are only recorded.
    chooses : bool
        Whether folds choose the number of rounds; otherwise they have all rounds.
    calibration : float
        The fraction of the rows that the fit does not use at all: they are for intervals.
    """

    kind: Literal["none", "fraction", "folds"] = "none"
    fraction: float = 0.1
    cv: Any = 5
    parts: int | None = None
    extends: bool = False
    parameter: str = "early_stopping=True"
    uses_passed_rows: bool = True
    chooses: bool = True
    calibration: float = 0.0


class LearnerAdapter(Protocol):
    """A learner of boosting, and how it reads rows.

    With `vector_leaves` a round is one term with a value for each output.
    """

    def max_step(self, scale: Any) -> float:
        """Return the largest step, in units of the scaled target; 0: no limit."""

    @property
    def vector_leaves(self) -> bool:
        """Whether terms are joint."""

    def source(self, table: Any, context: FitContext) -> Any:
        """Return rows as the ensemble reads them."""

    def encode(
        self,
        tables: Sequence[Any],
        weight: Vector | None,
        features: Any,
        context: FitContext,
        rows: npt.NDArray[np.uint32] | None = None,
    ) -> tuple[Any, Callable[[Any], Any]]:
        """Return the training rows as the learner reads them, and a function that encodes others.

        `rows` are the numbers of the rows in messages.
        """

    def find_constant(
        self, encoded: Any, data: Any, features: Any, *, warns: bool
    ) -> tuple[list[str], list[str] | None]:
        """Return the features that no term can use.

        With `warns`, warn if the model can only be constant; a fit that continues a model is not.
        """

    def new_ensemble(self, features: Any, base: Vector) -> Any:
        """Return an ensemble without terms."""

    def continued(self, features: Any, previous: Any) -> Any:
        """Return a copy of the ensemble of an earlier fit."""

    def score(self, ensemble: Any, source: Any, context: FitContext) -> Vector:
        """Return the scores of rows, shape (n_rows, n_outputs)."""

    def learner(self, features: Any, loss: Loss, unit: float, used: Sequence[int]) -> Learner:
        """Return the learner, in the units of the scores."""

    def step(self, step: Step, features: Any, max_step: float) -> Step:
        """Return the step, perhaps extended."""

    def model(
        self, loss: Loss, data: Any, features: Any, ensemble: Any, scale: Any, monitor: Monitor
    ) -> Model | TermModel:
        """Return the model."""


@dataclass(frozen=True)
class BoostingSpec:
    """A boosted model: recipe × learner × held-out rows × stopping.

    Attributes
    ----------
    recipe : Recipe
        The algorithm.
    learner : LearnerAdapter
        The learner that is fitted in every round, and how it reads rows.
    hold_out : HoldOutSpec
        The rows that choose the number of rounds.
    stopping : StoppingSpec
        When the fit ends.
    category_encoding : {"auto", "sets", "target"}
        Whether categories are target-encoded.
    n_orderings : int
        The number of random orders of the encoding.
    """

    recipe: Recipe
    learner: LearnerAdapter
    hold_out: HoldOutSpec
    stopping: StoppingSpec
    category_encoding: str = "sets"
    n_orderings: int = 1


@dataclass(frozen=True)
class BagSpec:
    """The bag of a tree, and what its weights decide.

    Attributes
    ----------
    bootstrap : bool
        Whether each row is drawn a Poisson number of times, rather than once or not at all.
    max_samples : float or int
        The expected number of draws: a fraction of the rows, or a number of rows.
    balanced : bool
        Whether the classes of every target have equal weights in each bag.
    min_weight_fraction_leaf : float
        The least weight of a leaf, as a fraction of that of the bag.
    """

    bootstrap: bool = False
    max_samples: float | int = 1.0
    balanced: bool = False
    min_weight_fraction_leaf: float = 0.0

    def share(self, n_rows: int) -> float:
        """Return the expected number of draws as a fraction of the rows."""
        if isinstance(self.max_samples, float):
            return self.max_samples
        if self.max_samples > n_rows:
            raise ValueError(
                f"max_samples={self.max_samples} is more than the {n_rows} rows of X; pass fewer "
                "rows, or a fraction, max_samples=1.0."
            )
        return self.max_samples / n_rows


@dataclass(frozen=True)
class ForestSpec:
    """Trees that are grown independently and averaged.

    Attributes
    ----------
    tree : HistogramTree
        The rules of a tree. `min_gain` is the smallest decrease of impurity, in units of the
        target.
    split : {"histogram", "exact"}
        How thresholds are searched.
    max_bins : int
        The largest number of bins of a feature.
    bag : BagSpec
        The bag of a tree.
    monotonic_cst : dict, list or None
        The directions of features, as the caller passed them.
    out_of_bag : bool
        Whether out-of-bag predictions are kept.
    stops_by_bags : bool
        Whether the loss of the out-of-bag rows stops the fit.
    stopping : StoppingSpec
        When the fit ends.
    hold_out : HoldOutSpec
        No row is held out: the out-of-bag rows are.
    """

    tree: HistogramTree
    split: str
    max_bins: int
    bag: BagSpec
    monotonic_cst: Any
    out_of_bag: bool
    stops_by_bags: bool
    stopping: StoppingSpec
    hold_out: HoldOutSpec = HoldOutSpec()


@dataclass(frozen=True)
class SingleTreeSpec:
    """One tree, grown on all rows and perhaps pruned.

    Attributes
    ----------
    tree : HistogramTree
        The rules of the tree; `min_gain` as of `ForestSpec`.
    split, max_bins, bag, monotonic_cst
        As of `ForestSpec`; the bag has all rows.
    pruning : {None, "cost_complexity", "reduced_error", "early_stopping"}
        How the grown tree is pruned.
    ccp_alpha : float or "cv"
        The complexity parameter: the cost of a leaf.
    one_standard_error : bool
        Whether the largest α within one standard error is chosen.
    missing_strategy : {"learned", "mean", "probability"}
        How rows with a missing value are handled.
    hold_out : HoldOutSpec
        The rows by which the tree is pruned.
    stopping : StoppingSpec
        When pruning="early_stopping" ends.
    """

    tree: HistogramTree
    split: str
    max_bins: int
    bag: BagSpec
    monotonic_cst: Any
    pruning: str | None
    ccp_alpha: Any
    one_standard_error: bool
    missing_strategy: str
    hold_out: HoldOutSpec
    stopping: StoppingSpec


@dataclass(frozen=True)
class FitContext:
    """The threads, the seed and the start time of a fit.

    Attributes
    ----------
    workers : Workers
        The threads.
    seed : int
        The key of all random numbers.
    began : float
        When the fit began, by `time.perf_counter`.
    peers : Peers
        The ranks of a fit on a cluster.
    checkpoints : Checkpoints or None
        Gets the rounds of a fit from a dataset.
    """

    workers: Workers
    seed: int
    began: float
    peers: Peers = ALONE
    checkpoints: Checkpoints | None = None
