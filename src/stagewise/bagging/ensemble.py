"""Fitted ensembles of estimators: the estimators, their columns, and their predictions."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os import PathLike
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from stagewise.bagging.bag_samples import Bags, Indices
from stagewise.bagging.base_estimators import BaggedEstimator, PredictionKind, select_columns
from stagewise.bagging.combination import WeightedSum
from stagewise.bagging.parallel import parallel_map
from stagewise.data import Feature, Features, UnknownCategories
from stagewise.data.categories.categories import Categories
from stagewise.estimators.bases.estimator import LibraryEstimator
from stagewise.estimators.bases.estimator_sequence import EstimatorSequence
from stagewise.training.reading.passthrough import Header, UntouchedRows
from stagewise.workers import thread_count

__all__ = ["EstimatorEnsemble", "categorical_features"]

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

SMALL = 10_000
"""Up to this number of predictions (rows times estimators), one thread is faster than several."""


class EstimatorEnsemble(EstimatorSequence, LibraryEstimator):
    """An ensemble of fitted estimators, which predicts Σ α_j h_j(x) / Σ α_j."""

    estimator: Any
    n_jobs: Any
    estimators_: list[Any]
    estimator_weights_: Vector
    n_features_in_: int
    seed_: int
    _columns: list[Indices | None]
    _bags: Bags
    _bags_digest: str
    _kind: PredictionKind
    _header: Header
    _categories: tuple[list[int], Features]

    @abstractmethod
    def _default_estimator(self) -> Any:
        """Return the base estimator of estimator=None."""

    def _base_estimator(self) -> Any:
        return self._default_estimator() if self.estimator is None else self.estimator

    def _fitted_estimators(self) -> list[BaggedEstimator]:
        if not hasattr(self, "estimators_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        both = zip(self.estimators_, self._columns, strict=True)
        return [BaggedEstimator(estimator, columns) for estimator, columns in both]

    @property
    def estimators_features_(self) -> list[Indices]:
        """The positions of the columns that each base estimator was fitted to."""
        every = np.arange(self.n_features_in_)
        return [every if e.columns is None else e.columns for e in self._fitted_estimators()]

    @property
    def estimators_samples_(self) -> list[Indices]:
        """The positions of the rows that each base estimator was fitted to; drawn anew each time.

        A row that was drawn k times occurs k times.
        """
        n = len(self._fitted_estimators())
        return [self._bags.positions(sample) for sample in self._bags.draw(n)][:n]

    def _members(self) -> list[Any]:
        return [fitted.estimator for fitted in self._fitted_estimators()]

    # ---- predictions ---------------------------------------------------------------------------

    def _staged(self, X: Any) -> Iterator[Matrix]:
        """Yield Σ α_j h_j(x) / Σ α_j after every base estimator. Each array is new."""
        passed, total = self._match(X), 0.0
        sums = WeightedSum(passed.n_rows, self._kind.n_columns)
        for predicted, weight in self._predictions(passed, BaggedEstimator.predict):
            sums.add(predicted, weight)
            total += weight
            yield sums.divide(total)

    def _combined(self, X: Any) -> Matrix:
        """Return the weighted average of all predictions, shape (n_rows, n_columns)."""
        *_, last = self._staged(X)
        return last

    def _match(self, X: Any) -> UntouchedRows:
        """Return rows with the columns of the fit."""
        self._fitted_estimators()
        passed = self._header.match(X, type(self).__name__)
        self._check_categories(passed.X)
        return passed

    def _predictions(
        self,
        passed: UntouchedRows,
        method: Callable[[BaggedEstimator, PredictionKind, Any], Matrix],
    ) -> Iterator[tuple[Matrix, float]]:
        """Yield what a method of each base estimator returns, and its weight."""
        fitted = self._fitted_estimators()
        small = passed.n_rows * len(fitted) <= SMALL
        threads = 1 if small else thread_count(self.n_jobs)
        predict = partial(_predict, method=method, kind=self._kind, X=passed.X)
        # Equal weights are 1, without rounding.
        relative = self.estimator_weights_ / self.estimator_weights_.max()
        found = parallel_map(predict, fitted, threads)
        yield from (
            (predicted, weight) for (_, predicted), weight in zip(found, relative, strict=True)
        )

    def _check_categories(self, X: Any) -> None:
        """Apply `handle_unknown` to values that are a category of no base estimator."""
        columns, features = self._categories
        if not columns:
            return
        unknown = UnknownCategories(getattr(self._base_estimator(), "handle_unknown", "error"))
        selected = select_columns(X, np.array(columns))
        features.columns(features.read(selected, type(self).__name__), unknown)
        unknown.refuse(features.names)
        unknown.warn(features.names)

    # ---- files and descriptions ----------------------------------------------------------------

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator = self._base_estimator()
        if hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type):
            theirs = estimator.__sklearn_tags__().input_tags
            tags.input_tags.allow_nan = theirs.allow_nan
            tags.input_tags.categorical = theirs.categorical
            tags.input_tags.sparse = theirs.sparse
        return tags


def categorical_features(
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


def _predict(
    estimator: BaggedEstimator,
    *,
    method: Callable[[BaggedEstimator, PredictionKind, Any], Matrix],
    kind: PredictionKind,
    X: Any,
) -> Matrix:
    return method(estimator, kind, X)
