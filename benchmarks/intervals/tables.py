"""The tables of the benchmark: their targets, and rows drawn for training and for testing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

NUMBERS = (
    *("abalone", "ames_housing", "bike_sharing_hour", "california_housing", "concrete_strength"),
    *("cpu_act", "diamonds", "elevators", "esl_ozone", "house_8L", "insteval_ratings"),
    *("kc_house_sales", "medical_cost", "naval_propulsion", "pol", "power_plant_ccpp"),
    *("protein_casp", "uk_used_cars", "wine_quality", "chicago_ridership"),
)
CLASSES = (
    *("adult", "banana", "bank_marketing", "car_evaluation", "covertype", "credit_card_default"),
    *("dry_bean", "electricity_elec2", "esl_spam", "german_credit", "higgs_lightgbm_7k"),
    *("letter", "magic_telescope", "nursery", "pendigits", "phoneme", "satimage", "segment"),
    *("telco_churn", "titanic_kaggle"),
)
TRAIN, TEST = 2000, 4000


@dataclass(frozen=True)
class Split:
    """Training rows and test rows; categories are numbers, for all libraries."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def read(folder: Path, name: str, seed: int) -> Split:
    facts = json.loads((folder / "index.json").read_text())[name]
    frame = pd.read_parquet(folder / f"{name}.parquet")
    target, is_number = facts["targets"][0], facts["task"].startswith("regression")
    frame = frame[frame[target].notna()]
    drop = [*facts["targets"], *facts["ignore"], *filter(None, [facts["split"], facts["fold"]])]
    X = frame.drop(columns=[c for c in dict.fromkeys(drop) if c in frame])
    columns = []
    for column in X:
        own = X[column]
        if pd.api.types.is_numeric_dtype(own) or pd.api.types.is_bool_dtype(own):
            columns.append(own.to_numpy(dtype=np.float64, na_value=np.nan))
        elif pd.api.types.is_datetime64_any_dtype(own):
            columns.append(own.astype("int64").to_numpy(dtype=np.float64))
        else:
            codes = pd.factorize(own.astype(str), sort=True)[0]
            columns.append(np.where(own.isna(), np.nan, codes).astype(np.float64))
    values = np.column_stack(columns)
    y = frame[target].to_numpy(dtype=np.float64) if is_number else frame[target].astype(str)
    y = np.asarray(y)
    if not is_number:
        codes = np.unique(y, return_inverse=True)[1]
        common = np.bincount(codes) >= 20 * len(y) / (TRAIN + TEST)
        kept = common[codes]
        values, y = values[kept], np.unique(codes[kept], return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = min(TEST, len(y) // 2)
    test, train = order[:n_test], order[n_test : n_test + TRAIN]
    return Split(values[train], y[train], values[test], y[test])
