"""Pictures of what inspection finds; matplotlib is asked for only where a picture is drawn.

The one idea: a drawing function takes plain arrays and gives axes back. Must not compute anything
that a reader of the result could want as a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, new_axes
from stagewise.data.reading.moments import Moment, moment_ticks, moment_words
from stagewise.errors import InvalidParameterError

__all__ = [
    "name_moments",
    "plot_bars",
    "plot_curves",
    "plot_levels",
    "plot_relief",
    "plot_surface",
]

Vector = npt.NDArray[np.float64]

TICKS = 4
"""At most about so many moments are named at an axis."""
COLOURS = (DOTS, "#e08a1e", "#3a9d5d", "#c23b3b", "#7d5ba6", "#8a6d3b", "#d16ba5", "#4aa3a3")


def name_moments(ax: Any, across: Moment | None, along: Moment | None = None) -> Any:
    """Put ticks on axes of nanoseconds where days, months or hours begin, named in words."""
    for axis, moment in ((ax.xaxis, across), (ax.yaxis, along)):
        if moment is not None:
            _name_moments(axis, moment)
    return ax


def _name_moments(axis: Any, moment: Moment) -> None:
    from matplotlib.ticker import FuncFormatter, Locator

    class Begins(Locator):
        """Whole units of time, however the picture is moved or zoomed."""

        def __call__(self) -> Any:
            return self.tick_values(*axis.get_view_interval())

        def tick_values(self, vmin: float, vmax: float) -> Any:
            return moment_ticks(min(vmin, vmax), max(vmin, vmax), moment, TICKS)

    def words(x: float, _: Any) -> str:
        return moment_words(x, moment, within=float(np.ptp(axis.get_view_interval())))

    axis.set_major_locator(Begins())
    axis.set_major_formatter(FuncFormatter(words))


def plot_bars(
    names: Sequence[str], value: Vector, limits: Vector | None, label: str, ax: Any
) -> Any:
    """Draw horizontal bars, the first on top; `limits` has a row of low and one of high ends."""
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
    """Draw a curve for each column of `curves`, behind them those of rows, below them deciles."""
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


def plot_levels(
    levels: Sequence[str],
    values: Vector,
    names: Sequence[str],
    labels: tuple[str, str],
    ax: Any,
) -> Any:
    """Draw a dot for each level and each column of `values`."""
    _, (ax,) = new_axes(1, ax, "plot")
    place = np.arange(len(levels))
    for k, (column, name) in enumerate(zip(values.T, names, strict=True)):
        shift = 0.12 * (k - (len(names) - 1) / 2)
        ax.plot(place + shift, column, "o", color=COLOURS[k % len(COLOURS)], label=name)
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(levels) > 6 else {}
    ax.set_xticks(place, list(levels), **turned)
    if len(names) > 1:
        ax.legend(frameon=False)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return ax


def plot_surface(
    x: Vector,
    y: Vector,
    surface: Vector,
    labels: tuple[str, str, str],
    ax: Any,
    *,
    ticks: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
) -> Any:
    """Draw a function of two features: contours of numbers, a map where one is a category."""
    figure, (ax,) = new_axes(1, ax, "plot")
    if ticks == (None, None):
        filled = ax.contourf(x, y, surface.T, levels=12, cmap="viridis")
        ax.contour(x, y, surface.T, levels=12, colors="white", linewidths=0.4)
    else:
        filled = ax.pcolormesh(x, y, surface.T, cmap="viridis", shading="nearest")
    for axis, names, places in ((ax.xaxis, ticks[0], x), (ax.yaxis, ticks[1], y)):
        if names is not None:
            axis.set_ticks(places, list(names))
    figure.colorbar(filled, ax=ax, label=labels[2])
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return ax


def plot_relief(
    x: Vector, y: Vector, surface: Vector, labels: tuple[str, str, str], ax: Any
) -> Any:
    """Draw a function of two numbers as a surface in three dimensions."""
    if ax is None:
        figure, (flat,) = new_axes(1, None, "plot")
        flat.remove()
        figure.set_size_inches(6.4, 4.8)
        ax = figure.add_subplot(projection="3d")
    if not hasattr(ax, "plot_surface"):
        raise InvalidParameterError(
            "kind='surface' needs axes in three dimensions: make them with "
            "figure.add_subplot(projection='3d'), or leave ax out."
        )
    across, along = np.meshgrid(x, y, indexing="ij")
    look = {"cmap": "viridis", "edgecolor": "#00000030", "linewidth": 0.3, "antialiased": True}
    ax.plot_surface(across, along, surface, rcount=60, ccount=60, **look)
    ax.set(xlabel=labels[0], ylabel=labels[1], zlabel=labels[2])
    ax.view_init(elev=30, azim=-130)
    return ax
