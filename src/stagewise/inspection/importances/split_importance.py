"""Feature importance from the splits of the trees, without data.

Each split adds an amount (its gain, 1, or its cover) to the importance of its feature; the kinds of
importance differ in this amount and in how the sums are scaled. `Importance` is the result class of
all kinds, permutation importance included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from stagewise.display import MOST_ROWS, Summary, Tabled
from stagewise.inspection.fitted_model import FittedModel, Vector, check_argument
from stagewise.inspection.plots import plot_bars
from stagewise.model.model import Model
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.foreign_calls import suggests_attributes
from stagewise.validation.messages import warn_caller
from stagewise.validation.rules import Number

__all__ = ["KINDS", "Importance", "split_importance"]


@suggests_attributes
@dataclass(frozen=True, eq=False, repr=False)
class Importance(Tabled):
    """The importance of each feature, or group of features.

    Attributes
    ----------
    kind : str
        The kind of importance.
    unit : str
        The unit of the values.
    features : tuple of str
        Names of features or groups, in the order of the table.
    value : float64 array of shape (n_features,)
        Their importance.
    outputs : tuple of str
        The classes or targets of `by_output`; empty if there is none.
    by_output : float64 array of shape (n_outputs, n_features)
        The importances of each output.
    error, low, high : float64 arrays of shape (n_features,), or None
        Standard errors and confidence limits; None if the kind is not estimated from rows.
    raw, raw_by_output : float64 arrays like `value` and `by_output`, or None
        Of importances from splits: before they are scaled. `raw` is the sum of the amounts of
        all splits, divided by the number of trees, so it is the mean of `raw_by_output` over the
        outputs. Gains are in the units of the loss.
    """

    kind: str
    unit: str
    features: tuple[str, ...]
    value: Vector
    outputs: tuple[str, ...] = ()
    by_output: Vector | None = None
    error: Vector | None = None
    low: Vector | None = None
    high: Vector | None = None
    raw: Vector | None = None
    raw_by_output: Vector | None = None

    @property
    def order(self) -> list[int]:
        """The indices of the features, the most important first."""
        return [int(j) for j in np.argsort(-self.value, kind="stable")]

    def __len__(self) -> int:
        return len(self.features)

    def _summary(self) -> Summary:
        title = f"Importance by {self.kind} ({self.unit})"
        n = len(self.features)
        rows = self.table(MOST_ROWS) if n else []
        return Summary(title, rows=rows, n_rows=n, bars="importance")

    def table(self, top: int | None = None) -> list[dict[str, Any]]:
        """Return one row per feature, the most important first.

        Parameters
        ----------
        top : int or None
            The maximum number of rows; None: all.
        """
        rows = []
        for j in self.order[: check_argument("top", Number(1, whole=True, or_none=True), top)]:
            row: dict[str, Any] = {"feature": self.features[j], "importance": float(self.value[j])}
            for name in ("error", "low", "high"):
                column = getattr(self, name)
                if column is not None:
                    row[name] = float(column[j])
            if self.by_output is not None:
                row |= {
                    o: float(v) for o, v in zip(self.outputs, self.by_output[:, j], strict=True)
                }
            rows.append(row)
        return rows

    @suggests_arguments
    def plot(self, ax: Any = None, *, top: int = 20) -> Any:
        """Plot bars, the largest on top, with confidence limits if there are any.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int
            The maximum number of features.

        Returns
        -------
        matplotlib axes
        """
        chosen = self.order[: check_argument("top", Number(1, whole=True), top)]
        limits = None
        if self.low is not None and self.high is not None:
            limits = np.stack([self.low[chosen], self.high[chosen]])
        names = [self.features[j] for j in chosen]
        return plot_bars(names, self.value[chosen], limits, f"{self.kind} ({self.unit})", ax)


@dataclass(frozen=True)
class _Kind:
    """The amount that a split adds, the scaling of the sums, and whether amounts are gains."""

    amount: Callable[[Mapping[str, Any]], Vector]
    scale: Callable[[Vector], Vector]
    unit: str
    of_gains: bool = False


def _relative(total: Vector) -> Vector:
    # Sums and means over trees are the same after scaling the largest to 100.
    root = np.sqrt(total)
    largest = root.max(initial=0.0)
    return np.asarray(100.0 * root / largest if largest > 0 else root)


def _share(total: Vector) -> Vector:
    whole = total.sum()
    return np.asarray(total / whole if whole > 0 else total)


KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "squared_improvement": _Kind(lambda s: s["gain"], _relative, "largest = 100", True),
        "gain": _Kind(lambda s: s["gain"], _share, "share of the total gain", True),
        "splits": _Kind(lambda s: np.ones(len(s["gain"])), lambda t: t, "number of splits"),
        "cover": _Kind(lambda s: s["cover"], _share, "share of the total cover"),
    }
)


def split_importance(estimator: Any, kind: str) -> Importance:
    """Return the importance of each feature from the splits, for one of `KINDS`.

    The linear models of leaves do not count; use `shap_values` or `permutation_importance`.

    Returns
    -------
    Importance
        For several classes or targets also `by_output`. In a tree with vector leaves, a split is
        divided among the outputs in proportion to w_L w_R / (w_L + w_R) · (v_L - v_R)² (Friedman
        2001, eq. 35), w being covers and v values. The importance of a target-encoded column is
        divided equally among its source features.
    """
    fitted = FittedModel.of(estimator, "importance", of_trees=True, of_targets=True)
    rule, learned = KINDS[kind], fitted.model
    if not any((tree.feature >= 0).any() for tree in learned.ensemble.trees):
        warn_caller(
            "The model has no splits. Use permutation_importance for its linear terms."
            if fitted.has_linear_leaves
            else "The model has no splits, so all importances are 0."
        )
    totals = _totals(learned, rule)
    several = learned.ensemble.n_outputs > 1
    value = rule.scale(totals.sum(axis=0))
    by_output = np.stack([rule.scale(t) for t in totals]) if several else None
    outputs = fitted.outputs("score") if several else ()
    raw = totals * (learned.gain_unit if rule.of_gains else 1.0) / max(1, learned.ensemble.n_rounds)
    return Importance(
        kind,
        rule.unit,
        fitted.names,
        value,
        outputs,
        by_output,
        raw=raw.mean(axis=0),
        raw_by_output=raw if several else None,
    )


def _totals(model: Model, rule: _Kind) -> Vector:
    """Return the sums over all splits, shape (n_outputs, n_features)."""
    ensemble, sources = model.ensemble, model.features.sources
    flat = ensemble.flat()
    inner = np.flatnonzero(flat["feature"] >= 0)
    start = flat["tree_start"].astype(np.int64)
    root = np.repeat(start[:-1], np.diff(start))
    tree = np.repeat(np.arange(len(start) - 1), np.diff(start))[inner]
    left, right = ((root + flat[side])[inner] for side in ("left", "right"))
    splits = {name: flat[name][inner] for name in ("gain", "cover")}
    amount = rule.amount(splits)
    if ensemble.outputs_per_tree == 1:
        shares = np.zeros((ensemble.n_outputs, len(inner)))
        shares[tree % ensemble.n_outputs, np.arange(len(inner))] = amount
    else:
        shares = amount * _shares_of_outputs(flat, left, right)
    by_column = np.zeros((ensemble.n_outputs, len(sources)))
    for k, own in enumerate(shares):
        by_column[k] = np.bincount(flat["feature"][inner], weights=own, minlength=len(sources))
    total = np.zeros((ensemble.n_outputs, model.features.n))
    for column, places in enumerate(sources):
        total[:, list(places)] += by_column[:, [column]] / len(places)
    return total


def _shares_of_outputs(flat: Mapping[str, Any], left: Any, right: Any) -> Vector:
    """Return the share of each output in each split of a tree with vector leaves."""
    cover, value = flat["cover"], flat["value"]
    both = np.maximum(cover[left] + cover[right], np.finfo(np.float64).tiny)
    weight = cover[left] * cover[right] / both
    moved = weight[:, np.newaxis] * (value[left] - value[right]) ** 2
    whole = moved.sum(axis=1, keepdims=True)
    equal = np.full_like(moved, 1.0 / moved.shape[1])
    # A split can have a gain although both children predict the same; then the shares are equal.
    return np.asarray(np.divide(moved, whole, out=equal, where=whole > 0).T)
