"""Plots of linear models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from stagewise.axes import DOTS, LINE, new_axes
from stagewise.data import read_target
from stagewise.linear.least_squares import LeastSquares

__all__ = ["plot_paths", "plot_residuals", "plot_selection"]

Vector = npt.NDArray[np.float64]

MAX_NAMES = 12


def plot_residuals(
    fit: LeastSquares, X: Vector, predicted: Vector, y: Any, caller: str, axes: Any
) -> Any:
    """Draw three plots of the residuals of rows; see `LinearEstimator.plot_residuals`."""
    residual = read_target(y, len(predicted), caller=caller) - predicted
    _, (fan, normal, weight) = new_axes(3, axes, "plot_residuals")
    fan.plot(predicted, residual, ".", color=DOTS, ms=4)
    fan.axhline(0.0, color=LINE, lw=1)
    fan.set(xlabel="predicted", ylabel="residual", title="mean and spread")
    n, order = len(residual), np.sort(residual / fit.sigma)
    quantile = ndtri((np.arange(n) + 0.5) / n)
    normal.plot(quantile, order, ".", color=DOTS, ms=4)
    normal.axline((0.0, 0.0), slope=1.0, color=LINE, lw=1)
    normal.set(xlabel="normal quantile", ylabel="residual / σ", title="normal errors")
    leverage = fit.leverage(X)
    # The larger the leverage of a row, the smaller the variance of its residual.
    with np.errstate(divide="ignore", invalid="ignore"):
        own = residual / (fit.sigma * np.sqrt(np.maximum(1.0 - leverage, 0.0)))
    weight.plot(leverage, np.where(np.isfinite(own), own, np.nan), ".", color=DOTS, ms=4)
    weight.axhline(0.0, color=LINE, lw=1)
    weight.set(xlabel="leverage", ylabel="standardised residual", title="influence")
    return [fan, normal, weight]


def plot_paths(
    x: Vector, paths: Vector, names: Sequence[str], labels: tuple[str, str], axes: Any, what: str
) -> Any:
    """Draw a line for each column of `paths`; the legend has those with the largest last values."""
    _, (ax,) = new_axes(1, axes, what)
    ax.axhline(0.0, color=LINE, lw=0.8)
    lines = [ax.plot(x, column, lw=1.2)[0] for column in paths.T]
    far = np.argsort(-np.abs(paths[-1]), kind="stable")[:MAX_NAMES]
    listed = [j for j in far.tolist() if paths[-1, j] != 0]
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False}
    ax.legend([lines[j] for j in listed], [names[j] for j in listed], **beside)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    return ax


def plot_selection(path: Mapping[str, Any], column: str, label: str, axes: Any) -> Any:
    """Draw one column of the path of a stepwise selection, with the move of every step."""
    _, (ax,) = new_axes(1, axes, "plot_path")
    step, y, chosen = path["step"], path[column], path["selected"]
    ax.plot(step, y, "o-", color=DOTS, ms=4, lw=1.2)
    if "best_subset" in path["action"]:
        ax.plot(step[chosen], y[chosen], "o", ms=10, mfc="none", mec="black", label="selected")
        ax.set_xticks(step)
        ax.legend(frameon=False)
        ax.set(xlabel="number of features", ylabel=label)
        return ax
    signs = {"add": "+", "remove": "−", "start": ""}
    names = [
        f"{signs[a]} {f}".strip() for a, f in zip(path["action"], path["feature"], strict=True)
    ]
    ax.set_xticks(step, [name or "start" for name in names], rotation=45, ha="right")
    ax.set(ylabel=label)
    return ax
