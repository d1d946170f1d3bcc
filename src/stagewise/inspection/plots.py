"""Plots shared by the inspection functions.

Each function takes plain arrays and returns matplotlib axes; matplotlib is imported only when
something is drawn. Every displayed number is computed by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, new_axes
from stagewise.data.reading.datetimes import TemporalType, datetime_ticks, format_datetime
from stagewise.errors import InvalidParameterError

__all__ = [
    "format_datetime_axes",
    "plot_bars",
    "plot_categories",
    "plot_curves",
    "plot_surface",
    "plot_surface_3d",
]

Vector = npt.NDArray[np.float64]

TICKS = 4
"""The approximate number of date and time ticks of an axis."""
FEW_NAMES, NAMES_PER_INCH, WIDEST_NAME = 12, 8.2, 24
"""The number of categories up to which names are not upright, the largest number of names of
an inch, and their largest number of characters."""
COLOURS = (DOTS, "#e08a1e", "#3a9d5d", "#c23b3b", "#7d5ba6", "#8a6d3b", "#d16ba5", "#4aa3a3")


def format_datetime_axes(
    ax: Any, across: TemporalType | None, along: TemporalType | None = None
) -> Any:
    """Put ticks of axes in nanoseconds at the start of hours, days or months, with text labels."""
    for axis, temporal_type in ((ax.xaxis, across), (ax.yaxis, along)):
        if temporal_type is not None:
            _format_datetime_axis(axis, temporal_type)
    return ax


def _format_datetime_axis(axis: Any, temporal_type: TemporalType) -> None:
    from matplotlib.ticker import FuncFormatter, Locator

    class TemporalLocator(Locator):
        """Ticks at whole units of time, also after panning and zooming."""

        def __call__(self) -> Any:
            return self.tick_values(*axis.get_view_interval())

        def tick_values(self, vmin: float, vmax: float) -> Any:
            return datetime_ticks(min(vmin, vmax), max(vmin, vmax), temporal_type, TICKS)

    def text(x: float, _: Any) -> str:
        return format_datetime(x, temporal_type, within=float(np.ptp(axis.get_view_interval())))

    axis.set_major_locator(TemporalLocator())
    axis.set_major_formatter(FuncFormatter(text))


def plot_bars(
    names: Sequence[str], value: Vector, limits: Vector | None, label: str, ax: Any
) -> Any:
    """Plot horizontal bars, the first on top; `limits` has rows low and high."""
    _, (ax,) = new_axes(1, ax, "plot")
    place = np.arange(len(names))[::-1]
    ax.barh(place, value, color=DOTS, height=0.7)
    if limits is not None:
        ax.hlines(place, limits[0], limits[1], color="black", lw=1.2)
    ax.set_yticks(place, list(names))
    ax.set_axisbelow(True)
    ax.set(xlabel=label)
    return ax


def plot_curves(
    x: Vector,
    curves: Vector,
    names: Sequence[str],
    labels: tuple[str, str],
    ax: Any,
    *,
    individual: Vector | None = None,
    rug: Vector | None = None,
    steps: bool = False,
) -> Any:
    """Plot a curve for each column of `curves`, the curves of rows behind, deciles as a rug."""
    _, (ax,) = new_axes(1, ax, "plot")
    how = {"drawstyle": "steps-mid"} if steps else {}
    if individual is not None:
        ax.plot(x, individual.T, color=LINE, lw=0.5, alpha=0.35, zorder=1)
    for k, (curve, name) in enumerate(zip(curves.T, names, strict=True)):
        ax.plot(x, curve, color=COLOURS[k % len(COLOURS)], lw=2, label=name, **how)
    if rug is not None and len(rug):
        bottom = ax.get_xaxis_transform()
        ax.vlines(rug, 0.0, 0.04, transform=bottom, color="black", lw=1)
    if len(names) > 1:
        ax.legend(frameon=False)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return ax


def plot_categories(
    categories: Sequence[str],
    values: Vector,
    names: Sequence[str],
    labels: tuple[str, str],
    ax: Any,
    *,
    title: str = "",
) -> Any:
    """Plot a dot for each category and each column of `values`."""
    _, (ax,) = new_axes(1, ax, "plot")
    place = np.arange(len(categories), dtype=np.float64)
    for k, (column, name) in enumerate(zip(values.T, names, strict=True)):
        shift = 0.12 * (k - (len(names) - 1) / 2)
        ax.plot(place + shift, column, "o", color=COLOURS[k % len(COLOURS)], label=name)
    _name_places(ax.xaxis, place, categories)
    _set_note(ax, title)
    if len(names) > 1:
        ax.legend(frameon=False)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return ax


def _set_note(ax: Any, text: str) -> None:
    """Write a note above axes."""
    if text:
        ax.set_title(text, fontsize=10)


def _name_places(axis: Any, places: Vector, names: Sequence[str]) -> None:
    """Put names at places of an axis: turned if there are some, and not all if there are many."""
    inches = getattr(axis.axes.bbox, "width" if axis.axis_name == "x" else "height")
    most = max(2, int(NAMES_PER_INCH * inches / axis.axes.figure.dpi))
    step = -(-len(names) // most)
    size = {} if len(names) <= FEW_NAMES else {"fontsize": 7}
    how: dict[str, Any] = {}
    if axis.axis_name == "x" and len(names) > FEW_NAMES:
        how = {"rotation": 90, "ha": "center"}
    elif axis.axis_name == "x" and len(names) > 6:
        how = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    short = [name if len(name) <= WIDEST_NAME else f"{name[: WIDEST_NAME - 1]}…" for name in names]
    axis.set_ticks(places[::step], short[::step], **how, **size)


def plot_surface(
    x: Vector,
    y: Vector,
    surface: Vector,
    labels: tuple[str, str, str],
    ax: Any,
    *,
    ticks: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    title: str = "",
) -> Any:
    """Plot a function of two features: contours, or a heat map if one is categorical."""
    figure, (ax,) = new_axes(1, ax, "plot")
    if ticks == (None, None):
        filled = ax.contourf(x, y, surface.T, levels=12, cmap="viridis")
        ax.contour(x, y, surface.T, levels=12, colors="white", linewidths=0.4)
    else:
        filled = ax.pcolormesh(x, y, surface.T, cmap="viridis", shading="nearest")
    for axis, names, places in ((ax.xaxis, ticks[0], x), (ax.yaxis, ticks[1], y)):
        if names is not None:
            _name_places(axis, places, names)
    figure.colorbar(filled, ax=ax, label=labels[2])
    _set_note(ax, title)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return ax


def plot_surface_3d(
    x: Vector, y: Vector, surface: Vector, labels: tuple[str, str, str], ax: Any
) -> Any:
    """Plot a function of two numeric features as a surface in three dimensions."""
    if ax is None:
        figure, (flat,) = new_axes(1, None, "plot")
        flat.remove()
        figure.set_size_inches(6.4, 4.8)
        ax = figure.add_subplot(projection="3d")
    if not hasattr(ax, "plot_surface"):
        raise InvalidParameterError(
            "kind='surface' needs 3D axes: create them with "
            "figure.add_subplot(projection='3d'), or omit ax."
        )
    across, along = np.meshgrid(x, y, indexing="ij")
    look = {"cmap": "viridis", "edgecolor": "#00000030", "linewidth": 0.3, "antialiased": True}
    ax.plot_surface(across, along, surface, rcount=60, ccount=60, **look)
    ax.set(xlabel=labels[0], ylabel=labels[1], zlabel=labels[2])
    ax.view_init(elev=30, azim=-130)
    return ax
