"""Friedman's H statistic: the strength of interactions.

If features do not interact, their joint partial dependence is the sum of those of fewer features. H
is the root mean square difference from that sum, relative to the size of the partial dependence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from stagewise.display import Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.inspection.dependence.partial_dependence import brute_score, recursion_score
from stagewise.inspection.dependence.traversal import Traversal
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import FittedModel, Vector, check_argument
from stagewise.inspection.importances.split_importance import split_importance
from stagewise.inspection.plots import plot_bars
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number, OneOf

__all__ = ["Interactions", "interactions"]

MAX_FEATURES = 8
"""The number of features by default: the most important ones."""
METHODS = OneOf(("recursion", "brute"))


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Tabled):
    """Friedman's H of features, pairs or triples of features.

    Attributes
    ----------
    order : {1, 2, 3}
        The number of features in a set; 1: one feature with all others.
    features : tuple of tuple of str
        The sets of features.
    outputs : tuple of str
        The classes or targets.
    h : float64 array of shape (n_sets, n_outputs)
        H, at least 0 (no interaction); 1 if the partial dependence is interaction only.
    strength : float64 array of shape (n_sets, n_outputs)
        The root mean square of the interaction, in units of the score. A pair with a small effect
        can have a large H; its strength is small.
    """

    order: int
    features: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...]
    h: Vector
    strength: Vector

    def _summary(self) -> Summary:
        table = self.table()
        if len(self.outputs) == 1:
            table = [{k: v for k, v in row.items() if k != "output"} for row in table]
        return Summary(f"Interactions of order {self.order}, Friedman's H", rows=table, bars="h")

    def table(self) -> list[dict[str, Any]]:
        """Return one row per set of features and output, the largest H first."""
        rows = [
            {
                "features": " × ".join(names),
                "output": output,
                "h": float(self.h[i, k]),
                "strength": float(self.strength[i, k]),
            }
            for i, names in enumerate(self.features)
            for k, output in enumerate(self.outputs)
        ]
        return sorted(rows, key=lambda row: -row["h"])

    def plot(self, ax: Any = None, *, top: int = 20) -> Any:
        """Plot H as bars, the largest on top; for several outputs the maximum.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int
            The maximum number of sets.

        Returns
        -------
        matplotlib axes
        """
        largest = self.h.max(axis=1)
        chosen = np.argsort(-largest, kind="stable")[
            : check_argument("top", Number(1, whole=True), top)
        ]
        names = [" × ".join(self.features[i]) for i in chosen.tolist()]
        return plot_bars(names, largest[chosen], None, "Friedman's H", ax)


@suggests_arguments
def interactions(
    estimator: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    order: int = 2,
    method: str = "recursion",
    max_samples: int | None = 500,
    random_state: int = 0,
) -> Interactions:
    """Return Friedman's H statistics (Friedman & Popescu 2008, section 8.1).

    With F_S the centred partial dependence of the features S at row i,

        order 2:  H²_jk  = Σ_i [F_jk - F_j - F_k]² / Σ_i F_jk²
        order 3:  H²_jkl = Σ_i [F_jkl - F_jk - F_jl - F_kl + F_j + F_k + F_l]² / Σ_i F_jkl²
        order 1:  H²_j   = Σ_i [F - F_j - F_(all but j)]² / Σ_i F²       j with any others

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix
        The rows at which H is computed; method="brute" also averages over them. Sampled rows of a
        sparse matrix become dense.
    features : features or None
        The features to combine; None: the 8 with the largest gain.
    sample_weight : array-like or None
        Sample weights.
    order : {1, 2, 3}, default=2
        One feature with all others, pairs, or triples.
    method : {"recursion", "brute"}, default="recursion"
        The method of `partial_dependence`; scores are averaged.
    max_samples : int or None, default=500
        The number of rows to sample if X has more; None: all rows.
    random_state : int, default=0
        The seed of the sampling.

    Returns
    -------
    Interactions
    """
    fitted = FittedModel.of(estimator, "interactions", offsets=True)  # scores are centred
    size = check_argument("order", Number(1, 3, whole=True), order)
    how = check_argument("method", METHODS, method)
    if how == "recursion" and fitted.has_linear_leaves:
        raise InvalidParameterError(
            "method='recursion' needs constant leaves, and this model has linear leaves. Use "
            "method='brute'."
        )
    if features is None:
        often = split_importance(estimator, "gain").order[:MAX_FEATURES]
        places = tuple(sorted(j for j in often if j in fitted.used))
    else:
        places = fitted.positions(features)
        fitted.warn_unused(places, "H is 0 there")
    if len(places) < size:
        raise InvalidParameterError(
            f"order={size} needs at least {size} features that the model uses; got {len(places)}. "
            "Pass more features, or a smaller order."
        )
    given = fitted.rows(X, least=2)
    weight = fitted.weight(sample_weight, given.n)
    most = check_argument("max_samples", Number(2, whole=True, or_none=True), max_samples)
    rows = sample_rows(
        weight, most, check_argument("random_state", Number(0, whole=True), random_state)
    )
    parts = _Parts(fitted, given.columns(rows), weight[rows], how)
    sets = list(combinations(places, size))
    found = [parts.h(chosen) for chosen in sets]
    return Interactions(
        size,
        tuple(tuple(fitted.names[j] for j in chosen) for chosen in sets),
        fitted.outputs("score"),
        np.array([h for h, _ in found]),
        np.array([strength for _, strength in found]),
    )


class _Parts:
    """The centred partial dependences of sets of features at the rows, each computed once."""

    def __init__(
        self, fitted: FittedModel, columns: Sequence[Vector], weight: Vector, method: str
    ) -> None:
        self._fitted, self._columns, self._weight = fitted, columns, weight
        self._method = method
        self._known: dict[tuple[int, ...], Vector] = {}

    @cached_property
    def _traversal(self) -> Traversal:
        return Traversal(self._fitted.model.ensemble)

    def of(self, places: tuple[int, ...]) -> Vector:
        """Return F_S, shape (n_rows, n_outputs)."""
        if not places:
            return np.zeros((len(self._weight), len(self._fitted.outputs("score"))))
        if places not in self._known:
            self._known[places] = self._centred(self._compute(places))
        return self._known[places]

    def _compute(self, places: tuple[int, ...]) -> Vector:
        fitted, known = self._fitted, {j: self._columns[j] for j in places}
        if len(places) == len(self._columns):
            return fitted.respond(fitted.score(self._columns), "score")
        if self._method == "recursion":
            return fitted.respond(recursion_score(fitted, known, self._traversal), "score")
        return brute_score(fitted, self._columns, self._weight, known, "score")[0]

    def _centred(self, values: Vector) -> Vector:
        return np.asarray(values - np.average(values, axis=0, weights=self._weight))

    def h(self, places: tuple[int, ...]) -> tuple[Vector, Vector]:
        """Return H of a set of features for each output, and the strength of the interaction."""
        if len(places) == 1:
            others = tuple(j for j in range(len(self._columns)) if j not in places)
            whole = self.of(tuple(range(len(self._columns))))
            left = whole - self.of(places) - self.of(others)
        else:
            whole = self.of(places)
            left = np.zeros_like(whole)
            for size in range(1, len(places) + 1):
                sign = (-1) ** (len(places) - size)
                left = left + sign * sum(self.of(part) for part in combinations(places, size))
        over = np.average(left**2, axis=0, weights=self._weight)
        under = np.average(whole**2, axis=0, weights=self._weight)
        # A constant has no interaction; rounding errors must not give one.
        some = under > 1e-24 * max(1.0, float(np.abs(whole).max()) ** 2)
        return np.sqrt(np.divide(over, under, out=np.zeros_like(over), where=some)), np.sqrt(over)
