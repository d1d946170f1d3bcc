"""Rows as trees see them: which leaf they reach, how they got there, what it adds.

The one idea: everything that can be said of one prediction is in the leaves that its row reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.feature import Feature
from stagewise.data.reading.moments import short_words
from stagewise.data.reading.wide import asked_integer
from stagewise.inspection import memory_limits
from stagewise.inspection.encoded_rows import Rows
from stagewise.inspection.fitted_model import Fitted, Vector, checked
from stagewise.trees.tree import Tree
from stagewise.validation.messages import shown
from stagewise.validation.rules import Number

__all__ = [
    "Contributions",
    "DecisionPath",
    "Path",
    "decision_path",
    "proximity",
    "staged_contributions",
]

PAIRS = 2**17
"""How many pairs of rows are compared at once."""
LEVELS_SHOWN = 6
DIGITS = 6
"""How many digits of thresholds are shown."""


# ---- proximity ---------------------------------------------------------------------------------


def proximity(model: Any, X: Any, Z: Any = None) -> Vector:
    """Return the share of trees in which rows share a leaf (Breiman 2001).

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix
        Rows.
    Z : array-like, data frame or sparse matrix, or None
        Other rows, such as those of the training; None: X itself.

    Returns
    -------
    float64 array of shape (rows of X, rows of Z)
        From 0 to 1; a row and itself have 1. The nearest training rows of the first row of X are
        ``np.argsort(-proximity(model, X, Z)[0])``.
    """
    fitted = Fitted.of(model, "proximity")
    fitted.check_leaves("proximity")
    one = _leaves(fitted, fitted.rows(X))
    two = one if Z is None else _leaves(fitted, fitted.rows(Z, "Z"))
    n_trees = one.shape[1]
    if not n_trees:
        return np.ones((len(one), len(two)))
    pairs = f"Proximity of {len(one)} rows of X and {len(two)} others"
    memory_limits.check_size(pairs, len(one), 8 * len(two), memory_limits.RESULT_BYTES)
    out = np.empty((len(one), len(two)))
    step, trees = max(1, PAIRS // max(len(two), 1)), np.ascontiguousarray(two.T)
    for first in range(0, len(one), step):
        part = one[first : first + step]
        shared = np.zeros((len(part), len(two)), dtype=np.uint32)
        for own, theirs in zip(part.T, trees, strict=True):
            shared += own[:, np.newaxis] == theirs
        out[first : first + step] = shared / n_trees
    return out


def _leaves(fitted: Fitted, rows: Rows) -> npt.NDArray[np.int32]:
    """Return the leaf that each row reaches, shape (n_rows, n_trees)."""
    fitted.check_one_way(rows)
    ensemble = fitted.model.ensemble
    out = np.empty((rows.n, len(ensemble.trees)), dtype=np.int32)
    ensemble.forest.leaves(fitted.workers, rows.asked(), out.reshape(-1))
    return out


# ---- contributions -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Contributions:
    """What every round adds to the scores of rows.

    Attributes
    ----------
    outputs : tuple of str
        The classes or targets.
    base : float64 array of shape (n_outputs,)
        Where all scores begin.
    rounds : float64 array of shape (n_rows, n_rounds, n_outputs)
        What each round adds; of a forest, each tree.
    """

    outputs: tuple[str, ...]
    base: Vector
    rounds: Vector

    def scores(self) -> Vector:
        """Return the scores after every round, shape (n_rows, n_rounds, n_outputs)."""
        return np.asarray(self.base + np.cumsum(self.rounds, axis=1))

    def table(self, row: int = 0) -> list[dict[str, Any]]:
        """Return a line for each round and output of one row."""
        if not len(self.rounds):
            raise ValueError("There are no rows to tell of. Ask about at least one.")
        row = checked("row", Number(0, len(self.rounds) - 1, whole=True), row)
        after = self.scores()[row]
        return [
            {
                "round": m + 1,
                "output": output,
                "adds": float(self.rounds[row, m, k]),
                "score": float(after[m, k]),
            }
            for m in range(self.rounds.shape[1])
            for k, output in enumerate(self.outputs)
        ]


def staged_contributions(model: Any, X: Any) -> Contributions:
    """Return what every round adds to the scores of rows.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix
        Rows.

    Returns
    -------
    Contributions
        Of a regression in the units of the target (with the losses "poisson", "gamma" and "tweedie"
        of its logarithm), of a classification in those of `decision_function`.
    """
    fitted = Fitted.of(model, "staged_contributions")
    ensemble = fitted.model.ensemble
    given = fitted.rows(X)
    fitted.check_one_way(given)
    columns, n, per_round = given.asked(), given.n, ensemble.trees_per_round
    memory_limits.check_size(
        f"What {ensemble.n_rounds} rounds add to {ensemble.n_outputs} scores of {n} rows",
        n,
        8 * ensemble.n_rounds * ensemble.n_outputs,
        memory_limits.RESULT_BYTES,
    )
    rounds = np.zeros((ensemble.n_rounds, n, ensemble.n_outputs))
    for m, out in enumerate(rounds):
        first = m * per_round
        ensemble.forest.add_scores(
            fitted.workers, columns, first, first + per_round, out.reshape(-1)
        )
    offset, scale = fitted.score_units
    base, told = offset + scale * ensemble.base, rounds.transpose(1, 0, 2) * scale
    return Contributions(fitted.outputs("score"), base, told)


# ---- paths -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Path:
    """The way of one row through one tree.

    Attributes
    ----------
    tree : int
        The number of the tree.
    nodes : tuple of int
        From the root to the leaf.
    rule : tuple of str
        What the row has to fulfil, a condition for each feature that was asked about.
    value : float64 array
        What the leaf adds: to the score of the tree's output, or to those of all.
    surprise : float64 array
        The same less what the tree, by its constants, says of the training rows on average.
    cover : float
        The weight of the training rows in the leaf.
    output : int or None
        Whose tree it is; None: it has a value for all.
    line : tuple of str
        The features of the line that the leaf says; empty: it says a constant.
    """

    tree: int
    nodes: tuple[int, ...]
    rule: tuple[str, ...]
    value: Vector
    surprise: Vector
    cover: float
    output: int | None
    line: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class DecisionPath:
    """The ways of one row through all trees, those first that move its score most.

    Attributes
    ----------
    paths : tuple of Path
        Ordered by the size of their `surprise`.
    outputs : tuple of str
        The classes or targets.
    score : float64 array
        What the model says of the row: of a regression the prediction (with the losses "poisson",
        "gamma" and "tweedie" its logarithm), of a classification `decision_function`.
    """

    paths: tuple[Path, ...]
    outputs: tuple[str, ...]
    score: Vector

    def words(self, top: int | None = 5) -> str:
        """Return the first paths as sentences.

        Parameters
        ----------
        top : int or None
            How many; None: all.
        """
        most = checked("top", Number(1, whole=True, or_none=True), top)
        scores = ", ".join(f"{s:.6g}" for s in self.score)
        lines = [f"said {scores}; {len(self.paths)} trees, those first that move it most"]
        lines += [self._sentence(path) for path in self.paths[:most]]
        return "\n".join(lines)

    def _sentence(self, path: Path) -> str:
        adds = ", ".join(f"{v:+.4g}" for v in path.value)
        several = path.output is not None and len(self.outputs) > 1
        whose = f" of {self.outputs[path.output]}" if several and path.output is not None else ""
        rule = " and ".join(path.rule) or "always"
        line = f" on a line in {', '.join(path.line)}" if path.line else ""
        return f"tree {path.tree}{whose}: {rule}: adds {adds}{line} (cover {path.cover:g})"

    def __str__(self) -> str:
        return self.words()


def decision_path(model: Any, row: Any) -> DecisionPath:
    """Return how one row got to its prediction: the rule of the leaf that it reaches in each tree.

    Parameters
    ----------
    model : estimator
        A fitted boosting estimator, forest or tree.
    row : array-like, data frame or sparse matrix of shape (1, n_features)
        The row; of a frame ``X.iloc[[0]]``.

    Returns
    -------
    DecisionPath
        Its `words` are for reading. Conditions of one feature are merged: a number lies in one
        interval, a level is one of a set. A leaf that says a line counts with what it adds to the
        row.
    """
    fitted = Fitted.of(model, "decision_path")
    fitted.check_leaves("decision_path")
    given = fitted.rows(row, "row")
    if given.n != 1:
        raise ValueError(f"decision_path is about one row; got {given.n}. Pass X[:1].")
    fitted.check_one_way(given)
    ensemble, columns = fitted.model.ensemble, given.columns()
    table = given.asked_dense(memory_limits.COPY_BYTES)
    x = np.array([c[0] for c in fitted.extended(columns)])
    # In the units of what is predicted, each output with its own.
    offset, scale = fitted.score_units
    paths = []
    for number, tree in enumerate(ensemble.trees):
        out = np.zeros(ensemble.n_outputs)
        ensemble.forest.add_scores(fitted.workers, table, number, number + 1, out)
        one = ensemble.outputs_per_tree == 1
        output = number % ensemble.n_outputs if one else None
        mine = slice(None) if output is None else [output]
        value = scale[mine] * out[mine]
        nodes = _walk(tree, x, ensemble.levels)
        surprise = value - scale[mine] * _mean(tree)
        rule = tuple(_rule(fitted, tree, nodes, x))
        cover = float(tree.cover[nodes[-1]])
        line = _line(fitted, tree, nodes[-1])
        paths.append(Path(number, nodes, rule, value, surprise, cover, output, line))
    paths.sort(key=lambda path: (-float(np.abs(path.surprise).max()), path.tree))
    said = offset + scale * fitted.score(columns)[0]
    return DecisionPath(tuple(paths), fitted.outputs("score"), said)


def _line(fitted: Fitted, tree: Tree, leaf: int) -> tuple[str, ...]:
    """Return the features of a leaf's line."""
    if tree.lines is None or leaf not in tree.lines.node:
        return ()
    at = int(np.searchsorted(tree.lines.node, leaf))
    begin, end = tree.lines.start[at : at + 2].tolist()
    return tuple(_column_name(fitted, f) for f in tree.lines.feature[begin:end].tolist())


def _mean(tree: Tree) -> Vector:
    """Return what the constants of a tree say of its training rows on average."""
    leaf = tree.feature < 0
    value = tree.value.reshape(len(leaf), -1)
    return np.asarray(np.average(value[leaf], axis=0, weights=tree.cover[leaf]))


def _goes_left(tree: Tree, node: int, x: float, n_levels: int) -> bool:
    if np.isnan(x):
        return bool(tree.missing_left[node])
    if n_levels:
        assert tree.sets is not None
        return bool(tree.sets.left(node, n_levels)[int(x)])
    return bool(x <= tree.threshold[node])


def _walk(tree: Tree, x: Vector, levels: Sequence[int]) -> tuple[int, ...]:
    nodes = [0]
    while tree.feature[nodes[-1]] >= 0:
        node = nodes[-1]
        column = int(tree.feature[node])
        left = _goes_left(tree, node, x[column], levels[column] if len(levels) else 0)
        nodes.append(int((tree.left if left else tree.right)[node]))
    return tuple(nodes)


def _rule(fitted: Fitted, tree: Tree, nodes: Sequence[int], x: Vector) -> list[str]:
    """Return a condition for each column that was asked about, in the order of the first time."""
    asked: dict[int, list[int]] = {}
    for node in nodes[:-1]:
        asked.setdefault(int(tree.feature[node]), []).append(node)
    features = fitted.model.features
    rules = []
    for column, where in asked.items():
        name = _column_name(fitted, column)
        levels = features[column].levels if column < features.n else None
        if np.isnan(x[column]):
            rules.append(f"{name} is missing")
        elif levels is not None:
            if int(x[column]) >= len(levels):
                rules.append(f"{name} is no level the model knows")
            else:
                rules.append(f"{name} is {_set_words(tree, where, int(x[column]), levels.values)}")
        else:
            feature = features[column] if column < features.n else None
            rules.append(_interval_words(name, tree.threshold[where], x[column], feature))
    return rules


def _column_name(fitted: Fitted, column: int) -> str:
    features = fitted.model.features
    names = [fitted.names[j] for j in features.sources[column]]
    return names[0] if column < features.n else f"what {' and '.join(names)} says"


def _interval_words(name: str, cuts: Vector, x: float, feature: Feature | None) -> str:
    """Say between which thresholds a number lies; of wide integers, between which integers."""
    above, below = cuts[cuts < x], cuts[cuts >= x]
    wide, moment = (None, None) if feature is None else (feature.cuts, feature.moment)

    def word(cut: float) -> str:
        number = cut if wide is None else asked_integer(cut, wide)
        if moment is not None:
            return short_words(number, moment, DIGITS)
        return f"{number:.{DIGITS}g}" if wide is None else str(number)

    if len(above) and len(below):
        return f"{word(above.max())} < {name} ≤ {word(below.min())}"
    return f"{name} > {word(above.max())}" if len(above) else f"{name} ≤ {word(below.min())}"


def _set_words(tree: Tree, where: Sequence[int], level: int, values: Sequence[Any]) -> str:
    """Say which levels go the same way as one at all nodes that ask."""
    assert tree.sets is not None
    same = np.ones(len(values), dtype=bool)
    for node in where:
        left = tree.sets.left(node, len(values))[: len(values)]
        same &= left == left[level]
    together = np.flatnonzero(same).tolist()
    if len(together) == 1:
        return shown(values[level])
    first = [level, *(k for k in together if k != level)][:LEVELS_SHOWN]
    names = ", ".join(shown(values[k]) for k in sorted(first))
    more = len(together) - len(first)
    return f"in {{{names}{f', and {more} more' if more else ''}}}"
