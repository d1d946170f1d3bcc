"""Fits that would be useless: small tables, models without a split, identifiers, dates as text."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Ridge

import stagewise
from stagewise import (
    AdaBoostClassifier,
    AutoClassifier,
    AutoRegressor,
    BaggingRegressor,
    ColumnWarning,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistogramTree,
    LinearRegression,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=30)
C = np.where(Y > 0, "up", "down")
SAME = r"^No tree has a split, so the model predicts the same for all rows\. "


def target_of(estimator: Any) -> Any:
    return C if is_classifier(estimator) else Y


SMALL = [
    GradientBoostingRegressor(),
    GradientBoostingRegressor(n_estimators=100),
    GradientBoostingClassifier(),
    GradientBoostingClassifier(n_estimators=100),
    AutoRegressor(quality=1),
    AutoClassifier(quality=1),
    AdaBoostClassifier(n_estimators=20),
    GentleBoostClassifier(n_estimators=20),
    LogitBoostClassifier(n_estimators=20),
    RandomForestRegressor(n_estimators=20),
    DecisionTreeClassifier(),
]


@pytest.mark.parametrize("estimator", SMALL, ids=repr)
@pytest.mark.parametrize("n_rows", [6, 15, 30])
def test_default_models_of_small_tables_have_splits(estimator: Any, n_rows: int) -> None:
    model = clone(estimator).fit(X[:n_rows], target_of(estimator)[:n_rows])
    assert model.score(X[:n_rows], target_of(estimator)[:n_rows]) > 0.5


@pytest.mark.parametrize(
    ("n_rows", "of_numbers", "of_classes"),
    [(2, 1, 1), (20, 1, 5), (21, 2, 6), (60, 3, 15), (80, 4, 20), (399, 20, 20), (2000, 20, 20)],
)
def test_the_automatic_leaf_size_grows_with_the_rows(
    n_rows: int, of_numbers: int, of_classes: int
) -> None:
    rows = np.random.default_rng(1).normal(size=(n_rows, 1))
    y = rows[:, 0]
    for estimator, target, least in (
        (GradientBoostingRegressor(n_estimators=3), y, of_numbers),
        (GradientBoostingClassifier(n_estimators=3), y > np.median(y), of_classes),
    ):
        automatic = clone(estimator).fit(rows, target)
        given = clone(estimator).set_params(min_samples_leaf=least).fit(rows, target)
        assert automatic.fingerprint() == given.fingerprint()


def test_the_automatic_leaf_size_of_weights_is_that_of_repeated_rows() -> None:
    model = GradientBoostingRegressor(n_estimators=5, max_features=None)
    twice = clone(model).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    assert clone(model).fit(X, Y, np.full(30, 2.0)).fingerprint() == twice.fingerprint()
    plain = clone(model).fit(X, Y)
    zero = np.concatenate([np.ones(30), np.zeros(30)])
    absent = clone(model).fit(np.concatenate([X, X]), np.concatenate([Y, -Y]), zero)
    assert absent.fingerprint() == plain.fingerprint()
    fractions = clone(model).fit(X, Y, np.full(30, 0.1))
    np.testing.assert_allclose(fractions.predict(X), plain.predict(X), rtol=1e-9)


LEAF = r"min_samples_leaf=40 needs 80 rows for a split, and there are 30: set min_samples_leaf to"
WITHOUT_SPLIT: dict[str, tuple[Any, str]] = {
    "boosting": (GradientBoostingRegressor(n_estimators=5, min_samples_leaf=40), LEAF),
    "classes": (GradientBoostingClassifier(n_estimators=5, min_samples_leaf=40), LEAF),
    "AdaBoost": (AdaBoostClassifier(n_estimators=5, min_samples_leaf=40), LEAF),
    "LogitBoost": (LogitBoostClassifier(n_estimators=5, min_samples_leaf=40), LEAF),
    "forest": (RandomForestClassifier(n_estimators=5, min_samples_leaf=40), LEAF),
    "tree": (DecisionTreeRegressor(min_samples_leaf=40), LEAF),
    "learner": (
        StagewiseRegressor(n_estimators=5, learner=HistogramTree(min_samples_leaf=40)),
        LEAF,
    ),
    "gain": (
        GradientBoostingRegressor(n_estimators=5, min_gain=1e9),
        r"No split is possible with min_gain=1000000000\.0: set a smaller value\.",
    ),
    "l1": (
        GradientBoostingRegressor(n_estimators=5, l1_regularization=1e9),
        r"with l1_regularization=1000000000\.0: set a smaller value\.",
    ),
    "two limits": (
        GradientBoostingRegressor(n_estimators=5, min_gain=1e9, min_hessian=1e9),
        r"with min_hessian=1000000000\.0 and min_gain=1000000000\.0: set",
    ),
    "penalty": (
        GradientBoostingRegressor(n_estimators=5, feature_penalty=[1e9] * 3),
        r"with feature_penalty=\[1000000000\.0, .*\]: set",
    ),
    "impurity": (ExtraTreesRegressor(n_estimators=5, min_impurity_decrease=9.0), "decrease=9.0: "),
    "pruning": (
        DecisionTreeRegressor(ccp_alpha=1e9),
        r"ccp_alpha=1e\+09 has pruned all 30 leaves of the tree: set a smaller value\.",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_SPLIT)
def test_a_model_without_a_split_warns_and_names_the_parameter(name: str) -> None:
    estimator, words = WITHOUT_SPLIT[name]
    with pytest.warns(UserWarning, match=SAME + ".*" + words) as caught:
        model = clone(estimator).fit(X, target_of(estimator))
    assert len(caught) == 1
    assert len(set(model.predict(X).tolist())) == 1


def test_features_without_a_relation_to_the_target_warn() -> None:
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25, dtype=float)
    parity = square[:, 0] != square[:, 1]
    with pytest.warns(UserWarning, match="with min_samples_leaf=20 rows on both sides lowers"):
        GradientBoostingClassifier(n_estimators=5).fit(square, parity)
    with pytest.warns(UserWarning, match="No split lowers the loss: check that the rows of X bel"):
        AdaBoostClassifier(n_estimators=5).fit(square, parity)


@pytest.mark.parametrize("pruning", ["reduced_error", "early_stopping"])
def test_a_tree_that_held_out_rows_prune_completely_warns(pruning: str) -> None:
    noise = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.warns(UserWarning, match="Held-out rows have pruned all .* Set pruning=None"):
        DecisionTreeRegressor(pruning=pruning).fit(noise[:, :2], noise[:, 2])


def test_trees_that_add_nothing_to_init_warn() -> None:
    model = GradientBoostingRegressor(n_estimators=5, init=Ridge(), min_samples_leaf=40)
    with pytest.warns(UserWarning, match="No tree has a split, so the trees add nothing to init"):
        model.fit(X, Y)


def test_the_trees_of_a_bagging_warn_once() -> None:
    with pytest.warns(UserWarning, match="No tree has a split") as caught:
        BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=40), n_estimators=3).fit(X, Y)
    assert len(caught) == 1


CONSTANT: dict[str, Callable[[], Any]] = {
    "y has only one value": lambda: (X, np.ones(30)),
    "Every feature is constant": lambda: (np.ones((30, 2)), Y),
    "Every feature is constant or missing": lambda: (np.full((30, 2), np.nan), Y),
}


@pytest.mark.parametrize("words", CONSTANT)
def test_constant_data_warn_once(words: str) -> None:
    for estimator in (
        GradientBoostingRegressor(n_estimators=5),
        RandomForestRegressor(n_estimators=5),
    ):
        with pytest.warns(UserWarning, match=words) as caught:
            clone(estimator).fit(*CONSTANT[words]())
        assert len(caught) == 1


def test_a_dataset_warns_as_a_table_does() -> None:
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    dataset = stagewise.read_batches(lambda: iter([table]), target="y")
    model = GradientBoostingRegressor(n_estimators=5, min_samples_leaf=40)
    with pytest.warns(UserWarning, match=SAME + LEAF):
        model.fit(dataset)
    constant = stagewise.read_batches(lambda: iter([table.assign(y=1.0)]), target="y")
    with pytest.warns(UserWarning, match="y has only one value") as caught:
        clone(model).fit(constant)
    assert len(caught) == 1
    small = GradientBoostingRegressor(n_estimators=5)
    assert small.fit(dataset).fingerprint() == clone(small).fit(X, Y).fingerprint()


def people(n: int) -> pd.DataFrame:
    """Return a table with a name in every row, and a city."""
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "ticket": [f"t{i // 2 * 2 if i % 3 else i}" for i in range(n)],
            "city": ["Rome", "Oslo"] * (n // 2),
            "age": np.arange(n) % 70,
        }
    )


def test_columns_like_identifiers_warn_once_and_are_named() -> None:
    table = people(60)
    model = GradientBoostingRegressor(n_estimators=5, categorical_features="text")
    with pytest.warns(
        ColumnWarning,
        match=r"^X column 'name' \(60 categories\) and X column 'ticket' \(40 categories\) have a "
        r"category of their own in most of the 60 rows, .* Leave such columns out of X\.$",
    ) as caught:
        model.fit(table, table["age"])
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table)
        clone(model).fit(table[["city", "age"]], table["age"])
        clone(model).fit(people(10), np.arange(10))  # too few rows to decide


def test_linear_models_warn_about_identifiers() -> None:
    table = people(60)[["name", "age"]]
    model = LinearRegression(categorical_features=["name"])
    with pytest.warns(UserWarning, match="like an identifier|degrees of freedom") as caught:
        model.fit(table, table["age"])
    assert sum(issubclass(warning.category, ColumnWarning) for warning in caught) == 1


@pytest.mark.parametrize(
    "values",
    [
        ["2024-03-01", "2024-03-02"],
        ["2024-03-01 14:05:00", "2024-03-02T00:00:00Z"],
        ["20240301T140500", "20240302T000000", "2024-03-01"],
        ["2024-03", "2024-04", "2024-03-01"],
        ["2024/3/1", "2024/12/31"],
        ["03/31/2024", "4/1/2024"],
        ["31.12.2024", "1.1.2025"],
        ["3/31/24", "4/1/24"],
        ["1 Mar 2024", "02-Apr-2024"],
        ["March 1, 2024", "Apr 2 2024 5:00 PM"],
    ],
)
def test_dates_as_text_advise_a_conversion(values: list[str]) -> None:
    table = pd.DataFrame({"day": (values * 20)[:40]})
    model = GradientBoostingRegressor(n_estimators=5, categorical_features="text")
    with pytest.warns(ColumnWarning, match="'day' is text with dates, .*pandas.to_datetime") as w:
        model.fit(table, np.arange(40))
    assert ("stagewise.parse_dates" in str(w[0].message)) == (
        "-03-0" in values[-1] or "-03-0" in values[0]
    )
    call = (
        "stagewise.parse_dates"
        if "-03-0" in values[-1] or "-03-0" in values[0]
        else "pandas.to_datetime"
    )
    with pytest.raises(ValueError, match=rf"Convert it first: X.* = {call}\(X"):
        GradientBoostingRegressor(n_estimators=5).fit(table, np.arange(40))


@pytest.mark.parametrize(
    "values",
    [
        ["2024", "2025"],
        ["1.2.3", "10.0.1"],
        ["192.168.0.1", "10.0.0.2"],
        ["555-12-3456", "555-11-2222"],
        ["12:30", "13:00"],
        ["2024-03-01", "unknown"],
        ["may", "june"],
        ["1/2", "3/4"],
        ["A-2024-03", "B-2024-04"],
    ],
)
def test_text_that_is_no_date_does_not_warn(values: list[str]) -> None:
    table = pd.DataFrame({"code": values * 20})
    model = GradientBoostingRegressor(n_estimators=5, categorical_features="text")
    model.fit(table, np.arange(40) % 2)  # warnings are errors in the tests


DAY_NUMBERS = [20240301, 20240302, 20231231, 19991130] * 10


@pytest.mark.parametrize("kind", [int, float, "Int64"])
@pytest.mark.parametrize(
    "make", [GradientBoostingRegressor, DecisionTreeRegressor, LinearRegression]
)
def test_days_as_numbers_advise_a_conversion(make: Any, kind: Any) -> None:
    table = pd.DataFrame({"a": np.sin(np.arange(40.0)), "day": pd.Series(DAY_NUMBERS, dtype=kind)})
    y = np.arange(40.0) % 4
    call = r"X\['day'\] = pandas.to_datetime\(X\['day'\], format='%Y%m%d'\)\.$"
    with pytest.warns(
        ColumnWarning, match=rf"'day' has days as numbers, such as 19991130, .*{call}"
    ):
        make().fit(table, y)


@pytest.mark.parametrize(
    "numbers",
    [
        [20240301] * 40,
        [*DAY_NUMBERS[:39], 20240230],
        [*DAY_NUMBERS[:39], 20240301.5],
        [240301] * 40,
    ],
)
def test_other_numbers_do_not_warn(numbers: Any) -> None:
    table = pd.DataFrame({"a": np.sin(np.arange(40.0)), "day": numbers})
    GradientBoostingRegressor().fit(table, table["a"])


def test_weights_of_very_different_size_are_the_reason_of_a_model_without_a_split() -> None:
    weight = np.ones(30)
    weight[4] = 1e12
    with pytest.warns(UserWarning, match=SAME + r"The largest weight is 1e\+12 times the smallest"):
        GradientBoostingRegressor(n_estimators=2, min_samples_leaf=1).fit(X, Y, weight)


def test_targets_beyond_the_precision_are_the_reason_of_a_poisson_tree_without_a_split() -> None:
    y = np.round(np.exp(Y))
    y[3] = 1e20
    with pytest.warns(UserWarning, match=SAME + r"The largest target is 1e\+20 times the smallest"):
        DecisionTreeRegressor(criterion="poisson").fit(X, y)


# ---- models that predict one class --------------------------------------------------------------


def classes_of_noise(share: float = 0.3) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(1500, 4)), np.where(rng.random(1500) < share, "yes", "no")


def test_held_out_rows_that_keep_one_class_are_a_warning() -> None:
    model = GradientBoostingClassifier(
        n_estimators=50, early_stopping=True, eval_metric="auc", n_iter_no_change=2, random_state=0
    )
    expected = (
        r"the model predicts the class 'no' for all training rows; 7\d% of them have it\. Held-out "
        r"rows chose this number of rounds by eval_metric='auc': set a larger n_iter_no_change than"
    )
    with pytest.warns(UserWarning, match=expected):
        model.fit(*classes_of_noise())


def test_rounds_that_change_no_class_are_a_warning() -> None:
    model = GradientBoostingClassifier(n_estimators=20, learning_rate=0.001)
    expected = r"Set a larger n_estimators than 20, or raise learning_rate=0\.001\."
    with pytest.warns(UserWarning, match=expected):
        model.fit(*classes_of_noise())


@pytest.mark.parametrize(("share", "rounds"), [(0.05, 20), (0.3, 5)])
def test_rare_classes_and_trials_of_few_rounds_are_no_warning(share: float, rounds: int) -> None:
    model = GradientBoostingClassifier(n_estimators=rounds, learning_rate=0.001)
    model.fit(*classes_of_noise(share))
