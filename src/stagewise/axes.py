"""Axes to draw on, and the two colours that every picture has.

The one idea: matplotlib is asked for when something is drawn, and a caller's own axes are taken
instead of new ones. Must not know what is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stagewise.errors import InvalidParameterError

__all__ = ["DOTS", "LINE", "new_axes"]

DOTS, LINE = "#2a6fbb", "#888888"


def new_axes(n: int, given: Any, what: str) -> tuple[Any, Sequence[Any]]:
    """Return a figure and `n` axes to draw on: those that were given, or new ones.

    Raises
    ------
    ImportError
        If matplotlib is not installed; with the remedy.
    """
    if given is not None:
        axes = list(given) if np.iterable(given) else [given]
        if len(axes) != n or not all(hasattr(ax, "plot") for ax in axes):
            raise InvalidParameterError(f"axes must be {n} matplotlib axes for {what}.")
        return axes[0].figure, axes
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            f"{what} draws with matplotlib, which is not installed. Install it with "
            "pip install 'stagewise[plot]'."
        ) from None
    figure = Figure(figsize=(4.2 * n if n > 1 else 6.4, 3.6), layout="constrained")
    return figure, [figure.add_subplot(1, n, i + 1) for i in range(n)]
