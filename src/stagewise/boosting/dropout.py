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
from stagewise.trees.tree import Tree

__all__ = ["Dropout", "DroppedRounds"]

Vector = npt.NDArray[np.float64]

STEP = 2.0**-36
"""Of scores, which are logarithms, or in units of about the target's spread."""
FARTHEST = 2.0**16
"""Scores up to here are less than 2^53 steps, so that float64 holds every one of them."""
COARSE = 2.0**20
"""A first tree whose values are all smaller than this many steps would lose its digits."""
RESCALE = "Scale y, give the loss a `degree` so that it is done here, or set dropout=None."


@dataclass(frozen=True)
class Dropout:
    """Which rounds are dropped, and what becomes of them (Rashmi & Gilad-Bachrach 2015).

    With k rounds dropped and the learning rate ν, the new round's trees b and the dropped ones are
    put into the model as

        "tree":    ν / (k + ν) · b    and    k / (k + ν) of what they were
        "forest":  ν / (1 + ν) · b    and    1 / (1 + ν)

    which for ν = 1 is the paper's 1/(k+1) and k/(k+1); with no round dropped, ν · b. These are the
    names and formulas that XGBoost documents.

    Parameters
    ----------
    rate : float
        The probability that a round is dropped; 0: there is no dropout.
    most : int or None
        The most that are dropped at once; None: any number.
    skip : float
        The probability that nothing is dropped in a round.
    normalization : {"tree", "forest"}
        Whether the new round weighs as much as one dropped round, or as all of them.
    """

    rate: float = 0.0
    most: int | None = 50
    skip: float = 0.5
    normalization: str = "tree"

    @property
    def words(self) -> str:
        """The dropout, for a recipe; empty if there is none."""
        if self.rate == 0:
            return ""
        most = "" if self.most is None else f", at most {self.most},"
        return f", {self.rate:.0%} of the rounds{most} dropped in {1 - self.skip:.0%} of them"

    def drawn(self, n_rounds: int, seed: int, number: int) -> list[int]:
        """Return which of the rounds so far are dropped for this one."""
        if self.rate == 0:
            return []
        drawn = draw_dropout(n_rounds, self.rate, self.most or 0, self.skip, seed, number)
        return [int(m) for m in drawn]

    def shares(self, dropped: int, learning_rate: float) -> tuple[float, float]:
        """Return what the new trees and the dropped ones are multiplied by."""
        if dropped == 0:
            return learning_rate, 1.0
        k = float(dropped) if self.normalization == "tree" else 1.0
        return learning_rate / (k + learning_rate), k / (k + learning_rate)

    @property
    def grain(self) -> float:
        """What trees say is a multiple of this; 0: as it comes."""
        return STEP if self.rate > 0 else 0.0

    def round_values(self, value: Vector) -> Vector:
        """Return values that can be taken out of a score and put back without a trace."""
        return value if self.rate == 0 else np.rint(value / STEP) * STEP

    def scale(self, tree: Tree, share: float) -> Tree:
        """Return a tree that says so much of what it did."""
        lines = None if tree.linear_leaves is None else tree.linear_leaves.scaled(share, self.grain)
        return replace(tree, value=self.round_values(share * tree.value), linear_leaves=lines)

    def check(self, value: Vector, score: npt.NDArray[np.float64], *, first: bool) -> None:
        """Raise ValueError if the values of a term, or the scores, do not fit the steps."""
        if self.rate == 0:
            return
        largest, farthest = float(np.abs(value).max()), float(np.abs(score).max())
        if (first and 0.0 < largest < COARSE * STEP) or not farthest < FARTHEST:
            raise ValueError(
                f"dropout=Dart(rate={self.rate:g}) keeps scores in steps of {STEP:.2g} up to "
                f"{FARTHEST:g}, and those of this loss are of the order of "
                f"{max(largest, farthest):.2g}. {RESCALE}"
            )


class DroppedRounds:
    """Rounds that are removed from the scores while another one is fitted.

    Parameters
    ----------
    rounds : sequence of int
        Which.
    ensemble : Ensemble
        Whose.
    samples : iterable of EncodedRows
        Whose scores they leave; each has its rows as the ensemble reads them.
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
        """Put the rounds back, multiplied by `share`, into the ensemble and into the scores."""
        if not self.rounds:
            return
        part = self._part
        trees = [dropout.scale(tree, share) for tree in part.trees]
        scaled = replace(part, trees=trees)
        self._ensemble.replace_rounds(self.rounds, scaled)
        self._add(scaled, 1.0)

    def _add(self, part: Ensemble, sign: float) -> None:
        for rows in self._samples:
            rows.score += sign * part.score(rows.source, self._workers).T
