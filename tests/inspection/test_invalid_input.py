"""Invalid input is an error that names the value and the remedy."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from inspection.tables import fitted, mixed, targets
from stagewise import (
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    StagewiseLinearRegressor,
    export_svg,
    export_text,
    rules,
)
from stagewise.inspection import (
    accumulated_effects,
    decision_path,
    importance,
    interactions,
    memory_limits,
    partial_dependence,
    permutation_importance,
    proximity,
    shap_values,
    staged_contributions,
)

Call = Callable[[Any, Any], Any]

X, Y = mixed(), targets(mixed())["number"]

OF_ROWS: dict[str, Call] = {
    "partial_dependence": lambda m, X: partial_dependence(
        m, X, "a", grid_resolution=3, max_samples=20
    ),
    "accumulated_effects": lambda m, X: accumulated_effects(m, X, "a", grid_resolution=3),
    "interactions": lambda m, X: interactions(m, X, ["a", "b"], max_samples=5),
    "permutation_importance": lambda m, X: permutation_importance(m, X, Y[: len(X)], n_repeats=1),
    "proximity": proximity,
    "staged_contributions": staged_contributions,
    "shap_values": shap_values,
    "shap_values of a background": lambda m, X: shap_values(
        m, mixed(), kind="interventional", background=X
    ),
    "decision_path": lambda m, X: decision_path(m, X[:1]),
}
OF_MODELS: dict[str, Call] = {
    **OF_ROWS,
    "importance": lambda m, X: importance(m),
    "export_text": lambda m, X: export_text(m),
    "export_svg": lambda m, X: export_svg(m),
    "rules": lambda m, X: rules(m),
}


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted("a number")


@pytest.mark.parametrize("name", OF_MODELS)
def test_models_that_are_not_fitted_estimators_are_refused(name: str) -> None:
    call = OF_MODELS[name]
    with pytest.raises(NotFittedError, match="not fitted yet"):
        call(GradientBoostingRegressor(n_estimators=100), X)
    with pytest.raises(TypeError, match=r"is a class. Pass .*GradientBoostingRegressor\(\)\.fit"):
        call(GradientBoostingRegressor, X)
    with pytest.raises(TypeError, match=r"NoneType has none\. Pass a boosting estimator"):
        call(None, X)


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "a column is not there": (X.drop(columns="b"), "yet now missing:\n- b"),
    "a column has another name": (X.rename(columns={"a": "A"}), "unseen at fit time:\n- A"),
    "a number is text": (X.assign(a="ten"), "X column 'a' holds the text 'ten' at row 0"),
    "an array of one dimension": (np.zeros(4), "Expected 2D array"),
    "too few columns": (np.zeros((5, 3)), "3"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rows_that_do_not_match_are_refused(name: str, what: str, model: Any) -> None:
    rows, message = BAD_ROWS[what]
    with pytest.raises(ValueError, match=message) as caught:
        OF_ROWS[name](model, rows)
    if "background" in name:
        assert str(caught.value).startswith("In background: ")


@pytest.mark.parametrize("name", OF_ROWS)
def test_unknown_categories_are_warned_about(name: str, model: Any) -> None:
    rows = X.assign(c=pd.Categorical(["zz"] * len(X)))
    with pytest.warns(
        UserWarning, match="X column 'c' has unknown categories.*'zz'.*missing values"
    ):
        OF_ROWS[name](copy.deepcopy(model), rows)  # a model warns once


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("partial_dependence", 1),
        ("accumulated_effects", 1),
        ("interactions", 2),
        ("permutation_importance", 2),
        ("shap_values of a background", 1),
    ],
)
def test_too_few_rows_are_refused(name: str, least: int, model: Any) -> None:
    with pytest.raises(ValueError, match=f"has 0 rows, and at least {least}"):
        OF_ROWS[name](model, X[:0])


def invalid_call(message: str, call: Callable[[Any], Any]) -> Any:
    return pytest.param(call, message, id=message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        invalid_call("no feature 'bb'. Did you mean 'b'", lambda m: partial_dependence(m, X, "bb")),
        invalid_call(
            "no feature 'income'. There are 'a', 'b', 'c', 'd'",
            lambda m: accumulated_effects(m, X, "income"),
        ),
        invalid_call("index from 0 to 3; got 4", lambda m: interactions(m, X, [0, 4])),
        invalid_call(
            r"groups\['g'\]: there is no feature 'q'",
            lambda m: permutation_importance(m, X, Y, groups={"g": ["q"]}),
        ),
        invalid_call(
            "at most 100,000; got 1000000000",
            lambda m: partial_dependence(m, None, "a", grid_resolution=10**9),
        ),
        invalid_call(
            "grid_resolution gives 400 x 400 points; the limit is 100000",
            lambda m: partial_dependence(
                m, None, ["a", "b"], grid_resolution={k: range(400) for k in "ab"}
            ),
        ),
        invalid_call(
            "the values of 'c' must be a list of categories; got 'uv'",
            lambda m: partial_dependence(m, X, "c", grid_resolution={"c": "uv"}),
        ),
        invalid_call(
            "'a' must be at least two finite, increasing",
            lambda m: accumulated_effects(m, X, "a", grid_resolution=[1.0]),
        ),
        invalid_call("kind=.shap. needs X", lambda m: importance(m, "shap")),
        invalid_call(
            "your function returned nan",
            lambda m: permutation_importance(m, X, Y, loss=lambda y, p, w: np.nan),
        ),
        invalid_call("There are no rows", lambda m: staged_contributions(m, X[:0]).table()),
        invalid_call("exactly one row; got 2", lambda m: decision_path(m, X[:2])),
        invalid_call("In Z: The feature names", lambda m: proximity(m, X, X.drop(columns="a"))),
        invalid_call("digits must be a whole number at least 1", lambda m: rules(m, digits=0)),
    ],
)
def test_error_names_invalid_arguments(
    call: Callable[[Any], Any], message: str, model: Any
) -> None:
    with pytest.raises(ValueError, match=message):
        call(model)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (shap_values, "Shapley values of 400 rows x 4 features would take .* at most 312 rows"),
        (staged_contributions, "8 rounds to 1 scores of 400 rows would take .* at most 156"),
        (proximity, "400 rows of X and 400 other rows would take .* at most 3 rows"),
    ],
)
def test_results_that_are_too_large_are_refused_with_their_size(
    call: Call, message: str, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limits, "RESULT_BYTES", 10_000)
    with pytest.raises(ValueError, match=message):
        call(model, X)


def test_unused_features_have_constant_curves_and_a_warning() -> None:
    rng = np.random.default_rng(0)
    Z = np.column_stack([np.arange(60.0), rng.normal(size=60)])
    model = DecisionTreeRegressor(max_leaf_nodes=4).fit(Z, Z[:, 0])
    options = [
        lambda: partial_dependence(model, Z, 1, grid_resolution=3).mean,
        lambda: partial_dependence(model, None, 1).mean,
        lambda: accumulated_effects(model, Z, 1, grid_resolution=3).effect,
        lambda: interactions(model, Z, [0, 1]).h,
    ]
    for call in options:
        with pytest.warns(UserWarning, match="The model does not use 'x1'"):
            assert np.ptp(call()) == 0
    assert not shap_values(model, Z).values[:, 1].any()
    assert permutation_importance(model, Z, Z[:, 0], n_repeats=1).value[1] == 0


def test_linear_terms_without_leaves_are_errors() -> None:
    Z = np.arange(40.0).reshape(20, 2)
    model = StagewiseLinearRegressor(n_estimators=3).fit(Z, Z[:, 0])
    for call in (export_text, export_svg, rules):
        with pytest.raises(ValueError, match=r"Tree export needs .* only linear terms"):
            call(model)
    with pytest.raises(ValueError, match="decision_path needs trees with splits"):
        decision_path(model, Z[:1])
    with pytest.warns(UserWarning, match="no splits. Use permutation_importance"):
        importance(model)
    why = shap_values(model, Z, kind="interventional", background=Z[:5])
    np.testing.assert_allclose(why.base_values + why.values.sum(axis=1), model.predict(Z))


def test_fractional_rows_are_predicted_as_in_the_estimator() -> None:
    numbers = X[["a", "b", "d"]]
    model = DecisionTreeRegressor(missing_strategy="probability", max_leaf_nodes=8).fit(numbers, Y)
    predicted = [model.predict(numbers.assign(a=v)).mean() for v in (-1.0, 1.0)]
    found = partial_dependence(model, numbers, "a", grid_resolution=[-1.0, 1.0], max_samples=None)
    np.testing.assert_allclose(found.mean[:, 0], predicted)
    row = numbers[numbers.b.isna()][:1]
    for call in (decision_path, proximity, staged_contributions, shap_values):
        with pytest.raises(ValueError, match=r"missing_strategy='probability'.* in 'b'"):
            call(model, row)
    with pytest.raises(ValueError, match=r"missing='probability'. Pass X and use method='brute'"):
        interactions(model, numbers, ["a", "b"])
    assert len(decision_path(model, numbers[numbers.b.notna()][:1]).paths) == 1


ARGUMENTS: dict[str, tuple[Callable[[], Any], str]] = {
    "a part of a name": (
        lambda: partial_dependence(None, X, ["a"], grid=5),
        r"partial_dependence\(\) has no argument 'grid'\. Did you mean 'grid_resolution'\?",
    ),
    "a similar name": (
        lambda: permutation_importance(None, X, Y, repeats=3),
        r"no argument 'repeats'\. Did you mean 'n_repeats'\?",
    ),
    "a name of another library": (
        lambda: shap_values(None, X, feature_perturbation="interventional"),
        r"no argument 'feature_perturbation'\. Here it is kind\.",
    ),
    "any other name": (lambda: proximity(None, X, colour=1), "Its arguments are estimator, X, Z"),
    "a value": (
        lambda: partial_dependence(fitted("a number"), X, ["a"], method="traversal"),
        "method must be one of 'auto', 'brute', 'recursion'; got 'traversal'",
    ),
    "by position": (
        lambda: interactions(None, X, ["a"], 2),
        r"takes at most 3 arguments by position; got 4\. Pass the others by name: sample_weight",
    ),
}


@pytest.mark.parametrize(("call", "words"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_the_error_for_a_foreign_argument_has_our_name(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()
