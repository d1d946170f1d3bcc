"""The base class of least-squares models: predictions, intervals, tests, a summary.

Everything is computed from the least-squares fit that the model keeps, so a model that was loaded
from a file has tests and intervals too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise.data.bins import core_columns
from stagewise.display import Facts, Text
from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators.bases.model_estimator import ModelEstimator
from stagewise.estimators.bases.predictions.dataset_predictions import predicts_datasets
from stagewise.estimators.bases.predictions.r_squared import ScoredByR2
from stagewise.estimators.linear.coefficients import coefficient_values, select_names
from stagewise.estimators.linear.columns import LinearRows, match_linear
from stagewise.estimators.linear.confidence_set import ConfidenceSet
from stagewise.estimators.linear.summary import summary_of
from stagewise.linear.design import Design
from stagewise.linear.joint_estimate import FTest, JointEstimate, TTest, f_test, t_test
from stagewise.linear.least_squares import LeastSquares
from stagewise.linear.reduction import Reduction
from stagewise.model.file.least_squares import linear_ensemble
from stagewise.model.model import Model
from stagewise.training.fit_report import VERSION, log_fit
from stagewise.training.fit_warnings import warn_of_columns
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.workers import make_workers

__all__ = ["LinearEstimator"]

Vector = npt.NDArray[np.float64]

NAMES_SHOWN = 5


class LinearEstimator(ScoredByR2, ModelEstimator):
    """Base class of the estimators whose model is one least-squares fit."""

    def _keep(self, rows: LinearRows, reduction: Reduction, columns: Sequence[int]) -> None:
        """Set the model of a fit of some columns; warn of collinear columns and too few rows."""
        fit, features, y = reduction.fit(columns), rows.design.features, rows.rows.y
        warn_of_columns(features, rows.rows)
        with np.errstate(over="ignore"):
            rows.design.check_slopes(fit.columns.tolist(), fit.slope, fit.slope / fit.scale)
        names = [rows.design.names[c] for c in fit.columns]
        if (y == y[0]).all():
            warn_caller("y has only one value, so the model predicts the same for all rows.")
        elif reduction.all_constant and features.n:
            warn_caller("Every feature is constant, so the model predicts the same for all rows.")
        elif fit.df == 0:
            warn_caller(
                f"The fit has {fit.rank} coefficients for {fit.weight:g} rows, so there are no "
                "residual degrees of freedom: standard errors, tests and intervals are NaN. Use "
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

    def _set_report(self, rows: LinearRows, begin: float) -> None:
        """Set the facts about the fit, and log its end."""
        fit, seconds = self._fit_of(), time.perf_counter() - begin
        facts = {
            "constant_features": rows.constant,
            "collinear_terms": [self.coef_names_[place] for place, _ in fit.dependent],
            "rank": fit.rank,
            "rows_used": len(rows.rows.y),
            "seed": self.seed_,
            "seconds": seconds,
            "version": VERSION,
        }
        self.fit_report_ = Facts(facts, f"Fit of {type(self).__name__}")
        log_fit(self, seconds)

    @classmethod
    def _check_model(cls, model: Model) -> None:
        super()._check_model(model)
        if model.least_squares is None:
            raise ModelFormatError(f"a {cls.__name__} has coefficients, but this model has none.")

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

    @predicts_datasets
    def predict(self, X: Any) -> Vector:
        """Return f(x) = β_0 + Σ_j β_j x_j of every row."""
        model = self._fitted()
        return self._predict(model, core_columns(match_linear(model.features, X, self._name)))

    @suggests_arguments
    @predicts_datasets
    def predict_interval(
        self,
        X: Any,
        *,
        confidence_level: float = 0.95,
        kind: Literal["prediction", "mean"] = "prediction",
    ) -> Vector:
        """Return an interval around each prediction, shape (n_rows, 2).

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.
        confidence_level : float, default=0.95
            The probability that an interval contains the value, above 0 and below 1.
        kind : {"prediction", "mean"}, default="prediction"
            An interval for one new y at x, f ± t σ̂ √(1 + x'(X'X)⁻¹x), or for the mean of all y at
            x, f ± t σ̂ √(x'(X'X)⁻¹x), with t the quantile of Student's distribution.

        Notes
        -----
        The intervals assume independent, normal errors of equal variance. With collinear columns
        they do not apply to rows that violate the linear relation of the training rows.
        """
        level = _check_level(confidence_level)
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

    @property
    def term_names_(self) -> list[str]:
        """The names of the coefficients: "intercept", if there is one, and `coef_names_`."""
        return ["intercept"] * self._fit_of().intercept + self.coef_names_

    @property
    def standard_errors_(self) -> Vector:
        """The standard errors of the coefficients, in the order of `term_names_`."""
        return self._fit_of().standard_error

    @property
    def tvalues_(self) -> Vector:
        """The t statistics of the coefficients, in the order of `term_names_`."""
        return self._fit_of().t

    @property
    def pvalues_(self) -> Vector:
        """The p values of the tests that a coefficient is 0, in the order of `term_names_`."""
        return self._fit_of().p

    @suggests_arguments
    def conf_int(self, *, confidence_level: float = 0.95) -> Vector:
        """Return the confidence intervals of the coefficients, shape (n_terms, 2).

        Parameters
        ----------
        confidence_level : float, default=0.95
            The probability that an interval contains its coefficient, above 0 and below 1; 1 - α of
            statsmodels.
        """
        return self._fit_of().interval(_check_level(confidence_level))

    @suggests_arguments
    def t_test(
        self,
        term: str,
        value: float = 0.0,
        *,
        alternative: Literal["two-sided", "less", "greater"] = "two-sided",
    ) -> TTest:
        """Test whether a coefficient has some value, t = (ŵ - value) / standard error.

        Parameters
        ----------
        term : str
            The coefficient, a name of `term_names_`.
        value : float, default=0.0
            The value of the hypothesis.
        alternative : {"two-sided", "less", "greater"}, default="two-sided"
            Whether values on both sides, or only smaller or larger coefficients, contradict it.

        Returns
        -------
        TTest
            `statistic`, `pvalue` and `df`.
        """
        if alternative not in ("two-sided", "less", "greater"):
            raise InvalidParameterError(
                "alternative must be 'two-sided', 'less' or 'greater'; got "
                f"{short_repr(alternative)}."
            )
        places = self._places(term)
        if len(places) != 1:
            raise InvalidParameterError(
                f"A t test has one coefficient, and terms={short_repr(term)} has {len(places)}. "
                "Use f_test."
            )
        (number,) = coefficient_values(value, [self.term_names_[places[0]]])
        return t_test(self._fit_of(), places[0], float(number), alternative)

    @suggests_arguments
    def f_test(self, terms: str | Sequence[str] | None = None, value: Any = 0.0) -> FTest:
        """Test whether some coefficients have some values, w = value.

        F = (ŵ - value)'V⁻¹(ŵ - value) / q, with V = σ̂²(X'X)⁻¹ of the q coefficients. For value 0,
        it is the F test of the models with and without them.

        Parameters
        ----------
        terms : str, sequence of str, or None
            Names of `term_names_`, or of categorical features, which stand for all their
            coefficients; None: all, the intercept included. `coef_names_` are all slopes.
        value : float, or array-like of shape (q,), default=0.0
            The values of the hypothesis, in the order of the terms; a number is that of all.

        Returns
        -------
        FTest
            `statistic`, `pvalue`, `df_num` and `df_denom`.
        """
        joint, names = self._joint(terms)
        given = coefficient_values(value, names)
        if given.ndim != 1:
            raise InvalidParameterError(
                f"value must be a number or {len(names)} numbers; got an array of shape "
                f"{given.shape}."
            )
        return f_test(joint, given)

    @suggests_arguments
    def confidence_set(
        self, terms: str | Sequence[str] | None = None, *, confidence_level: float = 0.95
    ) -> ConfidenceSet:
        """Return the confidence set of some coefficients together, an ellipsoid.

        It contains the values w whose F test has a p value of at least 1 - confidence_level:
        (w - ŵ)'X'X(w - ŵ) ≤ q σ̂² F, with F the quantile of Fisher's distribution with q and
        N - rank degrees of freedom (Hastie, Tibshirani & Friedman, eq. 3.15).

        Parameters
        ----------
        terms : str, sequence of str, or None
            As in `f_test`.
        confidence_level : float, default=0.95
            The probability that the set contains all these coefficients, above 0 and below 1.

        Returns
        -------
        ConfidenceSet
            With `contains`, `axes`, `bounds`, `project` and `plot`.
        """
        level = _check_level(confidence_level)
        joint, names = self._joint(terms)
        if not joint.fit.df > 0:
            raise ValueError(
                f"The fit has {joint.fit.rank} coefficients for {joint.fit.weight:g} rows, so "
                "there are no residual degrees of freedom, and there is no confidence set. Use "
                "fewer columns or more rows."
            )
        joint.distance(joint.estimate[np.newaxis])  # raises if the covariance is singular
        return ConfidenceSet(names, level, float(np.sqrt(joint.quantile(level))), joint)

    def _joint(self, terms: Any) -> tuple[JointEstimate, list[str]]:
        """Return some coefficients and their names."""
        places, names = self._places(terms), self.term_names_
        return JointEstimate(self._fit_of(), places), [names[p] for p in places]

    def _places(self, terms: Any) -> list[int]:
        """Return the positions of some coefficients in `term_names_`."""
        model, fit = self._fitted(), self._fit_of()
        if fit.rank < len(fit.estimate):
            raise ValueError(
                f"The {len(fit.estimate)} coefficients are not unique, because columns are "
                f"collinear: the rank is {fit.rank}. So they have no tests of given values and no "
                "confidence set. Leave columns out, and fit again."
            )
        design, groups = Design.of(model.features), dict[str, list[int]]()
        for place, column in enumerate(fit.columns, start=int(fit.intercept)):
            own = design.columns[column]
            if own.category is not None:
                groups.setdefault(design.feature_names()[own.feature], []).append(place)
        return select_names(terms, self.term_names_, groups)

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
        """The number of rows (the sum of weights) minus the number of coefficients."""
        return self._fit_of().df

    @property
    def rank_(self) -> int:
        """The rank of the design matrix: the number of independent coefficients."""
        return self._fit_of().rank

    @property
    def r2_(self) -> float:
        """R² of the training rows."""
        return self._fit_of().r2

    @property
    def adjusted_r2_(self) -> float:
        """R² with variances divided by their degrees of freedom."""
        return self._fit_of().adjusted_r2

    @property
    def f_test_(self) -> tuple[float, float]:
        """F and p of the test that all slopes are 0."""
        fit = self._fit_of()
        return fit.f, fit.f_p

    @property
    def log_likelihood_(self) -> float:
        """The log likelihood with normal errors."""
        return self._fit_of().log_likelihood

    @property
    def aic_(self) -> float:
        """Akaike's information criterion, 2 rank_ - 2 log_likelihood_."""
        return self._fit_of().aic

    @property
    def bic_(self) -> float:
        """The Bayesian (Schwarz) information criterion, log(N) rank_ - 2 log_likelihood_."""
        return self._fit_of().bic

    @suggests_arguments
    def summary(self, *, confidence_level: float = 0.95) -> Text:
        """Return the coefficients, their tests and the quality of the fit as text."""
        level, fit = _check_level(confidence_level), self._fit_of()
        return summary_of(self._fitted(), fit, self.term_names_, level)

    def plot_residuals(self, X: Any, y: Any, *, axes: Any = None) -> Any:
        """Draw residuals against predictions, their quantiles against normal ones, and leverage.

        Parameters
        ----------
        X, y
            The rows, for example those of the fit.
        axes : sequence of three matplotlib axes, or None
            The axes to draw on; None: a new figure.

        Returns
        -------
        list of matplotlib axes
        """
        from stagewise.estimators.linear.plots import plot_residuals

        model, fit = self._fitted(), self._fit_of()
        columns = core_columns(match_linear(model.features, X, self._name))
        matrix = Design.of(model.features).matrix(columns, columns=fit.columns.tolist())
        return plot_residuals(fit, matrix, self._predict(model, columns), y, self._name, axes)


def _check_level(level: Any) -> float:
    number = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
    if not number or not 0.0 < float(level) < 1.0:
        raise InvalidParameterError(
            "confidence_level must be a number above 0 and below 1, such as 0.95; got "
            f"{short_repr(level)}."
        )
    if level < 0.5:
        warn_caller(
            f"An interval with confidence_level={float(level):g} contains the value with that "
            f"probability only. For an error probability of {float(level):g}, pass "
            f"confidence_level={1 - float(level):g}."
        )
    return float(level)


def _collinear(fit: LeastSquares, names: list[str]) -> str:
    relations = []
    for place, others in fit.dependent[:NAMES_SHOWN]:
        if not others:
            relations.append(f"{names[place]!r} is constant")
            continue
        listed = ", ".join(repr(names[i]) for i in others[:NAMES_SHOWN])
        more = ", …" if len(others) > NAMES_SHOWN else ""
        relations.append(f"{names[place]!r} is a linear combination of {listed}{more}")
    rest = len(fit.dependent) - len(relations)
    more = f"; and {rest} more" if rest else ""
    return (
        f"Columns are collinear: {'; '.join(relations)}{more}. The predictions are the same as "
        "without these columns. Of all coefficients with these predictions, those with the "
        "smallest sum of squares were chosen, so their tests are not meaningful. Leave such "
        "columns out."
    )
