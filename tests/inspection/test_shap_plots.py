"""Plots of Shapley values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from matplotlib.figure import Figure

from inspection.tables import fitted, mixed
from stagewise import GradientBoostingRegressor, InvalidParameterError
from stagewise.inspection import shap_values
from stagewise.inspection.shap.attributions import AxisValues, row_cells


@pytest.fixture(scope="module")
def why():
    return shap_values(fitted("a number"), mixed(120))


@pytest.fixture(scope="module")
def classes():
    return shap_values(fitted("three classes"), mixed(40))


def dots(ax):
    """Return all dots of an axis, as (x, y)."""
    return np.concatenate(
        [np.asarray(c.get_offsets()) for c in ax.collections if len(c.get_offsets())]
    )


def test_a_beeswarm_has_a_dot_for_every_row_and_feature(why):
    ax = why.beeswarm()
    order = np.argsort(-np.abs(why.values).mean(axis=0), kind="stable")
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [why.feature_names[j] for j in order]
    found = dots(ax)
    for line, j in enumerate(order):
        own = np.abs(found[:, 1] - (3 - line)) < 0.45
        np.testing.assert_allclose(np.sort(found[own, 0]), np.sort(why.values[:, j]))
    ax.figure.canvas.draw()
    assert len(why.beeswarm(top=2).get_yticks()) == 2


def test_dots_of_a_beeswarm_do_not_cover_each_other(why):
    found = dots(why.beeswarm(top=1))
    width = np.ptp(found[:, 0]) / 110
    column = np.round(found[:, 0] / width)
    places = {(x, round(y, 9)) for x, y in zip(column, found[:, 1], strict=True)}
    assert len(places) == len(found)


def test_a_waterfall_goes_from_the_base_to_the_prediction(why):
    row = mixed(120).iloc[[7]]
    ax = why.waterfall(7, top=2)
    bars = ax.patches
    assert len(bars) == 3
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[-1] == "… 2 others"
    assert any(name in (f"c = {row.c.iloc[0]}", f"a = {row.a.iloc[0]:.4g}") for name in names)
    at = float(why.base_values)
    for bar in reversed(bars):
        assert bar.get_x() == pytest.approx(at) or bar.get_x() + bar.get_width() == pytest.approx(
            at
        )
        at = bar.get_x() + bar.get_width()
    assert at == pytest.approx(fitted("a number").predict(row)[0])
    ax.figure.canvas.draw()
    assert len(why.waterfall(-1, top=9).patches) == 4


def test_dependence_is_shapley_value_against_feature_value(why):
    ax = why.dependence("a", colour=None)
    found, expected = dots(ax), np.column_stack([mixed(120).a, why.values[:, 0]])
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], expected[np.argsort(expected[:, 0])])
    categories = why.dependence("c", colour="d")
    assert [t.get_text() for t in categories.get_xticklabels()] == sorted(set(mixed(120).c))
    categories.figure.canvas.draw()
    missing = why.dependence("b")
    assert missing.texts[0].get_text() == "missing"
    gone = mixed(120).b.isna()
    np.testing.assert_allclose(missing.lines[-1].get_ydata(), why.values[gone, 1])


def test_the_default_colour_feature_is_the_strongest_interaction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    model = GradientBoostingRegressor(n_estimators=30).fit(X, X[:, 0] * X[:, 2] + X[:, 1])
    for pairs in (False, True):
        ax = shap_values(model, X, interactions=pairs).dependence("x0")
        assert ax.figure.axes[-1].get_ylabel() == "x2"


def test_one_output_is_drawn_and_interactions_are_summed(classes):
    for output in (None, "lo"):
        ax = classes.beeswarm(top=1, output=output)
        k = 2 if output is None else 1
        assert ax.get_xlabel() == f"Shapley value for {classes.output_names[k]}"
        j = np.argmax(np.abs(classes.values[..., k]).mean(axis=0))
        np.testing.assert_allclose(np.sort(dots(ax)[:, 0]), np.sort(classes.values[:, j, k]))
    pairs = shap_values(fitted("a number"), mixed(30), interactions=True)
    alone = shap_values(fitted("a number"), mixed(30))
    for one, other in zip(pairs.waterfall(3).patches, alone.waterfall(3).patches, strict=True):
        assert one.get_width() == pytest.approx(other.get_width(), abs=1e-9)


def test_rows_may_have_any_container():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 3)).astype(float)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = GradientBoostingRegressor(n_estimators=5).fit(frame, X @ [1, 2, 3])
    plain = GradientBoostingRegressor(n_estimators=5).fit(X, X @ [1, 2, 3])
    whole = [frame, frame[["c", "a", "b"]], pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    for rows in whole:
        ax = shap_values(model, rows).dependence("b", colour="c")
        assert sorted(set(dots(ax)[:, 0])) == [0, 1, 2]
    for rows in (X, X.tolist(), scipy.sparse.csr_array(X)):
        ax = shap_values(plain, rows).dependence(1)
        np.testing.assert_allclose(np.sort(dots(ax)[:, 0]), np.sort(X[:, 1]))
    given = Figure().add_subplot()
    assert shap_values(plain, X).beeswarm(given) is given


@pytest.mark.parametrize(
    "passed",
    [
        lambda X: X.iloc[0].to_dict(),
        lambda X: X.to_dict("records"),
        lambda X: X.to_dict("list"),
        lambda X: X.iloc[0],
        lambda X: {"more": 1, **dict(reversed(X.iloc[0].to_dict().items()))},
    ],
    ids=["dict", "list of dicts", "dict of lists", "series", "another order"],
)
def test_rows_with_names_are_drawn_as_those_of_a_frame(passed):
    X = mixed()[:5]
    found, expected = shap_values(fitted("a number"), passed(X)), shap_values(fitted("a number"), X)
    labels = [text.get_text() for text in expected.waterfall(0).get_yticklabels()]
    assert [text.get_text() for text in found.waterfall(0).get_yticklabels()] == labels
    assert len(dots(found.beeswarm())) == 4 * len(found.values)
    found.dependence("c")
    cells = row_cells(found.data, found.feature_names)
    assert cells[0, [0, 2, 3]].tolist() == X.iloc[0, [0, 2, 3]].tolist()


def test_cells_of_rows_with_numbers_are_floats():
    cells = row_cells([{"a": 1, "b": None}, {"a": 2.5, "b": 3}], ("b", "a"))
    np.testing.assert_array_equal(cells, [[np.nan, 1.0], [3.0, 2.5]])


def test_values_become_coordinates():
    assert AxisValues.of(np.array([3, 1, 3])).rank.tolist() == [1.0, 0.0, 1.0]
    categories = AxisValues.of(np.array(["b", None, "a"], dtype=object))
    assert categories.labels == ["a", "b"]
    np.testing.assert_array_equal(categories.x, [1, np.nan, 0])
    np.testing.assert_array_equal(categories.rank, [1, np.nan, 0])
    assert categories.ends == ("a", "b")
    numbers = AxisValues.of(np.array([1, None, True], dtype=object))
    np.testing.assert_array_equal(numbers.x, [1, np.nan, 1])
    days = AxisValues.of(np.array(["1970-01-03", "NaT"], dtype="datetime64[s]"))
    np.testing.assert_array_equal(days.x, [2 * 86_400e9, np.nan])
    assert (days.temporal_type, days.ends) == ("date", ("1970-01-03", "1970-01-03"))
    times = AxisValues.of(np.array([dt.time(7), None, dt.time(19, 30)], dtype=object))
    assert (times.temporal_type, times.ends) == ("time of day", ("07:00:00", "19:30:00"))
    mixed = AxisValues.of(np.array([dt.date(2020, 1, 1), "never"], dtype=object))
    assert mixed.labels == ["2020-01-01", "never"]
    masked = AxisValues.of(np.array([5, 0]), np.array([False, True]))
    np.testing.assert_array_equal(masked.x, [5, np.nan])
    assert AxisValues.of(np.full(3, np.nan)).ends == ("low", "high")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda w: w.beeswarm(top=0), "top must be a whole number at least 1"),
        (lambda w: w.waterfall(40), "row must be the index of a row of X, from 0 to 39; got 40"),
        (lambda w: w.waterfall(1.5), "row must be"),
        (lambda w: w.dependence("aa"), "feature must be one of 'a', 'b', 'c', 'd'.*mean 'a'"),
        (lambda w: w.dependence(9), "feature must be one of"),
        (lambda w: w.dependence("a", colour="dd"), "colour must be one of"),
        (lambda w: w.beeswarm(output="midd"), "output must be one of.*Did you mean 'mid'"),
    ],
)
def test_unknown_names_are_errors(classes, draw, message):
    with pytest.raises(InvalidParameterError, match=message):
        draw(classes)


def test_the_name_of_a_single_output_and_plots_without_rows_are_errors(why):
    with pytest.raises(InvalidParameterError, match="this model has one output"):
        why.beeswarm(output="prediction")
    with pytest.raises(ValueError, match="no rows to plot"):
        shap_values(fitted("a number"), mixed().iloc[:0]).beeswarm()
