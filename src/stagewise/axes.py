"""Creates matplotlib axes for all plots of the package.

matplotlib is imported only when something is drawn. If the caller passes axes, these are used. A
new figure is one of pyplot: a notebook shows it, and `plt.show` and `plt.savefig` find it. Plots
return axes, not the figure, because a notebook would show a returned figure a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagewise.errors import InvalidParameterError

__all__ = ["DOTS", "LINE", "format_large_numbers", "new_axes"]

DOTS, LINE = "#2a6fbb", "#888888"


def new_axes(
    n: int, given: Any, what: str, per_row: int | None = None
) -> tuple[Any, Sequence[Any]]:
    """Return a figure and `n` axes: those of the caller, or new ones, `per_row` side by side.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if given is not None:
        axes = list(given) if np.iterable(given) else [given]
        if len(axes) != n or not all(hasattr(ax, "plot") for ax in axes):
            raise InvalidParameterError(f"axes must be {n} matplotlib axes for {what}.")
        return axes[0].figure, axes
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            f"{what} needs matplotlib, which is not installed. Install it with "
            "pip install 'stagewise[plot]'."
        ) from None
    if per_row is not None:
        rows, side = -(-n // per_row), min(n, per_row)
        figure = plt.figure(figsize=(max(3.2 * side, 4.2), 2.7 * rows), layout="constrained")
        return figure, [figure.add_subplot(rows, side, i + 1) for i in range(n)]
    figure = plt.figure(figsize=(4.2 * n if n > 1 else 6.4, 3.6), layout="constrained")
    return figure, [figure.add_subplot(1, n, i + 1) for i in range(n)]


LARGE = 10_000
"""Numbers from this size on are ticks such as 200k and 1.5M."""
NARROW_TICKS = 5
"""The largest number of intervals between ticks of a narrow axis."""


def format_large_numbers(axes: Sequence[Any]) -> None:
    """Give axes (such as `ax.xaxis`) few ticks; large numbers are short, such as 200k and 1.5M."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    for axis in axes:
        axis.set_major_locator(MaxNLocator(nbins=NARROW_TICKS))
        if np.abs(axis.get_view_interval()).max() >= LARGE:
            axis.set_major_formatter(EngFormatter(sep=""))
