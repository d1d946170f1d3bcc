"""The report of the accuracy figures: wins, geometric means, ranks and tests, by strata.

A contender wins on a table if the mean of its losses over the splits that both have is lower. Tests
are paired over tables: the sign test counts wins, Wilcoxon's signed-rank test uses the logarithms
of the loss ratios.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, rankdata, wilcoxon

__all__ = ["Results", "compare", "strata", "write_report"]

Figures = Mapping[str, Mapping[str, Any]]
EQUAL = 1e-9
"""Losses that differ by less than this share are a tie, which is half a win."""
AUTO = "stagewise-q4"
"""The automatic model that is compared with all others."""
RANKED = 0.9
"""Contenders with at least this share of the tables are ranked."""
NOISE_FREE = {"regression": 0.12, "binary": 0.02, "multiclass": 0.02}
"""A table is almost noise-free if the best loss of all contenders is below this."""


@dataclass(frozen=True)
class Comparison:
    """One contender against another on some tables."""

    ratios: Mapping[str, float]
    time_ratio: float

    @property
    def wins(self) -> float:
        """The number of tables with a lower loss; ties count half."""
        r = np.array(list(self.ratios.values()))
        return float((r < 1 - EQUAL).sum() + 0.5 * (np.abs(r - 1) <= EQUAL).sum())

    @property
    def geometric_mean(self) -> float:
        """The geometric mean of the loss ratios."""
        return float(np.exp(np.mean(np.log(list(self.ratios.values())))))

    @property
    def sign_p(self) -> float:
        """The p value of the two-sided sign test."""
        n = len(self.ratios)
        return float(binomtest(round(self.wins), n).pvalue) if n else 1.0

    @property
    def wilcoxon_p(self) -> float:
        """The p value of Wilcoxon's signed-rank test of the logarithms."""
        logs = np.log(list(self.ratios.values()))
        return float(wilcoxon(logs).pvalue) if len(logs) > 5 and logs.any() else 1.0


@dataclass(frozen=True)
class Results:
    """The facts of the tables, and the figures of each contender by "table/split"."""

    tables: Figures
    figures: Mapping[str, Figures]

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read the files of a folder."""
        found = {p.stem: json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))}
        return cls(found.pop("tables"), found)


def _losses(figures: Figures, tables: Sequence[str] | None = None) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for key, figure in figures.items():
        name, split = key.rsplit("/", 1)
        if tables is None or name in tables:
            found.setdefault(name, {})[int(split)] = max(figure["loss"], 1e-12)
    return found


def compare(one: Figures, other: Figures, tables: Sequence[str] | None = None) -> Comparison:
    """Return how one contender compares with another on the tables that both have."""
    mine, theirs = _losses(one, tables), _losses(other, tables)
    ratios, times = {}, []
    for name in sorted(set(mine) & set(theirs)):
        shared = sorted(set(mine[name]) & set(theirs[name]))
        if not shared:
            continue
        means = [np.mean([losses[name][s] for s in shared]) for losses in (mine, theirs)]
        ratios[name] = float(means[0] / means[1])
        pairs = [[f[f"{name}/{s}"]["fit_seconds"] for f in (one, other)] for s in shared]
        timed = [pair for pair in pairs if None not in pair]
        if timed:
            seconds = np.mean(timed, axis=0)
            times.append(float(seconds[0] / seconds[1]))
    return Comparison(ratios, float(np.exp(np.mean(np.log(times)))) if times else float("nan"))


def strata(results: Results) -> dict[str, list[str]]:
    """Return the tables of each stratum."""
    facts, best = results.tables, dict.fromkeys(results.tables, np.inf)
    for own in results.figures.values():
        for key, figure in own.items():
            name = key.rsplit("/", 1)[0]
            best[name] = min(best[name], figure["loss"])
    rows = {name: 0.75 * f["rows"] for name, f in facts.items()}
    rules: dict[str, Callable[[str], bool]] = {
        "all": lambda _: True,
        "regression": lambda t: facts[t]["task"] == "regression",
        "binary": lambda t: facts[t]["task"] == "binary",
        "multiclass": lambda t: facts[t]["task"] == "multiclass",
        "below 2,000 training rows": lambda t: rows[t] < 2_000,
        "2,000 to 8,000 rows": lambda t: 2_000 <= rows[t] < 8_000,
        "8,000 rows or more": lambda t: rows[t] >= 8_000,
        "a feature of 50 categories": lambda t: facts[t]["most_categories"] >= 50,
        "50 features or more": lambda t: facts[t]["features"] >= 50,
        "almost noise-free targets": lambda t: best[t] < NOISE_FREE[facts[t]["task"]],
    }
    return {name: [t for t in sorted(facts) if rule(t)] for name, rule in rules.items()}


def mean_ranks(figures: Mapping[str, Figures]) -> dict[str, float]:
    """Return the mean ranks of the contenders with most tables, over the tables that they share."""
    losses = {c: _losses(f) for c, f in figures.items()}
    most = max(map(len, losses.values()))
    losses = {c: own for c, own in losses.items() if len(own) >= RANKED * most}
    shared = set.intersection(*(set(own) for own in losses.values()))
    table = [[np.mean(list(losses[c][t].values())) for c in losses] for t in sorted(shared)]
    ranks = np.mean([rankdata(row) for row in table], axis=0)
    return dict(zip(losses, map(float, ranks), strict=True))


def _comparison_lines(results: Results, mine: str) -> list[str]:
    figures = results.figures
    lines = ["| stratum | tables | " + " | ".join(c for c in figures if c != mine) + " |"]
    lines.append("|---" * (len(figures) + 1) + "|")
    for name, tables in strata(results).items():
        cells = []
        for contender, own in figures.items():
            if contender == mine:
                continue
            found = compare(figures[mine], own, tables)
            n = len(found.ratios)
            cells.append(f"{found.wins:g} of {n}, {found.geometric_mean:.3f}" if n else "–")
        lines.append(f"| {name} | {len(tables)} | {' | '.join(cells)} |")
    return lines


def _test_lines(figures: Mapping[str, Figures], mine: str) -> list[str]:
    ranks = {c: f"{rank:.2f}" for c, rank in mean_ranks(figures).items()}
    lines = [
        f"| contender | mean rank | wins of {mine} | geo. mean | sign test | Wilcoxon | time |",
        "|---|---|---|---|---|---|---|",
        f"| **{mine}** | {ranks.get(mine, '–')} | | | | | |",
    ]
    for contender, own in figures.items():
        if contender == mine:
            continue
        c = compare(figures[mine], own)
        share, time = c.wins / len(c.ratios), c.time_ratio
        lines.append(
            f"| {contender} | {ranks.get(contender, '–')} "
            f"| {c.wins:g} of {len(c.ratios)} ({share:.0%}) | {c.geometric_mean:.3f} "
            f"| {c.sign_p:.2g} | {c.wilcoxon_p:.2g} | {'–' if np.isnan(time) else f'{time:.2f}'} |"
        )
    return lines


def _table_lines(figures: Mapping[str, Figures]) -> list[str]:
    lines = ["| table | " + " | ".join(figures) + " |", "|---" * (len(figures) + 1) + "|"]
    losses = {c: _losses(f) for c, f in figures.items()}
    for name in sorted(set().union(*losses.values())):
        cells = [
            f"{np.mean(list(own[name].values())):.4f}" if name in own else "–"
            for own in losses.values()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def write_report(folder: Path, mine: str = "stagewise") -> Path:
    """Write RESULTS.md from the figures of a folder."""
    results = Results.read(folder)
    figures = results.figures
    versions = ", ".join(f"{c} {next(iter(own.values()))['version']}" for c, own in figures.items())
    lines = [
        "# Accuracy",
        "",
        "Written by `make accuracy` from results/; edits are overwritten. Loss: log loss, or root",
        "mean squared error in standard deviations of the target, mean of the splits (75 % of the",
        "rows for training, at most 12,000 rows a table). Each cell: wins of Stagewise, and the",
        "geometric mean of the loss ratios; below 1 is better. Time: geometric mean of fit times,",
        "Stagewise divided by the other, one thread each; only times without other work count.",
        "",
        f"Versions: {versions}.",
        "",
        *_test_lines(figures, mine),
        "",
        *(["## Automatic models", "", *_test_lines(figures, AUTO), ""] if AUTO in figures else []),
        "## By strata",
        "",
        *_comparison_lines(results, mine),
        "",
        "## All tables",
        "",
        *_table_lines(figures),
        "",
    ]
    path = folder.with_name(f"{folder.name.upper()}.md")
    path.write_text("\n".join(lines))
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent / "results")
    parser.add_argument("--mine", default="stagewise")
    options = parser.parse_args()
    print(write_report(options.folder, options.mine))
