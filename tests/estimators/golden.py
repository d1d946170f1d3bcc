"""The recorded fingerprints of fits (golden.json), which must not change.

A change here means that every user's models change: it belongs in the changelog. To write them
again, run ``cd tests && ../.venv/bin/python -m estimators.golden``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from estimators.tables import CASES, fit_case, hashed, make_table
from stagewise import (
    BaggingRegressor,
    GradientBoostingRegressor,
    LinearRegression,
    StagewiseLinearRegressor,
    StepwiseRegressor,
)
from stagewise.inspection import shap_values

GOLDEN = Path(__file__).with_name("golden.json")

BASE_ESTIMATOR = GradientBoostingRegressor(n_estimators=4, subsample=0.7)
BAGGING = {
    "bagging": BaggingRegressor(BASE_ESTIMATOR, n_estimators=3, max_features=0.8),
    "a cross-validation committee": BaggingRegressor(BASE_ESTIMATOR, sampling="folds", cv=3),
}
LINEAR = {
    "linear model": LinearRegression(categorical_features=[1]),
    "stepwise": StepwiseRegressor(direction="both", criterion="cv", categorical_features=[1]),
    "stagewise linear": StagewiseLinearRegressor(n_estimators=20, categorical_features=[1]),
    "small linear steps": StagewiseLinearRegressor(step_size=0.01, n_estimators=20),
}
"""Models that refuse missing values, and are fitted to a table without any."""

SIZES = {"few rows": 700, "rounded at random": 40_000, "cuts from a sample": 120_000}


def fingerprints(sizes: Iterable[str] = tuple(SIZES)) -> dict[str, str]:
    """Fit every case on tables of some sizes and return the fingerprints by name."""
    found = {}
    for size in sizes:
        rows = SIZES[size]
        table = make_table(rows)
        for case in CASES:
            found[f"{case}, {size}"] = fit_case(case, table).fingerprint()
        # One value in four is not 0, the smallest share with which this table is still informative.
        sparse = csr_array(np.where(hashed(*table.X.shape, 9) % 4 == 0, table.X, 0.0))
        model = fit_case("two classes", table, X=sparse)
        found[f"a sparse matrix, {size}"] = model.fingerprint()
        for name, estimator in BAGGING.items():
            model = clone(estimator).fit(table.X, table.number)
            found[f"{name}, {size}"] = model.fingerprint()
        whole = make_table(rows, missing=False)
        for case, linear in LINEAR.items():
            found[f"{case}, {size}"] = clone(linear).fit(whole.X, whole.number).fingerprint()
        model = fit_case("vectors of classes", table)
        kinds = ({}, {"kind": "interventional", "background": table.X[:50]})
        bits = [shap_values(model, table.X[:500], **kind).values.tobytes() for kind in kinds]
        found[f"Shapley values, {size}"] = sha256(b"".join(bits)).hexdigest()
    return found


def fingerprints_of_fewer_rows() -> dict[str, str]:
    """Return the fingerprints of the two smaller sizes."""
    return fingerprints(["few rows", "rounded at random"])


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(fingerprints(), indent=1) + "\n")
