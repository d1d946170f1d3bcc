"""Attributes of estimators whose terms are trees: leaves of rows, and importances by gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.data.bins import core_columns
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.bases.trees.refit import refit_estimator
from stagewise.model.model import Model
from stagewise.validation.arguments import suggests_arguments
from stagewise.workers import make_workers

__all__ = ["TreeAttributes"]

Vector = npt.NDArray[np.float64]


class TreeAttributes:
    """Estimators whose terms are trees: leaves of rows, and importances by gain."""

    n_jobs: Any

    if TYPE_CHECKING:  # defined by the other bases of an estimator
        _is_average: bool
        _is_median: bool

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
        one_tree = model.classes is None and ensemble.trees_per_round == 1
        if self._is_average or self._is_median or one_tree:
            by_round = by_round.reshape(len(out), by_round.shape[1] * by_round.shape[2])
        return np.ascontiguousarray(by_round)

    @suggests_arguments
    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        decay: float = 0.9,
        offset: Any = None,
        exposure: Any = None,
    ) -> Self:
        """Return a fitted estimator with the same splits and leaf values of other rows.

        A leaf j gets decay · v_j + (1 - decay) · new. For boosting, new is ν times the value that
        the fit would give the leaf (a Newton step -G / (H + λ), or a median), round by round, at
        the scores of the rounds before; F before the first round is averaged in the same way if it
        is the best constant. For forests and trees, new is the mean (or median) of the rows of the
        leaf. A leaf that no row reaches keeps its value; so do the gains, the weights of nodes,
        bins, categories and target encodings. All rows are used: nothing is sampled or held out. ν
        is the learning rate of the round, also after `warm_start` with another one. A class of the
        model may have no rows: it keeps its probability before the first round.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        y : array-like
            Their targets; of a classifier, classes of the model.
        sample_weight : array-like or None, default=None
            Their weights.
        decay : float, default=0.9
            The share of the old values, from 0 to 1.
        offset, exposure : array-like, name of a column, or None; default=None
            As of `predict`, for models that take them.

        Returns
        -------
        estimator
            A copy; `train_loss_` has the losses of these rows, and attributes of the rows of the
            fit, such as `fit_report_`, are absent.

        Raises
        ------
        InvalidParameterError
            If leaf values do not follow from the rows of the leaves: with linear leaves, dropout,
            monotonic_cst, an estimator as `init`, or the votes of AdaBoost.
        """
        again: Self = refit_estimator(self, X, y, sample_weight, decay, offset, exposure)
        return again
