"""The tables of docs/insurance.md from results.json: ``python benchmarks/insurance/report.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"
LIBRARIES = ("Stagewise", "LightGBM", "XGBoost", "CatBoost")
SETTINGS = {
    "defaults": "defaults of each library",
    "100 trees": "100 trees of 31 leaves, rate 0.1",
    "early stopping": "31 leaves, rate 0.1, early stopping",
}


def read() -> dict[str, Any]:
    """Return the results."""
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def frequency_table(results: dict[str, Any]) -> str:
    """Return the deviance, D² and the rounds of each library."""
    lines = [f"| | {' | '.join(LIBRARIES)} |", f"|---|{'---|' * len(LIBRARIES)}"]
    for setting, label in SETTINGS.items():
        own = [results.get(f"{library}, {setting}, split 0") for library in LIBRARIES]
        least = min(found["deviance"] for found in own if found is not None)
        cells = [_cell(found, least) for found in own]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: dict[str, Any] | None, least: float) -> str:
    if found is None:
        return "not measured"
    deviance = f"{found['deviance']:.5f}"
    deviance = f"**{deviance}**" if found["deviance"] == least else deviance
    return f"{deviance} ({100 * found['d2']:.2f} %), {found['rounds']} rounds"


def premium_table(results: dict[str, Any]) -> str:
    """Return the quality of the models of amounts per year."""
    lines = ["| | Tweedie deviance | D² | Gini | predicted / observed |", "|---|---|---|---|---|"]
    for name, label in (
        ("pure premium", "one model, `Tweedie(power=1.9)`"),
        ("frequency times severity", "frequency × severity"),
    ):
        own = results["models"][name]
        cells = f"{own['deviance']:.2f}", f"{100 * own['d2']:.1f} %", f"{own['gini']:.3f}"
        lines.append(f"| {label} | {' | '.join(cells)} | {own['balance']:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(frequency_table(read()), premium_table(read()), sep="\n\n")
