"""The figure of docs/accuracy.md: the loss ratios of all tables of benchmarks/accuracy/results."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from style import BLUE, GREEN, GREY, ORANGE, RED, plt, save

FOLDER = Path(__file__).parents[2] / "benchmarks" / "accuracy"
PEERS = {"catboost": BLUE, "xgboost": GREEN, "lightgbm": ORANGE, "scikit-learn": RED}


def report() -> Any:
    """Import the program that compares the figures; a script of this folder has its name."""
    spec = importlib.util.spec_from_file_location("accuracy_report", FOLDER / "report.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def accuracy() -> None:
    """Draw the loss ratios of every table; below 1 Stagewise is better."""
    program = report()
    figures = program.Results.read(FOLDER / "results").figures
    fig, ax = plt.subplots(figsize=(6.8, 3.4))
    for contender, colour in PEERS.items():
        compared = program.compare(figures["stagewise"], figures[contender])
        found = sorted(compared.ratios.values())
        label = f"{contender}: {sum(r < 1 for r in found)} of {len(found)} below 1"
        ax.plot(range(1, len(found) + 1), found, ".-", color=colour, linewidth=1, label=label)
        print(contender, len(found), np.round(compared.geometric_mean, 3))
    ax.axhline(1, color=GREY, linewidth=1)
    ax.set_yscale("log")
    ax.set_ylim(0.2, 2.3)
    ax.set_yticks([0.2, 0.3, 0.5, 0.7, 1, 1.5, 2], ["0.2", "0.3", "0.5", "0.7", "1", "1.5", "2"])
    ax.minorticks_off()
    ax.set(xlabel="tables, by their ratio", ylabel="loss of Stagewise ÷ loss of …")
    ax.legend(loc="lower right")
    save(fig, "accuracy")


if __name__ == "__main__":
    accuracy()
