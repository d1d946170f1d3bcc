"""Linear regression by least squares."""

from __future__ import annotations

import time
from typing import Any, Self

from stagewise.estimators.bases.dataset_fits import fits_datasets
from stagewise.estimators.linear.base import LinearEstimator
from stagewise.estimators.linear.columns import read_linear
from stagewise.linear.reduction import Reduction
from stagewise.training.describe import other_parameters
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.parameters import check_parameters, suggests_names

__all__ = ["LinearRegression"]


class LinearRegression(LinearEstimator):
    """Linear regression by least squares, with standard errors, tests and intervals.

    β̂ = argmin Σ_i w_i (y_i - β_0 - Σ_j β_j x_ij)² (Hastie, Tibshirani & Friedman, *The Elements of
    Statistical Learning*, section 3.2). If columns are collinear, the solution has the smallest
    Σ β², as that of the pseudo-inverse, and a warning names the columns.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether β_0 is estimated. False: it is 0.
    categorical_features : default="from_dtype"
        Which columns are categorical, as in `GradientBoostingRegressor`. A feature with K
        categories has K - 1 coefficients: the first category by value is the baseline.

    Attributes
    ----------
    coef_ : float64 array
        The slopes, in the order of `coef_names_`.
    coef_names_ : list of str
        The columns: numbers by their names (``x0`` and so on without names), categories as
        ``city=Rome``.
    intercept_ : float
        β_0.
    r2_, adjusted_r2_, f_test_, sigma_, df_residual_, rank_, log_likelihood_, aic_, bic_, \
covariance_
        The quality of the fit.
    term_names_, standard_errors_, tvalues_, pvalues_
        The inference about the coefficients, the intercept first; see also `conf_int`, `t_test`,
        `f_test` and `confidence_set`.
    model_, n_features_in_, feature_names_in_, fit_report_, seed_
        As in `GradientBoostingRegressor`.

    Notes
    -----
    Missing values, infinite values and unknown categories are errors. Weights are frequencies:
    whole numbers are counts, so a row of weight 2 is the row twice, for standard errors too; other
    weights are divided by their mean, as in weighted least squares.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LinearRegression().fit(X[["bmi", "bp"]], y)
    >>> round(model.r2_, 3)
    0.396
    >>> model.predict_interval(X[["bmi", "bp"]][:2], confidence_level=0.9).round().tolist()
    [[110.0, 309.0], [2.0, 200.0]]
    """

    @suggests_names
    def __init__(
        self, *, fit_intercept: bool = True, categorical_features: Any = "from_dtype"
    ) -> None:
        self.fit_intercept = fit_intercept
        self.categorical_features = categorical_features

    @suggests_arguments
    @fits_datasets
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), or None
            Numbers, and categories in the columns that `categorical_features` selects; no missing
            or infinite values. None: a model of the intercept alone, the mean of y, whose test is
            ``t_test("intercept", value)``.
        y : array-like of shape (n_rows,)
            The target.
        sample_weight : array-like of shape (n_rows,) or None
            Whole numbers are counts: a row of weight 2 is the row twice, a row of weight 0 is left
            out. Otherwise only the ratios of the weights matter.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        params = check_parameters(self)
        if X is None and not params["fit_intercept"]:
            raise ValueError("X is None, and a model without features needs fit_intercept=True.")
        rows = read_linear(X, y, sample_weight, params, type(self).__name__)
        weight, every = rows.rows.weight, range(len(rows.design))
        reduced = Reduction.of(rows.matrix, rows.rows.y, weight, intercept=params["fit_intercept"])
        self._keep(rows, reduced, every)
        self.seed_ = 0  # nothing is drawn
        self._set_report(rows, begin)
        return self

    def recipe(self) -> str:
        """Return the fit in one line: loss x columns x rows x method."""
        params = check_parameters(self)
        constant = "with" if params["fit_intercept"] else "without"
        return (
            f"squared_error x all columns, {constant} intercept x all rows x least squares"
            f"{other_parameters(self, 'least squares')}"
        )
