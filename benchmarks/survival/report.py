"""RESULTS.md of the survival benchmark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["write_report"]

METRICS = {
    "harrell": ("Harrell's C-index", "larger is better"),
    "uno": ("Uno's C-index, until the 90 % quantile of the times", "larger is better"),
    "brier": ("Integrated Brier score, × 100", "smaller is better"),
    "seconds": ("Seconds of the processor in a fit (median)", "smaller is better"),
}
INTRODUCTION = (
    "Means over random splits of each table ({}), 30 % of the rows held out, stratified by event; "
    "`make survival DATA=folder` measures them again. The first three rows of a table are fits of "
    "ours with default parameters, whose rounds are chosen by held-out rows; the others have 100 "
    "trees, learning rate 0.1 and depth 3, the defaults of scikit-survival. Every fit has one "
    "thread and begins with the same data frame: libraries without categories get indicators of "
    "them, made in the time of the fit. Of a fit below 0.5 s, the shortest of 5 turns counts. "
    "metabric and flchain were measured before that: their indicators were made beforehand, and "
    "each fit has one turn. The machine was not idle."
)
SPEED = (
    "100 trees of depth 3 each. The other columns, for cox and aft: a fit of 1 tree, about the "
    "fixed cost of a fit (reading the frame, checks of parameters, bins, the baseline hazard); "
    "a further tree; and the ratio if further trees took no time. veteran has 96 training rows: "
    "more than half of a fit is the fixed cost, half of that for reading a frame with categories, "
    "so that 10 times would need rounds of less than 18 µs for cox, and 7 µs for aft."
)
Competing = Mapping[str, Mapping[str, Mapping[str, float]]]
Results = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]


def _mean(results: Results, table: str, name: str, metric: str) -> float:
    values = [own[metric] for own in results[table].get(name, {}).values()]
    if not values:
        return float("nan")
    whole = np.median(values) if metric == "seconds" else np.mean(values)
    return float(whole) * (100 if metric == "brier" else 1)


def write_report(results: Results, path: Path, competing: Competing | None = None) -> None:
    """Write the page; None: competing risks are those of competing.json."""
    file = path.parent / "competing.json"
    if competing is None and file.exists():
        competing = json.loads(file.read_text())
    names = list(dict.fromkeys(name for own in results.values() for name in own))
    names = [name for name in names if not name.endswith("1 tree")]
    splits = {table: max(len(own) for own in fits.values()) for table, fits in results.items()}
    counts = ", ".join(f"{table} {n}" for table, n in splits.items())
    text = ["# Survival: results", "", INTRODUCTION.format(counts), "", _versions(), ""]
    tables = list(results)
    for metric, (title, direction) in METRICS.items():
        text += [f"## {title}", "", f"{direction.capitalize()}.", ""]
        text += ["| | " + " | ".join(tables) + " | mean |", "|---" * (len(tables) + 2) + "|"]
        found = {n: [_mean(results, table, n, metric) for table in tables] for n in names}
        pick = np.nanmax if direction.startswith("larger") else np.nanmin
        best = [pick([found[name][i] for name in names]) for i in range(len(tables))]
        for name in names:
            cells = [
                f"**{value:.4g}**" if value == best[i] else f"{value:.4g}"
                for i, value in enumerate(found[name])
            ]
            text.append(f"| {name} | " + " | ".join(cells) + f" | {np.mean(found[name]):.4g} |")
        text.append("")
    text += _paired(results) + _speed(results)
    text += [] if competing is None else ["", *_competing(competing)]
    path.write_text("\n".join(text).rstrip() + "\n")


def _paired(results: Results) -> list[str]:
    """Return the mean differences of ours to the peers, with their standard errors."""
    pairs = [
        ("stagewise cox", "scikit-survival"),
        ("stagewise cox", "XGBoost cox"),
        ("stagewise aft", "XGBoost aft"),
        ("stagewise cox, 100 trees", "scikit-survival"),
    ]
    text = ["## Differences, paired by split", ""]
    text += ["| | metric | mean difference ± standard error |", "|---|---|---|"]
    for ours, peer in pairs:
        for metric in ("harrell", "uno", "brier"):
            own = np.array(
                [
                    table[ours][seed][metric] - table[peer][seed][metric]
                    for table in results.values()
                    for seed in table[ours]
                ]
            )
            error = own.std(ddof=1) / np.sqrt(len(own))
            sign = "smaller is better" if metric == "brier" else "larger is better"
            text.append(
                f"| {ours} − {peer} | {metric} ({sign}) | {own.mean():+.4f} ± {error:.4f} |"
            )
    return [*text, ""]


def _speed(results: Results) -> list[str]:
    """Return the ratios of the times of scikit-survival to ours with the same number of trees."""
    text = ["## Time of scikit-survival ÷ ours", "", SPEED, ""]
    text += [
        "| table | cox | aft | ms of 1 tree | µs of a further tree | at most |",
        "|---" * 6 + "|",
    ]
    for table in results:
        peer = _mean(results, table, "scikit-survival", "seconds")
        cells, first, further = [], [], []
        for loss in ("cox", "aft"):
            own = _mean(results, table, f"stagewise {loss}, 100 trees", "seconds")
            one = _mean(results, table, f"stagewise {loss}, 1 tree", "seconds")
            cells.append(f"{peer / own:.1f}")
            first.append(one)
            further.append((own - one) / 99)
        if np.isfinite(first).all():
            cells += [
                ", ".join(f"{1e3 * one:.2f}" for one in first),
                ", ".join(f"{1e6 * one:.0f}" for one in further),
                ", ".join(f"{peer / one:.0f}" for one in first),
            ]
        else:  # not measured
            cells += ["–"] * 3
        text.append(f"| {table} | " + " | ".join(cells) + " |")
    return text


def _competing(competing: Competing) -> list[str]:
    """Return the table of competing risks."""
    splits = max(len(own) for own in competing.values())
    text = [
        "## Competing risks",
        "",
        (
            f"Deaths of flchain by circulatory diseases beside all other deaths: {splits} random "
            "divisions, 30 % of the rows held out; the C-index and the integrated Brier score "
            "(× 100) of the incidence of circulatory deaths. `python "
            "benchmarks/survival/competing.py DATA` measures them. No peer has competing risks or "
            "Fine and Gray's model: XGBoost's Cox objective is fitted once for each cause, and its "
            "incidences follow from both hazards. Fits with 100 trees have learning rate 0.1 and "
            "depth 3. Measured on a busy machine; times are those of the processor."
        ),
        "",
        "| | C-index | integrated Brier score | seconds (median) |",
        "|---|---|---|---|",
    ]
    for name, own in competing.items():
        harrell, brier = (
            float(np.mean([run[metric] for run in own.values()])) for metric in ("harrell", "brier")
        )
        seconds = float(np.median([run["seconds"] for run in own.values()]))
        text.append(f"| {name} | {harrell:.4f} | {100 * brier:.3f} | {seconds:.3f} |")
    return text


def _versions() -> str:
    found: dict[str, Any] = {}
    for module in ("stagewise", "sksurv", "xgboost"):
        found[module] = import_module(module).__version__
    return "Versions: " + ", ".join(f"{name} {value}" for name, value in found.items()) + "."
