"""Drawing functions for Shapley values.

Each function takes plain arrays and returns matplotlib axes; matplotlib is imported only when
something is drawn. Every displayed number is computed by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, format_large_numbers, new_axes

__all__ = ["plot_beeswarm", "plot_dependence", "plot_waterfall"]

Vector = npt.NDArray[np.float64]

UP, DOWN, GREY = "#c23b3b", DOTS, "#b0b0b0"
MOST_DOTS = 3000
COLUMNS = 110
"""The number of dots that fit side by side."""
LAYERS = 7
"""The number of dots that fit above or below the middle of a line without overlap."""


def plot_beeswarm(names: Sequence[str], values: Vector, colour: Vector, label: str, ax: Any) -> Any:
    """Plot a dot for each row and feature, stacked where they are dense.

    Parameters
    ----------
    names : sequence of str
        The features, the first on top.
    values, colour : float64 arrays of shape (n_rows, n_features)
        The Shapley values, and the colours from 0 to 1; NaN: grey.
    label : str
        The label of the axis.
    ax : matplotlib axes, or None
        Where to draw.
    """
    figure, (ax,) = _tall_axes(ax, len(names))
    some = _some_rows(len(values))
    values, colour = values[some], colour[some]
    width = (np.ptp(values) or 1.0) / COLUMNS
    ax.axvline(0.0, color=LINE, lw=1, zorder=1)
    for j in range(len(names)):
        middle = len(names) - 1 - j
        y = middle + _spread(values[:, j], width)
        dots = _dots(ax, values[:, j], y, colour[:, j])
    ax.set_yticks(np.arange(len(names))[::-1], list(names))
    ax.set(xlabel=label, ylim=(-0.6, len(names) - 0.4))
    ax.grid(visible=False, axis="x")
    _colour_bar(figure, dots, ax, "value of the feature", ["low", "high"])
    return ax


def plot_waterfall(
    names: Sequence[str], values: Vector, ends: tuple[float, float], label: str, ax: Any
) -> Any:
    """Plot how Shapley values lead from the base value (bottom) to the prediction (top).

    Parameters
    ----------
    names : sequence of str
        The features with their values, the first on top.
    values : float64 array of shape (n_features,)
        Their Shapley values.
    ends : tuple of float
        The base value and the prediction.
    label : str
        The label of the axis.
    ax : matplotlib axes, or None
        Where to draw.
    """
    _, (ax,) = _tall_axes(ax, len(names) + 1)
    n = len(names)
    # From the bottom up: the running sum before and after each feature.
    after = ends[0] + np.cumsum(values[::-1])[::-1]
    before = after - values
    place = np.arange(n, dtype=np.float64)[::-1]
    colours = [UP if c > 0 else DOWN for c in values]
    ax.barh(place, values, left=before, color=colours, height=0.62, zorder=2)
    for i in range(n - 1):
        ax.vlines(before[i], place[i] - 1, place[i], color=LINE, lw=0.8, ls=":", zorder=1)
    low, high = float(np.min([before, after])), float(np.max([before, after]))
    reach = max(high - low, 1e-300)
    for value, where, words in ((ends[0], -0.75, "base value"), (ends[1], n - 0.25, "prediction")):
        ax.axvline(value, color=LINE, lw=0.8, ls="--", zorder=0)
        side = (
            "left" if 2 * value < low + high else "right"
        )  # so that the text stays inside the axes
        text = ax.text(value, where, f" {words} {_format(value, 4)} ", ha=side, va="center")
        text.set(color="#444444", in_layout=False)
    ax.set_yticks(place, list(names))
    ax.set(xlabel=label, xlim=(low - 0.12 * reach, high + 0.12 * reach), ylim=(-1.1, n + 0.1))
    ax.grid(visible=False, axis="y")
    format_large_numbers([ax.xaxis])
    _label_bars(ax, place, np.sort([before, after], axis=0).T, values)
    return ax


def _label_bars(ax: Any, place: Vector, ends: Vector, values: Vector) -> None:
    """Write numbers into their bars; one that does not fit is beside its bar, on a white ground."""
    texts = []
    for y, (low, high), value in zip(place, ends, values, strict=True):
        words = f"{'+' if value >= 0 else ''}{_format(value, 3)}"
        text = ax.text((low + high) / 2, y, words, ha="center", va="center", color="white")
        text.set(zorder=3, in_layout=False)
        texts.append(text)
    ax.figure.canvas.figure.draw_without_rendering()  # the layout decides the width of the axes
    for text, (low, high), value in zip(texts, ends, values, strict=True):
        left, right = ax.transData.inverted().transform(text.get_window_extent())[:, 0]
        gap = 0.3 * (right - left) / len(text.get_text())
        if right - left + gap <= high - low:
            continue
        fits = high + gap + right - left <= ax.get_xlim()[1]
        text.set(x=high + gap if fits else low - gap, ha="left" if fits else "right")
        text.set(color=UP if value > 0 else DOWN, zorder=4)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8})


def plot_dependence(
    x: Vector,
    values: Vector,
    labels: tuple[str, str],
    ax: Any,
    *,
    categories: Sequence[str] | None = None,
    colour: Vector | None = None,
    colour_label: str = "",
    ends: tuple[str, str] = ("low", "high"),
) -> Any:
    """Plot the Shapley values of a feature against its values.

    Parameters
    ----------
    x, values : float64 arrays of shape (n_rows,)
        Feature values (missing ones are drawn in grey at the left), and Shapley values.
    labels : tuple of str
        The labels of the axes.
    ax : matplotlib axes, or None
        Where to draw.
    categories : sequence of str, or None
        The names of the coordinates 0, 1, … of the axis.
    colour : float64 array of shape (n_rows,), or None
        From 0 to 1; NaN: grey. None: one colour.
    colour_label, ends : str and tuple of str
        The label of the colour bar, and the labels of its ends.
    """
    figure, (ax,) = new_axes(1, ax, "dependence")
    some = _some_rows(len(x))
    x, values = x[some], values[some]
    known = ~np.isnan(x)
    if categories is not None:
        # Dots of one category are spread horizontally.
        x = x + 0.5 * (_scattered(len(x)) - 0.5)
        ax.set_xticks(np.arange(len(categories)), list(categories))
        if sum(map(len, categories)) > 40:
            for tick in ax.get_xticklabels():
                tick.set(rotation=45, ha="right", rotation_mode="anchor")
    ax.axhline(0.0, color=LINE, lw=1, zorder=1)
    shade = np.zeros(len(x)) if colour is None else colour[some]
    dots = _dots(ax, x[known], values[known], shade[known])
    if not known.all():
        span = np.ptp(x[known]) if known.any() else 1.0
        left = (x[known].min() if known.any() else 0.0) - 0.08 * (span or 1.0)
        ax.plot(np.full(int((~known).sum()), left), values[~known], "o", color=GREY, ms=3)
        bottom = ax.get_xaxis_transform()
        ax.text(left, 1.01, "missing", transform=bottom, ha="center", va="bottom", color=LINE)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if colour is not None:
        _colour_bar(figure, dots, ax, colour_label, list(ends))
    return ax


def _tall_axes(ax: Any, rows: int) -> tuple[Any, Sequence[Any]]:
    figure, axes = new_axes(1, ax, "a plot of Shapley values")
    if ax is None:
        figure.set_size_inches(7.0, 1.0 + 0.36 * rows)
    return figure, axes


def _some_rows(n: int) -> npt.NDArray[np.intp]:
    if n <= MOST_DOTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MOST_DOTS, replace=False))


def _spread(x: Vector, width: float) -> Vector:
    """Return vertical offsets so that dots of one column do not cover each other."""
    column = np.round(x / width).astype(np.int64)
    order = np.lexsort((_scattered(len(x)), column))
    _, start, count = np.unique(column[order], return_index=True, return_counts=True)
    number = np.arange(len(x)) - np.repeat(start, count)
    layer = np.where(number % 2, (number + 1) // 2, -(number // 2))  # 0, 1, -1, 2, -2, …
    y = np.empty(len(x))
    y[order] = layer
    return np.asarray(y * 0.4 / max(LAYERS, np.abs(layer).max(initial=0)))


def _scattered(n: int) -> Vector:
    """Return a low-discrepancy sequence in [0, 1) that is independent of the rows."""
    return np.asarray(np.arange(n) * 0.6180339887498949 % 1.0)


def _dots(ax: Any, x: Vector, y: Vector, colour: Vector) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("low to high", [DOWN, "#8d6fa8", UP])
    grey = np.isnan(colour)
    ax.scatter(x[grey], y[grey], s=8, color=GREY, lw=0, zorder=2)
    kept = {"c": colour[~grey], "cmap": shades, "vmin": 0.0, "vmax": 1.0}
    return ax.scatter(x[~grey], y[~grey], s=8, lw=0, zorder=3, **kept)


def _colour_bar(figure: Any, dots: Any, ax: Any, label: str, ends: list[str]) -> None:
    bar = figure.colorbar(dots, ax=ax, aspect=40, pad=0.02)
    bar.set_ticks([0.0, 1.0], labels=ends)
    bar.set_label(label, labelpad=2.0 - 5.0 * max(map(len, ends)))  # between the labels of the ends
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)


def _format(number: float, digits: int) -> str:
    """Format a number with this many significant digits, with thousands separators."""
    size = abs(number)
    plain = f"{number:,.0f}" if 10**digits <= size < 1e15 else f"{number:.{digits}g}"
    return plain.replace("-", "−")
