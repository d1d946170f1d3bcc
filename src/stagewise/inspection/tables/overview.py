"""Figures of a description: columns, scatter plots, correlations.

This module chooses what is drawn, with a limit of the number of axes; `plots` draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import new_axes
from stagewise.errors import InvalidParameterError
from stagewise.inspection.tables.association import correlation_matrix, rank_correlations
from stagewise.inspection.tables.outliers import ColumnStatistics, find_outliers
from stagewise.inspection.tables.plots import (
    draw_bars,
    draw_correlations,
    draw_histogram,
    draw_scatter,
)
from stagewise.inspection.tables.profile import Profile
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name
from stagewise.validation.rules import Number

if TYPE_CHECKING:
    from stagewise.inspection.tables.description import Description

__all__ = ["KINDS", "MAX_COLUMNS", "plot_description"]

KINDS = ("columns", "scatter", "correlation")
MAX_COLUMNS = 12
PER_ROW = 4


def plot_description(
    found: Description, kind: str, columns: Sequence[str] | None, max_columns: int, rule: str
) -> Any:
    """Draw a description; see `Description.plot`."""
    if kind not in KINDS:
        raise InvalidParameterError(
            f"kind must be one of {', '.join(map(repr, KINDS))}; got {short_repr(kind)}."
        )
    try:
        most = Number(1, whole=True)(max_columns)
    except ValueError as error:
        raise InvalidParameterError(
            f"max_columns must be {error}; got {short_repr(max_columns)}."
        ) from None
    profiles = _ordered(found, columns)
    if kind == "columns":
        return _plot_columns(found, profiles, most, rule)
    numbers = [p for p in profiles if p.is_number]
    if kind == "correlation":
        return _plot_correlations(found, numbers, most)
    return _plot_scatter(found, numbers, most, rule)


def _ordered(found: Description, columns: Sequence[str] | None) -> list[Profile]:
    """Return the profiles to draw, the most important first; the target is the first."""
    profiles = {p.name: p for p in found.columns}
    if columns is None:
        first = [] if found.target is None else [found.target]
        names = [*first, *(row["column"] for row in found.associations)]
        return [profiles[name] for name in names] if found.associations else list(found.columns)
    if isinstance(columns, str):
        raise InvalidParameterError(
            f"columns must be a list of names; got {columns!r}. Pass [{columns!r}]."
        )
    for name in columns:
        if name not in profiles:
            raise InvalidParameterError(
                f"columns: there is no column {name!r}.{nearest_name(str(name), profiles)}"
            )
    return [profiles[name] for name in columns]


def _plot_columns(found: Description, profiles: list[Profile], most: int, rule: str) -> Any:
    drawn = profiles[:most]
    _, axes = new_axes(len(drawn), None, "plot", PER_ROW)
    for ax, profile in zip(axes, drawn, strict=True):
        if profile.is_number:
            values = found.values[profile.name]
            draw_histogram(ax, profile, values, find_outliers(values, rule)[1])
        else:
            draw_bars(ax, profile)
    return _with_note(axes, len(drawn), len(profiles), "columns")


def _plot_correlations(found: Description, numbers: list[Profile], most: int) -> Any:
    _check_enough(numbers, "correlation")
    names = [p.name for p in numbers[:most]]
    figure, axes = new_axes(1, None, "plot")
    side = 2.2 + 0.45 * len(names)
    figure.set_size_inches(side + 1.0, side)
    draw_correlations(axes[0], names, correlation_matrix([found.values[name] for name in names]))
    return _with_note(axes, len(names), len(numbers), "numeric columns")


def _plot_scatter(found: Description, numbers: list[Profile], most: int, rule: str) -> Any:
    target = next((p for p in found.columns if p.name == found.target and p.is_number), None)
    if target is not None:
        pairs = [(p, target) for p in numbers if p is not target]
        _check_enough([target, *(p for p, _ in pairs)], "scatter")
    else:
        _check_enough(numbers, "scatter")
        pairs = _strongest_pairs(found, numbers)
    _, axes = new_axes(len(pairs[:most]), None, "plot", PER_ROW)
    for ax, pair in zip(axes, pairs, strict=False):
        x, y = (found.values[p.name] for p in pair)
        _, outlier = find_outliers(x, rule)
        lines = ColumnStatistics.of(x, y), ColumnStatistics.of(x[~outlier], y[~outlier])
        draw_scatter(ax, pair, (x, y), outlier, lines)
    return _with_note(axes, len(pairs[:most]), len(pairs), "pairs of columns")


def _strongest_pairs(found: Description, numbers: list[Profile]) -> list[tuple[Profile, Profile]]:
    size = np.abs(rank_correlations([found.values[p.name] for p in numbers]))
    one, two = np.triu_indices(len(numbers), 1)
    order: npt.NDArray[np.intp] = np.argsort(-size[one, two], kind="stable")
    return [(numbers[one[i]], numbers[two[i]]) for i in order]


def _check_enough(numbers: Sequence[Profile], kind: str) -> None:
    if len(numbers) < 2:
        names = ", ".join(repr(p.name) for p in numbers) or "none"
        raise ValueError(
            f"kind={kind!r} needs two numeric columns; there is {names}. Use kind='columns'."
        )


def _with_note(axes: Sequence[Any], drawn: int, total: int, what: str) -> Sequence[Any]:
    """Return the axes; a figure that does not have all columns gets a note."""
    if drawn < total:
        axes[0].figure.suptitle(
            f"{drawn} of {total} {what}; set max_columns or columns for the others", fontsize=9
        )
    return axes
