"""Time and memory of fits against one size of the work: ``python benchmarks/shapes/curves.py``.

Each point is measured in processes of its own, and libraries take turns. The exponent of a curve is
the slope of log(time) against log(size) between its last two points: 1 means that twice the work
takes twice the time.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from machine import describe  # noqa: E402
from one_turn import turn  # noqa: E402
from shapes import Shape, categories, numbers  # noqa: E402
from turns import medians, quiet_line, take_turns  # noqa: E402

PEERS = ("lightgbm", "xgboost")
OURS = "stagewise"
FIGURE = HERE.parents[1] / "docs" / "figures" / "cost-curves.png"


def _of_rows(n: int) -> Shape:
    return Shape("", "", 0, numbers(n, 10, held_out=2000), trees=50)


def _of_columns(n: int) -> Shape:
    return Shape("", "", 0, numbers(20_000, n, held_out=2000), trees=50)


def _of_leaves(n: int) -> Shape:
    return Shape("", "", 0, numbers(100_000, 20, held_out=2000), trees=50, leaves=n)


def _of_classes(n: int) -> Shape:
    make = numbers(20_000, 20, "classes", classes=n, held_out=2000)
    return Shape("", "", 0, make, "classes", trees=20)


def _of_trees(n: int) -> Shape:
    return Shape("", "", 0, numbers(10_000, 10, held_out=2000), trees=n)


def _of_categories(n: int) -> Shape:
    return Shape("", "", 0, categories(100_000, (n,) * 5), trees=50, categories=5)


CURVES: Mapping[str, tuple[Any, tuple[int, ...]]] = {
    "rows": (_of_rows, (1_000, 10_000, 100_000, 1_000_000, 10_000_000)),
    "columns": (_of_columns, (5, 20, 100, 500, 2000)),
    "leaves": (_of_leaves, (4, 16, 64, 256, 1024, 4096)),
    "classes": (_of_classes, (3, 10, 30, 100)),
    "trees": (_of_trees, (10, 100, 1000, 5000)),
    "categories": (_of_categories, (3, 10, 30, 100, 300, 1000, 3000)),
}
TITLES = {
    "rows": "rows (10 columns)",
    "columns": "columns (20,000 rows)",
    "leaves": "leaves (100,000 × 20)",
    "classes": "classes (20,000 × 20)",
    "trees": "trees (10,000 × 10)",
    "categories": "categories of 5 columns (100,000 rows)",
}


def shape_of(curve: str, size: int) -> Shape:
    """Return the work of a point: small ones are repeated more often."""
    shape = CURVES[curve][0](size)
    return replace(shape, repeats=1 if size >= 1_000_000 or curve != "rows" else 3)


def exponents(points: Mapping[str, Any], library: str) -> list[float]:
    """Return the slopes between neighbouring points of a curve."""
    known = [(int(n), own[library]["seconds"]) for n, own in points.items() if library in own]
    return [math.log(b[1] / a[1]) / math.log(b[0] / a[0]) for a, b in pairwise(known)]


def report(results: Mapping[str, Any]) -> str:
    """Return the page CURVES.md."""
    lines = [
        "# Cost curves",
        "",
        "<!-- written by benchmarks/shapes/curves.py -->",
        "",
        "Seconds of a fit, and MB of memory beyond the table and the library, against one size of",
        "the work; two threads. The exponent is the slope of log(seconds) from the point before.",
        "",
        f"{results['machine']['processor']}, {results['machine']['instructions']}. "
        + quiet_line(results["foreign"]),
        "",
    ]
    for curve, points in results["curves"].items():
        lines += [
            f"## {TITLES[curve].capitalize()}",
            "",
            "| | seconds | exponent | MB | LightGBM: seconds | MB | XGBoost: seconds | MB |",
            "|---|---|---|---|---|---|---|---|",
        ]
        slopes = ["", *(f"{s:.2f}" for s in exponents(points, OURS))]
        for (size, own), slope in zip(points.items(), slopes, strict=True):
            cells = [_cells(own.get(peer)) for peer in PEERS]
            ours = own[OURS]
            lines.append(
                f"| {int(size):,} | {ours['seconds']:.3g} | {slope} | {ours['memory_mb']:.0f} | "
                + " | ".join(cells)
                + " |"
            )
        lines.append("")
    return "\n".join(lines)


def _cells(facts: Mapping[str, float] | None) -> str:
    return " | " if facts is None else f"{facts['seconds']:.3g} | {facts['memory_mb']:.0f}"


def draw(results: Mapping[str, Any]) -> None:
    """Draw the curves of time, with the fastest other library."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 6), layout="constrained")
    for axis, (curve, points) in zip(axes.flat, results["curves"].items(), strict=False):
        sizes = [int(n) for n in points]
        ours = [own[OURS]["seconds"] for own in points.values()]
        fastest = [min(own[p]["seconds"] for p in PEERS if p in own) for own in points.values()]
        axis.loglog(sizes, ours, "o-", label="Stagewise")
        axis.loglog(sizes, fastest, "s--", color="0.5", label="the faster of LightGBM and XGBoost")
        axis.set_xlabel(TITLES[curve])
        axis.set_title(f"exponent {exponents(points, OURS)[-1]:.2f}", fontsize=10)
    for axis in axes[:, 0]:
        axis.set_ylabel("seconds")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(FIGURE, dpi=110)


def main() -> None:
    """Measure the curves, or one turn, or write the page and the figure again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(CURVES), default=list(CURVES))
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--turn", nargs=3, metavar=("CURVE", "SIZE", "LIBRARY"))
    parser.add_argument("--report-only", action="store_true")
    given = parser.parse_args()
    if given.turn:
        curve, size, library = given.turn
        print(json.dumps(turn(shape_of(curve, int(size)), library)))
        return
    path = HERE / "curves.json"
    empty: dict[str, Any] = {"curves": {}, "foreign": 0.0}
    results = json.loads(path.read_text()) if path.exists() else empty
    if not given.report_only:
        from importlib.metadata import version

        from stagewise._native import supported_isas

        facts = describe({name: version(name) for name in (OURS, *PEERS)})
        results["machine"] = facts | {"instructions": supported_isas()[-1]}
        for curve in given.only:
            points = results["curves"].setdefault(curve, {})
            for size in CURVES[curve][1]:
                script = str(Path(__file__).resolve())

                def argv(
                    library: str, at: tuple[str, ...] = (script, curve, str(size))
                ) -> list[str]:
                    return [at[0], "--turn", *at[1:], library]

                found = take_turns((OURS, *PEERS), given.turns, argv, time_limit=240.0)
                points[str(size)] = medians(found["entries"])
                results["foreign"] = max(results["foreign"], found["foreign"])
                path.write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "CURVES.md").write_text(report(results))
    draw(results)


if __name__ == "__main__":
    main()
