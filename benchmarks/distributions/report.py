"""RESULTS.md from results.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Results = dict[str, Any]


def write(results: Results, file: Path) -> None:
    """Write the tables that were measured."""
    text = [
        "# Quantiles and distributions",
        "",
        (
            "`make distributions-bench DATA=folder` measures them and writes this page. Numeric "
            "features, at most 3,000 rows of a table: 64 % training, 16 % stopping and 20 % test "
            "rows. Up to 500 rounds, learning rate 0.05 (NGBoost 0.04), stopped after 30 rounds "
            "without improvement, one thread. Trees have 31 leaves (NGBoost: its default, depth 3)."
        ),
    ]
    text += _quantiles(results) if "quantiles" in results else []
    text += _distributions(results) if "distributions" in results else []
    text += _families(results) if "families" in results else []
    text += _expectiles(results) if "expectiles" in results else []
    text += _claims(results) if "claims" in results else []
    file.write_text("\n".join(text) + "\n")


def _mean(runs: dict[str, Any], name: str, what: str) -> float:
    return float(np.mean([run[name][what] for run in runs.values()]))


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    line = "|".join(["---", *["---:"] * (len(head) - 1)])
    body = ["| " + " | ".join(row) + " |" for row in rows]
    return ["", "| " + " | ".join(head) + " |", f"|{line}|", *body, ""]


def _quantiles(results: Results) -> list[str]:
    tables = results["quantiles"]
    names = list(next(iter(next(iter(tables.values())).values())))
    rows, ratios = [], {name: [] for name in names}
    seconds, crossing = dict.fromkeys(names, 0.0), {name: [] for name in names}
    for table, runs in tables.items():
        base = _mean(runs, "LightGBM, one per quantile", "pinball")
        own = {name: _mean(runs, name, "pinball") / base for name in names}
        for name in names:
            ratios[name].append(own[name])
            seconds[name] += _mean(runs, name, "seconds")
            crossing[name].append(_mean(runs, name, "crossing"))
        rows.append([table, f"{base:.4g}", *(f"{own[name]:.3f}" for name in names)])
    means = [f"{np.exp(np.mean(np.log(ratios[name]))):.3f}" for name in names]
    rows.append(["**geometric mean**", "", *(f"**{value}**" for value in means)])
    rows.append(["rows that cross", "", *(f"{100 * np.mean(crossing[n]):.1f} %" for n in names)])
    rows.append(["processor seconds in all", "", *(f"{seconds[name]:.1f}" for name in names)])
    return [
        "",
        "## Five quantiles",
        "",
        "Levels 0.05, 0.25, 0.5, 0.75, 0.95. The pinball loss of LightGBM, and the ratio to it.",
        *_table(["table", "pinball loss", *names], rows),
    ]


def _distributions(results: Results) -> list[str]:
    tables = results["distributions"]
    names = list(next(iter(next(iter(tables.values())).values())))
    ours = [name for name in names if name != "NGBoost"]
    rows, differences = [], {name: [] for name in names}
    speeds = {name: [] for name in ours}
    for table, runs in tables.items():
        nll = {name: _mean(runs, name, "nll") for name in names}
        seconds = {name: _mean(runs, name, "seconds") for name in names}
        for name in names:
            differences[name].append(nll[name] - nll["NGBoost"])
        for name in ours:
            speeds[name].append(seconds["NGBoost"] / seconds[name])
        rows.append(
            [
                table,
                *(f"{nll[name]:.3f}" for name in names),
                *(f"{1e3 * seconds[name]:.0f}" for name in names),
                *(f"{speeds[name][-1]:.0f}" for name in ours),
            ]
        )
    means = [f"**{np.mean(differences[name]):+.3f}**" for name in names]
    of_speeds = [f"**{np.exp(np.mean(np.log(speeds[name]))):.0f}**" for name in ours]
    rows.append(["**mean difference; mean ratio**", *means, *[""] * len(names), *of_speeds])
    wins = int(sum(d <= 0 for d in differences["Stagewise"]))
    head = ["table", *(f"NLL, {n}" for n in names), *(f"ms, {n}" for n in names)]
    head += [f"times faster, {n}" for n in ours]
    return [
        "",
        "## Normal distributions against NGBoost",
        "",
        (
            "The mean negative log-likelihood of the test rows, in units of y (smaller is better), "
            f"and the milliseconds of a fit. Stagewise is better on {wins} of {len(tables)} tables."
        ),
        *_table(head, rows),
    ]


def _families(results: Results) -> list[str]:
    rows, ratios = [], []
    for loss, tables in results["families"].items():
        for table, runs in tables.items():
            nll = [_mean(runs, name, "nll") for name in ("Stagewise", "NGBoost")]
            seconds = [_mean(runs, name, "seconds") for name in ("Stagewise", "NGBoost")]
            ratio = seconds[1] / seconds[0]
            rows.append(
                [
                    f"`{loss}`",
                    table,
                    *("failed" if np.isnan(value) else f"{value:.3f}" for value in nll),
                    *(f"{1e3 * value:.0f}" for value in seconds),
                    "" if np.isnan(nll[1]) else f"{ratio:.0f}",
                ]
            )
            if not np.isnan(nll[1]):
                ratios.append(ratio)
    head = ["loss", "table", "NLL, Stagewise", "NLL, NGBoost", "ms, Stagewise", "ms, NGBoost"]
    return [
        "",
        "## Families against NGBoost",
        "",
        (
            "The negative log-likelihood of the test rows and the milliseconds of a fit, as above. "
            "NGBoost has the same family, except for the negative binomial and zero-inflated ones, "
            "which it does not have: its Poisson is beside them. Its Student t has 3 degrees of "
            "freedom. Targets of `beta` are moved into (0, 1). Measured once, on a busy machine; "
            "times are those of the processor. The geometric mean of the ratios of "
            f"times is {np.exp(np.mean(np.log(ratios))):.0f}."
        ),
        *_table([*head, "times faster"], rows),
    ]


def _expectiles(results: Results) -> list[str]:
    tables = results["expectiles"]
    names = list(next(iter(next(iter(tables.values())).values())))
    rows, seconds = [], dict.fromkeys(names, 0.0)
    for table, runs in tables.items():
        rows.append([table, *(f"{_mean(runs, name, 'loss'):.4g}" for name in names)])
        for name in names:
            seconds[name] += _mean(runs, name, "seconds")
    rows.append(["processor seconds in all", *(f"{seconds[name]:.2f}" for name in names)])
    return [
        "",
        "## Two expectiles",
        "",
        (
            "Levels 0.1 and 0.9: the root of the mean asymmetric squared error of the test rows "
            "(smaller is better). CatBoost alone of the peers has this loss. Measured once, on a "
            "busy machine; times are those of the processor."
        ),
        *_table(["table", *names], rows),
    ]


def _claims(results: Results) -> list[str]:
    rows = [
        [name, f"{own['deviance']:.5f}", f"{own['nll']:.5f}", f"{own['seconds']:.1f}"]
        for name, own in results["claims"].items()
    ]
    return [
        "",
        "## Claims of freMTPL2 with exposure",
        "",
        (
            "100 rounds, learning rate 0.1, 31 leaves, all cores. The Poisson deviance of the "
            "predicted mean, and the negative log-likelihood of the counts, for a fifth of the "
            "678,013 policies."
        ),
        *_table(["model", "Poisson deviance", "negative log-likelihood", "seconds"], rows),
    ]
