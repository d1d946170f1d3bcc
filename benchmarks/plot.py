"""Plot the training time against the size of the table."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

# Colours that colour-blind readers can distinguish; ours is the dark, thick line.
STYLE = {
    "stagewise": ("#000000", "Stagewise"),
    "lightgbm": ("#0072b2", "LightGBM"),
    "lightgbm-quantised": ("#56b4e9", "LightGBM, quantised"),
    "xgboost": ("#d55e00", "XGBoost"),
    "catboost": ("#e69f00", "CatBoost"),
    "scikit-learn": ("#009e73", "scikit-learn HGB"),
}


def draw_curves(curves: list[dict[str, Any]], path: Path) -> None:
    """Draw one log-log panel for each curve, with a dotted line of slope one."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    plt: Any = import_module("matplotlib.pyplot")
    figure, axes = plt.subplots(
        1, len(curves), figsize=(5.4 * len(curves), 4.2), squeeze=False, layout="constrained"
    )
    for ax, result in zip(axes[0], curves, strict=True):
        for peer, seconds in result["curves"].items():
            _line(ax, peer, result["points"], seconds)
        _slope_one(ax, result)
        ax.set(xscale="log", yscale="log", xlabel=result["vary"], ylabel="seconds to train")
        ax.grid(visible=True, which="major", alpha=0.25)
    if axes[0][0].lines:
        axes[0][0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def _line(ax: Any, peer: str, points: list[int], seconds: list[float | None]) -> None:
    known = [(n, t) for n, t in zip(points, seconds, strict=False) if t is not None]
    if not known:
        return
    colour, label = STYLE[peer]
    thick = peer == "stagewise"
    ax.plot(
        *zip(*known, strict=True),
        color=colour,
        label=label,
        marker="o",
        markersize=4 if thick else 3,
        linewidth=2.4 if thick else 1.2,
        zorder=3 if thick else 2,
    )


def _slope_one(ax: Any, result: dict[str, Any]) -> None:
    lowest = min((c[-1] for c in result["curves"].values() if c and c[-1]), default=None)
    if lowest is None:
        return
    first, last = result["points"][0], result["points"][-1]
    ax.plot([first, last], [lowest * first / last, lowest], ":", color="#999999", label="linear")
