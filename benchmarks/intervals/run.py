"""Intervals, prediction sets and calibration on real tables, against MAPIE and scikit-learn.

    python benchmarks/intervals/run.py DATA [--repeats 1] [--only numbers|sets|calibration]

DATA is a folder of Parquet tables with index.json. Results: results.json and RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from tables import CLASSES, NUMBERS, Split, read

from report import write
from stagewise import (
    Conformal,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

HERE = Path(__file__).parent
COVERAGE = 0.9
BOOSTING = {"n_estimators": 150, "learning_rate": 0.1, "max_leaf_nodes": 15, "n_jobs": 1}


def seconds(action: Callable[[], object]) -> tuple[float, object]:
    begin = time.perf_counter()
    result = action()
    return time.perf_counter() - begin, result


# ---- intervals -----------------------------------------------------------------------------------


def ours(model) -> Callable[[Split], np.ndarray]:
    return lambda s: model().fit(s.X, s.y).predict_interval(s.X_test, coverage=COVERAGE)


def mapie_split(s: Split) -> np.ndarray:
    from mapie.regression import SplitConformalRegressor

    n = round(0.8 * len(s.y))
    peer = SplitConformalRegressor(
        GradientBoostingRegressor(**BOOSTING), confidence_level=COVERAGE, prefit=False
    )
    peer.fit(s.X[:n], s.y[:n]).conformalize(s.X[n:], s.y[n:])
    return peer.predict_interval(s.X_test)[1][:, :, 0]


def mapie_cross(s: Split) -> np.ndarray:
    from mapie.regression import CrossConformalRegressor

    peer = CrossConformalRegressor(
        GradientBoostingRegressor(**BOOSTING), confidence_level=COVERAGE, method="plus", cv=5
    )
    return peer.fit_conformalize(s.X, s.y).predict_interval(s.X_test)[1][:, :, 0]


QUANTILES = {"loss": "quantile", "quantile": [0.05, 0.5, 0.95]}
INTERVALS: dict[str, Callable[[Split], np.ndarray]] = {
    "split": ours(lambda: GradientBoostingRegressor(conformal="split", **BOOSTING)),
    "MAPIE split": mapie_split,
    "cv": ours(lambda: GradientBoostingRegressor(conformal="cv", **BOOSTING)),
    "cv+": ours(lambda: GradientBoostingRegressor(conformal="cv+", **BOOSTING)),
    "MAPIE CV+": mapie_cross,
    "cv, quantiles": ours(
        lambda: GradientBoostingRegressor(conformal="cv", **QUANTILES, **BOOSTING)
    ),
    "cv, default rounds": ours(lambda: GradientBoostingRegressor(conformal="cv", n_jobs=1)),
    "forest, oob": ours(lambda: RandomForestRegressor(conformal="oob", n_jobs=1)),
}


def measure_intervals(s: Split) -> dict[str, dict[str, float]]:
    found = {}
    for name, method in INTERVALS.items():
        spent, bounds = seconds(lambda method=method: method(s))
        inside = (bounds[:, 0] <= s.y_test) & (s.y_test <= bounds[:, 1])
        width = np.mean(bounds[:, 1] - bounds[:, 0]) / np.std(s.y_test)
        found[name] = {"coverage": inside.mean(), "width": width, "seconds": spent}
    return found


# ---- sets ----------------------------------------------------------------------------------------


def sets_of(conformal) -> Callable[[Split], np.ndarray]:
    return lambda s: (
        GradientBoostingClassifier(conformal=conformal, **BOOSTING)
        .fit(s.X, s.y)
        .predict_set(s.X_test, coverage=COVERAGE)
    )


def mapie_sets(score: str) -> Callable[[Split], np.ndarray]:
    def predict(s: Split) -> np.ndarray:
        from mapie.classification import SplitConformalClassifier

        n = round(0.8 * len(s.y))
        peer = SplitConformalClassifier(
            GradientBoostingClassifier(**BOOSTING),
            confidence_level=COVERAGE,
            conformity_score=score,
            prefit=False,
            random_state=0,
        )
        peer.fit(s.X[:n], s.y[:n]).conformalize(s.X[n:], s.y[n:])
        return peer.predict_set(s.X_test)[1][:, :, 0]

    return predict


SETS = {
    "lac, split": sets_of("split"),
    "MAPIE LAC": mapie_sets("lac"),
    "lac, cv": sets_of("cv"),
    "aps, split": sets_of(Conformal(method="split", score="aps")),
    "aps, split, random": sets_of(Conformal(method="split", score="aps", randomized=True)),
    "MAPIE APS": mapie_sets("aps"),
    "raps, cv": sets_of(Conformal(score="raps")),
    "lac, cv, per class": sets_of(Conformal(per_class=True)),
}


def measure_sets(s: Split) -> dict[str, dict[str, float]]:
    found = {}
    for name, method in SETS.items():
        if name == "MAPIE APS" and len(np.unique(s.y)) == 2:
            continue  # MAPIE has it for more classes only
        spent, sets = seconds(lambda method=method: method(s))
        inside = sets[np.arange(len(s.y_test)), s.y_test]
        each = [inside[s.y_test == k].mean() for k in np.unique(s.y_test)]
        found[name] = {
            "coverage": inside.mean(),
            "least_class": min(each),
            "size": sets.sum(axis=1).mean(),
            "seconds": spent,
        }
    return found


# ---- calibration ---------------------------------------------------------------------------------


def calibration_error(proba: np.ndarray, y: np.ndarray) -> float:
    """Return the expected calibration error of the most probable class, in 15 equal bins."""
    top, right = proba.max(axis=1), proba.argmax(axis=1) == y
    parts = np.array_split(np.argsort(top, kind="stable"), 15)
    return sum(abs(top[p].mean() - right[p].mean()) * len(p) for p in parts) / len(y)


MODELS = {
    "boosting": lambda **p: GradientBoostingClassifier(early_stopping="cv", **BOOSTING, **p),
    "boosting, class_weight": lambda **p: GradientBoostingClassifier(
        early_stopping="cv", class_weight="balanced", **BOOSTING, **p
    ),
    "forest": lambda **p: RandomForestClassifier(n_jobs=1, **p),
}


def with_held_out_rows(model: object) -> object:
    """Return a model that stops by a tenth of its rows: folds within folds take too long."""
    own = isinstance(model, GradientBoostingClassifier)
    return model.set_params(early_stopping=True) if own else model


PEERS = {"sigmoid": "sigmoid", "isotonic": "isotonic"}


def measure_calibration(s: Split) -> dict[str, dict[str, float]]:
    found = {}

    def record(name: str, fit: Callable[[], object]) -> None:
        spent, model = seconds(fit)
        proba = model.predict_proba(s.X_test)
        own = proba[np.arange(len(s.y_test)), s.y_test]
        found[name] = {
            "log_loss": float(-np.log(np.maximum(own, 1e-15)).mean()),
            "error": calibration_error(proba, s.y_test),
            "seconds": spent,
        }

    for name, make in MODELS.items():
        for kind in (None, "temperature", "beta", "isotonic", "auto"):
            record(f"{name} | {kind}", lambda m=make, k=kind: m(calibration=k).fit(s.X, s.y))
        for word, method in PEERS.items():
            record(
                f"{name} | scikit-learn {word}",
                lambda m=make, w=method: CalibratedClassifierCV(
                    with_held_out_rows(m()), method=w, cv=5, ensemble=False
                ).fit(s.X, s.y),
            )
    return found


PARTS = {
    "numbers": (NUMBERS, measure_intervals),
    "sets": (CLASSES, measure_sets),
    "calibration": (CLASSES, measure_calibration),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", choices=PARTS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for part, (names, measure) in PARTS.items():
        if args.only not in (None, part):
            continue
        own = results[part] = {}
        for name in names:
            each = [measure(read(args.data, name, seed)) for seed in range(args.repeats)]
            own[name] = {
                method: {k: float(np.mean([e[method][k] for e in each])) for k in each[0][method]}
                for method in each[0]
            }
            print(part, name, json.dumps(own[name], default=float)[:200], flush=True)
            path.write_text(json.dumps(results, indent=1))
    write(results, HERE / "RESULTS.md")


if __name__ == "__main__":
    main()
