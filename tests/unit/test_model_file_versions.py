"""Model files of every format version are read, and predict the same numbers to the bit."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import stagewise
from stagewise.estimators.parameters.saved_parameters import read_parameters
from stagewise.model.file.format import MAJOR, MINOR, decode, encode

FOLDER = Path(__file__).parent / "model_files"
FILES = sorted(FOLDER.glob("v*/*.stgw"))
LARGEST = 20_000
OPTIONS = {"sampling", "leaves", "split", "early_stopping", "max_features", "category_encoding"}
"""Parameters that had other values in older versions, or are options now."""


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def expected_of(path: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return facts


def rows_of(expected: dict[str, Any]) -> pd.DataFrame:
    columns = {
        name: pd.Series(cells, dtype=expected["dtypes"][name])
        for name, cells in expected["columns"].items()
    }
    return pd.DataFrame(columns)


def test_every_format_version_has_files() -> None:
    folders = {path.parent.name for path in FILES}
    assert folders == {f"v{MAJOR}.{minor}" for minor in range(MINOR + 1)}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_has_the_version_of_its_folder(path: Path) -> None:
    data = path.read_bytes()
    major, minor = struct.unpack("<II", data[8:16])
    assert path.parent.name == f"v{major}.{minor}"
    assert len(data) < LARGEST


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_fingerprint_of_a_file_never_changes(path: Path) -> None:
    model, _ = decode(path.read_bytes())
    assert model.fingerprint() == expected_of(path)["fingerprint"]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_predictions_of_a_file_never_change(path: Path) -> None:
    expected = expected_of(path)
    model = stagewise.load(path)
    found = np.asarray(getattr(model, expected["method"])(rows_of(expected)))
    assert list(found.shape) == expected["shape"]
    assert [float(p).hex() for p in found.ravel()] == expected["predictions"]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_that_is_written_again_is_the_same_model(path: Path) -> None:
    data = path.read_bytes()
    model, estimator = decode(data)
    again = encode(model, estimator)
    if path.parent.name == f"v{MAJOR}.{MINOR}":
        assert again == data
    assert decode(again)[0].fingerprint() == model.fingerprint()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_estimator_of_a_file_can_be_fitted_and_saved_again(path: Path, tmp_path: Path) -> None:
    expected = expected_of(path)
    model, rows = stagewise.load(path), rows_of(expected)
    params = model.get_params()
    assert model.recipe()
    saved = decode(path.read_bytes())[1]["params"]
    same = (set(saved) & set(params)) - OPTIONS
    assert len(same) > (0 if path.stem == "linear_model" else 10)
    assert {name: params[name] for name in same} == {name: saved[name] for name in same}
    y = np.asarray(model.predict(rows))
    if hasattr(model, "classes_") and not isinstance(model.classes_, list):
        y = np.resize(model.classes_, len(rows))
    again = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows
        again.fit(rows, y)
    again.save(tmp_path / "again.stgw")
    read = stagewise.load(tmp_path / "again.stgw").get_params()
    assert {name: repr(value) for name, value in read.items()} == {
        name: repr(value) for name, value in params.items()
    }


def test_files_from_before_target_encoding_do_not_use_it() -> None:
    old = {"loss": "squared_error", "n_estimators": 10, "growth": "best_first"}
    assert read_parameters(old, "GradientBoostingRegressor")["category_encoding"] == "sets"
    later = {**old, "categorical": "auto", "permutations": 1}
    assert read_parameters(later, "GradientBoostingRegressor")["category_encoding"] == "auto"


def test_symmetric_trees_of_older_files_use_all_features_of_a_node() -> None:
    old = {"columns_per_tree": 0.8, "columns_per_level": 1.0, "columns_per_node": "auto"}
    read = read_parameters({**old, "growth": "symmetric"}, "GradientBoostingRegressor")
    assert read["max_features"].per_node is None
    assert read["max_features"].per_tree == 0.8
