"""Measure models of insurance claims: ``python benchmarks/insurance/run.py DATA``.

DATA is a folder with freMTPL2.parquet. The results, with the numbers of the figures of
docs/insurance.md, are written to results.json beside this file. Remove it to measure again.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from libraries import LIBRARIES, SETTINGS
from policies import FEATURES, Parts, read_policies, split
from sklearn.metrics import mean_tweedie_deviance

from stagewise import GradientBoostingRegressor
from stagewise.inspection import Lift, Predictions
from stagewise.losses import Tweedie

HERE = Path(__file__).parent
SEEDS = (0,)
POWER = 1.9
"""The variance power of the total amount: most policies have 0, and single claims vary greatly."""
CURVE_POINTS = 60
Vector = npt.NDArray[np.float64]


def quality(
    y: Vector, predicted: Vector, constant: Vector, power: float, weight: Vector | None = None
) -> dict[str, float]:
    """Return the deviance, and D² against a constant rate."""
    deviance = mean_tweedie_deviance(y, predicted, power=power, sample_weight=weight)
    least = mean_tweedie_deviance(y, constant, power=power, sample_weight=weight)
    return {"deviance": float(deviance), "constant": float(least), "d2": 1.0 - deviance / least}


def lift_facts(y: Vector, predicted: Vector, exposure: Vector) -> dict[str, Any]:
    """Return the groups, the Lorenz curve at some points, the Gini index and the balance."""
    found = Lift.of(Predictions.from_arrays(y, predicted), exposure)
    at = np.linspace(0.0, 1.0, CURVE_POINTS)
    curve = np.interp(at, found.share_of_exposure, found.share_of_observed)
    return {
        "predicted": found.predicted.tolist(),
        "observed": found.observed.tolist(),
        "curve": curve.tolist(),
        "gini": found.gini,
        "balance": found.balance,
    }


def measure_frequency(table: Any, name: str, setting: str, seed: int) -> dict[str, Any]:
    """Return the held-out Poisson deviance of a library with a setting."""
    parts = split(table, seed)
    y, years = (parts.test[column].to_numpy() for column in ("ClaimNb", "Exposure"))
    rate = parts.train["ClaimNb"].sum() / parts.train["Exposure"].sum()
    predicted, rounds = LIBRARIES[name](parts, setting)
    return {
        "rounds": int(rounds),
        **quality(y, predicted, rate * years, 1.0),
        "balance": float(predicted.sum() / y.sum()),
    }


def our_models(parts: Parts) -> dict[str, Any]:
    """Return the quality of frequency, severity and pure premium by Stagewise's defaults."""
    columns = [*FEATURES, "Exposure"]
    years = parts.test["Exposure"].to_numpy()
    rates: dict[str, Vector] = {}
    facts: dict[str, Any] = {}
    for target in ("ClaimNb", "ClaimCountSev"):
        model = GradientBoostingRegressor(loss="poisson")
        model.fit(parts.train[columns], parts.train[target].astype(float), exposure="Exposure")
        rates[target] = model.predict(parts.test[columns], exposure=1)
    y = parts.test["ClaimNb"].to_numpy()
    facts["frequency"] = lift_facts(y, rates["ClaimNb"] * years, years)

    claims = parts.train[parts.train["ClaimCountSev"] > 0]
    model = GradientBoostingRegressor(loss="gamma")
    weight = claims["ClaimCountSev"].to_numpy(float)
    model.fit(claims[FEATURES], claims["ClaimAmount"] / weight, sample_weight=weight)
    severity = model.predict(parts.test[FEATURES])
    with_claims = (parts.test["ClaimCountSev"] > 0).to_numpy()
    held = parts.test[with_claims]
    own = held["ClaimCountSev"].to_numpy(float)
    mean = np.full(len(held), claims["ClaimAmount"].sum() / weight.sum())
    amount = held["ClaimAmount"].to_numpy() / own
    facts["severity"] = {
        **quality(amount, severity[with_claims], mean, 2.0, own),
        "rounds": int(model.n_iter_),
        "claims": int(weight.sum()),
        **lift_facts(held["ClaimAmount"].to_numpy(), severity[with_claims] * own, own),
    }

    # With a power above 1 an exposure is a weight of rates: a divided policy is the same twice.
    model = GradientBoostingRegressor(loss=Tweedie(POWER))
    weight = parts.train["Exposure"].to_numpy()
    model.fit(parts.train[FEATURES], parts.train["ClaimAmount"] / weight, sample_weight=weight)
    y = parts.test["ClaimAmount"].to_numpy()
    constant = np.full(len(y), parts.train["ClaimAmount"].sum() / weight.sum())
    for name, rate in (
        ("pure premium", model.predict(parts.test[FEATURES])),
        ("frequency times severity", rates["ClaimCountSev"] * severity),
    ):
        own_facts = quality(y / years, rate, constant, POWER, years)
        facts[name] = {**own_facts, **lift_facts(y, rate * years, years)}
    return facts


def main() -> None:
    """Measure what results.json does not have yet; it is written after every step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of freMTPL2.parquet")
    parser.add_argument("--steps", type=int, default=1000, help="the largest number of steps")
    args = parser.parse_args()
    table, path = read_policies(args.data), HERE / "results.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    steps = [("models", partial(our_models, split(table, SEEDS[0])))]
    for seed, setting, name in product(SEEDS, SETTINGS, LIBRARIES):
        key = f"{name}, {setting}, split {seed}"
        steps.append((key, partial(measure_frequency, table, name, setting, seed)))
    for key, measure in [step for step in steps if step[0] not in results][: args.steps]:
        results[key] = measure()
        print(key, json.dumps(results[key])[:160], flush=True)
        names = ("lightgbm", "xgboost", "catboost")
        results["versions"] = {name: import_module(name).__version__ for name in names}
        results["policies"] = len(table)
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
