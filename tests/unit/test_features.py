"""New data are matched to the columns of training, and wide integers are exact."""

from __future__ import annotations

import timeit
import warnings
from bisect import bisect_left

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagewise.data.categories.unknown import UnknownCategories
from stagewise.data.feature import Feature
from stagewise.data.features import Features
from stagewise.data.reading.column import Column
from stagewise.data.reading.table import read_table
from stagewise.data.reading.wide_integers import learn_integer_cuts, ranks, round_up_to_floats

BIG = 2**53 + 1
INT64 = st.integers(-(2**63), 2**63 - 1)
UINT64 = st.integers(0, 2**64 - 1)


def learned(X: object, **options: object) -> Features:
    return Features.learn(read_table(X, caller="Model"), **options)


def matched(features: Features, X: object) -> list[list[float]]:
    columns = features.match(X, "Model")
    return np.column_stack(columns).tolist() if isinstance(columns, list) else columns.tolist()


# Learned features


def test_an_array_has_real_features_without_names() -> None:
    features = learned(np.zeros((2, 3)))
    assert features.names is None
    assert features.n == len(features) == 3
    assert list(features) == [Feature(None, "real", None)] * 3


def test_a_frame_has_names() -> None:
    assert learned(pd.DataFrame({"b": [1.0], "a": [2.0]})).names == ["b", "a"]


def test_a_wide_column_stores_its_cuts() -> None:
    features = learned(pl.DataFrame({"id": [BIG, BIG + 1, None], "x": [1, 2, 3]}))
    assert [feature.kind for feature in features] == ["wide_integer", "real"]
    assert features[0].cuts.tolist() == [BIG]
    assert features[0].cuts.dtype == np.int64
    assert features[1].cuts is None


def test_features_are_equal_when_their_cuts_are() -> None:
    one, two = ([[BIG], [BIG + gap]] for gap in (2, 4))
    assert learned(one) == learned(one)
    assert learned(one) != learned(two)


def test_names_for_some_features_only_are_refused() -> None:
    with pytest.raises(ValueError, match="some features have names"):
        Features([Feature("a", "real"), Feature(None, "real")])


# Matching


def test_a_matching_array_is_used_without_a_copy() -> None:
    features = learned(np.zeros((2, 3)))
    for X in (np.ones((1, 3)), np.ones((1, 3), np.float32), np.ones((3, 4)).T[:, ::-1]):
        assert np.shares_memory(features.match(X, "Model"), X)


def test_matching_one_row_takes_about_a_microsecond() -> None:
    features, X = learned(np.zeros((2, 28))), np.zeros((1, 28))
    best = min(timeit.repeat(lambda: features.match(X, "Model"), number=1000, repeat=30))
    # Measured 0.4 on the development machine; the rest is room for a busy one.
    assert best / 1000 < 1.5e-6


@pytest.mark.parametrize("n_columns", [2, 4])
@pytest.mark.parametrize("make", [np.ones, lambda shape: pd.DataFrame(np.ones(shape))])
def test_an_array_of_another_width_is_refused(n_columns: int, make) -> None:
    words = f"X has {n_columns} features, but Model is expecting 3 features as input."
    with pytest.raises(ValueError, match=words):
        learned(np.zeros((2, 3))).match(make((5, n_columns)), "Model")


def test_one_dimension_is_refused_at_predict() -> None:
    with pytest.raises(ValueError, match="Reshape your data"):
        learned(np.zeros((2, 3))).match(np.zeros(3), "Model")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frame_columns_are_matched_by_name(make) -> None:
    features = learned(make({"a": [1.0], "b": [2.0]}))
    X = make({"id": ["not read"], "b": [20.0], "a": [10.0]})
    assert matched(features, X) == [[10.0, 20.0]]


def test_a_frame_may_come_from_another_library() -> None:
    features = learned(pd.DataFrame({"a": [1], "b": [2]}))
    assert matched(features, pl.DataFrame({"b": [20], "a": [None]}).to_arrow())[0][1] == 20


def test_labels_that_are_not_text_are_matched() -> None:
    features = learned(pd.DataFrame([[1, 2]], columns=[7, 3]))
    assert matched(features, pd.DataFrame([[20, 10]], columns=[3, 7])) == [[10, 20]]


def test_missing_features_are_named_as_in_scikit_learn() -> None:
    features = learned(pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(ValueError, match="feature names") as caught:
        features.match(pd.DataFrame({"a": [1]}), "Model")
    assert str(caught.value) == (
        "The feature names should match those that were passed during fit.\n"
        "Feature names seen at fit time, yet now missing:\n- b\n"
    )


def test_error_has_the_old_and_new_name_of_a_renamed_feature() -> None:
    features = learned(pd.DataFrame([[0] * 8], columns=[f"x{i}" for i in range(8)]))
    with pytest.raises(ValueError, match="unseen at fit time:\n- y\nFeature names") as caught:
        features.match(pd.DataFrame({"y": [1]}), "Model")
    assert str(caught.value).endswith("missing:\n- x0\n- x1\n- x2\n- x3\n- x4\n- ...\n")


def test_an_array_for_a_model_with_names_warns_at_the_callers_line() -> None:
    features = learned(pd.DataFrame({"a": [1.0]}))
    words = "X does not have valid feature names, but Model was fitted with feature names"
    with pytest.warns(UserWarning, match=words) as caught:
        assert matched(features, np.array([[3.0]])) == [[3.0]]
    assert caught[0].filename == __file__


def test_names_for_a_model_without_names_warn() -> None:
    words = "X has feature names, but Model was fitted without feature names"
    with pytest.warns(UserWarning, match=words):
        assert matched(learned([[1.0]]), pd.DataFrame({"a": [3.0]})) == [[3.0]]


def test_default_column_numbers_are_no_names_and_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert matched(learned(pd.DataFrame([[1.0]])), np.array([[3.0]])) == [[3.0]]


def test_no_rows_give_no_rows() -> None:
    assert learned([[1, 2]]).match(np.zeros((0, 2)), "Model").shape == (0, 2)
    features = learned(pd.DataFrame({"a": [1], "b": [BIG]}))
    for X in (pd.DataFrame(columns=["b", "a"]), pl.DataFrame({"a": [], "b": []})):
        assert [len(column) for column in features.match(X, "Model")] == [0, 0]


# Wide integers


def test_training_rows_become_ranks_and_missing_ones_nan() -> None:
    table = read_table(pl.DataFrame({"id": [BIG + 4, BIG, None, BIG + 2]}), caller="Model")
    (column,) = Features.learn(table).columns(table, UnknownCategories())
    assert column.dtype == np.float64
    np.testing.assert_array_equal(column, [2, 0, np.nan, 1])


def test_small_integers_of_a_wide_feature_are_ranked() -> None:
    features = learned([[BIG], [BIG + 2], [0]])
    assert features[0].cuts.tolist() == [2**52, BIG + 1]
    assert matched(features, [[2**52], [2**52 + 1], [-5]]) == [[0], [1], [0]]
    assert matched(features, [[2.0**52 + 1], [-np.inf], [np.inf], [0.5]]) == [[1], [0], [2], [0]]


def test_dates_and_integers_of_nanoseconds_are_the_same() -> None:
    stamps = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"])
    features = learned(pd.DataFrame({"t": stamps}))
    integers = pd.DataFrame({"t": stamps.as_unit("ns").astype("int64")})
    assert matched(features, pd.DataFrame({"t": stamps})) == [[0], [1], [2]]
    assert matched(learned(integers), integers) == [[0], [1], [2]]
    with pytest.raises(ValueError, match="X column 't' holds the number 1577836800000000000 at"):
        matched(features, integers)


@given(st.lists(INT64, min_size=1), st.lists(INT64))
def test_few_distinct_values_are_all_separated(values, others) -> None:
    cuts = learn_integer_cuts(Column(np.array(values, np.int64), None), None, 255)
    distinct = sorted(set(values))
    rank = ranks(Column(np.array(distinct, np.int64), None), cuts)
    assert rank.tolist() == [*range(len(distinct))]
    got = ranks(Column(np.array(others, np.int64), None), cuts).tolist()
    assert got == [bisect_left(cuts.tolist(), other) for other in others]


@given(st.lists(UINT64, min_size=1))
def test_unsigned_values_are_separated_too(values) -> None:
    column = Column(np.array(values, np.uint64), None)
    distinct = sorted(set(values))
    rank = ranks(column, learn_integer_cuts(column, None, 255))
    assert rank.tolist() == [distinct.index(value) for value in values]


@given(
    st.sampled_from([(np.int64, INT64), (np.uint64, UINT64)]).flatmap(
        lambda kind: st.lists(kind[1], max_size=8).map(lambda v: np.unique(np.array(v, kind[0])))
    ),
    st.one_of(
        st.lists(INT64).map(lambda v: np.array(v, np.int64)),
        st.lists(UINT64).map(lambda v: np.array(v, np.uint64)),
        st.lists(st.floats(allow_nan=False)).map(lambda v: np.array(v, np.float64)),
    ),
)
def test_ranks_are_exact_between_types(cuts, values) -> None:
    cuts = cuts[cuts < np.iinfo(cuts.dtype).max]  # the largest integer separates nothing
    expected = [sum(cut < value for cut in cuts.tolist()) for value in values.tolist()]
    assert ranks(Column(values, None), cuts).tolist() == expected


@given(st.lists(INT64), st.floats(allow_nan=False))
def test_a_wide_integer_stays_on_its_side_of_any_threshold(values, threshold) -> None:
    column = Column(np.array(values, np.int64), None)
    sides = (round_up_to_floats(column) <= threshold).tolist()
    assert sides == [value <= threshold for value in values]


@given(st.lists(UINT64), st.floats(allow_nan=False))
def test_an_unsigned_integer_stays_on_its_side_too(values, threshold) -> None:
    column = Column(np.array(values, np.uint64), None)
    sides = (round_up_to_floats(column) <= threshold).tolist()
    assert sides == [value <= threshold for value in values]


def test_wide_integers_are_accepted_for_real_features() -> None:
    features = learned(pd.DataFrame({"a": [1, 2]}))
    columns = features.match(pl.DataFrame({"a": [2**60 + 1, None]}), "Model")
    np.testing.assert_array_equal(columns[0], [np.nextafter(2.0**60, np.inf), np.nan])


def test_many_values_get_at_most_max_bins_less_one_cuts() -> None:
    values = np.arange(10_000) + BIG
    cuts = learn_integer_cuts(Column(values, None), None, 100)
    assert len(cuts) == 99
    share = np.bincount(ranks(Column(values, None), cuts).astype(int))
    assert (share == 100).all()


def test_weights_equal_repeated_rows_in_cuts() -> None:
    rng = np.random.default_rng(0)
    values = BIG + rng.integers(0, 500, 2000)
    weight = rng.integers(0, 4, 2000)
    repeated = Column(np.repeat(values, weight), None)
    weighted = learn_integer_cuts(Column(values, None), weight.astype(float), 16)
    assert weighted.tolist() == learn_integer_cuts(repeated, None, 16).tolist()


def test_a_row_of_weight_zero_adds_no_cut() -> None:
    features = learned([[BIG], [BIG + 2], [BIG + 4]], weight=np.array([1.0, 1.0, 0.0]))
    assert features[0].cuts.tolist() == [BIG + 1]


def test_held_out_rows_add_no_cut() -> None:
    rows = np.array([0, 1, 3], dtype=np.uint32)
    X = pl.DataFrame({"id": [BIG, BIG + 2, BIG + 4, None], "n": [1, 2, BIG, 3]})
    for weight in (None, np.array([1.0, 1.0, 5.0, 2.0])):
        features = learned(X, rows=rows, weight=weight)
        assert features[0].cuts.tolist() == [BIG + 1]
        assert features[1] == Feature("n", "real", None)


def test_a_wide_column_without_values_is_constant() -> None:
    features = learned([[BIG], [BIG + 2]], weight=np.array([0.0, 0.0]))
    assert matched(features, [[BIG], [0]]) == [[0], [0]]
