"""The page of the benchmark of clusters, from its results."""

from __future__ import annotations

import statistics
from typing import Any

from turns import machine_line, medians, quiet_line, verdict

OVERHEAD_GOALS = {2: 15.0, 4: 25.0}
SUM_GOALS = {"tcp": 1.0, "tls": 2.0}
SUM_BYTES = 1 << 16
EFFICIENCY_GOAL, PEER_GOAL = 0.85, 2.0
LABELS = {
    "local": "Stagewise, one process, {workers} threads",
    "stagewise": "**Stagewise**, cluster",
    "xgboost": "XGBoost, `xgboost.dask`",
    "lightgbm": "LightGBM, `lightgbm.dask`",
}

Medians = dict[str, dict[str, float]]


def page(results: dict[str, Any]) -> str:
    """Return RESULTS.md."""
    lines = [
        "# Training on a Dask cluster",
        "",
        (
            "Written by `make cluster-bench`; edits are overwritten. Worker processes of one "
            "thread each, on one machine, over the loopback interface. Medians of interleaved "
            "turns; every turn starts a cluster of its own."
        ),
        "",
        machine_line(results["machine"]),
    ]
    for part, write in (("sums", sums), ("overhead", overhead), ("fits", fits)):
        if part in results["parts"]:
            lines += ["", *write(results["parts"][part])]
    return "\n".join(lines) + "\n"


def fields(name: str) -> tuple[str, str, int, str]:
    """Return the library, the protocol, the workers and the container of a turn."""
    library, protocol, workers, container = name.split("-")
    return library, protocol, int(workers), container


# --- sums --------------------------------------------------------------------------------------


def sum_times(part: dict[str, Any]) -> dict[str, dict[int, tuple[float, float]]]:
    """Return the median and the 0.9 quantile in ms of a sum, by turn and bytes."""
    found = {}
    for name, turns in part["entries"].items():
        sizes = [size for size, *_ in turns[0]["sums"]]
        found[name] = {
            size: (
                1e3 * statistics.median(turn["sums"][i][1] for turn in turns),
                1e3 * statistics.median(turn["sums"][i][2] for turn in turns),
            )
            for i, size in enumerate(sizes)
        }
    return found


def sums(part: dict[str, Any]) -> list[str]:
    times = sum_times(part)
    sizes = list(next(iter(times.values())))
    lines = [
        "## Sums over the workers alone",
        "",
        (
            "Milliseconds until every rank has the sum of a vector of int64: median, and 0.9 "
            "quantile in brackets. The goal is that of 64 KB and two workers."
        ),
        "",
        quiet_line(part["foreign"]),
        "",
        "| | " + " | ".join(f"{size // 1024} KB" for size in sizes) + " | goal |",
        "|---|" + "---|" * (len(sizes) + 1),
    ]
    for name, by_size in times.items():
        _, protocol, workers, _ = fields(name)
        cells = [f"{median:.2f} ({high:.2f})" for median, high in by_size.values()]
        limit = SUM_GOALS[protocol]
        goal = f"≤ {limit:g}: {verdict(by_size[SUM_BYTES][0], limit, least=False)}"
        cells.append(goal if workers == 2 else "")
        lines.append(f"| {workers} workers, {protocol} | " + " | ".join(cells) + " |")
    return lines


# --- overhead ----------------------------------------------------------------------------------


def overhead(part: dict[str, Any]) -> list[str]:
    own, settings = medians(part["entries"]), part["settings"]
    lines = [
        "## Overhead per tree",
        "",
        (
            f"{settings['rows_per_rank']:,} rows × 28 for each rank, {settings['overhead_trees']} "
            f"trees of 31 leaves; medians of {settings['fits']} fits and {settings['repeats']} "
            "turns. The overhead is the time of a tree minus that of the fit of the same rows in "
            "one process, with as many threads as workers, at most the number of cores. In calls: "
            "the time of a rank in exchanges, waiting for its peers included."
        ),
        "",
        quiet_line(part["foreign"]),
        "",
        (
            "| | ms per tree | one process | overhead | in calls | exchanges per tree | "
            "KB to a peer per tree | goal |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, m in own.items():
        library, protocol, workers, container = fields(name)
        local = own.get(f"local-tcp-{workers}-{container}")
        if library != "stagewise" or local is None:
            continue
        extra, goal = m["tree_ms"] - local["tree_ms"], OVERHEAD_GOALS.get(workers)
        found = f"≤ {goal:g}: {verdict(extra, goal, least=False)}" if goal else ""
        lines.append(
            f"| {workers} workers, {protocol} | {m['tree_ms']:.1f} | {local['tree_ms']:.1f} | "
            f"{extra:.1f} | {m['exchange_ms']:.1f} | {m['exchanges']:.1f} | "
            f"{m['kilobytes']:.0f} | {found} |"
        )
    return lines


# --- fits --------------------------------------------------------------------------------------


def fits(part: dict[str, Any]) -> list[str]:
    own, settings = medians(part["entries"]), part["settings"]
    lines = [
        "## Fits of many rows",
        "",
        (
            f"{settings['rows']:,} rows × 28 in the memory of {settings['fit_workers']} workers, "
            f"{settings['trees']} trees of 31 leaves, 255 bins; medians of {settings['repeats']} "
            "turns. Whole fit: from rows in memory to the model, in seconds; rounds: boosting "
            "alone. Memory of the worker with the most, in MB: with the rows alone, and the peak "
            "during the fit."
        ),
        "",
        quiet_line(part["foreign"]),
        "",
        "| rows | library | whole fit | rounds | rows alone | peak | log loss |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, m in own.items():
        library, _, workers, container = fields(name)
        rounds = f"{m['rounds_seconds']:.1f}" if "rounds_seconds" in m else "–"
        lines.append(
            f"| {container} | {LABELS[library].format(workers=workers)} | {m['seconds']:.1f} | "
            f"{rounds} | {m['rows_mb']:.0f} | {m['peak_mb']:.0f} | {m['log_loss']:.5f} |"
        )
    return [*lines, "", *fingerprints(part), "", *goals(own)]


def fingerprints(part: dict[str, Any]) -> list[str]:
    """Return whether all models of Stagewise have the same bytes, by container."""
    prints: dict[str, set[str]] = {}
    for name, turns in part["entries"].items():
        found = {turn["fingerprint"] for turn in turns if "fingerprint" in turn}
        prints.setdefault(fields(name)[3], set()).update(found)
    same = all(len(found) <= 1 for found in prints.values())
    return [f"The models of Stagewise are {'the same' if same else '**different**'} bytes."]


def goals(own: Medians) -> list[str]:
    """Return the verdicts; each library has its faster container, and its smaller memory."""
    lines = ["| goal | measured | |", "|---|---|---|"]

    def least(library: str, key: str) -> float | None:
        found = [m[key] for name, m in own.items() if fields(name)[0] == library and key in m]
        return min(found, default=None)

    def add(text: str, goal: float, above: float | None, below: float | None) -> None:
        if above is not None and below is not None:
            ratio = above / below
            lines.append(f"| {text} | {ratio:.2f} | {verdict(ratio, goal)} |")

    for key, what in (("rounds_seconds", "rounds"), ("seconds", "whole fit")):
        text = f"one process ÷ cluster, {what}: ≥ {EFFICIENCY_GOAL:g}"
        add(text, EFFICIENCY_GOAL, least("local", key), least("stagewise", key))
    for library in ("xgboost", "lightgbm"):
        name = LABELS[library].split(",")[0]
        own_seconds, own_peak = least("stagewise", "seconds"), least("stagewise", "peak_mb")
        text = f"{name} ÷ ours, whole fit: ≥ {PEER_GOAL:g}"
        add(text, PEER_GOAL, least(library, "seconds"), own_seconds)
        add(f"{name} ÷ ours, peak memory: ≥ 1", 1.0, least(library, "peak_mb"), own_peak)
    return lines
