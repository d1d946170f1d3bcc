"""Which rows of a fit train, which decide when it stops, and which calibrate.

Rows are chosen by index before anything is learned from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.training.reading.folds import (
    Folds,
    automatic_folds,
    check_whole_groups,
    draw_held_groups,
    draw_held_out,
    fold_strata,
    make_folds,
)
from stagewise.training.reading.row_set import RowSet, rows_with_weight
from stagewise.training.reading.target_reader import Target
from stagewise.training.specs import HoldOutSpec

__all__ = ["RowDivision"]

Indices = npt.NDArray[np.uint32]

CALIBRATION = 1
"""The number of the draw of calibration rows; that of held-out rows is the seed itself."""


@dataclass(frozen=True, eq=False)
class RowDivision:
    """The rows of a fit by their use.

    Attributes
    ----------
    target : Target
        The targets of all rows.
    hold_out : HoldOutSpec
        How they are divided.
    seed : int
        The key of the draws.
    strata : array of shape (n_rows,)
        What is held out has the same shares of these.
    by_class : bool
        Whether the strata are classes.
    train, held, calibration : uint32 array or None
        The training rows (None: all), the rows that decide when the fit stops, and the rows of
        conformity scores (None: there are none).
    """

    target: Target
    hold_out: HoldOutSpec
    seed: int
    strata: npt.NDArray[Any]
    by_class: bool
    train: Indices | None
    held: Indices | None = None
    calibration: Indices | None = None

    @classmethod
    def of(cls, target: Target, hold_out: HoldOutSpec, seed: int) -> RowDivision:
        """Return all rows with a weight as training rows."""
        strata, by_class = fold_strata(target.y, by_class=target.classes is not None)
        rows = rows_with_weight(target.weight)
        return cls(target, hold_out, seed, strata, by_class, rows)

    def with_calibration(self) -> RowDivision:
        """Draw the rows of conformity scores from the training rows, if there shall be some."""
        share = self.hold_out.calibration
        if not share:
            return self
        draw = int(np.random.SeedSequence([self.seed, CALIBRATION]).generate_state(1)[0])
        train, kept = self._draw(share, draw, "conformal='split'")
        return replace(self, train=train, calibration=kept)

    def _draw(self, share: float, seed: int, option: str) -> tuple[Indices, Indices]:
        """Return the training rows without a share of them, and this share."""
        own = self.train, self.strata, share, seed
        return draw_held_out(*own, by_class=self.by_class, option=option)

    def with_held_out(self) -> RowDivision:
        """Draw the rows that decide when the fit stops from the training rows."""
        groups, share, option = self.target.groups, self.hold_out.fraction, self.hold_out.parameter
        if groups is None:
            train, held = self._draw(share, self.seed, option)
        else:
            train, held = draw_held_groups(self.train, groups, share, self.seed, option=option)
        return replace(self, train=train, held=held)

    @property
    def unused(self) -> Indices | None:
        """The rows that nothing is learned from, besides those without a weight."""
        if self.held is None or self.calibration is None:
            return self.calibration if self.held is None else self.held
        return np.concatenate([self.held, self.calibration])

    def folds(self, train: RowSet, groups: Any) -> Folds | None:
        """Return the folds of the training rows; None: a part of their size cannot be held out.

        Parameters
        ----------
        train : RowSet
            The training rows.
        groups : array or None
            The argument `groups` of `fit`, or the queries of a ranking.
        """
        divided = replace(train, y=self.strata if train.rows is None else self.strata[train.rows])
        own = divided, self.strata, groups, self.seed
        whole = self.target.groups
        if isinstance(self.hold_out.cv, str):
            parts, by_group = self.hold_out.parts, whole is not None
            found = automatic_folds(*own, by_class=self.by_class, parts=parts, by_group=by_group)
        else:
            found = make_folds(self.hold_out.cv, *own, by_class=self.by_class)
        if whole is not None and found is not None:
            check_whole_groups(found, whole if train.rows is None else whole[train.rows])
        return found
