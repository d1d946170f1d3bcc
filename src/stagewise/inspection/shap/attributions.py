"""Shapley values of one output, prepared for plots.

A plot shows one output, features in some order, and feature values as coordinates of an axis; this
module selects and checks these.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.reading.cell import TEMPORAL_TYPES, cell_number, family
from stagewise.data.reading.column import missing_mask, with_missing
from stagewise.data.reading.datetimes import TemporalType, format_datetime, temporal_type_of
from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.records import Records, open_records
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted_model import Vector, check_argument
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name
from stagewise.validation.rules import Number

__all__ = ["Attributions", "AxisValues", "row_cells"]

N_GROUPS = 10
"""The number of groups of similar rows in the search for an interacting feature."""


@dataclass(frozen=True, eq=False)
class AxisValues:
    """The values of a column as coordinates of an axis.

    Attributes
    ----------
    x : float64 array of shape (n_rows,)
        Numbers as they are, dates and times in nanoseconds, categories as 0, 1, … in the order of
        their names; NaN for a missing value.
    labels : list of str, or None
        The names of the categories; None for numbers.
    temporal_type : {"date", "duration", "time of day"}, or None
        The temporal type, if the numbers are nanoseconds.
    """

    x: Vector
    labels: list[str] | None = None
    temporal_type: TemporalType | None = None

    @classmethod
    def of(
        cls,
        cells: npt.NDArray[Any],
        missing: npt.NDArray[np.bool_] | None = None,
        temporal_type: TemporalType | None = None,
    ) -> AxisValues:
        """Read a column of any type; `missing` and `temporal_type` complete its dtype."""
        if cells.dtype.kind in "biuf":
            return cls(with_missing(cells.astype(np.float64), missing), None, temporal_type)
        # A list keeps numpy's datetime scalars as they are.
        items = list(cells)
        absent = missing_mask(items) if missing is None else missing | missing_mask(items)
        known = [item for item, gone in zip(items, absent, strict=True) if not gone]
        x = np.full(len(items), np.nan)
        families = {family(type(item)) for item in known}
        only = next(iter(families)) if len(families) == 1 else None
        if only in ("number", *TEMPORAL_TYPES) or not known:
            x[~absent] = np.array([cell_number(item) for item in known], dtype=np.float64)
            return cls(x, None, temporal_type_of(np.array(known, dtype=object)))
        categories = sorted(set(map(str, known)))
        place = {category: float(k) for k, category in enumerate(categories)}
        x[~absent] = [place[str(item)] for item in known]
        return cls(x, categories)

    @property
    def rank(self) -> Vector:
        """The ranks of the values, scaled to 0 (smallest) … 1; NaN for a missing value."""
        kept = ~np.isnan(self.x)
        values, place, count = np.unique(self.x[kept], return_inverse=True, return_counts=True)
        middle = np.cumsum(count) - (count + 1) / 2
        rank = np.full(len(self.x), np.nan)
        if len(values) == 1:
            rank[kept] = 0.5
        elif len(values):
            rank[kept] = ((middle - middle[0]) / (middle[-1] - middle[0]))[place]
        return rank

    @property
    def ends(self) -> tuple[str, str]:
        """The smallest and the largest value as text."""
        if self.labels:
            return self.labels[0], self.labels[-1]
        low, high = np.nanmin(self.x, initial=np.inf), np.nanmax(self.x, initial=-np.inf)
        if not low <= high:
            return "low", "high"
        if self.temporal_type is None:
            return f"{low:.3g}", f"{high:.3g}"
        one, two = (
            format_datetime(end, self.temporal_type, within=high - low) for end in (low, high)
        )
        return one, two


@dataclass(frozen=True, eq=False)
class Attributions:
    """Shapley values of one output.

    Attributes
    ----------
    values : float64 array of shape (n_rows, n_features)
        The Shapley values.
    base : float
        The base value.
    names : tuple of str
        The features.
    output : str or None
        The class or target; None if there is only one.
    data : array-like, data frame, sparse matrix or rows with names
        The rows, as passed by the caller.
    pairs : float64 array of shape (n_rows, n_features, n_features), or None
        Shapley interaction values, if they were computed.
    offset : float64 array of shape (n_rows,) or None
        The offsets of the rows; None: there are none.
    """

    values: Vector
    base: float
    names: tuple[str, ...]
    output: str | None
    data: Any
    pairs: Vector | None
    offset: Vector | None = None

    @classmethod
    def of(
        cls,
        values: Vector,
        base: Vector,
        names: tuple[str, ...],
        outputs: tuple[str, ...] | None,
        data: Any,
        output: Any,
    ) -> Attributions:
        """Select one output: by its name, or the last one."""
        if not len(values):
            raise ValueError("There are no rows to plot. Pass at least one row to shap_values.")
        if outputs is None and output is not None:
            raise InvalidParameterError(
                f"output={short_repr(output)}: this model has one output. Omit output."
            )
        if outputs is not None:
            k = len(outputs) - 1 if output is None else _place(outputs, output, "output")
            values, base, output = values[..., k], base[k], outputs[k]
        pairs = values if values.ndim == 3 else None
        own = values if pairs is None else pairs.sum(axis=2)
        return cls(own, float(base), names, output, data, pairs)

    @property
    def label(self) -> str:
        """The label of an axis of Shapley values."""
        return "Shapley value" + (f" for {self.output}" if self.output is not None else "")

    def top(self, top: Any) -> list[int]:
        """Return the features with the largest mean absolute Shapley value, at most this many."""
        most = check_argument("top", Number(1, whole=True), top)
        size = np.abs(self.values).mean(axis=0)
        return [int(j) for j in np.argsort(-size, kind="stable")[:most]]

    def row(self, row: Any) -> int:
        """Return the index of a row; negative values count from the end."""
        n = len(self.values)
        whole = isinstance(row, numbers.Integral) and not isinstance(row, bool)
        if not whole or not -n <= int(row) < n:
            raise InvalidParameterError(
                f"row must be the index of a row of X, from 0 to {n - 1}; got {short_repr(row)}."
            )
        return int(row) % n

    def feature(self, feature: Any, parameter: str = "feature") -> int:
        """Return the index of a feature that is given by its name or its index."""
        whole = isinstance(feature, numbers.Integral) and not isinstance(feature, bool)
        if whole and 0 <= int(feature) < len(self.names):
            return int(feature)
        return _place(self.names, feature, parameter)

    def axis_values(self, feature: int) -> AxisValues:
        """Return the values of a feature as coordinates of an axis."""
        return AxisValues.of(*self._cells(feature))

    def format_value(self, row: int, feature: int) -> str:
        """Return "feature = value" as text."""
        cells, missing, temporal_type = self._cells(feature)
        cell = cells[row]
        if (missing is not None and missing[row]) or missing_mask([cell])[0]:
            return f"{self.names[feature]} is missing"
        temporal_type = temporal_type or temporal_type_of(np.array([cell], dtype=object))
        if temporal_type is not None:
            return f"{self.names[feature]} = {format_datetime(cell_number(cell), temporal_type)}"
        text = f"{cell:.4g}" if isinstance(cell, (float, np.floating)) else str(cell)
        return f"{self.names[feature]} = {text}"

    def _cells(
        self, feature: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None, TemporalType | None]:
        """Return a column as passed, the mask of missing values and the temporal type.

        The mask is None if the values themselves show which are missing.
        """
        rows = _open_rows(self.data, self.names)
        if rows is None:
            if hasattr(self.data, "tocsc"):
                return self.data.tocsc()[:, [feature]].toarray()[:, 0], None, None
            return np.asarray(self.data)[:, feature], None, None
        timed: TemporalType | None = "time of day" if rows.is_time_of_day(feature) else None
        return *rows.cells(feature), timed

    def steps(self, row: int, top: Any) -> tuple[list[str], Vector]:
        """Return labels and values of the largest Shapley values of a row and of the rest."""
        most = check_argument("top", Number(1, whole=True), top)
        own = self.values[row]
        order = np.argsort(-np.abs(own), kind="stable")
        chosen, rest = order[:most].tolist(), order[most:]
        names = [self.format_value(row, j) for j in chosen]
        parts = own[chosen]
        if len(rest):
            names.append(f"… {len(rest)} other{'s' if len(rest) > 1 else ''}")
            parts = np.append(parts, own[rest].sum())
        if self.offset is not None:
            names.append("offset")
            parts = np.append(parts, self.offset[row])
        return names, parts

    def model_output(self, row: int) -> float:
        """Return the model output of a row: the base value plus all terms."""
        added = 0.0 if self.offset is None else float(self.offset[row])
        return self.base + float(self.values[row].sum()) + added

    def interacting_feature(self, feature: int) -> int | None:
        """Return the feature that interacts most with a feature; None if there is none.

        With interaction values: the one with the largest mean absolute interaction. Otherwise the
        rows are sorted by the feature and divided into ten groups; within each group the Shapley
        values are regressed on the ranks of another feature, and the feature with the largest
        explained sum of squares is chosen.
        """
        others = [k for k in range(len(self.names)) if k != feature]
        if self.pairs is not None:
            strength = np.abs(self.pairs[:, feature]).mean(axis=0)
        else:
            strength = self._explained(feature, others)
        best = max(others, key=lambda k: strength[k], default=None)
        return best if best is not None and strength[best] > 0 else None

    def _explained(self, feature: int, others: Sequence[int]) -> Vector:
        order = np.argsort(self.axis_values(feature).rank, kind="stable")
        groups = np.array_split(order, min(N_GROUPS, max(1, len(order) // 5)))
        strength = np.zeros(len(self.names))
        for k in others:
            rank = np.nan_to_num(self.axis_values(k).rank, nan=-0.5)  # missing: below all
            for g in groups:
                x, y = rank[g] - rank[g].mean(), self.values[g, feature]
                squares = (x**2).sum()
                strength[k] += (x * (y - y.mean())).sum() ** 2 / squares if squares > 0 else 0.0
        return strength


def row_cells(X: Any, names: tuple[str, ...]) -> npt.NDArray[Any]:
    """Return the values of rows as passed, in the order of the features."""
    rows = _open_rows(X, names)
    if rows is None:
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    cells = [_without_masked(*rows.cells(j)) for j in range(len(names))]
    kinds = {column.dtype.kind for column in cells}
    if kinds <= set("biuf"):
        return np.column_stack(cells)
    return np.column_stack([column.astype(object) for column in cells])


def _open_rows(X: Any, names: tuple[str, ...]) -> Frame | Records | None:
    """Open rows with columns, in the order of the features; None: an array or a sparse matrix."""
    records = open_records(X, names)
    if records is not None:
        return records
    frame = open_frame(X, "shap_values")
    if frame is not None and frame.names is not None and set(names) <= set(frame.names):
        frame = frame.select(list(names))
    return frame


def _without_masked(
    cells: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None
) -> npt.NDArray[Any]:
    """Return values with NaN or None where the mask is True."""
    if missing is None or not missing.any():
        return _as_numbers(np.asarray(cells))
    if cells.dtype.kind in "biuf":
        return np.where(missing, np.nan, cells.astype(np.float64))
    objects = cells.astype(object)
    objects[missing] = None
    return objects


def _as_numbers(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return Python numbers as an array of floats, other cells as they are."""
    items = cells.tolist() if cells.dtype == object else []
    if not items or not {family(kind) for kind in set(map(type, items))} <= {"number", "missing"}:
        return cells
    return np.array([cell_number(item) for item in items], dtype=np.float64)


def _place(known: tuple[str, ...], name: Any, parameter: str) -> int:
    if isinstance(name, str) and name in known:
        return known.index(name)
    listed = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
    raise InvalidParameterError(
        f"{parameter} must be one of {listed}; got {short_repr(name)}."
        f"{nearest_name(str(name), known)}"
    )
