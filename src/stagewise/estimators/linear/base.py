"""What the linear models fitted by least squares share: predictions, intervals, tests, a summary.

The one idea: everything is read off the fit that the model keeps, so a loaded model has its tests
and intervals too. Must not know how columns were chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.bins import core_columns
from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators.linear.columns import LinearRows, match_linear
from stagewise.estimators.linear.summary import summary_of
from stagewise.estimators.model_estimator import ModelEstimator
from stagewise.estimators.r_squared import ScoredByR2
from stagewise.linear.design import Design
from stagewise.linear.least_squares import LeastSquares
from stagewise.linear.reduction import Reduction
from stagewise.model.file.least_squares import linear_ensemble
from stagewise.model.model import Model
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.workers import make_workers

__all__ = ["LinearEstimator"]

Vector = npt.NDArray[np.float64]

NAMES_SHOWN = 5


class LinearEstimator(ScoredByR2, ModelEstimator):
    """Base of the estimators that end in one least-squares fit."""

    def _keep(self, rows: LinearRows, reduction: Reduction, columns: Sequence[int]) -> None:
        """Make a model of the fit of some columns, and warn of what its rows could not say."""
        fit, features, y = reduction.fit(columns), rows.design.features, rows.rows.y
        with np.errstate(over="ignore"):
            rows.design.check_slopes(fit.columns.tolist(), fit.slope, fit.slope / fit.scale)
        names = [rows.design.names[c] for c in fit.columns]
        if (y == y[0]).all():
            warn_caller("y has only one value, so there is nothing to explain.")
        elif reduction.all_constant:
            warn_caller("Every feature is constant, so the model predicts the same for all rows.")
        elif fit.df == 0:
            warn_caller(
                f"The fit has {fit.rank} coefficients for {fit.weight:g} rows, so no residuals are "
                "left to estimate errors from: standard errors, tests and intervals are NaN. Use "
                "fewer columns or more rows."
            )
        elif fit.dependent:
            warn_caller(_collinear(fit, names))
        self._adopt(
            Model(
                task="regression",
                loss="squared_error",
                features=features,
                ensemble=linear_ensemble(features, fit),
                offset=fit.target_mean,
                scale=fit.scale,
                classes=None,
                train_loss=np.empty(0),
                valid_loss=np.empty(0),
                least_squares=fit,
            )
        )

    @classmethod
    def _check_model(cls, model: Model) -> None:
        super()._check_model(model)
        if model.least_squares is None:
            raise ModelFormatError(f"a {cls.__name__} has coefficients, and this model has none.")

    def _adopt(self, model: Model) -> None:
        fit = model.least_squares
        assert fit is not None
        self._adopt_columns(model)
        self.intercept_ = float(fit.estimate[0]) if fit.intercept else 0.0
        self.coef_ = fit.slope.copy()
        self.coef_names_ = [Design.of(model.features).names[c] for c in fit.columns]

    def _fit_of(self) -> LeastSquares:
        fit = self._fitted().least_squares
        assert fit is not None
        return fit

    # ---- predictions ---------------------------------------------------------------------------

    def predict(self, X: Any) -> Vector:
        """Return f(x) = β_0 + Σ_j β_j x_j of every row."""
        model = self._fitted()
        return self._predict(model, core_columns(match_linear(model.features, X, self._name)))

    def predict_interval(
        self, X: Any, level: float = 0.95, kind: Literal["prediction", "mean"] = "prediction"
    ) -> Vector:
        """Return an interval around each prediction, shape (n_rows, 2).

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        level : float, default=0.95
            How often such intervals hold what they shall, above 0 and below 1.
        kind : {"prediction", "mean"}, default="prediction"
            What they shall hold: one new y at x, f ± t σ̂ √(1 + x'(X'X)⁻¹x), or the mean of all y at
            x, f ± t σ̂ √(x'(X'X)⁻¹x), t the quantile of Student's distribution.

        Notes
        -----
        They hold if the errors are independent, normal, and of one variance. Where columns are
        collinear, rows that break what ties them are outside of what any interval can speak of.
        """
        level = _checked_level(level)
        if kind not in ("prediction", "mean"):
            raise InvalidParameterError(
                f"kind must be 'prediction' or 'mean'; got {short_repr(kind)}."
            )
        model, fit = self._fitted(), self._fit_of()
        columns = core_columns(match_linear(model.features, X, self._name))
        middle = self._predict(model, columns)
        matrix = Design.of(model.features).matrix(columns, columns=fit.columns.tolist())
        half = fit.half_width(matrix, level, of_mean=kind == "mean")
        return np.column_stack([middle - half, middle + half])

    def _predict(self, model: Model, columns: Any) -> Vector:
        fit = self._fit_of()
        design = Design.of(model.features)
        design.check_reach(columns, fit.columns.tolist(), fit.slope, fit.centre)
        score = model.ensemble.score(columns, make_workers(1))[:, 0]
        return np.asarray(model.offset + model.scale * score)

    @property
    def _name(self) -> str:
        return type(self).__name__

    # ---- inference -----------------------------------------------------------------------------

    def coefficients(self, level: float = 0.95) -> dict[str, Any]:
        """Return a table of the coefficients, a list or an array for each of its columns.

        ``pandas.DataFrame`` and ``polars.DataFrame`` take it as it is. Its columns are ``term``,
        ``estimate``, ``standard_error``, ``t``, ``p``, ``low`` and ``high``, the ends of the
        confidence interval; its rows are the intercept, if there is one, and the slopes.
        """
        fit, interval = self._fit_of(), self._fit_of().interval(_checked_level(level))
        return {
            "term": ["intercept"] * fit.intercept + self.coef_names_,
            "estimate": fit.estimate,
            "standard_error": fit.standard_error,
            "t": fit.t,
            "p": fit.p,
            "low": interval[:, 0],
            "high": interval[:, 1],
        }

    @property
    def covariance_(self) -> Vector:
        """σ̂²(X'X)⁻¹, the covariance of the coefficients, the intercept first if there is one."""
        return self._fit_of().covariance_of_estimate

    @property
    def sigma_(self) -> float:
        """The residual standard error, √(Σ w (y - f)² / df_residual_)."""
        return self._fit_of().sigma

    @property
    def df_residual_(self) -> float:
        """The number of rows, each as often as it counts, less that of the coefficients."""
        return self._fit_of().df

    @property
    def rank_(self) -> int:
        """How many coefficients the rows could tell apart, the intercept included."""
        return self._fit_of().rank

    @property
    def r2_(self) -> float:
        """The share of the variance of y that is explained."""
        return self._fit_of().r2

    @property
    def adjusted_r2_(self) -> float:
        """The same, with variances that are divided by their degrees of freedom."""
        return self._fit_of().adjusted_r2

    @property
    def f_test_(self) -> tuple[float, float]:
        """F and p of the test that all slopes are 0."""
        fit = self._fit_of()
        return fit.f, fit.f_p

    @property
    def log_likelihood_(self) -> float:
        """That of normal errors."""
        return self._fit_of().log_likelihood

    @property
    def aic_(self) -> float:
        """Akaike's information criterion, 2 rank_ - 2 log_likelihood_."""
        return self._fit_of().aic

    @property
    def bic_(self) -> float:
        """Schwarz's, log(N) rank_ - 2 log_likelihood_."""
        return self._fit_of().bic

    def summary(self, level: float = 0.95) -> str:
        """Return the fit as a table to read."""
        return summary_of(self._fitted(), self._fit_of(), self.coefficients(level), level)

    def plot_residuals(self, X: Any, y: Any, *, axes: Any = None) -> Any:
        """Draw residuals against predictions, their quantiles against normal ones, and leverage.

        Parameters
        ----------
        X, y
            Rows to look at, those of the fit for instance.
        axes : sequence of three matplotlib axes, or None
            Where to draw; None: on a new figure.

        Returns
        -------
        matplotlib Figure
        """
        from stagewise.estimators.linear.plots import plot_residuals

        model, fit = self._fitted(), self._fit_of()
        columns = core_columns(match_linear(model.features, X, self._name))
        matrix = Design.of(model.features).matrix(columns, columns=fit.columns.tolist())
        return plot_residuals(fit, matrix, self._predict(model, columns), y, self._name, axes)


def _checked_level(level: Any) -> float:
    number = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
    if not number or not 0.0 < float(level) < 1.0:
        raise InvalidParameterError(
            f"level must be a number above 0 and below 1, such as 0.95; got {short_repr(level)}."
        )
    return float(level)


def _collinear(fit: LeastSquares, names: list[str]) -> str:
    said = []
    for place, others in fit.dependent[:NAMES_SHOWN]:
        if not others:
            said.append(f"{names[place]!r} is constant")
            continue
        listed = ", ".join(repr(names[i]) for i in others[:NAMES_SHOWN])
        more = ", …" if len(others) > NAMES_SHOWN else ""
        said.append(f"{names[place]!r} is a combination of {listed}{more}")
    more = (
        f"; and {len(fit.dependent) - NAMES_SHOWN} more" if len(said) < len(fit.dependent) else ""
    )
    return (
        f"Columns are collinear: {'; '.join(said)}{more}. Predictions are those of the other "
        "columns alone, and of all coefficients that give them these have the smallest squares; "
        "their tests say little. Leave such columns out."
    )
