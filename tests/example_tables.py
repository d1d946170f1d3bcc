"""Small made-up tables with the columns of the tables that examples read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

__all__ = ["TABLES"]


def documents(rng: np.random.Generator) -> pd.DataFrame:
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=["f1", "f2", "f3"])
    grade = np.clip(np.floor(table["f1"] + rng.normal(0, 0.5, 400) + 1), 0, 4)
    part = np.repeat(["train", "test"], [300, 100])
    return table.assign(relevance=grade.astype(int), qid=np.arange(400) // 10, split=part)


def patients(rng: np.random.Generator) -> pd.DataFrame:
    age = rng.normal(50, 9, 300)
    time, end = 1500 * rng.exponential(np.exp(-0.05 * (age - 50))), rng.uniform(300, 2500, 300)
    cens = (time <= end).astype(int)
    grade = pd.Categorical(rng.choice(["I", "II"], 300))
    return pd.DataFrame({"age": age, "tgrade": grade, "time": np.minimum(time, end), "cens": cens})


def houses(rng: np.random.Generator) -> pd.DataFrame:
    area, grade = rng.uniform(500, 4000, 800), rng.integers(5, 12, 800)
    table = pd.DataFrame({"id": range(800), "date": "2014-05-02", "sqft_living": area})
    return table.assign(grade=grade, price=area * grade * rng.lognormal(3, 0.3, 800))


def forests(rng: np.random.Generator) -> pd.DataFrame:
    height = rng.uniform(1800, 3800, 1000)
    kind = np.digitize(height + rng.normal(0, 200, 1000), [2400, 3000]) + 1
    return pd.DataFrame({"Elevation": height, "Slope": rng.normal(size=1000), "Cover_Type": kind})


def wines(rng: np.random.Generator) -> pd.DataFrame:
    alcohol = rng.normal(10, 1, 600)
    quality = np.clip(np.round(alcohol + rng.normal(0, 0.7, 600)) - 4, 4, 8).astype(int)
    return pd.DataFrame({"alcohol": alcohol, "pH": rng.normal(3, 0.2, 600), "quality": quality})


def customers(rng: np.random.Generator) -> pd.DataFrame:
    services = ["OnlineSecurity", "OnlineBackup", "DeviceProtection", "TechSupport"]
    services += ["StreamingTV", "StreamingMovies"]
    has = rng.random((500, 6)) < rng.uniform(0.2, 0.8, (500, 1))
    table = pd.DataFrame(np.where(has, "Yes", "No"), columns=services)
    internet = rng.choice(["DSL", "Fiber optic", "No"], 500, p=[0.5, 0.4, 0.1])
    table.loc[internet == "No"] = "No internet service"
    table["MonthlyCharges"] = 30 + 8 * has.sum(axis=1) + rng.normal(0, 4, 500)
    return table.assign(InternetService=internet).astype({"InternetService": "category"})


def borrowers(rng: np.random.Generator) -> pd.DataFrame:
    duration = rng.integers(6, 60, 600)
    kind = np.where(rng.random(600) < duration / 100, "bad", "good")
    return pd.DataFrame({"duration": duration, "class": pd.Categorical(kind)})


def costs(rng: np.random.Generator) -> pd.DataFrame:
    age, smoker = rng.integers(18, 64, 400), rng.random(400) < 0.2
    charges = (250 * age + 20_000 * smoker) * rng.lognormal(0, 0.2, 400)
    return pd.DataFrame({"age": age, "smoker": smoker, "charges": charges})


TABLES: dict[str, Callable[[np.random.Generator], pd.DataFrame]] = {
    "ranking": documents,
    "survival": patients,
    "quantiles": houses,
    "prediction_intervals": houses,
    "prediction_sets": forests,
    "ordered_classes": wines,
    "several_labels": customers,
    "calibration": borrowers,
    "formula_loss": costs,
}
"""A table for each example that needs the path of one."""
