"""Figures of docs/insurance.md, from benchmarks/insurance/results.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from style import BLUE, GREY, ORANGE, plt, save

RESULTS = Path(__file__).parents[2] / "benchmarks" / "insurance" / "results.json"
TITLES = {
    "frequency": ("claims per year", "frequency"),
    "severity": ("amount per claim", "severity"),
    "pure premium": ("amount per year", "pure premium"),
}


def insurance() -> None:
    """Draw the balance and the Lorenz curve of frequency, severity and pure premium."""
    models = json.loads(RESULTS.read_text(encoding="utf-8"))["models"]
    fig, axes = plt.subplots(2, 3, figsize=(9.6, 5.6))
    for (balance, lorenz), (name, (label, title)) in zip(axes.T, TITLES.items(), strict=True):
        _draw(balance, lorenz, models[name], label, title)
    axes[0, 0].legend()
    fig.tight_layout()
    save(fig, "insurance")


def _draw(balance: Any, lorenz: Any, facts: dict[str, Any], label: str, title: str) -> None:
    group = np.arange(1, len(facts["observed"]) + 1)
    balance.bar(group, facts["observed"], color=BLUE, alpha=0.45, label="observed")
    balance.plot(group, facts["predicted"], "o-", color=ORANGE, ms=4, label="predicted")
    balance.set(xlabel="tenth by predicted rate", ylabel=label, title=title, xticks=group)
    share = np.linspace(0.0, 1.0, len(facts["curve"]))
    lorenz.plot([0, 1], [0, 1], "--", color=GREY, lw=1)
    lorenz.plot(share, facts["curve"], color=BLUE, lw=2)
    unit = "claims" if title == "severity" else "exposure"
    lorenz.set(xlabel=f"share of {unit}", ylabel="share of observed")
    lorenz.set_title(f"Gini {facts['gini']:.3f}")
    print(title, round(facts["gini"], 3), round(facts["balance"], 3))
