"""All kinds of feature importance through one function.

Each kind declares the arguments that it needs and uses; other arguments are rejected. Every kind
returns an `Importance`; `importance_table` puts several kinds into one tidy table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.display import Lines
from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.trees.forest import BaseForest
from stagewise.inspection.fitted_model import FittedModel, Vector
from stagewise.inspection.importances.permutation import permutation_importance
from stagewise.inspection.importances.split_importance import KINDS, Importance, split_importance
from stagewise.inspection.shap.values import ShapValues, shap_values
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["importance", "importance_table", "shap_importance"]

CONFIDENCE_LEVEL = 0.95


@suggests_arguments
def importance(
    estimator: Any,
    kind: str = "gain",
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> Importance:
    """Return the importance of each feature of a model.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    kind : str
        Computed from the splits of the trees:

        - "gain": the share of the total gain of all splits, as `feature_importances_`.
        - "squared_improvement": I_j = √( (1/M) Σ_m Σ_{splits of T_m on j} i² ), the largest being
          100 (Friedman 2001, eqs. 44 and 45). i² is the gain of a split: for trees of
          gradients half the improvement of the squared error of -g/h with weights h, less
          penalties. For K classes or targets there is an I_jk of the trees of each, and I_j²
          is their mean square (Hastie, Tibshirani & Friedman 2009, eqs. 10.45 and 10.46).
        - "splits": the number of splits on the feature.
        - "cover": the share of the total weight of the training rows that pass through its splits.

        Estimated from rows, with a standard error and 95 % confidence limits:

        - "shap": the mean absolute Shapley value over the rows of X; of several outputs the mean
          over the outputs (Lundberg et al. 2020).
        - "permutation": the increase of the loss on X and y when a column is permuted; see
          `permutation_importance`, which has more options. Pass rows that were not used for
          training.
        - "permutation_oob": the same for a forest, tree by tree, on out-of-bag rows (Breiman 2001,
          section 10). Pass the training rows.
    X, y, sample_weight : array-like or data frame, or None
        The rows for the kinds that are estimated from rows; "shap" needs no y. An error for other
        kinds.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator, for "shap" and "permutation".

    Returns
    -------
    Importance
        For several classes or targets also `by_output`, except for "permutation".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import importance
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> importance(model).table(top=1)[0]["feature"]
    'bmi'
    >>> importance(model, "shap", X=X).unit
    'mean absolute Shapley value'
    """
    rule = _rule(kind)
    given = {
        "X": X,
        "y": y,
        "sample_weight": sample_weight,
        "offset": offset,
        "exposure": exposure,
    }
    _refuse_unused(given, [kind])
    return _measure(estimator, kind, rule, given)


@suggests_arguments
def importance_table(
    estimator: Any,
    kinds: Sequence[str] = ("gain", "squared_improvement", "splits", "cover"),
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
) -> list[dict[str, Any]]:
    """Return several kinds of importance as one tidy table.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    kinds : sequence of str
        Different kinds of `importance`. "permutation" and "permutation_oob" cannot be combined: the
        first needs held-out rows, the second training rows.
    X, y, sample_weight : array-like or data frame, or None
        The rows for the kinds that are estimated from rows; an error if there are none.
    offset, exposure : array-like, number, str or None
        As of `importance`.

    Returns
    -------
    list of dict
        One row per kind and feature (output None), the most important first; for several classes or
        targets also one row per output. The keys are kind, feature, output, importance, error, low
        and high; values that a kind does not have are None. ``pandas.DataFrame(rows)`` makes a
        data frame of it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import importance_table
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> rows = importance_table(model, ["gain", "shap"], X=X)
    >>> [(row["kind"], row["feature"]) for row in rows[::10]]
    [('gain', 'bmi'), ('shap', 'bmi')]
    """
    if isinstance(kinds, str) or not len(kinds) or len(set(kinds)) < len(kinds):
        raise InvalidParameterError(
            f"kinds must be a list of different kinds of importance; got {short_repr(kinds)}."
        )
    rules = [_rule(kind) for kind in kinds]
    if {"permutation", "permutation_oob"} <= set(kinds):
        raise InvalidParameterError(
            "kinds: 'permutation' needs held-out rows and 'permutation_oob' needs training rows. "
            "Compute them in two calls, each with its own X and y."
        )
    given = {
        "X": X,
        "y": y,
        "sample_weight": sample_weight,
        "offset": offset,
        "exposure": exposure,
    }
    _refuse_unused(given, kinds)
    rows = Lines()
    for kind, rule in zip(kinds, rules, strict=True):
        rows += _tidy(_measure(estimator, kind, rule, given))
    return rows


# ---- kinds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """The required and the accepted arguments of a kind, and the function that computes it."""

    needs: tuple[str, ...]
    uses: tuple[str, ...]
    measure: Callable[..., Importance]
    remedy: str = ""


def _by_splits(kind: str) -> Callable[..., Importance]:
    return lambda estimator: split_importance(estimator, kind)


def _by_shap(
    estimator: Any, *, X: Any, sample_weight: Any, offset: Any, exposure: Any
) -> Importance:
    shap = shap_values(estimator, X, offset=offset, exposure=exposure)
    n = len(shap.values)
    if n == 0:
        raise ValueError("X has no rows. Pass at least one row.")
    fitted = FittedModel.of(estimator, "importance", offsets=True, of_targets=True)
    return shap_importance(shap, fitted.weight(sample_weight, n))


def shap_importance(shap: ShapValues, weight: Vector) -> Importance:
    """Return the weighted mean over rows of absolute Shapley values, with its standard error."""
    size = np.abs(shap.values).reshape(len(shap.values), len(shap.feature_names), -1)
    weight = weight / weight.max()  # only ratios matter; squares must not overflow
    own = size.mean(axis=2)  # the mean over the outputs, row by row
    value = np.average(own, axis=0, weights=weight)
    spread = np.average((own - value) ** 2, axis=0, weights=weight)
    count = weight.sum() ** 2 / (weight**2).sum()
    error = np.sqrt(spread / max(count - 1, 1))
    several = shap.output_names is not None
    by_output = np.average(size, axis=0, weights=weight).T if several else None
    unit = "mean absolute Shapley value"
    low, high = _limits(value, error)
    outputs = shap.output_names or ()
    return Importance("shap", unit, shap.feature_names, value, outputs, by_output, error, low, high)


def _by_oob(estimator: Any, *, X: Any, y: Any, sample_weight: Any) -> Importance:
    fitted = FittedModel.of(estimator, "importance")
    if not isinstance(estimator, BaseForest):
        raise TypeError(
            f"kind='permutation_oob' needs a forest, and {type(estimator).__name__} is not one. "
            "Use kind='permutation' with held-out rows."
        )
    found = estimator.oob_importances(X, y, sample_weight)
    low, high = _limits(found.mean, found.error)
    unit = f"increase of the {'squared error' if found.by_class is None else 'error rate'}"
    outputs = () if found.by_class is None else fitted.outputs("mean")
    return Importance(
        "permutation_oob",
        f"{unit} on out-of-bag rows",
        fitted.names,
        found.mean,
        outputs,
        found.by_class,
        found.error,
        low,
        high,
    )


def _limits(value: Vector, error: Vector) -> tuple[Vector, Vector]:
    reach = ndtri((1 + CONFIDENCE_LEVEL) / 2) * error
    return value - reach, value + reach


ROWS = ("X", "y", "sample_weight")
OFFSETS = ("offset", "exposure")
RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        **{kind: _Rule((), (), _by_splits(kind)) for kind in KINDS},
        "shap": _Rule(("X",), ("X", "sample_weight", *OFFSETS), _by_shap, "rows such as X_test"),
        "permutation": _Rule(
            ("X", "y"),
            (*ROWS, *OFFSETS),
            permutation_importance,
            "held-out rows and their targets",
        ),
        "permutation_oob": _Rule(
            ("X", "y"), ROWS, _by_oob, "the training rows of the forest and their targets"
        ),
    }
)


def _rule(kind: Any) -> _Rule:
    if not isinstance(kind, str) or kind not in RULES:
        raise InvalidParameterError(
            f"kind must be one of {', '.join(map(repr, RULES))}; got {short_repr(kind)}."
            f"{_foreign_kind(kind) or nearest_name(str(kind), RULES)}"
        )
    return RULES[kind]


FOREIGN_KINDS: Mapping[str, tuple[str, str]] = {
    "weight": ("XGBoost", "splits"),
    "split": ("LightGBM", "splits"),
    "total_gain": ("XGBoost", "gain"),
    "total_cover": ("XGBoost", "cover"),
    "PredictionValuesChange": ("CatBoost", "gain"),
    "LossFunctionChange": ("CatBoost", "permutation"),
    "ShapValues": ("CatBoost", "shap"),
}
"""Kinds of importance of other libraries: the library, and the nearest one here."""


def _foreign_kind(kind: Any) -> str:
    library, ours = FOREIGN_KINDS.get(str(kind), ("", ""))
    return f" {kind!r} is the name of {library}; here it is {ours!r}." if ours else ""


def _refuse_unused(given: Mapping[str, Any], kinds: Sequence[str]) -> None:
    used = {name for kind in kinds for name in RULES[kind].uses}
    for name, value in given.items():
        if value is not None and name not in used:
            names = " and ".join(map(repr, kinds))
            raise InvalidParameterError(
                f"{name} was passed, but {names} {'does' if len(kinds) == 1 else 'do'} not use it. "
                f"Leave {name} out."
            )


def _measure(estimator: Any, kind: str, rule: _Rule, given: Mapping[str, Any]) -> Importance:
    for name in rule.needs:
        if given[name] is None:
            raise InvalidParameterError(f"kind={kind!r} needs {name}: pass {rule.remedy}.")
    return rule.measure(estimator, **{name: given[name] for name in rule.uses})


def _tidy(found: Importance) -> list[dict[str, Any]]:
    """Return one row per feature, then one per output and feature."""

    def row(j: int, output: str | None, value: float, errors: bool) -> dict[str, Any]:
        columns = {"error": found.error, "low": found.low, "high": found.high}
        return {
            "kind": found.kind,
            "feature": found.features[j],
            "output": output,
            "importance": float(value),
        } | {
            name: float(column[j]) if errors and column is not None else None
            for name, column in columns.items()
        }

    rows = [row(j, None, found.value[j], True) for j in found.order]
    if found.by_output is not None:
        for output, own in zip(found.outputs, found.by_output, strict=True):
            rows += [row(j, output, own[j], False) for j in found.order]
    return rows
