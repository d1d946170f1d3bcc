"""Goals of the benchmarks of files and clusters, for their own pages and for RESULTS.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDERS = {
    "out_of_core": "Training from Parquet files",
    "cluster": "Training on a Dask cluster",
    "scoring": "Scoring of Parquet files",
}


@dataclass(frozen=True)
class Goal:
    """A figure and its bound.

    Parameters
    ----------
    text : str
        What is measured.
    bound, value : float
        The goal, and the measured figure.
    least : bool
        Whether the figure must be at least the bound, otherwise at most.
    """

    text: str
    bound: float
    value: float
    least: bool = True

    @property
    def verdict(self) -> str:
        """Whether the goal is reached."""
        reached = self.value >= self.bound if self.least else self.value <= self.bound
        return "reached" if reached else "**NOT REACHED**"

    @property
    def sign(self) -> str:
        """The bound with its sign."""
        return f"{'≥' if self.least else '≤'} {self.bound:g}"


def goal_table(goals: Sequence[Goal]) -> list[str]:
    """Return the lines of a table."""
    lines = ["| | goal | measured | |", "|---|---|---|---|"]
    return lines + [f"| {g.text} | {g.sign} | {g.value:.2f} | {g.verdict} |" for g in goals]


def goal_facts(goals: Sequence[Goal]) -> list[dict[str, Any]]:
    """Return goals as they are stored in results.json."""
    return [asdict(goal) for goal in goals]


def larger_lines(folder: Path) -> str:
    """Return the goals of the benchmarks in folders below, each with a link to its page."""
    lines = []
    for name, title in FOLDERS.items():
        path = folder / name / "results.json"
        if path.exists():
            goals = [Goal(**facts) for facts in json.loads(path.read_text())["goals"]]
            lines += [f"### [{title}]({name}/RESULTS.md)", "", *goal_table(goals), ""]
    return "\n".join(lines) or "Not measured yet."
