"""The base class of the automatic models."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from stagewise.errors import InvalidParameterError
from stagewise.estimators.auto.candidates import PLANS, Plan
from stagewise.estimators.auto.held_out_losses import HeldOutLosses
from stagewise.estimators.auto.leaderboard import Leaderboard, LeaderboardRow
from stagewise.estimators.auto.search import AutoSpec, CandidateSpec, SearchResult, search
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.dataset_fits import fits_datasets
from stagewise.estimators.bases.fit_mixin import ANY_CLASSES, FitMixin
from stagewise.estimators.bases.model_estimator import ModelEstimator
from stagewise.estimators.bases.predictions.scores import ModelScores
from stagewise.estimators.bases.report_mixin import ReportMixin
from stagewise.losses import Loss
from stagewise.losses.function import needs_value
from stagewise.losses.registration import custom_loss
from stagewise.model.model import Model
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.describe import other_parameters
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.specs import BoostingSpec, FitContext, HoldOutSpec
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.parameters import RULES, all_parameters, default_parameters
from stagewise.validation.rules import Number, OrAuto, Rule
from stagewise.validation.uses import Use

__all__ = ["BaseAuto"]

VECTOR_LEAVES = "linear leaves cannot be added to leaves with a value for each class"
NOT_CROSSED = "fewer than two numeric features have a gain"
CONSTRAINTS = ("monotonic_cst", "interaction_cst")
CONSTRAINED = "monotonic_cst and interaction_cst do not apply to feature crosses"
SAME = "it is the same as another candidate for these data"
SPARSE = "features of a sparse matrix are not crossed"
PLAIN_ROUNDS = 100
"""The number of rounds if no row is held out."""
SHARED = (
    "loss",
    "quantile",
    "class_weight",
    "monotonic_cst",
    "interaction_cst",
    "missing_values",
    "categorical_features",
    "handle_unknown",
    "random_state",
    "n_jobs",
)
"""The parameters that every candidate gets."""


class BaseAuto(ReportMixin, FitMixin, ModelScores, ModelEstimator):
    """Base class of the automatic models; see `AutoRegressor` for the parameters."""

    _rules: Mapping[str, Rule] = MappingProxyType(
        {"quality": Number(1, 5, whole=True), "cv": OrAuto(RULES["cv"])}
    )
    _uses = (
        # scikit-learn's checks set cv of any estimator that has it.
        Use(("cv",), "quality", lambda quality: quality > 1, "set a higher quality", warns=True),
    )
    _base: type[BaseBoosting]
    """The class of the candidates."""

    quality: Any
    time_limit: Any
    verbose: Any

    @suggests_arguments
    @fits_datasets
    def fit(  # type: ignore[override]  # rows are held out by the search alone
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None
    ) -> Self:
        """Search, and fit the model.

        An interrupt (Ctrl-C) ends the search; the best model so far is then the result.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            As of `GradientBoostingRegressor.fit`.
        y : array-like of shape (n_rows,)
            The target.
        sample_weight : array-like of shape (n_rows,) or None
            As of `GradientBoostingRegressor.fit`.
        groups : array-like of shape (n_rows,) or None
            Rows of one group are always in the same fold.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, groups=groups)

    # ---- from parameters to a specification ------------------------------------------------------

    def _plan(self) -> Plan:
        return PLANS[int(self.quality)]

    def _hold_out(self, params: dict[str, Any]) -> HoldOutSpec:
        plan = self._plan()
        if not plan.searches:
            return HoldOutSpec()
        return HoldOutSpec("folds", cv=params["cv"], parts=plan.folds, extends=True, parameter="cv")

    def _check_arguments(self, params: dict[str, Any], arguments: FitArguments) -> None:
        if arguments.groups is not None and not self._plan().searches:
            raise ValueError(
                "groups was passed, but quality=1 holds no rows out. Set a higher quality."
            )

    def _resolve(
        self, params: dict[str, Any], data: TrainingData | None = None, loss: Loss | None = None
    ) -> dict[str, Any]:
        """Return the parameters with the candidates that are possible with these data.

        "specs" has their specifications by name, "left_out" the reasons why others are impossible.
        """
        assert data is not None
        assert loss is not None
        specs: dict[str, CandidateSpec] = {}
        left_out: dict[str, str] = {}
        for candidate in self._plan().candidates:
            own = candidate.for_features(data.features, loss.n_outputs)
            if own is None:
                left_out[candidate.name] = SAME
                continue
            try:
                spec = self._spec_of(own.parameters, params, data, loss)
            except InvalidParameterError as error:
                if not specs:  # the default is possible unless a parameter is wrong
                    raise
                left_out[own.name] = str(error)
                continue
            made = CandidateSpec(spec, own.n_crossed)
            reason = self._why_impossible(made, next(iter(specs.values()), made), data)
            if made in specs.values():
                reason = SAME
            if reason:
                left_out[own.name] = reason
            else:
                specs[own.name] = made
        return {**params, "specs": specs, "left_out": left_out}

    def _why_impossible(
        self, candidate: CandidateSpec, default: CandidateSpec, data: TrainingData
    ) -> str:
        """Return why a candidate cannot be added to the default; empty: it can."""
        learner = candidate.boosting.learner
        linear = isinstance(learner, TreeAdapter) and learner.linear_l2 is not None
        if default.boosting.learner.vector_leaves and linear:
            return VECTOR_LEAVES
        if candidate.n_crossed and data.train.is_sparse:
            return SPARSE
        constrained = any(getattr(self, name, None) is not None for name in CONSTRAINTS)
        return CONSTRAINED if candidate.n_crossed and constrained else ""

    def _check_data(
        self, params: dict[str, Any], data: TrainingData, loss: Loss, previous: Model | None
    ) -> None:
        """Check that models can be compared; each candidate was checked."""
        needs_value(loss, type(self).__name__)

    def _spec_of(
        self, parameters: Mapping[str, Any], params: dict[str, Any], data: TrainingData, loss: Loss
    ) -> BoostingSpec:
        """Return the specification of a candidate, or raise InvalidParameterError."""
        given = {**self._shared(), **parameters}
        if not self._plan().searches:
            given |= {"n_estimators": PLAIN_ROUNDS, "time_limit": params["time_limit"]}
        estimator: Any = self._base(**given)
        own = estimator._parameters()  # noqa: SLF001
        own = estimator._resolve(own, data, loss)  # noqa: SLF001
        estimator._check_data(own, data, loss, None)  # noqa: SLF001
        spec: BoostingSpec = estimator._spec(own, self._hold_out(params))  # noqa: SLF001
        return spec

    def _shared(self) -> dict[str, Any]:
        own, known = all_parameters(self), default_parameters(self._base)
        return {name: own[name] for name in SHARED if name in own and name in known}

    def _spec(self, params: dict[str, Any], hold_out: HoldOutSpec) -> AutoSpec:
        return AutoSpec(self._plan(), params["specs"], params["time_limit"], params["verbose"])

    def _train(
        self,
        spec: AutoSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        previous: Model | None,
    ) -> SearchResult:
        return search(spec, loss, data, context)

    # ---- the fitted model ------------------------------------------------------------------------

    def _check_rounds(self, model: Any, n_rounds: Any) -> int:
        raise InvalidParameterError(
            f"n_rounds is for one boosted model, and {type(self).__name__} is a sum of several. "
            "Leave n_rounds out, or fit GradientBoostingRegressor or GradientBoostingClassifier."
        )

    def _adopt(self, model: Model) -> None:
        self._adopt_columns(model)
        self.n_iter_ = model.ensemble.n_rounds
        self.train_loss_, self.validation_loss_ = model.train_loss, model.valid_loss

    def _set_fitted(
        self, result: SearchResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        self.leaderboard_ = _leaderboard(result)
        tried = {trial.name for trial in result.trials}
        reason = result.stop_reason if data.folds is not None else "no row was held out"
        late = {
            name: NOT_CROSSED if not reason and spec.n_crossed else reason
            for name, spec in params["specs"].items()
            if name not in tried
        }
        return {
            "quality": params["quality"],
            "candidates_left_out": params["left_out"] | late,
            "score_factor": result.factor,
            "refitted": all(t.refit is not None for t in result.trials if t.weight),
        }

    def _notes(self) -> dict[str, Any]:
        return {**super()._notes(), "leaderboard": self.leaderboard_.as_saved()}

    @classmethod
    def _from_model(cls, model: Model, params: Mapping[str, Any], notes: Mapping[str, Any]) -> Self:
        estimator = super()._from_model(model, params, notes)
        estimator.leaderboard_ = Leaderboard.from_saved(notes.get("leaderboard", []))
        return estimator

    def recipe(self) -> str:
        """Return the fit in one line: loss x configurations x rows; other parameters."""
        params = self._parameters()
        plan, loss = self._plan(), self._make_loss(ANY_CLASSES)
        names = ", ".join(candidate.name for candidate in plan.candidates)
        own = custom_loss(getattr(self, "loss", None)) is not None
        text = f"{repr(loss) if own else loss.name} x {plan.combination} {names}".replace("  ", " ")
        if not plan.searches:
            return f"{text} with {PLAIN_ROUNDS} rounds x all rows{other_parameters(self, 'auto')}"
        folds = "a part of the rows or 5 folds" if plan.folds is None else f"{plan.folds} folds"
        folds = folds if isinstance(params["cv"], str) else "the rows of cv"
        return f"{text} x {folds} held out, then all rows{other_parameters(self, 'auto')}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = True
        return tags


def _leaderboard(result: SearchResult) -> Leaderboard:
    """Return the rows of the leaderboard: the fitted model, and the trials."""
    trials, whole = result.trials, result.losses
    rounds = result.model.ensemble.n_rounds
    seconds = sum(t.seconds + t.refit_time for t in trials)
    folds = max(len(t.folds) for t in trials)
    first = LeaderboardRow("fitted model", *_numbers(whole, whole), 1.0, folds, rounds, seconds)
    others = [
        LeaderboardRow(
            t.name,
            *_numbers(t.losses, whole),
            t.weight,
            len(t.folds),
            t.rounds,
            t.seconds + t.refit_time,
        )
        for t in trials
    ]
    return Leaderboard([first, *others])


def _numbers(
    losses: HeldOutLosses | None, whole: HeldOutLosses | None
) -> tuple[float, float, float, float]:
    """Return the mean loss, its error, the difference to the whole, and its error."""
    if losses is None or whole is None:
        return (float("nan"),) * 4
    difference = losses.minus(whole)
    return losses.mean, losses.standard_error, difference.mean, difference.standard_error
