"""Attributes of estimators whose terms are trees: leaves of rows, and importances by gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.data.bins import core_columns
from stagewise.estimators.bases.dataset_predictions import predicts_datasets
from stagewise.model.model import Model
from stagewise.workers import make_workers

__all__ = ["TreeAttributes"]

Vector = npt.NDArray[np.float64]


class TreeAttributes:
    """Estimators whose terms are trees: leaves of rows, and importances by gain."""

    n_jobs: Any

    if TYPE_CHECKING:  # defined by the other bases of an estimator
        _is_average: bool

        def _fitted(self) -> Model: ...

        def _match(self, model: Model, X: Any) -> Any: ...

        def _check_rounds(self, model: Any, n_rounds: Any) -> int: ...

    @property
    def feature_importances_(self) -> Vector:
        """Each feature's share of the gain of all splits; sums to 1, or all 0 without a split.

        The gain of a column that is computed from several features is divided equally among them.
        """
        gains = self._fitted().gain_by_feature()
        total = gains.sum()
        return np.asarray(gains / total if total > 0 else gains, dtype=np.float64)

    @predicts_datasets
    def apply(self, X: Any, *, n_rounds: int | None = None) -> npt.NDArray[np.int32]:
        """Return the node number of the leaf that each row reaches in every tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        n_rounds : int or None
            The number of rounds to use, from 1 to `n_iter_`; of a forest, the number of trees.
            None: all.

        Returns
        -------
        int32 array
            As in scikit-learn: of shape (n_rows,) for a single tree, (n_rows, n_trees) for forests,
            (n_rows, n_rounds) for boosted regressors, and (n_rows, n_rounds, trees per round) for
            boosted classifiers and for several targets.
        """
        model = self._fitted()
        columns = model.features.append_derived(core_columns(self._match(model, X)))
        out = np.empty((columns.n_rows, len(model.ensemble.trees)), dtype=np.int32)
        ensemble = model.ensemble
        ensemble.forest.leaves(make_workers(self.n_jobs), columns, out.reshape(-1))
        by_round: Any = out.reshape(len(out), ensemble.n_rounds, ensemble.trees_per_round)
        if n_rounds is not None:
            by_round = by_round[:, : self._check_rounds(model, n_rounds)]
        if self._is_average or (model.classes is None and ensemble.trees_per_round == 1):
            by_round = by_round.reshape(len(out), by_round.shape[1] * by_round.shape[2])
        return np.ascontiguousarray(by_round)
