"""Partial dependence: what a model says of a feature or two, the others averaged out.

The one idea: there are two averages. Over rows, each asked about every point of a grid, which any
model can do and which also gives the curves of single rows; and over the training rows as the
trees remember them, which needs no data. Both end in one result, `Dependence`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from stagewise._native import Columns
from stagewise.errors import InvalidParameterError
from stagewise.inspection.effects.grid import Grid, make_grids
from stagewise.inspection.effects.plots import (
    name_moments,
    plot_curves,
    plot_levels,
    plot_relief,
    plot_surface,
)
from stagewise.inspection.effects.traversal import Traversal
from stagewise.inspection.fitted import Fitted, Response, Vector, checked
from stagewise.inspection.rows import drawn_rows
from stagewise.validation.rules import Number, OneOf

__all__ = [
    "Dependence",
    "brute_score",
    "over_rows",
    "partial_dependence",
    "traversed_score",
]

METHODS = OneOf(("auto", "brute", "traversal"))
RESPONSES = OneOf(("score", "mean"))
PICTURES = OneOf((None, "contour", "surface"))
ROWS_AT_ONCE = 2**14
"""How many rows, at one point or several, a model is asked about together."""
CELLS_AT_ONCE = 2**22
"""How many of their cells: of wide tables fewer rows are asked about."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """What a model says of one feature, or of two.

    Attributes
    ----------
    grids : tuple of Grid
        The points of each feature.
    outputs : tuple of str
        The classes or targets.
    response : {"score", "mean"}
        What is averaged.
    method : {"brute", "traversal"}
        Over what.
    mean : float64 array of shape (n_points, n_outputs) or (n_points, n_points, n_outputs)
        The partial dependence.
    individual : float64 array of shape (n_rows, n_points, n_outputs), or None
        The curves of single rows (ICE).
    """

    grids: tuple[Grid, ...]
    outputs: tuple[str, ...]
    response: Response
    method: str
    mean: Vector
    individual: Vector | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(grid.name for grid in self.grids)

    def centred(self, at: int = 0) -> Dependence:
        """Return the same less what is said at one point of the grid, for every curve its own.

        Curves of single rows that then fan out tell of interactions (Goldstein et al. 2015).
        """
        if len(self.grids) > 1:
            raise InvalidParameterError("centred() is about curves of one feature.")
        n = len(self.mean)
        at = checked("at", Number(0, n - 1, whole=True), at)
        curves = self.individual
        moved = None if curves is None else curves - curves[:, [at]]
        return replace(self, mean=self.mean - self.mean[at], individual=moved)

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each point and output."""
        rows = []
        written = {grid.name: grid.written for grid in self.grids}
        for place in product(*(range(len(grid.codes)) for grid in self.grids)):
            point = {name: told[i] for (name, told), i in zip(written.items(), place, strict=True)}
            for k, output in enumerate(self.outputs):
                value = float(self.mean[(*place, k)])
                rows.append({**point, "output": output, "dependence": value})
        return rows

    def plot(self, ax: Any = None, *, output: str | None = None, kind: str | None = None) -> Any:
        """Draw a curve or dots for each output; of two features one output.

        Parameters
        ----------
        ax : matplotlib axes, or None
            Where to draw; None: on a new figure. A surface needs axes in three dimensions.
        output : str or None
            One of `outputs`. None: all of them; of two features, and with the curves of rows, the
            last one.
        kind : {None, "contour", "surface"}
            Of two numbers: contours (None as well), or a surface in three dimensions. Where one is
            a category it is a map.

        Returns
        -------
        matplotlib axes
        """
        if output is not None and output not in self.outputs:
            raise InvalidParameterError(
                f"output must be one of {', '.join(map(repr, self.outputs))}; got {output!r}."
            )
        how = checked("kind", PICTURES, kind)
        if how is not None and [grid.kind for grid in self.grids] != ["number", "number"]:
            raise InvalidParameterError(
                f"kind={how!r} is a picture of two numbers, and this is about "
                f"{' and '.join(f'{g.name!r} (a {g.kind})' for g in self.grids)}. Leave kind out."
            )
        one = len(self.outputs) - 1 if output is None else self.outputs.index(output)
        first, what = self.grids[0], f"partial dependence ({self.response})"
        if len(self.grids) == 2:
            second = self.grids[1]
            whose = f": {self.outputs[one]}" if len(self.outputs) > 1 else ""
            labels = (first.name, second.name, f"{what}{whose}")
            if how == "surface":
                drawn = plot_relief(first.x, second.x, self.mean[..., one], labels, ax)
            else:
                drawn = plot_surface(
                    first.x,
                    second.x,
                    self.mean[..., one],
                    labels,
                    ax,
                    ticks=(first.labels, second.labels),
                )
            return name_moments(drawn, first.moment, second.moment)
        single = output is not None or self.individual is not None
        chosen = [one] if single else list(range(len(self.outputs)))
        names, labels_1d = [self.outputs[k] for k in chosen], (first.name, what)
        curves = self.mean[:, chosen]
        if first.labels is not None:
            return plot_levels(first.labels, curves, names, labels_1d, ax)
        rows = None if self.individual is None else self.individual[:, :, one]
        drawn = plot_curves(
            first.x, curves, names, labels_1d, ax, individual=rows, rug=first.deciles
        )
        return name_moments(drawn, first.moment)


def partial_dependence(
    model: Any,
    features: Any,
    X: Any = None,
    *,
    sample_weight: Any = None,
    method: str = "auto",
    response: str = "score",
    grid: Any = 40,
    ice: int = 0,
    max_rows: int | None = 1000,
    random_state: int = 0,
) -> Dependence:
    """Return how what a model says depends on one feature or two (Friedman 2001, section 8.2).

        f_S(x_S) = E over x_C of f(x_S, x_C)        C being all other features

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    features : str, int, or two of them
        The features, by name or place; numbers and categories.
    X : array-like, data frame or sparse matrix, or None
        Rows to average over, and to choose the grid from. Of sparse rows those that are drawn
        become dense.
    sample_weight : array-like or None
        How much each row counts.
    method : {"auto", "brute", "traversal"}, default="auto"
        "brute": the mean over the rows of X, each asked about every point of the grid.
        "traversal": a walk down the trees that goes both ways, in the proportion of the training
        rows, wherever a node asks about another feature. It needs no rows, and is fast. Both are
        the same where features are independent. "auto": brute where X is passed.
    response : {"score", "mean"}, default="score"
        What is averaged: scores (of a regression with the identity as its link in the units of the
        target, log odds of two classes with the log loss), or predictions and probabilities.
        Traversal averages scores only, unless predictions are a + b · score.
    grid : int, values, or mapping of feature to values, default=40
        How many points of a number, at quantiles of X, or between thresholds of the trees without
        X; of a category all levels, the most frequent ones if there are more than that in X.
        Values of moments are objects (dates, durations, times), text that spells them such as
        "2024-03-01 14:05", or nanoseconds.
    ice : int, default=0
        How many rows' own curves to keep (Goldstein et al. 2015); of one feature, with X.
    max_rows : int or None, default=1000
        "brute" draws this many rows if X has more; None: it takes all.
    random_state : int, default=0
        The seed of these draws.

    Returns
    -------
    Dependence

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> partial_dependence(model, "bmi", X, grid=5).mean.shape
    (5, 1)
    """
    fitted = Fitted.of(model, "partial_dependence")
    places = fitted.positions(features)
    if len(places) > 2:
        raise InvalidParameterError(
            f"features must be one or two; got {len(places)}. See interactions for three."
        )
    how = _method(fitted, checked("method", METHODS, method), X, sample_weight, ice)
    kind: Response = checked("response", RESPONSES, response)
    n_ice = checked("ice", Number(0, whole=True), ice)
    if n_ice and len(places) > 1:
        raise InvalidParameterError("ice keeps curves of rows, of one feature; pass one, or ice=0.")
    fitted.warn_unused(places, "the dependence is flat")
    rows = weight = columns = None
    if X is not None:
        rows = fitted.rows(X, least=1)
        weight = fitted.weight(sample_weight, rows.n)
        columns = {j: rows.column(j) for j in places}
    grids = make_grids(fitted, places, grid, columns, weight)
    if how == "traversal":
        if kind == "mean" and not fitted.mean_is_affine:
            raise InvalidParameterError(
                "method='traversal' averages scores, and the mean of predictions is not the "
                "prediction of a mean. Use response='score', or pass X for method='brute'."
            )
        mean = fitted.respond(traversed_score(fitted, _points(grids)), kind)
        return Dependence(grids, fitted.outputs(kind), kind, how, _shaped(mean, grids))
    assert rows is not None
    assert weight is not None
    most = checked("max_rows", Number(1, whole=True, or_none=True), max_rows)
    seed = checked("random_state", Number(0, whole=True), random_state)
    drawn = drawn_rows(weight, most, seed)
    return over_rows(fitted, grids, rows.columns(drawn), weight[drawn], kind, n_ice, seed)


def over_rows(
    fitted: Fitted,
    grids: tuple[Grid, ...],
    columns: Sequence[Vector],
    weight: Vector,
    response: Response,
    n_curves: int = 0,
    seed: int = 0,
) -> Dependence:
    """Return what a model says of one feature or two, averaged over rows that have been read."""
    n = min(n_curves, len(weight))
    mean, curves = brute_score(fitted, columns, weight, _points(grids), response, n, seed)
    outputs = fitted.outputs(response)
    return Dependence(grids, outputs, response, "brute", _shaped(mean, grids), curves)


def _points(grids: tuple[Grid, ...]) -> dict[int, Vector]:
    """Return all points of a grid, feature by feature."""
    points = np.meshgrid(*(g.codes for g in grids), indexing="ij")
    return {g.place: p.ravel() for g, p in zip(grids, points, strict=True)}


def _shaped(mean: Vector, grids: tuple[Grid, ...]) -> Vector:
    return mean.reshape(*(len(g.codes) for g in grids), -1)


def _method(fitted: Fitted, method: str, X: Any, sample_weight: Any, ice: Any) -> str:
    """Return brute or traversal, or raise if it cannot be done with what was passed."""
    if method == "auto":
        method = "traversal" if X is None else "brute"
    if method == "brute" and X is None:
        raise InvalidParameterError("method='brute' averages over rows: pass X.")
    if X is None and sample_weight is not None:
        raise InvalidParameterError("sample_weight was passed without X.")
    if method == "traversal" and ice:
        raise InvalidParameterError(
            "ice keeps curves of rows, which method='traversal' has none of"
            ": pass X with method='brute', or ice=0."
        )
    if method == "traversal" and fitted.has_lines:
        raise InvalidParameterError(
            "method='traversal' needs leaves that are constants, and this model's say lines. Pass "
            "X and use method='brute'."
        )
    return method


def traversed_score(
    fitted: Fitted, known: Mapping[int, Vector], traversal: Traversal | None = None
) -> Vector:
    """Return the expectation of F given some features, by traversal.

    Parameters
    ----------
    fitted : Fitted
        The model.
    known : mapping of int to float64 array of shape (n_rows,)
        The features that are known, as the model has them.
    traversal : Traversal or None
        The model's trees, where they have been made ready before.

    Raises
    ------
    InvalidParameterError
        If levels of a known and an unknown feature say something together, or rows go both ways.
    """
    features = fitted.model.features
    if fitted.both_ways and any(np.isnan(x).any() for x in known.values()):
        raise InvalidParameterError(
            "Rows with missing cells go both ways in this model (missing_strategy="
            "'probability'), which traversal does not. Pass X and use method='brute'."
        )
    n_rows = len(next(iter(known.values())))
    blank = np.full(n_rows, np.nan)
    table = Columns([known.get(j, blank) for j in range(features.n)])
    columns, behind = dict(known), features.n
    for statistic in features.target_encodings:
        inside = [j in known for j in statistic.sources]
        if any(inside) and not all(inside):
            names = ", ".join(repr(fitted.names[j]) for j in statistic.sources)
            raise InvalidParameterError(
                f"The model has a statistic of the levels of {names} together, which traversal "
                "cannot know from some of them. Pass X and use method='brute'."
            )
        told = statistic.columns(table) if all(inside) else []
        for number, column in enumerate(told):
            columns[behind + number] = np.asarray(column, dtype=np.float64)
        behind += len(statistic.values)
    return (traversal or Traversal(fitted.model.ensemble)).score(columns)


def brute_score(
    fitted: Fitted,
    columns: Sequence[Vector],
    weight: Vector,
    known: Mapping[int, Vector],
    response: Response,
    n_curves: int = 0,
    seed: int = 0,
) -> tuple[Vector, Vector | None]:
    """Return the mean response of rows at every point, and the curves of some of the rows."""
    n, n_points = len(weight), len(next(iter(known.values())))
    kept = np.sort(np.random.default_rng(seed).choice(n, n_curves, replace=False))
    mean, curves = [], []
    used = fitted.used
    step = max(1, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(len(used), 1)) // n)
    for first in range(0, n_points, step):
        points = {j: values[first : first + step] for j, values in known.items()}
        several = min(step, n_points - first)
        nobody = np.zeros(several * n)  # a column that no tree asks about can be any
        moved = [np.tile(c, several) if j in used else nobody for j, c in enumerate(columns)]
        for j, values in points.items():
            moved[j] = np.repeat(values, n)
        said = fitted.respond(fitted.score(moved), response).reshape(several, n, -1)
        mean.append(np.average(said, axis=1, weights=weight))
        curves.append(said[:, kept])
    together = np.concatenate(curves).swapaxes(0, 1)
    return np.concatenate(mean), np.ascontiguousarray(together) if n_curves else None
