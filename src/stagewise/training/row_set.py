"""From what `fit` was given to rows that can be boosted.

The one idea: rows are chosen by index (rows of weight zero are absent, held-out rows are elsewhere)
before anything is learned, so that everything that is learned (ranks of wide integers, cuts, offset
and scale of y, the best constant) comes from the training rows alone. Must not know parameters or
estimators.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

__all__ = [
    "Folds",
    "Sample",
    "counted_rows",
    "group_numbers",
    "hold_out",
    "make_folds",
    "out_of_fold",
]

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Sample:
    """Rows with target and weight, before binning.

    Parameters
    ----------
    columns : Columns, or what else can be asked for rows
        The features of all rows that were given.
    rows : uint32 array or None
        Those that this sample consists of; None: all.
    y : array
        Target or class codes of these rows.
    weight : float64 array or None
        Positive weights of these rows; None: all ones.
    """

    columns: Any
    rows: Indices | None
    y: npt.NDArray[Any]
    weight: Vector | None

    @classmethod
    def choose(
        cls, columns: Any, rows: Indices | None, y: npt.NDArray[Any], weight: Vector | None
    ) -> Sample:
        """Choose rows, none of weight zero, out of all that were given."""
        if rows is None:
            return cls(columns, None, y, weight)
        kept = None if weight is None else weight[rows]
        return cls(columns, rows, y[rows], None if kept is None or (kept == 1.0).all() else kept)

    def part(self, places: npt.NDArray[np.intp]) -> Sample:
        """Return the rows at some places of this sample."""
        rows = places.astype(np.uint32) if self.rows is None else self.rows[places]
        weight = None if self.weight is None else self.weight[places]
        return Sample(self.columns, rows, self.y[places], weight)

    def of(self, columns: Any) -> Sample:
        """Return the same rows of other columns."""
        return Sample(columns, self.rows, self.y, self.weight)

    def spread(self, values: Vector, n_rows: int) -> Vector:
        """Return what is known of these rows in the order of all that were given; else NaN."""
        whole = np.full((n_rows, *values.shape[1:]), np.nan)
        whole[slice(None) if self.rows is None else self.rows] = values
        return whole

    def table(self) -> Any:
        """Return the features of just these rows, without copying them."""
        return self.columns if self.rows is None else self.columns.take(self.rows)


def counted_rows(weight: Vector | None) -> Indices | None:
    """Leave out the rows of weight zero: they are absent, to the bit. None: there are none."""
    if weight is None or weight.min() > 0.0:
        return None
    return np.flatnonzero(weight > 0.0).astype(np.uint32)


def hold_out(
    rows: Indices | None,
    y: npt.NDArray[Any],
    share: float,
    seed: int,
    *,
    by_class: bool,
    option: str = "early_stopping=True",
) -> tuple[Indices, Indices]:
    """Split rows at random into training rows and held-out rows, each class alike if asked.

    Parameters
    ----------
    rows : uint32 array or None
        The rows to split; None: all.
    y : array
        Targets or class codes of all rows.
    share : float
        The share to hold out, in (0, 1); at least one row, and at least one stays.
    seed : int
        Keys the choice.
    by_class : bool
        Whether y holds class codes; every class then keeps at least one training row.
    option : str
        Which parameter wants it, for messages.
    """
    rows = np.arange(len(y), dtype=np.uint32) if rows is None else rows
    n = len(rows)
    if n < 2:
        raise ValueError(
            f"{option} holds rows out, and X has only one row (n_samples=1). Pass X_val and y_val "
            f"to fit, or do without {option}."
        )
    order = np.random.default_rng([seed, n]).permutation(n)
    held = np.zeros(n, dtype=bool)
    groups = y[rows[order]] if by_class else np.zeros(n, dtype=np.int32)
    for group in np.unique(groups):
        members = order[groups == group]
        held[members[: min(len(members) - 1, round(share * len(members)))]] = True
    if not held.any():
        counts = np.bincount(groups)
        if by_class and len(counts) > 2 and counts.max() == 1:
            raise ValueError(
                f"{option} holds rows out, and every class of y has only one row. Pass X_val and "
                f"y_val to fit, or do without {option}."
            )
        members = order[groups == int(np.argmax(counts))]
        held[members[: max(1, len(members) - 1) if n == 2 else 1]] = True
    return rows[~held], rows[held]


Folds = list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]


def make_folds(
    cv: Any, sample: Sample, y: npt.NDArray[Any], groups: Any, seed: int, *, by_class: bool
) -> Folds:
    """Return the folds of a sample as (training places, held-out places).

    Parameters
    ----------
    cv : int, splitter or list of pairs of indices
        A number of folds, drawn at random and each class alike; or what says them itself, of all
        rows that were given.
    sample : Sample
        The rows to divide.
    y : array
        Targets or class codes of all rows that were given.
    groups : array-like or None
        For every row that was given, the group that must not be torn apart.
    seed : int
        Keys the choice.
    by_class : bool
        Whether y holds class codes, all of which every training part must have.
    """
    own = None if groups is None else _read_groups(groups, len(y))
    if isinstance(cv, int):
        # Rows of weight 0 are absent, so they have no say in who is drawn.
        n = len(sample.y)
        if cv > n:
            raise ValueError(
                f"cv={cv} folds need at least {cv} rows; there are {n} (n_samples={n})."
            )
        largest = int(np.bincount(sample.y).max()) if by_class else n
        if cv > largest:
            raise ValueError(
                f"cv={cv} folds hold each class alike, and the largest class has only {largest} "
                "rows. Use fewer folds."
            )
        kind: Any = StratifiedKFold if by_class else KFold
        if own is not None:
            kind = StratifiedGroupKFold if by_class else GroupKFold
            own = own if sample.rows is None else own[sample.rows]
        folds = _split(kind(cv, shuffle=True, random_state=seed % 2**32), sample.y, own)
    else:
        place = np.full(len(y), -1, dtype=np.intp)
        place[slice(None) if sample.rows is None else sample.rows] = np.arange(len(sample.y))
        given = _split(check_cv(cv, y, classifier=by_class), y, own)
        folds = [(_known(place[train]), _known(place[held])) for train, held in given]
    for number, (train, held) in enumerate(folds, start=1):
        if not len(train) or not len(held):
            raise ValueError(f"fold {number} of cv has no rows to learn from or to hold out.")
        if by_class and len(np.unique(sample.y[train])) < len(np.unique(sample.y)):
            raise ValueError(
                f"a class has no row in the training part of fold {number}: it has too few rows "
                "for this many folds. Use fewer folds, or hold rows out in another way."
            )
    return folds


def out_of_fold(
    folds: Folds, said: Sequence[npt.NDArray[np.float64]], n_rows: int
) -> npt.NDArray[np.float64]:
    """Put what was said of the rows that each fold held out in the order of all rows.

    Parameters
    ----------
    folds : Folds
        Who was held out.
    said : sequence of float64 arrays of shape (n_outputs, n_held)
        One for each fold.
    n_rows : int
        How many rows there are.

    Returns
    -------
    float64 array of shape (n_outputs, n_rows)
        NaN where no fold held a row out.
    """
    scores = np.full((len(said[0]), n_rows), np.nan)
    for (_, held), own in zip(folds, said, strict=True):
        scores[:, held] = own
    return scores


def group_numbers(groups: Any, sample: Sample, n_rows: int) -> Indices:
    """Return the group of every row of a sample, numbered in the order of what they are called.

    Parameters
    ----------
    groups : array-like
        The group of every row that was given.
    sample : Sample
        The rows to number.
    n_rows : int
        How many rows were given.
    """
    own = _read_groups(groups, n_rows)
    own = own if sample.rows is None else own[sample.rows]
    return np.unique(own, return_inverse=True)[1].astype(np.uint32)


def _read_groups(groups: Any, n_rows: int) -> npt.NDArray[Any]:
    own = np.asarray(groups)
    if own.shape != (n_rows,):
        raise ValueError(
            f"groups has shape {own.shape}; expected one entry for each of {n_rows} rows."
        )
    return own


def _known(places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    return places[places >= 0]


def _split(splitter: Any, y: npt.NDArray[Any], groups: Any) -> Folds:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # answered later
        pairs = list(splitter.split(np.zeros((len(y), 1)), y, groups))
    folds = []
    for number, pair in enumerate(pairs, start=1):
        train, held = (np.asarray(part) for part in pair)
        train, held = (np.flatnonzero(p) if p.dtype == bool else np.sort(p) for p in (train, held))
        both = np.concatenate([train, held])
        whole = all(np.issubdtype(p.dtype, np.integer) for p in (train, held))
        if not whole or (len(both) and not 0 <= both.min() <= both.max() < len(y)):
            raise ValueError(
                f"fold {number} of cv must be two lists of row numbers below {len(y)}."
            )
        if len(np.unique(both)) < len(both):
            raise ValueError(f"fold {number} of cv has a row twice, or in both of its parts.")
        folds.append((train.astype(np.intp), held.astype(np.intp)))
    return folds
