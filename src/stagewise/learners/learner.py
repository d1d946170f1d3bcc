"""The protocols of learners: a learner, a learner bound to the rows of a fit, and a term."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.learners.tree_learner import NodeSums

__all__ = ["BoundLearner", "Learner", "Term"]

Vector = npt.NDArray[np.float64]


class Term(Protocol):
    """One term of the additive model: basis functions, and a value for each."""

    @property
    def value(self) -> Vector:
        """The values of the nodes of a tree, or the coefficients of the basis functions.

        A joint term has a column of values for each output.
        """

    @property
    def part(self) -> Any:
        """The part of the term that the model keeps."""

    def with_values(self, value: Vector) -> Any:
        """Return the same basis functions with other values."""


class BoundLearner(Protocol):
    """A learner bound to the rows of one fit."""

    def grow(
        self,
        derivatives: Any,
        bag: npt.NDArray[np.uint32] | None,
        seed: int,
        number: int,
    ) -> Any:
        """Fit the next term to the rows in the bag (None: all rows)."""

    def predictions(self, term: Any, source: Any) -> Vector:
        """Return the predictions of the last term, with its values, for the training rows.

        Here and below, `source` has the rows before they were encoded for the learner.
        """

    def node_sums(self, term: Any, derivatives: Gradients) -> NodeSums:
        """Return sums of derivatives over the regions of the last term."""

    def add(self, term: Any, source: Any, score: Vector) -> None:
        """Add the last term to the training scores."""

    def add_to_other_rows(self, term: Any, table: Any, source: Any, score: Vector) -> None:
        """Add a term to the scores of other rows."""


class Learner(Protocol):
    """Fits a term in every round."""

    def start(
        self,
        workers: Workers,
        table: Any,
        weight: Vector | None,
        classes: npt.NDArray[np.int32] | None,
        *,
        hessian_bound: float,
        hessian_is_weight: bool,
        outputs: int = 0,
        terms_per_round: int = 1,
    ) -> BoundLearner:
        """Return the learner bound to the rows of a fit; with classes, terms are classifiers.

        `outputs` is the number of outputs of a joint term; 0: a term has one output.
        """
