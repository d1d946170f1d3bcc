"""The figure of the landing page: the tables of speed and accuracy of README.md as bars."""

from __future__ import annotations

import re
from pathlib import Path

from style import BLUE, plt, save

README = Path(__file__).parents[2] / "README.md"
SHADES = {"LightGBM": "#1b4f8a", "XGBoost": BLUE, "CatBoost": "#7fb0e6", "scikit-learn": "#c5d9ee"}
TASKS = ("1M × 28, binary", "100k × 28, binary", "200k × 50, regression", "10k × 28, binary")


def table(first: str) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of the table whose head begins with a text."""
    text = README.read_text(encoding="utf-8")
    lines = re.search(rf"^\| {re.escape(first)}.*\n(?:\|.*\n)+", text, flags=re.MULTILINE)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()]
    return rows[0], rows[2:]


def draw_speed(ax: plt.Axes) -> None:
    """Draw the times of the other libraries, divided by those of Stagewise."""
    head, rows = table("task | LightGBM")
    chosen = [row for task in TASKS for row in rows if row[0] == task]
    for place, (library, shade) in enumerate(SHADES.items()):
        values = [float(row[head.index(library)]) for row in chosen]
        heights = [i + 0.2 * place for i in range(len(chosen))]
        ax.barh(heights, values, 0.18, color=shade, label=library)
    ax.axvline(1, color="black", linewidth=1)
    ax.set_yticks([i + 0.3 for i in range(len(chosen))], [row[0] for row in chosen])
    ax.set_xlim(0, 6.4)
    ax.set_xlabel("time of a fit ÷ time of Stagewise")
    ax.legend(loc="upper right")


def draw_wins(ax: plt.Axes) -> None:
    """Draw the shares of tables on which Stagewise has the smaller loss."""
    head, rows = table("| CatBoost | LightGBM | XGBoost | HGB")
    names = [name.replace("HGB", "scikit-learn") for name in head[1:]]
    wins = next(row[1:] for row in rows if row[0].startswith("wins"))
    shares = [100 * int(a) / int(b) for a, b in (win.split(" of ") for win in wins)]
    ax.barh(names, 100, 0.6, color="#dddddd")
    ax.barh(names, shares, 0.6, color=BLUE)
    for place, win in enumerate(wins):
        ax.text(3, place, f"{win} tables", color="white", va="center")
    ax.set_xlabel("% of tables with a smaller loss than …")


def landing() -> None:
    """Draw how much longer other libraries take, and how often their loss is larger."""
    fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.2), width_ratios=[1.3, 1])
    draw_speed(axes[0])
    draw_wins(axes[1])
    for ax in axes:
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
    save(fig, "landing")


if __name__ == "__main__":
    landing()
