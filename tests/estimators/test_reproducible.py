"""The same data and the same seed give the same model."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from estimators.golden import GOLDEN, SIZES, fingerprints
from estimators.processes import run_in_process
from estimators.tables import CASES, Table, fit_case, hashed, make_table
from stagewise import GradientBoostingRegressor, InvalidParameterError
from stagewise._native import supported_isas

pytestmark = pytest.mark.native

ALL_CASES = pytest.mark.parametrize("case", CASES)


@pytest.fixture(scope="module")
def table():
    return make_table(700)


@pytest.fixture(scope="module")
def sizes():
    return {size: make_table(rows) for size, rows in SIZES.items()}


@pytest.fixture(scope="module")
def here():
    """The fingerprints of all cases, in this process with default settings."""
    return fingerprints()


# By default there are as many threads as CPUs; fewer other numbers where rows are many.
@pytest.mark.parametrize(
    ("size", "threads"),
    [("few rows", (1, 2, 3, 7)), ("rounded at random", (1, 3, 7)), ("cuts from a sample", (1, 3))],
)
@ALL_CASES
def test_the_number_of_threads_does_not_matter(case, size, threads, here, sizes):
    table, expected = sizes[size], here[f"{case}, {size}"]
    found = {n: fit_case(case, table, n_jobs=n).fingerprint() for n in threads}
    assert found == dict.fromkeys(threads, expected)


@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512", "neon"])
def test_the_instruction_set_does_not_matter(isa, here, table):
    if isa not in supported_isas():
        pytest.skip(f"this processor or this build has no {isa}")
    if isa == fit_case("squared error", table).fit_report_["instruction_set"]:
        pytest.skip(f"{isa} is what is used as it comes")
    assert run_in_process("fingerprints", module="estimators.golden", STAGEWISE_ISA=isa) == here


def test_error_names_an_unknown_instruction_set(monkeypatch, table):
    monkeypatch.setenv("STAGEWISE_ISA", "sse9")
    with pytest.raises(InvalidParameterError, match=r"'sse9'.*use one of: generic"):
        fit_case("squared error", table)


def test_the_vector_instructions_of_numpy_and_libc_do_not_matter(here):
    # Both choose their code by the CPU; here the environment disables some instructions. The sample
    # for cuts, which is special for many rows, does not use them.
    without = {
        "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable",
    }
    found = run_in_process("fingerprints_of_fewer_rows", module="estimators.golden", **without)
    assert found == {name: here[name] for name in found}


def test_fits_have_the_recorded_fingerprints(here):
    assert here == json.loads(GOLDEN.read_text())


@ALL_CASES
def test_a_second_fit_in_the_same_process_gives_the_same(case, table):
    first = fit_case(case, table)
    second = fit_case(case, table)
    assert first.fingerprint() == second.fingerprint()
    assert first.fit(table.X, getattr(table, CASES[case][1])).fingerprint() == second.fingerprint()


def same_values(X: np.ndarray) -> dict[str, object]:
    names = [f"f{j}" for j in range(X.shape[1])]
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), -1.0)
    wide[::2, ::3] = X
    swapped = X.astype(X.dtype.newbyteorder())
    return {
        "C order": np.ascontiguousarray(X),
        "Fortran order": np.asfortranarray(X),
        "every second row and third column": wide[::2, ::3],
        "rows backwards in memory": np.ascontiguousarray(X[::-1])[::-1],
        "columns backwards in memory": np.ascontiguousarray(X[:, ::-1])[:, ::-1],
        "float32": X.astype(np.float32),
        "float32, Fortran order": np.asfortranarray(X, dtype=np.float32),
        "the other byte order": swapped,
        "a list of lists": X.tolist(),
        "objects": X.astype(object),
        "pandas": pd.DataFrame(X, columns=names),
        "pandas, float32": pd.DataFrame(X.astype(np.float32), columns=names),
        "pandas, nullable": pd.DataFrame(X, columns=names).astype("Float64"),
        "polars": pl.DataFrame(X, schema=names),
        "polars, nulls": pl.DataFrame(X, schema=names).fill_nan(None),
        "pyarrow": pl.DataFrame(X, schema=names).to_arrow(),
    }


@pytest.mark.parametrize("form", same_values(np.zeros((2, 2))))
@pytest.mark.parametrize("case", ["squared error", "five classes"])
def test_the_container_of_the_same_values_does_not_matter(case, form, table):
    X = same_values(table.X)[form]
    model = fit_case(case, table, X=X)
    assert model.fingerprint() == fit_case(case, table).fingerprint()
    np.testing.assert_array_equal(
        model.predict(X), fit_case(case, table).predict(table.X), strict=True
    )


@pytest.mark.parametrize("form", ["Fortran order", "float32", "every second row and third column"])
def test_the_container_does_not_matter_when_cuts_come_from_a_sample(form, sizes):
    table = sizes["cuts from a sample"]
    X = same_values(table.X[:, :3])[form]
    plain = fit_case("squared error", table, X=table.X[:, :3])
    assert fit_case("squared error", table, X=X, n_jobs=2).fingerprint() == plain.fingerprint()


def test_integers_give_the_same_model_in_every_type(table):
    X = np.nan_to_num(table.X) // 64
    plain = fit_case("squared error", table, X=X).fingerprint()
    for kind in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16):
        assert fit_case("squared error", table, X=X.astype(kind)).fingerprint() == plain, kind


def test_names_are_not_part_of_the_fingerprint(table):
    a = fit_case("squared error", table, X=pd.DataFrame(table.X, columns=list("abcde")))
    b = fit_case("squared error", table, X=pd.DataFrame(table.X, columns=list("vwxyz")))
    assert a.fingerprint() == b.fingerprint()


@pytest.mark.parametrize("case", ["rows and columns drawn", "early stopping"])
def test_another_seed_gives_another_model(case, table):
    assert (
        fit_case(case, table, random_state=1).fingerprint()
        != fit_case(case, table, random_state=2).fingerprint()
    )


def test_without_a_seed_every_fit_is_different(table):
    drawn = {
        fit_case("rows and columns drawn", table, random_state=None).fingerprint() for _ in range(4)
    }
    assert len(drawn) > 1


def test_a_random_state_object_equals_its_seed(table):
    a, b = (
        fit_case("rows and columns drawn", table, random_state=np.random.RandomState(7))
        for _ in range(2)
    )
    assert a.fingerprint() == b.fingerprint()
    again = fit_case("rows and columns drawn", table, random_state=a.seed_)
    assert again.fingerprint() == a.fingerprint()


def test_the_seed_does_not_matter_without_random_sampling(table):
    assert (
        fit_case("squared error", table, random_state=1).fingerprint()
        == fit_case("squared error", table, random_state=2).fingerprint()
    )


def test_a_monotone_transform_of_a_feature_changes_no_prediction():
    # Cubes of integers: the order and the ties are the same, every cut is different.
    table = make_table(600, missing=True)
    X = np.floor(table.X / 8)
    plain = GradientBoostingRegressor(n_estimators=10).fit(X, table.number)
    cubed = GradientBoostingRegressor(n_estimators=10).fit(X**3, table.number)
    np.testing.assert_array_equal(plain.predict(X), cubed.predict(X**3))


@pytest.mark.parametrize("case", ["squared error", "absolute error", "two classes", "five classes"])
def test_the_order_of_the_rows_does_not_matter(case, table):
    order = np.argsort(hashed(len(table.X), 1, 77)[:, 0], kind="stable")
    turned = Table(*(array[order] for array in vars(table).values()))
    assert fit_case(case, turned).fingerprint() == fit_case(case, table).fingerprint()


def test_a_duplicated_column_changes_no_prediction(table):
    X = table.X[:, [0, 1, 1, 2, 0, 3, 4]]
    twice = fit_case("squared error", table, X=X)
    np.testing.assert_array_equal(
        twice.predict(X), fit_case("squared error", table).predict(table.X)
    )
