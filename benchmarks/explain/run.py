"""Measure Shapley values against the peers and write RESULTS.md (what ``make explain`` runs).

Rows are explained one by one, so a slow library is given fewer rows of the same table, and the time
per row is compared. Libraries take turns. Each explains 100 trees of 31 leaves that it has grown
itself on the same table; shap explains those of LightGBM.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import machine  # noqa: E402
from cases import CASES  # noqa: E402

TREES, LEAVES = 100, 31
BACKGROUND = 200
GOAL = 3.0
# The time of a peer's first call, on this many rows, gives the number of rows for the time below.
TRIAL_ROWS = 200
SECONDS = 4.0

KINDS = {
    "path": "by cover",
    "interventional": f"against {BACKGROUND} background rows",
    "interactions": "of pairs, by cover",
}
LABELS = {
    "stagewise": "**Stagewise**",
    "lightgbm": "LightGBM, pred_contrib",
    "xgboost": "XGBoost, pred_contribs",
    "xgboost-approx": "XGBoost, approx_contribs (not Shapley values)",
    "shap": "shap.TreeExplainer",
}
HEAD = """# Shapley values

Written by `make explain` from results.json; edits are overwritten. A table of 100k × 28, {trees}
trees of {leaves} leaves, {threads} threads; median time of a row over {repeats} turns, making the
explainer ready included. Libraries that are slow are given fewer rows; the ratio is their time ÷
ours. Goal: at least {goal:g}× the fastest that gives exact Shapley values.

{quiet}
"""

Explain = Callable[[np.ndarray], Any]


def ours(X: np.ndarray, y: np.ndarray, threads: int) -> dict[str, Explain]:
    from stagewise import GradientBoostingClassifier
    from stagewise.inspection import shap_values

    model = GradientBoostingClassifier(
        n_estimators=TREES, max_leaf_nodes=LEAVES, learning_rate=0.1, n_jobs=threads
    ).fit(X, y)
    some = X[:BACKGROUND]
    return {
        "path": lambda rows: shap_values(model, rows),
        "interventional": lambda rows: shap_values(
            model, rows, kind="interventional", background=some
        ),
        "interactions": lambda rows: shap_values(model, rows, interactions=True),
    }


def _lightgbm(X: np.ndarray, y: np.ndarray, threads: int) -> Any:
    import lightgbm

    params = {"objective": "binary", "num_leaves": LEAVES, "verbosity": -1, "num_threads": threads}
    return lightgbm.train(params, lightgbm.Dataset(X, y), TREES)


def lightgbm_peer(X: np.ndarray, y: np.ndarray, threads: int) -> dict[str, Explain]:
    model = _lightgbm(X, y, threads)
    return {"path": lambda rows: model.predict(rows, pred_contrib=True)}


def _xgboost(X: np.ndarray, y: np.ndarray, threads: int) -> Any:
    import xgboost

    params = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": LEAVES,
        "max_depth": 0,
        "eta": 0.1,
        "nthread": threads,
    }
    model = xgboost.train(params, xgboost.QuantileDMatrix(X, y), TREES)
    return lambda **how: lambda rows: model.predict(xgboost.DMatrix(rows), **how)


def xgboost_peer(X: np.ndarray, y: np.ndarray, threads: int) -> dict[str, Explain]:
    explain = _xgboost(X, y, threads)
    return {
        "path": explain(pred_contribs=True),
        "interactions": explain(pred_interactions=True),
    }


def xgboost_approx(X: np.ndarray, y: np.ndarray, threads: int) -> dict[str, Explain]:
    return {"path": _xgboost(X, y, threads)(pred_contribs=True, approx_contribs=True)}


def shap_peer(X: np.ndarray, y: np.ndarray, threads: int) -> dict[str, Explain]:
    import shap

    model = _lightgbm(X, y, threads)
    path = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
    other = shap.TreeExplainer(model, X[:BACKGROUND], feature_perturbation="interventional")

    def interventional(rows: np.ndarray) -> Any:
        return other.shap_values(rows, check_additivity=False)

    return {
        "path": lambda rows: path.shap_values(rows, check_additivity=False),
        "interventional": interventional,
        "interactions": path.shap_interaction_values,
    }


PEERS = {
    "stagewise": ours,
    "lightgbm": lightgbm_peer,
    "xgboost": xgboost_peer,
    "xgboost-approx": xgboost_approx,
    "shap": shap_peer,
}


def seconds(explain: Explain, rows: np.ndarray) -> float:
    start = time.perf_counter()
    explain(rows)
    return time.perf_counter() - start


def measure(kind: str, peers: dict[str, dict[str, Explain]], X: np.ndarray, repeats: int) -> Any:
    """Return the number of rows that each library was given, and its seconds in each turn."""
    most = len(X) // 10 if kind == "interactions" else len(X)
    entries: dict[str, dict[str, Any]] = {}
    for name, ways in peers.items():
        if kind in ways:
            trial = max(seconds(ways[kind], X[:TRIAL_ROWS]) / TRIAL_ROWS, 1e-9)
            rows = most if name == "stagewise" else min(most, max(20, int(SECONDS / trial)))
            entries[name] = {"rows": rows, "seconds": []}
    names = list(entries)
    with machine.ForeignTime() as foreign:
        for turn in range(repeats):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                taken = seconds(peers[name][kind], X[: entries[name]["rows"]])
                entries[name]["seconds"].append(taken)
    busy = foreign.seconds / foreign.capacity
    return {"foreign": busy, "entries": entries}


def page(results: dict[str, Any]) -> str:
    kinds = results["kinds"].values()
    busy = max((kind["foreign"] for kind in kinds), default=0.0)
    loud = busy > machine.QUIET_FOREIGN
    quiet = (
        f"The machine was **busy**: others took up to {busy:.0%} of it. Measure again."
        if loud
        else "The machine was quiet."
    )
    facts = results["machine"]
    lines = [
        HEAD.format(trees=TREES, leaves=LEAVES, goal=GOAL, quiet=quiet, **results["settings"]),
        f"{facts['processor']}, {facts['cores']} cores; "
        + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
    ]
    for kind, result in results["kinds"].items():
        lines += ["", f"## {kind}: {KINDS[kind]}", ""]
        lines += ["| | rows | a row | ratio |", "|---|---|---|---|"]
        times = {
            name: statistics.median(entry["seconds"]) / entry["rows"]
            for name, entry in result["entries"].items()
        }
        for name, row in times.items():
            ratio = "" if name == "stagewise" else f"{row / times['stagewise']:.1f}×"
            count = result["entries"][name]["rows"]
            lines.append(f"| {LABELS[name]} | {count} | {row * 1e6:.2f} µs | {ratio} |")
        exact = [row for name, row in times.items() if name not in ("stagewise", "xgboost-approx")]
        if exact:
            ratio = min(exact) / times["stagewise"]
            verdict = "reached" if ratio >= GOAL else "**NOT REACHED**"
            lines += ["", f"{ratio:.1f}× the fastest exact one: {verdict}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--threads", type=int, default=len(machine.usable_cpus()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--report-only", action="store_true", help="make the page again, then stop")
    args = parser.parse_args()
    store = HERE / "results.json"
    if not args.report_only:
        table = next(case for case in CASES if case.name == "binary-100k").table()
        peers = {}
        for name, start in PEERS.items():
            try:
                peers[name] = start(table.X_train, table.y_train, args.threads)
            except ImportError as error:
                print(f"left out {name}: {error}")
        libraries = sorted({name.split("-")[0] for name in peers})
        versions = {name: str(sys.modules[name].__version__) for name in libraries}
        results: dict[str, Any] = {
            "settings": {"threads": args.threads, "repeats": args.repeats},
            "machine": machine.describe(versions),
            "kinds": {},
        }
        for kind in args.kinds:
            results["kinds"][kind] = measure(kind, peers, table.X_train, args.repeats)
            store.write_text(json.dumps(results, indent=1) + "\n")
            print(f"{kind}: measured", flush=True)
    results = json.loads(store.read_text())
    (HERE / "RESULTS.md").write_text(page(results))


if __name__ == "__main__":
    main()
