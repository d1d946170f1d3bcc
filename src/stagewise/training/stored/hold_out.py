"""The division of the rows of a dataset: the held-out rows are those of a table in memory.

Every row is drawn by a hash of its number, so a rank divides the rows that it reads by itself;
only counts, the largest hashes and the rows of rare classes are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import held_out_draws
from stagewise.training.reading.folds import (
    FEW_OF_STRATUM,
    MANY_ROWS,
    PARTS_OF_MANY,
    FoldSizes,
    deal_few,
    fold_of_many,
    refuse_single_rows,
    signs,
)
from stagewise.training.specs import HoldOutSpec
from stagewise.training.stored.dataset_rows import DatasetRows
from stagewise.training.stored.dataset_target import DatasetTarget
from stagewise.training.stored.needs_memory import NeedsRowsInMemoryError
from stagewise.training.stored.row_parts import HELD, LEARNED, OTHER, RowParts

__all__ = ["DatasetFold", "DividedRows", "hold_out"]

Vector = npt.NDArray[np.float64]
Parts = npt.NDArray[np.intp]


@dataclass(frozen=True)
class DatasetFold:
    """The fold that chooses the number of rounds.

    Attributes
    ----------
    learned : DatasetTarget
        The training rows that the model of the fold is fitted to.
    held : DatasetTarget or DatasetRows
        The training rows that it holds out, before and after the features are known.
    """

    learned: DatasetTarget
    held: DatasetTarget | DatasetRows

    @property
    def sizes(self) -> FoldSizes:
        """The numbers of rows."""
        return FoldSizes(self.learned.n_rows, self.held.n_rows)


@dataclass(frozen=True)
class DividedRows:
    """The rows of a dataset that a model is fitted to, and those that are held out.

    Attributes
    ----------
    train : DatasetTarget
        The rows that the model is fitted to.
    held : DatasetTarget or None
        Other rows, which stop the fit; None: there are none.
    fold : DatasetFold or None
        A division of the training rows, which chooses the number of rounds; None: there is none.
    """

    train: DatasetTarget
    held: DatasetTarget | None = None
    fold: DatasetFold | None = None


def hold_out(target: DatasetTarget, spec: HoldOutSpec, seed: int) -> DividedRows:
    """Divide the rows of a dataset as `read_training_data` divides those of a table.

    Parameters
    ----------
    target : DatasetTarget
        The rows of positive weight.
    spec : HoldOutSpec
        Which rows are held out.
    seed : int
        The key of the draws.

    Raises
    ------
    NeedsRowsInMemoryError
        If the rows are few, or the folds are not those of "auto".
    """
    if spec.kind == "none":
        return DividedRows(target)
    if target.n_rows <= MANY_ROWS:
        raise NeedsRowsInMemoryError(
            f"{spec.parameter} with at most {MANY_ROWS:,} rows",
            "pass X_val, or set n_estimators to a number and early_stopping=False",
        )
    draws = _Draws(target, seed)
    if spec.kind == "fraction":
        of_rows = target.divide(draws.fraction(spec.fraction, spec.parameter))
        return DividedRows(
            target.part(RowParts(of_rows, (LEARNED,))), target.part(RowParts(of_rows, (HELD,)))
        )
    if not isinstance(spec.cv, str) or spec.parts is not None:
        raise NeedsRowsInMemoryError(
            "early stopping by several folds", "set early_stopping=True, which holds rows out"
        )
    part_of = draws.fold()
    if part_of is None:
        return DividedRows(target)
    of_rows = target.divide(part_of)
    held, learned = (target.part(RowParts(of_rows, (part,))) for part in (HELD, LEARNED))
    return DividedRows(target, fold=DatasetFold(learned, held))


class _Draws:
    """The hashes of the rows of a dataset, by which they are divided."""

    def __init__(self, target: DatasetTarget, seed: int) -> None:
        self._target, self._seed = target, seed
        self._peers = target.peers

    def of(self, first: int, n: int) -> Vector:
        """Return the hashes of n rows that this rank reads, each in [0, 1)."""
        runs = self._target.placement.runs(first, n)
        each = [held_out_draws(rows, self._seed, number) for number, rows in runs]
        return np.concatenate([np.empty(0), *each])

    def _blocks(self) -> Any:
        """Return the strata and the hashes of the rows, in blocks."""
        first = 0
        for y in self._target.y.blocks():
            yield self._strata(y), self.of(first, len(y))
            first += len(y)

    def _strata(self, y: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        return signs(y) if self._target.classes is None else y.astype(np.intp)

    @property
    def _n_strata(self) -> int:
        return 3 if self._target.classes is None else len(self._target.classes)

    # ---- a fraction of the rows --------------------------------------------------------------

    def fraction(self, share: float, option: str) -> Any:
        """Return a function that returns the parts of rows; see `draw_held_out`."""
        of_classes = self._target.classes is not None
        largest = self._largest(of_classes=of_classes)

        def others(codes: npt.NDArray[np.intp], draws: Vector) -> npt.NDArray[np.bool_]:
            return draws < (largest[codes] if of_classes else largest[0])

        # The rows that may be held out, in the order of their hashes: the smallest one of all.
        smallest = [draws[others(codes, draws)].min(initial=1.0) for codes, draws in self._blocks()]
        least = min(self._peers.gather(min(smallest, default=1.0)))
        if least == 1.0:
            refuse_single_rows(option)

        def part_of(y: npt.NDArray[Any], first: int, n: int) -> npt.NDArray[Any]:
            draws = self.of(first, n)
            held = others(self._strata(y), draws) & ((draws < share) | (draws == least))
            return np.where(held, HELD, LEARNED)

        return part_of

    def _largest(self, *, of_classes: bool) -> Vector:
        """Return the largest hash of each class, or of all rows."""
        largest = np.zeros(self._n_strata if of_classes else 1)
        for codes, draws in self._blocks():
            np.maximum.at(largest, codes if of_classes else np.zeros_like(codes), draws)
        return np.asarray(np.max(self._peers.gather(largest), axis=0))

    # ---- a fold ------------------------------------------------------------------------------

    def fold(self) -> Any:
        """Return a function that returns the parts of rows; None: see `automatic_folds`."""
        totals = np.zeros(self._n_strata, dtype=np.int64)
        for strata, _ in self._blocks():
            totals += np.bincount(strata, minlength=len(totals))
        self._peers.sum(totals)
        if self._target.classes is not None and (totals > 0).sum() == 1:
            return None
        few = self._deal_few(totals)
        counts = np.zeros((len(totals), PARTS_OF_MANY + 1), dtype=np.int64)
        for strata, draws in self._blocks():
            np.add.at(counts, (strata, self._dealt(strata, draws, totals, few)), 1)
        flat = counts.reshape(-1)
        self._peers.sum(flat)
        found = fold_of_many(flat.reshape(counts.shape))
        if found is None:
            return None
        learned, held = found

        def part_of(y: npt.NDArray[Any], first: int, n: int) -> npt.NDArray[Any]:
            dealt = self._dealt(self._strata(y), self.of(first, n), totals, few)
            chosen = np.where(np.isin(dealt, learned), LEARNED, OTHER)
            return np.where(np.isin(dealt, held), HELD, chosen)

        return part_of

    def _deal_few(self, totals: npt.NDArray[np.int64]) -> dict[int, tuple[Vector, Parts]]:
        """Return the hashes of the rows of each small stratum, in order, and their parts."""
        few = np.flatnonzero((totals > 0) & (totals <= FEW_OF_STRATUM)).tolist()
        own: dict[int, list[Vector]] = {stratum: [] for stratum in few}
        for strata, draws in self._blocks() if few else ():
            for stratum in few:
                own[stratum].append(draws[strata == stratum])
        merged = self._peers.gather(own)
        dealt = {}
        for stratum in few:
            draws = np.sort(np.concatenate([part for ranks in merged for part in ranks[stratum]]))
            dealt[stratum] = draws, deal_few(draws, PARTS_OF_MANY)
        return dealt

    def _dealt(
        self,
        strata: npt.NDArray[np.intp],
        draws: Vector,
        totals: npt.NDArray[np.int64],
        few: dict[int, tuple[Vector, Parts]],
    ) -> Parts:
        """Return the part of each row; see `_deal` of tables in memory."""
        parts = np.floor(draws * PARTS_OF_MANY).astype(np.intp)
        for stratum, (known, dealt) in few.items():
            own = strata == stratum
            parts[own] = dealt[np.searchsorted(known, draws[own])]
        parts[totals[strata] == 1] = -1
        return parts
