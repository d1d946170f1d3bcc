"""Some rows of a table: what is in them, what a model says of them, and why.

The one idea: a page shows a sample, drawn by a seed and small enough to be carried, and says so.
Rows are known by their place in the table; cells are kept as the model reads them, so that the page
can change them and ask again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.column import Column
from stagewise.data.reading.datetimes import TemporalType, format_datetime
from stagewise.data.reading.frame import open_frame
from stagewise.data.reading.table import Table, exact_array
from stagewise.estimators.scores import is_average
from stagewise.inspection.fitted import Fitted, Vector
from stagewise.inspection.rows import drawn_rows
from stagewise.inspection.shapley.values import ShapValues, shap_values
from stagewise.report.patience import patience
from stagewise.report.payload import compact

__all__ = ["RowFacts", "row_facts", "take"]

MOST_ROWS, FEWEST_ROWS = 250, 20
"""How many rows are shown: as many as fit, between these."""
MOST_NUMBERS = 120_000
"""How many cells, and how many credits, a page has."""
MOST_EXACT = 30_000
"""Up to so many credits are kept with all their digits, so that they add up to what is said."""
BACKGROUND = 100
"""How many rows linear leaves are compared with."""
MOST_CELLS = 100
"""Tables with more columns show only those that the model uses."""
MOST_FEATURES = 60
"""Credits are kept of so many features; those of the others are added up."""


@dataclass(frozen=True, eq=False)
class RowFacts:
    """Rows that are shown one by one.

    Attributes
    ----------
    row : int64 array of shape (n,)
        Their places in the table.
    asked : int64 array of shape (m,)
        The features whose cells are kept: all, or of a wide table those that the model uses.
    codes : float64 array of shape (n, m)
        These cells, as the model reads them.
    unseen : tuple of (int, int, str)
        Cells that hold no level that the model knows: the place of the row among these rows, that
        of the feature, and the cell.
    written : tuple of (int, tuple of str)
        The cells of integers beyond 2**53 as they are written, by the place of the feature;
        moments as people write them.
    known : tuple of str or float64 array
        Their answers: labels, or numbers with a column for each target.
    said : float64 array of shape (n, n_outputs)
        What the model says: numbers, or probabilities of all classes.
    credited : int64 array of shape (m,)
        The features with credits of their own.
    base : float64 array of shape (n_credited_outputs,)
        What the model says when nothing is known.
    credit : float array of shape (n, m, n_credited_outputs)
        Shapley values.
    others : float array of shape (n, n_credited_outputs)
        Those of all other features together.
    unit : str
        What credits are measured in.
    compared : str
        With whom rows are compared: whose values features have that are not known.
    why_not : str or None
        Why there are no credits, if so.
    """

    row: npt.NDArray[np.int64]
    asked: npt.NDArray[np.int64]
    codes: Vector
    unseen: tuple[tuple[int, int, str], ...]
    written: tuple[tuple[int, tuple[str, ...]], ...]
    known: tuple[str, ...] | Vector
    said: Vector
    credited: npt.NDArray[np.int64]
    base: Vector
    credit: Vector
    others: Vector
    unit: str
    compared: str
    why_not: str | None


def take(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return some rows of a table of any kind that the library reads."""
    frame = open_frame(X, "report")
    if frame is not None:
        return frame.frame[rows.tolist()].to_native()
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return exact_array(X)[rows]


def row_facts(
    fitted: Fitted, X: Any, known: Any, weight: Vector, wrong: Vector, seed: int
) -> tuple[RowFacts, ShapValues | None]:
    """Draw rows, the one that is predicted worst among them, and explain what is said of them.

    Parameters
    ----------
    fitted : Fitted
        The model.
    X : table
        All rows.
    known : sequence of str, or float64 array
        Their labels, or numbers.
    weight, wrong : float64 arrays
        How much they count (rows without weight are not drawn), and how far predictions are off.
    seed : int
        Keys what is drawn.

    Returns
    -------
    RowFacts, and ShapValues or None
        The rows; and what was found of them, if anything could be.
    """
    p, outputs = len(fitted.names), fitted.model.ensemble.n_outputs
    asked = range(p) if p <= MOST_CELLS else sorted(fitted.used)
    fits = MOST_NUMBERS // max(len(asked), min(p, MOST_FEATURES) * outputs, 1)
    most = patience(fitted).of(MOST_ROWS, FEWEST_ROWS)
    drawn = drawn_rows(weight, min(max(fits, FEWEST_ROWS), most), seed)
    rows = np.union1d(drawn, [np.argmax(np.where(weight > 0, wrong, -1.0))])
    some = take(X, rows)
    columns = fitted.columns(some)
    said = fitted.respond(fitted.score(columns), "mean")
    answers = known[rows] if isinstance(known, np.ndarray) else tuple(known[i] for i in rows)
    places = np.array(asked, dtype=np.int64)
    codes = np.column_stack([columns[j] for j in asked]) if len(asked) else np.zeros((len(rows), 0))
    table = None if _as_read(fitted) else fitted.model.features.read(some, "report")
    unseen, written = _unseen(fitted, table, columns), _written(fitted, table)
    shared = (rows, places, codes, unseen, written, answers, said)
    compared, options = _comparison(fitted, X, weight, seed)
    try:
        why = shap_values(fitted.estimator, some, **options)
    except ValueError as error:
        none = np.zeros((len(rows), 0, outputs))
        nobody, nothing = np.empty(0, dtype=np.int64), np.zeros(outputs)
        rest, said_why = none.sum(axis=1), str(error)
        return RowFacts(*shared, nobody, nothing, none, rest, "", "", said_why), None
    credit = why.values.reshape(len(rows), p, -1)
    size = np.abs(credit).mean(axis=(0, 2))
    credited = np.argsort(-size, kind="stable")[:MOST_FEATURES]
    credited = credited[np.isin(credited, places)]
    rest = np.delete(credit, credited, axis=1).sum(axis=1)
    kept, base = credit[:, credited], np.atleast_1d(why.base_values)
    if kept.size > MOST_EXACT:
        kept = compact(kept)
    unit = _unit(fitted)
    return RowFacts(*shared, credited, base, kept, rest, unit, compared, None), why


def _comparison(fitted: Fitted, X: Any, weight: Vector, seed: int) -> tuple[str, dict[str, Any]]:
    """Return with whom rows are compared, and what Shapley values have to be told of it."""
    if not fitted.has_lines:
        return "the training rows", {}
    # Lines say something even where their features are not known, so these need values.
    others = drawn_rows(weight, BACKGROUND, seed)
    background = {"kind": "interventional", "background": take(X, others)}
    return f"{len(others):,} rows of this table", background


def _unit(fitted: Fitted) -> str:
    """Return what scores are measured in."""
    if fitted.model.classes is None:
        return "prediction" if fitted.mean_is_affine else "logarithm of the prediction"
    if is_average(fitted.estimator):
        return "probability"
    odds = fitted.model.loss == "log_loss" and fitted.model.ensemble.n_outputs == 1
    return "log odds" if odds else "score"


def _as_read(fitted: Fitted) -> bool:
    """Whether all cells can be told from what the model reads."""
    return all(feature.kind == "real" for feature in fitted.model.features)


def _unseen(
    fitted: Fitted, table: Table | None, columns: list[Vector]
) -> tuple[tuple[int, int, str], ...]:
    """Return cells of categories that are there, and are no level of the model."""
    found: list[tuple[int, int, str]] = []
    for j, factor in table.factors.items() if table is not None else ():
        levels = fitted.model.features[j].categories
        assert levels is not None
        strange = np.flatnonzero((factor.codes >= 0) & ~(columns[j] < len(levels)))
        found += [(i, j, str(factor.values[factor.codes[i]])) for i in strange.tolist()]
    return tuple(found)


def _written(fitted: Fitted, table: Table | None) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the cells of wide integers, of which the model only knows between which cuts."""
    features = fitted.model.features
    wide = [j for j, feature in enumerate(features) if feature.cuts is not None]
    if table is None:
        return ()
    return tuple((j, tuple(_words(table.column(j), features[j].temporal_type))) for j in wide)


def _words(column: Column, moment: TemporalType | None) -> list[str]:
    gone = np.isnan(column.values) if column.missing is None else column.missing
    words: Callable[[Any], str] = (
        str if moment is None else partial(format_datetime, temporal_type=moment)
    )
    cells = zip(column.values.tolist(), gone.tolist(), strict=True)
    return ["" if absent else words(cell) for cell, absent in cells]
