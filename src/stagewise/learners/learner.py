"""What the loop asks of a learner, whatever it is."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stagewise._native import Gradients, Workers
from stagewise.learners.histogram_tree import NodeSums

__all__ = ["BoundLearner", "Learner", "Term"]

Vector = npt.NDArray[np.float64]


class Term(Protocol):
    """One term of the additive model: basis functions, and a value for each."""

    @property
    def value(self) -> Vector:
        """The values: of the nodes of a tree, or what a prediction is multiplied by.

        Of a joint term there is a column of them for each output.
        """

    @property
    def part(self) -> Any:
        """What the model keeps."""

    def with_values(self, value: Vector) -> Any:
        """Return the same basis functions with other values."""


class BoundLearner(Protocol):
    """A learner at work on the rows of one fit."""

    def grow(
        self,
        derivatives: Any,
        bag: npt.NDArray[np.uint32] | None,
        seed: int,
        number: int,
    ) -> Any:
        """Fit the next term to the rows in the bag (None: all rows)."""

    def predictions(self, term: Any, source: Any) -> Vector:
        """Return what the last term, with its values, says of the training rows.

        Here and below, `source` has rows before they were made ready for the learner.
        """

    def node_sums(self, term: Any, derivatives: Gradients) -> NodeSums:
        """Return sums of derivatives over the regions of the last term."""

    def add(self, term: Any, source: Any, score: Vector) -> None:
        """Add the last term to the training scores."""

    def add_to_other_rows(self, term: Any, table: Any, source: Any, score: Vector) -> None:
        """Add a term to the scores of other rows."""


class Learner(Protocol):
    """What is fitted in every round."""

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
    ) -> BoundLearner:
        """Begin a fit on these rows; with classes, terms tell these apart.

        `outputs`: of how many a term has values, where terms are joint; 0: they are not.
        """
