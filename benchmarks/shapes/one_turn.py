"""One turn of one library: the seconds of some calls, the held-out loss, and the memory of fits."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from contenders import CONTENDERS, Predict, loaded
from shapes import Rows, Shape
from turns import Growth

__all__ = ["FITS", "turn"]

SMALL = 2000
"""The rows of the fit before the timed ones."""
FITS = ("fit", "forest", "extra_trees")
"""The kinds of shapes that are fits."""


def loss_of(shape: Shape, held: Rows, prediction: np.ndarray) -> float:
    """Return the held-out loss: log loss, root of the squared error, or absolute error."""
    if shape.task == "regression":
        error = np.abs(np.asarray(prediction).reshape(-1) - held.y)
        return float(error.mean() if shape.loss else np.sqrt((error**2).mean()))
    p = np.asarray(prediction, np.float64)
    own = p[np.arange(len(held.y)), held.y] / p.sum(axis=1)
    return float(-np.log(np.clip(own, 1e-15, 1.0)).mean())


def turn(shape: Shape, name: str) -> dict[str, float]:
    """Run one turn of one library: the median time, the loss, and of fits the peak of memory."""
    train, held = shape.make()
    fit = CONTENDERS[name]
    if shape.kind in FITS:
        fit(shape, train.head(SMALL))  # imports, threads and first calls are not timed
        memory = Growth()
        seconds = []
        for _ in range(shape.repeats):
            begin = time.perf_counter()
            predict = fit(shape, train)
            seconds.append(time.perf_counter() - begin)
        facts = {"memory_mb": memory.megabytes()}
    else:
        predict = fit(shape, train)
        seconds = CALLS.get(shape.kind, many_rows)(predict, held.X, shape.repeats)
        facts = {}
    loss = loss_of(shape, held, predict(held.X))
    return {"seconds": statistics.median(seconds), "loss": loss, **facts}


def many_rows(predict: Predict, X: Any, repeats: int) -> list[float]:
    """Return the seconds of calls, after one that is not timed."""
    predict(X)
    return [timed(predict, X) for _ in range(repeats)]


def first_calls(predict: Predict, X: Any, repeats: int) -> list[float]:
    """Return the seconds of the first call of models that were loaded, after another model's."""
    loaded(predict)(X)
    return [timed(loaded(predict), X) for _ in range(repeats)]


def single_rows(predict: Predict, X: Any, _: int) -> list[float]:
    """Return the seconds of many calls with one row."""
    return many_rows(predict, X, 500)


CALLS = {"first_call": first_calls, "one_row": single_rows}


def timed(predict: Predict, X: Any) -> float:
    """Return the seconds of one call."""
    begin = time.perf_counter()
    predict(X)
    return time.perf_counter() - begin
