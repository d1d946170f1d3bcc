"""The page of the benchmark of clusters, from its results."""

from __future__ import annotations

import statistics
from typing import Any

from goals import Goal, goal_table
from turns import machine_line, medians, quiet_line

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
    return "\n".join([*lines, "", "## Goals", "", *goal_table(find_goals(results))]) + "\n"


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
            "quantile in brackets."
        ),
        "",
        quiet_line(part["foreign"]),
        "",
        "| | " + " | ".join(f"{size // 1024} KB" for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    for name, by_size in times.items():
        _, protocol, workers, _ = fields(name)
        cells = [f"{median:.2f} ({high:.2f})" for median, high in by_size.values()]
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
            "KB to a peer per tree |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    for name, extra in overheads(own).items():
        _, protocol, workers, _ = fields(name)
        m = own[name]
        lines.append(
            f"| {workers} workers, {protocol} | {m['tree_ms']:.1f} | {m['tree_ms'] - extra:.1f} | "
            f"{extra:.1f} | {m['exchange_ms']:.1f} | {m['exchanges']:.1f} | "
            f"{m['kilobytes']:.0f} |"
        )
    return lines


def overheads(own: Medians) -> dict[str, float]:
    """Return the ms per tree beyond those of one process, by turn."""
    found = {}
    for name, m in own.items():
        library, _, workers, container = fields(name)
        local = own.get(f"local-tcp-{workers}-{container}")
        if library == "stagewise" and local is not None:
            found[name] = m["tree_ms"] - local["tree_ms"]
    return found


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
    return [*lines, "", *fingerprints(part)]


def fingerprints(part: dict[str, Any]) -> list[str]:
    """Return whether all models of Stagewise have the same bytes, by container."""
    prints: dict[str, set[str]] = {}
    for name, turns in part["entries"].items():
        found = {turn["fingerprint"] for turn in turns if "fingerprint" in turn}
        prints.setdefault(fields(name)[3], set()).update(found)
    same = all(len(found) <= 1 for found in prints.values())
    return [f"The models of Stagewise are {'the same' if same else '**different**'} bytes."]


# --- goals -------------------------------------------------------------------------------------


def find_goals(results: dict[str, Any]) -> list[Goal]:
    """Return the goals that were measured."""
    parts, goals = results["parts"], []
    for name, by_size in sum_times(parts["sums"]).items() if "sums" in parts else ():
        _, protocol, workers, _ = fields(name)
        if workers == 2:
            text = f"ms of a sum of 64 KB, 2 workers, {protocol}"
            bound = SUM_GOALS[protocol]
            goals.append(Goal(text, bound, by_size[SUM_BYTES][0], least=False))
    if "overhead" in parts:
        for name, extra in overheads(medians(parts["overhead"]["entries"])).items():
            _, protocol, workers, _ = fields(name)
            if workers in OVERHEAD_GOALS:
                text = f"overhead in ms per tree, {workers} workers, {protocol}"
                goals.append(Goal(text, OVERHEAD_GOALS[workers], extra, least=False))
    return goals + (fit_goals(medians(parts["fits"]["entries"])) if "fits" in parts else [])


def fit_goals(own: Medians) -> list[Goal]:
    """Return the goals of many rows; each library has its faster container, and less memory."""

    def least(library: str, key: str) -> float:
        found = [m[key] for name, m in own.items() if fields(name)[0] == library and key in m]
        return min(found, default=float("nan"))

    goals = []
    for key, what in (("rounds_seconds", "rounds"), ("seconds", "whole fit")):
        ratio = least("local", key) / least("stagewise", key)
        goals.append(Goal(f"one process ÷ cluster, {what}", EFFICIENCY_GOAL, ratio))
    for library in ("xgboost", "lightgbm"):
        name = LABELS[library].split(",")[0]
        for key, what, bound in (
            ("seconds", "whole fit", PEER_GOAL),
            ("peak_mb", "peak memory", 1.0),
        ):
            ratio = least(library, key) / least("stagewise", key)
            goals.append(Goal(f"{name} ÷ ours, {what}", bound, ratio))
    return [goal for goal in goals if goal.value == goal.value]
