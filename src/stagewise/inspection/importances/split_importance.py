"""What features are worth to a model, read off the splits of its trees.

The one idea: a split is worth something, and that belongs to the feature it asks about; kinds of
importance differ in what a split is worth and in how sums are scaled. One result, `Importance`, is
what all kinds, permutation included, are told in. Must not look at data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from stagewise.inspection.fitted_model import Fitted, Vector, checked
from stagewise.inspection.plots import plot_bars
from stagewise.model.model import Model
from stagewise.validation.messages import warn_caller
from stagewise.validation.rules import Number

__all__ = ["KINDS", "Importance", "split_importance"]


@dataclass(frozen=True, eq=False)
class Importance:
    """What each feature, or group of features, is worth.

    Attributes
    ----------
    kind : str
        How it was measured.
    unit : str
        What the numbers are.
    features : tuple of str
        Names of features or groups, in the order of the table.
    value : float64 array of shape (n_features,)
        Their importance.
    outputs : tuple of str
        The classes or targets that `by_output` is about; empty without.
    by_output : float64 array of shape (n_outputs, n_features)
        The importance for each of them.
    error, low, high : float64 arrays of shape (n_features,), or None
        Standard errors and confidence limits, of kinds that are estimates.
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

    @property
    def order(self) -> list[int]:
        """The places of the features, the most important first."""
        return [int(j) for j in np.argsort(-self.value, kind="stable")]

    def table(self, top: int | None = None) -> list[dict[str, Any]]:
        """Return a row for each feature, the most important first.

        Parameters
        ----------
        top : int or None
            At most this many; None: all.
        """
        rows = []
        for j in self.order[: checked("top", Number(1, whole=True, or_none=True), top)]:
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

    def plot(self, ax: Any = None, *, top: int = 20) -> Any:
        """Draw bars, the longest on top, with confidence limits where there are any.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int
            At most this many features.

        Returns
        -------
        matplotlib axes
        """
        chosen = self.order[: checked("top", Number(1, whole=True), top)]
        limits = None
        if self.low is not None and self.high is not None:
            limits = np.stack([self.low[chosen], self.high[chosen]])
        names = [self.features[j] for j in chosen]
        return plot_bars(names, self.value[chosen], limits, f"{self.kind} ({self.unit})", ax)

    def __str__(self) -> str:
        lines = [f"Importance by {self.kind} ({self.unit})"]
        width = max(map(len, self.features))
        lines += [f"  {row['feature']:<{width}}  {row['importance']:.6g}" for row in self.table(20)]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Kind:
    """What a split is worth, and how the sums of the features are told."""

    worth: Callable[[Mapping[str, Any]], Vector]
    scaled: Callable[[Vector], Vector]
    unit: str


def _relative(total: Vector) -> Vector:
    # Whether these are sums over trees or means is gone once the largest is 100.
    root = np.sqrt(total)
    largest = root.max(initial=0.0)
    return np.asarray(100.0 * root / largest if largest > 0 else root)


def _share(total: Vector) -> Vector:
    everything = total.sum()
    return np.asarray(total / everything if everything > 0 else total)


KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "squared_improvement": _Kind(lambda s: s["gain"], _relative, "largest = 100"),
        "gain": _Kind(lambda s: s["gain"], _share, "share of the gain of all splits"),
        "splits": _Kind(lambda s: np.ones(len(s["gain"])), lambda t: t, "number of splits"),
        "cover": _Kind(lambda s: s["cover"], _share, "share of the weight that splits part"),
    }
)


def split_importance(model: Any, kind: str) -> Importance:
    """Return what each feature is worth to the splits of a model, by one of `KINDS`.

        What linear leaves add to their constants is not in any of them; see `shap_values` and
        `permutation_importance`.

    Returns
    -------
    Importance
        For several classes or targets also `by_output`. A tree with vector leaves tells what its
        splits are worth to each output by w_L w_R / (w_L + w_R) · (v_L - v_R)² (Friedman 2001, eq.
        35), w being covers and v values. What a statistic of levels is worth belongs to its
        features in equal parts.
    """
    fitted = Fitted.of(model, "importance")
    rule, learned = KINDS[kind], fitted.model
    if not any((tree.feature >= 0).any() for tree in learned.ensemble.trees):
        warn_caller(
            "The model has no splits; what its lines are worth is told by permutation_importance."
            if fitted.has_lines
            else "The model has no splits, so no feature is worth anything to it."
        )
    totals = _totals(learned, rule)
    several = learned.ensemble.n_outputs > 1
    value = rule.scaled(totals.sum(axis=0))
    by_output = np.stack([rule.scaled(t) for t in totals]) if several else None
    outputs = fitted.outputs("score") if several else ()
    return Importance(kind, rule.unit, fitted.names, value, outputs, by_output)


def _totals(model: Model, rule: _Kind) -> Vector:
    """Return what all splits are worth, shape (n_outputs, n_features)."""
    ensemble, sources = model.ensemble, model.features.sources
    flat = ensemble.flat()
    inner = np.flatnonzero(flat["feature"] >= 0)
    start = flat["tree_start"].astype(np.int64)
    root = np.repeat(start[:-1], np.diff(start))
    tree = np.repeat(np.arange(len(start) - 1), np.diff(start))[inner]
    left, right = ((root + flat[side])[inner] for side in ("left", "right"))
    splits = {name: flat[name][inner] for name in ("gain", "cover")}
    worth = rule.worth(splits)
    if ensemble.outputs_per_tree == 1:
        shares = np.zeros((ensemble.n_outputs, len(inner)))
        shares[tree % ensemble.n_outputs, np.arange(len(inner))] = worth
    else:
        shares = worth * _shares_of_outputs(flat, left, right)
    asked = np.zeros((ensemble.n_outputs, len(sources)))
    for k, own in enumerate(shares):
        asked[k] = np.bincount(flat["feature"][inner], weights=own, minlength=len(sources))
    total = np.zeros((ensemble.n_outputs, model.features.n))
    for column, places in enumerate(sources):
        total[:, list(places)] += asked[:, [column]] / len(places)
    return total


def _shares_of_outputs(flat: Mapping[str, Any], left: Any, right: Any) -> Vector:
    """Return how much of the worth of each split of a vector tree is each output's."""
    cover, value = flat["cover"], flat["value"]
    both = np.maximum(cover[left] + cover[right], np.finfo(np.float64).tiny)
    weight = cover[left] * cover[right] / both
    moved = weight[:, np.newaxis] * (value[left] - value[right]) ** 2
    whole = moved.sum(axis=1, keepdims=True)
    equal = np.full_like(moved, 1.0 / moved.shape[1])
    # A split of classes can gain while both sides say the same; it is then nobody's in particular.
    return np.asarray(np.divide(moved, whole, out=equal, where=whole > 0).T)
