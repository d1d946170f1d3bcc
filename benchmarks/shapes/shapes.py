"""The shapes of work: tables that differ in rows, columns, values, weights, classes and trees.

A table is a pure function of its shape. This module imports no library under test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

__all__ = ["SHAPES", "Rows", "Shape"]

FITS = ("stagewise", "lightgbm", "lightgbm-quantised", "xgboost", "hgb")
FORESTS = ("stagewise", "scikit-learn")
PREDICTIONS = ("stagewise", "lightgbm", "xgboost", "catboost")
LOADED = ("stagewise", "lightgbm", "xgboost")


class Rows(NamedTuple):
    """Rows with targets, and weights or None."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None

    def head(self, n: int) -> Rows:
        """Return the first rows."""
        own = None if self.weight is None else self.weight[:n]
        return Rows(self.X[:n], self.y[:n], own)


@dataclass(frozen=True)
class Shape:
    """A kind of work.

    Parameters
    ----------
    name, title : str
        How it is called, and what it is.
    goal : float
        The least time of the fastest other library divided by ours.
    make : callable
        Returns training rows and held-out rows.
    task : str
        "binary", "classes" or "regression".
    trees, leaves : int
        Of each model.
    kind : str
        "fit", "forest", "extra_trees", "predict", "first_call" (of a loaded model, 100 rows),
        "one_row" or "predict_forest".
    loss : str
        "absolute_error", or empty for the usual one.
    repeats : int
        Timed calls of a turn.
    subsample, columns : float
        The shares of rows and columns of a tree.
    categories : int
        The number of leading columns that have codes of categories.
    symmetric : bool
        Whether ours are symmetric trees (of predictions).
    unweighted : str
        The shape without weights, whose own time the time is compared with.
    contenders : tuple of str
        The libraries.
    """

    name: str
    title: str
    goal: float
    make: Callable[[], tuple[Rows, Rows]]
    task: str = "binary"
    trees: int = 100
    leaves: int = 31
    kind: str = "fit"
    loss: str = ""
    repeats: int = 3
    subsample: float = 1.0
    columns: float = 1.0
    categories: int = 0
    symmetric: bool = False
    unweighted: str = ""
    contenders: tuple[str, ...] = field(default=FITS)


def _target(f: np.ndarray, task: str, rng: np.random.Generator, classes: int) -> np.ndarray:
    if task == "binary":
        return (f + rng.logistic(size=len(f)) > 0).astype(np.int32)
    if task == "regression":
        return f + rng.normal(size=len(f))
    edges = np.quantile(f, np.linspace(0, 1, classes + 1)[1:-1])
    noisy = f + 0.3 * rng.normal(size=len(f))
    return np.searchsorted(edges, noisy).astype(np.int32)


def numbers(
    rows: int,
    columns: int,
    task: str = "binary",
    *,
    classes: int = 2,
    weights: str = "",
    missing: float = 0.0,
    values: int = 0,
    frame: bool = False,
    held_out: int = 20_000,
) -> Callable[[], tuple[Rows, Rows]]:
    """Return a maker of normal columns, or of whole numbers below `values`.

    weights: "real", between ½ and 2, or "balanced", so that both classes have the same sum.
    """

    def make() -> tuple[Rows, Rows]:
        rng = np.random.default_rng(0)
        n = rows + held_out
        X = rng.standard_normal((n, columns), dtype=np.float32)
        if values:
            X = rng.integers(0, values, (n, columns)).astype(np.float32)
        f = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] - (X[:, 4] > 0)
        y = _target(np.asarray(f, np.float64) - 2.0 * (weights == "balanced"), task, rng, classes)
        if missing:
            X[rng.random(X.shape, dtype=np.float32) < missing] = np.nan
        weight = rng.uniform(0.5, 2.0, n) if weights == "real" else None
        if weights == "balanced":
            weight = (n / 2 / np.bincount(y))[y]
        table: Any = X
        if frame:
            import pandas as pd

            table = pd.DataFrame(X.astype(np.float64), columns=[f"c{i}" for i in range(columns)])
        parts = (slice(0, rows), slice(rows, n))
        own = [(None if weight is None else weight[part]) for part in parts]
        train, held = (Rows(table[p], y[p], w) for p, w in zip(parts, own, strict=True))
        return train, held

    return make


def categories(rows: int, sizes: tuple[int, ...]) -> Callable[[], tuple[Rows, Rows]]:
    """Return a maker of columns of categories with effects of their own."""

    def make() -> tuple[Rows, Rows]:
        rng = np.random.default_rng(0)
        n = rows + 20_000
        codes = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
        f = sum(rng.normal(size=size)[codes[:, k]] for k, size in enumerate(sizes))
        y = _target(np.asarray(f), "binary", rng, 2)
        X = codes.astype(np.float32)
        return Rows(X[:rows], y[:rows]), Rows(X[rows:], y[rows:])

    return make


def sparse(rows: int, columns: int, density: float) -> Callable[[], tuple[Rows, Rows]]:
    """Return a maker of a sparse matrix (CSR)."""

    def make() -> tuple[Rows, Rows]:
        from scipy import sparse as matrices

        rng = np.random.default_rng(0)
        n = rows + 10_000
        X = matrices.random(n, columns, density, "csr", np.float32, rng)
        f = np.asarray(X[:, :200] @ rng.normal(size=200) * 4.0)
        y = _target(f - np.median(f), "binary", rng, 2)
        return Rows(X[:rows], y[:rows]), Rows(X[rows:], y[rows:])

    return make


PREDICTED = numbers(20_000, 28, held_out=200_000)

SHAPES = {
    shape.name: shape
    for shape in (
        Shape("plain", "100k × 20", 3, numbers(100_000, 20)),
        Shape("plain-regression", "100k × 20, squared error", 3,
              numbers(100_000, 20, "regression"), "regression"),
        Shape("weights", "100k × 20, real-valued weights", 3,
              numbers(100_000, 20, weights="real"), unweighted="plain"),
        Shape("weights-regression", "100k × 20, real-valued weights, squared error", 3,
              numbers(100_000, 20, "regression", weights="real"), "regression",
              unweighted="plain-regression"),
        Shape("balanced", "100k × 20, balanced weights of a rare class", 3,
              numbers(100_000, 20, weights="balanced"), unweighted="plain"),
        Shape("100x5", "100 × 5, 1000 trees", 2, numbers(100, 5), trees=1000, repeats=7),
        Shape("500x10", "500 × 10, 1000 trees", 2, numbers(500, 10), trees=1000, repeats=5),
        Shape("1kx28", "1,000 × 28, 1000 trees", 2, numbers(1000, 28), trees=1000),
        Shape("categories", "100k × 8 categories, up to 1,000 of them", 3,
              categories(100_000, (1000, 500, 200, 100, 50, 20, 7, 3)), categories=8),
        Shape("1mx5", "1M × 5", 3, numbers(1_000_000, 5), repeats=1),
        Shape("1mx10", "1M × 10", 3, numbers(1_000_000, 10), repeats=1),
        Shape("1mx28", "1M × 28", 3, numbers(1_000_000, 28), repeats=1),
        Shape("20kx500", "20k × 500", 3, numbers(20_000, 500), repeats=1),
        Shape("2kx2000", "2k × 2000", 3, numbers(2000, 2000, held_out=5000)),
        Shape("10-classes", "20k × 30, 10 classes", 3,
              numbers(20_000, 30, "classes", classes=10), "classes", repeats=1),
        Shape("100-classes", "20k × 30, 100 classes, 20 trees each", 3,
              numbers(20_000, 30, "classes", classes=100), "classes", trees=20, repeats=1),
        Shape("absolute-error", "100k × 20, absolute error", 3,
              numbers(100_000, 20, "regression"), "regression", loss="absolute_error"),
        Shape("missing", "100k × 20, half missing", 3, numbers(100_000, 20, missing=0.5)),
        Shape("255-leaves", "100k × 20, 255 leaves", 3, numbers(100_000, 20), leaves=255),
        Shape("2047-leaves", "100k × 20, 2047 leaves", 3, numbers(100_000, 20), leaves=2047,
              repeats=1),
        Shape("pandas", "100k × 20, pandas float64", 3, numbers(100_000, 20, frame=True)),
        Shape("three-values", "200k × 100 of three values", 3,
              numbers(200_000, 100, values=3), repeats=1),
        Shape("sparse", "50k × 5000 sparse, 1 %", 3, sparse(50_000, 5000, 0.01), repeats=1,
              contenders=("stagewise", "lightgbm", "xgboost")),
        Shape("subsample", "100k × 20, subsample .5 and columns .5", 3, numbers(100_000, 20),
              subsample=0.5, columns=0.5, contenders=FITS[:4]),
        Shape("forest-2", "forest of 20k × 28, two classes", 10, numbers(20_000, 28),
              kind="forest", repeats=1, contenders=FORESTS),
        Shape("forest-10", "forest of 20k × 28, ten classes", 10,
              numbers(20_000, 28, "classes", classes=10), "classes", kind="forest", repeats=1,
              contenders=FORESTS),
        Shape("forest-regression", "forest of 20k × 28, regression", 10,
              numbers(20_000, 28, "regression"), "regression", kind="forest", repeats=1,
              contenders=FORESTS),
        Shape("extra-trees", "ExtraTrees of 20k × 28", 10, numbers(20_000, 28),
              kind="extra_trees", repeats=1, contenders=FORESTS),
        Shape("predict-100", "predict 200k × 28, 100 trees of 31 leaves", 2, PREDICTED,
              kind="predict", repeats=7, contenders=PREDICTIONS),
        Shape("predict-100-symmetric", "the same, ours with symmetric trees of depth 6", 2,
              PREDICTED, kind="predict", repeats=7, symmetric=True, leaves=64,
              contenders=("stagewise", "catboost")),
        Shape("predict-1000", "predict 200k × 28, 1000 trees of 31 leaves", 1, PREDICTED,
              trees=1000, kind="predict", repeats=3, contenders=PREDICTIONS),
        Shape("predict-1000-symmetric", "the same, ours with symmetric trees of depth 6", 2,
              PREDICTED, trees=1000, kind="predict", repeats=3, symmetric=True, leaves=64,
              contenders=("stagewise", "catboost")),
        Shape("predict-10k", "predict 10k × 28, 1000 trees of 31 leaves", 1,
              numbers(20_000, 28, held_out=10_000), trees=1000, kind="predict", repeats=7,
              contenders=PREDICTIONS),
        Shape("predict-255", "predict 200k × 28, 100 trees of 255 leaves", 4, PREDICTED,
              kind="predict", repeats=3, leaves=255, contenders=LOADED),
        Shape("first-call", "the first prediction of a loaded model, 100 rows, 1000 trees", 1,
              numbers(20_000, 28, held_out=100), trees=1000, kind="first_call", repeats=5,
              contenders=LOADED),
        Shape("one-row", "one row, 100 trees of 31 leaves", 10, numbers(20_000, 28, held_out=1),
              kind="one_row", contenders=PREDICTIONS),
        Shape("predict-forest-100k", "predict 100k × 28, a deep forest of 100 trees", 5,
              numbers(20_000, 28, held_out=100_000), kind="predict_forest", contenders=FORESTS),
        Shape("predict-forest-200k", "predict 200k × 28, a deep forest of 100 trees", 5,
              PREDICTED, kind="predict_forest", contenders=FORESTS),
    )
}  # fmt: skip
