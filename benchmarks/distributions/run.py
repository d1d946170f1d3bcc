"""Quantiles and distributions against LightGBM, XGBoost and NGBoost, and counts on freMTPL2.

    python benchmarks/distributions/run.py DATA [--only KIND] [--seeds 1]

KIND is quantiles, distributions, families, expectiles or claims.
DATA is a folder of Parquet tables with index.json. Results: results.json and RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import claims
import families
import numpy as np
from tables import NUMBERS, Parts, read

from report import write
from stagewise import GradientBoostingRegressor
from stagewise.metrics.probabilistic import pinball

HERE = Path(__file__).parent
KINDS = ("quantiles", "distributions", "families", "expectiles", "claims")
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
ROUNDS, RATE, PATIENCE, THREADS = 500, 0.05, 30, 1


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the seconds of the processor: each fit has one thread."""
    begin = time.process_time()
    return action(), time.process_time() - begin


# ---- quantiles -----------------------------------------------------------------------------------


def our_quantiles(p: Parts, quantile: Any, **own: Any) -> np.ndarray:
    model = GradientBoostingRegressor(
        loss="quantile",
        quantile=quantile,
        n_estimators=ROUNDS,
        learning_rate=RATE,
        n_iter_no_change=PATIENCE,
        n_jobs=THREADS,
        **own,
    )
    return model.fit(p.X, p.y, X_val=p.X_stop, y_val=p.y_stop).predict(p.X_test)


def our_separate(p: Parts) -> np.ndarray:
    return np.column_stack([our_quantiles(p, tau) for tau in LEVELS])


def lightgbm_quantiles(p: Parts) -> np.ndarray:
    import lightgbm as lgb

    found = []
    for tau in LEVELS:
        model = lgb.LGBMRegressor(
            objective="quantile",
            alpha=tau,
            n_estimators=ROUNDS,
            learning_rate=RATE,
            n_jobs=THREADS,
            verbose=-1,
        )
        stop = [lgb.early_stopping(PATIENCE, verbose=False)]
        model.fit(p.X, p.y, eval_set=[(p.X_stop, p.y_stop)], callbacks=stop)
        found.append(model.predict(p.X_test))
    return np.column_stack(found)


def xgboost_quantiles(p: Parts) -> np.ndarray:
    import xgboost as xgb

    model = xgb.XGBRegressor(
        objective="reg:quantileerror",
        quantile_alpha=np.array(LEVELS),
        n_estimators=ROUNDS,
        learning_rate=RATE,
        tree_method="hist",
        max_leaves=31,
        max_depth=0,
        grow_policy="lossguide",
        early_stopping_rounds=PATIENCE,
        n_jobs=THREADS,
    )
    model.fit(p.X, p.y, eval_set=[(p.X_stop, p.y_stop)], verbose=False)
    return model.predict(p.X_test)


QUANTILES: dict[str, Callable[[Parts], np.ndarray]] = {
    "Stagewise, one model": lambda p: our_quantiles(p, LEVELS),
    "Stagewise, one per quantile": our_separate,
    "LightGBM, one per quantile": lightgbm_quantiles,
    "XGBoost, one model": xgboost_quantiles,
}


def measure_quantiles(parts: Parts) -> dict[str, dict[str, float]]:
    found = {}
    for name, predict in QUANTILES.items():
        levels, seconds = timed(lambda predict=predict: predict(parts))
        found[name] = {
            "pinball": pinball(parts.y_test, levels, LEVELS),
            "crossing": float((np.diff(levels, axis=1) < 0).any(axis=1).mean()),
            "seconds": seconds,
        }
    return found


# ---- distributions -------------------------------------------------------------------------------


def our_distribution(p: Parts, **own: Any) -> tuple[Any, float]:
    model = GradientBoostingRegressor(
        loss="normal",
        n_estimators=ROUNDS,
        learning_rate=RATE,
        n_iter_no_change=PATIENCE,
        n_jobs=THREADS,
        **own,
    )
    _, seconds = timed(lambda: model.fit(p.X, p.y, X_val=p.X_stop, y_val=p.y_stop))
    return model.predict_dist(p.X_test), seconds


def ngboost(p: Parts) -> tuple[float, float]:
    from ngboost import NGBRegressor

    model = NGBRegressor(n_estimators=ROUNDS, learning_rate=0.04, random_state=0, verbose=False)
    held = {"X_val": p.X_stop, "Y_val": p.y_stop, "early_stopping_rounds": PATIENCE}
    _, seconds = timed(lambda: model.fit(p.X, p.y, **held))
    found = model.pred_dist(p.X_test, max_iter=model.best_val_loss_itr)
    return float(-found.logpdf(p.y_test).mean()), seconds


OURS: dict[str, dict[str, Any]] = {
    "Stagewise": {},
    "Stagewise, vector leaves": {"leaves": "vector"},
    "Stagewise, depth 3": {"max_depth": 3},  # as NGBoost's trees
}


def measure_distributions(parts: Parts) -> dict[str, dict[str, float]]:
    found = {}
    for name, own in OURS.items():
        dist, seconds = our_distribution(parts, **own)
        found[name] = {"nll": float(dist.nll(parts.y_test).mean()), "seconds": seconds}
    nll, seconds = ngboost(parts)
    return {**found, "NGBoost": {"nll": nll, "seconds": seconds}}


def recorded(file: Path) -> dict[str, Any]:
    """Return what has been measured; parts may be measured by several processes."""
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


# ---- all -----------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=10_000, help="the most rows of a table")
    parser.add_argument("--tables", nargs="+", default=NUMBERS)
    parser.add_argument("--report-only", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    file = HERE / "results.json"
    kinds = {"quantiles": measure_quantiles, "distributions": measure_distributions}
    for kind, measure in {} if args.report_only else kinds.items():
        if args.only not in (None, kind):
            continue
        for name in args.tables:
            for seed in range(args.seeds):
                found = measure(read(args.data, name, seed, args.rows))
                print(kind, name, seed, found, flush=True)
                results = recorded(file)
                results.setdefault(kind, {}).setdefault(name, {})[str(seed)] = found
                file.write_text(json.dumps(results, indent=1) + "\n")
    for kind, measure_all in (
        ("families", families.measure_families),
        ("expectiles", families.measure_expectiles),
    ):
        if args.only in (None, kind) and not args.report_only:
            found = measure_all(args.data, args.seeds, args.rows)
            file.write_text(json.dumps({**recorded(file), kind: found}, indent=1) + "\n")
    if args.only in (None, "claims") and not args.report_only:
        found = claims.measure(args.data / "freMTPL2.parquet")
        file.write_text(json.dumps({**recorded(file), "claims": found}, indent=1) + "\n")
    write(recorded(file), HERE / "RESULTS.md")


if __name__ == "__main__":
    main()
