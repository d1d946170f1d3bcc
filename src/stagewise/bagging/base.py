"""The base class of the bagging estimators.

A bagging ensemble consists of base estimators, each fitted to its own bag of rows, and of their
weights: it predicts Σ α_j h_j(x) / Σ α_j. Out-of-sample rows measure the error of each base
estimator and of the ensemble. A base estimator is any estimator with `fit` and `predict`.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from stagewise.bagging.bag_samples import Bags, BagSample, row_of_each_copy
from stagewise.bagging.base_estimators import (
    BaggedEstimator,
    EstimatorTrainer,
    PredictionKind,
)
from stagewise.bagging.combination import OutOfSample, normalize_weights
from stagewise.bagging.common_warnings import warn_of_common
from stagewise.bagging.ensemble import EstimatorEnsemble, categorical_features
from stagewise.bagging.parallel import parallel_map
from stagewise.bagging.parameters import BAGGING_USES
from stagewise.bagging.warm_start import bags_digest, check_same_bags, known_estimators
from stagewise.boosting.stopping import EarlyStopping
from stagewise.display import Facts
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.dataset_fits import fits_datasets
from stagewise.estimators.bases.model_estimator import ModelEstimator
from stagewise.estimators.parameters.make_specs import choose_seed, make_sampling
from stagewise.learners.estimator import can_be_fitted, name_of, weight_argument
from stagewise.training.describe import describe_object, other_parameters
from stagewise.training.fit_report import ONE_VALUE, VERSION, log_fit
from stagewise.training.reading.feature_reader import FeatureReader
from stagewise.training.reading.folds import group_numbers, make_folds
from stagewise.training.reading.passthrough import Header, PassthroughReader, UntouchedRows
from stagewise.training.reading.row_set import RowSet, rows_with_weight
from stagewise.training.specs import InputSpec
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import (
    CollectedWarning,
    collect_warnings,
    short_repr,
    warn_caller,
)
from stagewise.validation.parameters import check_parameters
from stagewise.workers import thread_count

__all__ = ["BaseBagging", "check_kind"]

Vector = npt.NDArray[np.float64]

FITTED = (
    "oob_prediction_",
    "oob_score_",
    "oob_loss_",
    "oof_prediction_",
    "oof_score_",
    "estimator_errors_",
)
"""Attributes that only some fits set."""


class BaseBagging(EstimatorEnsemble):
    """Base class of bagging estimators; see `BaggingRegressor` for the parameters."""

    _uses = BAGGING_USES

    @abstractmethod
    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        """Return numbers or class codes, weights as frequencies, and classes or None."""

    @abstractmethod
    def _check_estimator(self, estimator: Any) -> None:
        """Raise InvalidParameterError unless the estimator is of the right kind."""

    # ---- fitting -------------------------------------------------------------------------------

    def _checked(self) -> dict[str, Any]:
        params, name = check_parameters(self), type(self).__name__
        params["estimator"] = self._base_estimator()
        if not can_be_fitted(params["estimator"]):
            raise InvalidParameterError(
                f"The parameter 'estimator' of {name} must be an estimator, not fitted, or None; "
                f"got {short_repr(params['estimator'])}."
            )
        self._check_estimator(params["estimator"])
        all_rows = params["sampling"] == "uniform" and params["max_samples"] == 1.0
        for option, needs_rows in (
            ("combine='weighted'", params["combine"] == "weighted"),
            ("early_stopping=True", params["early_stopping"]),
        ):
            if needs_rows and all_rows:
                raise InvalidParameterError(
                    f"{option} of {name} needs out-of-bag rows, and with sampling='uniform' and "
                    "max_samples=1.0 there are none. Set max_samples below 1, or "
                    "sampling='bootstrap'."
                )
        return params

    @suggests_arguments
    @fits_datasets
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **metadata: Any
    ) -> Self:
        """Fit the base estimators.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            Any table that the base estimator accepts; it is passed on unchanged.
        y : array-like of shape (n_rows,)
            The target.
        sample_weight : array-like of shape (n_rows,) or None
            Whole numbers are counts: a row of weight 2 is the row twice, a row of weight 0 is left
            out. Otherwise only the ratios of the weights matter. A base estimator whose `fit`
            takes no weights gets repeated rows instead.
        groups : array-like of shape (n_rows,) or None
            For sampling="folds": rows of one group are always in the same fold. For
            sampling="group": a bag has all rows of a group, or none.
        **metadata
            Further arguments of `fit` of the base estimators, if they request them and
            ``sklearn.set_config(enable_metadata_routing=True)`` is set. An array with a value for
            every row of X is divided as the rows are.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        params = self._checked()
        self._check_groups(params["sampling"], groups)
        routed = process_routing(self, "fit", **metadata).estimator.fit if metadata else {}
        passed, header = self._read_rows(X, params)
        target, weight, classes = self._read_target(y, sample_weight, passed.n_rows)
        self._check_weight(params["estimator"], weight)
        collected = self._check_values(params, passed.X)
        train = RowSet.choose(passed, rows_with_weight(weight), target, weight)
        if classes is None and (train.y == train.y[0]).all():
            collected.append((ONE_VALUE, UserWarning))
        for message, category in collected:
            warn_caller(message, category)
        known = known_estimators(self, params, header, classes)
        seed = self.seed_ if known else choose_seed(params["random_state"])
        numbers = None if groups is None else group_numbers(groups, train, len(target))
        bags = self._make_bags(params, train, target, groups, seed, by_class=classes is not None)
        trainer = replace(
            self._trainer(params, train, classes, seed),
            groups=numbers,
            known=known,
            metadata={name: _of_rows(value, train, passed) for name, value in routed.items()},
        )
        digest = bags_digest(bags, train.y)
        if known and trainer.predicts_held:
            check_same_bags(self._bags_digest, digest)
        held = OutOfSample(train.y, train.weight, 0 if classes is None else len(classes))
        samples = bags.draw(params["n_estimators"])
        details = self._fit_estimators(params, trainer, samples, held, collected)
        self.seed_, self.estimator_, self._kind = seed, params["estimator"], trainer.kind
        self._bags, self._bags_digest, self._header = bags, digest, header
        self._categories = categorical_features(self._fitted_estimators(), header)
        header.set_attributes(self)
        if classes is not None:
            self.classes_ = classes
        self._set_out_of_sample(params, held, train, passed.n_rows)
        details |= {"seed": seed, "threads": trainer.threads, "version": VERSION}
        details["seconds"] = time.perf_counter() - begin
        self.fit_report_ = Facts(details, f"Fit of {type(self).__name__}")
        log_fit(self, details["seconds"])
        return self

    def _read_rows(self, X: Any, params: Mapping[str, Any]) -> tuple[UntouchedRows, Header]:
        passed = PassthroughReader(type(self).__name__).read(X)
        header, wanted = passed.header, params["max_features"]
        assert header is not None
        if isinstance(wanted, int) and wanted > header.n:
            raise InvalidParameterError(
                f"The parameter 'max_features' of {type(self).__name__} is {wanted}, but X has "
                f"{header.n} columns. Pass a smaller number, or 1.0 for all columns."
            )
        return passed, header

    def _trainer(
        self,
        params: Mapping[str, Any],
        train: RowSet,
        classes: npt.NDArray[Any] | None,
        seed: int,
    ) -> EstimatorTrainer:
        return EstimatorTrainer(
            estimator=params["estimator"],
            X=train.table().X,
            y=train.y if classes is None else classes[train.y],
            kind=PredictionKind(classes, votes=classes is not None and _votes(params)),
            seed=seed,
            max_features=params["max_features"],
            predicts_held=self._predicts_held(params),
            stops_early=params["sampling"] == "folds",
            threads=thread_count(self.n_jobs),
            bootstrap_features=params["bootstrap_features"],
        )

    def get_metadata_routing(self) -> Any:
        """Return which arguments `fit` uses itself, and which it passes to the base estimators."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self._base_estimator(), method_mapping=mapping)

    def _needs_oob(self, params: Mapping[str, Any]) -> bool:
        return bool(params["oob_score"] or params["early_stopping"])

    def _predicts_held(self, params: Mapping[str, Any]) -> bool:
        by_folds = params["sampling"] == "folds"
        return by_folds or params["combine"] == "weighted" or self._needs_oob(params)

    def _check_groups(self, sampling: str, groups: Any) -> None:
        if sampling == "group" and groups is None:
            raise ValueError("sampling='group' needs groups: pass them to fit, one for each row.")
        if sampling not in ("group", "folds") and groups is not None:
            raise ValueError(
                "groups was passed, but only sampling='folds' and sampling='group' keep groups "
                f"together, and sampling is {sampling!r}."
            )

    def _check_weight(self, estimator: Any, weight: Vector | None) -> None:
        if weight is None or weight_argument(estimator) is not None:
            return
        if not (weight == np.rint(weight)).all():
            raise ValueError(
                f"fit of {name_of(estimator)} has no argument sample_weight, and the weights are "
                "not whole numbers, so rows cannot be repeated instead. Pass whole weights or no "
                "weights, or use another estimator."
            )

    def _check_values(self, params: Mapping[str, Any], X: Any) -> list[CollectedWarning]:
        """Read X as an estimator of this library does, so that errors name the rows of X.

        Nothing is read for estimators of other libraries, or if estimators get some of the
        columns: their parameters then refer to positions among these.
        """
        estimator = params["estimator"]
        if not isinstance(estimator, ModelEstimator) or _draws_columns(params):
            return []
        with collect_warnings() as collected:
            FeatureReader(InputSpec.of(check_parameters(estimator)), type(self).__name__).read(X)
        return collected

    def _make_bags(
        self,
        params: Mapping[str, Any],
        train: RowSet,
        target: npt.NDArray[Any],
        groups: Any,
        seed: int,
        *,
        by_class: bool,
    ) -> Bags:
        """Return the rows of each base estimator."""
        bags = Bags(len(train.y), train.weight, seed=seed, rows=train.rows)
        if params["sampling"] == "folds":
            folds = make_folds(params["cv"], train, target, groups, seed, by_class=by_class)
            return replace(bags, folds=folds)
        row_of = row_of_each_copy(train.weight)
        numbers, units = None, bags.n_rows if row_of is None else len(row_of)
        if params["sampling"] == "group":
            numbers = group_numbers(groups, train, len(target))
            units = len(np.unique(numbers))
            numbers = numbers if row_of is None else numbers[row_of]
        share = params["max_samples"]
        if isinstance(share, int):
            share = self._fraction(share, units, "groups" if numbers is not None else "rows")
        return replace(
            bags, sampling=make_sampling({**params, "max_samples": share}), groups=numbers
        )

    def _fraction(self, count: int, units: int, of: str) -> float:
        if count > units:
            raise InvalidParameterError(
                f"The parameter 'max_samples' of {type(self).__name__} is {count}, but there are "
                f"{units} {of}. Pass a smaller number, or 1.0 for all."
            )
        return count / units

    def _fit_estimators(
        self,
        params: Mapping[str, Any],
        trainer: EstimatorTrainer,
        samples: Iterator[BagSample],
        held: OutOfSample,
        shown: list[CollectedWarning],
    ) -> dict[str, Any]:
        """Fit the base estimators, and set them and their weights.

        `shown` are the warnings that were already shown.
        """
        fitted: list[BaggedEstimator] = []
        errors, weights, path = [], [], []
        collected: list[list[CollectedWarning]] = []
        early_stopping = EarlyStopping(params["n_iter_no_change"], params["tol"])
        unit = held.variance or 1.0  # so that tol has no unit
        weighted = params["combine"] == "weighted"
        fits = parallel_map(trainer.fit, samples, trainer.threads)
        for sample, (estimator, predicted, its_warnings) in fits:
            fitted.append(estimator)
            if sample.number >= len(trainer.known):
                collected.append(its_warnings)
            if predicted is None:
                continue
            errors.append(held.error(predicted, sample.held))
            weights.append(held.weight(errors[-1], sample) if weighted else 1.0)
            path.append(held.add(sample, predicted, weights[-1]))
            if not params["early_stopping"] or np.isnan(path[-1]):
                continue
            if early_stopping.should_stop(len(path), path[-1] / unit):
                break
        if weighted and np.isnan(weights).all():
            warn_caller("No out-of-sample rows: all base estimators get equal weights.")
        if collected:
            warn_of_common(collected, shown)
        self.estimators_ = [estimator.estimator for estimator in fitted]
        self._columns = [estimator.columns for estimator in fitted]
        self.estimator_weights_ = normalize_weights(
            np.array(weights if weights else np.ones(len(fitted)))
        )
        for name in FITTED:
            self.__dict__.pop(name, None)
        if errors:
            self.estimator_errors_ = held.unit * np.array(errors)
            self.oob_loss_ = held.unit * np.array(path)
        constant = sum(type(e.estimator) is DummyClassifier for e in fitted)
        return {"estimators_fitted": len(fitted), "estimators_with_one_class": constant}

    def _set_out_of_sample(
        self, params: Mapping[str, Any], held: OutOfSample, train: RowSet, n_rows: int
    ) -> None:
        """Set the out-of-bag or out-of-fold predictions and their score."""
        folds = params["sampling"] == "folds"
        if folds:
            del self.oob_loss_  # the order of folds has no meaning
        elif not self._needs_oob(params):
            self.__dict__.pop("oob_loss_", None)
            return
        predicted = held.prediction
        predicted = predicted[:, 0] if self._kind.classes is None else predicted
        predicted = train.spread(predicted, n_rows)
        if folds:
            self.oof_prediction_, self.oof_score_ = predicted, held.score()
        else:
            self.oob_prediction_, self.oob_score_ = predicted, held.score()

    def recipe(self) -> str:
        """Return the algorithm in one line: rows x columns x estimator x number x combination."""
        p = self._checked()
        rows, number = "all folds but one", "one estimator for each fold"
        if p["sampling"] != "folds":
            rows = _describe_rows(p)
            number = f"{p['n_estimators']} estimators"
            number += ", early stopping by out-of-bag rows" if p["early_stopping"] else ""
        drawn = p["max_features"]
        some = f"{drawn} columns" if isinstance(drawn, int) else f"{drawn:g} of the columns"
        some += " with replacement" if p["bootstrap_features"] else ""
        columns = some if _draws_columns(p) else "all columns"
        base = describe_object(p["estimator"])
        return (
            f"{rows} x {columns} x {base} x {number} x {p['combine']}"
            f"{other_parameters(self, 'bagging')}"
        )


def check_kind(estimator: Any, kind: str, name: str) -> None:
    """Raise InvalidParameterError if a base estimator is of another kind; some have no kind."""
    if get_tags(estimator).estimator_type not in (None, kind):
        raise InvalidParameterError(
            f"The parameter 'estimator' of {name} must be a {kind}; got {short_repr(estimator)}."
        )


def _votes(params: Mapping[str, Any]) -> bool:
    """Return whether classifiers vote: by `combine`, or because they have no probabilities."""
    return params["combine"] != "average" or not hasattr(params["estimator"], "predict_proba")


def _draws_columns(params: Mapping[str, Any]) -> bool:
    """Return whether base estimators get drawn columns; 1 is one column, 1.0 is all."""
    number = params["max_features"]
    return isinstance(number, int) or number < 1.0 or params["bootstrap_features"]


def _describe_rows(params: Mapping[str, Any]) -> str:
    """Return the rows of a bag as a part of `recipe()`."""
    count = params["max_samples"]
    if not isinstance(count, int):
        return make_sampling(params).description.replace("per round", "per estimator")
    of = "groups" if params["sampling"] == "group" else "rows"
    start = "bootstrap of " if params["sampling"] == "bootstrap" else ""
    return f"{start}{count} {of} per estimator"


def _of_rows(value: Any, train: RowSet, passed: UntouchedRows) -> Any:
    """Return an argument of `fit` for the rows that have a weight, if it has all rows."""
    has_rows = not isinstance(value, str) and hasattr(value, "__len__")
    if train.rows is None or not has_rows or len(value) != passed.n_rows:
        return value
    return _safe_indexing(value, train.rows.astype(np.intp))
