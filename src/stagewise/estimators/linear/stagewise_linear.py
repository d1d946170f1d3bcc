"""Forward stagewise linear regression."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns
from stagewise.boosting import responses
from stagewise.boosting.componentwise import epsilon_step, full_step
from stagewise.boosting.recipe import Recipe
from stagewise.data.bins import core_columns
from stagewise.errors import ModelFormatError
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.predictions.regressor import RegressorPredictions
from stagewise.estimators.linear.columns import linear_reader, match_linear
from stagewise.estimators.linear.plots import plot_paths
from stagewise.estimators.parameters.make_specs import hold_out_spec
from stagewise.linear.design import Design
from stagewise.linear.terms import merge_linear_terms, slopes_of
from stagewise.losses import Loss, SquaredError
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.training.adapters.component_adapter import ComponentAdapter
from stagewise.training.describe import describe_rounds, describe_rows, other_parameters
from stagewise.training.reading.training_data import TableReader
from stagewise.training.specs import LearnerAdapter, StoppingSpec
from stagewise.validation.parameters import suggests_names
from stagewise.validation.rules import Number
from stagewise.workers import make_workers

__all__ = ["StagewiseLinearRegressor"]

Vector = npt.NDArray[np.float64]


class StagewiseLinearRegressor(RegressorPredictions, BaseBoosting):
    """Forward stagewise linear regression: every round changes one coefficient.

    From f = ȳ, every round finds the column most correlated with the residual r = y - f and changes
    its coefficient alone (Hastie, Tibshirani & Friedman, *The Elements of Statistical Learning*,
    section 3.3.3 and Algorithm 3.4):

        j = argmax |corr(x_j, r)|,    β_j ← β_j + ν ⟨x_j, r⟩ / ⟨x_j, x_j⟩   or   β_j ± ε.

    With enough rounds the result is that of least squares. If the fit stops earlier, coefficients
    are shrunk and most are 0. With small ε the path is close to that of the lasso.

    Parameters
    ----------
    step_size : float or None, default=None
        None: the step of a round is the least-squares slope of the residual on the column, times
        `learning_rate`. A number: the step is ±ε with the sign of the correlation, in standard
        deviations of y per standard deviation of the column.
    learning_rate : float, default=1.0
        ν, for step_size=None. Smaller steps shrink more smoothly (componentwise L2 boosting,
        Bühlmann & Yu 2003).
    n_estimators : int, default=1000
        The largest number of rounds. The fit also ends when no step lowers the error.
    categorical_features : default="from_dtype"
        Which columns are categorical, as in `LinearRegression`. Each dummy variable is a column of
        its own.
    early_stopping, validation_fraction, n_iter_no_change, tol, time_limit, warm_start, \
random_state, n_jobs, verbose, callbacks
        As in `GradientBoostingRegressor`.

    Attributes
    ----------
    coef_, intercept_, coef_names_
        As in `LinearRegression`.
    coef_path_ : float64 array of shape (n_iter_ + 1, n_columns)
        The coefficients before the first round, and after each.
    model_, n_iter_, best_iteration_, learning_rate_, train_loss_, validation_loss_, \
evals_result_, best_score_, \
n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingRegressor`.
    seed_
        As in `GradientBoostingRegressor`.

    Notes
    -----
    Missing values, infinite values and unknown categories are errors.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import StagewiseLinearRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = StagewiseLinearRegressor(step_size=0.01, n_estimators=60).fit(X, y)
    >>> [name for name, slope in zip(model.coef_names_, model.coef_) if slope]
    ['bmi', 'bp', 's3', 's5']
    """

    _rules = MappingProxyType(
        {"step_size": Number(0.0, 1.0, open_low=True, open_high=True, or_none=True)}
    )

    @suggests_names
    def __init__(
        self,
        *,
        step_size: float | None = None,
        learning_rate: float = 1.0,
        n_estimators: int = 1000,
        categorical_features: Any = "from_dtype",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.step_size = step_size
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    def _make_loss(self, classes: Any) -> Loss:
        return SquaredError()

    def _recipe(self) -> Recipe:
        if self.step_size is not None:
            epsilon = float(self.step_size)
            return Recipe(
                "ε steps", responses.newton, lambda loss, unit: epsilon_step(epsilon, unit)
            )
        return Recipe("full steps", responses.newton, lambda loss, unit: full_step(unit))

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        return ComponentAdapter()

    def _table_reader(self, params: dict[str, Any], previous: Model | None) -> TableReader:
        return linear_reader(params, type(self).__name__, previous)

    def _adopt(self, model: Model) -> None:
        trees = model.ensemble.trees
        try:
            design = Design.of(model.features)
            self._terms = merge_linear_terms(trees, design)
        except ValueError as error:
            raise ModelFormatError(f"the model is not a {type(self).__name__}: {error}") from None
        slope, start = slopes_of(trees, design)
        with np.errstate(over="ignore"):
            design.check_slopes(range(len(design)), model.scale * slope.sum(axis=0))
        super()._adopt(model)
        at_zero = float(model.ensemble.base[0]) + float(start.sum())
        self.intercept_ = float(model.offset + model.scale * at_zero)
        self.coef_ = self.coef_path_[-1].copy()
        self.coef_names_ = design.names

    @property
    def coef_path_(self) -> Vector:
        """The coefficients before the first round and after each, shape (n_iter_ + 1, k)."""
        model = self._fitted()
        slope, _ = slopes_of(model.ensemble.trees, Design.of(model.features))
        none = np.zeros((1, slope.shape[1]))
        with np.errstate(over="ignore"):
            return np.asarray(model.scale * np.cumsum(np.concatenate([none, slope]), axis=0))

    def _match(self, model: Model, X: Any) -> Any:
        return match_linear(model.features, X, type(self).__name__)

    def _score(self, X: Any, n_rounds: Any = None) -> Vector:
        """Return F, with all rounds of a column merged into one term."""
        model = self._fitted()
        if n_rounds is not None:
            return super()._score(X, n_rounds)
        ensemble = model.ensemble
        whole = Ensemble(ensemble.n_features, ensemble.base, self._terms, ensemble.n_categories)
        columns = core_columns(self._match(model, X))
        assert isinstance(columns, Columns)
        self._check_reach(model, columns)
        return whole.score(columns, make_workers(1))

    def _check_reach(self, model: Model, columns: Any) -> None:
        design = Design.of(model.features)
        leaves = [t.linear_leaves for t in self._terms if t.linear_leaves]
        places = {c.feature: j for j, c in enumerate(design.columns) if c.category is None}
        for leaf in leaves:
            own = [places[int(feature)] for feature in leaf.feature]
            design.check_reach(columns, own, model.scale * leaf.slope, leaf.centre)

    def plot_path(self, *, axes: Any = None) -> Any:
        """Draw the coefficients after every round.

        Parameters
        ----------
        axes : matplotlib axes, or None
            The axes to draw on; None: a new figure.

        Returns
        -------
        matplotlib axes
        """
        path = self.coef_path_
        rounds, labels = np.arange(float(len(path))), ("round", "coefficient")
        return plot_paths(rounds, path, self.coef_names_, labels, axes, "plot_path")

    def recipe(self) -> str:
        """Return the fit in one line: loss x response x step x learner x rows x rounds."""
        p = self._parameters()
        size, hold_out = p["step_size"], hold_out_spec(p)
        how = "full steps" if size is None else f"steps of ε={size:g}"
        rate = f", ν={p['learning_rate']:g}" if size is None else ""
        return (
            f"squared_error x residuals x {how} x one column x "
            f"{describe_rows('all rows', hold_out)} x "
            f"{describe_rounds(StoppingSpec.of(p), hold_out)}{rate}"
            f"{other_parameters(self, 'boosting')}"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        return tags
