"""Style and folder of the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "RED", "plt", "save"]

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
BLUE, ORANGE, GREEN, RED, GREY = "#2a6fbb", "#e08a1e", "#3a9d5d", "#c23b3b", "#888888"

plt.rcParams.update(
    {
        "figure.figsize": (6.4, 3.6),
        "figure.dpi": 130,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "legend.frameon": False,
        "font.size": 9,
    }
)


def save(fig: Any, name: str) -> None:
    """Write a figure to docs/figures."""
    if fig.get_layout_engine() is None:  # plots of the package have one
        fig.tight_layout()
    # No date and no version in the file: the same picture is the same bytes.
    fig.savefig(FOLDER / f"{name}.png", metadata={"Software": None})
    plt.close(fig)
