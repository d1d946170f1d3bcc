"""Training from datasets: the model is that of the same rows in memory, to the byte."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import stagewise
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from stagewise.boosting import stored_loss
from stagewise.training.stored import stored_trainer

N = 9_000
FEATURES = ["a", "b", "c", "few", "day", "colour"]


def make_table(n: int = N) -> pa.Table:
    """Return a table with numbers of both widths, missing values, dates, categories and targets."""
    rng = np.random.default_rng(4)
    a, b, c = rng.normal(size=(3, n))
    colour = rng.choice(np.array(["red", "green", "blue", None], dtype=object), n)
    signal = a + b * c + (colour == "red") + rng.normal(size=n)
    weight = np.round(3 * rng.random(n), 2)
    weight[rng.random(n) < 0.1] = 0.0
    return pa.table(
        {
            "a": a,
            "b": pa.array(b.astype(np.float32), mask=rng.random(n) < 0.1),
            "c": c,
            "few": rng.integers(0, 3, n),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
            "colour": pa.array(colour),
            "number": signal,
            "count": rng.poisson(np.exp(0.4 * a)),
            "two": signal > 0,
            "three": np.select([signal > 1, signal < -1], ["high", "low"], "middle"),
            "weight": weight,
            "times": rng.integers(0, 4, n).astype(np.float64),
        }
    )


TABLE = make_table()


def write(table: pa.Table, folder: Path, sizes: list[int], row_group_size: int = 700) -> Path:
    """Write the rows to several files of these sizes; the last one has the rest."""
    first = 0
    for number, size in enumerate([*sizes, table.num_rows]):
        part = table.slice(first, size)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=row_group_size)
        first += part.num_rows
    return folder


def regressor(**parameters: Any) -> GradientBoostingRegressor:
    settings: dict[str, Any] = {"n_estimators": 6, "categorical_features": ["colour"]}
    return GradientBoostingRegressor(**settings | parameters)


def classifier(**parameters: Any) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(
        **{"n_estimators": 4, "categorical_features": ["colour"]} | parameters
    )


def in_memory(model: Any, target: str, weight: str | None = None, **validation: Any) -> Any:
    own = None if weight is None else TABLE.column(weight).to_numpy()
    return model.fit(
        TABLE.select(FEATURES), TABLE.column(target).to_pandas(), sample_weight=own, **validation
    )


def assert_same(model: Any, expected: Any) -> None:
    assert model.fingerprint() == expected.fingerprint()
    assert model.train_loss_.tobytes() == expected.train_loss_.tobytes()
    assert model.validation_loss_.tobytes() == expected.validation_loss_.tobytes()


CASES: dict[str, tuple[Callable[[], Any], str, str | None]] = {
    "numbers": (regressor, "number", None),
    "real weights": (regressor, "number", "weight"),
    "whole weights": (regressor, "number", "times"),
    "counts": (lambda: regressor(loss="poisson"), "count", None),
    "amounts, sampled": (lambda: regressor(loss="tweedie", subsample=0.6), "count", "weight"),
    "two classes": (classifier, "two", None),
    "two classes, real weights": (lambda: classifier(min_samples_leaf=40), "two", "weight"),
    "three classes": (classifier, "three", "times"),
    "some features": (lambda: regressor(max_features=0.5), "number", None),
    "monotone": (lambda: regressor(monotonic_cst={"a": 1}), "number", None),
    "depth-wise": (lambda: regressor(grow_policy="depth_wise", max_depth=3), "number", None),
    "few bins": (lambda: regressor(max_bins=3), "number", None),
    "bootstrap": (lambda: regressor(sampling="bootstrap"), "number", "weight"),
    "bootstrap of classes": (lambda: classifier(sampling="bootstrap"), "three", None),
    "GOSS": (lambda: regressor(sampling="goss"), "number", None),
    "GOSS with equal gradients": (lambda: classifier(sampling="goss"), "two", "times"),
    "GOSS of classes": (lambda: classifier(sampling="goss"), "three", "weight"),
    "MVS": (lambda: regressor(sampling="mvs", subsample=0.4), "number", "weight"),
    "MVS of counts": (lambda: regressor(sampling="mvs", loss="poisson"), "count", None),
    "MVS of classes": (lambda: classifier(sampling="mvs"), "three", "times"),
    "a distribution": (lambda: regressor(loss="normal"), "number", "weight"),
    "a distribution of counts": (lambda: regressor(loss="negative_binomial"), "count", "times"),
    "expectile, monotone": (
        lambda: regressor(loss="expectile", monotonic_cst={"a": 1}, category_encoding="sets"),
        "number",
        None,
    ),
    "focal loss of three classes": (lambda: classifier(loss="focal"), "three", "weight"),
    "GOSS of a distribution": (lambda: regressor(loss="normal", sampling="goss"), "number", None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_model_of_a_dataset_is_the_model_of_its_rows(case: str, tmp_path: Path) -> None:
    make, target, weight = CASES[case]
    dataset = stagewise.read_parquet(
        write(TABLE, tmp_path, [1, 2500, 0, 4000]), target=target, weight=weight, columns=FEATURES
    )
    assert_same(make().fit(dataset), in_memory(make(), target, weight))


@pytest.mark.parametrize("sizes", [[], [5], [8999], [3000, 3000]])
@pytest.mark.parametrize("row_group_size", [64, 10_000])
def test_files_and_row_groups_do_not_matter(
    sizes: list[int], row_group_size: int, tmp_path: Path
) -> None:
    folder = write(TABLE, tmp_path, sizes, row_group_size)
    dataset = stagewise.read_parquet(folder, target="three", weight="weight", columns=FEATURES)
    assert_same(classifier().fit(dataset), in_memory(classifier(), "three", "weight"))


@pytest.mark.parametrize("loss", ["squared_error", "expectile", "normal"])
@pytest.mark.parametrize("memory", [0, 100_000, 400_000])
def test_rows_in_a_file_give_the_same_model(
    loss: str, memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that leaves this much for the rows; at least one chunk per thread is in memory."""
    monkeypatch.setattr(stored_trainer, "LEAST_CHUNK_ROWS", 1024)
    monkeypatch.setattr(stored_loss, "PART_ROWS", 2048)  # two chunks
    needed = 2 * 1024 * 60
    monkeypatch.setattr(stagewise.datasets.Dataset, "memory_bytes", lambda self: needed + memory)
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    cache.mkdir()
    write(TABLE, source, [2000])
    dataset = stagewise.read_parquet(
        source, target="number", weight="weight", columns=FEATURES, cache=cache
    )
    model = regressor(loss=loss, n_jobs=2).fit(dataset)
    assert_same(model, in_memory(regressor(loss=loss), "number", "weight"))
    assert not list(cache.iterdir())


def test_a_sample_of_the_rows_determines_the_cuts_of_many() -> None:
    table = make_table(90_000)
    dataset = stagewise.read_batches(table, target="number", columns=FEATURES)
    expected = regressor(n_estimators=2).fit(
        table.select(FEATURES), table.column("number").to_numpy()
    )
    assert_same(regressor(n_estimators=2).fit(dataset), expected)


def test_validation_rows_stop_the_fit_at_the_same_round(tmp_path: Path) -> None:
    dataset = stagewise.read_parquet(write(TABLE, tmp_path, []), target="two", columns=FEATURES)
    held = make_table(12_000).slice(N)
    options: dict[str, Any] = {"n_estimators": 200, "learning_rate": 0.5, "n_iter_no_change": 3}
    model = classifier(**options).fit(
        dataset, X_val=stagewise.read_batches(held, target="two", columns=FEATURES)
    )
    expected = in_memory(
        classifier(**options),
        "two",
        X_val=held.select(FEATURES),
        y_val=held.column("two").to_numpy(),
    )
    assert 0 < model.n_iter_ < 200
    assert_same(model, expected)


def test_a_category_of_one_file_is_a_category(tmp_path: Path) -> None:
    rare = TABLE.set_column(
        5, "colour", pa.array(["only here", *TABLE.column("colour").to_pylist()[1:]])
    )
    dataset = stagewise.read_parquet(write(rare, tmp_path, [1]), target="number", columns=FEATURES)
    model = regressor().fit(dataset)
    expected = regressor().fit(rare.select(FEATURES), rare.column("number").to_numpy())
    assert_same(model, expected)


def test_csv_files_give_the_same_model(tmp_path: Path) -> None:
    table = TABLE.select(["a", "few", "number"])
    table.slice(0, 4000).to_pandas().to_csv(tmp_path / "1.csv", index=False)
    table.slice(4000).to_pandas().to_csv(tmp_path / "2.csv", index=False)
    model = GradientBoostingRegressor(n_estimators=5).fit(
        stagewise.read_csv(tmp_path, target="number")
    )
    expected = GradientBoostingRegressor(n_estimators=5).fit(
        table.select(["a", "few"]), table.column("number").to_numpy()
    )
    assert_same(model, expected)


def test_the_model_can_be_saved_and_predicts_datasets(tmp_path: Path) -> None:
    dataset = stagewise.read_batches(TABLE, target="three", columns=FEATURES)
    model = classifier().fit(dataset)
    model.save(tmp_path / "m.stgw")
    again = stagewise.load(tmp_path / "m.stgw")
    assert again.fingerprint() == model.fingerprint()
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert (model.predict(dataset) == again.predict(TABLE.select(FEATURES))).all()


def test_the_passes_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    dataset = stagewise.read_batches(TABLE, target="number", columns=FEATURES)
    regressor(n_estimators=1, verbose=1).fit(dataset, X_val=dataset)
    shown = [line.rsplit("  ", 1)[0] for line in capsys.readouterr().err.splitlines()]
    for number in (1, 2, 3):
        assert f"pass {number}: 9,000 of 9,000 rows" in shown
    assert "pass 2: 9,000 of 9,000 validation rows" in shown
    assert any(line.startswith("round 1/1") for line in shown)
    regressor(n_estimators=1).fit(dataset)
    assert capsys.readouterr().err == ""


# ---- faults --------------------------------------------------------------------------------------


def test_arguments_that_a_dataset_has_itself_are_refused() -> None:
    dataset = stagewise.read_batches(TABLE, target="number", columns=["a"])
    with pytest.raises(TypeError, match="its own target, so y cannot be passed"):
        regressor().fit(dataset, [1.0])
    with pytest.raises(TypeError, match="its own weight, so sample_weight cannot be passed"):
        regressor().fit(dataset, sample_weight=[1.0])
    with pytest.raises(ValueError, match=r"no target.*target="):
        regressor().fit(stagewise.read_batches(TABLE, columns=["a"]))
    with pytest.raises(TypeError, match="X_val must be one, too"):
        regressor().fit(dataset, X_val=np.zeros((2, 1)))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("number", np.nan, "NaN"), ("number", np.inf, "infin"), ("weight", -1.0, "negative")],
)
def test_a_value_that_is_refused_is_located(
    column: str, value: float, message: str, tmp_path: Path
) -> None:
    values = TABLE.column(column).to_numpy().copy()
    values[5000] = value
    place = TABLE.column_names.index(column)
    write(TABLE.set_column(place, column, pa.array(values)), tmp_path, [4500])
    dataset = stagewise.read_parquet(tmp_path, target="number", weight="weight", columns=["a"])
    with pytest.raises(ValueError, match=rf"(?s){message}.*1\.parquet"):
        regressor(categorical_features="from_dtype").fit(dataset)


def test_a_target_outside_the_domain_of_the_loss_is_located(tmp_path: Path) -> None:
    values = TABLE.column("count").to_numpy().copy()
    values[5000] = -1
    place = TABLE.column_names.index("count")
    table = TABLE.set_column(place, "count", pa.array(values))
    write(table, tmp_path, [4500], row_group_size=10_000)
    wrong = stagewise.read_parquet(tmp_path, target="count", columns=["a"])
    model = regressor(loss="poisson", categorical_features="from_dtype")
    with pytest.raises(ValueError, match=r"y is -1 at row 500 .*rows 4,500 .*1\.parquet"):
        model.fit(wrong)
    right = stagewise.read_batches(TABLE, target="count", columns=["a"])
    with pytest.raises(ValueError, match=r"In X_val: .*y is -1 at row 500 .*1\.parquet"):
        model.fit(right, X_val=wrong)


def test_rows_of_weight_zero_do_not_change_the_meaning_of_weights() -> None:
    weight = np.array([2.0**51, 2.0**51, *[0.0] * 10])
    table = pa.table({"x": np.arange(12.0), "y": np.arange(12.0), "w": weight})
    model = GradientBoostingRegressor(n_estimators=1, min_samples_leaf=1)
    expected = clone(model).fit(table.select(["x"]), table["y"].to_numpy(), weight)
    assert_same(model.fit(stagewise.read_batches(table, target="y", weight="w")), expected)


def test_a_file_that_disappears_between_the_passes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    source = tmp_path / "source"
    source.mkdir()
    dataset = stagewise.read_parquet(
        write(TABLE, source, [4500]), target="number", columns=["a"], cache=cache
    )
    learn = stored_trainer._StoredTrainer._codings

    def remove(self: Any) -> Any:
        (source / "1.parquet").unlink()
        return learn(self)

    monkeypatch.setattr(stored_trainer._StoredTrainer, "_codings", remove)
    with pytest.raises((OSError, ValueError), match=r"1\.parquet"):
        regressor(categorical_features="from_dtype").fit(dataset)
    assert not list(cache.iterdir())


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of the size of files stands for a full disk."""
    monkeypatch.setattr(stored_trainer, "LEAST_CHUNK_ROWS", 1024)
    monkeypatch.setattr(stagewise.datasets.Dataset, "memory_bytes", lambda self: 2 * 1024 * 60)
    dataset = stagewise.read_batches(TABLE, target="number", columns=["a"], cache=tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"no space for the rows|File too large"):
            regressor(categorical_features="from_dtype", n_jobs=2).fit(dataset)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("limit", "message"), [("4 apples", "number of bytes"), (-1, "number of bytes"), (1000, "MiB")]
)
def test_a_memory_limit_is_checked(limit: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stagewise.read_batches(TABLE, target="number", memory_limit=limit)


def test_a_sample_that_does_not_fit_into_the_limit_is_refused() -> None:
    columns = {f"f{j}": np.zeros(70_000, np.float32) for j in range(400)}
    table = pa.table(columns | {"y": np.arange(70_000.0)})
    dataset = stagewise.read_batches(table, target="y", memory_limit="134217728")
    with pytest.raises(ValueError, match=r"400 features .* needs 105MB. Raise memory_limit by"):
        GradientBoostingRegressor(n_estimators=1).fit(dataset)


SMALL_MEMORY = """
import resource, sys
import stagewise
from stagewise import GradientBoostingRegressor

def used(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

limit = 128 * 2**20
dataset = stagewise.read_parquet(sys.argv[1], target="y", memory_limit=limit, cache=sys.argv[2])
model = GradientBoostingRegressor(n_estimators=2, n_jobs=2)
# Private memory of the process, besides what the imports have and the threads' stacks reserve.
resource.setrlimit(resource.RLIMIT_DATA, (used("VmData") + limit + 64 * 2**20,) * 2)
model.fit(dataset)
print(dataset.n_rows, model.fingerprint())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of private memory are Linux's")
def test_a_table_of_four_times_the_limit_is_trained(tmp_path: Path) -> None:
    """Rows need 48 bytes each in a store: 11.5 million need four times the limit of 128 MiB."""
    rng, n = np.random.default_rng(0), 500_000
    X = rng.normal(size=(n, 4)).astype(np.float32)
    part = pa.table({f"f{j}": X[:, j] for j in range(4)} | {"y": X[:, 0] + rng.normal(size=n)})
    pq.write_table(part, tmp_path / "0.parquet", row_group_size=100_000)
    for number in range(1, 23):
        os.link(tmp_path / "0.parquet", tmp_path / f"{number}.parquet")
    cache = tmp_path / "cache"
    cache.mkdir()
    command = [sys.executable, "-c", SMALL_MEMORY, str(tmp_path / "*.parquet"), str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(23 * n)
    assert not list(cache.iterdir())


# ---- faults that a review has found --------------------------------------------------------------


def small_table(seed: int, n: int = 300, *, missing: bool = False) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    x = np.where(rng.random(n) < 0.2, np.nan, x) if missing else x
    return pa.table({"x": x, "z": rng.normal(size=n), "y": rng.normal(size=n)})


@pytest.mark.parametrize("missing", [False, True])
def test_monotone_constraints_of_few_rows_give_the_same_models(missing: bool) -> None:
    for seed in range(30):
        table = small_table(seed, missing=missing)
        settings: dict[str, Any] = {"min_samples_leaf": 2, "max_leaf_nodes": 60}
        model = GradientBoostingRegressor(n_estimators=3, monotonic_cst={"x": 1}, **settings)
        expected = clone(model).fit(table.select(["x", "z"]), table["y"].to_numpy())
        assert_same(model.fit(stagewise.read_batches(table, target="y")), expected)


def test_forced_splits_that_are_not_possible_give_the_same_models() -> None:
    deep = {"feature": "x", "threshold": 0.5}
    side = {"feature": "z", "threshold": 1.0, "left": deep}
    splits = {"feature": "x", "threshold": 2.5, "right": side}
    for seed in range(10):
        table = small_table(seed)
        model = GradientBoostingRegressor(
            n_estimators=2, split=stagewise.SplitSearch(forced_splits=splits)
        )
        expected = clone(model).fit(table.select(["x", "z"]), table["y"].to_numpy())
        assert_same(model.fit(stagewise.read_batches(table, target="y")), expected)


def test_a_round_without_drawn_rows_has_one_row() -> None:
    table = pa.table({"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 5.0]})
    model = GradientBoostingRegressor(n_estimators=30, subsample=0.2, min_samples_leaf=1)
    expected = clone(model).fit(table.select(["x"]), table["y"].to_numpy())
    assert_same(model.fit(stagewise.read_batches(table, target="y")), expected)


@pytest.mark.parametrize("n_lost", [-5, 5, 2900])
def test_rows_that_change_between_the_passes_are_an_error(n_lost: int) -> None:
    table = small_table(0, 3005)
    passes: list[int] = []

    def rows() -> Any:
        passes.append(3000 if len(passes) < 3 else 3000 - n_lost)
        return iter(table.slice(0, passes[-1]).to_batches())

    dataset = stagewise.read_batches(rows, target="y")
    with pytest.raises(ValueError, match=r"changed between two passes|every pass must have"):
        GradientBoostingRegressor(n_estimators=2).fit(dataset)


def test_validation_rows_may_have_missing_values_where_training_rows_have_none() -> None:
    table = small_table(1)
    held = table.set_column(0, "x", pa.array([None, *table["x"].to_pylist()[1:]]))
    model = GradientBoostingRegressor(n_estimators=5)
    expected = clone(model).fit(
        table.select(["x", "z"]),
        table["y"].to_numpy(),
        X_val=held.select(["x", "z"]),
        y_val=held["y"].to_numpy(),
    )
    read = stagewise.read_batches
    assert_same(model.fit(read(table, target="y"), X_val=read(held, target="y")), expected)


@pytest.mark.parametrize("values", [[1.0] * 10, [None] * 10])
def test_features_that_are_all_constant_give_a_warning(values: list[Any]) -> None:
    table = pa.table({"x": pa.array(values, pa.float64()), "y": np.arange(10.0)})
    with pytest.warns(UserWarning, match="Every feature is constant or missing"):
        GradientBoostingRegressor(n_estimators=2).fit(stagewise.read_batches(table, target="y"))


def test_few_validation_rows_get_memory() -> None:
    read, table = stagewise.read_batches, small_table(2, 3000)
    dataset = read(table, target="y", memory_limit="128MiB")
    GradientBoostingRegressor(n_estimators=2, n_jobs=4).fit(
        dataset, X_val=read(table.slice(0, 5), target="y")
    )
