"""Dates, durations and times of day in inspection."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure

from report.reports import journeys, report_of
from stagewise import GradientBoostingRegressor, InvalidParameterError
from stagewise.data.reading.datetimes import parse_datetime
from stagewise.inspection import (
    accumulated_effects,
    decision_path,
    describe,
    partial_dependence,
    shap_values,
)


@pytest.fixture(scope="module")
def model():
    return report_of("datetimes")[0]


@pytest.fixture(scope="module", name="X")
def rows():
    return report_of("datetimes")[1]


@pytest.fixture
def ax():
    return Figure().subplots()


def ticks(axis):
    axis.get_figure().canvas.draw()
    return [label.get_text() for label in axis.get_ticklabels()]


# ---- a table -------------------------------------------------------------------------------------


def test_dates_and_times_of_a_table_are_shown_as_text():
    X = journeys()
    rows = {row["column"]: row for row in describe(X).table()}
    day, lasts, at = rows["day"], rows["lasts"], rows["at"]
    assert [row["kind"] for row in (day, lasts, at)] == ["date", "duration", "time of day"]
    assert (day["min"], day["max"]) == (str(X["day"].min().date()), str(X["day"].max().date()))
    assert (at["min"], at["max"]) == tuple(str(f(X["at"])) for f in (min, max))
    for name, unit in (("day", "date"), ("lasts", "duration")):
        row, column = rows[name], X[name]
        for key, value in (("median", column.median()), ("mean", column.mean())):
            span = column.max() - column.min()
            assert abs(parse_datetime(row[key], unit) - value.value) <= span.value / 200
        spread = parse_datetime(row["deviation"], "duration")
        assert abs(spread - column.std().value) <= span.value / 200
    often = X["at"].value_counts().max()
    assert at["most_frequent"].endswith(f":00 ({often})")
    assert str(describe(X)) == str(describe(pl.from_pandas(X)))
    assert not re.search(r"\d{10}", str(describe(X)))


def test_grid_points_of_a_date_have_no_needless_fractions():
    X = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60)})
    model = GradientBoostingRegressor(n_estimators=3).fit(X, np.arange(60))
    table = partial_dependence(model, X, "day").table()
    assert all(re.fullmatch(r"[-\d]{10}( [:\d]{8})?", row["day"]) for row in table)


def test_only_dates_are_points_in_time():
    found = describe(journeys())
    assert [(h.column, h.kind) for h in found.hints] == [("day", "timestamps")]
    assert all(profile.is_number for profile in found.columns)


def test_a_target_can_be_a_date():
    found = describe(pd.DataFrame({"x": [1.0, 2.0]}), np.array(["2020-01-01", "NaT"], "M8[D]"))
    assert found.columns[-1].kind == "date"


# ---- grids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "grid",
    [
        ["2020-02-29", "2020-04-01 12:00"],
        [dt.date(2020, 2, 29), dt.datetime(2020, 4, 1, 12)],
        np.array(["2020-02-29T00", "2020-04-01T12"], dtype="M8[h]"),
        [pd.Timestamp("2020-02-29"), pd.Timestamp("2020-04-01 12:00")],
        {"day": pd.Series(pd.to_datetime(["2020-02-29 00:00", "2020-04-01 12:00"], utc=True))},
        [1_582_934_400 * 10**9, np.datetime64("2020-04-01T12:00")],
    ],
    ids=["text", "objects", "numpy", "timestamps", "zone", "numbers"],
)
def test_grid_points_of_a_date_may_have_any_type(model, X, grid):
    found = partial_dependence(model, None, "day", grid_resolution=grid)
    texts = [row["day"] for row in found.table()]
    assert texts == ["2020-02-29", "2020-04-01 12:00:00"]
    rows = pd.concat([X] * 2, ignore_index=True)
    rows["day"] = np.repeat(pd.to_datetime(texts, format="ISO8601"), len(X)).astype(X["day"].dtype)
    brute = partial_dependence(model, X, "day", grid_resolution=grid, max_samples=None)
    predicted = model.predict(rows).reshape(2, -1).mean(axis=1)
    np.testing.assert_allclose(brute.mean[:, 0], predicted)


def test_grids_of_durations_and_times_may_have_missing_values(model):
    at = partial_dependence(model, None, "at", grid_resolution=["07:30", dt.time(19), None])
    assert [row["at"] for row in at.table()] == ["07:30:00", "19:00:00", "missing"]
    lasts = partial_dependence(
        model, None, "lasts", grid_resolution=["3 d 04:00", dt.timedelta(hours=5)]
    )
    assert [row["lasts"] for row in lasts.table()] == ["3 d 04:00:00", "05:00:00"]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (["2020-13-01"], "'2020-13-01' is not a date; write it as 2024-03-01 or"),
        ([dt.timedelta(days=1)], "'day' has dates, and datetime.timedelta.* is not one"),
        ({"day": "2020-01-01"}, "must be a list of dates; got '2020-01-01'"),
        ({"day": 7}, "must be a list of dates; got 7"),
        ([["2020-01-01"]], "is not one. Pass such objects"),
        ([dt.date(3000, 1, 1)], "'day': .*years 1678 to 2262"),
        ([], "grid_resolution has no values of 'day'"),
    ],
)
def test_invalid_dates_are_errors(model, grid, message):
    with pytest.raises(InvalidParameterError, match=message):
        partial_dependence(model, None, "day", grid_resolution=grid)


# ---- text and plots ------------------------------------------------------------------------------


def test_decision_paths_show_dates_as_text(model, X):
    message = decision_path(model, X.iloc[[1]]).text(None)
    assert re.search(r"day (≤|>) 2020-\d\d-\d\d", message)
    assert not re.search(r"\d{10}", message)


def test_axes_of_curves_have_dates(model, X, ax):
    partial_dependence(model, X, "day", grid_resolution=9).plot(ax)
    assert ticks(ax.xaxis) == ["2019-01-01", "2020-01-01", "2021-01-01"]
    ax.set_xlim(*(parse_datetime(f"2020-03-{day}", "date") for day in ("01", "04")))
    assert ticks(ax.xaxis) == ["2020-03-01", "2020-03-02", "2020-03-03", "2020-03-04"]


def test_axes_of_effects_have_durations(model, X, ax):
    accumulated_effects(model, X, "lasts", grid_resolution=9).plot(ax)
    assert ticks(ax.xaxis) == ["00:00:00", "2 d", "4 d"]


def test_axes_of_surfaces_have_dates_and_durations(model, X, ax):
    partial_dependence(model, X, ["day", "at"], grid_resolution=5, max_samples=50).plot(ax)
    assert "2020-01-01" in ticks(ax.xaxis)
    assert "12:00:00" in ticks(ax.yaxis)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_shapley_plots_show_dates(model, X, ax, library):
    rows = X if library == "pandas" else pl.from_pandas(X)
    why = shap_values(model, rows)
    why.dependence("day", ax, colour="at")
    assert "2020-01-01" in ticks(ax.xaxis)
    ends = [label.get_text() for label in ax.figure.axes[1].get_yticklabels()]
    assert ends == [str(min(X["at"])), str(max(X["at"]))]
    ax.clear()
    why.waterfall(1, ax)
    named = {label.get_text() for label in ax.get_yticklabels()}
    assert {f"day = {X['day'][1].date()}", f"at = {X['at'][1]}"} <= named
