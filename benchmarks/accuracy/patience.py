"""Measure how long early stopping should wait for an improvement.

Each table is fitted once per learning rate and split, without an end by early stopping. The round
at which each `n_iter_no_change` would have ended the fit is read from the losses of the held-out
rows, and the loss of the test rows after the best round so far is compared with that of the longest
wait. Run by `python benchmarks/accuracy/patience.py FOLDER`; writes patience.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tables import read_table, table_names

RATES = ((0.1, 1000), (0.05, 1500), (0.02, 3000))
"""Learning rates, with the largest number of rounds."""
WAITS = (10, 20, 30, 50, 100)
MOST_ROWS = 6_000


def best_round(losses: Sequence[float], wait: int) -> tuple[int, int]:
    """Return the best round before the fit ends, and the round at which it ends, from 0."""
    best = 0
    for number, loss in enumerate(losses):
        if loss < losses[best]:
            best = number
        if number - best >= wait:
            return best, number
    return best, len(losses) - 1


def measure(folder: Path, name: str, split: int, rate: float, rounds: int) -> list[dict[str, Any]]:
    """Return the test loss and the number of rounds of each wait."""
    import stagewise

    table = read_table(folder, name, MOST_ROWS)
    train, test = table.split(split)
    kind = "Regressor" if table.task == "regression" else "Classifier"
    model = getattr(stagewise, f"GradientBoosting{kind}")(
        n_estimators=rounds,
        learning_rate=rate,
        early_stopping=True,
        n_iter_no_change=max(WAITS),
        random_state=split,
    )
    model.fit(table.X.iloc[train], table.y[train])
    held = model.validation_loss_
    found = []
    ends = {wait: best_round(held, wait) for wait in WAITS}
    wanted = {best for best, _ in ends.values()}
    X, y = table.X.iloc[test], table.y[test]
    staged = model.staged_predict(X) if kind == "Regressor" else model.staged_predict_proba(X)
    losses = {}
    for number, predicted in enumerate(staged):
        if number in wanted:
            losses[number] = _loss(kind, y, predicted)
    for wait, (best, end) in ends.items():
        own = {"table": name, "split": split, "rate": rate, "wait": wait}
        found.append({**own, "loss": losses[best], "rounds": end + 1})
    return found


def _loss(kind: str, y: np.ndarray, predicted: np.ndarray) -> float:
    if kind == "Regressor":
        return float(np.sqrt(np.mean((predicted - y) ** 2)) / y.std())
    p = np.clip(predicted[np.arange(len(y)), y], 1e-15, 1.0)
    return float(-np.log(p).mean())


def main() -> None:
    """Measure; print geometric means of the losses, divided by those of the longest wait."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with tables and their index.json")
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--splits", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    figures: list[dict[str, Any]] = []
    for name in args.only or table_names(args.data):
        for rate, rounds in RATES:
            for split in range(args.splits):
                figures += measure(args.data, name, split, rate, rounds)
        print(name, flush=True)
    target = Path(__file__).with_name("patience.json")
    target.write_text("[\n" + ",\n".join(map(json.dumps, figures)) + "\n]\n")
    by = {(f["table"], f["split"], f["rate"], f["wait"]): f for f in figures}
    for rate, _ in RATES:
        for wait in WAITS:
            own = [key for key in by if key[2:] == (rate, wait)]
            ratios = [by[k]["loss"] / by[(*k[:3], max(WAITS))]["loss"] for k in own]
            rounds_ = [by[k]["rounds"] / by[(*k[:3], max(WAITS))]["rounds"] for k in own]
            print(
                f"rate {rate:<5} wait {wait:>3}: loss {np.exp(np.mean(np.log(ratios))):.4f}, "
                f"worst {max(ratios):.3f}, rounds {np.exp(np.mean(np.log(rounds_))):.2f}"
            )


if __name__ == "__main__":
    main()
