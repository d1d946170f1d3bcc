"""Shapley values of estimators: additivity, invariance and errors."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import stagewise
from estimators.tables import CASES, fit_case, make_table
from reference import shap as reference
from stagewise import (
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LinearRegression,
    RandomForestClassifier,
    RandomForestRegressor,
)
from stagewise.boosting.progress import ProgressLines
from stagewise.estimators.bases.model_access import is_average
from stagewise.inspection import (
    decision_path,
    memory_limits,
    shap_values,
    staged_contributions,
)
from stagewise.inspection.fitted_model import FittedModel
from stagewise.inspection.shap import values as shap_module

TABLE = make_table(600)
KINDS = ("tree_path_dependent", "interventional")
# Linear leaves are no constants, and fractional rows have no path.
WITHOUT = ("linear", "one tree of classes")
CONSTANT_LEAVES = [name for name in CASES if not any(word in name for word in WITHOUT)]


def explained(model: Any, X: Any, kind: str = "tree_path_dependent", **options: Any) -> Any:
    if kind == "interventional":
        options.setdefault("background", X[:40])
    return shap_values(model, X, kind=kind, **options)


def explained_score(model: Any, X: Any) -> np.ndarray:
    """Return the score to which Shapley values must sum."""
    if is_average(model) and hasattr(model, "predict_proba"):
        p = model.predict_proba(X)
        return p[:, 1] if p.shape[1] == 2 else p
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    loss = model.model_.loss
    predicted = model.predict(X)
    return np.log(predicted) if loss in ("poisson", "gamma", "tweedie") else predicted


def check_sums(model: Any, X: Any, why: Any) -> None:
    score = explained_score(model, X)
    axes = (1, 2) if why.values.ndim - score.ndim == 2 else 1
    total = why.base_values + why.values.sum(axis=axes)
    np.testing.assert_allclose(total, score, rtol=1e-9, atol=1e-9 * np.abs(score).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CONSTANT_LEAVES)
def test_shapley_values_of_every_estimator_sum_to_the_score(case: str, kind: str) -> None:
    model = fit_case(case, TABLE)
    why = explained(model, TABLE.X, kind)
    assert why.values.shape[:2] == TABLE.X.shape
    check_sums(model, TABLE.X, why)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("forest", [RandomForestRegressor, ExtraTreesRegressor])
def test_shapley_values_of_deep_forests_sum_to_the_score(forest: type, kind: str) -> None:
    model = forest(n_estimators=3, random_state=0).fit(TABLE.X, TABLE.number)
    X = TABLE.X[:50]
    check_sums(model, X, explained(model, X, kind))
    check_sums(model, X, explained(model, X, kind, interactions=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(n_estimators=5),
        RandomForestClassifier(n_estimators=5, criterion="entropy"),
        ExtraTreesClassifier(n_estimators=5),
        DecisionTreeClassifier(max_depth=5),
    ],
    ids=repr,
)
def test_averaged_trees_of_two_classes_explain_the_probability(model: Any, kind: str) -> None:
    model = clone(model).fit(TABLE.X, TABLE.two)
    X = TABLE.X[:60]
    for interactions in (False, True):
        check_sums(model, X, explained(model, X, kind, interactions=interactions))
    staged = staged_contributions(model, X).scores()[:, -1]
    np.testing.assert_allclose(staged, model.predict_proba(X)[:, 1:], atol=1e-12)
    path = decision_path(model, X[:1])
    np.testing.assert_allclose(path.score, model.predict_proba(X[:1])[0, 1:], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_of_classes_explains_its_probabilities(kind: str) -> None:
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(TABLE.X, TABLE.many)
    why = explained(model, TABLE.X[:60], kind)
    total = why.base_values + why.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(TABLE.X[:60]), atol=1e-10)
    assert why.output_names == ("0", "1", "2", "3", "4")


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_log_link_explains_the_logarithm(loss: str) -> None:
    model = GradientBoostingRegressor(n_estimators=5, loss=loss).fit(TABLE.X, TABLE.number + 1)
    check_sums(model, TABLE.X, explained(model, TABLE.X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("interactions", [False, True])
def test_shapley_values_equal_the_definition(kind: str, interactions: bool) -> None:
    X = TABLE.X[:, :4]
    weight = 1.0 + np.arange(len(X)) % 3
    model = GradientBoostingClassifier(n_estimators=3, categorical_features=[1], random_state=0)
    model.fit(X, TABLE.many, sample_weight=weight)
    rows = X[:3]
    background = X[10:13] if kind == "interventional" else None
    why = shap_values(model, rows, kind=kind, background=background, interactions=interactions)
    ensemble, k = model.model_.ensemble, 5
    inner = model.model_.features.match(X, "test")
    columns = np.column_stack(inner) if isinstance(inner, list) else inner
    for i in range(3):
        if background is None:
            game = reference.path_game(ensemble.trees, columns[i], k, ensemble.n_categories)
        else:
            game = reference.interventional_game(
                ensemble.trees, columns[i], columns[10:13], k, ensemble.n_categories
            )
        expected = (reference.interactions if interactions else reference.shapley)(game, 4)
        np.testing.assert_allclose(why.values[i], expected, rtol=1e-9, atol=1e-11)
        base = ensemble.base + game(frozenset())
        np.testing.assert_allclose(why.base_values, base, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_interactions_sum_to_the_shapley_values(kind: str) -> None:
    model = fit_case("five classes", TABLE)
    single = explained(model, TABLE.X, kind).values
    pairs = explained(model, TABLE.X, kind, interactions=True).values
    assert pairs.shape == (600, 5, 5, 5)
    np.testing.assert_allclose(pairs.sum(axis=2), single, atol=1e-10)
    np.testing.assert_array_equal(pairs, pairs.swapaxes(1, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_blocks_change_no_bit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.tile(TABLE.X, (5, 1))
    model = fit_case("five classes", TABLE)
    background = TABLE.X[:30] if kind == "interventional" else None
    plain = shap_values(model.set_params(n_jobs=1), X, kind=kind, background=background)
    for n_jobs in (2, 3):
        other = shap_values(model.set_params(n_jobs=n_jobs), X, kind=kind, background=background)
        assert other.values.tobytes() == plain.values.tobytes()
    some = shap_values(model, X[100:117], kind=kind, background=background)
    assert some.values.tobytes() == plain.values[100:117].tobytes()
    monkeypatch.setattr(shap_module, "WORK", 1)
    monkeypatch.setattr(shap_module, "TREE_BYTES", 1)
    parts = shap_values(model, X, kind=kind, background=background)
    assert parts.values.tobytes() == plain.values.tobytes()


def test_weight_two_equals_the_row_twice() -> None:
    weight = np.arange(600) % 3
    options = {"n_estimators": 10, "random_state": 0}
    weighted = GradientBoostingRegressor(**options).fit(TABLE.X, TABLE.number, sample_weight=weight)
    often = np.repeat(np.arange(600), weight)
    repeated = GradientBoostingRegressor(**options).fit(TABLE.X[often], TABLE.number[often])
    a, b = shap_values(weighted, TABLE.X), shap_values(repeated, TABLE.X)
    np.testing.assert_allclose(a.values, b.values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(a.base_values, b.base_values, rtol=1e-12)


def test_the_order_of_background_rows_does_not_matter() -> None:
    model = fit_case("two classes", TABLE)
    one = shap_values(model, TABLE.X, kind="interventional", background=TABLE.X[:50])
    two = shap_values(model, TABLE.X, kind="interventional", background=TABLE.X[:50][::-1])
    assert one.values.tobytes() == two.values.tobytes()


def test_a_loaded_model_has_the_same_shapley_values(tmp_path: Any) -> None:
    model = fit_case("categories", TABLE)
    model.save(tmp_path / "model.stgw")
    plain = shap_values(model, TABLE.X)
    for again in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert shap_values(again, TABLE.X).values.tobytes() == plain.values.tobytes()


def test_memory_layout_and_sparse_rows_change_no_bit() -> None:
    X = np.where(np.isnan(TABLE.X), 0.0, TABLE.X) * (TABLE.X > 500)
    model = GradientBoostingRegressor(n_estimators=5).fit(X, TABLE.number)
    plain = shap_values(model, X, kind="interventional", background=X[:20])
    forms = (np.asfortranarray(X), X.astype(np.float32), csr_array(X), csc_array(X))
    for form in forms:
        background = form[:20] if not isinstance(form, csc_array) else X[:20]
        other = shap_values(model, form, kind="interventional", background=background)
        assert other.values.tobytes() == plain.values.tobytes()


def test_a_monotone_transform_of_a_column_changes_nothing() -> None:
    squeezed = TABLE.X.copy()
    squeezed[:, 0] = np.sqrt(squeezed[:, 0])
    options = {"n_estimators": 5, "random_state": 0}
    a = GradientBoostingRegressor(**options).fit(TABLE.X, TABLE.number)
    b = GradientBoostingRegressor(**options).fit(squeezed, TABLE.number)
    one, two = shap_values(a, TABLE.X), shap_values(b, squeezed)
    assert one.values.tobytes() == two.values.tobytes()


def test_an_unused_feature_has_shapley_value_zero() -> None:
    X = np.column_stack([TABLE.X, np.zeros(600)])
    model = GradientBoostingRegressor(n_estimators=5).fit(X, TABLE.number)
    assert not shap_values(model, X).values[:, -1].any()


def cities() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    city, day = rng.integers(0, 60, 2000), rng.integers(0, 20, 2000)
    frame = pd.DataFrame(
        {
            "city": pd.Categorical([f"c{i}" for i in city]),
            "x": rng.normal(size=2000),
            "day": pd.Categorical(day),
        }
    )
    effect = np.random.default_rng(1).normal(size=(60, 20))
    return frame, effect[city, day] + frame["x"].to_numpy() + city / 20


@pytest.mark.parametrize("interactions", [False, True])
def test_target_encodings_are_divided_equally_among_their_sources(interactions: bool) -> None:
    X, y = cities()
    model = GradientBoostingRegressor(n_estimators=15, category_encoding="target").fit(X, y)
    sources = model.model_.features.sources
    assert any(len(s) == 2 for s in sources)
    why = shap_values(model, X.head(100), interactions=interactions)
    assert why.feature_names == ("city", "x", "day")
    check_sums(model, X.head(100), why)
    # By hand: the columns as they are, then divided among their sources.
    fitted = FittedModel.of(model, "test")
    raw, _ = shap_module._compute(
        model.model_.ensemble,
        fitted.workers,
        fitted.rows(X.head(100)).dense_tree_columns(2**30),
        None,
        False,
        ProgressLines(0),
    )
    expected = np.zeros((100, 3))
    for column, features in enumerate(sources):
        for f in features:
            expected[:, f] += raw[:, column, 0] / len(features) * model.model_.scale
    single = why.values.sum(axis=2) if interactions else why.values
    np.testing.assert_allclose(single, expected, atol=1e-10)


def test_several_targets_have_a_separate_axis() -> None:
    frame = pd.DataFrame(TABLE.numbers, columns=["a", "b", "c"])
    for leaves in ("constant", "vector"):
        model = GradientBoostingRegressor(n_estimators=4, leaves=leaves)
        model.fit(TABLE.X, frame)
        why = shap_values(model, TABLE.X)
        assert why.values.shape == (600, 5, 3)
        assert why.output_names == ("a", "b", "c")
        check_sums(model, TABLE.X, why)


def test_no_rows_and_no_trees() -> None:
    model = fit_case("squared error", TABLE)
    assert shap_values(model, TABLE.X[:0]).values.shape == (0, 5)
    with pytest.warns(UserWarning, match="."):
        constant = GradientBoostingRegressor(n_estimators=2).fit(TABLE.X, np.ones(600))
    why = shap_values(constant, TABLE.X)
    assert not why.values.any()
    assert why.base_values == pytest.approx(1.0)


def test_progress_is_shown_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    model = fit_case("squared error", TABLE)
    shap_values(model, TABLE.X)
    assert capsys.readouterr().err == ""
    shap_values(model, TABLE.X, verbose=1)
    assert "explained 100% of 600 rows" in capsys.readouterr().err


def test_an_explanation_of_the_package_shap(monkeypatch: pytest.MonkeyPatch) -> None:
    made = types.SimpleNamespace(Explanation=lambda values, **given: {"values": values, **given})
    monkeypatch.setitem(sys.modules, "shap", made)  # type: ignore[arg-type]
    X, y = cities()
    model = GradientBoostingRegressor(n_estimators=3, category_encoding="sets").fit(X, y)
    shuffled = X[["day", "x", "city"]].head(10)
    found = shap_values(model, shuffled).as_shap()
    assert found["feature_names"] == ["city", "x", "day"]
    assert found["base_values"].shape == (10,)
    assert found["data"][0].tolist() == X.iloc[0].tolist()
    model = fit_case("five classes", TABLE)
    found = shap_values(model, TABLE.X).as_shap()
    np.testing.assert_array_equal(found["data"], TABLE.X)
    assert found["base_values"].shape == (600, 5)
    assert found["output_names"] == ["0", "1", "2", "3", "4"]
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match="pip install shap"):
        shap_values(model, TABLE.X).as_shap()


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "tree"}, "kind must be 'tree_path_dependent' or 'interventional'.* got 'tree'"),
        ({"kind": "path"}, "got 'path'. Write kind='tree_path_dependent'"),
        ({"kind": "interventional"}, "pass some as background"),
        ({"background": TABLE.X}, "background was passed, but kind='tree_path_dependent'"),
        ({"interactions": 2}, "interactions must be True or False; got 2"),
        ({"verbose": "much"}, "verbose must be a whole number, 0 or more; got 'much'"),
    ],
)
def test_invalid_options_are_errors(options: Any, message: str) -> None:
    model = fit_case("squared error", TABLE)
    with pytest.raises(InvalidParameterError, match=message):
        shap_values(model, TABLE.X, **options)


def test_rows_that_do_not_match_are_refused() -> None:
    frame = pd.DataFrame(TABLE.X, columns=list("abcde"))
    model = GradientBoostingRegressor(n_estimators=2).fit(frame, TABLE.number)
    with pytest.raises(ValueError, match="yet now missing:\n- b"):
        shap_values(model, frame.drop(columns="b"))
    with pytest.raises(ValueError, match="In background: The feature names"):
        shap_values(model, frame, kind="interventional", background=frame.drop(columns="b"))
    with pytest.raises(ValueError, match="background has 0 rows, and at least 1 is needed"):
        shap_values(model, frame, kind="interventional", background=frame.head(0))


def test_models_without_constant_leaves_are_errors() -> None:
    with pytest.raises(NotFittedError):
        shap_values(GradientBoostingRegressor(n_estimators=100), TABLE.X)
    with pytest.raises(TypeError, match="Ridge has none"):
        shap_values(Ridge(), TABLE.X)
    ensemble_ = BaggingRegressor(n_estimators=2).fit(TABLE.X, TABLE.number)
    with pytest.raises(TypeError, match="one of its members"):
        shap_values(ensemble_, TABLE.X)
    whole = make_table(200, missing=False)
    with pytest.raises(TypeError, match="LinearRegression has none"):
        shap_values(LinearRegression().fit(whole.X, whole.number), whole.X)
    lines = fit_case("linear leaves", TABLE)
    with pytest.raises(ValueError, match="Pass kind='interventional' and a background"):
        explained(lines, TABLE.X)


def test_too_large_results_are_errors_with_their_size(monkeypatch: Any) -> None:
    model = fit_case("five classes", TABLE)
    monkeypatch.setattr(memory_limits, "RESULT_BYTES", 100_000)
    message = "600 rows x 5 x 5 features x 5 outputs would take .* Pass at most 100 rows"
    with pytest.raises(ValueError, match=message):
        shap_values(model, TABLE.X, interactions=True)
    message = "Shapley values of 600 rows x 5 features x 5 outputs .* Pass at most 500 rows"
    with pytest.raises(ValueError, match=message):
        shap_values(model, TABLE.X)


def test_fractional_rows_are_errors() -> None:
    X = TABLE.X[:200]
    model = DecisionTreeRegressor(missing_strategy="probability").fit(X, TABLE.number[:200])
    with pytest.raises(
        InvalidParameterError, match=r"missing_strategy='probability'.*missing_strategy='learned'"
    ):
        shap_values(model, X)
    whole = X[~np.isnan(X).any(axis=1)]
    check_sums(model, whole, shap_values(model, whole))
