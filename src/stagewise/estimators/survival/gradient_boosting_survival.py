"""Gradient boosting for times until an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from stagewise.boosting.recipe import BY_RESPONSE, Recipe
from stagewise.cluster.peers import ALONE, Peers
from stagewise.datasets.dataset import Dataset
from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.parameters.make_specs import BOOSTING_RULES, BOOSTING_USES, tree_adapter
from stagewise.estimators.survival.predictions import SurvivalPredictions
from stagewise.losses import SURVIVAL_LOSSES, Loss
from stagewise.losses.owners import refused_loss
from stagewise.losses.survival.base import SurvivalLoss
from stagewise.model.model import Model
from stagewise.training.reading.survival_reader import SurvivalReader
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.results import FitResult
from stagewise.training.specs import FitContext, LearnerAdapter
from stagewise.training.stored.checkpoint import Checkpoints
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import default_parameters, suggests_names

__all__ = ["GradientBoostingSurvival"]

SURVIVAL_FORMS = "or an object of stagewise.losses for times, such as Aft('logistic')"
"""What `loss` accepts besides names."""
OWN_PARAMETERS = {
    "ties": ("cox", "cause_specific"),
    "time_distribution": ("aft",),
    "scale": ("aft",),
    "n_intervals": ("discrete_time",),
    "cause": ("fine_gray",),
}
"""The parameters of single losses, and these losses."""


class GradientBoostingSurvival(SurvivalPredictions, TreeAttributes, BaseBoosting):
    """Boosted trees that predict the time until an event, some of which are censored.

    y has a time and an event for every row: a tuple (time, event), a data frame or structured array
    with the columns time and event, or `stagewise.survival_target(...)`, which also has entry times
    (left truncation), strata, intervals and competing events. See docs/survival.md.

    Parameters
    ----------
    loss : {"cox", "aft", "discrete_time", "cause_specific", "fine_gray"} or Loss, default="cox"
        The loss to minimise. "cox": the partial likelihood of proportional hazards. "aft":
        accelerated failure times, log T = F + σ z. "discrete_time": a hazard for each interval of
        time, which need not be proportional. For competing events "cause_specific", a hazard for
        each cause, and "fine_gray", the subdistribution hazard of one cause. Or an object of
        `stagewise.losses`, such as `Aft("logistic")`.
    ties : {"efron", "breslow"}, default="efron"
        How "cox" and "cause_specific" compare events at the same time.
    time_distribution : {"normal", "logistic", "extreme"}, default="normal"
        The distribution of z for "aft": log-normal, log-logistic or Weibull times.
    scale : float or None, default=None
        σ for "aft"; None: it is learned.
    n_intervals : int, default=10
        The largest number of intervals for "discrete_time".
    cause : int, default=1
        The code of the event for "fine_gray".
    init : {"mean", "zero"}, float or sequence of floats, default="mean"
        F before the first round. "mean": the best constant of the loss, which is 0 for "cox",
        "cause_specific" and "fine_gray". A number: this score; or one for each score.
    n_estimators : int or "auto", default="auto"
        The largest number of rounds. A round is one tree; for "discrete_time" one for each
        interval, and for "cause_specific" one for each cause, unless leaves="vector". "auto":
        held-out rows choose it; see `GradientBoostingRegressor`.
    leaves : {"auto", "constant", "linear", "vector"} or LinearLeaves, default="auto"
        As in `GradientBoostingRegressor`; "vector" is for losses with several scores, and "auto"
        of "discrete_time": a round is one tree whose leaves have a value for each interval.
    early_stopping : "auto", bool, "cv", int, splitter or list of folds, default="auto"
        As in `GradientBoostingRegressor`. Rows that are held out, and folds, have the same shares
        of events and of strata.
    eval_metric : None, {"c_index", "uno_c_index"}, callable, Metric or a list of these, \
default=None
        Metrics that are measured after every round. A function gets the structured targets.
    response, learning_rate, max_leaf_nodes, max_depth, min_samples_leaf, min_hessian, \
l1_regularization, l2_regularization, min_gain, max_step, grow_policy, path_smoothing, \
max_features, subsample, sampling, dropout, monotonic_cst, interaction_cst, \
feature_penalty, split, max_bins, missing_values, categorical_features, category_encoding, \
handle_unknown, validation_fraction, n_iter_no_change, tol, time_limit, warm_start, random_state, \
n_jobs, verbose, callbacks
        As in `GradientBoostingRegressor`; `monotonic_cst` constrains F: a larger F is a larger
        hazard, and for "aft" a later event.

    Attributes
    ----------
    event_times_ : float64 array
        The times at which predicted curves change, or at which they are shown.
    strata_ : list
        The labels of the strata; empty: there are none.
    model_, n_iter_, best_iteration_, learning_rate_, train_loss_, validation_loss_, \
evals_result_, best_score_, \
held_out_rows_, feature_importances_, n_features_in_, feature_names_in_, fit_report_, seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingSurvival
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> time, censored = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=200)
    >>> y = np.minimum(time, censored), time <= censored
    >>> model = GradientBoostingSurvival(n_estimators=30).fit(X, y)
    >>> model.predict_survival_function(X[:2]).at([0.5, 1.0]).shape
    (2, 2)
    """

    _rules = BOOSTING_RULES
    _uses = BOOSTING_USES
    _takes_offset = True
    _losses = SURVIVAL_LOSSES

    @suggests_names
    def __init__(
        self,
        *,
        loss: Any = "cox",
        ties: str = "efron",
        time_distribution: str = "normal",
        scale: float | None = None,
        n_intervals: int = 10,
        cause: int = 1,
        init: Any = "mean",
        response: str = "newton",
        learning_rate: float | str = "auto",
        n_estimators: int | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | str | None = "auto",
        min_samples_leaf: float | str = "auto",
        min_hessian: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float | str = "auto",
        min_gain: float = 0.0,
        max_step: float | None = None,
        leaves: Any = "auto",
        grow_policy: str = "auto",
        path_smoothing: float = 0.0,
        max_features: Any = "auto",
        subsample: float | str = "auto",
        sampling: Any = "auto",
        dropout: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_penalty: Any = None,
        split: Any = "auto",
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        category_encoding: Any = "auto",
        handle_unknown: str = "missing",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 0.0,
        eval_metric: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.loss = loss
        self.ties = ties
        self.time_distribution = time_distribution
        self.scale = scale
        self.n_intervals = n_intervals
        self.cause = cause
        self.init = init
        self.response = response
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian = min_hessian
        self.l1_regularization = l1_regularization
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.max_step = max_step
        self.leaves = leaves
        self.grow_policy = grow_policy
        self.path_smoothing = path_smoothing
        self.max_features = max_features
        self.subsample = subsample
        self.sampling = sampling
        self.dropout = dropout
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_penalty = feature_penalty
        self.split = split
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.category_encoding = category_encoding
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    def _recipe(self) -> Recipe:
        return BY_RESPONSE[self.response]

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        return tree_adapter(params)

    # ---- the loss --------------------------------------------------------------------------------

    def _make_loss(self, classes: Any) -> SurvivalLoss:
        loss, name = self.loss, type(self).__name__
        if isinstance(loss, SurvivalLoss):
            self._check_own_parameters(None)
            return loss
        if not isinstance(loss, str) or loss not in SURVIVAL_LOSSES:
            raise refused_loss(loss, name, SURVIVAL_LOSSES, SURVIVAL_FORMS)
        self._check_own_parameters(loss)
        kind = SURVIVAL_LOSSES[loss]
        try:
            return kind(**{own: getattr(self, own) for own in kind.parameter_names})
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(f"For {name}: {error}") from None

    def _check_own_parameters(self, loss: str | None) -> None:
        """Raise InvalidParameterError if a parameter of another loss was set."""
        for own, users in OWN_PARAMETERS.items():
            default = default_parameters(type(self))[own]
            if loss not in users and getattr(self, own) != default:
                raise InvalidParameterError(
                    f"The parameter {own!r} of {type(self).__name__} is for "
                    f"loss={' or '.join(map(repr, users))}, but loss is {short_repr(self.loss)}. "
                    f"Leave {own} at {default!r}."
                )

    def _loss_of(self, data: TrainingData) -> Loss:
        loss = self._make_loss(None)
        if self.warm_start and hasattr(self, "model_"):
            known = self._prediction_loss(self.model_)
            return loss.continuing(known) if loss.name == known.name else loss
        found = loss.of_rows(data.train.y, data.train.weight)
        found.check(data.train.y)
        return found

    # ---- the fit ---------------------------------------------------------------------------------

    def _fit(
        self,
        arguments: FitArguments,
        peers: Peers = ALONE,
        checkpoints: Checkpoints | None = None,
    ) -> Self:
        self._refuse_arguments(arguments, peers)
        self._reader = SurvivalReader(type(self).__name__)
        try:
            super()._fit(arguments, peers, checkpoints)
            self.strata_ = self._reader.strata or []
        finally:
            del self._reader
        return self

    def _refuse_arguments(self, arguments: FitArguments, peers: Peers) -> None:
        """Raise for what survival models do not have."""
        name = type(self).__name__
        if peers.size > 1 or isinstance(arguments.X, Dataset):
            what = "a cluster" if peers.size > 1 else "a Dataset"
            raise TypeError(
                f"{name} cannot be fitted to {what}: risk sets need the times of all rows in "
                "memory. Pass a table in memory."
            )
        if not (isinstance(self.init, (str, int, float, np.number)) or np.iterable(self.init)):
            raise InvalidParameterError(
                f"The parameter 'init' of {name} must be 'mean', 'zero' or numbers; got "
                f"{short_repr(self.init)}. Pass the scores of another model as offset."
            )

    def _train(
        self,
        spec: Any,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        previous: Model | None,
    ) -> FitResult:
        result = super()._train(spec, loss, data, context, previous)
        scores = result.oof_scores
        if scores is None or not np.isfinite(scores).all():
            return result
        # The scores of held-out rows are those of new rows; scores of training rows are too far
        # apart.
        learned = loss.learn(data.train.y, data.train.weight, scores)
        own = {f"loss.{name}": values for name, values in learned.items()}
        assert isinstance(result.model, Model)
        return replace(result, model=replace(result.model, learned={**result.model.learned, **own}))

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.event_times_ = self._prediction_loss(model).grid

    @classmethod
    def _check_model(cls, model: Model) -> None:
        if model.loss not in SURVIVAL_LOSSES:
            raise ModelFormatError(f"a {cls.__name__} does not have the loss {model.loss!r}.")

    @classmethod
    def _from_model(cls, model: Model, params: Mapping[str, Any], notes: Mapping[str, Any]) -> Self:
        estimator = super()._from_model(model, params, notes)
        estimator.strata_ = list(notes.get("strata", []))
        return estimator

    def _notes(self) -> dict[str, Any]:
        return {**super()._notes(), "strata": self.strata_}

    def refit(self, *arguments: Any, **options: Any) -> Self:
        """Raise InvalidParameterError: what a loss learns does not follow from rows of leaves."""
        name = self._fitted().loss
        learned = {"aft": "scale was", "discrete_time": "intervals were"}.get(
            name, "baseline hazards were"
        )
        raise InvalidParameterError(
            f"refit of this {type(self).__name__} is not defined: the {learned} learned "
            f"with loss={name!r} from the times of its fit. Fit a new model, or continue this one "
            "with warm_start=True."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
