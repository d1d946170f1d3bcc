"""Models and tables for the tests of reports."""

from __future__ import annotations

import datetime as dt
import warnings
from functools import cache

import numpy as np
import pandas as pd

import stagewise as sw

EVIL = "</script><script>window.hacked=1</script>"
IMAGE = "<img src=x onerror=window.hacked=1>"


def houses(n: int = 300) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "rooms": rng.integers(1, 9, n).astype(float),
            "age": rng.gamma(2.0, 20.0, n),
            "kind": pd.Categorical(rng.choice(["flat", "house", "boat"], n)),
            "idle": np.zeros(n),
        }
    )
    X.loc[::11, "age"] = np.nan
    base = {"flat": 0.0, "house": 30.0, "boat": -20.0}
    lift = X["kind"].map(base).astype(float)
    y = 20 * X["rooms"] + 0.3 * X["age"].fillna(80) + lift + rng.normal(size=n)
    return X, y.rename("price")


def journeys(n: int = 240) -> pd.DataFrame:
    """Return dates, durations and times of day, some missing, and a number that depends on all."""
    rng = np.random.default_rng(2)
    day, lasts, at = (rng.integers(0, most, n) for most in (900, 4 * 24 * 60, 96))
    X = pd.DataFrame(
        {
            "day": pd.Timestamp("2019-01-01") + pd.to_timedelta(day, unit="D"),
            "lasts": pd.to_timedelta(lasts, unit="min"),
            "at": [dt.time(int(k) // 4, int(k) % 4 * 15) for k in at],
        }
    )
    X.loc[::9, "day"] = pd.NaT
    X["late"] = 5.0 * (day > 444) + lasts / 1440 + 2.0 * (at > 50) + rng.normal(size=n) / 9
    return X


@cache
def report_of(name: str) -> tuple:
    """Return a fitted model, rows, targets and weights."""
    rng = np.random.default_rng(1)
    X, y = houses()
    quick = {"n_estimators": 12, "max_leaf_nodes": 6, "random_state": 0}
    if name == "number":
        return sw.GradientBoostingRegressor(**quick, early_stopping=True).fit(X, y), X, y, None
    if name == "two classes":
        label = np.where(y > y.median(), "dear", "cheap")
        weight = rng.integers(0, 3, len(y)).astype(float)
        return sw.GradientBoostingClassifier(**quick).fit(X, label), X, label, weight
    if name == "evil":
        rows = X.rename(columns={"rooms": EVIL, "age": IMAGE})
        rows["kind"] = rows["kind"].cat.rename_categories({"flat": EVIL, "boat": IMAGE})
        label = np.where(y > y.median(), EVIL, IMAGE)
        return sw.GradientBoostingClassifier(**quick).fit(rows, label), rows, label, None
    if name == "three classes":
        label = np.digitize(y, np.quantile(y, [0.3, 0.7]))
        return (
            sw.RandomForestClassifier(n_estimators=8, random_state=0).fit(X, label),
            X,
            label,
            None,
        )
    if name == "boosted classes":
        label = np.digitize(y, np.quantile(y, [0.3, 0.7]))
        return sw.GradientBoostingClassifier(**quick).fit(X, label), X, label, None
    if name == "two targets":
        both = pd.DataFrame({"price": y, "rent": np.sqrt(np.abs(y))})
        return sw.GradientBoostingRegressor(**quick).fit(X, both), X, both, None
    if name == "one tree":
        A = rng.normal(size=(200, 3))
        return sw.DecisionTreeRegressor(max_leaf_nodes=5).fit(A, A[:, 0]), A, A[:, 0], None
    if name == "lines":
        A = rng.normal(size=(200, 3))
        model = sw.GradientBoostingRegressor(**quick, leaves="linear").fit(A, A[:, 0])
        return model, A, A[:, 0], None
    if name == "wide integers":
        wide = pd.DataFrame({"id": rng.integers(2**60, 2**62, 200), "x": rng.normal(size=200)})
        target = (wide["id"] > 2**61) * 3.0 + wide["x"]
        return sw.GradientBoostingRegressor(**quick).fit(wide, target), wide, target, None
    if name == "large":
        A = rng.normal(size=(14_000, 2))
        return (
            sw.ExtraTreesRegressor(n_estimators=16, random_state=0).fit(A, A[:, 0]),
            A,
            A[:, 0],
            None,
        )
    if name == "counts":  # without a name of the target
        count = rng.poisson(np.exp(X["rooms"] / 4 - 2)).astype(float)
        return sw.GradientBoostingRegressor(**quick, loss="poisson").fit(X, count), X, count, None
    if name == "exposure":
        rows = X.assign(years=rng.uniform(0.1, 2.0, len(X)))
        count = rng.poisson(rows["years"] * np.exp(X["rooms"] / 4 - 1)).astype(float)
        model = sw.GradientBoostingRegressor(**quick, loss="poisson")
        return model.fit(rows, count, exposure="years"), rows, count, None
    if name == "amounts":
        cost = rng.gamma(2.0, np.exp(X["rooms"] / 4)).round(6)
        return sw.GradientBoostingRegressor(**quick, loss="gamma").fit(X, cost), X, cost, None
    if name == "an outlier":
        far = y.copy()
        far.iloc[7] = 1e6
        rows = X.assign(age=X["age"].where(X.index != 9, 1e7))
        return sw.GradientBoostingRegressor(**quick).fit(X, y), rows, far, None
    if name == "datetimes":
        trips = journeys()
        y = trips.pop("late")
        return sw.GradientBoostingRegressor(**quick).fit(trips, y), trips, y, None
    assert name == "nothing to split"
    A = np.zeros((60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sw.GradientBoostingRegressor(**quick).fit(A, rng.normal(size=60)), A, A[:, 0], None


NAMES = (
    "number",
    "two classes",
    "three classes",
    "two targets",
    "one tree",
    "lines",
    "wide integers",
    "datetimes",
    "nothing to split",
    "counts",
    "exposure",
    "amounts",
    "an outlier",
)
