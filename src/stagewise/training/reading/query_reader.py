"""Reading the target of a ranking: gains, queries and positions of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import as_frequencies, check_weight
from stagewise.data.ranking import NEEDS_QUERIES, POSITION, is_ranking_target
from stagewise.data.reading.vector import refuse_infinite, refuse_missing, require_y
from stagewise.training.reading.target_reader import Target
from stagewise.validation.messages import short_repr

__all__ = ["QueryReader", "gains_of"]

Vector = npt.NDArray[np.float64]

LARGEST_EXPONENTIAL = 31.0
"""The largest relevance whose gain is 2^relevance - 1."""
FIELDS = [("relevance", np.float64), ("gain", np.float64), ("query", np.int32)]


def gains_of(relevance: Vector, gains: str | Sequence[float]) -> Vector:
    """Return the gains of documents.

    Parameters
    ----------
    relevance : float64 array
        The relevance of each document.
    gains : {"exponential", "linear"} or sequence of floats
        2^r - 1; r itself; or the gains of the relevance 0, 1, 2, …
    """
    if gains == "linear":
        return relevance
    if gains == "exponential":
        large = relevance > LARGEST_EXPONENTIAL
        if large.any():
            row = int(np.argmax(large))
            raise ValueError(
                f"gains='exponential' is 2^relevance - 1, but the relevance is "
                f"{relevance[row]:g} at row {row}, above {LARGEST_EXPONENTIAL:g}. Set "
                "gains='linear', or use grades such as 0 to 4."
            )
        return np.exp2(relevance) - 1.0
    table = np.asarray(gains, dtype=np.float64)
    whole = relevance == np.floor(relevance)
    outside = ~(whole & (relevance >= 0) & (relevance < len(table)))
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"gains has {len(table)} entries, for the relevance 0 to {len(table) - 1}, but the "
            f"relevance is {relevance[row]:g} at row {row}. Pass a gain for every grade, or set "
            "gains='linear'."
        )
    return table[relevance.astype(np.intp)]


@dataclass(frozen=True)
class QueryReader:
    """Reads targets that `ranking_target` makes.

    The result has the fields "relevance", "gain", "query" (a code) and perhaps "position".

    Parameters
    ----------
    caller : str
        The estimator's name, for messages.
    gains : {"exponential", "linear"} or sequence of floats
        As of `gains_of`.
    refuses_negative : str
        What needs relevance of at least 0, for messages. Empty: relevance may be negative.
    """

    caller: str
    gains: Any = "exponential"
    refuses_negative: str = "this ranking"

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Return the targets of rows; rows of one query are held out together."""
        return self._read(y, sample_weight, n_rows, with_positions=True)

    def read_validation(
        self, y: Any, sample_weight: Any, n_rows: int, classes: Any
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the targets and weights of evaluation rows; their positions are not used."""
        target = self._read(y, sample_weight, n_rows, with_positions=False)
        return target.y, target.weight

    def _read(self, y: Any, sample_weight: Any, n_rows: int, *, with_positions: bool) -> Target:
        require_y(y, self.caller)
        if not is_ranking_target(y):
            raise ValueError(NEEDS_QUERIES.format(self.caller))
        if len(y) != n_rows:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[n_rows, len(y)]} (X and y)."
            )
        relevance = np.ascontiguousarray(y["relevance"], dtype=np.float64)
        if not np.isfinite(relevance).all():
            refuse_missing(np.isnan(relevance))
            refuse_infinite(relevance)
        if self.refuses_negative:
            self._refuse_negative(relevance, y["qid"])
        shown = with_positions and POSITION in y.dtype.names
        target = np.empty(n_rows, FIELDS + ([(POSITION, np.float64)] if shown else []))
        target["relevance"], target["gain"] = relevance, gains_of(relevance, self.gains)
        names, target["query"] = np.unique(y["qid"], return_inverse=True)
        if shown:
            target[POSITION] = y[POSITION]
        weight = _weights_of_queries(check_weight(sample_weight, n_rows), target["query"], names)
        weight = None if weight is None else as_frequencies(weight)
        return Target(target, weight, groups=target["query"])

    def _refuse_negative(self, relevance: Vector, qid: npt.NDArray[Any]) -> None:
        negative = relevance < 0
        if not negative.any():
            return
        row = int(np.argmax(negative))
        raise ValueError(
            f"The relevance must not be negative for {self.refuses_negative}: in query "
            f"{_name(qid, row)} it is {relevance[row]:g} at row {row}; "
            f"{int(negative.sum())} of {len(relevance)} are negative. Add a constant, or use 0 for "
            "rows that are not relevant."
        )


def _name(queries: npt.NDArray[Any], place: int) -> str:
    return short_repr(queries[place : place + 1].tolist()[0])


def _weights_of_queries(
    weight: Vector | None, query: npt.NDArray[np.int32], names: npt.NDArray[Any]
) -> Vector | None:
    """Return the weights; raise ValueError unless rows of a query have one weight, or 0."""
    if weight is None:
        return None
    largest = np.zeros(len(names))
    np.maximum.at(largest, query, weight)
    differs = (weight > 0) & (weight != largest[query])
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"sample_weight must be the same for all rows of a query, or 0 for rows that are left "
            f"out: query {_name(names, query[row])} has {weight[row]:g} at row {row} "
            f"and {largest[query[row]]:g} at another one. To weight documents, change their "
            "relevance, with gains='linear'."
        )
    return weight
