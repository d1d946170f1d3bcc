"""The rounds that a fit has so far, from which another fit of the same rows can resume.

The scores of the rows are not kept: the trees are added to them again, in the same order, so the
resumed fit has the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from stagewise._native import BinLayout, GrownTree
from stagewise.trees.tree import Tree

__all__ = ["STAGES", "Checkpoints", "Rounds", "binned_tree"]

STAGES = ("search", "model")
"""The fit that chooses the number of rounds, and that of the model."""


@dataclass(frozen=True)
class Rounds:
    """The trees and the losses of the first rounds of a fit.

    Attributes
    ----------
    n : int
        The number of rounds.
    trees : list of Tree
        Round by round.
    train_loss, valid_loss : list of float
        The losses after each round; valid_loss is empty without validation rows.
    """

    n: int
    trees: list[Tree]
    train_loss: list[float]
    valid_loss: list[float]


class Checkpoints(Protocol):
    """What keeps the rounds of a fit while it runs, stage by stage; see `STAGES`."""

    def load(self, stage: str) -> Rounds | None:
        """Return the rounds of a stage to resume from; None: there are none."""

    def save(self, stage: str, rounds: Rounds) -> None:
        """Keep the rounds of a stage so far; it is called if the fit goes on after them."""

    def rows_are_stored(self) -> None:
        """Release the rows as they were read: they will not be read again."""


def binned_tree(layout: BinLayout, tree: Tree) -> tuple[GrownTree, npt.NDArray[np.float64]]:
    """Return a tree of a model as rows of a store descend it, and the values of its nodes."""
    sets = tree.category_sets
    grown = layout.tree(
        tree.feature,
        tree.threshold,
        tree.missing_left,
        tree.left,
        tree.right,
        None if sets is None else sets.start,
        None if sets is None else sets.bits,
    )
    return grown, tree.value
