"""The table of the benchmarks of files and clusters: 28 normal features, a binary target.

Blocks of rows have seeds of their own, so that files and partitions can be made one by one, in any
process, and are always the same rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FEATURES = 28
NAMES = [f"f{j}" for j in range(FEATURES)]
TARGET = "y"
# The seed of rows that no model is trained on.
TEST_BLOCK = 2**31


def make_rows(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features, one row of the array for each, and a target with interactions and noise."""
    X = rng.standard_normal((FEATURES, n_rows), dtype=np.float32)
    score = X[0] * X[1] + np.sin(3 * X[2]) + X[3] - 0.5 * X[4] ** 2 + 0.3 * X[5:10].sum(axis=0)
    return X, (score + rng.standard_normal(n_rows, dtype=np.float32) > 0).astype(np.int8)


def make_block(number: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a block; see `make_rows`."""
    return make_rows(np.random.default_rng(number), n_rows)


def block_sizes(n_rows: int, n_blocks: int) -> list[int]:
    """Return the sizes of nearly equal blocks."""
    return [n_rows // n_blocks + (i < n_rows % n_blocks) for i in range(n_blocks)]


def make_arrow(number: int, n_rows: int) -> Any:
    """Return a block as an Arrow table with the target."""
    import pyarrow as pa

    X, y = make_block(number, n_rows)
    return pa.table(dict(zip(NAMES, X, strict=True)) | {TARGET: y})


def make_frame(number: int, n_rows: int) -> Any:
    """Return a block as a pandas data frame with the target."""
    import pandas as pd

    X, y = make_block(number, n_rows)
    return pd.DataFrame(X.T, columns=NAMES).assign(**{TARGET: y})


def log_loss(y: np.ndarray, probability: np.ndarray) -> float:
    """Return the mean log loss of the probabilities of class 1."""
    p = np.clip(np.asarray(probability, np.float64), 1e-9, 1 - 1e-9)
    return -float(np.mean(np.where(y == 1, np.log(p), np.log(1 - p))))
