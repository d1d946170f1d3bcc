"""Scores of rows by a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.data.bins import core_columns
from stagewise.model.model import Model
from stagewise.training.start_model import StartModel
from stagewise.validation.arguments import check_argument
from stagewise.validation.parameters import check_parameter
from stagewise.validation.rules import Number
from stagewise.workers import make_workers

__all__ = ["ModelScores"]

Vector = npt.NDArray[np.float64]

FEW = 32
"""Up to this many rows are predicted directly, without threads or column descriptors."""
SMALL = 200_000
"""Up to this many rows times trees, one thread is faster than several."""


class ModelScores:
    """Estimators whose model has scores: sums or averages of terms."""

    model_: Model
    n_jobs: Any
    _start: StartModel | None = None
    """Predicts F before the first round; None: F is a constant."""
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

    def _score(self, X: Any, n_rounds: Any = None) -> Vector:
        """Return F after `n_rounds` rounds, shape (n_rows, n_outputs); None: after all."""
        model = self._fitted()
        rounds = None if n_rounds is None else self._check_rounds(model, n_rounds)
        score = self._score_values(model, self._match(model, X), rounds)
        return score if self._start is None else score + self._start_score(model, X)

    def _start_score(self, model: Any, X: Any) -> Any:
        """Return the scores that the estimator of `init` predicts, or 0."""
        if self._start is None:
            return 0.0
        return self._start.scores(X, type(self).__name__) / model.scale

    def _check_rounds(self, model: Any, n_rounds: Any) -> int:
        """Return a number of rounds, or raise InvalidParameterError."""
        n = int(model.ensemble.n_rounds)
        rule = Number(1, max(n, 1), whole=True, or_none=True)
        rounds: int = check_argument("n_rounds", rule, n_rounds)
        return min(rounds, n)  # without a tree, n is 0

    def _score_values(self, model: Model, values: Any, n_rounds: int | None = None) -> Vector:
        """Return the scores F of rows that `_match` has read, after `n_rounds` rounds."""
        ensemble = model.ensemble
        n_trees = len(ensemble.trees) if n_rounds is None else n_rounds * ensemble.trees_per_round
        few = type(values) is np.ndarray and len(values) <= FEW and values.flags.c_contiguous
        if few and not model.features.derived:
            out = np.empty((len(values), ensemble.n_outputs))
            out[:] = ensemble.base
            rows = values if values.dtype.char == "d" else values.astype(np.float64)
            ensemble.forest.add_rows(rows, 0, n_trees, out.reshape(-1))
            return out
        columns = model.features.append_derived(core_columns(values))
        small = columns.n_rows * n_trees <= SMALL
        return ensemble.score(columns, make_workers(1 if small else self.n_jobs), n_rounds)

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        """Yield F after every round. Each array is new."""
        model = self._fitted()
        ensemble = model.ensemble
        columns = model.features.append_derived(core_columns(self._match(model, X)))
        workers = make_workers(self.n_jobs)
        out = np.empty((columns.n_rows, ensemble.n_outputs))
        out[:] = ensemble.base
        start = self._start_score(model, X)
        for m in range(ensemble.n_rounds):
            first, n = m * ensemble.trees_per_round, ensemble.trees_per_round
            ensemble.forest.add_scores(workers, columns, first, first + n, out.reshape(-1))
            yield out + start
