"""Base class of the adapters: how a library receives data, trains and predicts."""

# ruff: noqa: D102  (each method is documented once, in Peer)

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, ClassVar

import numpy as np

USUAL: Mapping[str, Mapping[str, Any]] = {"usual": {}}
# How idle OpenMP threads wait: "default" is the library's own, "passive" makes them sleep at once.
OPENMP = ("default", "passive")

OneRow = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class Work:
    """The settings of one fit."""

    task: str
    loss: str
    n_classes: int
    trees: int
    threads: int
    seed: int
    variant: str
    way: str = "usual"
    categories: tuple[int, ...] = ()


class Peer:
    """How one library trains and predicts; subclasses implement the four methods."""

    name: ClassVar[str]  # of the library, or of a mode that has its own line
    package: ClassVar[str]
    policies: ClassVar[tuple[str, ...]] = ("default",)
    variants: ClassVar[tuple[str, ...]] = ("",)
    losses: ClassVar[Mapping[str, Any]]
    ways: ClassVar[Mapping[str, Mapping[str, Any]]] = (
        USUAL  # way to grow trees -> parameters of the library
    )
    reads_sparse: ClassVar[bool] = False  # CSR, without conversion to dense
    kinds: ClassVar[frozenset[str]] = frozenset({"fit", "busy", "memory", "scaling", "one-row"})

    def version(self) -> str:
        return metadata.version(self.package)

    @classmethod
    def offers(cls, way: str, loss: str) -> bool:
        return way in cls.ways and loss in cls.losses

    def feed(self, X: np.ndarray, work: Work) -> Any:
        """Return the table in the library's own format; not timed."""
        return X

    def fit(self, X: np.ndarray, y: np.ndarray, work: Work) -> Any:
        """Train; this call, and nothing else, is timed."""
        raise NotImplementedError

    def predict(self, model: Any, X: np.ndarray, work: Work) -> np.ndarray:
        """Return probabilities (of the second class when there are two), or the mean."""
        raise NotImplementedError

    def one_row(self, model: Any, work: Work) -> OneRow:
        """Return the fastest documented call that predicts one row."""
        raise NotImplementedError


def estimator_predict(model: Any, X: np.ndarray, work: Work) -> np.ndarray:
    """Predict with an estimator that follows scikit-learn's interface."""
    if not work.n_classes:
        return np.asarray(model.predict(X))
    proba = np.asarray(model.predict_proba(X))
    return proba[:, 1] if work.task == "binary" else proba
