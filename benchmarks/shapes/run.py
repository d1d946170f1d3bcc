"""Time every shape of work against the peers: ``python benchmarks/shapes/run.py``.

Each turn is a process of its own, and libraries take turns. A turn makes the table, fits a small
part of it without timing, and then prints the median time of some calls and the held-out loss. The
headline is the geometric mean and the minimum of the time of the fastest other library divided by
ours.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from contenders import CONTENDERS, THREADS  # noqa: E402
from machine import describe  # noqa: E402
from one_turn import FITS, turn  # noqa: E402
from shapes import SHAPES  # noqa: E402
from turns import medians, quiet_line, take_turns  # noqa: E402

QUANTISED, WORST = "lightgbm-quantised", 1.1
"""With a loss above this times that of LightGBM, its quantised gradients do other work."""


def fastest(own: dict[str, Any]) -> tuple[str, float]:
    """Return the fastest other library, and its time divided by ours.

    Quantised gradients count only if they have learned about the same as the usual ones.
    """
    others = {name: facts["seconds"] for name, facts in own.items() if name != "stagewise"}
    if QUANTISED in others and own[QUANTISED]["loss"] > WORST * own["lightgbm"]["loss"]:
        del others[QUANTISED]
    name = min(others, key=lambda each: others[each])
    return name, others[name] / own["stagewise"]["seconds"]


def _cell(facts: dict[str, float] | None) -> str:
    return "" if facts is None else f"{1e3 * facts['seconds']:.1f} ({facts['loss']:.4g})"


def report(results: dict[str, Any]) -> str:
    """Return the page RESULTS.md."""
    shapes = {name: own for name, own in results["shapes"].items() if name in SHAPES}
    lines = [
        "# Shapes of work",
        "",
        "<!-- written by benchmarks/shapes/run.py -->",
        "",
        "Milliseconds, and the held-out loss in brackets; medians, each turn in a process of its",
        f"own, {THREADS} threads. The ratio is the time of the fastest other library divided by",
        "ours; LightGBM with quantised gradients counts unless its loss is more than",
        f"{WORST - 1:.0%} above that of LightGBM. All have the regularisation of their defaults,",
        "so losses of small tables differ. Not all rows are measured on the same day: compare",
        "times within a row only.",
        "",
        f"{results['machine']['processor']}, {results['machine']['instructions']};",
        ", ".join(f"{k} {v}" for k, v in results["machine"]["versions"].items()) + ".",
        quiet_line(results.get("foreign", 0.0)),
        "",
    ]
    for title, is_fit in (("Fits", True), ("Predictions", False)):
        own = {n: facts for n, facts in shapes.items() if (SHAPES[n].kind in FITS) == is_fit}
        if own:
            lines += table_of(title, own)
    return "\n".join([*lines, *weights_table(shapes), *memory_table(shapes)])


def table_of(title: str, shapes: dict[str, Any]) -> list[str]:
    """Return the lines about fits, or about predictions."""
    names = [c for c in CONTENDERS if any(c in facts for facts in shapes.values())]
    ratios = {name: fastest(facts) for name, facts in shapes.items()}
    values = [ratio for _, ratio in ratios.values()]
    least = min(ratios, key=lambda name: ratios[name][1])
    lines = [
        f"## {title}",
        "",
        f"Geometric mean of the ratios {statistics.geometric_mean(values):.2f},",
        f"minimum {min(values):.2f} ({SHAPES[least].title}).",
        "",
        "| | ratio | goal | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for name, facts in shapes.items():
        shape, (peer, ratio) = SHAPES[name], ratios[name]
        missed = "" if ratio >= shape.goal else " **missed**"
        cells = " | ".join(_cell(facts.get(c)) for c in names)
        lines.append(f"| {shape.title} | {ratio:.2f} ({peer}){missed} | {shape.goal:g} | {cells} |")
    return [*lines, ""]


def weights_table(shapes: dict[str, Any]) -> list[str]:
    """Return the lines about our own time with weights."""
    rows = [
        f"| {SHAPES[name].title} | {own['stagewise']['seconds'] / plain:.2f} |"
        for name, own in shapes.items()
        if (base := SHAPES[name].unweighted) in shapes
        and (plain := shapes[base]["stagewise"]["seconds"])
    ]
    head = ["## Weights", "", "Our time divided by our time without weights; the goal is 1.15.", ""]
    return [*head, "| | |", "|---|---|", *rows, ""] if rows else []


def memory_table(shapes: dict[str, Any]) -> list[str]:
    """Return the lines about the memory of large fits."""
    names = [name for name in ("1mx28", "20kx500") if name in shapes]
    libraries = [c for c in CONTENDERS if any(c in shapes[name] for name in names)]
    head = ["## Memory", "", "The peak while fitting, beyond the table and the library, in MB.", ""]
    rows = []
    for name in names:
        own = [shapes[name].get(c, {}).get("memory_mb", float("nan")) for c in libraries]
        rows.append(f"| {SHAPES[name].title} | " + " | ".join(f"{mb:.0f}" for mb in own) + " |")
    columns = ["| | " + " | ".join(libraries) + " |", "|---|" + "---|" * len(libraries)]
    return [*head, *columns, *rows, ""] if rows else []


def main() -> None:
    """Run the benchmark, one turn of it, or write the page again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(SHAPES), default=list(SHAPES))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--turn", nargs=2, metavar=("SHAPE", "LIBRARY"))
    parser.add_argument("--report-only", action="store_true")
    given = parser.parse_args()
    if given.turn:
        print(json.dumps(turn(SHAPES[given.turn[0]], given.turn[1])))
        return
    path = HERE / "results.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"shapes": {}}
    if not given.report_only:
        from importlib.metadata import version

        from stagewise._native import supported_isas

        packages = ("stagewise", "lightgbm", "xgboost", "catboost", "scikit-learn", "numpy")
        facts = describe({name: version(name) for name in packages})
        results["foreign"] = 0.0
        results["machine"] = facts | {"instructions": supported_isas()[-1]}
        for name in given.only:
            shape = SHAPES[name]
            script = str(Path(__file__).resolve())

            def argv(library: str, name: str = name, script: str = script) -> list[str]:
                return [script, "--turn", name, library]

            found = take_turns(shape.contenders, given.turns, argv, time_limit=900.0)
            results["shapes"][name] = medians(found["entries"])
            results["foreign"] = max(found["foreign"], results.get("foreign", 0.0))
            path.write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "RESULTS.md").write_text(report(results))


if __name__ == "__main__":
    main()
