"""DART: a round is fitted without some of the earlier rounds.

The dropped rounds are subtracted from the scores before a round is fitted, and added again, scaled,
after it. The values of trees are multiples of STEP, so that sums of them are exact in any order and
a continued fit has the same scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Workers, draw_dropout
from stagewise.model.ensemble import Ensemble
from stagewise.model.tree_list import TreeList
from stagewise.trees.tree import Tree

__all__ = ["Dropout", "DroppedRounds"]

Vector = npt.NDArray[np.float64]

STEP = 2.0**-36
"""The step of scores, which are logarithms, or in units of about the target's spread."""
MAX_SCORE = 2.0**16
"""Scores up to this are less than 2^53 steps, so that float64 represents every step."""
MIN_STEPS = 2.0**20
"""A first tree whose values are all smaller than this many steps would lose precision."""
RESCALE = "Scale y, give the loss a `degree` so that y is scaled here, or set dropout=None."


@dataclass(frozen=True)
class Dropout:
    """Which rounds are dropped, and how they are scaled afterwards (Rashmi & Gilad-Bachrach 2015).

    With k rounds dropped and the learning rate ν, the trees b of the new round and the dropped
    trees d enter the model as

        "tree":    ν / (k + ν) · b    and    k / (k + ν) · d
        "forest":  ν / (1 + ν) · b    and    1 / (1 + ν) · d

    which for ν = 1 is the paper's 1/(k+1) and k/(k+1); with no round dropped, ν · b. These are the
    names and formulas that XGBoost documents.

    Parameters
    ----------
    rate : float
        The probability that a round is dropped; 0: there is no dropout.
    most : int or None
        The largest number of rounds that are dropped at once; None: any number.
    skip : float
        The probability that no round is dropped in a round.
    normalization : {"tree", "forest"}
        Whether the new round has the weight of one dropped round, or of all of them.
    """

    rate: float = 0.0
    most: int | None = 50
    skip: float = 0.5
    normalization: str = "tree"

    @property
    def description(self) -> str:
        """The dropout as a part of `recipe()`; empty if there is none."""
        if self.rate == 0:
            return ""
        most = "" if self.most is None else f", at most {self.most},"
        return f", {self.rate:g} of the rounds{most} dropped in {1 - self.skip:g} of them"

    def drawn(self, n_rounds: int, seed: int, number: int) -> list[int]:
        """Return the rounds that are dropped while round `number` is fitted."""
        if self.rate == 0:
            return []
        drawn = draw_dropout(n_rounds, self.rate, self.most or 0, self.skip, seed, number)
        return [int(m) for m in drawn]

    def shares(self, dropped: int, learning_rate: float) -> tuple[float, float]:
        """Return the factors of the new trees and of the dropped ones."""
        if dropped == 0:
            return learning_rate, 1.0
        k = float(dropped) if self.normalization == "tree" else 1.0
        return learning_rate / (k + learning_rate), k / (k + learning_rate)

    @property
    def grain(self) -> float:
        """The values of trees are multiples of this; 0: they are not rounded."""
        return STEP if self.rate > 0 else 0.0

    def round_values(self, value: Vector) -> Vector:
        """Return rounded values, which can be subtracted from a score and added back exactly."""
        return value if self.rate == 0 else np.rint(value / STEP) * STEP

    def scale(self, tree: Tree, share: float) -> Tree:
        """Return a tree with all values multiplied by `share`."""
        leaves = tree.linear_leaves
        leaves = None if leaves is None else leaves.scaled(share, self.grain)
        return replace(tree, value=self.round_values(share * tree.value), linear_leaves=leaves)

    def check(self, value: Vector, score: npt.NDArray[np.float64], *, first: bool) -> None:
        """Raise ValueError if the values of a term are too small, or the scores too large."""
        if self.rate == 0:
            return
        largest, farthest = float(np.abs(value).max()), float(np.abs(score).max())
        if (first and 0.0 < largest < MIN_STEPS * STEP) or not farthest < MAX_SCORE:
            raise ValueError(
                f"dropout=Dart(rate={self.rate:g}) rounds scores to steps of {STEP:.2g} and needs "
                "scores below "
                f"{MAX_SCORE:g}; those of this loss are of the order of "
                f"{max(largest, farthest):.2g}. "
                f"{RESCALE}"
            )


class DroppedRounds:
    """Rounds that are removed from the scores while another one is fitted.

    Parameters
    ----------
    rounds : sequence of int
        The dropped rounds.
    ensemble : Ensemble
        The ensemble that they belong to.
    samples : iterable of EncodedRows
        The rows whose scores are changed.
    workers : Workers
        The threads.
    """

    def __init__(
        self, rounds: Sequence[int], ensemble: Any, samples: Iterable[Any], workers: Workers
    ) -> None:
        self.rounds, self._ensemble, self._samples = rounds, ensemble, list(samples)
        self._workers = workers
        if rounds:
            self._part: Ensemble = ensemble.select_rounds(rounds)
            self._add(self._part, -1.0)

    def restore(self, dropout: Dropout, share: float) -> None:
        """Add the rounds, multiplied by `share`, to the ensemble and to the scores again."""
        if not self.rounds:
            return
        part = self._part
        trees = [dropout.scale(tree, share) for tree in part.trees]
        scaled = replace(part, trees=TreeList(trees))
        self._ensemble.replace_rounds(self.rounds, scaled)
        self._add(scaled, 1.0)

    def _add(self, part: Ensemble, sign: float) -> None:
        for rows in self._samples:
            rows.score += sign * part.score(rows.source, self._workers)
