"""Scores of rows by a model, leaves of rows, and importances by gain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.data.bins import core_columns
from stagewise.model.model import Model
from stagewise.validation.parameters import check_parameter
from stagewise.workers import make_workers

__all__ = [
    "ModelScores",
    "TreeAttributes",
    "is_average",
    "predict_scores",
    "read_rows",
    "score_columns",
]

Vector = npt.NDArray[np.float64]

FEW = 32
"""Up to this many rows are predicted directly, without threads or column descriptors."""
SMALL = 200_000
"""Up to this many rows times trees, one thread is faster than several."""


class ModelScores:
    """Estimators whose model has scores: sums or averages of terms."""

    model_: Model
    n_jobs: Any
    _is_average = False
    """Whether a prediction is the mean of the predictions of trees, not their sum."""

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def fingerprint(self) -> str:  # noqa: D102
            ...

    @property
    def best_iteration_(self) -> int:
        """The number of rounds that predictions use: the best one, with early stopping."""
        return int(self._fitted().ensemble.n_rounds)

    def _match(self, model: Model, X: Any) -> Any:
        """Return the columns of new rows, in the order and encoding of the model."""
        features = model.features
        if not features.categorical:  # the fast path of single rows
            return features.match(X, type(self).__name__)
        rule = check_parameter(self, "handle_unknown")
        return features.match(X, type(self).__name__, rule)

    def _score(self, X: Any) -> Vector:
        """Return F, shape (n_rows, n_outputs)."""
        model = self._fitted()
        return self._score_values(model, self._match(model, X))

    def _score_values(self, model: Model, values: Any) -> Vector:
        """Return the scores F of rows that `_match` has read."""
        ensemble = model.ensemble
        n_trees = len(ensemble.trees)
        if type(values) is np.ndarray and len(values) <= FEW and values.flags.c_contiguous:
            out = np.empty((len(values), ensemble.n_outputs))
            out[:] = ensemble.base
            rows = values if values.dtype.char == "d" else values.astype(np.float64)
            ensemble.forest.add_rows(rows, 0, n_trees, out.reshape(-1))
            return out
        columns = model.features.append_encoded(core_columns(values))
        small = columns.n_rows * n_trees <= SMALL
        return ensemble.score(columns, make_workers(1 if small else self.n_jobs))

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        """Yield F after every round. Each array is new."""
        model = self._fitted()
        ensemble = model.ensemble
        columns = model.features.append_encoded(core_columns(self._match(model, X)))
        workers = make_workers(self.n_jobs)
        out = np.empty((columns.n_rows, ensemble.n_outputs))
        out[:] = ensemble.base
        for m in range(ensemble.n_rounds):
            first, n = m * ensemble.trees_per_round, ensemble.trees_per_round
            ensemble.forest.add_scores(workers, columns, first, first + n, out.reshape(-1))
            yield out.copy()


class TreeAttributes:
    """Estimators whose terms are trees: leaves of rows, and importances by gain."""

    n_jobs: Any

    if TYPE_CHECKING:  # defined by the other bases of an estimator
        _is_average: bool

        def _fitted(self) -> Model: ...

        def _match(self, model: Model, X: Any) -> Any: ...

    @property
    def feature_importances_(self) -> Vector:
        """Each feature's share of the gain of all splits; sums to 1, or all 0 without a split.

        The gain of a target-encoded column is divided equally among the features that it encodes.
        """
        model = self._fitted()
        flat = model.ensemble.flat()
        inner = flat["feature"] >= 0
        gains_by_column = np.bincount(
            flat["feature"][inner],
            weights=flat["gain"][inner],
            minlength=len(model.features.sources),
        )
        gains = np.zeros(model.features.n)
        for gain, sources in zip(gains_by_column, model.features.sources, strict=True):
            gains[list(sources)] += gain / len(sources)
        total = gains.sum()
        return np.asarray(gains / total if total > 0 else gains, dtype=np.float64)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the node number of the leaf that each row reaches in every tree.

        Returns
        -------
        int32 array
            As in scikit-learn: of shape (n_rows,) for a single tree, (n_rows, n_trees) for forests,
            (n_rows, n_rounds) for boosted regressors, and (n_rows, n_rounds, trees per round) for
            boosted classifiers and for several targets.
        """
        model = self._fitted()
        columns = model.features.append_encoded(core_columns(self._match(model, X)))
        out = np.empty((columns.n_rows, len(model.ensemble.trees)), dtype=np.int32)
        ensemble = model.ensemble
        ensemble.forest.leaves(make_workers(self.n_jobs), columns, out.reshape(-1))
        if self._is_average or (model.classes is None and ensemble.trees_per_round == 1):
            return out
        return out.reshape(len(out), ensemble.n_rounds, ensemble.trees_per_round)


def is_average(estimator: Any) -> bool:
    """Return whether predictions are means over the trees of a forest, not sums."""
    return bool(estimator._is_average)  # noqa: SLF001


def read_rows(estimator: Any, X: Any) -> Any:
    """Return the columns of rows as the model of a fitted estimator reads them.

    Categories and wide integers are numbers.

    Returns
    -------
    array of shape (n_rows, n_features), list of arrays, or SparseCells of a sparse matrix
        It may share memory with X: do not write to it.
    """
    return estimator._match(estimator._fitted(), X)  # noqa: SLF001


def score_columns(estimator: Any, columns: Any) -> Vector:
    """Return F of rows that `read_rows` has read, shape (n_rows, n_outputs)."""
    return np.asarray(estimator._score_values(estimator._fitted(), columns))  # noqa: SLF001


def predict_scores(estimator: Any, score: Vector) -> Vector:
    """Return the predictions of scores: numbers, or probabilities of classes.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    score : float64 array of shape (n_rows, n_outputs)
        F(x), as `model_.ensemble.score` returns it.
    """
    return np.asarray(estimator._predict_scores(estimator._fitted(), score))  # noqa: SLF001
