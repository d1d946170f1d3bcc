"""The base class of boosted models: warm start, early stopping, out-of-bag improvements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from stagewise.boosting.recipe import Recipe
from stagewise.data.ranking import is_ranking_target
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.fit_mixin import ANY_CLASSES, FitMixin
from stagewise.estimators.bases.model_estimator import ModelEstimator
from stagewise.estimators.bases.predictions.scores import ModelScores
from stagewise.estimators.bases.report_mixin import ReportMixin
from stagewise.estimators.parameters.defaults import (
    RATE,
    DataFacts,
    resolve_auto,
)
from stagewise.estimators.parameters.make_specs import (
    PLAIN_TREE,
    boosting_spec,
    hold_out_spec,
    tree_adapter,
)
from stagewise.estimators.parameters.monotone_constraints import check_monotone
from stagewise.estimators.parameters.round_parameters import (
    RoundParameters,
    append_fit,
    plain_fits,
    read_fits,
)
from stagewise.estimators.parameters.tree_needs import check_needs, check_sparse, reads_sparse
from stagewise.estimators.parameters.warm_start import (
    check_continues,
    fixed_parameters,
    model_to_continue,
)
from stagewise.learners.histogram_tree import features_per_node
from stagewise.losses import Loss, MultiTargetLoss
from stagewise.losses.function import needs_value
from stagewise.losses.levels import LevelsLoss
from stagewise.losses.registration import custom_loss
from stagewise.metrics import find_metrics
from stagewise.model.model import Model
from stagewise.options import LinearLeaves, flatten_options
from stagewise.training.adapters.tree_adapter import TreeAdapter
from stagewise.training.boosting_trainer import train_boosting
from stagewise.training.bound_metrics import facts_of
from stagewise.training.describe import describe_boosting, other_parameters
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.results import FitResult
from stagewise.training.specs import BoostingSpec, FitContext, HoldOutSpec, LearnerAdapter
from stagewise.training.start_model import StartLearner
from stagewise.training.stored.hold_out import DividedRows
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError, unsupported_part
from stagewise.training.stored.read_dataset import DatasetTrainingData
from stagewise.training.stored.stored_trainer import train_stored
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.parameters import all_parameters, default_parameters

__all__ = ["BaseBoosting", "OutOfBagMixin", "check_fit_arguments", "check_metric"]

Vector = npt.NDArray[np.float64]


class BaseBoosting(ReportMixin, FitMixin, ModelScores, ModelEstimator):
    """Base class of the boosted models; see `GradientBoostingRegressor` for the parameters."""

    _ranks = False
    """Whether the rows of queries are ranked."""
    _method_ended = False
    """Whether the algorithm has no further round, as AdaBoost after a tree without errors."""
    _chosen_by_folds = False
    """Whether folds chose the number of rounds; `validation_loss_` is then theirs."""
    _fits: tuple[RoundParameters, ...] = ()
    """The rounds of the first fit, and those of the fits that continued it."""

    def _recipe(self) -> Recipe:
        """Return the algorithm; parameters have been checked."""
        raise NotImplementedError

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        """Return the learner: by default trees with limits of their size only."""
        return tree_adapter(params, PLAIN_TREE)

    def _spec(self, params: dict[str, Any], hold_out: HoldOutSpec) -> BoostingSpec:
        return boosting_spec(params, self._recipe(), self._learner_adapter(params), hold_out)

    def _hold_out(self, params: dict[str, Any]) -> HoldOutSpec:
        return hold_out_spec(params)

    def _described_hold_out(self, params: dict[str, Any]) -> HoldOutSpec:
        """Return which rows are held out; after a fit with n_estimators="auto", those that were."""
        hold_out, facts = self._hold_out(params), getattr(self, "_facts", DataFacts())
        automatic = isinstance(hold_out.cv, str)
        return HoldOutSpec() if automatic and not facts.by_folds else hold_out

    def _resolve(
        self, params: dict[str, Any], data: TrainingData | None = None, loss: Loss | None = None
    ) -> dict[str, Any]:
        """Return the parameters with a value for every "auto"; without data, typical ones."""
        if data is not None and loss is not None:
            self._facts = DataFacts.of_rows(
                data.train.n_rows,
                loss,
                data.fold_sizes,
                of_classes=data.of_classes,
                is_sparse=data.train.is_sparse,
                has_validation=data.valid is not None,
                total_weight=data.train.total_weight,
            )
        facts = getattr(self, "_facts", None) or DataFacts(
            of_classes=is_classifier(self),
            of_queries=self._ranks,
            shares_trees=self._make_loss(ANY_CLASSES).shares_trees,
        )
        before = getattr(self, "learning_rate_", None) if params.get("warm_start") else None
        return resolve_auto(params, facts, before)

    def _previous_model(self, params: dict[str, Any]) -> Model | None:
        return model_to_continue(self, params)

    def _start_learner(
        self,
        params: dict[str, Any],
        data: TrainingData,
        loss: Loss,
        arguments: FitArguments,
        previous: Model | None,
    ) -> StartLearner | None:
        init = params.get("init", "mean")
        if isinstance(init, (str, tuple)) or data.one_class:
            return None
        if loss.location is not None and loss.n_outputs > 1:
            raise InvalidParameterError(
                f"init={short_repr(init)} predicts one number per row, and loss={loss.name!r} has "
                f"{loss.n_outputs} scores. Set init='mean', and pass the predictions as offset."
            )
        known = None if previous is None else self._start
        return StartLearner.of(init, loss, data, arguments, type(self).__name__, known)

    def _dataset_check(
        self, params: dict[str, Any], hold_out: HoldOutSpec, *, has_validation: bool
    ) -> Callable[[DividedRows], None]:
        if self._previous_model(params) is not None:
            raise NeedsRowsInMemoryError("warm_start=True")
        if not isinstance(params.get("init", "mean"), (str, tuple)):
            raise NeedsRowsInMemoryError(f"init={short_repr(params['init'])}", "set init='mean'")
        if params.get("eval_metric") is not None:
            metric = short_repr(params["eval_metric"])
            raise NeedsRowsInMemoryError(f"eval_metric={metric}", "set eval_metric=None")

        def check(rows: DividedRows) -> None:
            loss = self._make_loss(rows.train.classes)
            facts = DataFacts.of_rows(
                rows.train.n_rows,
                loss,
                [] if rows.fold is None else [rows.fold.sizes],
                of_classes=rows.train.classes is not None,
                has_validation=has_validation or rows.held is not None,
            )
            what = unsupported_part(self._spec(resolve_auto(params, facts), hold_out), loss)
            if what is not None:
                raise NeedsRowsInMemoryError(what)

        return check

    def _check_arguments(self, params: dict[str, Any], arguments: FitArguments) -> None:
        check_fit_arguments(params, arguments, type(self).__name__)
        has_rows = self._hold_out(params).kind != "none" or arguments.has_eval_rows
        check_metric(self, params, has_rows, "set early_stopping=True, or pass X_val or eval_set")
        self._warn_of_unused_wait(params, arguments)
        _warn_of_folds_beside_sets(params, arguments)
        for name, is_used in (
            ("eval_metric", params.get("eval_metric") is not None),
            ("eval_set", bool(arguments.eval_sets)),
        ):
            if is_used and params.get("warm_start"):
                raise InvalidParameterError(
                    f"{name} cannot be combined with warm_start=True: the model that is continued "
                    "has no such values of its earlier rounds. Leave one of them out."
                )

    def _warn_of_unused_wait(self, params: dict[str, Any], arguments: FitArguments) -> None:
        """Warn if `n_iter_no_change` was set, but no rows decide when the fit stops."""
        wait = params.get("n_iter_no_change")
        is_default = wait == default_parameters(type(self)).get("n_iter_no_change")
        turned_off = params.get("early_stopping") is False
        stops = self._hold_out(params).kind != "none" or arguments.deciding_set is not None
        if not (is_default or turned_off or stops):
            warn_caller(
                f"n_iter_no_change={wait} has no effect, since no rows decide when the fit stops: "
                "set early_stopping=True, or pass X_val or eval_set to fit."
            )

    def _check_data(
        self, params: dict[str, Any], data: TrainingData, loss: Loss, previous: Model | None
    ) -> None:
        check_needs(flatten_options(params), loss.n_outputs)
        if params.get("oob_score"):
            needs_value(loss, "oob_score=True")
        if isinstance(params.get("leaves"), LinearLeaves):
            _check_linear_leaves(data, loss)
        check_monotone(params.get("monotonic_cst"), loss)
        if data.train.is_sparse:
            check_sparse(params)
        if previous is not None:
            one = loss.one if isinstance(loss, MultiTargetLoss) else loss
            check_continues(previous, getattr(self, "_fixed", {}), params, data, one)

    def _train(
        self,
        spec: BoostingSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        previous: Model | None,
    ) -> FitResult:
        if previous is not None and self._method_ended:
            # An uninterrupted fit would have ended at this round, too.
            last = replace(spec.stopping, n_estimators=previous.ensemble.n_rounds)
            spec = replace(spec, stopping=last)
        if isinstance(data, DatasetTrainingData):
            return train_stored(spec, loss, data, context)
        return train_boosting(spec, loss, data, context, previous)

    def _set_fitted(
        self, result: FitResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        self.learning_rate_ = params["learning_rate"]
        before = self._fits if params.get("warm_start") else ()
        self._fits = append_fit(before, self.n_iter_, params)
        self._start = result.start
        if result.start is not None:
            self.init_ = result.start.estimator
        else:
            self.__dict__.pop("init_", None)
        self._set_evals(result)
        self._method_ended = result.method_ended
        self._chosen_by_folds = result.chosen is not None
        if params.get("oob_score"):
            continued = result.rounds_run - len(result.oob_improvement)
            unknown = np.full(continued, np.nan)  # of rounds that were not measured
            known = getattr(self, "oob_improvement_", unknown)[:continued]
            self.oob_improvement_ = np.concatenate([known, result.oob_improvement])
        else:
            self.__dict__.pop("oob_improvement_", None)
        facts: dict[str, Any] = {"learning_rate": params["learning_rate"]}
        learner, encoding = self._learner_adapter(params), params.get("category_encoding")
        if "max_features" in params and isinstance(learner, TreeAdapter):
            n_columns = len(self.model_.features.sources)
            facts["max_features"] = features_per_node(learner.trees[0], n_columns)
            if len(learner.trees) > 1:
                facts["trees"] = [
                    f"{tree.grow_policy}{', random thresholds' if tree.random_thresholds else ''}"
                    for tree in learner.trees
                ]
        if encoding is not None:
            facts["category_encoding"] = self._chosen_encoding() or None
            if facts["category_encoding"] == "target":
                facts["n_orderings"] = getattr(encoding, "n_orderings", 1)
        return facts

    def _adopt(self, model: Model) -> None:
        self._adopt_columns(model)
        if hasattr(self, "warm_start"):
            self._fixed = fixed_parameters(all_parameters(self), self._make_loss(model.classes))
        self.n_iter_ = model.ensemble.n_rounds
        self.train_loss_ = model.train_loss
        self.validation_loss_ = model.valid_loss

    @classmethod
    def _from_model(cls, model: Model, params: Mapping[str, Any], notes: Mapping[str, Any]) -> Self:
        """Return a fitted estimator with these parameters and this model."""
        estimator = super()._from_model(model, params, notes)
        # Files of versions without "auto" have no learning rate besides the parameter.
        rate = notes.get("learning_rate", params.get("learning_rate", RATE))
        estimator.learning_rate_ = RATE if rate == "auto" else rate
        n_rounds, own = estimator.n_iter_, {**params, "learning_rate": estimator.learning_rate_}
        estimator._fits = (  # noqa: SLF001
            read_fits(notes["round_parameters"], cls.__name__, n_rounds)
            if "round_parameters" in notes
            else append_fit((), n_rounds, own)
        )
        if "data" in notes:
            estimator._facts = DataFacts(**notes["data"])  # noqa: SLF001
        estimator._chosen_by_folds = bool(notes.get("chosen_by_folds", False))  # noqa: SLF001
        estimator._method_ended = bool(notes.get("method_ended", False))  # noqa: SLF001
        return estimator

    def _notes(self) -> dict[str, Any]:
        notes = {**super()._notes(), "learning_rate": self.learning_rate_}
        notes["round_parameters"] = plain_fits(self._fits)
        if hasattr(self, "_facts") and getattr(self, "n_estimators", None) == "auto":
            notes["data"] = asdict(self._facts)
        if self._chosen_by_folds:
            notes["chosen_by_folds"] = True
        return {**notes, "method_ended": True} if self._method_ended else notes

    def recipe(self) -> str:
        """Return the fit in one line: loss x step x learner x rows x rounds; other parameters."""
        checked = self._parameters()
        params = self._resolve(checked)
        loss = self._make_loss(ANY_CLASSES)
        own = custom_loss(getattr(self, "loss", None)) is not None
        spec = self._spec(params, self._described_hold_out(checked))
        method, categories = spec.recipe.describe(loss), ""
        if "category_encoding" in params:
            auto = isinstance(self.category_encoding, str) and self.category_encoding == "auto"
            chosen = self._chosen_encoding()
            known = hasattr(self, "model_") and not chosen  # there are no categories
            categories = chosen if auto or known else spec.category_encoding
        name = repr(loss) if own else loss.name
        return describe_boosting(spec, name, method, categories) + other_parameters(
            self, "boosting"
        )

    def _chosen_encoding(self) -> str:
        """Return how the categories of the fitted model are encoded; empty: there are none."""
        features = getattr(getattr(self, "model_", None), "features", None)
        if features is None or not features.categorical:
            return ""
        return "target" if features.target_encodings else "sets"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = reads_sparse(all_parameters(self))
        return tags


def _check_linear_leaves(data: TrainingData, loss: Loss) -> None:
    """Raise InvalidParameterError unless the leaves of a fit can be linear models."""
    if data.train.n_targets > 1 and loss.leaf_quantile is not None:
        raise InvalidParameterError(
            f"leaves='linear' with loss={loss.name!r} is for one target; y has "
            f"{data.train.n_targets}. Set leaves='constant', or fit one model per target."
        )
    if isinstance(loss, LevelsLoss):
        raise InvalidParameterError(
            f"leaves='linear' is for one prediction per row; loss={loss.name!r} predicts "
            f"{loss.n_outputs} levels, whose leaves have no slopes. Set leaves='auto'."
        )
    if len(data.features.categorical) == data.features.n:
        raise InvalidParameterError(
            "leaves='linear' gives leaves slopes in numeric features, but every column is "
            "categorical. Set leaves='constant', or name fewer categorical_features."
        )


class OutOfBagMixin:
    """Boosted models with `oob_score`: the best number of rounds by the out-of-bag rows."""

    oob_improvement_: Vector

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Any: ...

    @property
    def oob_best_iteration_(self) -> int:
        """The number of rounds with the largest sum of out-of-bag improvements.

        It is usually smaller than the number that held-out rows would choose. Rounds without a
        measurement are kept, and so are the rounds before them.
        """
        self._fitted()
        if not len(getattr(self, "oob_improvement_", ())):
            raise AttributeError(
                f"this {type(self).__name__} has no oob_best_iteration_: it was fitted without "
                "oob_score=True, or read from a file."
            )
        unknown = np.flatnonzero(np.isnan(self.oob_improvement_))
        first = int(unknown[-1]) if len(unknown) else 0
        gained = np.nancumsum(self.oob_improvement_)[first:]
        return first + int(np.argmax(gained)) + 1


def check_metric(estimator: Any, params: Mapping[str, Any], has_rows: bool, remedy: str) -> None:
    """Raise InvalidParameterError unless `eval_metric` has metrics that held-out rows can have."""
    metric = params.get("eval_metric")
    if metric is None:
        return
    loss = estimator._make_loss(ANY_CLASSES)  # noqa: SLF001
    task = loss.task or ("classification" if is_classifier(estimator) else "regression")
    facts = facts_of(loss, ANY_CLASSES)
    for own in find_metrics(metric, task):
        own.bind(facts)
    if not has_rows:
        raise InvalidParameterError(
            f"eval_metric={short_repr(metric)} is measured on held-out rows, but no rows are held "
            f"out; {remedy}, or leave eval_metric at None."
        )


def _warn_of_folds_beside_sets(params: Mapping[str, Any], arguments: FitArguments) -> None:
    """Warn if `early_stopping` is a number of folds, perhaps a wait, and a set could decide."""
    folds = params.get("early_stopping")
    if isinstance(folds, int) and not isinstance(folds, bool) and arguments.eval_sets:
        warn_caller(
            f"early_stopping={folds} is a number of folds, which decide when the fit stops; "
            f"eval_set is only recorded. To stop after {folds} rounds without "
            f"improvement on it, set early_stopping=True, n_iter_no_change={folds}."
        )


def check_fit_arguments(
    params: Mapping[str, Any], arguments: FitArguments, estimator_name: str
) -> None:
    """Raise ValueError unless groups and X_val fit the early stopping and the sampling.

    Parameters
    ----------
    params : mapping
        All parameters, checked; without "early_stopping" if it cannot have folds.
    arguments : FitArguments
        The arguments of `fit`.
    estimator_name : str
        The class of the estimator, for messages.
    """
    X_val, groups = arguments.X_val, arguments.groups
    hold_out = hold_out_spec({"n_estimators": None, **params})
    deciding = arguments.deciding_set if hold_out.uses_passed_rows else None
    searches = params.get("n_estimators") == "auto"
    by_folds = hold_out.kind == "folds" and deciding is None
    by_groups = params.get("sampling") == "group" and not is_ranking_target(arguments.y)
    if groups is not None and not (by_folds or by_groups):
        uses = {
            "early_stopping": "only folds keep them together (early_stopping='cv', or "
            "n_estimators='auto' without X_val and eval_set)",
            "sampling": "only sampling='group' draws groups",
        }
        known = ", and ".join(use for name, use in uses.items() if name in params)
        known = known or f"{estimator_name} has no parameter that uses groups; leave them out"
        raise ValueError(f"groups was passed, but {known}.")
    if by_groups and groups is None:
        raise ValueError("sampling='group' needs groups: pass them to fit, one for each row.")
    if by_groups and deciding is None and params["early_stopping"] is True:
        raise ValueError(
            "early_stopping=True holds single rows out, which would divide groups. Use "
            "early_stopping='cv', or pass X_val and y_val of other groups."
        )
    is_recorded = params.get("early_stopping") is False
    if by_folds and X_val is not None and not is_recorded:
        folds = params.get("early_stopping")
        wait = f", or early_stopping=True, n_iter_no_change={folds}, which stops by X_val"
        is_number = isinstance(folds, int)
        raise ValueError(
            f"early_stopping={folds if is_number else 'cv'!r} holds rows out itself"
            f"{', as folds' * is_number}; leave X_val out{wait * is_number}."
        )
    if searches and params.get("warm_start"):
        raise ValueError(
            "warm_start continues a model up to n_estimators rounds, so n_estimators='auto' cannot "
            "be combined with it. Set a number of rounds, or warm_start=False."
        )
    if by_folds and params.get("warm_start"):
        raise ValueError(
            "early_stopping='cv' chooses the number of rounds and fits a new model, so warm_start "
            "cannot continue one. Set one of them to False."
        )
