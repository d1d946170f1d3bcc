"""Grids of feature values.

A grid has every point twice: in the units of the data (numbers, categories; dates and times in
nanoseconds) and encoded as in the model (categories and wide integers as numbers).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stagewise.data.feature import Feature
from stagewise.data.reading.cell import cell_number, family, is_missing
from stagewise.data.reading.column import Column
from stagewise.data.reading.datetimes import (
    TemporalType,
    format_datetime,
    format_datetime_short,
    parse_datetime,
)
from stagewise.data.reading.wide_integers import ranks
from stagewise.display import Summary, spread
from stagewise.errors import InvalidParameterError
from stagewise.inspection.fitted_model import FittedModel, Vector, check_argument
from stagewise.inspection.quantiles import weighted_quantiles
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name
from stagewise.validation.rules import Number

__all__ = ["MAX_POINTS", "Grid", "grid_summary", "make_grids", "quantile_points"]

DIGITS = 6
"""The number of significant digits of durations and times of day."""
DATE_RESOLUTION = 1e-5
"""The part of the range of dates within which they are rounded."""
MOST_OUTPUTS = 8
"""The largest number of outputs whose range is displayed."""
MAX_POINTS = 10**5
"""The maximum number of grid points; for two features, of pairs of points."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The grid points of one feature.

    Attributes
    ----------
    name : str
        The name of the feature.
    place : int
        The index of the feature.
    kind : {"number", "category"}
        Numeric or categorical.
    values : tuple
        The points in the units of the data: numbers or categories; None or NaN is missing.
    codes : float64 array
        The encoded points.
    deciles : float64 array
        The deciles of the rows; empty without rows and for a categorical feature.
    temporal_type : {"date", "duration", "time of day"}, or None
        The temporal type, if the numbers are nanoseconds.
    n_left : int
        The number of categories that are not in the grid, because others are more frequent.
    """

    name: str
    place: int
    kind: str
    values: tuple[Any, ...]
    codes: Vector
    deciles: Vector
    temporal_type: TemporalType | None = None
    n_left: int = 0

    @property
    def formatted(self) -> tuple[Any, ...]:
        """The points as shown in tables: dates and times as text, without needless fractions."""
        if self.temporal_type is None:
            return self.values
        if self.temporal_type == "date":
            within = float(np.ptp(self.x)) * DATE_RESOLUTION
            return tuple(format_datetime(value, "date", within=within) for value in self.values)
        return tuple(
            format_datetime_short(value, self.temporal_type, DIGITS) for value in self.values
        )

    @property
    def note(self) -> str:
        """How many categories are not in the grid; empty: it has all of them."""
        n = len(self.codes)
        return f"the {n:,} most frequent of {n + self.n_left:,} categories" if self.n_left else ""

    @property
    def x(self) -> Vector:
        """The x coordinates of the points: numbers, or 0, 1, 2, … for categories."""
        if self.kind == "category":
            return np.arange(len(self.codes), dtype=np.float64)
        return np.array(self.values, dtype=np.float64)

    @property
    def labels(self) -> list[str] | None:
        """The names of the categories; None for a numeric feature."""
        if self.kind == "number":
            return None
        return ["missing" if v is None else str(v) for v in self.values]


def quantile_points(x: Vector, weight: Vector, n: int) -> Vector:
    """Return at most n different values of a column at equally spaced quantiles."""
    kept = np.isfinite(x) & (weight > 0)
    if not kept.any():
        return np.empty(0)
    return np.unique(weighted_quantiles(x[kept], weight[kept], np.linspace(0.0, 1.0, n)))


def make_grids(
    fitted: FittedModel,
    places: Sequence[int],
    grid: Any,
    columns: Mapping[int, Vector] | None,
    weight: Vector | None,
) -> tuple[Grid, ...]:
    """Return a grid for each feature.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    places : sequence of int
        The features.
    grid : int, values, or mapping of feature to values
        The number of points, or the points; values without a name belong to a single feature.
    columns, weight : mapping of int to array and array, or None
        The columns of rows whose quantiles are the points; None: points between the thresholds of
        the trees.
    """
    given: dict[int, Any] = {}
    n = 40
    if isinstance(grid, Mapping):
        given = {fitted.position(name, "grid_resolution"): values for name, values in grid.items()}
        idle = [fitted.names[j] for j in given if j not in places]
        if idle:
            raise InvalidParameterError(
                f"grid_resolution has values of {idle[0]!r}, which is not one of the features."
            )
    elif isinstance(grid, (Sequence, np.ndarray)) and not isinstance(grid, str):
        if len(places) > 1:
            raise InvalidParameterError(
                "grid_resolution must be a number of points, or a dictionary of features and "
                "values, for two features; got values without a feature."
            )
        given = {places[0]: grid}
    else:
        n = check_argument("grid_resolution", Number(2, MAX_POINTS, whole=True), grid)
    grids = tuple(_grid(fitted, j, given.get(j), n, columns, weight) for j in places)
    sizes = [len(one.codes) for one in grids]
    if math.prod(sizes) > MAX_POINTS:
        raise InvalidParameterError(
            f"grid_resolution gives {' x '.join(map(str, sizes))} points; the limit is "
            f"{MAX_POINTS}. Pass fewer."
        )
    return grids


def _grid(
    fitted: FittedModel,
    place: int,
    given: Any,
    n: int,
    columns: Mapping[int, Vector] | None,
    weight: Vector | None,
) -> Grid:
    feature, name = fitted.model.features[place], fitted.names[place]
    deciles = np.empty(0)
    x = None if columns is None else columns[place]
    if feature.categories is not None:
        values = _categories(feature, name, given, n, x, weight)
        codes = _encode(feature, values, name)
        n_left = 0 if given is not None else len(feature.categories.values) - len(values)
        return Grid(name, place, "category", values, codes, deciles, n_left=n_left)
    if given is not None:
        given = (
            given
            if feature.temporal_type is None
            else _given_datetimes(feature.temporal_type, name, given)
        )
        codes = _given_numbers(feature, name, given)
        if codes.shape[0] < 1:
            raise InvalidParameterError(f"grid_resolution has no values of {name!r}.")
    elif x is not None:
        assert weight is not None
        codes = quantile_points(x, weight, n)
    else:
        codes = _between_thresholds(fitted, place, n)
    if not len(codes):
        raise ValueError(f"X column {name!r} has no finite values. Pass values as grid_resolution.")
    if x is not None and weight is not None and np.isfinite(x).any():
        deciles = quantile_points(x, weight, 11)[1:-1]
    values = _decode(feature, codes) if given is None else tuple(np.asarray(given).tolist())
    if feature.cuts is not None:
        deciles = np.array(_decode(feature, deciles), dtype=np.float64)
    return Grid(name, place, "number", values, codes, deciles, feature.temporal_type)


def _categories(
    feature: Feature, name: str, given: Any, n: int, x: Vector | None, weight: Vector | None
) -> tuple[Any, ...]:
    """Return the given categories, the n most frequent ones of the rows, or all."""
    assert feature.categories is not None
    known = feature.categories.values
    if given is not None:
        values = np.asarray(given, object)
        if values.ndim != 1 or not len(values):
            raise InvalidParameterError(
                f"grid_resolution: the values of {name!r} must be a list of categories; got "
                f"{short_repr(given)}."
            )
        return tuple(None if v is None or v != v else v for v in values.tolist())
    if x is None or len(known) <= n:
        if not known:
            raise ValueError(f"The feature {name!r} has no categories, so it has no grid.")
        return known
    held = np.isfinite(x) & (x < len(known))
    rows = np.bincount(
        x[held].astype(np.intp), weights=weight[held] if weight is not None else None
    )
    often = np.sort(np.argsort(-rows, kind="stable")[:n])
    return tuple(known[k] for k in often.tolist())


def _encode(feature: Feature, values: tuple[Any, ...], name: str) -> Vector:
    assert feature.categories is not None
    found = feature.categories.encode([v for v in values if v is not None])
    codes = np.full(len(values), np.nan)
    codes[[v is not None for v in values]] = found
    for value, code in zip(values, codes.tolist(), strict=True):
        if value is not None and code != code:
            known = [str(v) for v in feature.categories.values]
            raise InvalidParameterError(
                f"grid_resolution: {short_repr(value)} is not a category of {name!r}."
                f"{nearest_name(str(value), known)}"
            )
    return codes


def _given_numbers(feature: Feature, name: str, given: Any) -> Vector:
    try:
        values = np.asarray(given)
        if feature.cuts is not None and values.dtype.kind in "iu":
            wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
            return ranks(Column(wide, None), feature.cuts)
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(
            f"grid_resolution: the values of {name!r} must be numbers; got {short_repr(given)}."
        ) from None
    if numbers.ndim != 1:
        raise InvalidParameterError(
            f"grid_resolution: the values of {name!r} must be a list of numbers."
        )
    return numbers if feature.cuts is None else ranks(Column(numbers, None), feature.cuts)


def _given_datetimes(temporal_type: TemporalType, name: str, given: Any) -> list[int | float]:
    """Return the nanoseconds of dates, durations or times, given as objects, text or numbers."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidParameterError(
            f"grid_resolution: the values of {name!r} must be a list of {temporal_type}s; got "
            f"{short_repr(given)}."
        )
    return [_nanoseconds(temporal_type, name, item) for item in given]


def _nanoseconds(temporal_type: TemporalType, name: str, item: Any) -> int | float:
    if isinstance(item, str):
        try:
            return parse_datetime(item, temporal_type)
        except ValueError as error:
            raise InvalidParameterError(
                f"grid_resolution: {name!r} has {temporal_type}s, and {error}"
            ) from None
    if is_missing(item):
        return math.nan
    if family(type(item)) not in (temporal_type, "number"):
        raise InvalidParameterError(
            f"grid_resolution: {name!r} has {temporal_type}s, and {short_repr(item)} is not one. "
            f"Pass such objects, text such as {format_datetime(0, temporal_type)!r}, or "
            "nanoseconds."
        )
    try:
        return cell_number(item)
    except OverflowError as error:
        raise InvalidParameterError(
            f"grid_resolution of {name!r}: {error} (years 1678 to 2262)."
        ) from None


def _decode(feature: Feature, codes: Vector) -> tuple[Any, ...]:
    """Return points in the units of the data: a rank is the largest integer that has it."""
    if feature.cuts is None:
        return tuple(codes.tolist())
    cuts = feature.cuts
    last = len(cuts) - 1
    return tuple(int(cuts[min(int(rank), last)]) + (int(rank) > last) for rank in codes.tolist())


def _between_thresholds(fitted: FittedModel, place: int, n: int) -> Vector:
    """Return points on either side of at most n - 1 thresholds of the trees."""
    flat = fitted.model.ensemble.flat()
    cuts = np.unique(flat["threshold"][flat["feature"] == place])
    cuts = cuts[np.isfinite(cuts)]
    if not len(cuts):
        return np.zeros(1)  # the feature is not used
    ends = (cuts[-1] - cuts[0]) / 20 or max(1.0, abs(cuts[0]) / 20)
    points = np.concatenate([[cuts[0] - ends], (cuts[1:] + cuts[:-1]) / 2, [cuts[-1] + ends]])
    return points[np.unique(np.linspace(0, len(points) - 1, n).round().astype(np.intp))]


def grid_summary(
    title: str,
    grids: Sequence[Grid],
    outputs: Sequence[str],
    values: Vector,
    facts: Mapping[str, Any] | None = None,
) -> Summary:
    """Return the summary of a curve, or of the range of a surface, over grids."""
    ends = {
        f"range of {output}" if len(outputs) > 1 else "range": _range(values[..., k])
        for k, output in enumerate(outputs[:MOST_OUTPUTS])
    }
    known = {**(facts or {}), **ends}
    if len(grids) > 1:
        sizes = " × ".join(f"{len(grid.codes):,}" for grid in grids)
        return Summary(title, {**known, "grid": f"{sizes} points"})
    grid = grids[0]
    if grid.n_left:
        known["categories"] = grid.note
    labels = grid.formatted
    rows = [
        {grid.name: labels[i]} | {output: float(values[i, k]) for k, output in enumerate(outputs)}
        for i in spread(len(labels))
    ]
    return Summary(title, known, rows, len(labels))


def _range(values: Vector) -> str:
    return f"{values.min():.6g} to {values.max():.6g}" if values.size else "none"
