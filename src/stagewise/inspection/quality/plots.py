"""Plots of the quality of a model.

Each function takes plain arrays and returns matplotlib axes; matplotlib is imported only when
something is drawn. Every displayed number is computed by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.axes import DOTS, LINE, format_large_numbers, new_axes
from stagewise.inspection.plots import COLOURS

__all__ = [
    "plot_calibration",
    "plot_confusion",
    "plot_intervals",
    "plot_learning",
    "plot_lift",
    "plot_query_values",
    "plot_residuals",
    "plot_tradeoff",
]

Vector = npt.NDArray[np.float64]

MOST_DOTS = 4000


def plot_intervals(names: Sequence[str], ends: Vector, axes: Any) -> list[Any]:
    """Plot each row (value, low, high) of `ends` as a dot with its limits, on its own axes."""
    _, drawn = new_axes(len(names), axes, "plot")
    for ax, name, (value, low, high) in zip(drawn, names, ends, strict=True):
        ax.hlines(0.0, low, high, color=DOTS, lw=5, alpha=0.35)
        ax.plot([value], [0.0], "o", color=DOTS, ms=8)
        text = "undefined" if value != value else f"{value:.4g}"
        ax.set(yticks=[], title=f"{name}: {text}")
        ax.margins(x=0.25)
        ax.grid(visible=False, axis="y")
    return list(drawn)


def plot_query_values(
    values: Vector, weight: Vector, name: str, ends: tuple[float, float, float, float], ax: Any
) -> Any:
    """Plot the distribution of a metric over queries; `ends` are mean, limits and baseline."""
    _, (ax,) = new_axes(1, ax, "plot")
    mean, low, high, baseline = ends
    ax.hist(values, bins=np.linspace(0.0, 1.0, 21), weights=weight, color=DOTS, alpha=0.6)
    ax.axvspan(low, high, color=COLOURS[1], alpha=0.25, lw=0)
    ax.axvline(mean, color=COLOURS[1], lw=2, label=f"mean {mean:.3f}")
    ax.axvline(baseline, color=LINE, lw=1, ls="--", label=f"random order {baseline:.3f}")
    ax.set(xlabel=f"{name} of a query", ylabel="queries", title=f"{name}: {mean:.4g}")
    ax.legend()
    return ax


def plot_tradeoff(
    x: Vector,
    y: Vector,
    labels: tuple[str, str],
    title: str,
    ax: Any,
    *,
    chance: Vector | None = None,
    mark: tuple[float, float] | None = None,
    steps: str = "default",
) -> Any:
    """Plot a trade-off curve; `chance` has the end points of the reference line.

    `steps` is matplotlib's drawstyle: "steps-pre" uses the value at the right end of each interval
    in the order of the points, "steps-post" the value at the left end.
    """
    _, (ax,) = new_axes(1, ax, "plot")
    ax.plot(x, y, color=DOTS, lw=2, drawstyle=steps)
    if chance is not None:
        ax.plot([0.0, 1.0], chance, color=LINE, lw=1, ls="--")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.05))
    if mark is not None:
        ax.plot(*mark, "o", color=COLOURS[1], ms=7)
        ax.set(ylim=(0.0, None))
    ax.set(xlabel=labels[0], ylabel=labels[1], title=title)
    return ax


def plot_calibration(
    predicted: Vector, observed: Vector, limits: Vector, title: str, ax: Any
) -> Any:
    """Plot observed shares against predicted probabilities; `limits` has rows low and high."""
    _, (ax,) = new_axes(1, ax, "plot")
    ax.plot([0.0, 1.0], [0.0, 1.0], color=LINE, lw=1, ls="--")
    ax.vlines(predicted, limits[0], limits[1], color=DOTS, lw=3, alpha=0.35)
    ax.plot(predicted, observed, "o-", color=DOTS, ms=5, lw=1.2)
    ax.set(xlabel="predicted probability", ylabel="observed share", title=title)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.05))
    return ax


def plot_confusion(names: Sequence[str], cells: Vector, ax: Any) -> Any:
    """Plot a confusion matrix with the number of each cell."""
    _, (ax,) = new_axes(1, ax, "plot")
    place, largest = np.arange(len(names)), cells.max(initial=0.0)
    ax.imshow(cells, cmap="Blues", vmin=0.0, vmax=largest or 1.0)
    shares = bool((cells % 1 != 0).any())
    for (i, j), value in np.ndenumerate(cells):
        colour = "white" if value > largest / 2 else "black"
        ax.text(j, i, f"{value:.2f}" if shares else f"{value:,.0f}", ha="center", va="center")
        ax.texts[-1].set_color(colour)
    turned = sum(map(len, names)) > 30
    ax.set_xticks(
        place, list(names), rotation=45 if turned else 0, ha="right" if turned else "center"
    )
    ax.set_yticks(place, list(names))
    ax.grid(visible=False)
    ax.set(xlabel="predicted", ylabel="true")
    return ax


def plot_residuals(
    rows: Vector, running: Mapping[str, Vector], normal: tuple[Vector, Vector], axes: Any
) -> list[Any]:
    """Plot observed and residual against predicted values, and a normal quantile plot.

    `rows` has predicted, observed and residual values; a sample is drawn if there are many.
    """
    _, drawn = new_axes(3, axes, "plot")
    fit, left, shape = drawn
    predicted, observed, residual = rows
    some = np.arange(len(predicted))
    if len(some) > MOST_DOTS:
        some = np.random.default_rng(0).choice(some, MOST_DOTS, replace=False)
    dots = {"color": DOTS, "ms": 3, "alpha": 0.4 if len(some) > 300 else 0.8, "mew": 0}
    fit.plot(predicted[some], observed[some], "o", **dots)
    fit.axline((float(predicted.mean()),) * 2, slope=1.0, color=LINE, lw=1, ls="--")
    fit.set(xlabel="predicted", ylabel="observed", title="observed vs predicted")
    left.plot(predicted[some], residual[some], "o", **dots)
    left.axhline(0.0, color=LINE, lw=1, ls="--")
    x = running["predicted"]
    band = {"color": COLOURS[1], "alpha": 0.45, "lw": 0, "zorder": 3}
    left.fill_between(x, running["lower"], running["upper"], **band)
    left.plot(x, running["median"], color="#a85f06", lw=2, zorder=4)
    left.set(xlabel="predicted", ylabel="residual", title="median and quartiles")
    kept = np.unique(np.linspace(0, len(normal[0]) - 1, MOST_DOTS).astype(np.intp))
    shape.axline((0.0, 0.0), slope=1.0, color=LINE, lw=1, ls="--", zorder=3)
    shape.plot(normal[0][kept], normal[1][kept], "o", **dots)
    shape.set(xlabel="normal quantile", ylabel="standardized residual", title="normal Q-Q plot")
    format_large_numbers([fit.xaxis, fit.yaxis, left.xaxis, left.yaxis])
    return list(drawn)


def plot_lift(
    predicted: Vector, observed: Vector, curve: tuple[Vector, Vector], gini: float, axes: Any
) -> list[Any]:
    """Plot predicted and observed rates of groups, and a Lorenz curve."""
    _, drawn = new_axes(2, axes, "plot")
    rates, lorenz = drawn
    group = np.arange(1, len(predicted) + 1)
    rates.bar(group, observed, color=DOTS, alpha=0.45, label="observed")
    rates.plot(group, predicted, "o-", color=COLOURS[1], ms=5, lw=1.5, label="predicted")
    rates.set(
        xlabel="group by predicted rate", ylabel="rate", xticks=group[:: len(group) // 20 + 1]
    )
    rates.set(title="balance")
    rates.legend(frameon=False)
    lorenz.plot([0.0, 1.0], [0.0, 1.0], color=LINE, lw=1, ls="--")
    lorenz.plot(*curve, color=DOTS, lw=2)
    lorenz.set(xlabel="share of exposure", ylabel="share of observed", title=f"Gini {gini:.3f}")
    return list(drawn)


def plot_learning(
    curves: Mapping[str, Vector], labels: tuple[str, str], chosen: int, ax: Any
) -> Any:
    """Plot losses by round, and a line at the chosen round."""
    _, (ax,) = new_axes(1, ax, "plot")
    for k, (name, curve) in enumerate(curves.items()):
        ax.plot(
            np.arange(1, len(curve) + 1), curve, color=COLOURS[k % len(COLOURS)], lw=1.8, label=name
        )
    ax.axvline(chosen, color=LINE, lw=1, ls="--", label=f"{chosen} {labels[0]}")
    ax.legend(frameon=False)
    ax.set(xlabel=labels[0], ylabel=labels[1].replace("_", " "))
    return ax
