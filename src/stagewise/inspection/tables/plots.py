"""Plots of the columns of a table.

Each function draws on given axes; every displayed number is computed by the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE
from stagewise.inspection.plots import format_datetime_axes
from stagewise.inspection.tables.density import kernel_density
from stagewise.inspection.tables.outliers import ColumnStatistics
from stagewise.inspection.tables.profile import Profile

__all__ = ["draw_bars", "draw_correlations", "draw_histogram", "draw_scatter"]

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

OUTLIER, WITHOUT = "#c23b3b", "#e08a1e"
MOST_DOTS = 4000
LONGEST_LABEL = 14
MOST_NUMBERS = 16
"""The largest number of columns of a correlation matrix with its numbers written in."""


def draw_histogram(ax: Any, profile: Profile, values: Vector, outlier: Mask) -> None:
    """Draw the histogram and the density of a column, with its outliers as marks below."""
    counts, edges = profile.density
    if len(counts):
        width = np.diff(edges)
        ax.bar(
            edges[:-1], counts / (counts.sum() * width), width, align="edge", color=DOTS, alpha=0.4
        )
        ax.plot(*kernel_density(values[np.isfinite(values)]), color=DOTS, lw=1.5)
    far = np.unique(values[outlier & np.isfinite(values)])
    if len(far):
        bottom = ax.get_xaxis_transform()
        ax.plot(far, np.full(len(far), 0.03), "|", color=OUTLIER, ms=8, transform=bottom)
    n = int(outlier.sum())
    note = f" ({n:,} outlier{'' if n == 1 else 's'})" if n else ""
    ax.set_title(f"{_short(profile.name, 28)}{note}", fontsize=10)
    ax.set(yticks=[])
    format_datetime_axes(ax, profile.temporal_type)


def draw_bars(ax: Any, profile: Profile) -> None:
    """Draw the numbers of rows of the most frequent categories, and of the others together."""
    names = [_short(str(value)) for value, _ in profile.frequent]
    rows = [n for _, n in profile.frequent]
    others = profile.n_rows - profile.missing - sum(rows)
    parts = [("other", others), ("missing", profile.missing)]
    names += [name for name, n in parts if n]
    rows += [n for _, n in parts if n]
    place = np.arange(len(names))[::-1]
    colours = [DOTS] * len(profile.frequent) + [LINE] * (len(names) - len(profile.frequent))
    ax.barh(place, rows, color=colours, alpha=0.7, height=0.7)
    ax.set_yticks(place, names, fontsize=8)
    ax.set_title(_short(profile.name, 28), fontsize=10)


def draw_scatter(
    ax: Any,
    profiles: tuple[Profile, Profile],
    values: tuple[Vector, Vector],
    outlier: Mask,
    lines: tuple[ColumnStatistics, ColumnStatistics],
) -> None:
    """Draw two columns, outliers marked, and their least-squares lines with and without these."""
    x, y = values
    known = np.isfinite(x) & np.isfinite(y)
    usual, far = np.flatnonzero(known & ~outlier), np.flatnonzero(known & outlier)
    if len(usual) > MOST_DOTS:
        usual = np.random.default_rng(0).choice(usual, MOST_DOTS, replace=False)
    ax.plot(x[usual], y[usual], ".", color=DOTS, ms=3, alpha=0.5)
    ax.plot(x[far], y[far], "o", mfc="none", mec=OUTLIER, ms=5)
    view = ax.get_ylim()
    ends = np.array([x[known].min(), x[known].max()]) if known.any() else np.zeros(0)
    for line, colour, style in zip(lines, (LINE, WITHOUT), ("--", "-"), strict=True):
        if len(ends) and np.isfinite(line.slope) and (colour == LINE or len(far)):
            ax.plot(ends, line.intercept + line.slope * ends, style, color=colour, lw=1.5)
    ax.set_ylim(view)
    r = f"r = {lines[0].pearson:.2f}" + (f", {lines[1].pearson:.2f} without" if len(far) else "")
    ax.set_title(r, fontsize=10)
    ax.set(xlabel=_short(profiles[0].name, 28), ylabel=_short(profiles[1].name, 28))
    format_datetime_axes(ax, profiles[0].temporal_type, profiles[1].temporal_type)


def draw_correlations(ax: Any, names: Sequence[str], matrix: Vector) -> None:
    """Draw a correlation matrix as a heat map."""
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-1, vmax=1)
    place = np.arange(len(names))
    labels = [_short(name) for name in names]
    ax.set_xticks(place, labels, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(place, labels)
    ax.grid(visible=False)
    if len(names) <= MOST_NUMBERS:
        for i, row in enumerate(matrix):
            for j, r in enumerate(row):
                colour = "white" if abs(r) > 0.6 else "black"
                text = "" if np.isnan(r) else f"{r:.2f}"
                ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=7)
    ax.figure.colorbar(image, ax=ax, label="correlation")


def _short(text: str, longest: int = LONGEST_LABEL) -> str:
    # A dollar sign would begin a formula.
    text = text.replace("$", r"\$")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
