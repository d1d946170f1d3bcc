"""Writes RESULTS.md from the measurements."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

COMMAND = "python benchmarks/intervals/run.py DATA"


def _ratio(part: dict, method: str, other: str, key: str) -> float:
    logs = [np.log(t[method][key] / t[other][key]) for t in part.values()]
    return float(np.exp(np.mean(logs)))


def _intervals(part: dict) -> list[str]:
    lines = [
        f"## Intervals: {len(part)} tables of numbers",
        "",
        (
            "Nominal coverage 0.9. Width: the geometric mean of the "
            "ratios to MAPIE's CV+ on the same rows. Least and largest: coverage of a table."
        ),
        "",
        "| method | coverage, mean | least | largest | width / MAPIE CV+ | seconds, mean |",
        "|---|---|---|---|---|---|",
    ]
    for method in next(iter(part.values())):
        each = [t[method]["coverage"] for t in part.values()]
        spent = np.mean([t[method]["seconds"] for t in part.values()])
        width = _ratio(part, method, "MAPIE CV+", "width")
        lines.append(
            f"| {method} | {np.mean(each):.3f} | {min(each):.3f} | {max(each):.3f} | {width:.3f} | "
            f"{spent:.2f} |"
        )
    same = _ratio(part, "cv+", "MAPIE CV+", "width")
    split = _ratio(part, "split", "MAPIE split", "width")
    lines += ["", f"At equal method: CV+ {same:.3f}, split {split:.3f} times MAPIE's width.", ""]
    lines += ["| table | cv | cv+ | MAPIE CV+ | split | MAPIE split | forest, oob |"]
    lines += ["|---|---|---|---|---|---|---|"]
    columns = ("cv", "cv+", "MAPIE CV+", "split", "MAPIE split", "forest, oob")
    for name, table in part.items():
        cells = [f"{table[m]['coverage']:.3f} ({table[m]['width']:.2f})" for m in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return [*lines, "", "Cells: coverage (mean width in standard deviations of y).", ""]


def _sets(part: dict) -> list[str]:
    lines = [
        f"## Prediction sets: {len(part)} tables of classes",
        "",
        "Nominal coverage 0.9. Least class: the least coverage of a class, mean over the tables.",
        "",
        "| method | coverage, mean | least | largest | least class | classes per set | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(m for t in part.values() for m in t):
        tables = [t[method] for t in part.values() if method in t]
        each = {k: [t[k] for t in tables] for k in tables[0]}
        cover = each["coverage"]
        lines.append(
            f"| {method} ({len(tables)} tables) | {np.mean(cover):.3f} | "
            f"{min(cover):.3f} | {max(cover):.3f} | {np.mean(each['least_class']):.3f} | "
            f"{np.mean(each['size']):.3f} | {np.mean(each['seconds']):.2f} |"
        )
    return [*lines, ""]


def _calibration(part: dict) -> list[str]:
    lines = [
        f"## Calibration: {len(part)} tables of classes",
        "",
        (
            "Log loss: the geometric mean of the ratios to the model without calibration. Error: "
            "the expected calibration error of the most probable class in 15 bins of equal size, "
            "mean over the tables. Better: tables with a smaller log loss than without calibration."
        ),
        "",
        "| model | calibration | log loss, ratio | better | error | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for method in next(iter(part.values())):
        model, kind = method.split(" | ")
        base = f"{model} | None"
        ratio = _ratio(part, method, base, "log_loss")
        better = sum(t[method]["log_loss"] < t[base]["log_loss"] for t in part.values())
        error = np.mean([t[method]["error"] for t in part.values()])
        spent = np.mean([t[method]["seconds"] for t in part.values()])
        lines.append(f"| {model} | {kind} | {ratio:.3f} | {better} | {error:.4f} | {spent:.2f} |")
    return [*lines, ""]


def write(results: dict, path: Path) -> None:
    packages = ("stagewise", "mapie", "scikit-learn", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    lines = [
        "# Intervals, prediction sets and calibration",
        "",
        (
            f"`{COMMAND}` measures this page. 2,000 training rows of each table and up to 4,000 "
            f"test rows, a random division of each; categories are numbers for all "
            "libraries. MAPIE and scikit-learn calibrate Stagewise models with the same "
            "parameters (150 rounds, rate 0.1, 15 leaves), so the columns compare the methods and "
            "not the models; one thread. The machine did other work at the same time: seconds are "
            "only comparable within a table of this page."
        ),
        "",
        f"Versions: {versions}, Python {platform.python_version()}.",
        "",
    ]
    makers = {"numbers": _intervals, "sets": _sets, "calibration": _calibration}
    for name, make in makers.items():
        if results.get(name):
            lines += make(results[name])
    path.write_text("\n".join(lines).rstrip() + "\n")
