"""Held-out rows: a random share, or the folds of a cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from stagewise._native import held_out_draws
from stagewise.data.ranking import read_keys
from stagewise.training.reading.row_set import RowSet

__all__ = [
    "FoldSizes",
    "Folds",
    "automatic_folds",
    "check_whole_groups",
    "deal_few",
    "draw_held_groups",
    "draw_held_out",
    "fold_of_many",
    "fold_sizes",
    "fold_strata",
    "group_numbers",
    "make_folds",
    "out_of_fold",
    "refit_rounds",
    "refuse_single_rows",
    "signs",
]

Indices = npt.NDArray[np.uint32]
Folds = list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]
"""(positions of training rows, positions of held-out rows) of each fold."""


class FoldSizes(NamedTuple):
    """The numbers of training rows and of held-out rows of a fold."""

    learned: int
    held: int


LEAST_ROWS = 50
"""With fewer rows, no row is held out automatically."""
FEW_ROWS = 2000
"""With fewer rows, every row is held out automatically, in folds; otherwise a fifth of them."""
MANY_ROWS = 50_000
"""With more rows, a tenth of them is held out, and a quarter is fitted."""
PARTS_OF_MANY, HELD_PARTS, USED_PARTS = 20, 2, 7
"""The same, as numbers of equal parts: 2 of 20 are held out, and the next 5 are fitted."""
PARTS = 5
"""The number of automatic folds, unless it is given."""

FEW_OF_STRATUM = 1000
"""The items of a small stratum, whose parts have equal sizes."""


def fold_strata(y: npt.NDArray[Any], *, by_class: bool) -> tuple[npt.NDArray[Any], bool]:
    """Return the values by which held-out rows are chosen, and whether they are class codes.

    They are the targets, and of times until an event the codes of the events.
    """
    if y.dtype.names is None or "event" not in y.dtype.names:
        return y, by_class
    codes = np.ascontiguousarray(y["event"])
    return codes, bool((codes != codes[:1]).any())


def refuse_single_rows(option: str) -> NoReturn:
    """Raise since no row can be held out; `option` is the parameter that holds rows out."""
    raise ValueError(
        f"{option} holds rows out, but every class of y has only one row. Pass X_val and y_val to "
        f"fit, or do not set {option}."
    )


def draw_held_out(
    rows: Indices | None,
    y: npt.NDArray[Any],
    share: float,
    seed: int,
    *,
    by_class: bool,
    option: str = "early_stopping=True",
) -> tuple[Indices, Indices]:
    """Split rows at random into training rows and held-out rows, stratified with `by_class`.

    More than `MANY_ROWS` rows are drawn by hashes of their numbers, each by itself, so the share is
    only approximate, in all rows and in every class.

    Parameters
    ----------
    rows : uint32 array or None
        The rows to split; None: all.
    y : array
        Targets or class codes of all rows.
    share : float
        The fraction to hold out, in (0, 1). At least one row is held out, and at least one is not.
    seed : int
        The seed of the split.
    by_class : bool
        Whether y has class codes; every class then keeps at least one training row.
    option : str
        The parameter that holds rows out, for messages.
    """
    rows = np.arange(len(y), dtype=np.uint32) if rows is None else rows
    n = len(rows)
    if n < 2:
        raise ValueError(
            f"{option} holds rows out, but X has only one row (n_samples=1). Pass X_val and y_val "
            f"to fit, or do not set {option}."
        )
    if n > MANY_ROWS:
        held = _draw_many(y[rows] if by_class else np.zeros(n, np.intp), share, seed, option)
        return rows[~held], rows[held]
    order = np.random.default_rng([seed, n]).permutation(n)
    held = np.zeros(n, dtype=bool)
    groups = y[rows[order]] if by_class else np.zeros(n, dtype=np.int32)
    for group in np.unique(groups):
        rows_of_group = order[groups == group]
        held[rows_of_group[: min(len(rows_of_group) - 1, round(share * len(rows_of_group)))]] = True
    if not held.any():
        counts = np.bincount(groups)
        if by_class and len(counts) > 2 and counts.max() == 1:
            refuse_single_rows(option)
        rows_of_group = order[groups == int(np.argmax(counts))]
        held[rows_of_group[: max(1, len(rows_of_group) - 1) if n == 2 else 1]] = True
    return rows[~held], rows[held]


def draw_held_groups(
    rows: Indices | None,
    groups: npt.NDArray[Any],
    share: float,
    seed: int,
    *,
    option: str = "early_stopping=True",
) -> tuple[Indices, Indices]:
    """Split rows at random into training rows and held-out rows; rows of a group stay together.

    Parameters
    ----------
    rows : uint32 array or None
        The rows to split; None: all.
    groups : array
        The group of every row, such as its query.
    share : float
        The fraction of the groups to hold out, in (0, 1). One of them at least is held out.
    seed : int
        The seed of the split.
    option : str
        The parameter that holds rows out, for messages.
    """
    rows = np.arange(len(groups), dtype=np.uint32) if rows is None else rows
    names, own = np.unique(groups[rows], return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"{option} holds whole queries out, but there is only one. Pass X_val and y_val to "
            f"fit, or do not set {option}."
        )
    _, held = draw_held_out(None, names, share, seed, by_class=False, option=option)
    chosen = np.zeros(len(names), dtype=bool)
    chosen[held] = True
    return rows[~chosen[own]], rows[chosen[own]]


def _draw_many(
    codes: npt.NDArray[Any], share: float, seed: int, option: str
) -> npt.NDArray[np.bool_]:
    """Return which of many rows are held out: each by a hash of its number.

    The row of each class that has the largest hash is a training row. If no hash is below the
    share, the smallest one of the other rows is held out.
    """
    draws = held_out_draws(len(codes), seed)
    largest = np.zeros(int(codes.max()) + 1)
    np.maximum.at(largest, codes, draws)
    others = draws < largest[codes]
    if not others.any():
        refuse_single_rows(option)
    held = others & (draws < share)
    if not held.any():
        held[np.argmin(np.where(others, draws, 1.0))] = True
    return np.asarray(held)


def make_folds(
    cv: Any, rows: RowSet, y: npt.NDArray[Any], groups: Any, seed: int, *, by_class: bool
) -> Folds:
    """Return the folds of rows as pairs of (training positions, held-out positions).

    Parameters
    ----------
    cv : int, splitter or list of pairs of indices
        The number of folds, which are then drawn at random, stratified with `by_class`; or a
        splitter, or the folds, of all rows that were passed.
    rows : RowSet
        The rows to divide.
    y : array
        Targets or class codes of all rows that were passed.
    groups : array-like or None
        The group of every row that was passed; all rows of a group are in one fold.
    seed : int
        The seed of the draw.
    by_class : bool
        Whether y has class codes; the training rows of every fold must then have all classes.
    """
    own = None if groups is None else read_keys(groups, len(y), "groups")
    if isinstance(cv, int):
        # Rows of weight 0 are absent, so they must not change the folds of the others.
        n = len(rows.y)
        if cv > n:
            raise ValueError(
                f"cv={cv} folds need at least {cv} rows; there are {n} (n_samples={n})."
            )
        largest = int(np.bincount(rows.y).max()) if by_class else n
        if cv > largest:
            raise ValueError(
                f"cv={cv} folds are stratified by class, and the largest class has only {largest} "
                "rows. Use fewer folds."
            )
        kind: Any = StratifiedKFold if by_class else KFold
        if own is not None:
            kind = StratifiedGroupKFold if by_class else GroupKFold
            own = own if rows.rows is None else own[rows.rows]
            check_number_of_groups(cv, own, (y.dtype.names or ()))
        folds = _split(kind(cv, shuffle=True, random_state=seed % 2**32), rows.y, own)
    else:
        place = np.full(len(y), -1, dtype=np.intp)
        place[slice(None) if rows.rows is None else rows.rows] = np.arange(len(rows.y))
        given = _split(check_cv(cv, y, classifier=by_class), y, own)
        folds = [(_known(place[train]), _known(place[held])) for train, held in given]
    for number, (train, held) in enumerate(folds, start=1):
        if not len(train) or not len(held):
            raise ValueError(f"fold {number} of cv has no training rows or no held-out rows.")
        if by_class and len(np.unique(rows.y[train])) < len(np.unique(rows.y)):
            raise ValueError(
                f"a class has no training row in fold {number}: it has too few rows for this many "
                "folds. Use fewer folds, or another splitter."
            )
    return folds


def check_number_of_groups(cv: int, groups: npt.NDArray[Any], fields: tuple[str, ...]) -> None:
    """Raise ValueError if there are fewer groups than folds."""
    n = len(np.unique(groups))
    if cv > n:
        what = "queries" if "query" in fields else "groups"
        raise ValueError(
            f"{cv} folds need at least {cv} {what}, which are never divided; there are {n}. Set "
            f"early_stopping to a number of folds up to {n}, or to False, or pass more {what}."
        )


def automatic_folds(
    rows: RowSet,
    y: npt.NDArray[Any],
    groups: Any,
    seed: int,
    *,
    by_class: bool,
    parts: int | None = None,
    by_group: bool = False,
) -> Folds | None:
    """Return the folds that choose a number of rounds; None: there are too few rows.

    Parameters
    ----------
    rows : RowSet
        The rows to divide.
    y : array
        Targets or class codes of all rows that were passed.
    groups : array-like or None
        The group of every row that was passed; all rows of a group are in one fold.
    seed : int
        The seed of the draw.
    by_class : bool
        Whether y has class codes. Every class keeps a training row in every fold; of numbers, those
        below 0, equal to 0 and above 0 are treated as classes.
    parts : int or None
        The number of folds; None: five if there are fewer than 2000 rows, otherwise one that holds
        a fifth of them out, or a tenth of more than 50,000 rows. In that case only a quarter of
        the rows is fitted.
    by_group : bool
        Whether a group rather than a row is an observation, so that there are five folds if there
        are fewer than 2000 groups.
    """
    n = n_observed = len(rows.y)
    strata = rows.y if by_class else signs(rows.y)
    many = parts is None and n > MANY_ROWS
    n_parts = PARTS_OF_MANY if many else parts or PARTS
    if groups is not None:
        own = group_numbers(groups, rows, len(y))
        n_groups = int(own.max()) + 1
        n_observed = n_groups if by_group else n
        part = _deal(np.zeros(n_groups, dtype=np.intp), seed, n_parts)[own]
    if n < LEAST_ROWS or (by_class and len(np.unique(strata)) == 1):
        return None
    kept = PARTS if n_observed < FEW_ROWS else 1
    if groups is None:
        part = _deal(strata, seed, n_parts)
    if many:
        counts = np.zeros((int(strata.max()) + 1, PARTS_OF_MANY + 1), dtype=np.int64)
        np.add.at(counts, (strata, part), 1)
        found = fold_of_many(counts)
        if found is None:
            return None
        return [(np.flatnonzero(np.isin(part, found[0])), np.flatnonzero(np.isin(part, found[1])))]
    folds = []
    for number in range(parts or PARTS):
        train, held = np.flatnonzero(part != number), np.flatnonzero(part == number)
        complete = len(np.unique(strata[train])) == len(np.unique(strata))
        if len(held) and len(train) and complete:
            folds.append((train, held))
    return folds[: parts or kept] or None


def check_whole_groups(folds: Folds, groups: npt.NDArray[Any]) -> None:
    """Raise ValueError if a fold divides a query; `groups` has the query of every row."""
    for number, (train, held) in enumerate(folds, start=1):
        both = np.intersect1d(groups[train], groups[held])
        if len(both):
            row = int(train[np.argmax(groups[train] == both[0])])
            raise ValueError(
                f"fold {number} of cv divides {len(both)} queries, such as that of row {row}. Keep "
                "the rows of a query in one part: use a number of folds, or GroupKFold."
            )


def fold_of_many(counts: npt.NDArray[np.int64]) -> tuple[list[int], list[int]] | None:
    """Return the parts of many rows that a fold is fitted to, and those that it holds out.

    A tenth of the rows is held out, and a quarter is fitted. If a class is rare, or groups are few
    or unequal, a fifth is held out and the rest is fitted.

    Parameters
    ----------
    counts : int64 array of shape (n_strata, PARTS_OF_MANY + 1)
        The number of rows of each stratum in each part. The last column, part -1, is always fitted.

    Returns
    -------
    learned, held : list of int
        The parts; None: there is no such fold.
    """
    n, occupied = int(counts.sum()), counts.sum(axis=1) > 0

    def rows(parts: list[int]) -> int:
        return int(counts[:, parts].sum())

    def complete(parts: list[int]) -> bool:
        return bool((counts[occupied][:, parts].sum(axis=1) > 0).all())

    learned, held = [-1, *range(HELD_PARTS, USED_PARTS)], list(range(HELD_PARTS))
    enough = rows(learned) > n / PARTS_OF_MANY * 3 and rows(held) > n / PARTS_OF_MANY
    if complete(learned) and enough and rows(held) < rows(learned):
        return learned, held
    for number in range(PARTS):
        held = list(range(number, PARTS_OF_MANY, PARTS))
        learned = [part for part in range(-1, PARTS_OF_MANY) if part not in held]
        if rows(held) and rows(learned) and complete(learned):
            return learned, held
    return None


def signs(y: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return 0, 1 or 2 for targets below, equal to and above 0.

    Of several targets, and of targets with fields, it is always 0.
    """
    if y.ndim > 1 or y.dtype.names is not None:
        return np.zeros(len(y), dtype=np.intp)
    return np.asarray(np.sign(y) + 1, dtype=np.intp)


def deal_few(draws: npt.NDArray[np.float64], parts: int) -> npt.NDArray[np.intp]:
    """Return the parts of the items of a small stratum: in turn, in the order of their hashes."""
    dealt = np.empty(len(draws), dtype=np.intp)
    dealt[np.argsort(draws, kind="stable")] = (np.arange(len(draws)) + HELD_PARTS) % parts
    return dealt


def _deal(strata: npt.NDArray[Any], seed: int, parts: int) -> npt.NDArray[np.intp]:
    """Return the part of every item: items of a stratum are dealt in turn, in random order.

    The only item of a stratum is in no part, -1. Many items are dealt by hashes of their numbers,
    each by itself; those of a small stratum in turn, in the order of their hashes.
    """
    if len(strata) > MANY_ROWS:
        draws = held_out_draws(len(strata), seed)
        dealt = np.floor(draws * parts).astype(np.intp)
        counts = np.bincount(strata)
        for stratum in np.flatnonzero(counts <= FEW_OF_STRATUM):
            items = np.flatnonzero(strata == stratum)
            dealt[items] = deal_few(draws[items], parts)
        dealt[counts[strata] == 1] = -1
        return dealt
    order = np.random.default_rng([seed, len(strata)]).permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    part = np.empty(len(strata), dtype=np.intp)
    part[order] = np.arange(len(strata)) % parts
    part[np.bincount(strata)[strata] == 1] = -1
    return part


def fold_sizes(folds: Folds) -> list[FoldSizes]:
    """Return the sizes of folds."""
    return [FoldSizes(len(learned), len(held)) for learned, held in folds]


def refit_rounds(best: int, folds: Sequence[FoldSizes], n_rows: int) -> int:
    """Return the number of rounds of a model of all rows, from the best number of the folds.

    More rows permit more rounds: the number grows as the square root of the number of rows, which
    is 1.12 times for models of four fifths of them.
    """
    learned = np.mean([sizes.learned for sizes in folds])
    return max(1, round(best * float(np.sqrt(n_rows / learned))))


def out_of_fold(
    folds: Folds, scores: Sequence[npt.NDArray[np.float64]], n_rows: int
) -> npt.NDArray[np.float64]:
    """Return the scores of held-out rows in the order of all rows.

    Parameters
    ----------
    folds : Folds
        The folds.
    scores : sequence of float64 arrays of shape (n_held, n_outputs)
        The scores of each fold.
    n_rows : int
        The number of rows.

    Returns
    -------
    float64 array of shape (n_rows, n_outputs)
        The mean over the folds that held a row out; NaN for rows that no fold held out.
    """
    total, times = np.zeros((n_rows, scores[0].shape[1])), np.zeros((n_rows, 1))
    for (_, held), own in zip(folds, scores, strict=True):
        total[held] += own
        times[held] += 1
    return np.divide(total, times, out=np.full_like(total, np.nan), where=times > 0)


def group_numbers(groups: Any, rows: RowSet, n_rows: int) -> Indices:
    """Return the number of the group of every row; groups are numbered in sorted order.

    Parameters
    ----------
    groups : array-like
        The group of every row that was passed.
    rows : RowSet
        The rows of the result.
    n_rows : int
        The number of rows that were passed.
    """
    own = read_keys(groups, n_rows, "groups")
    own = own if rows.rows is None else own[rows.rows]
    return np.unique(own, return_inverse=True)[1].astype(np.uint32)


def _known(places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    return places[places >= 0]


def _split(splitter: Any, y: npt.NDArray[Any], groups: Any) -> Folds:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # checked later
        pairs = list(splitter.split(np.zeros((len(y), 1)), y, groups))
    folds = []
    for number, pair in enumerate(pairs, start=1):
        train, held = (np.asarray(part) for part in pair)
        train, held = (np.flatnonzero(p) if p.dtype == bool else np.sort(p) for p in (train, held))
        both = np.concatenate([train, held])
        whole = all(np.issubdtype(p.dtype, np.integer) for p in (train, held))
        if not whole or (len(both) and not 0 <= both.min() <= both.max() < len(y)):
            raise ValueError(
                f"fold {number} of cv must be two lists of row numbers from 0 to {len(y) - 1}."
            )
        if len(np.unique(both)) < len(both):
            raise ValueError(f"fold {number} of cv has a row twice, or in both of its parts.")
        folds.append((train.astype(np.intp), held.astype(np.intp)))
    return folds
