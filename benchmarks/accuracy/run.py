"""Measure accuracy on tables with categories (what ``make accuracy DATA=folder`` runs).

One idea: every (table, split, library, way) is one figure, stored at once in results.json and not
measured again unless it is asked for; the page is made from that file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from libraries import LIBRARIES
from tables import FEW_LEVELS, MANY_LEVELS, Table, read_table

HERE = Path(__file__).parent
SPLITS = 3
LABELS = {"stagewise": "**Stagewise**", "lightgbm": "LightGBM", "catboost": "CatBoost",
          "scikit-learn": "scikit-learn HGB"}  # fmt: skip
HEAD = """# Accuracy on tables with categories

Written by `make accuracy` from results.json; edits are overwritten. Mean held-out loss over those
of three splits that all libraries have: log loss, or root mean square error as a share of the
target's deviation. *As it comes*: no parameter is set. *Stopped*: up to 2000 rounds, the same fifth
of the training rows says when to stop.
"""
JUDGE = {"many": "catboost", "few": "lightgbm"}


def loss_of(task: str, model: Any, X: Any, y: np.ndarray) -> float:
    """Log loss, or the root of the mean square error as a share of the target's deviation."""
    if task == "regression":
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / y.std())
    p = np.clip(np.asarray(model.predict_proba(X), dtype=np.float64), 1e-15, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    return float(-np.log(p[np.arange(len(y)), y]).mean())


def measure(table: Table, library: str, way: str, split: int, threads: int) -> dict[str, float]:
    train, test = list(table.splits(split + 1))[split]
    valid = None
    if way == "stopped":
        held = np.zeros(len(train), dtype=bool)
        held[np.random.default_rng(split).permutation(len(train))[: len(train) // 5]] = True
        valid = (table.X.iloc[train[held]], table.y[train[held]])
        train = train[~held]
    fit = LIBRARIES[library]
    model = fit(table.task, (table.X.iloc[train], table.y[train]), valid, threads)
    return {"loss": loss_of(table.task, model, table.X.iloc[test], table.y[test])}


def shared_splits(results: dict[str, Any], name: str, way: str) -> list[int]:
    """Return the splits that every library with any figure of the table has."""
    having = [
        {s for s in range(SPLITS) if f"{name}/{library}/{way}/{s}" in results} for library in LABELS
    ]
    return sorted(set.intersection(*(h for h in having if h))) if any(having) else []


def page(results: dict[str, Any]) -> str:
    lines = [HEAD]
    for way in ("as it comes", "stopped"):
        for kind, every in (("many", MANY_LEVELS), ("few", FEW_LEVELS)):
            names = [name for name in every if shared_splits(results, name, way)]
            if not names:
                continue
            judge = JUDGE[kind]
            heads = ["table", *LABELS.values(), f"against {LABELS[judge]}"]
            lines += [f"## {way}: {kind} levels", "", f"| {' | '.join(heads)} |",
                      "|---" * len(heads) + "|"]  # fmt: skip
            ratios = []
            for name in names:
                cells, losses = [], {}
                shared = shared_splits(results, name, way)
                for library in LABELS:
                    got = [results.get(f"{name}/{library}/{way}/{s}") for s in shared]
                    found = [g for g in got if g]
                    if not found:
                        cells.append("–")
                        continue
                    losses[library] = float(np.mean([g["loss"] for g in found]))
                    cells.append(f"{losses[library]:.4f}")
                verdict = "–"
                if "stagewise" in losses and judge in losses:
                    ratio = losses["stagewise"] / losses[judge]
                    ratios.append(ratio)
                    verdict = f"{ratio - 1:+.2%}"
                lines.append(f"| {name} | {' | '.join(cells)} | {verdict} |")
            if ratios:
                mean = float(np.exp(np.mean(np.log(ratios)))) - 1
                wins = sum(r <= 1.0 for r in ratios)
                lines.append(f"| all | | | | | {mean:+.2%}, better on {wins} of {len(ratios)} |")
            lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help="folder with the tables and their index.json")
    parser.add_argument("--only", nargs="+", default=[*MANY_LEVELS, *FEW_LEVELS])
    parser.add_argument("--libraries", nargs="+", default=list(LIBRARIES))
    parser.add_argument("--ways", nargs="+", default=["as it comes", "stopped"])
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--again", nargs="*", default=[], help="libraries to measure once more")
    args = parser.parse_args()
    store = HERE / "results.json"
    results: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
    for name in args.only:
        table = read_table(args.data, name)
        for way in args.ways:
            for split in range(args.splits):
                for library in args.libraries:
                    key = f"{name}/{library}/{way}/{split}"
                    if key in results and library not in args.again:
                        continue
                    results[key] = measure(table, library, way, split, args.threads)
                    store.write_text(json.dumps(results, indent=1) + "\n")
            losses = {
                lib: np.mean([results[k]["loss"] for s in range(args.splits)
                              if (k := f"{name}/{lib}/{way}/{s}") in results] or [np.nan])
                for lib in LIBRARIES
            }  # fmt: skip
            shown = "  ".join(f"{lib} {loss:.4f}" for lib, loss in losses.items())
            print(f"{name} ({way}): {shown}", flush=True)
    (HERE / "RESULTS.md").write_text(page(results))


if __name__ == "__main__":
    main()
