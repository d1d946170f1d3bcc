"""Leaves of rows: proximity, contributions of rounds, decision paths.

All three are computed from the leaf that a row reaches in each tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.feature import Feature
from stagewise.data.reading.datetimes import format_datetime_short
from stagewise.data.reading.wide_integers import threshold_as_integer
from stagewise.display import MOST_ROWS, Displayed, Summary, Tabled
from stagewise.inspection import memory_limits
from stagewise.inspection.encoded_rows import EncodedRows
from stagewise.inspection.fitted_model import FittedModel, Vector, check_argument
from stagewise.trees.tree import Tree
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.messages import short_repr
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
"""The number of pairs of rows that are compared at once."""
CATEGORIES_SHOWN = 6
DIGITS = 6
"""The number of significant digits of thresholds."""


# ---- proximity ---------------------------------------------------------------------------------


@suggests_arguments
def proximity(estimator: Any, X: Any, Z: Any = None) -> Vector:
    """Return the share of trees in which two rows reach the same leaf (Breiman 2001).

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix
        Rows.
    Z : array-like, data frame or sparse matrix, or None
        Other rows, such as training rows; None: X itself.

    Returns
    -------
    float64 array of shape (rows of X, rows of Z)
        From 0 to 1; the proximity of a row to itself is 1. The nearest training rows of the first
        row of X are ``np.argsort(-proximity(estimator, X, Z)[0])``.
    """
    fitted = FittedModel.of(estimator, "proximity", of_trees=True, of_targets=True)
    fitted.check_leaves("proximity")
    one = _leaves(fitted, fitted.rows(X))
    two = one if Z is None else _leaves(fitted, fitted.rows(Z, "Z"))
    n_trees = one.shape[1]
    if not n_trees:
        return np.ones((len(one), len(two)))
    pairs = f"Proximity of {len(one)} rows of X and {len(two)} other rows"
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


def _leaves(fitted: FittedModel, rows: EncodedRows) -> npt.NDArray[np.int32]:
    """Return the leaf that each row reaches, shape (n_rows, n_trees)."""
    fitted.check_one_leaf(rows)
    ensemble = fitted.model.ensemble
    out = np.empty((rows.n, len(ensemble.trees)), dtype=np.int32)
    ensemble.forest.leaves(fitted.workers, rows.tree_columns(), out.reshape(-1))
    return out


# ---- contributions -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(Tabled):
    """The contribution of every round to the scores of rows.

    Attributes
    ----------
    outputs : tuple of str
        The classes or targets.
    base : float64 array of shape (n_outputs,)
        The initial scores.
    rounds : float64 array of shape (n_rows, n_rounds, n_outputs)
        The contribution of each round; of a forest, of each tree.
    """

    outputs: tuple[str, ...]
    base: Vector
    rounds: Vector

    def _summary(self) -> Summary:
        n, rounds, outputs = self.rounds.shape
        facts = {
            f"initial score {name}" if outputs > 1 else "initial score": float(value)
            for name, value in zip(self.outputs[:MOST_ROWS], self.base, strict=False)
        }
        return Summary(f"Contributions of {rounds:,} rounds to the scores of {n:,} rows", facts)

    def scores(self) -> Vector:
        """Return the scores after every round, shape (n_rows, n_rounds, n_outputs)."""
        return np.asarray(self.base + np.cumsum(self.rounds, axis=1))

    def table(self, row: int = 0) -> list[dict[str, Any]]:
        """Return one line per round and output, for one row."""
        if not len(self.rounds):
            raise ValueError("There are no rows. Compute the contributions of at least one row.")
        row = check_argument("row", Number(0, len(self.rounds) - 1, whole=True), row)
        after = self.scores()[row]
        return [
            {
                "round": m + 1,
                "output": output,
                "contribution": float(self.rounds[row, m, k]),
                "score": float(after[m, k]),
            }
            for m in range(self.rounds.shape[1])
            for k, output in enumerate(self.outputs)
        ]


@suggests_arguments
def staged_contributions(estimator: Any, X: Any) -> Contributions:
    """Return the contribution of every round to the scores of rows.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix
        Rows.

    Returns
    -------
    Contributions
        Regression: in the units of the target (of its logarithm with the losses "poisson", "gamma"
        and "tweedie", of its log odds with "cross_entropy"). Classification: in the units of
        `decision_function`.
    """
    fitted = FittedModel.of(estimator, "staged_contributions")
    ensemble = fitted.model.ensemble
    given = fitted.rows(X)
    fitted.check_one_leaf(given)
    columns, n, per_round = given.tree_columns(), given.n, ensemble.trees_per_round
    memory_limits.check_size(
        f"Contributions of {ensemble.n_rounds} rounds to {ensemble.n_outputs} scores of {n} rows",
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
    base, scaled = offset + scale * ensemble.base, rounds.transpose(1, 0, 2) * scale
    return Contributions(fitted.outputs("score"), base, scaled)


# ---- paths -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Path:
    """The decision path of one row in one tree.

    Attributes
    ----------
    tree : int
        The index of the tree.
    nodes : tuple of int
        From the root to the leaf.
    rule : tuple of str
        The conditions of the path, one for each tested feature.
    value : float64 array
        The value of the leaf: for the output of the tree, or for all outputs.
    deviation : float64 array
        `value` minus the mean leaf constant of the tree over the training rows.
    cover : float
        The weight of the training rows in the leaf.
    output : int or None
        The output of the tree; None: the tree has a value for every output.
    linear_features : tuple of str
        The features of the linear model of the leaf; empty if it is a constant.
    """

    tree: int
    nodes: tuple[int, ...]
    rule: tuple[str, ...]
    value: Vector
    deviation: Vector
    cover: float
    output: int | None
    linear_features: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class DecisionPath(Displayed):
    """The decision paths of one row in all trees, the largest deviations first.

    Attributes
    ----------
    paths : tuple of Path
        Ordered by the absolute value of `deviation`, the largest first.
    outputs : tuple of str
        The classes or targets.
    score : float64 array
        Regression: the prediction of the row (its logarithm with the losses "poisson", "gamma" and
        "tweedie", its log odds with "cross_entropy"). Classification: `decision_function`.
    """

    paths: tuple[Path, ...]
    outputs: tuple[str, ...]
    score: Vector

    def _summary(self) -> Summary:
        rows = [
            {
                "tree": path.tree,
                "rule": " and ".join(path.rule) or "always",
                "value": path.value.tolist()[0] if path.value.size == 1 else path.value.tolist(),
                "deviation": float(np.abs(path.deviation).max()),
                "cover": path.cover,
            }
            for path in self.paths[:MOST_ROWS]
        ]
        scores = ", ".join(f"{s:.6g}" for s in self.score[:MOST_ROWS])
        return Summary(
            f"Decision paths of one row, score {scores}", rows=rows, n_rows=len(self.paths)
        )

    def text(self, top: int | None = 5) -> str:
        """Return the first paths as text, one line per tree.

        Parameters
        ----------
        top : int or None
            The number of paths; None: all.
        """
        most = check_argument("top", Number(1, whole=True, or_none=True), top)
        scores = ", ".join(f"{s:.6g}" for s in self.score)
        lines = [f"score {scores}; {len(self.paths)} trees, the largest deviations first"]
        lines += [self._line(path) for path in self.paths[:most]]
        return "\n".join(lines)

    def _line(self, path: Path) -> str:
        adds = ", ".join(f"{v:+.4g}" for v in path.value)
        several = path.output is not None and len(self.outputs) > 1
        whose = f" of {self.outputs[path.output]}" if several and path.output is not None else ""
        rule = " and ".join(path.rule) or "always"
        names = ", ".join(path.linear_features)
        linear = f" by a linear model of {names}" if names else ""
        return f"tree {path.tree}{whose}: {rule}: adds {adds}{linear} (cover {path.cover:g})"

    def __str__(self) -> str:
        return self.text()


@suggests_arguments
def decision_path(estimator: Any, X: Any) -> DecisionPath:
    """Return the decision path of one row in each tree.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix of shape (1, n_features)
        One row; of a data frame ``X.iloc[[0]]``.

    Returns
    -------
    DecisionPath
        `text()` formats it. Conditions on one feature are merged into one interval, or into one set
        of categories. The value of a leaf with a linear model is its prediction for the row.
    """
    fitted = FittedModel.of(estimator, "decision_path")
    fitted.check_leaves("decision_path")
    given = fitted.rows(X)
    if given.n != 1:
        raise ValueError(f"decision_path needs exactly one row; got {given.n}. Pass X[:1].")
    fitted.check_one_leaf(given)
    ensemble, columns = fitted.model.ensemble, given.columns()
    table = given.dense_tree_columns(memory_limits.COPY_BYTES)
    x = np.array([c[0] for c in fitted.append_derived(columns)])
    # In the units of the predictions.
    offset, scale = fitted.score_units
    paths = []
    for number, tree in enumerate(ensemble.trees):
        out = np.zeros(ensemble.n_outputs)
        ensemble.forest.add_scores(fitted.workers, table, number, number + 1, out)
        one = ensemble.outputs_per_tree == 1
        output = number % ensemble.n_outputs if one else None
        mine = slice(None) if output is None else [output]
        value = scale[mine] * out[mine]
        nodes = _walk(tree, x, ensemble.n_categories)
        deviation = value - scale[mine] * _mean(tree)
        rule = tuple(_rule(fitted, tree, nodes, x))
        cover = float(tree.cover[nodes[-1]])
        linear = _linear_features(fitted, tree, nodes[-1])
        paths.append(Path(number, nodes, rule, value, deviation, cover, output, linear))
    paths.sort(key=lambda path: (-float(np.abs(path.deviation).max()), path.tree))
    score = offset + scale * fitted.score(columns)[0]
    return DecisionPath(tuple(paths), fitted.outputs("score"), score)


def _linear_features(fitted: FittedModel, tree: Tree, leaf: int) -> tuple[str, ...]:
    """Return the features of the linear model of a leaf."""
    if tree.linear_leaves is None or leaf not in tree.linear_leaves.node:
        return ()
    at = int(np.searchsorted(tree.linear_leaves.node, leaf))
    begin, end = tree.linear_leaves.start[at : at + 2].tolist()
    return tuple(
        fitted.model.features.column_name(f) for f in tree.linear_leaves.feature[begin:end].tolist()
    )


def _mean(tree: Tree) -> Vector:
    """Return the mean of the leaf constants over the training rows."""
    leaf = tree.feature < 0
    value = tree.value.reshape(len(leaf), -1)
    return np.asarray(np.average(value[leaf], axis=0, weights=tree.cover[leaf]))


def _goes_left(tree: Tree, node: int, x: float, n_categories: int) -> bool:
    if np.isnan(x):
        return bool(tree.missing_left[node])
    if n_categories:
        assert tree.category_sets is not None
        return bool(tree.category_sets.goes_left(node, n_categories)[int(x)])
    return bool(x <= tree.threshold[node])


def _walk(tree: Tree, x: Vector, n_categories: Sequence[int]) -> tuple[int, ...]:
    nodes = [0]
    while tree.feature[nodes[-1]] >= 0:
        node = nodes[-1]
        column = int(tree.feature[node])
        left = _goes_left(tree, node, x[column], n_categories[column] if len(n_categories) else 0)
        nodes.append(int((tree.left if left else tree.right)[node]))
    return tuple(nodes)


def _rule(fitted: FittedModel, tree: Tree, nodes: Sequence[int], x: Vector) -> list[str]:
    """Return a condition for each tested column, in the order of the first test."""
    tested: dict[int, list[int]] = {}
    for node in nodes[:-1]:
        tested.setdefault(int(tree.feature[node]), []).append(node)
    features = fitted.model.features
    rules = []
    for column, where in tested.items():
        name = fitted.model.features.column_name(column)
        categories = features[column].categories if column < features.n else None
        if np.isnan(x[column]):
            rules.append(f"{name} is missing")
        elif categories is not None:
            if int(x[column]) >= len(categories):
                rules.append(f"{name} is an unknown category")
            else:
                rules.append(
                    f"{name} is {_format_set(tree, where, int(x[column]), categories.values)}"
                )
        else:
            feature = features[column] if column < features.n else None
            rules.append(_format_interval(name, tree.threshold[where], x[column], feature))
    return rules


def _format_interval(name: str, cuts: Vector, x: float, feature: Feature | None) -> str:
    """Format the interval of thresholds around a value; wide integers exactly."""
    above, below = cuts[cuts < x], cuts[cuts >= x]
    wide, temporal_type = (None, None) if feature is None else (feature.cuts, feature.temporal_type)

    def text(cut: float) -> str:
        number = cut if wide is None else threshold_as_integer(cut, wide)
        if temporal_type is not None:
            return format_datetime_short(number, temporal_type, DIGITS)
        return f"{number:.{DIGITS}g}" if wide is None else str(number)

    if len(above) and len(below):
        return f"{text(above.max())} < {name} ≤ {text(below.min())}"
    return f"{name} > {text(above.max())}" if len(above) else f"{name} ≤ {text(below.min())}"


def _format_set(tree: Tree, where: Sequence[int], category: int, values: Sequence[Any]) -> str:
    """Format the set of categories that take the same path as the given one."""
    assert tree.category_sets is not None
    same = np.ones(len(values), dtype=bool)
    for node in where:
        left = tree.category_sets.goes_left(node, len(values))[: len(values)]
        same &= left == left[category]
    matching = np.flatnonzero(same).tolist()
    if len(matching) == 1:
        return short_repr(values[category])
    first = [category, *(k for k in matching if k != category)][:CATEGORIES_SHOWN]
    names = ", ".join(short_repr(values[k]) for k in sorted(first))
    more = len(matching) - len(first)
    return f"in {{{names}{f', and {more} more' if more else ''}}}"
