"""Fitting and prediction of the base estimators of a bagging ensemble.

A base estimator is any scikit-learn estimator with the columns that it was fitted to. Its
predictions are a matrix with a row for each row of X: one number, the probabilities of the classes,
or a vote for one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from stagewise.bagging.bag_samples import BagSample, Indices, draw_columns
from stagewise.data.categories.categories import Categories
from stagewise.estimators.bases.trees.tree import HELD_OUT
from stagewise.learners.estimator import finite, name_of, seeded, weight_argument
from stagewise.model.model import Model
from stagewise.validation.messages import CollectedWarning, collect_warnings

__all__ = [
    "BaggedEstimator",
    "EstimatorTrainer",
    "PredictionKind",
    "select_columns",
]

Matrix = npt.NDArray[np.float64]

SEEDS = 1
"""The third part of the random key of estimator seeds, after the seed and the number."""


@dataclass(frozen=True, eq=False)
class PredictionKind:
    """The kind of prediction that is combined: numbers, probabilities or votes.

    Parameters
    ----------
    classes : array or None
        The labels, one for each column of a prediction; None: regression, one column.
    votes : bool
        Whether an estimator votes for one class; otherwise it predicts probabilities.
    """

    classes: npt.NDArray[Any] | None = None
    votes: bool = False

    @property
    def n_columns(self) -> int:
        """The number of columns of a prediction."""
        return 1 if self.classes is None else len(self.classes)

    def predict(self, estimator: Any, X: Any) -> Matrix:
        """Return the predictions for the rows of X; 0 for classes that were not in the bag."""
        if X.shape[0] == 0:  # many estimators raise an error
            return np.empty((0, self.n_columns))
        if self.classes is None or self.votes:
            predicted = np.asarray(estimator.predict(X))
            if predicted.ndim > 1 and predicted.shape[1:] != (1,):
                raise ValueError(
                    f"{name_of(estimator)} predicts {predicted.shape[1]} numbers for each row; a "
                    "base estimator of bagging must predict one."
                )
            predicted = predicted.reshape(len(predicted))
            if self.classes is None:
                return finite(predicted.astype(np.float64)[:, np.newaxis], estimator)
            return np.eye(self.n_columns)[np.searchsorted(self.classes, predicted)]
        out = np.zeros((X.shape[0], self.n_columns))
        out[:, np.searchsorted(self.classes, estimator.classes_)] = estimator.predict_proba(X)
        return finite(out, estimator)

    def decide(self, estimator: Any, X: Any) -> Matrix:
        """Return the decision function for the rows of X; NaN for classes not in the bag.

        For two classes it has one column.
        """
        assert self.classes is not None
        known = np.searchsorted(self.classes, estimator.classes_)
        width = 1 if len(self.classes) == 2 else len(self.classes)
        if len(known) == 1 or X.shape[0] == 0:  # one class has no decision function
            return np.full((X.shape[0], width), np.nan)
        decided = np.asarray(estimator.decision_function(X), dtype=np.float64)
        decided = finite(decided.reshape(len(decided), -1), estimator)
        if len(known) == len(self.classes):
            return decided
        if decided.shape[1] not in (1, len(known)):
            raise ValueError(
                f"The bag of a {name_of(estimator)} has {len(known)} of {len(self.classes)} "
                f"classes, and its decision function has {decided.shape[1]} columns, which are not "
                "those of classes. Use predict_proba, or larger bags (max_samples)."
            )
        out = np.full((len(decided), width), np.nan)
        out[:, known] = decided if decided.shape[1] > 1 else np.hstack([-decided, decided])
        return out


@dataclass(frozen=True, eq=False)
class BaggedEstimator:
    """A fitted base estimator and the columns of X that it was fitted to.

    Parameters
    ----------
    estimator : fitted scikit-learn estimator
        Fitted to these columns.
    columns : intp array or None
        Their positions in X; None: all.
    """

    estimator: Any
    columns: Indices | None = None

    def predict(self, kind: PredictionKind, X: Any) -> Matrix:
        """Return the predictions for the rows of X."""
        with collect_warnings():  # about categories not in its bag: the ensemble checks them itself
            return kind.predict(self.estimator, select_columns(X, self.columns))

    def decide(self, kind: PredictionKind, X: Any) -> Matrix:
        """Return the decision function for the rows of X."""
        with collect_warnings():
            return kind.decide(self.estimator, select_columns(X, self.columns))

    def categories(self) -> dict[int, Categories]:
        """Return the categories of each categorical column; empty for other libraries."""
        model = getattr(self.estimator, "model_", None)
        if not isinstance(model, Model):
            return {}
        columns = range(model.features.n) if self.columns is None else self.columns.tolist()
        pairs = zip(columns, model.features, strict=True)
        return {column: f.categories for column, f in pairs if f.categories is not None}


@dataclass(frozen=True, eq=False)
class EstimatorTrainer:
    """Fits a base estimator to the rows of a bag and predicts its out-of-sample rows.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Is cloned for every bag; each ``random_state`` in it is replaced by a number that depends
        on `seed` and on the bag.
    X, y : table and array
        All training rows, and their targets or labels.
    kind : PredictionKind
        The kind of prediction.
    seed : int
        The seed of everything that is drawn.
    max_features : float or int
        The fraction, or the number, of the columns that an estimator is fitted to.
    predicts_held : bool
        Whether the out-of-sample rows are predicted.
    stops_early : bool
        Whether estimators that can use the out-of-sample rows for early stopping.
    threads : int
        The number of estimators that are fitted in parallel. If it is more than one, each
        estimator uses one thread.
    groups : array or None
        The group of every training row; an estimator that divides its rows into folds gets them.
    bootstrap_features : bool
        Whether columns are drawn with replacement.
    known : sequence of BaggedEstimator
        The estimators of the first bags, which are fitted already.
    metadata : mapping
        Further arguments of `fit` of the estimators. An array with a value for every training row
        is divided as the rows are.
    """

    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    kind: PredictionKind
    seed: int
    max_features: float | int = 1.0
    predicts_held: bool = False
    stops_early: bool = False
    threads: int = 1
    groups: npt.NDArray[Any] | None = None
    bootstrap_features: bool = False
    known: Sequence[BaggedEstimator] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def fit(
        self, sample: BagSample
    ) -> tuple[BaggedEstimator, Matrix | None, list[CollectedWarning]]:
        """Return the fitted estimator, its out-of-sample predictions, and its warnings."""
        with self._one_thread():
            with collect_warnings() as collected:
                fitted = self._fit_bag(sample)
            if not self.predicts_held:
                return fitted, None, collected
            if not len(sample.held):
                return fitted, np.empty((0, self.kind.n_columns)), collected
            predicted = fitted.predict(self.kind, _safe_indexing(self.X, sample.held))
            return fitted, predicted, collected

    def _fit_bag(self, sample: BagSample) -> BaggedEstimator:
        if sample.number < len(self.known):
            return self.known[sample.number]
        columns = draw_columns(
            self.max_features,
            self.X.shape[1],
            self.seed,
            sample.number,
            bootstrap=self.bootstrap_features,
        )
        return BaggedEstimator(self._fit(sample, columns), columns)

    def _fit(self, sample: BagSample, columns: Indices | None) -> Any:
        rows, times = sample.rows, sample.times
        if self.kind.classes is not None and (self.y[rows] == self.y[rows[0]]).all():
            # Many classifiers raise an error if y has one class; trees would predict it too.
            return DummyClassifier().fit(self._select(rows, columns), self.y[rows])
        rng = np.random.default_rng([self.seed, sample.number, SEEDS])
        estimator = seeded(self.estimator, rng, anew=True)
        if estimator.get_params(deep=False).get("handle_unknown") == "error":
            estimator.set_params(handle_unknown="missing")  # the ensemble checks categories itself
        if self.threads > 1:
            estimator.set_params(**dict.fromkeys(_thread_parameters(estimator), 1))
        passed: dict[str, Any] = {}
        argument = weight_argument(estimator)
        if argument is None:
            rows = np.repeat(rows, times.astype(np.intp))
        elif (times != 1.0).any():
            passed = {argument: times}
        if self.stops_early and _uses_validation_rows(estimator):
            passed |= {
                "X_val": self._select(sample.held, columns),
                "y_val": self.y[sample.held],
            }
            if (sample.held_weight != 1.0).any():
                passed["sample_weight_val"] = sample.held_weight
        elif self.groups is not None and _divides_rows(estimator):
            passed["groups"] = self.groups[rows]
        passed |= {name: self._of_rows(value, rows) for name, value in self.metadata.items()}
        estimator.fit(self._select(rows, columns), self.y[rows], **passed)
        return estimator  # some `fit` return nothing

    def _of_rows(self, value: Any, rows: Indices) -> Any:
        """Return a further argument of `fit`: the part of these rows, if it has all."""
        has_rows = not isinstance(value, str) and hasattr(value, "__len__")
        return _safe_indexing(value, rows) if has_rows and len(value) == len(self.y) else value

    def _select(self, rows: Indices, columns: Indices | None) -> Any:
        return select_columns(_safe_indexing(self.X, rows), columns)

    def _one_thread(self) -> AbstractContextManager[Any]:
        # OpenMP's limit belongs to the calling thread, so threads do not disturb one another.
        return threadpool_limits(1, user_api="openmp") if self.threads > 1 else nullcontext()


def _thread_parameters(estimator: Any) -> Iterator[str]:
    """Yield the parameters that let an estimator, or a part of it, use several threads."""
    params = estimator.get_params()
    for name, value in params.items():
        path, _, last = name.rpartition("__")
        if last == "n_jobs":
            owner = params.get(path, estimator)
            # None means one thread in scikit-learn, and all threads here and in other libraries.
            if value is not None or not type(owner).__module__.startswith("sklearn."):
                yield name


def _uses_validation_rows(estimator: Any) -> bool:
    """Return whether `fit` of an estimator uses X_val, for early stopping or for pruning."""
    params = estimator.get_params(deep=False)
    prunes = params.get("pruning", HELD_OUT[0]) in HELD_OUT
    stops = params.get("early_stopping", "auto") in ("auto", True)
    return has_fit_parameter(estimator, "X_val") and prunes and stops


def _divides_rows(estimator: Any) -> bool:
    """Return whether `fit` divides its rows into folds, which keep groups together."""
    if not has_fit_parameter(estimator, "groups"):
        return False
    params = estimator.get_params(deep=False)
    stopping = params.get("early_stopping", "auto")
    by_folds = not isinstance(stopping, bool) and stopping != "auto"
    automatic = stopping is not True and params.get("n_estimators") == "auto"
    return automatic or params.get("quality", 1) != 1 or by_folds


def select_columns(X: Any, columns: Indices | None) -> Any:
    """Return some columns of a table of any type; None: all."""
    return X if columns is None else _safe_indexing(X, columns, axis=1)
