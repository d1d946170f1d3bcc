"""Pictures of Shapley values; matplotlib is asked for only where a picture is drawn.

The one idea: as in `plots`: a drawing function takes plain arrays and gives axes back. Must not
compute anything that a reader of the result could want as a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, new_axes

__all__ = ["plot_beeswarm", "plot_dependence", "plot_waterfall"]

Vector = npt.NDArray[np.float64]

UP, DOWN, NOWHERE = "#c23b3b", DOTS, "#b0b0b0"
MOST_DOTS = 3000
COLUMNS = 110
"""How many dots fit beside each other."""
LAYERS = 7
"""How many fit on either side of a row's middle before they overlap."""


def plot_beeswarm(names: Sequence[str], credit: Vector, colour: Vector, label: str, ax: Any) -> Any:
    """Draw a dot for each row and feature, spread where they are dense.

    Parameters
    ----------
    names : sequence of str
        The features, the first on top.
    credit, colour : float64 arrays of shape (n_rows, n_features)
        Where dots are, and their colour from 0 to 1; NaN: grey.
    label : str
        Of the axis.
    ax : matplotlib axes, or None
        Where to draw.
    """
    figure, (ax,) = _tall_axes(ax, len(names))
    some = _some_rows(len(credit))
    credit, colour = credit[some], colour[some]
    width = (np.ptp(credit) or 1.0) / COLUMNS
    ax.axvline(0.0, color=LINE, lw=1, zorder=1)
    for j in range(len(names)):
        middle = len(names) - 1 - j
        y = middle + _spread(credit[:, j], width)
        dots = _dots(ax, credit[:, j], y, colour[:, j])
    ax.set_yticks(np.arange(len(names))[::-1], list(names))
    ax.set(xlabel=label, ylim=(-0.6, len(names) - 0.4))
    ax.grid(visible=False, axis="x")
    _colour_bar(figure, dots, ax, "value of the feature", ["low", "high"])
    return ax


def plot_waterfall(
    names: Sequence[str], credit: Vector, ends: tuple[float, float], label: str, ax: Any
) -> Any:
    """Draw how credits lead from the base (the bottom) to what is said of a row (the top).

    Parameters
    ----------
    names : sequence of str
        The features with their values, the first on top.
    credit : float64 array of shape (n_features,)
        Their credits.
    ends : tuple of float
        The base, and what is said.
    label : str
        Of the axis.
    ax : matplotlib axes, or None
        Where to draw.
    """
    _, (ax,) = _tall_axes(ax, len(names) + 1)
    n = len(names)
    # From the bottom up: what is known before a feature, and after it.
    after = ends[0] + np.cumsum(credit[::-1])[::-1]
    before = after - credit
    place = np.arange(n)[::-1]
    colours = [UP if c > 0 else DOWN for c in credit]
    ax.barh(place, credit, left=before, color=colours, height=0.62, zorder=2)
    for i in range(n - 1):
        ax.vlines(before[i], place[i] - 1, place[i], color=LINE, lw=0.8, ls=":", zorder=1)
    low, high = float(np.min([before, after])), float(np.max([before, after]))
    reach = max(high - low, 1e-300)
    for y, begin, end, own in zip(place, before, after, credit, strict=True):
        text = f"{'+' if own >= 0 else ''}{_written(own, 3)}"
        # Inside its bar, if it fits; a letter is about a sixtieth of the picture.
        if abs(own) > 0.017 * len(text) * reach:
            ax.text((begin + end) / 2, y, text, ha="center", va="center", color="white", zorder=3)
        else:
            right = max(begin, end) + 0.012 * reach
            ax.text(right, y, text, ha="left", va="center", color=UP if own > 0 else DOWN)
    for value, where, words in ((ends[0], -0.75, "base"), (ends[1], n - 0.25, "prediction")):
        ax.axvline(value, color=LINE, lw=0.8, ls="--", zorder=0)
        side = "left" if 2 * value < low + high else "right"  # into the picture, not out of it
        told = ax.text(value, where, f" {words} {_written(value, 4)} ", ha=side, va="center")
        told.set(color="#444444")
    ax.set_yticks(place, list(names))
    ax.set(xlabel=label, xlim=(low - 0.12 * reach, high + 0.12 * reach), ylim=(-1.1, n + 0.1))
    ax.grid(visible=False, axis="y")
    return ax


def plot_dependence(
    x: Vector,
    credit: Vector,
    labels: tuple[str, str],
    ax: Any,
    *,
    levels: Sequence[str] | None = None,
    colour: Vector | None = None,
    companion: str = "",
    ends: tuple[str, str] = ("low", "high"),
) -> Any:
    """Draw the credits of a feature against its value.

    Parameters
    ----------
    x, credit : float64 arrays of shape (n_rows,)
        Values (missing ones are drawn in grey, left of the others), and credits.
    labels : tuple of str
        Of the axes.
    ax : matplotlib axes, or None
        Where to draw.
    levels : sequence of str, or None
        What the places 0, 1, … on the axis are called.
    colour : float64 array of shape (n_rows,), or None
        From 0 to 1; NaN: grey. None: all dots alike.
    companion, ends : str and tuple of str
        What the colours are about, and what the first and the last of them mean.
    """
    figure, (ax,) = new_axes(1, ax, "dependence")
    some = _some_rows(len(x))
    x, credit = x[some], credit[some]
    known = ~np.isnan(x)
    if levels is not None:
        # Dots of a level side by side, so that they can be told apart.
        x = x + 0.5 * (_scattered(len(x)) - 0.5)
        ax.set_xticks(np.arange(len(levels)), list(levels))
        if sum(map(len, levels)) > 40:
            for tick in ax.get_xticklabels():
                tick.set(rotation=45, ha="right", rotation_mode="anchor")
    ax.axhline(0.0, color=LINE, lw=1, zorder=1)
    shade = np.zeros(len(x)) if colour is None else colour[some]
    dots = _dots(ax, x[known], credit[known], shade[known])
    if not known.all():
        span = np.ptp(x[known]) if known.any() else 1.0
        left = (x[known].min() if known.any() else 0.0) - 0.08 * (span or 1.0)
        ax.plot(np.full(int((~known).sum()), left), credit[~known], "o", color=NOWHERE, ms=3)
        bottom = ax.get_xaxis_transform()
        ax.text(left, 1.01, "missing", transform=bottom, ha="center", va="bottom", color=LINE)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if colour is not None:
        _colour_bar(figure, dots, ax, companion, list(ends))
    return ax


def _tall_axes(ax: Any, rows: int) -> tuple[Any, Sequence[Any]]:
    figure, axes = new_axes(1, ax, "a picture of Shapley values")
    if ax is None:
        figure.set_size_inches(7.0, 1.0 + 0.36 * rows)
    return figure, axes


def _some_rows(n: int) -> npt.NDArray[np.intp]:
    if n <= MOST_DOTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_DOTS, replace=False))


def _spread(x: Vector, width: float) -> Vector:
    """Return how far up or down dots go so that those in one column do not cover each other."""
    column = np.round(x / width).astype(np.int64)
    order = np.lexsort((_scattered(len(x)), column))
    _, start, count = np.unique(column[order], return_index=True, return_counts=True)
    number = np.arange(len(x)) - np.repeat(start, count)
    layer = np.where(number % 2, (number + 1) // 2, -(number // 2))  # 0, 1, -1, 2, -2, …
    y = np.empty(len(x))
    y[order] = layer
    return np.asarray(y * 0.4 / max(LAYERS, np.abs(layer).max(initial=0)))


def _scattered(n: int) -> Vector:
    """Return numbers from 0 to 1 that have nothing to do with the rows, evenly spread."""
    return np.asarray(np.arange(n) * 0.6180339887498949 % 1.0)


def _dots(ax: Any, x: Vector, y: Vector, colour: Vector) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("low to high", [DOWN, "#8d6fa8", UP])
    grey = np.isnan(colour)
    ax.scatter(x[grey], y[grey], s=8, color=NOWHERE, lw=0, zorder=2)
    kept = {"c": colour[~grey], "cmap": shades, "vmin": 0.0, "vmax": 1.0}
    return ax.scatter(x[~grey], y[~grey], s=8, lw=0, zorder=3, **kept)


def _colour_bar(figure: Any, dots: Any, ax: Any, label: str, ends: list[str]) -> None:
    bar = figure.colorbar(dots, ax=ax, aspect=40, pad=0.02)
    bar.set_ticks([0.0, 1.0], labels=ends)
    bar.set_label(label, labelpad=2.0 - 5.0 * max(map(len, ends)))  # between the ends
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)


def _written(number: float, digits: int) -> str:
    """Return a number with so many digits that count, thousands apart, and no power of ten."""
    size = abs(number)
    plain = f"{number:,.0f}" if 10**digits <= size < 1e15 else f"{number:.{digits}g}"
    return plain.replace("-", "−")
