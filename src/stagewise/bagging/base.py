"""The base class of the bagging estimators.

A bagging ensemble consists of base estimators, each fitted to its own bag of rows, and of their
weights: it predicts Σ α_j h_j(x) / Σ α_j. Out-of-sample rows measure the error of each base
estimator and of the ensemble. A base estimator is any estimator with `fit` and `predict`.
"""

from __future__ import annotations

import hashlib
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from os import PathLike
from typing import Any, Self

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError

from stagewise.bagging.bag_samples import (
    BagSample,
    draw_bag_samples,
    make_fold_samples,
    row_of_each_copy,
)
from stagewise.bagging.base_estimators import (
    BaggedEstimator,
    EstimatorTrainer,
    PredictionKind,
    select_columns,
)
from stagewise.bagging.combination import OutOfSample, WeightedSum, normalize_weights
from stagewise.bagging.common_warnings import warn_of_common
from stagewise.bagging.parallel import parallel_map
from stagewise.bagging.parameters import BAGGING_USES
from stagewise.boosting.stopping import EarlyStopping
from stagewise.data import Feature, Features, UnknownCategories
from stagewise.data.categories.categories import Categories
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.dataset_fits import fits_datasets
from stagewise.estimators.bases.estimator import LibraryEstimator
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

__all__ = ["BaseBagging"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

SMALL = 10_000
"""Up to this number of predictions (rows times estimators), one thread is faster than several."""


FITTED = (
    "oob_prediction_",
    "oob_score_",
    "oob_loss_",
    "oof_prediction_",
    "oof_score_",
    "estimator_errors_",
)
"""Attributes that only some fits set."""


class BaseBagging(LibraryEstimator):
    """Base class of bagging estimators; see `BaggingRegressor` for the parameters."""

    estimator: Any
    n_jobs: Any
    _uses = BAGGING_USES

    @abstractmethod
    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        """Return numbers or class codes, weights as frequencies, and classes or None."""

    @abstractmethod
    def _default_estimator(self) -> Any:
        """Return the base estimator of estimator=None."""

    @abstractmethod
    def _check_estimator(self, estimator: Any, combine: str) -> None:
        """Raise InvalidParameterError unless the estimator has the predictions to combine."""

    # ---- fitting -------------------------------------------------------------------------------

    def _checked(self) -> dict[str, Any]:
        params, name = check_parameters(self), type(self).__name__
        if params["estimator"] is None:
            params["estimator"] = self._default_estimator()
        if not can_be_fitted(params["estimator"]):
            raise InvalidParameterError(
                f"The parameter 'estimator' of {name} must be an estimator, not fitted, or None; "
                f"got {short_repr(params['estimator'])}."
            )
        self._check_estimator(params["estimator"], params["combine"])
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
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

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        params = self._checked()
        self._check_groups(params["sampling"], groups)
        threads = thread_count(self.n_jobs)
        passed = PassthroughReader(type(self).__name__).read(X)
        header = passed.header
        assert header is not None
        if isinstance(params["max_features"], int) and params["max_features"] > header.n:
            raise InvalidParameterError(
                f"The parameter 'max_features' of {type(self).__name__} is "
                f"{params['max_features']}, but X has {header.n} columns. Pass a smaller number, "
                "or 1.0 for all columns."
            )
        target, weight, classes = self._read_target(y, sample_weight, passed.n_rows)
        self._check_weight(params["estimator"], weight)
        collected = self._check_values(params, passed.X)
        seed = choose_seed(params["random_state"])
        train = RowSet.choose(passed, rows_with_weight(weight), target, weight)
        samples = self._samples(params, train, target, groups, seed, by_class=classes is not None)
        votes = params["combine"] != "average"
        folds = params["sampling"] == "folds"
        trainer = EstimatorTrainer(
            estimator=params["estimator"],
            X=train.table().X,
            y=train.y if classes is None else classes[train.y],
            kind=PredictionKind(classes, votes=classes is not None and votes),
            seed=seed,
            max_features=params["max_features"],
            predicts_held=folds or params["combine"] == "weighted" or self._needs_oob(params),
            stops_early=folds,
            threads=threads,
            groups=None if groups is None else group_numbers(groups, train, len(target)),
        )
        if classes is None and (train.y == train.y[0]).all():
            collected.append((ONE_VALUE, UserWarning))
        for message, category in collected:
            warn_caller(message, category)
        held = OutOfSample(train.y, train.weight, 0 if classes is None else len(classes))
        details = self._fit_estimators(params, trainer, samples, held, collected)
        self._kind, self.seed_, self._header = trainer.kind, seed, header
        self._categories = _categorical_features(self._fitted_estimators(), header)
        header.set_attributes(self)
        if classes is not None:
            self.classes_ = classes
        self._set_out_of_sample(params, held, train, passed.n_rows)
        details |= {"seed": seed, "threads": threads, "version": VERSION}
        details["seconds"] = time.perf_counter() - begin
        self.fit_report_ = details
        log_fit(self, details["seconds"])
        return self

    def _needs_oob(self, params: Mapping[str, Any]) -> bool:
        return bool(params["oob_score"] or params["early_stopping"])

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
        if not isinstance(estimator, ModelEstimator) or _draws_columns(params["max_features"]):
            return []
        with collect_warnings() as collected:
            FeatureReader(InputSpec.of(check_parameters(estimator)), type(self).__name__).read(X)
        return collected

    def _samples(
        self,
        params: Mapping[str, Any],
        train: RowSet,
        target: npt.NDArray[Any],
        groups: Any,
        seed: int,
        *,
        by_class: bool,
    ) -> Iterator[BagSample]:
        """Return the rows of each base estimator."""
        if params["sampling"] == "folds":
            folds = make_folds(params["cv"], train, target, groups, seed, by_class=by_class)
            return make_fold_samples(folds, train)
        numbers = None
        if params["sampling"] == "group":
            numbers, row_of = (
                group_numbers(groups, train, len(target)),
                row_of_each_copy(train.weight),
            )
            numbers = numbers if row_of is None else numbers[row_of]
        sampling = make_sampling(params)
        return draw_bag_samples(sampling, numbers, train, seed, params["n_estimators"])

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
        warn_of_common(collected, shown)
        self.estimators_ = [estimator.estimator for estimator in fitted]
        self.estimators_features_ = [estimator.columns for estimator in fitted]
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

    # ---- prediction ----------------------------------------------------------------------------

    def _fitted_estimators(self) -> list[BaggedEstimator]:
        if not hasattr(self, "estimators_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        both = zip(self.estimators_, self.estimators_features_, strict=True)
        return [BaggedEstimator(estimator, columns) for estimator, columns in both]

    def _staged(self, X: Any) -> Iterator[Matrix]:
        """Yield Σ α_j h_j(x) / Σ α_j after every base estimator. Each array is new."""
        fitted = self._fitted_estimators()
        passed = self._header.match(X, type(self).__name__)
        self._check_categories(passed.X)
        sums, total = WeightedSum(passed.n_rows, self._kind.n_columns), 0.0
        relative = (
            self.estimator_weights_ / self.estimator_weights_.max()
        )  # equal weights are 1, without rounding
        for predicted, weight in zip(self._predictions(fitted, passed), relative, strict=True):
            sums.add(predicted, weight)
            total += weight
            yield sums.divide(total)

    def _check_categories(self, X: Any) -> None:
        """Apply `handle_unknown` to values that are a category of no base estimator."""
        columns, features = self._categories
        if not columns:
            return
        estimator = self._default_estimator() if self.estimator is None else self.estimator
        unknown = UnknownCategories(getattr(estimator, "handle_unknown", "error"))
        selected = select_columns(X, np.array(columns))
        features.columns(features.read(selected, type(self).__name__), unknown)
        unknown.refuse(features.names)
        unknown.warn(features.names)

    def _predictions(
        self, fitted: list[BaggedEstimator], passed: UntouchedRows
    ) -> Iterator[Matrix]:
        small = passed.n_rows * len(fitted) <= SMALL
        threads = 1 if small else thread_count(self.n_jobs)
        predict = partial(_predict, kind=self._kind, X=passed.X)
        yield from (predicted for _, predicted in parallel_map(predict, fitted, threads))

    def _combined(self, X: Any) -> Matrix:
        """Return the weighted average of all predictions, shape (n_rows, n_columns)."""
        *_, last = self._staged(X)
        return last

    def fingerprint(self) -> str:
        """Return a digest of the fitted ensemble: equal for equal ensembles.

        If the base estimators are estimators of this library, it is the same on every machine;
        otherwise it may change with the machine and with the versions of libraries.
        """
        parts = hashlib.sha256()
        for fitted, weight in zip(self._fitted_estimators(), self.estimator_weights_, strict=True):
            own = getattr(fitted.estimator, "fingerprint", None)
            parts.update((own() if own else joblib.hash(fitted.estimator)).encode())
            parts.update(np.float64(weight).astype("<f8").tobytes())
            parts.update(b"" if fitted.columns is None else fitted.columns.astype("<i8").tobytes())
        return parts.hexdigest()

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Raise ValueError: a model file holds one additive model, and no code."""
        self._fitted_estimators()
        raise ValueError(
            f"A {type(self).__name__} cannot be saved to a model file, which holds one additive "
            "model and no code. Pickle it instead (joblib.dump), or save its estimators_ one by "
            "one if they have a file."
        )

    def recipe(self) -> str:
        """Return the algorithm in one line: rows x columns x estimator x number x combination."""
        p = self._checked()
        rows, number = "all folds but one", "one estimator for each fold"
        if p["sampling"] != "folds":
            rows = make_sampling(p).description.replace("per round", "per estimator")
            number = f"{p['n_estimators']} estimators"
            number += ", early stopping by out-of-bag rows" if p["early_stopping"] else ""
        drawn = p["max_features"]
        some = f"{drawn} columns" if isinstance(drawn, int) else f"{drawn:g} of the columns"
        columns = some if _draws_columns(drawn) else "all columns"
        base = describe_object(p["estimator"])
        return (
            f"{rows} x {columns} x {base} x {number} x {p['combine']}"
            f"{other_parameters(self, 'bagging')}"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator = self._default_estimator() if self.estimator is None else self.estimator
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type):
            theirs = estimator.__sklearn_tags__().input_tags
            tags.input_tags.allow_nan = theirs.allow_nan
            tags.input_tags.categorical = theirs.categorical
            tags.input_tags.sparse = theirs.sparse
        return tags


def _draws_columns(max_features: float | int) -> bool:
    """Return whether base estimators get some of the columns; 1 is one column, 1.0 is all."""
    return isinstance(max_features, int) or max_features < 1.0


def _categorical_features(
    fitted: list[BaggedEstimator], header: Header
) -> tuple[list[int], Features]:
    """Return the positions of the categorical columns, and their categories in all bags."""
    values: dict[int, set[Any]] = {}
    for estimator in fitted:
        for column, categories in estimator.categories().items():
            values.setdefault(column, set()).update(categories.values)
    names, columns = header.names or [None] * header.n, sorted(values)
    return columns, Features(
        Feature(names[column], "categorical", None, Categories.from_distinct(values[column]))
        for column in columns
    )


def _predict(estimator: BaggedEstimator, *, kind: PredictionKind, X: Any) -> Matrix:
    return estimator.predict(kind, X)
