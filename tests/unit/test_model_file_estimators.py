"""Damaged files of every estimator: refused by `load`, or estimators that work.

Any estimator that `load` returns must be usable. Each file has a valid checksum, as an attacker
would give it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stagewise
from model_damage import FOOTER, MUTATORS, close, dump, join, parts
from stagewise import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseLinearRegressor,
    StagewiseRegressor,
    StepwiseRegressor,
)
from stagewise.errors import InvalidParameterError, ModelFormatError

N_FILES = int(os.environ.get("STAGEWISE_FUZZ_FILES", "1500"))
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(2)
X[:, 2] = np.arange(60) % 4
Y = X[:, 0] + RNG.normal(size=60)
COUNTS = RNG.poisson(2.0, 60) + 1
CLASSES = np.array(["a", "b", "c"])[RNG.integers(0, 3, 60)]

SAMPLES: dict[str, tuple[Any, Any]] = {
    "boosting": (GradientBoostingRegressor(n_estimators=3), Y),
    "counts": (GradientBoostingRegressor(loss="poisson", n_estimators=2), COUNTS),
    "lines": (GradientBoostingRegressor(n_estimators=2, leaves="linear"), Y),
    "targets": (GradientBoostingRegressor(n_estimators=2), np.column_stack([Y, COUNTS])),
    "vectors": (
        GradientBoostingRegressor(n_estimators=2, leaves="vector"),
        np.column_stack([Y, COUNTS]),
    ),
    "categories": (
        GradientBoostingRegressor(
            n_estimators=2, categorical_features=[2], category_encoding="target"
        ),
        Y,
    ),
    "sets": (
        GradientBoostingClassifier(
            n_estimators=2, categorical_features=[2], category_encoding="sets"
        ),
        CLASSES,
    ),
    "two classes": (GradientBoostingClassifier(n_estimators=3, min_samples_leaf=5), Y > 0),
    "AdaBoost": (AdaBoostClassifier(n_estimators=3), Y > 0),
    "Gentle": (GentleBoostClassifier(n_estimators=2), CLASSES),
    "LogitBoost": (LogitBoostClassifier(n_estimators=2), Y > 0),
    "forest": (RandomForestClassifier(n_estimators=2, max_depth=3), CLASSES),
    "two class forest": (RandomForestClassifier(n_estimators=2, max_depth=3), Y > 0),
    "forest of numbers": (RandomForestRegressor(n_estimators=2, max_depth=3), Y),
    "extra trees": (ExtraTreesRegressor(n_estimators=2, max_depth=3), Y),
    "tree": (DecisionTreeRegressor(max_depth=3), Y),
    "fractional rows": (
        DecisionTreeClassifier(max_depth=3, missing_strategy="probability"),
        CLASSES,
    ),
    "stagewise": (StagewiseRegressor(n_estimators=2), Y),
    "stagewise classes": (StagewiseClassifier(n_estimators=2), CLASSES),
    "line": (LinearRegression(), Y),
    "steps": (StepwiseRegressor(), Y),
    "components": (StagewiseLinearRegressor(n_estimators=3), Y),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("models")
    written = {}
    for name, (model, y) in SAMPLES.items():
        model.fit(X, y).save(folder / "model.stgw")
        written[name] = (folder / "model.stgw").read_bytes()
    return written


# ---- damage of estimator data --------------------------------------------------------------------

LOSSES = ["squared_error", "absolute_error", "poisson", "gamma", "tweedie", "log_loss", "custom"]
LOSSES += ["exponential", "huber", "quantile", "multinomial", ""]
ODD = [None, -1, 0, 2.5, 1e308, "", "auto", "probability", "statistics", [], [1], {}, True, 10**30]


def swap_loss(rng: np.random.Generator, body: bytes) -> bytes:
    header, data = parts(body)
    header["loss"] = LOSSES[rng.integers(len(LOSSES))]
    return join(body, dump(header), data)


def swap_class(rng: np.random.Generator, body: bytes) -> bytes:
    header, data = parts(body)
    kinds = sorted({type(model).__name__ for model, _ in SAMPLES.values()})
    header["estimator"]["class"] = kinds[rng.integers(len(kinds))]
    if rng.random() < 0.5:
        header["estimator"]["params"] = {}
    return join(body, dump(header), data)


def swap_parameter(rng: np.random.Generator, body: bytes) -> bytes:
    header, data = parts(body)
    params = header["estimator"]["params"]
    params[str(rng.choice(sorted(params)))] = ODD[rng.integers(len(ODD))]
    return join(body, dump(header), data)


def swap_note(rng: np.random.Generator, body: bytes) -> bytes:
    header, data = parts(body)
    notes = [name for name in sorted(header["estimator"]) if name != "params"]
    header["estimator"][str(rng.choice(notes))] = ODD[rng.integers(len(ODD))]
    return join(body, dump(header), data)


DAMAGE: list[Callable[[np.random.Generator, bytes], bytes]] = [
    *MUTATORS, swap_loss, swap_loss, swap_class, swap_parameter, swap_parameter, swap_note,
]  # fmt: skip

NEW = np.vstack([X[:5], [[np.nan] * 3], [[1e300, -1e300, 9.0]], [[np.inf, -np.inf, 1.0]]])
QUESTIONS = (
    "predict",
    "predict_proba",
    "decision_function",
    "apply",
    "staged_predict",
    "staged_predict_proba",
)


def use(model: Any) -> None:
    """Call every method of an estimator that needs no training rows."""
    linear = (LinearRegression, StepwiseRegressor, StagewiseLinearRegressor)
    new = X[:5] if isinstance(model, linear) else NEW
    unbounded = model.model_.loss in ("poisson", "gamma", "tweedie") or any(
        tree.linear_leaves is not None for tree in model.model_.ensemble.trees
    )
    for name in QUESTIONS:
        if hasattr(model, name):
            result = getattr(model, name)(new)
            for part in result if name.startswith("staged") else [result]:
                if np.asarray(part).dtype.kind == "f" and not unbounded:
                    assert np.isfinite(part[:6]).all(), f"{name} of the file is not finite"
    model.fingerprint()
    repr(model)
    if model.model_.ensemble.trees and hasattr(model, "apply"):
        stagewise.export_text(model)
        stagewise.export_svg(model)
        stagewise.rules(model)
        assert np.isfinite(model.feature_importances_).all()


def try_file(path: Path, data: bytes) -> bool:
    """Return whether damaged bytes are a model; raise if they are one that fails in use."""
    path.write_bytes(data)
    try:
        model = stagewise.load(path)
    except ModelFormatError:
        return False
    with suppress(InvalidParameterError):  # a parameter that is used only then, or linear leaves
        use(model)
    return True


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_refused_by_load_or_usable(files, tmp_path):
    rng = np.random.default_rng(int(os.environ.get("STAGEWISE_FUZZ_SEED", "1")))
    names, tried, accepted = sorted(files), Counter(), Counter()
    for i in range(N_FILES):
        damage, name = DAMAGE[i % len(DAMAGE)], names[rng.integers(len(names))]
        body = files[name][:-FOOTER]
        damaged = damage(rng, body)
        if damaged == body:
            continue
        tried[damage.__name__] += 1
        try:
            accepted[damage.__name__] += try_file(tmp_path / "model.stgw", close(damaged))
        except Exception as error:
            raise AssertionError(f"file {i}: {damage.__name__} of {name}: {error!r}") from error
    assert accepted["flip_data"] > 10
    assert tried["swap_loss"] - accepted["swap_loss"] > 10
