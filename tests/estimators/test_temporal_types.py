"""Columns of dates, durations and times of day must have the types of the fit in predictions."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stagewise
from stagewise import GradientBoostingRegressor, LinearRegression, RandomForestRegressor

N = 200
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "lasts": pd.to_timedelta(RNG.integers(0, 900, N), unit="s"),
        "at": [dt.time(hour, 30) for hour in RNG.integers(0, 24, N)],
    }
)
Y = X["a"] + X["day"].dt.month
REMEDIES = {
    "day": r"type date .*pandas\.to_datetime\(\.\.\., unit=\.\.\.\)",
    "lasts": r"type duration .*pandas\.to_timedelta\(\.\.\., unit=\.\.\.\)",
    "at": r"type time of day .*datetime\.time\(hour, minute\)",
}


@pytest.fixture(scope="module")
def model() -> Any:
    return GradientBoostingRegressor(n_estimators=10).fit(X, Y)


@pytest.mark.parametrize("values", [5, 5.0, np.int64(10**18), True])
@pytest.mark.parametrize("name", REMEDIES)
def test_numbers_in_a_column_of_dates_are_an_error(model: Any, name: str, values: Any) -> None:
    words = rf"X column '{name}' holds the number .* at row 0, .*{REMEDIES[name]}"
    with pytest.raises(ValueError, match=words):
        model.predict(X.assign(**{name: [values] * N}))
    few = X.iloc[:2].assign(**{name: values})
    for rows in (few, few.to_dict("records"), few.iloc[0].to_dict()):
        with pytest.raises(ValueError, match=words):
            model.predict(rows)


def test_the_row_of_the_first_number_is_named(model: Any) -> None:
    days = pd.Series([np.nan] * 3 + [7.0] * (N - 3))
    with pytest.raises(ValueError, match=r"holds the number 7\.0 at row 3"):
        model.predict(X.assign(day=days))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA])
def test_a_column_of_missing_values_has_any_type(model: Any, missing: Any) -> None:
    none = X.assign(day=pd.Series([pd.NaT] * N, dtype="datetime64[ns]"))
    for n in (2, N):
        rows = X.iloc[:n].assign(day=[missing] * n)
        assert (model.predict(rows) == model.predict(none.iloc[:n])).all()
        assert (model.predict(rows.to_dict("records")) == model.predict(none.iloc[:n])).all()


def test_another_temporal_type_is_an_error(model: Any) -> None:
    with pytest.raises(ValueError, match=r"'day' has values of type duration .* Pass .* type date"):
        model.predict(X.assign(day=X["lasts"]))


def test_a_loaded_and_an_unpickled_model_check_it_too(model: Any, tmp_path: Any) -> None:
    model.save(tmp_path / "model.stgw")
    for again in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="X column 'day' holds the number 5"):
            again.predict(X.assign(day=5))
        assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("kind", [LinearRegression, RandomForestRegressor])
def test_other_estimators_check_it_too(kind: type) -> None:
    table = X[["a", "at"]]  # a coefficient needs nanoseconds below 2**53
    model = kind().fit(table, Y)
    with pytest.raises(ValueError, match="X column 'at' holds the number 5"):
        model.predict(table.assign(at=5))


def test_validation_rows_are_checked() -> None:
    model = GradientBoostingRegressor(n_estimators=3)
    with pytest.raises(ValueError, match="X column 'day' holds the number 5"):
        model.fit(X, Y, X_val=X.assign(day=5), y_val=Y)


def test_arrays_without_names_are_checked_by_position() -> None:
    days = X["day"].to_numpy().reshape(-1, 1)
    model = GradientBoostingRegressor(n_estimators=5).fit(days, Y)
    assert len(model.predict(days)) == N
    for wrong in (days.astype(np.int64), days.astype(np.int64).astype(float), [[5.0]]):
        with pytest.raises(ValueError, match="X column 0 holds the number"):
            model.predict(wrong)
    assert len(model.predict([[np.nan]])) == 1
    mixed = X[["a", "day"]].to_numpy()
    assert len(GradientBoostingRegressor(n_estimators=5).fit(mixed, Y).predict(mixed)) == N


def test_a_sparse_matrix_cannot_have_dates() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    hours = X["lasts"].to_numpy().reshape(-1, 1)  # below 2**53 nanoseconds
    model = GradientBoostingRegressor(n_estimators=5).fit(hours, Y)
    with pytest.raises(ValueError, match="X column 0 holds the number"):
        model.predict(sparse.csr_matrix(np.ones((3, 1))))


@pytest.mark.parametrize(
    "value", [pd.Timestamp("2024-01-01"), dt.date(2024, 1, 1), pd.Timedelta(3, "s"), dt.time(3)]
)
@pytest.mark.parametrize("kind", [GradientBoostingRegressor, RandomForestRegressor])
def test_dates_in_a_column_of_numbers_are_an_error(kind: type, value: Any) -> None:
    numbers = X[["a"]].assign(b=1.0)
    model = kind(n_estimators=3).fit(numbers, Y)
    many, few = numbers.assign(a=[value] * N), numbers.iloc[:2].assign(a=[value] * 2)
    for rows in (many, few, few.to_dict("records"), few.iloc[0].to_dict()):
        with pytest.raises(ValueError, match=r"'a' has values of type .* a column of numbers when"):
            model.predict(rows)
    missing = numbers.assign(a=pd.Series([pd.NaT] * N, dtype="datetime64[ns]"))
    np.testing.assert_array_equal(model.predict(missing), model.predict(numbers.assign(a=np.nan)))


def test_dates_as_categories_stay_categories() -> None:
    table = X.assign(day=X["day"].astype("category"))
    model = GradientBoostingRegressor(n_estimators=3).fit(table, Y)
    assert np.isfinite(model.predict(table)).all()
