"""Predicted distributions of boosted regressors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.distributions import Distribution
from stagewise.losses import REGRESSION_LOSSES, Loss
from stagewise.model.model import Model

__all__ = ["DistributionPredictions"]

Vector = npt.NDArray[np.float64]


class DistributionPredictions:
    """Regressors whose loss may be that of a distribution."""

    if TYPE_CHECKING:  # defined by the other bases of an estimator

        def _fitted(self) -> Model: ...

        def _score(self, X: Any, n_rounds: Any = None) -> Vector: ...

        def _prediction_loss(self, model: Any) -> Loss: ...

        def _with_offset(
            self, model: Model, score: Vector, X: Any, offset: Any, exposure: Any
        ) -> Vector: ...

    def predict_dist(
        self,
        X: Any,
        *,
        n_rounds: int | None = None,
        offset: Any = None,
        exposure: Any = None,
    ) -> Distribution:
        """Return the predicted distribution of every row.

        Only for losses of distributions, such as "normal" or "negative_binomial", and "poisson".

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            The rows.
        n_rounds, offset, exposure
            As of `predict`.

        Returns
        -------
        Distribution
            With mean, var, std, quantile(q), interval(coverage), cdf(y), density(y),
            log_density(y), crps(y) and sample(n).
        """
        model = self._fitted()
        loss = self._prediction_loss(model)
        if not loss.has_distribution:
            names = ", ".join(repr(n) for n, k in REGRESSION_LOSSES.items() if k.has_distribution)
            raise ValueError(
                f"This {type(self).__name__} was fitted with loss={loss.name!r}, which predicts no "
                f"distributions. Use one of the losses {names}."
            )
        if model.ensemble.n_outputs != loss.n_outputs:
            raise ValueError(
                f"predict_dist is for one target, and this {type(self).__name__} has "
                f"{model.ensemble.n_outputs}. Fit one model per target."
            )
        score = self._with_offset(model, self._score(X, n_rounds), X, offset, exposure)
        found: Distribution = loss.distribution(score, model.offset, model.scale)
        return found
