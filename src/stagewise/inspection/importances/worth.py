"""What features are worth to a model: one door to all kinds of importance.

The one idea: a kind says what it has to be told, and everything else is refused; whatever it is
measured with, what comes out is one `Importance`, and several of these are one tidy table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import ndtri

from stagewise.errors import InvalidParameterError
from stagewise.estimators.forest_base import BaseForest
from stagewise.inspection.fitted import Fitted, Vector
from stagewise.inspection.importances.importance import KINDS, Importance, split_importance
from stagewise.inspection.importances.permutation import permutation_importance
from stagewise.inspection.shapley.values import ShapValues, shap_values
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["credit_importance", "importance", "importance_table"]

LEVEL = 0.95


def importance(
    model: Any,
    kind: str = "squared_improvement",
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
) -> Importance:
    """Return what each feature is worth to a model.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    kind : str
        What is read off the splits of the trees:

        - "squared_improvement": I_j = √( (1/M) Σ_m Σ_{splits of T_m on j} i² ), the largest being
          100 (Friedman 2001, eqs. 44 and 45). i² is what a split gained: for trees of gradients,
          the improvement of the squared error of -g/h with weights h (half of it), less what the
          penalties take. For K classes or targets there is an I_jk of the trees of each, and I_j²
          is their mean square (Hastie, Tibshirani & Friedman 2009, eqs. 10.45 and 10.46).
        - "gain": the share of the gain of all splits, as `feature_importances_`.
        - "splits": how many splits ask about a feature.
        - "cover": the share of the weight of training rows that pass through its splits.

        What is measured on rows, and has a standard error and 95 % limits:

        - "shap": the mean over the rows of X of the absolute Shapley value; of several outputs the
          mean over these (Lundberg et al. 2020).
        - "permutation": by how much the loss of rows X with answers y grows if the cells of a
          column change places; see `permutation_importance`, which has more options. Pass rows
          that the model has not seen.
        - "permutation_oob": the same of a forest, tree by tree, on the rows outside its bag
          (Breiman 2001, section 10). Pass the rows that it was fitted on.
    X, y, sample_weight : array-like or data frame, or None
        The rows of the kinds that are measured on rows; "shap" needs no y. Others refuse them.

    Returns
    -------
    Importance
        For several classes or targets also `by_output`, unless by "permutation".

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
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    _refuse_unused(given, [kind])
    return _measured(model, kind, rule, given)


def importance_table(
    model: Any,
    kinds: Sequence[str] = ("squared_improvement", "gain", "splits", "cover"),
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
) -> list[dict[str, Any]]:
    """Return several kinds of importance as one tidy table.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    kinds : sequence of str
        Kinds of `importance`, each once. "permutation" and "permutation_oob" do not go together,
        since the first is about held-out rows and the second about training rows.
    X, y, sample_weight : array-like or data frame, or None
        The rows of the kinds that are measured on rows; refused if there is none among them.

    Returns
    -------
    list of dict
        With the keys kind, feature, output, importance, error, low and high: a row for each kind
        and feature (output None), the most important first, and where there are several classes or
        targets a row for each of them too. What a kind does not have is None. pandas and polars
        make a frame of it.

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
            "kinds: 'permutation' is about held-out rows and 'permutation_oob' about training "
            "rows. Ask for one after the other, each with its own X and y."
        )
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    _refuse_unused(given, kinds)
    rows: list[dict[str, Any]] = []
    for kind, rule in zip(kinds, rules, strict=True):
        rows += _tidy(_measured(model, kind, rule, given))
    return rows


# ---- kinds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """What a kind has to be told, what it can be told, and how it is measured."""

    needs: tuple[str, ...]
    uses: tuple[str, ...]
    measure: Callable[..., Importance]
    remedy: str = ""


def _by_splits(kind: str) -> Callable[..., Importance]:
    return lambda model: split_importance(model, kind)


def _by_shap(model: Any, *, X: Any, sample_weight: Any) -> Importance:
    why = shap_values(model, X)
    n = len(why.values)
    if n == 0:
        raise ValueError("X has no rows. Pass some to average over.")
    return credit_importance(why, Fitted.of(model, "importance").weight(sample_weight, n))


def credit_importance(why: ShapValues, weight: Vector) -> Importance:
    """Return the weighted mean over rows of absolute Shapley values, with its standard error."""
    size = np.abs(why.values).reshape(len(why.values), len(why.feature_names), -1)
    weight = weight / weight.max()  # only ratios matter, and squares of weights must be numbers
    own = size.mean(axis=2)  # of each row, over the outputs
    value = np.average(own, axis=0, weights=weight)
    spread = np.average((own - value) ** 2, axis=0, weights=weight)
    count = weight.sum() ** 2 / (weight**2).sum()
    error = np.sqrt(spread / max(count - 1, 1))
    several = why.output_names is not None
    by_output = np.average(size, axis=0, weights=weight).T if several else None
    unit = "mean absolute Shapley value"
    low, high = _limits(value, error)
    outputs = why.output_names or ()
    return Importance("shap", unit, why.feature_names, value, outputs, by_output, error, low, high)


def _by_bags(model: Any, *, X: Any, y: Any, sample_weight: Any) -> Importance:
    fitted = Fitted.of(model, "importance")
    if not isinstance(model, BaseForest):
        raise TypeError(
            f"kind='permutation_oob' is about rows outside the bags of a forest, and "
            f"{type(model).__name__} is none. Use kind='permutation' with held-out rows."
        )
    found = model.oob_importances(X, y, sample_weight)
    low, high = _limits(found.mean, found.error)
    unit = f"growth of the {'squared error' if found.by_class is None else 'share of errors'}"
    outputs = () if found.by_class is None else fitted.outputs("mean")
    return Importance(
        "permutation_oob",
        f"{unit} outside the bags",
        fitted.names,
        found.mean,
        outputs,
        found.by_class,
        found.error,
        low,
        high,
    )


def _limits(value: Vector, error: Vector) -> tuple[Vector, Vector]:
    reach = ndtri((1 + LEVEL) / 2) * error
    return value - reach, value + reach


ROWS = ("X", "y", "sample_weight")
RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        **{kind: _Rule((), (), _by_splits(kind)) for kind in KINDS},
        "shap": _Rule(("X",), ("X", "sample_weight"), _by_shap, "rows such as X_test"),
        "permutation": _Rule(
            ("X", "y"), ROWS, permutation_importance, "rows that were held out, and their answers"
        ),
        "permutation_oob": _Rule(
            ("X", "y"), ROWS, _by_bags, "the rows that the forest was fitted on, and their answers"
        ),
    }
)


def _rule(kind: Any) -> _Rule:
    if not isinstance(kind, str) or kind not in RULES:
        raise InvalidParameterError(
            f"kind must be one of {', '.join(map(repr, RULES))}; got {short_repr(kind)}."
            f"{nearest_name(str(kind), RULES)}"
        )
    return RULES[kind]


def _refuse_unused(given: Mapping[str, Any], kinds: Sequence[str]) -> None:
    used = {name for kind in kinds for name in RULES[kind].uses}
    for name, value in given.items():
        if value is not None and name not in used:
            asked = " and ".join(map(repr, kinds))
            raise InvalidParameterError(
                f"{name} was passed, and {asked} {'makes' if len(kinds) == 1 else 'make'} no use "
                f"of it. Leave {name} out."
            )


def _measured(model: Any, kind: str, rule: _Rule, given: Mapping[str, Any]) -> Importance:
    for name in rule.needs:
        if given[name] is None:
            raise InvalidParameterError(f"kind={kind!r} needs {name}: pass {rule.remedy}.")
    return rule.measure(model, **{name: given[name] for name in rule.uses})


def _tidy(found: Importance) -> list[dict[str, Any]]:
    """Return a row for each feature, then one for each output and feature."""

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
