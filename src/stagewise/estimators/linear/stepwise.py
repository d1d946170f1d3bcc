"""Stepwise linear regression: least squares with selected features."""

from __future__ import annotations

import math
import time
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.dataset_fits import fits_datasets
from stagewise.estimators.linear.base import LinearEstimator
from stagewise.estimators.linear.columns import LinearRows, read_linear
from stagewise.estimators.linear.criteria import (
    Criterion,
    FoldError,
    Information,
    NumberOfFeatures,
    RelativeImprovement,
    Significance,
)
from stagewise.estimators.linear.plots import plot_selection
from stagewise.estimators.linear.selection import Path, Selection, table_of
from stagewise.estimators.parameters.make_specs import choose_seed
from stagewise.linear.design import Design
from stagewise.linear.reduction import Reduction
from stagewise.model.model import Model
from stagewise.training.describe import other_parameters
from stagewise.training.reading.folds import make_folds
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.parameters import RULES, check_parameters, suggests_names
from stagewise.validation.rules import Number, OneOf
from stagewise.validation.uses import Use

__all__ = ["StepwiseRegressor"]


class StepwiseRegressor(LinearEstimator):
    """Linear regression with stepwise selection of features.

    Forward selection starts with the intercept and adds the feature that improves the fit most;
    backward elimination starts with all features and removes the one that worsens the fit least;
    "both" may do either in every step (Hastie, Tibshirani & Friedman, *The Elements of Statistical
    Learning*, section 3.3.2). Best subset selection finds the set with the smallest residual sum of
    squares (RSS) of each size (section 3.3.1). The dummy variables of a categorical feature enter
    and leave together.

    Parameters
    ----------
    direction : {"forward", "backward", "both", "best_subset"}, default="forward"
        Whether features are added, removed, or both; "both" starts with the intercept.
        "best_subset" searches all sets by branch and bound, which is feasible for about 30
        features.
    criterion : {"aic", "bic", "p_value", "cv", "rss"}, default="aic"
        The criterion that a move must improve: an information criterion, or the squared error of
        held-out folds. With "p_value" the feature with the smallest p value of its F test enters if
        that is at most `alpha_enter`, and the feature with the largest one is removed if that is
        above `alpha_remove`. With "rss" the search stops when the RSS becomes flat, see `tol`. The
        best subsets of all sizes are compared by "aic", "bic", "cv" or "rss".
    n_features_to_select : int or None, default=None
        The number of features to select, in place of the stopping rule of the criterion; not for
        direction="both".
    tol : float, default=0.01
        For criterion="rss": the improvement by a feature is 1 - RSS₁ / RSS, of the sets with and
        without it. A feature is added if its improvement is above `tol`, and removed if it is at
        most `tol`. Of the best subsets, the first is selected after which the next size improves by
        at most `tol`.
    alpha_enter, alpha_remove : float, default=0.05 and 0.1
        For criterion="p_value".
    cv : int, splitter or list of pairs of indices, default=5
        For criterion="cv": the folds.
    fit_intercept : bool, default=True
        Whether β_0 is estimated; it is never removed.
    categorical_features : default="from_dtype"
        Which columns are categorical, as in `LinearRegression`.
    random_state : int, RandomState or None, default=0
        The seed of the folds.

    Attributes
    ----------
    path_ : dict
        The sets of features on the path of the search, a list or an array for each column:
        ``step``, ``action`` ("start", "add", "remove" or "best_subset"), ``feature``,
        ``n_features``, ``rank``, ``rss``, ``r2``, ``adjusted_r2``, ``aic``, ``bic``, ``p`` (of the
        F test of the feature that moved), ``score`` (the criterion), ``features`` (of the set) and
        ``selected`` (whether the model has this set). Best subsets are in the order of their sizes.
        The constructor of a data frame accepts it. It is not part of model files.
    selected_features_ : list of str
        The features of the selected set.
    support_ : bool array of shape (n_features,)
        Whether each feature is selected.
    coef_, coef_names_, intercept_, r2_, adjusted_r2_, f_test_, sigma_, df_residual_, rank_, \
log_likelihood_, aic_, bic_, covariance_, term_names_, standard_errors_, tvalues_, pvalues_, \
model_, n_features_in_, feature_names_in_, fit_report_, seed_
        As in `LinearRegression`, of the selected set.

    Notes
    -----
    The tests and intervals of the fit ignore that the same rows have selected its features:
    p values are too small, and intervals too narrow.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import StepwiseRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = StepwiseRegressor(criterion="bic").fit(X, y)
    >>> model.path_["feature"]
    ['', 'bmi', 's5', 'bp', 's1', 'sex', 's2']
    >>> best = StepwiseRegressor(direction="best_subset", n_features_to_select=5).fit(X, y)
    >>> best.selected_features_
    ['sex', 'bmi', 'bp', 's3', 's5']
    """

    _rules = MappingProxyType(
        {
            "direction": OneOf(("forward", "backward", "both", "best_subset")),
            "criterion": OneOf(("aic", "bic", "p_value", "cv", "rss")),
            "n_features_to_select": Number(1, 2**31 - 1, whole=True, or_none=True),
            "tol": Number(0.0, 1.0, open_high=True),
            "alpha_enter": RULES["validation_fraction"],
            "alpha_remove": RULES["validation_fraction"],
        }
    )
    _uses = (
        Use(("tol",), "criterion", lambda criterion: criterion == "rss", "set criterion='rss'"),
        Use(
            ("tol", "alpha_enter", "alpha_remove"),
            "n_features_to_select",
            lambda n: n is None,
            "set n_features_to_select=None",
        ),
        Use(
            ("n_features_to_select",),
            "direction",
            lambda direction: direction != "both",
            "set direction='forward', 'backward' or 'best_subset'",
        ),
    )

    @suggests_names
    def __init__(
        self,
        *,
        direction: str = "forward",
        criterion: str = "aic",
        n_features_to_select: int | None = None,
        tol: float = 0.01,
        alpha_enter: float = 0.05,
        alpha_remove: float = 0.1,
        cv: Any = 5,
        fit_intercept: bool = True,
        categorical_features: Any = "from_dtype",
        random_state: Any = 0,
    ) -> None:
        self.direction = direction
        self.criterion = criterion
        self.n_features_to_select = n_features_to_select
        self.tol = tol
        self.alpha_enter = alpha_enter
        self.alpha_remove = alpha_remove
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.categorical_features = categorical_features
        self.random_state = random_state

    @suggests_arguments
    @fits_datasets
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Select features and fit the model.

        Parameters
        ----------
        X, y, sample_weight
            As in `LinearRegression`.
        groups : array-like of shape (n_rows,) or None
            For criterion="cv": rows of one group are always in the same fold.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        params = check_parameters(self)
        self._check_combinations(params)
        if groups is not None and params["criterion"] != "cv":
            raise ValueError("groups was passed, but only criterion='cv' has folds.")
        if X is None:
            raise ValueError(
                "Expected 2D array, got None, which has no features to select. Pass a table."
            )
        rows = read_linear(X, y, sample_weight, params, type(self).__name__)
        self.seed_ = choose_seed(params["random_state"])
        reduction = self._reduced(rows, slice(None), params)
        selection = Selection(reduction, rows.design.places, params["direction"])
        self._check_start(selection, len(rows.design))
        n_features = params["n_features_to_select"]
        criterion = self._criterion(params, rows, selection, groups)
        if n_features is not None:
            self._check_number(n_features, rows.design.features.n)
            criterion = NumberOfFeatures(criterion, n_features)
        path = selection.path(criterion, n_features)
        self._check_selected(n_features, path)
        self._keep(rows, reduction, selection.columns(path.features))
        self.path_ = table_of(path, selection, rows.design.feature_names())
        self._set_report(rows, begin)
        return self

    def _check_number(self, n_features: int, n: int) -> None:
        if n_features > n:
            raise InvalidParameterError(
                f"The parameter 'n_features_to_select' of {type(self).__name__} must be at most "
                f"the number of features, {n}; got {n_features}."
            )

    def _check_selected(self, n_features: int | None, path: Path) -> None:
        if n_features is not None and len(path.features) != n_features:
            raise ValueError(
                f"n_features_to_select={n_features}, but only {len(path.features)} features can be "
                "selected: each other one is a linear combination of these, or would leave no "
                "residual degrees of freedom. Set n_features_to_select to at most "
                f"{len(path.features)}, or pass more rows."
            )

    def _check_combinations(self, params: dict[str, Any]) -> None:
        if params["direction"] == "best_subset" and params["criterion"] == "p_value":
            raise InvalidParameterError(
                f"criterion='p_value' of {type(self).__name__} compares sets that differ by one "
                "feature, but the best subsets of two sizes may differ by more. Set "
                "criterion='aic', 'bic', 'cv' or 'rss', or another direction than 'best_subset'."
            )
        enters, stays = params["alpha_enter"], params["alpha_remove"]
        if params["direction"] == "both" and stays < enters:
            raise InvalidParameterError(
                f"The parameter 'alpha_remove' of {type(self).__name__} must be at least "
                "'alpha_enter', otherwise a feature could enter and leave endlessly; got "
                f"{stays:g} and {enters:g}."
            )

    def _check_start(self, selection: Selection, n_columns: int) -> None:
        if selection.direction != "backward":
            return
        rank = selection.reduction.error(range(n_columns))[1]
        if rank >= selection.reduction.weight:
            raise ValueError(
                f"direction='backward' starts with all columns, but with {rank} coefficients for "
                f"{selection.reduction.weight:g} rows there are no residual degrees of freedom. "
                "Use direction='forward', more rows, or fewer columns."
            )

    def _reduced(self, rows: LinearRows, places: Any, params: dict[str, Any]) -> Reduction:
        weight = None if rows.rows.weight is None else rows.rows.weight[places]
        matrix = rows.matrix[:, places].copy()  # it is overwritten
        return Reduction.of(matrix, rows.rows.y[places], weight, intercept=params["fit_intercept"])

    def _criterion(
        self, params: dict[str, Any], rows: LinearRows, selection: Selection, groups: Any
    ) -> Criterion:
        name, reduction = params["criterion"], selection.reduction
        if name == "rss":
            return RelativeImprovement(reduction, params["tol"])
        if name == "p_value":
            return Significance(params["alpha_enter"], params["alpha_remove"])
        if name in ("aic", "bic"):
            return Information(reduction, 2.0 if name == "aic" else math.log(reduction.weight))
        folds = make_folds(params["cv"], rows.rows, rows.y, groups, self.seed_, by_class=False)
        reduced = [tuple(self._reduced(rows, part, params) for part in fold) for fold in folds]
        pairs = [(learned, held) for learned, held in reduced]
        return FoldError(reduction, selection.columns, pairs)

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        design = Design.of(model.features)
        assert model.least_squares is not None
        chosen = {design.columns[c].feature for c in model.least_squares.columns}
        self.support_ = np.array([f in chosen for f in range(model.features.n)])
        self.selected_features_ = [design.feature_names()[f] for f in sorted(chosen)]
        self.__dict__.pop("path_", None)

    def recipe(self) -> str:
        """Return the fit in one line: loss x columns x rows x method."""
        params = check_parameters(self)
        self._check_combinations(params)
        constant = "with" if params["fit_intercept"] else "without"
        return (
            f"squared_error x columns {_selected_by(params)}, {constant} intercept x "
            f"all rows x least squares{other_parameters(self, 'least squares')}"
        )

    def plot_path(self, *, axes: Any = None) -> Any:
        """Draw the criterion (with "p_value", R²) of every step, with the features that moved.

        Best subsets are drawn by their number of features, and the selected one is marked.

        Parameters
        ----------
        axes : matplotlib axes, or None
            The axes to draw on; None: a new figure.

        Returns
        -------
        matplotlib axes
        """
        self._fitted()
        if not hasattr(self, "path_"):
            raise AttributeError(
                f"this {type(self).__name__} was read from a file, which has no path_; fit again."
            )
        column = "r2" if self.criterion == "p_value" else "score"
        label = {"r2": "R²"}.get(column, self.criterion.upper())
        return plot_selection(self.path_, column, label, axes)


def _selected_by(params: dict[str, Any]) -> str:
    """Return how the columns are selected, in words."""
    direction, name, n = params["direction"], params["criterion"], params["n_features_to_select"]
    enter, remove = (f"{params[a]:g}" for a in ("alpha_enter", "alpha_remove"))
    alphas = {
        "forward": f"enter below {enter}",
        "backward": f"remove above {remove}",
        "both": f"enter below {enter}, remove above {remove}",
    }
    rules = {"rss": f"improvement above {params['tol']:g}", "p_value": alphas.get(direction)}
    words = {"aic": "AIC", "bic": "BIC", "cv": "cross-validation", "p_value": "p values"}
    rule = rules.get(name) if n is None else None
    by = words.get(name, "RSS") + (f" ({rule})" if rule else "")
    if direction == "best_subset":
        how = "of the best subset"
        return f"{how}, size by {by}" if n is None else f"{how} of {n}"
    way = {"both": "forward and backward"}.get(direction, direction)
    return f"selected {way} by {by}" + ("" if n is None else f" until {n} are selected")
