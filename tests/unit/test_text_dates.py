"""Dates as text: the rule is the one by which the command line reads CSV files."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import csv as pyarrow_csv

import stagewise
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor, parse_dates
from stagewise.cli.files import read_file
from stagewise.data.reading.text_dates import MISSING_TEXTS, day_order, parse_iso_date
from stagewise.errors import ColumnWarning
from stagewise.inspection import partial_dependence, scores, shap_values

TEXTS = [
    "2024-03-01",
    " 2024-03-01",
    "2024-03-01 14",
    "2024-03-01 14:05",
    "2024-03-01T14:05:07",
    "2024-03-01 14:05:07.25",
    "2024-03-01 14:05:07.123456789",
    "2024-03-01T14:05:07Z",
    "2024-03-01T14:05:07+02:00",
    "2024-03-01 14:05:07-0130",
    "2024-03-01 14:05:07+02",
    "1700-01-01",
    "2024-02-30",
    "2024-03-01 24:00",
    "2024-03-01 5:00",
    "2024-03-01 14:60",
    "2024-3-1",
    "01/02/2024",
    "20240301",
    "14:05",
    "yesterday",
]


def read_by_arrow(text: str, folder: Path) -> int | None:
    """Return the nanoseconds of a cell of a CSV file, as the command line reads it."""
    path = folder / "cell.csv"
    path.write_text(f'a,b\n"{text}",1\n')
    column = read_file(path).column("a")
    if not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        return None
    utc = pa.timestamp("ns", "UTC") if getattr(column.type, "tz", None) else pa.timestamp("ns")
    number: int = column.cast(utc).cast(pa.int64())[0].as_py()
    return number


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_a_date_if_the_command_line_reads_it_as_one(text: str, tmp_path: Path) -> None:
    assert parse_iso_date(text) == read_by_arrow(text, tmp_path)


TIMES = st.datetimes(dt.datetime(1678, 1, 1), dt.datetime(2261, 12, 31))


@given(TIMES, st.sampled_from(["T", " "]))
@example(dt.datetime(1969, 12, 31, 23, 59, 59, 999999), "T")
def test_iso_text_is_its_datetime(when: dt.datetime, between: str) -> None:
    found = parse_iso_date(when.isoformat(between))
    assert found == np.datetime64(when, "ns").astype(np.int64)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("20141013T140507", "2014-10-13 14:05:07"),
        ("2001-02", "2001-02-01"),
        (" 2001-02 ", "2001-02-01"),
    ],
)
def test_the_basic_format_and_months_are_dates(text: str, same: str) -> None:
    assert parse_iso_date(text) == parse_iso_date(same) is not None
    assert pd.Timestamp(text).value == parse_iso_date(text)


@pytest.mark.parametrize(
    "text",
    ["20140230T000000", "20141013T250000", "20141013", "2001-13", "0012-10", "10-12", "2001-2"],
)
def test_other_text_of_figures_is_no_date(text: str) -> None:
    assert parse_iso_date(text) is None


COLUMNS = {
    "day": ["2024-03-01", None, "2024-03-02 06:00"],
    "city": ["Rome", "Oslo", "2024-03-01"],
    "number": [1, 2, 3],
}


FRAMES = (pd.DataFrame, pl.DataFrame, pa.table)


def frames() -> dict[str, Any]:
    table = pd.DataFrame(COLUMNS, index=[7, 3, 3])
    return {
        "pandas": table,
        "pandas objects": table.astype({"day": object}),
        "pandas categories": table.astype({"day": "category", "city": "category"}),
        "polars": pl.DataFrame(COLUMNS),
        "polars categories": pl.DataFrame(COLUMNS).with_columns(pl.col("day").cast(pl.Categorical)),
        "pyarrow": pa.table(COLUMNS),
    }


@pytest.mark.parametrize("kind", frames())
@pytest.mark.parametrize("columns", [None, ["day"]])
def test_only_columns_of_dates_are_converted(kind: str, columns: Any) -> None:
    frame = frames()[kind]
    found = parse_dates(frame, columns)
    assert type(found) is type(frame)
    as_pandas = found if isinstance(found, pd.DataFrame) else found.to_pandas()
    expected = pd.to_datetime(pd.Series(COLUMNS["day"]), format="ISO8601").astype("M8[ns]")
    assert list(as_pandas) == ["day", "city", "number"]
    assert as_pandas["day"].dtype == "M8[ns]"
    np.testing.assert_array_equal(as_pandas["day"].to_numpy(), expected.to_numpy())
    assert as_pandas["city"].tolist() == COLUMNS["city"]
    if isinstance(frame, pd.DataFrame):
        assert found.index.tolist() == [7, 3, 3]
        assert str(frame["day"].dtype) != "datetime64[ns]"


def test_a_frame_without_dates_is_returned_unchanged() -> None:
    frame = pd.DataFrame({"city": ["Rome", None], "gone": [None, None]})
    assert parse_dates(frame) is frame


def test_a_named_column_with_another_cell_is_an_error() -> None:
    frame = pd.DataFrame({"day": ["2024-03-01", "1/2/2024"]})
    with pytest.raises(ValueError, match=r"'day' holds '1/2/2024' at row 1, which is no date such"):
        parse_dates(frame, ["day"])
    with pytest.raises(ValueError, match="columns has 'date', which is no column of X: day"):
        parse_dates(frame, ["date"])


@pytest.mark.parametrize("make", FRAMES)
def test_columns_of_dates_are_not_changed(make: Any) -> None:
    frame = make(COLUMNS)
    once = parse_dates(frame, "day")
    assert parse_dates(once, ["day"]) is once
    assert parse_dates(once) is once
    zoned = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=2, tz="Europe/Rome")})
    assert parse_dates(zoned, "day") is zoned
    days = make({"day": [dt.date(2024, 3, 1), None]})
    found = parse_dates(days, "day")
    if make is pd.DataFrame:
        assert found["day"].tolist() == [pd.Timestamp("2024-03-01"), pd.NaT]
        mixed = pd.DataFrame({"day": [dt.datetime(2024, 3, 1, 6), "2024-03-02"]}, dtype=object)
        assert parse_dates(mixed)["day"].tolist() == [
            pd.Timestamp("2024-03-01 06:00"),
            pd.Timestamp("2024-03-02"),
        ]
    else:
        assert found is days


def test_arguments_of_to_datetime_are_an_error_with_its_call() -> None:
    frame = pd.DataFrame({"day": ["1/2/2024"]})
    call = r"X\[column\] = pandas\.to_datetime\(X\[column\], dayfirst=\.\.\.\)\.$"
    with pytest.raises(TypeError, match=call):
        parse_dates(frame, dayfirst=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"has no argument 'format'\..* format=\.\.\.\)\.$"):
        parse_dates(frame, "day", format="%d/%m/%Y")  # type: ignore[call-arg]


def test_an_array_is_no_data_frame() -> None:
    with pytest.raises(TypeError, match="columns of a data frame; X is a ndarray"):
        parse_dates(np.ones((2, 2)))


def test_other_text_for_a_column_of_dates_is_refused_with_the_cell_and_one_remedy() -> None:
    days = pd.date_range("2024-01-01", periods=60)
    model = GradientBoostingRegressor(n_estimators=2).fit(
        pd.DataFrame({"day": days}), np.arange(60.0)
    )
    words = (
        r"X column 'day' holds '1/3/2024' at row 1, which is no date such as 2024-03-01 or .*"
        r"type date when GradientBoostingRegressor was fitted: correct the cell, .*"
        r"pandas\.to_datetime\(\.\.\., dayfirst=\.\.\.\) \(True or False, by their format\)\.$"
    )
    cells = ["2024-03-01", "1/3/2024"]
    rows = [{"day": cell} for cell in cells]
    for X in ({"day": cells}, rows, *(make({"day": cells}) for make in FRAMES)):
        with pytest.raises(ValueError, match=words) as raised:
            model.predict(X)
        assert "parse_dates" not in str(raised.value)


def test_text_is_read_as_by_parse_dates_wherever_a_model_reads_x(tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=120)
    texts = days.strftime("%Y-%m-%dT%H:%M").to_series().reset_index(drop=True)
    X = pd.DataFrame({"a": np.arange(120.0) % 7, "day": texts})
    X.loc[[3, 8], "day"] = [None, "NA"]
    dated, y = parse_dates(X), np.arange(120) % 50 > 25
    model = GradientBoostingClassifier(n_estimators=5).fit(dated, y)
    expected = model.predict_proba(dated)
    frames = [make(X) for make in (pd.DataFrame, pl.from_pandas, pa.Table.from_pandas)]
    for frame in [*frames, X.astype({"day": object}), X.astype({"day": "category"}), X[:9]]:
        n = len(frame)
        np.testing.assert_array_equal(model.predict_proba(frame), expected[:n])
        assert list(model.staged_predict(frame))[-1].tolist() == model.predict(dated[:n]).tolist()
        assert model.score(frame, y[:n]) == model.score(dated[:n], y[:n])
        found = shap_values(model, frame).values
        np.testing.assert_array_equal(found, shap_values(model, dated[:n]).values)
    assert str(scores(model, X, y)) == str(scores(model, dated, y))
    assert (
        partial_dependence(model, X, "day")
        .to_frame()
        .equals(partial_dependence(model, dated, "day").to_frame())
    )


@pytest.mark.parametrize("make", FRAMES)
def test_rows_that_decide_may_have_dates_as_text(make: Any) -> None:
    X = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=120), "a": 0.5})
    y, train, rest = np.arange(120.0), slice(0, None, 2), slice(1, None, 2)
    texts = make(X[rest].assign(day=X["day"].dt.strftime("%Y-%m-%d")).to_dict("list"))
    losses = [
        GradientBoostingRegressor(n_estimators=5)
        .fit(X[train], y[train], X_val=rows, y_val=y[rest])
        .validation_loss_
        for rows in (X[rest], texts)
    ]
    np.testing.assert_array_equal(losses[0], losses[1])
    for rows in (X[rest], texts):
        model = GradientBoostingRegressor(n_estimators=5)
        losses.append(model.fit(X[train], y[train], eval_set=[(rows, y[rest])]).validation_loss_)
    np.testing.assert_array_equal(losses[2], losses[3])


def test_a_report_of_dates_as_text_is_that_of_dates(tmp_path: Path) -> None:
    X = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=120), "a": 0.5})
    texts = X.assign(day=X["day"].dt.strftime("%Y-%m-%d"))
    model = GradientBoostingRegressor(n_estimators=5).fit(X, np.arange(120.0))
    pages = [tmp_path / "dates.html", tmp_path / "texts.html"]
    for table, page in zip((X, texts), pages, strict=True):
        model.report(table, np.arange(120.0), page, title="A model")
    assert pages[0].read_text() == pages[1].read_text()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_arrays_of_text_have_dates_in_iso_8601() -> None:
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60)})
    model = GradientBoostingRegressor(n_estimators=5).fit(days, np.arange(60.0))
    expected = model.predict(days[9:11])
    for X in (np.array([["2024-01-10"], ["20240111T000000"]]), [["2024-01-10"], ["2024-01-11"]]):
        np.testing.assert_array_equal(model.predict(X), expected)


def test_rows_with_names_have_dates_in_iso_8601() -> None:
    """JSON has no dates."""
    days = pd.date_range("2024-01-01", periods=60)
    model = GradientBoostingRegressor(n_estimators=5).fit(
        pd.DataFrame({"day": days, "a": 0.5}), np.arange(60.0)
    )
    expected = model.predict(pd.DataFrame({"day": [days[9], days[40]], "a": 0.5}))
    assert model.predict({"day": "2024-01-10", "a": 0.5}) == expected[0]
    rows = [{"a": 0.5, "day": days[9]}, {"a": 0.5, "day": "2024-02-10T00:00:00Z"}]
    np.testing.assert_array_equal(model.predict(rows), expected)
    columns = {"a": [0.5, 0.5], "day": ["2024-01-10", "2024-02-09 23:00-01:00"]}
    np.testing.assert_array_equal(model.predict(columns), expected)


# ---- columns that are nearly dates ---------------------------------------------------------------

DAYS = [f"2024-03-{day:02}" for day in range(1, 31)]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_dates_with_one_bad_cell_stays_text_with_a_warning(library: Any) -> None:
    table = library({"day": [*DAYS[:5], "soon", None, *DAYS[5:]], "a": list(range(32))})
    words = r"X column 'day' stays text: it holds 'soon' at row 5, which is no date .*\['day'\]"
    with pytest.warns(ColumnWarning, match=words):
        found = parse_dates(table)
    assert found is table


def test_the_warning_has_the_number_of_bad_cells() -> None:
    table = pd.DataFrame({"day": [*DAYS, "31/12/2024", "soon"]})
    with pytest.warns(ColumnWarning, match=r"'31/12/2024' at row 30 and 1 more rows, which is no"):
        parse_dates(table)


def test_a_column_with_few_dates_stays_text_without_a_warning() -> None:
    for cells in ([*DAYS[:8], "a", "b"], ["a", *DAYS[:8]], ["a", "b"]):
        table = pd.DataFrame({"day": cells})
        assert parse_dates(table) is table  # warnings are errors in tests


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["01/07/2025", "31/07/2025"], "day first"),
        (["1.7.2025", "7.31.2025"], "month first"),
        (["01-07-2025 10:00"], "ambiguous"),
        (["13/07/2025", "07/13/2025"], None),
        (["01/07/2025", "soon"], None),
    ],
)
def test_the_order_of_day_and_month(texts, order):
    assert day_order(texts) == order


def test_the_name_of_one_column_is_a_list_of_it() -> None:
    table = pd.DataFrame({"date": DAYS, "other": DAYS})
    found = parse_dates(table, "date")
    assert found["date"].dtype == "M8[ns]"
    assert found["other"].tolist() == DAYS


def test_texts_that_are_missing_in_csv_files_are_missing() -> None:
    assert set(pyarrow_csv.ConvertOptions().null_values) == MISSING_TEXTS
    table = pd.DataFrame(
        {"day": ["2024-03-01", "", "n/a", "NA", None], "none": ["", "NA"] + [""] * 3}
    )
    for found in (parse_dates(table), parse_dates(table, ["day"])):
        assert found["day"].isna().tolist() == [False, True, True, True, True]
        assert found["none"].tolist() == table["none"].tolist()


@pytest.mark.parametrize(
    ("cells", "call"),
    [
        (["31/07/2025", "01/07/2025"], "X['day'] = pandas.to_datetime(X['day'], dayfirst=True)."),
        (["07/31/2025", ""], "X['day'] = pandas.to_datetime(X['day'], dayfirst=False)."),
        (["01/07/2025", None], "pandas.to_datetime(X['day'], dayfirst=...) (True or False)."),
        (["1 July 2025"], "pandas.to_datetime(X['day'], format=...)."),
    ],
)
def test_dates_in_another_format_stay_text_with_the_call(cells: Any, call: str) -> None:
    table = pd.DataFrame({"day": cells})
    with pytest.warns(ColumnWarning, match=f"'day' stays text: .*{re.escape(call)}$"):
        assert parse_dates(table) is table
    with pytest.raises(ValueError, match=re.escape(call)):
        parse_dates(table, "day")
    with pytest.warns(ColumnWarning, match="Convert them: 'day' to datetimes by its own format"):
        parse_dates(pl.DataFrame({"day": cells}))


# ---- several columns of text ---------------------------------------------------------------------


def houses() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=60)
    return pd.DataFrame(
        {
            "area": rng.normal(size=60),
            "town": rng.choice(["north", "port"], 60),
            "sold": days.strftime("%Y-%m-%d"),
            "built": days.strftime("%d/%m/%Y"),
            "street": "Oak",
        }
    )


def test_all_columns_of_text_are_in_one_error_whose_calls_run() -> None:
    X = houses()
    with pytest.raises(
        ValueError, match=r"4 columns of text \(dates in 'sold' .*'built'"
    ) as raised:
        GradientBoostingRegressor(n_estimators=2).fit(X, X["area"])
    calls = str(raised.value).rpartition("Convert them first: ")[2].rstrip(".")
    names = {"X": X, "stagewise": stagewise, "pandas": pd}
    exec(calls, names)
    model = GradientBoostingRegressor(n_estimators=2).fit(names["X"], X["area"])
    assert [f.temporal_type for f in model.model_.features] == [None, None, "date", "date", None]


def test_numbers_as_text_are_listed_apart() -> None:
    X = houses()[["area", "town", "street"]].assign(price="1.5", zip=["0815", None] * 30)
    words = r"numbers in 'price' \('1\.5'\), 'zip' \('0815'\); other text in 'town'.* X = X\.astype"
    with pytest.raises(ValueError, match=words + r"\(\{'price': float, 'zip': float\}\) \(codes: "):
        GradientBoostingRegressor(n_estimators=2).fit(X, X["area"])
    with pytest.raises(ValueError, match=r"\['price', 'zip'\] to numbers, or to categories"):
        GradientBoostingRegressor(n_estimators=2).fit(pl.from_pandas(X), X["area"])


@pytest.mark.parametrize("listed", [None, ["town"]])
def test_categories_of_other_libraries_are_listed_in_the_parameter(listed: Any) -> None:
    X = houses()[["town", "sold", "area", "street"]].assign(more="x")
    frame = X if listed else pl.from_pandas(X)
    names = ["town", "street", "more"]
    model = GradientBoostingRegressor(n_estimators=2, categorical_features=listed)
    with pytest.raises(ValueError, match=re.escape(f"set categorical_features={names}.")):
        model.fit(frame, X["area"])
    with pytest.raises(ValueError, match=r"^X column 'street' holds the text"):
        model.fit(frame[["town", "street"] if listed else ["area", "street"]], X["area"])


def test_text_without_dates_is_listed_without_its_kind() -> None:
    X = houses()[["area", "town", "street"]]
    words = r"columns of text \('town' \('\w+'\), 'street' \('Oak'\)\); text is not"
    with pytest.raises(ValueError, match=words):
        GradientBoostingRegressor(n_estimators=2).fit(X, X["area"])
