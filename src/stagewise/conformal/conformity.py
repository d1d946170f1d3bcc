"""The conformity scores of a model: what a fit keeps of the rows that it was not trained on.

They are kept in `Model.learned` as numbers, so a loaded model has the same intervals and sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.conformal.ranks import SortedScores, least_rows, needed_weight
from stagewise.conformal.sets import SetScore

__all__ = ["INTERVAL_KINDS", "METHODS", "PER_CLASS", "SET_KINDS", "Conformity", "keep_some"]

Vector = npt.NDArray[np.float64]

PREFIX = "conformity."
INTERVAL_KINDS = ("absolute", "pearson", "quantile")
SET_KINDS = ("lac", "aps", "raps")
_KINDS = (*INTERVAL_KINDS, *SET_KINDS)
METHODS = ("split", "cv", "cv+", "oob", "rows")
"""Where the scores come from; "rows": passed to `conformalize`."""
PER_CLASS = -2
"""The column of groups that are the classes."""
MOST_SCORES = 200_000
"""More scores are not kept: a random part of them has the same guarantee."""


def keep_some(n_rows: int, seed: int) -> npt.NDArray[np.intp] | None:
    """Return the rows whose scores are kept, at random; None: all."""
    if n_rows <= MOST_SCORES:
        return None
    return np.sort(np.random.default_rng([seed, n_rows]).choice(n_rows, MOST_SCORES, replace=False))


@dataclass(frozen=True)
class Conformity:
    """Conformity scores, and how they were computed.

    Attributes
    ----------
    kind : str
        "absolute": |y - μ|. "pearson": |y - μ| over the standard deviation that the loss assumes.
        "quantile": y minus every predicted quantile. "lac", "aps", "raps": see `SetScore`.
    method : {"split", "cv", "cv+", "oob", "rows"}
        Where the rows come from.
    values : float64 array of shape (n_rows * n_columns,)
        The scores. For "quantile", those of one row are next to each other.
    weight, group, fold : float64 array of shape (n_rows,) or None
        How often each row counts; the number of its group; and the fold that held it out.
    group_column : int
        The feature that has the groups; -1: there are none, or they are the classes.
    set_score : SetScore or None
        The score of classes.
    levels : float64 array
        The levels of the quantiles; empty otherwise.
    power : float or None
        The power p of the variance mean^p of "pearson"; None: it is that of the loss.
    """

    kind: str
    method: str
    values: Vector
    weight: Vector | None = None
    group: Vector | None = None
    fold: Vector | None = None
    group_column: int = -1
    set_score: SetScore | None = None
    levels: Vector = field(default_factory=lambda: np.empty(0))
    power: float | None = None

    # ---- numbers of a model ----------------------------------------------------------------------

    def learned(self) -> dict[str, Vector]:
        """Return the numbers that a model keeps."""
        own = self.set_score or SetScore("lac")
        facts = [
            _KINDS.index(self.kind),
            METHODS.index(self.method),
            self.group_column,
            own.randomized,
            own.penalty,
            own.free_ranks,
            own.seed,
        ]
        arrays = {
            "facts": np.array(facts, dtype=np.float64),
            "scores": self.values,
            "weight": self.weight,
            "group": self.group,
            "fold": self.fold,
            "levels": self.levels if len(self.levels) else None,
            "power": None if self.power is None else np.array([self.power]),
        }
        return {PREFIX + name: a for name, a in arrays.items() if a is not None}

    @classmethod
    def of(cls, learned: Mapping[str, Any]) -> Conformity | None:
        """Return the conformity scores of a model; None: it has none.

        Raises
        ------
        ValueError
            If they are not what `learned` returns.
        """
        found = {
            name.removeprefix(PREFIX): np.asarray(array, dtype=np.float64)
            for name, array in learned.items()
            if name.startswith(PREFIX)
        }
        if not found:
            return None
        if not {"facts", "scores"} <= set(found) or len(found["facts"]) != 7:
            raise ValueError("its conformity scores are incomplete")
        kind, method, column, randomized, penalty, free, seed = found["facts"].tolist()
        if not (0 <= kind < len(_KINDS) and 0 <= method < len(METHODS)):
            raise ValueError("its conformity scores are of an unknown kind")
        name = _KINDS[int(kind)]
        score = SetScore(name, bool(randomized), penalty, int(free), int(seed))
        own = cls(
            name,
            METHODS[int(method)],
            found["scores"],
            found.get("weight"),
            found.get("group"),
            found.get("fold"),
            int(column),
            score if name in SET_KINDS else None,
            found.get("levels", np.empty(0)),
            cls._read_power(found.get("power")),
        )
        own._check()
        return own

    @staticmethod
    def _read_power(array: Vector | None) -> float | None:
        if array is not None and (len(array) != 1 or not np.isfinite(array).all()):
            raise ValueError("the power of its conformity scores is not a number")
        return None if array is None else float(array[0])

    def _check(self) -> None:
        n, width = self.n_rows, max(1, len(self.levels))
        arrays = [a for a in (self.weight, self.group, self.fold) if a is not None]
        if len(self.values) != n * width or any(len(a) != n for a in arrays):
            raise ValueError("its conformity scores differ in length")
        if not np.isfinite(self.values).all():
            raise ValueError("it has a conformity score that is not finite")
        if self.weight is not None and not (np.isfinite(self.weight) & (self.weight > 0)).all():
            raise ValueError("it has a conformity score whose weight is not positive")

    def check_model(self, n_features: int, classes: Any, n_folds: int) -> None:
        """Raise ValueError unless a model with these features and classes can have the scores."""
        if (classes is None) != (self.kind in INTERVAL_KINDS):
            raise ValueError("its conformity scores are those of another task")
        if (self.group is None) != (self.group_column == -1):
            raise ValueError("its conformity scores have no groups, or no feature that has them")
        if self.group_column == PER_CLASS:
            n = 0 if classes is None else len(classes)
            assert self.group is not None
            if not np.isin(self.group, np.arange(n)).all():
                raise ValueError("its conformity scores are those of unknown classes")
        elif not -1 <= self.group_column < n_features:
            raise ValueError("its conformity scores have the groups of a feature that it lacks")
        folds = np.empty(0) if self.fold is None else self.fold
        if (self.method == "cv+") != (len(folds) > 0) or not np.isin(folds, range(n_folds)).all():
            raise ValueError("its conformity scores have no folds, or folds without a model")

    # ---- thresholds ------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.values) // max(1, len(self.levels))

    @property
    def total(self) -> float:
        """The sum of the weights of the rows."""
        return float(self.n_rows) if self.weight is None else math.fsum(self.weight)

    def part(self, rows: npt.NDArray[np.bool_]) -> Conformity:
        """Return the scores of some rows."""
        values = self.values.reshape(self.n_rows, -1)[rows].reshape(-1)
        own = (None if a is None else a[rows] for a in (self.weight, self.group, self.fold))
        weight, group, fold = own
        return replace(self, values=values, weight=weight, group=group, fold=fold)

    def sorted(self, values: Vector | None = None) -> SortedScores:
        """Return the scores in order, or others of the same rows."""
        return SortedScores.of(self.values if values is None else values, self.weight)

    def check_coverage(self, coverage: float) -> None:
        """Raise ValueError if there are too few scores for a coverage."""
        if needed_weight(self.total, coverage) > self.total:
            most = self.total / (self.total + 1)
            raise ValueError(
                f"coverage={coverage:g} needs at least {least_rows(coverage)} rows that the model "
                f"was not trained on, and this model has the conformity scores of {self.total:g}. "
                f"Pass a coverage of at most {math.floor(most * 1000) / 1000:g}, or fit with more "
                "rows, or hold more rows out."
            )

    @cached_property
    def groups(self) -> dict[float, Conformity]:
        """The scores of each group by its key."""
        if self.group is None:
            return {}
        return {float(key): self.part(self.group == key) for key in np.unique(self.group)}

    def of_groups(self, keys: Vector, coverage: float) -> Iterator[tuple[Any, Conformity]]:
        """Yield rows and the scores for them: those of their group if it is large enough.

        Rows of unknown groups, and of groups with too few rows for the coverage, get the scores of
        all rows.
        """
        rest = np.ones(len(keys), dtype=bool)
        for key, part in self.groups.items():
            if needed_weight(part.total, coverage) > part.total:
                continue
            rows = keys == key
            rest &= ~rows
            if rows.any():
                yield rows, part
        if rest.any():
            yield rest, self
