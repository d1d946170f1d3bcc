"""Plots, outliers and correlations of descriptions of tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.linear_model import LinearRegression

from stagewise import InvalidParameterError
from stagewise.inspection import describe
from stagewise.inspection.tables.density import bandwidth, kernel_density


def frame(n=150):
    """Return a table with two high-leverage rows, gaps, an infinite value, dates and categories."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n) * 2 + 1})
    X["y"] = 2 * X["x"] + 0.5 * X["z"] + rng.normal(size=n)
    X.loc[3, ["x", "y"]] = [30.0, -40.0]
    X.loc[7, "x"] = -9.0
    X.loc[11, "z"] = np.nan
    X.loc[12, "z"] = np.inf
    X["city"] = rng.choice(["oslo", "rome", "$lima$"], n)
    X["when"] = pd.date_range("2024-01-01", periods=n)
    return X


def fences(x, rule):
    """Return the limits of the rules, as in textbooks."""
    if rule == "iqr":
        q1, q3 = x.quantile(0.25), x.quantile(0.75)
        return q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    robust = scipy.stats.median_abs_deviation(x, scale="normal")
    return x.median() - 3 * robust, x.median() + 3 * robust


@pytest.mark.parametrize("rule", ["iqr", "mad"])
def test_outliers_are_the_rows_outside_the_fences(rule):
    X = frame()
    rows = {row["column"]: row for row in describe(X, "y").outliers(rule)}
    low, high = fences(X["x"], rule)
    out = (X["x"] < low) | (X["x"] > high)
    assert {3, 7} <= set(rows["x"]["rows"])
    assert rows["x"]["rows"] == np.flatnonzero(out).tolist()
    assert rows["x"]["n_outliers"] == out.sum()
    np.testing.assert_allclose([rows["x"]["low"], rows["x"]["high"]], [low, high], rtol=1e-4)
    assert 12 in rows["z"]["rows"], "infinite"
    assert 11 not in rows["z"]["rows"], "missing"
    assert "when" not in rows
    assert "city" not in rows


def test_the_removal_of_outliers_changes_the_statistics_as_computed_from_scratch():
    X = frame()
    row = next(r for r in describe(X, "y").outliers() if r["column"] == "x")
    kept = X.drop(index=row["rows"])
    for table, suffix in ((X, ""), (kept, "_without")):
        line = LinearRegression().fit(table[["x"]], table["y"])
        expected = {
            "mean": table["x"].mean(),
            "deviation": table["x"].std(),
            "pearson": table["x"].corr(table["y"]),
            "slope": line.coef_[0],
            "r2": line.score(table[["x"]], table["y"]),
        }
        for name, value in expected.items():
            assert row[name + suffix] == pytest.approx(value, rel=1e-9), name + suffix
    assert row["pearson"] < 0 < 0.7 < row["pearson_without"]


def test_the_target_and_tables_without_one_have_no_regression():
    X = frame()
    of_target = next(r for r in describe(X, "y").outliers() if r["column"] == "y")
    assert 3 in of_target["rows"]
    assert np.isnan(of_target["slope"])
    assert all(np.isnan(r["r2"]) for r in describe(X).outliers())
    assert all(np.isnan(r["pearson"]) for r in describe(X, "city").outliers())
    with_array = describe(X.drop(columns="y"), X["y"])
    first = next(r for r in with_array.outliers() if r["column"] == "x")
    assert first == next(r for r in describe(X, "y").outliers() if r["column"] == "x")


def test_a_date_far_from_the_others_is_an_outlier_as_text():
    X = frame()
    X.loc[5, "when"] = pd.Timestamp("1990-01-01")
    row = next(r for r in describe(X).outliers() if r["column"] == "when")
    assert row["rows"] == [5]
    assert str(row["low"]).startswith("20")


def test_correlations_equal_those_of_pandas():
    X = frame()[["x", "z", "y"]].replace(np.inf, np.nan)
    found = pd.DataFrame(describe(X, "y").correlations()).set_index("column")
    pd.testing.assert_frame_equal(found, X.corr(), check_names=False)


def test_the_density_equals_that_of_scipy():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(size=400), rng.normal(6, 0.5, size=200)])
    grid, density = kernel_density(x)
    slow = scipy.stats.gaussian_kde(x, bw_method=bandwidth(x) / x.std(ddof=1))(grid)
    np.testing.assert_allclose(density, slow, atol=0.003 * slow.max())
    for constant in (np.ones(5), np.ones(1), np.ones(0)):
        assert len(kernel_density(constant)[0]) == 0


# ---- plots ---------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _needs_matplotlib():
    pytest.importorskip("matplotlib")


def render(axes):
    axes[0].figure.canvas.draw()
    return axes


def test_columns_are_histograms_or_bars():
    X = frame()
    found = describe(X, "y")
    axes = render(found.plot())
    titles = [ax.get_title() for ax in axes]
    assert titles[0].startswith("y (")
    assert {t.split(" ")[0] for t in titles} == set(X)
    ax = next(ax for ax in axes if ax.get_title().startswith("x"))
    area = sum(bar.get_height() * bar.get_width() for bar in ax.patches)
    assert area == pytest.approx(1)
    far = next(r for r in found.outliers() if r["column"] == "x")["rows"]
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), np.sort(X["x"][far]))
    bars = next(ax for ax in axes if ax.get_title() == "city").patches
    assert sorted(bar.get_width() for bar in bars) == sorted(X["city"].value_counts())


def test_scatter_plots_have_the_target_the_outliers_and_two_lines():
    X = frame()
    found = describe(X, "y")
    axes = {ax.get_xlabel(): ax for ax in render(found.plot("scatter"))}
    assert set(axes) == {"x", "z", "when"}
    assert {ax.get_ylabel() for ax in axes.values()} == {"y"}
    row = next(r for r in found.outliers() if r["column"] == "x")
    _, far, whole, without = axes["x"].lines
    np.testing.assert_array_equal(far.get_xdata(), X["x"][row["rows"]])
    for line, slope in ((whole, row["slope"]), (without, row["slope_without"])):
        assert np.diff(line.get_ydata()) / np.diff(line.get_xdata()) == pytest.approx(slope)
    title = axes["x"].get_title()
    assert title == f"r = {row['pearson']:.2f}, {row['pearson_without']:.2f} without"


def test_without_a_numeric_target_the_most_correlated_pairs_come_first():
    for target in (None, "city"):
        first = render(describe(frame(), target).plot("scatter"))[0]
        assert {first.get_xlabel(), first.get_ylabel()} == {"x", "y"}


def test_the_correlation_plot_has_the_target_and_all_numbers():
    (ax,) = render(describe(frame(), "y").plot("correlation"))
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names[0] == "y"
    assert set(names) == {"x", "z", "y", "when"}
    rows = {row["column"]: row for row in describe(frame(), "y").correlations()}
    expected = [[rows[a][b] for b in names] for a in names]
    np.testing.assert_allclose(ax.images[0].get_array(), expected)


@pytest.mark.parametrize("kind", ["columns", "scatter", "correlation"])
def test_a_figure_of_many_columns_has_a_note_of_the_number_left_out(kind):
    X = np.random.default_rng(0).normal(size=(40, 30))
    found = describe(X, X[:, 4] + X[:, 9])
    axes = found.plot(kind, max_columns=5)
    total = {"columns": 31, "scatter": 30, "correlation": 31}[kind]
    assert axes[0].figure.get_suptitle().startswith(f"5 of {total} ")
    assert render(axes)
    few = found.plot(kind, columns=["x4", "x9"])[0].figure
    assert few.get_suptitle() == ""


def test_unusual_columns_are_drawn():
    X = pd.DataFrame(
        {
            "same": np.ones(30),
            "gaps": [np.nan] * 30,
            "huge": np.linspace(-1e100, 1e100, 30),
            "ends": [np.inf, -np.inf, *range(28)],
            "names": [f"a rather long name of a category {i}" for i in range(30)],
            "none": [None] * 30,
        }
    )
    render(describe(X).plot())
    render(describe(X[["same", "gaps", "ends"]]).plot("scatter"))
    render(describe(X[["same", "gaps", "ends"]], "ends").plot("correlation"))


def test_errors_name_the_argument_and_the_remedy():
    found = describe(frame(), "y")
    with pytest.raises(InvalidParameterError, match=r"rule must be one of 'iqr', 'mad'; got 'box'"):
        found.outliers("box")
    with pytest.raises(InvalidParameterError, match=r"kind must be one of 'columns'.*got 'bars'"):
        found.plot("bars")
    with pytest.raises(InvalidParameterError, match=r"no column 'citi'\. Did you mean 'city'"):
        found.plot(columns=["citi"])
    with pytest.raises(InvalidParameterError, match=r"a list of names; got 'x'\. Pass \['x'\]"):
        found.plot(columns="x")
    with pytest.raises(InvalidParameterError, match=r"max_columns must be .* at least 1; got 0"):
        found.plot(max_columns=0)
    with pytest.raises(ValueError, match=r"needs two numeric columns; there is 'x'\. Use kind="):
        describe(frame()[["x", "city"]]).plot("scatter")
