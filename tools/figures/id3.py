"""ID3, whose splits have a branch for every category, and its comparison with binary splits.

`python tools/figures/id3.py` prints the table of docs/methods/multiway_splits.md;
tests/textbook/test_multiway_splits.py compares both.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from stagewise import DecisionTreeClassifier, rules

__all__ = ["TABLES", "Id3", "gain_and_information", "measure", "summary", "table_row"]

Table = tuple[np.ndarray, np.ndarray]
Path = list[tuple[int, float, float]]
"""The number of leaves, the training entropy in nats, and the test error, for growing trees."""


def entropy(y: np.ndarray) -> float:
    """Return -Σ p log p of the classes of rows, in nats."""
    p = np.unique(y, return_counts=True)[1] / len(y)
    return float(-(p * np.log(p)).sum())


def gain_and_information(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return Entropy(S) - Σ |S_v|/|S| Entropy(S_v), and the entropy of the feature."""
    parts = [y[x == v] for v in np.unique(x)]
    within = sum(len(part) * entropy(part) for part in parts) / len(y)
    return entropy(y) - within, entropy(x)


@dataclass
class Node:
    """The training rows and test rows of a leaf, and the features that its path has not used."""

    rows: np.ndarray
    test: np.ndarray
    unused: frozenset[int]


class Id3:
    """A multiway tree, grown best-first: the leaf with the largest W · Gain is split next.

    With `ratio` a node is split by the feature of the largest gain ratio, among those whose gain
    is at least the average (C4.5). A test row with a category that no training row of the node
    has is predicted by the node.
    """

    def __init__(self, train: Table, test: Table, *, ratio: bool = False) -> None:
        (self.X, self.y), (self.X_test, self.y_test), self.ratio = train, test, ratio
        root = Node(
            *(np.arange(len(y)) for _, y in (train, test)), frozenset(range(len(train[0].T)))
        )
        self.leaves, self.number, self.queue = 1, 0, []
        self.cost, self.errors = self._cost(root.rows), self._errors(root.rows, root.test)
        self._add(root)

    def _cost(self, rows: np.ndarray) -> float:
        return len(rows) * entropy(self.y[rows])

    def _errors(self, rows: np.ndarray, test: np.ndarray) -> int:
        return int((self.y_test[test] != np.bincount(self.y[rows]).argmax()).sum())

    def best_feature(self, node: Node) -> tuple[int, float] | None:
        """Return the feature that splits a node, and its gain; None if no gain is above 0."""
        x, y = self.X[node.rows], self.y[node.rows]
        found = {j: gain_and_information(x[:, j], y) for j in sorted(node.unused)}
        found = {j: both for j, both in found.items() if both[0] > 1e-12}
        if not found:
            return None
        rank = {j: gain for j, (gain, _) in found.items()}
        if self.ratio:
            average = np.mean([gain for gain, _ in found.values()]) - 1e-12
            rank = {j: gain / own for j, (gain, own) in found.items() if gain >= average}
        best = max(rank, key=rank.__getitem__)
        return best, found[best][0]

    def _add(self, node: Node) -> None:
        best = self.best_feature(node)
        if best is not None:
            self.number += 1
            heapq.heappush(self.queue, (-len(node.rows) * best[1], self.number, best[0], node))

    def split(self) -> None:
        """Split the leaf with the largest decrease."""
        _, _, feature, node = heapq.heappop(self.queue)
        x, x_test = self.X[node.rows, feature], self.X_test[node.test, feature]
        values = np.unique(x)
        for v in values:
            child = Node(node.rows[x == v], node.test[x_test == v], node.unused - {feature})
            self.cost += self._cost(child.rows)
            self.errors += self._errors(child.rows, child.test)
            self._add(child)
        known = node.test[np.isin(x_test, values)]
        self.cost -= self._cost(node.rows)
        self.errors -= self._errors(node.rows, known)
        self.leaves += len(values) - 1

    def path(self) -> Path:
        """Return the path of growing trees until no split lowers the entropy."""
        path: Path = []
        while True:
            error = self.errors / len(self.y_test)
            path.append((self.leaves, max(0.0, self.cost / len(self.y)), error))
            if not self.queue:
                return path
            self.split()


def binary_path(train: Table, test: Table, sizes: tuple[int | None, ...]) -> Path:
    """Return the path of trees of this library: entropy, sets of categories."""
    path = []
    for leaves in sizes:
        tree = DecisionTreeClassifier(
            criterion="entropy",
            max_leaf_nodes=leaves,
            categorical_features=list(range(train[0].shape[1])),
            handle_unknown="prior",
        ).fit(*train)
        within = sum(row["share"] * row["impurity"] for row in rules(tree, show_impurity=True))
        error = float(np.mean(tree.predict(test[0]) != test[1]))
        path.append((tree.get_n_leaves(), within, error))
    return path


def groups(n: int, seed: int) -> Table:
    """Return a feature of 40 categories in two groups, which the class follows, and 3 others."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 40, n), *(rng.integers(0, 4, n) for _ in range(3))])
    return X, _flipped(rng, X[:, 0] % 2 ^ (X[:, 1] == 0), 0.1)


def identifier(n: int, seed: int) -> Table:
    """Return five features of 3 categories, two of which the class follows, and 150 codes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([*(rng.integers(0, 3, n) for _ in range(5)), rng.integers(0, 150, n)])
    return X, _flipped(rng, (X[:, 0] == 0) | (X[:, 1] == 2), 0.15)


def every_value(n: int, seed: int) -> Table:
    """Return six features of 4 categories; every category has its own rule, as multiway trees."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 6))
    rule = np.choose(X[:, 0], [X[:, 1] % 2, X[:, 2] % 2, X[:, 3] % 2, X[:, 4] % 2])
    return X, _flipped(rng, rule, 0.1)


def _flipped(rng: np.random.Generator, y: np.ndarray, noise: float) -> np.ndarray:
    return (y.astype(bool) ^ (rng.random(len(y)) < noise)).astype(int)


TABLES = {"groups": groups, "identifier": identifier, "every value": every_value}
"""The tables of the comparison; 1,000 training and 10,000 test rows are drawn from each."""
SIZES = (2, 4, 8, 16, 32, 64, None)
"""The numbers of leaves of binary trees; the last: until no split lowers the entropy."""


def measure(name: str, seed: int = 0, sizes: tuple[int | None, ...] = SIZES) -> dict[str, Path]:
    """Return the paths of the three kinds of trees on one draw of a table."""
    make = TABLES[name]
    train, test = make(1_000, 2 * seed), make(10_000, 2 * seed + 1)
    return {
        "binary": binary_path(train, test, sizes),
        "multiway, gain": Id3(train, test).path(),
        "multiway, gain ratio": Id3(train, test, ratio=True).path(),
    }


def summary(name: str, n_draws: int = 3) -> list[tuple[str, float, float, float, float]]:
    """Return a row for each kind of tree, means over draws.

    The kind, the training entropy with at most 64 leaves, the least test error along the path, and
    the number of leaves and the test error of the complete tree.
    """
    draws = [measure(name, seed) for seed in range(n_draws)]
    rows = []
    for kind in draws[0]:
        paths = [draw[kind] for draw in draws]
        numbers = [
            (
                min(e for leaves, e, _ in path if leaves <= 64),
                min(error for _, _, error in path),
                path[-1][0],
                path[-1][2],
            )
            for path in paths
        ]
        rows.append((kind, *np.mean(numbers, axis=0).tolist()))
    return rows


def table_row(name: str, row: tuple[str, float, float, float, float]) -> str:
    """Return a row of the table of the page."""
    kind, within, least, leaves, complete = row
    return (
        f"| {name} | {kind} | {within:.2f} | {100 * least:.1f} % | {100 * complete:.1f} % | "
        f"{leaves:.0f} |"
    )


if __name__ == "__main__":
    for name in TABLES:
        for row in summary(name):
            print(table_row(name, row))
