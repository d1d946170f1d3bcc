"""How much of what a model says is due to features acting together.

The one idea: if features do not interact, the partial dependence of several is the sum of those of
fewer; how far it is from that, relative to its own size, is Friedman's H. Must not know trees: it
asks for partial dependences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from stagewise.errors import InvalidParameterError
from stagewise.inspection.dependence.partial_dependence import brute_score, traversed_score
from stagewise.inspection.dependence.traversal import Traversal
from stagewise.inspection.encoded_rows import drawn_rows
from stagewise.inspection.fitted_model import Fitted, Vector, checked
from stagewise.inspection.importances.split_importance import split_importance
from stagewise.inspection.plots import plot_bars
from stagewise.validation.rules import Number, OneOf

__all__ = ["Interactions", "interactions"]

MOST = 8
"""How many features are looked at where none are named: the most important."""
METHODS = OneOf(("traversal", "brute"))


@dataclass(frozen=True, eq=False)
class Interactions:
    """Friedman's H of features, pairs or triples.

    Attributes
    ----------
    order : {1, 2, 3}
        How many features: one with all others, two, three.
    features : tuple of tuple of str
        Which.
    outputs : tuple of str
        The classes or targets.
    h : float64 array of shape (n_sets, n_outputs)
        H, from 0 (no interaction) upwards; 1 where nothing but interaction is left.
    strength : float64 array of shape (n_sets, n_outputs)
        The root mean square of the interaction itself, in units of the score. A pair that does
        little at all can have a large H; here it is small.
    """

    order: int
    features: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...]
    h: Vector
    strength: Vector

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each set of features and output, the largest H first."""
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
        """Draw bars of H, the largest on top; of several outputs the largest one's.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure.
        top : int
            At most this many sets.

        Returns
        -------
        matplotlib axes
        """
        largest = self.h.max(axis=1)
        chosen = np.argsort(-largest, kind="stable")[: checked("top", Number(1, whole=True), top)]
        names = [" × ".join(self.features[i]) for i in chosen.tolist()]
        return plot_bars(names, largest[chosen], None, "Friedman's H", ax)


def interactions(
    model: Any,
    X: Any,
    features: Any = None,
    *,
    sample_weight: Any = None,
    order: int = 2,
    method: str = "traversal",
    max_rows: int | None = 500,
    random_state: int = 0,
) -> Interactions:
    """Return Friedman's H statistics (Friedman & Popescu 2008, section 8.1).

    With F_S the partial dependence of the features S, centred, at the rows i,

        order 2:  H²_jk  = Σ_i [F_jk - F_j - F_k]² / Σ_i F_jk²
        order 3:  H²_jkl = Σ_i [F_jkl - F_jk - F_jl - F_kl + F_j + F_k + F_l]² / Σ_i F_jkl²
        order 1:  H²_j   = Σ_i [F - F_j - F_(all but j)]² / Σ_i F²       j with any others

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix
        Rows to look at, and with method="brute" to average over. Of sparse rows those that are
        drawn become dense.
    features : features or None
        Which to combine, numbers and categories; None: the 8 that gain most.
    sample_weight : array-like or None
        How much each row counts.
    order : {1, 2, 3}, default=2
        One feature with all others, pairs, or triples.
    method : {"traversal", "brute"}, default="traversal"
        How partial dependences are found; see `partial_dependence`. They are of scores.
    max_rows : int or None, default=500
        How many rows are drawn if X has more; None: all are taken.
    random_state : int, default=0
        The seed of the draw.

    Returns
    -------
    Interactions
    """
    fitted = Fitted.of(model, "interactions")
    size = checked("order", Number(1, 3, whole=True), order)
    how = checked("method", METHODS, method)
    if how == "traversal" and fitted.has_lines:
        raise InvalidParameterError(
            "method='traversal' needs leaves that are constants, and this model's say lines. Use "
            "method='brute'."
        )
    if features is None:
        often = split_importance(model, "gain").order[:MOST]
        places = tuple(sorted(j for j in often if j in fitted.used))
    else:
        places = fitted.positions(features)
        fitted.warn_unused(places, "H is 0 there")
    if len(places) < size:
        raise InvalidParameterError(
            f"order={size} needs at least {size} features that the model uses; there are "
            f"{len(places)}. Name more, or lower order."
        )
    given = fitted.rows(X, least=2)
    weight = fitted.weight(sample_weight, given.n)
    most = checked("max_rows", Number(2, whole=True, or_none=True), max_rows)
    rows = drawn_rows(weight, most, checked("random_state", Number(0, whole=True), random_state))
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
    """The centred partial dependences of sets of features at some rows, each made once."""

    def __init__(
        self, fitted: Fitted, columns: Sequence[Vector], weight: Vector, method: str
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
            self._known[places] = self._centred(self._made(places))
        return self._known[places]

    def _made(self, places: tuple[int, ...]) -> Vector:
        fitted, known = self._fitted, {j: self._columns[j] for j in places}
        if len(places) == len(self._columns):
            return fitted.respond(fitted.score(self._columns), "score")
        if self._method == "traversal":
            return fitted.respond(traversed_score(fitted, known, self._traversal), "score")
        return brute_score(fitted, self._columns, self._weight, known, "score")[0]

    def _centred(self, values: Vector) -> Vector:
        return np.asarray(values - np.average(values, axis=0, weights=self._weight))

    def h(self, places: tuple[int, ...]) -> tuple[Vector, Vector]:
        """Return H of a set of features for each output, and the size of the interaction."""
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
        # What rounding leaves of a constant is no interaction.
        some = under > 1e-24 * max(1.0, float(np.abs(whole).max()) ** 2)
        return np.sqrt(np.divide(over, under, out=np.zeros_like(over), where=some)), np.sqrt(over)
