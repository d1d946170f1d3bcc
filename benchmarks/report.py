"""Write RESULTS.md and the scaling plot from the figures in results.json.

Everything on the page is computed here from the raw figures, so the page can be written again
without measuring. A missed goal, a loss out of bounds and a busy machine are printed beside the
figure.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cases import CASES, Case
from goals import larger_lines
from machine import QUIET_FOREIGN
from peers import OURS

Entry = dict[str, Any]
Result = dict[str, Any]

# Our held-out loss may be this much above the best peer's, relatively.
QUALITY_MARGIN = 0.005
# A library whose loss is this much above the best has not learned; it is not compared by speed.
FAILED_MARGIN = 0.25
BUSY_GOAL = 1.3
LINEAR_EXPONENT = 1.1

LABELS = {
    "stagewise": "**Stagewise**",
    "stagewise-vector": "Stagewise, vector leaves",
    "lightgbm": "LightGBM",
    "lightgbm-quantised": "LightGBM, quantised gradients",
    "xgboost": "XGBoost",
    "xgboost-depthwise": "XGBoost, depth-wise",
    "xgboost-vector": "XGBoost, multi_output_tree",
    "catboost": "CatBoost",
    "scikit-learn": "scikit-learn HGB",
    "scikit-learn-exact": "scikit-learn, exact trees",
    "perpetual": "Perpetual",
    "scikit-learn-forest": "scikit-learn",
    "ydf": "Yggdrasil (YDF)",
    "lightgbm-forest": "LightGBM, rf",
    "xgboost-forest": "XGBoost, forest",
}
METRICS = {
    "log_loss": "log loss",
    "exponential": "exponential loss",
    "adaboost": "error",
    "squared_error": "rmse",
    "absolute_error": "mean |residual|",
    "huber": "Huber loss",
    "quantile": "pinball loss",
    "poisson": "deviance",
    "gamma": "deviance",
    "tweedie": "deviance",
}
PAGE = """# Results

Written by `make bench` from `results.json`; edits are overwritten. How it is measured: README.md
in this folder; what was tried: NOTES.md. Ratios are peer time ÷ ours, so larger is better for us;
binning is included.

## The machine

{machine}

## Goals

100 trees of 31 leaves; all cores unless stated. Our held-out loss may be 0.5 % above the best
peer's; on 1k rows, where 100 trees overfit and the peers lie more than 10 % apart, above the median
peer's, and the distance to the best is printed beside it. Who is 25 % above the best has not
learned (some losses of some libraries diverge) and does not count as the fastest.

| work | goal | measured | our held-out loss against the best peer's | verdict |
|---|---|---|---|---|
{goals}

## Files and clusters

`make bench-large` measures these, each with a page of its own.

{larger}

## Figures

{details}"""


def write_page(results: dict[str, Any], folder: Path) -> None:
    """Write RESULTS.md and, when a curve was measured, scaling.png."""
    known = [(case, results["cases"][case.name]) for case in CASES if case.name in results["cases"]]
    curves = [result for case, result in known if case.kind == "scaling"]
    if curves:
        from plot import draw_curves

        draw_curves(curves, folder / "scaling.png")
    page = PAGE.format(
        machine=_machine(results["machine"]),
        goals="\n".join(line for case, result in known for line in _goal_lines(case, result)),
        larger=larger_lines(folder),
        details="\n".join(_details(case, result) for case, result in known),
    )
    (folder / "RESULTS.md").write_text(page)


def quality_failures(results: dict[str, Any]) -> list[str]:
    """Return a sentence for each case where our held-out loss is out of bounds."""
    sentences = []
    for case in CASES:
        result = results["cases"].get(case.name)
        if result is None or case.kind != "fit" or _is_quick(case, result):
            continue
        excess, best = _excess(case, result["entries"])
        if excess is not None and excess > QUALITY_MARGIN:
            sentences.append(f"{case.name}: held-out loss {excess:+.2%} against {best}")
    return sentences


# --- one line of the table of goals ------------------------------------------------------------


def _goal_lines(case: Case, result: Result) -> list[str]:
    rows = {
        "fit": _fit_goals,
        "busy": _busy_goals,
        "memory": _memory_goals,
        "scaling": _scaling_goals,
        "one-row": _one_row_goals,
    }[case.kind](case, result)
    title = case.title + (" (covertype)" if result.get("real_data") else "")
    lines = []
    for goal, measured, reached, quality in rows:
        verdict = "not measured" if reached is None else "reached" if reached else "**NOT REACHED**"
        if quality.startswith("**"):
            verdict = "**QUALITY FAILED**"
        if _is_quick(case, result):
            verdict = "quick run, no verdict"
        elif _doubts(result):
            verdict += " (machine busy: measure again)"
        lines.append(f"| {title} | {goal} | {measured} | {quality} | {verdict} |")
    return lines


GoalRow = tuple[str, str, bool | None, str]


def _fit_goals(case: Case, result: Result) -> list[GoalRow]:
    medians = _medians(result["entries"])
    ours = medians.pop(OURS, None)
    quality = _quality(case, result["entries"])
    rows: list[GoalRow] = []
    for goal in case.goals:
        if goal.over == "fastest":
            rival = min(_learned(result["entries"], medians), key=medians.__getitem__, default="")
            text = f"≥ {goal.at_least:g}× the fastest peer"
        else:
            rival = goal.over
            text = f"≥ {goal.at_least:g}× {LABELS[rival]}"
        if ours is None or rival not in medians:
            rows.append((text, "–", None, quality))
            continue
        ratio = medians[rival] / ours
        measured = f"{ratio:.2f}× ({LABELS[rival]}{_handicap(result['entries'], rival)})"
        rows.append((text, measured, ratio >= goal.at_least, quality))
    return rows


def _learned(entries: list[Entry], peers: Iterable[str]) -> list[str]:
    losses = _losses(entries)
    most = min(losses.values(), default=0.0) * (1.0 + FAILED_MARGIN)
    return [peer for peer in peers if losses[peer] <= most]


def _busy_goals(case: Case, result: Result) -> list[GoalRow]:
    goal = f"≤ {BUSY_GOAL:g}× our own one-thread time"
    one = _medians(result["quiet_one"]).get(OURS)
    busy = _medians(result["busy_all"]).get(OURS)
    if one is None or busy is None:
        return [(goal, "–", None, "–")]
    return [(goal, f"{busy / one:.2f}×", busy <= BUSY_GOAL * one, "–")]


def _memory_goals(case: Case, result: Result) -> list[GoalRow]:
    peaks = {entry["peer"]: entry["peak_mb"] for entry in result["entries"]}
    return [_below("below every peer's", peaks, "MB", 0)]


def _one_row_goals(case: Case, result: Result) -> list[GoalRow]:
    times = {e["peer"]: statistics.median(e["ns"]) / 1000 for e in result["entries"] if e["ns"]}
    return [_below("below every peer's", times, "µs", 2)]


def _below(goal: str, figures: dict[str, float], unit: str, digits: int) -> GoalRow:
    ours = figures.pop(OURS, None)
    if ours is None or not figures:
        return (goal, "–", None, "–")
    best = min(figures, key=lambda peer: figures[peer])
    measured = f"{ours:.{digits}f} {unit}; {LABELS[best]} {figures[best]:.{digits}f} {unit}"
    return (goal, measured, ours < figures[best], "–")


def _scaling_goals(case: Case, result: Result) -> list[GoalRow]:
    growth = _exponent(result, OURS)
    if growth is None:
        return [("near-linear", "–", None, "–")]
    measured = f"time ∝ {result['vary']}^{growth:.2f}"
    return [("near-linear", measured, growth <= LINEAR_EXPONENT, "–")]


def _exponent(result: Result, peer: str) -> float | None:
    """Slope of log time over log size in the upper half of the curve, where fixed costs fade."""
    curve = result["curves"].get(peer) or []
    pairs = [(n, t) for n, t in zip(result["points"], curve, strict=False) if t]
    pairs = pairs[len(pairs) // 2 - 1 :] if len(pairs) > 2 else pairs
    if len(pairs) < 2:
        return None
    (first, start), (last, end) = pairs[0], pairs[-1]
    return math.log(end / start) / math.log(last / first)


# --- quality and machine load ------------------------------------------------------------------


def _losses(entries: list[Entry]) -> dict[str, float]:
    return {e["peer"]: statistics.fmean(e["loss"]) for e in entries if e["loss"]}


def _medians(entries: list[Entry]) -> dict[str, float]:
    return {
        e["peer"]: statistics.median(e["seconds"])
        for e in entries
        if e["seconds"] and not e["failed"]
    }


def _excess(case: Case, entries: list[Entry]) -> tuple[float | None, str]:
    """Return our loss relative to that of the reference peer, and the label of that peer."""
    losses = _losses(entries)
    ours = losses.pop(OURS, None)
    if ours is None or not losses:
        return None, ""
    best, *_ = ranking = sorted(losses, key=lambda peer: losses[peer])
    if case.quality_reference == "best":
        return ours / losses[best] - 1.0, LABELS[best]
    middle = ranking[(len(ranking) - 1) // 2]
    # The difference to the best peer is printed too.
    aside = f"the median peer, {LABELS[middle]}; {ours / losses[best] - 1.0:+.2%} {LABELS[best]}"
    return ours / losses[middle] - 1.0, aside


def _quality(case: Case, entries: list[Entry]) -> str:
    excess, peer = _excess(case, entries)
    if excess is None:
        return "–"
    text = f"{excess:+.2%} ({peer})"
    return text if excess <= QUALITY_MARGIN else f"**FAILED: {text}**"


def _handicap(entries: list[Entry], peer: str) -> str:
    """Return a note if a fast peer has a higher loss."""
    losses = _losses(entries)
    above = losses[peer] / min(losses.values()) - 1.0
    return f", its loss {above:.1%} above the best" if above > QUALITY_MARGIN else ""


def _is_quick(case: Case, result: Result) -> bool:
    return bool(result["trees"] != case.trees)


def _doubts(result: Result) -> list[str]:
    doubts = list(result.get("doubts", []))
    foreign = result.get("foreign", 0.0)
    if foreign > QUIET_FOREIGN:
        doubts.append(f"others used {foreign:.0%} of the cores during the timed work")
    return doubts


# --- the long tables ---------------------------------------------------------------------------


def _machine(machine: dict[str, Any]) -> str:
    lines = ["| | |", "|---|---|"]
    lines += [f"| {key} | {machine[key]} |" for key in ("processor", "cores", "memory", "system")]
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
    return "\n".join([*lines, f"| versions | {versions} |"])


def _details(case: Case, result: Result) -> str:
    body = {
        "fit": _fit_table,
        "busy": _busy_table,
        "memory": _memory_table,
        "scaling": _scaling_table,
        "one-row": _one_row_table,
    }[case.kind](case, result)
    head = f"### {case.title} (`{case.name}`)\n"
    notes = [f"Measured {result['when']}: {result['threads']} thread(s), {result['trees']} trees."]
    if _is_quick(case, result):
        notes.append(f"**Quick run on {result['rows']} rows: not a measurement of speed.**")
    notes += [f"**Doubtful: {doubt}.**" for doubt in _doubts(result)]
    return "\n".join([head, " ".join(notes), "", *body, ""])


def _fit_table(case: Case, result: Result) -> list[str]:
    metric = METRICS[case.loss]
    medians = _medians(result["entries"])
    losses = _losses(result["entries"])
    best = min(losses.values(), default=math.nan)
    heads = ["library", "its fastest way", "seconds (min – max)", "peer ÷ ours"]
    heads += [f"held-out {metric}", "above the best"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for entry in sorted(result["entries"], key=lambda e: medians.get(e["peer"], math.inf)):
        peer = entry["peer"]
        if peer not in medians:
            lines.append(f"| {LABELS[peer]} | {_way(entry)} | {entry['failed']} | | | |")
            continue
        spread = f"{min(entry['seconds']):.3f} – {max(entry['seconds']):.3f}"
        ratio = f"{medians[peer] / medians[OURS]:.2f}" if OURS in medians else "–"
        lines.append(
            f"| {LABELS[peer]} | {_way(entry)} | {medians[peer]:.3f} ({spread}) | {ratio} "
            f"| {losses[peer]:.5f} | {losses[peer] / best - 1:.2%} |"
        )
    return lines


def _way(entry: Entry) -> str:
    waiting = "passive OpenMP waiting" if entry["policy"] == "passive" else ""
    return ", ".join(part for part in (entry["variant"], waiting) if part)


def _busy_table(case: Case, result: Result) -> list[str]:
    names = ("quiet_one", "quiet_all", "busy_one", "busy_all")
    columns = [{e["peer"]: e for e in result[name]} for name in names]
    lines = [
        "Libraries as they come, no OpenMP settings. «Busy»: a spinning process holds one core.\n",
        "| library | quiet, 1 thread | quiet, all | busy, 1 thread | busy, all | last ÷ first |",
        "|---|---|---|---|---|---|",
    ]
    for peer in columns[0]:
        cells = [_seconds_cell(column.get(peer)) for column in columns]
        one, busy = _medians(result["quiet_one"]), _medians(result["busy_all"])
        ratio = f"{busy[peer] / one[peer]:.2f}" if peer in one and peer in busy else "–"
        lines.append(f"| {LABELS[peer]} | {' | '.join(cells)} | {ratio} |")
    return lines


def _seconds_cell(entry: Entry | None) -> str:
    if entry is None or entry["failed"] or not entry["seconds"]:
        return entry["failed"] if entry and entry["failed"] else "–"
    return f"{statistics.median(entry['seconds']):.3f} s"


def _memory_table(case: Case, result: Result) -> list[str]:
    lines = [
        "Highest resident memory of the fit minus that before it; each way in a fresh process.\n",
        f"The input itself takes {result['input_mb']:.0f} MB.\n",
        "| library | way it was smallest | MB beyond the input | ÷ input |",
        "|---|---|---|---|",
    ]
    for entry in sorted(result["entries"], key=lambda e: float(e["peak_mb"])):
        share = entry["peak_mb"] / result["input_mb"]
        label = LABELS[entry["peer"]]
        lines.append(f"| {label} | {entry['variant']} | {entry['peak_mb']:.0f} | {share:.2f} |")
    return lines


def _scaling_table(case: Case, result: Result) -> list[str]:
    points = result["points"]
    lines = [
        "![Training time as the table grows](scaling.png)\n",
        f"| library | {' | '.join(f'{n:,}' for n in points)} | exponent |",
        "|---" * (len(points) + 2) + "|",
    ]
    for peer, curve in result["curves"].items():
        cells = " | ".join("–" if t is None else f"{t:.3f} s" for t in curve)
        growth = _exponent(result, peer)
        lines.append(f"| {LABELS[peer]} | {cells} | {'–' if growth is None else f'{growth:.2f}'} |")
    return lines


def _one_row_table(case: Case, result: Result) -> list[str]:
    lines = ["| library | µs a call, median | peer ÷ ours |", "|---|---|---|"]
    times = {e["peer"]: statistics.median(e["ns"]) / 1000 for e in result["entries"] if e["ns"]}
    for peer in sorted(times, key=lambda name: times[name]):
        ratio = f"{times[peer] / times[OURS]:.2f}" if OURS in times else "–"
        lines.append(f"| {LABELS[peer]} | {times[peer]:.2f} | {ratio} |")
    return lines
