"""The split of a node beside all of its candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import LINE, new_axes
from stagewise.data.reading.datetimes import format_datetime_short
from stagewise.data.reading.wide_integers import threshold_as_integer
from stagewise.display import MOST_ROWS, Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted_model import FittedModel, check_argument
from stagewise.inspection.plots import COLOURS
from stagewise.inspection.splits.candidates import LEFT, RIGHT, Candidates, find_candidates
from stagewise.inspection.splits.objectives import Objective
from stagewise.inspection.splits.tree_rows import TreeRows
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.rules import Number

__all__ = ["NodeSplits", "show_split"]

Vector = npt.NDArray[np.float64]
DIGITS = 6
"""The number of significant digits of thresholds in text."""
SIDES = {LEFT: "left", RIGHT: "right"}


@dataclass(frozen=True, eq=False, repr=False)
class NodeSplits(Tabled):
    """A node of a tree, and its candidate splits, the best first.

    Attributes
    ----------
    tree, node : int
        The index of the tree, and the number of the node.
    n_rows : int
        The number of rows in the node.
    totals : dict
        Boosted trees: ``G`` and ``H``, the sums of gradients and hessians; tuples with vector
        leaves. Trees of classes, single trees and forests: ``weight`` and ``impurity``.
    value : float64 array
        Boosted trees: w* = -G / (H + λ), before the learning rate. Otherwise the class fractions,
        or the mean of the target.
    gain : float64 array
        The gain of every candidate. Boosted trees: ½ [G_L²/(H_L+λ) + G_R²/(H_R+λ) - G²/(H+λ)], in
        the units of the loss; γ is not subtracted. Otherwise W i - W_L i_L - W_R i_R.
    chosen : int or None
        The candidate that is the split of the tree; None: the node is a leaf, or the split is no
        candidate of these rows.
    """

    tree: int
    node: int
    n_rows: int
    totals: dict[str, Any]
    value: Vector
    gain: Vector
    chosen: int | None
    _objective: Objective
    _fitted: FittedModel
    _candidates: Candidates
    _order: list[int]

    def _summary(self) -> Summary:
        title = f"Node {self.node} of tree {self.tree}: {self.n_rows:,} rows"
        rows = self.table(MOST_ROWS) if len(self.gain) else []
        return Summary(
            title, self.totals, rows, len(self.gain), note="candidate splits, best first"
        )

    def table(self, top: int | None = None) -> list[dict[str, Any]]:
        """Return one row per candidate, the best first.

        Parameters
        ----------
        top : int or None
            The number of rows; None: all.

        Returns
        -------
        list of dict
            ``feature``, ``threshold`` or ``left`` (the categories that go left), ``missing`` (the
            side of missing values, None if the node has none), the sums of both sides (``G_L``,
            ``H_L``, ``G_R``, ``H_R``, or ``weight_L``, ``impurity_L``, …), ``gain`` (or
            ``decrease``), ``allowed`` (whether both sides have the least weight and the least sum
            of hessians) and ``chosen``.
        """
        most = check_argument("top", Number(1, whole=True, or_none=True), top)
        return [self._row(place) for place in range(len(self._order))[:most]]

    def _row(self, place: int) -> dict[str, Any]:
        own, found = self._order[place], self._candidates
        column = found.column[own]
        row: dict[str, Any] = {"feature": self._fitted.model.features.column_name(column)}
        codes = found.left_codes[own]
        if codes is None:
            row["threshold"] = self._threshold(own)
        else:
            row["left"] = self._categories(column, codes)
        row["missing"] = SIDES.get(found.missing[own])
        for side, sums in (("L", found.left[own]), ("R", found.right[own])):
            row |= {f"{name}_{side}": v for name, v in self._objective.columns(sums).items()}
        row[self._objective.gain_name] = float(self.gain[place])
        row["allowed"] = found.allowed[own]
        row["chosen"] = place == self.chosen
        return row

    def _threshold(self, own: int) -> float | int:
        features, found = self._fitted.model.features, self._candidates
        column, threshold = found.column[own], found.threshold[own]
        wide = features[column].cuts if column < features.n else None
        if wide is None or not np.isfinite(threshold):
            return threshold
        return threshold_as_integer(threshold, wide)

    def _categories(self, column: int, codes: tuple[int, ...]) -> tuple[Any, ...]:
        categories = self._fitted.model.features[column].categories
        assert categories is not None
        return tuple(categories.values[code] for code in codes)

    def condition(self, place: int = 0) -> str:
        """Return the condition of a candidate as text; rows for which it is true go left."""
        own, found = self._order[place], self._candidates
        features, column = self._fitted.model.features, found.column[own]
        name, codes = features.column_name(column), found.left_codes[own]
        if codes is not None:
            names = ", ".join(str(value) for value in self._categories(column, codes))
            text = f"{name} in {{{names}}}"
        else:
            number = self._threshold(own)
            kind = features[column].temporal_type if column < features.n else None
            shown = f"{number:.{DIGITS}g}" if isinstance(number, float) else str(number)
            if kind is not None and np.isfinite(number):
                shown = format_datetime_short(number, kind, DIGITS)
            text = f"{name} <= {shown}"
        return f"{text} or missing" if found.missing[own] == LEFT else text

    def plot(self, top: int = 4, ax: Any = None) -> Any:
        """Plot the gain against the threshold for the best features; return the axes.

        The horizontal axis of a feature is the fraction of the rows that go left, so that several
        features have one axis. A ring marks the split of the tree.

        Parameters
        ----------
        top : int
            The number of features.
        ax : matplotlib axes or None
            The axes; None: new ones.
        """
        top = check_argument("top", Number(1, whole=True), top)
        if not len(self.gain):
            raise ValueError("The node has no candidate splits: all of its rows are equal.")
        _, (ax,) = new_axes(1, ax, "plot")
        found, n = self._candidates, max(1, self.n_rows)
        columns = list(dict.fromkeys(found.column[own] for own in self._order))[:top]
        share = np.array([found.n_left[own] / n for own in self._order])
        for k, column in enumerate(columns):
            own = [p for p, o in enumerate(self._order) if found.column[o] == column]
            own.sort(key=lambda place: share[place])
            name = self._fitted.model.features.column_name(column)
            colour = COLOURS[k % len(COLOURS)]
            ax.plot(share[own], self.gain[own], ".-", ms=3, lw=1.2, color=colour, label=name)
        if self.chosen is not None:
            at, gain = share[self.chosen], self.gain[self.chosen]
            ax.plot([at], [gain], "o", ms=11, mfc="none", mec="black")
            ax.annotate(self.condition(self.chosen), (at, gain), (6, 6), textcoords="offset points")
        ax.axhline(0, color=LINE, lw=0.8)
        ax.legend(frameon=False)
        ax.set(xlabel="fraction of the rows that go left", ylabel=self._objective.gain_name)
        return ax


@suggests_arguments
def show_split(
    estimator: Any, X: Any, y: Any, tree: int = 0, node: int = 0, sample_weight: Any = None
) -> NodeSplits:
    """Return the sums of a node, and every candidate split with its gain.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X, y : array-like or data frame, and array-like
        The training rows.
    tree : int, default=0
        The index of the tree. With K trees per round, those of round m are K m, …, K m + K - 1.
    node : int, default=0
        The number of the node, as in `apply`; 0 is the root.
    sample_weight : array-like or None
        The weights of the fit.

    Returns
    -------
    NodeSplits
        `table()` and `plot()` show it. For boosted trees the gradients are those at the scores
        before the round of the tree. The best allowed candidate is the split of the tree, up to the
        rounding of the gradients to integers, unless the search was limited: by features or rows
        that were drawn, random or proposed thresholds, constraints, path smoothing, or one split
        for all nodes of a depth. Rows that were held out were not used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier
    >>> from stagewise.inspection import show_split
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = show_split(DecisionTreeClassifier().fit(X, y), X, y)
    >>> best = found.table(top=1)[0]
    >>> best["feature"], best["threshold"], round(best["decrease"], 6)
    ('petal length (cm)', 2.45, 50.0)
    """
    rows = TreeRows.of(estimator, X, y, tree, sample_weight, "show_split")
    n_nodes = len(rows.tree.feature)
    node = check_argument("node", Number(0, n_nodes - 1, whole=True), node)
    reached = rows.reach(node)
    if not reached.any():
        raise InvalidParameterError(f"No row of X reaches node {node}. Pass the training rows.")
    found = find_candidates(rows, reached)
    gain = np.array(found.gain)
    # The best first; of equal gains the first column, as in the search of the tree.
    allowed = np.array(found.allowed, dtype=bool)
    order = [int(p) for p in np.lexsort((np.arange(len(gain)), -gain, ~allowed))]
    total = rows.objective.row_sums[reached].sum(axis=0)
    return NodeSplits(
        tree,
        node,
        int(reached.sum()),
        rows.objective.columns(total),
        rows.objective.value(total),
        gain[np.array(order, dtype=np.intp)],
        _chosen(rows, reached, node, found, order),
        rows.objective,
        rows.fitted,
        found,
        order,
    )


def _chosen(
    rows: TreeRows,
    reached: npt.NDArray[np.bool_],
    node: int,
    found: Candidates,
    order: list[int],
) -> int | None:
    """Return the candidate that divides the rows of a node as the tree does."""
    column = int(rows.tree.feature[node])
    if column < 0:
        return None
    x, left = rows.columns[column][reached], rows.goes_left(node)[reached]
    known = ~np.isnan(x)
    side = LEFT if rows.tree.missing_left[node] else RIGHT
    coding = rows.codings[column]
    of_categories = coding is not None and coding.dtype == np.uint32
    codes: tuple[int, ...] | None = None
    if of_categories:
        assert coding is not None
        bins = coding[x[known & left].astype(np.intp)]
        codes = tuple(np.flatnonzero(np.isin(coding, bins)).tolist())
    n_left = int((known & left).sum())
    for place, own in enumerate(order):
        if found.column[own] != column or found.n_left[own] != n_left:
            continue
        if found.missing[own] not in (0, side) or found.left_codes[own] != codes:
            continue
        return place
    return None
