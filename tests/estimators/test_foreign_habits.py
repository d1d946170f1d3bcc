"""Habits of other libraries: functions, arguments and values that have messages with ours."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error

import stagewise
from stagewise import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from stagewise.errors import InvalidParameterError
from stagewise.validation.foreign_calls import FOREIGN_ATTRIBUTES, FUNCTIONS

X = np.random.default_rng(0).normal(size=(80, 2))
y = X[:, 0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_another_library_has_a_message(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"'{name}'\. {name} is the name of .*; here it is "):
        getattr(stagewise, name)
    assert not hasattr(stagewise, name)


def test_an_unknown_name_of_the_package_has_no_hint() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        stagewise.nonsense  # noqa: B018


def test_kinds_of_importance_of_other_libraries_have_a_message() -> None:
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(InvalidParameterError, match=r"'weight' is the name of XGBoost.*'splits'"):
        stagewise.inspection.importance(model, "weight")
    with pytest.raises(AttributeError, match=r"feature_importance\(\): stagewise\.insp"):
        model.booster_  # noqa: B018


@pytest.mark.parametrize("attribute", ["booster_", "get_booster"])
def test_methods_of_an_attribute_of_another_library_have_replacements(
    attribute: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(AttributeError, match=r'save_model\(.*\): model\.save\("model\.stgw"\)'):
        getattr(model, attribute)
    monkeypatch.chdir(tmp_path)
    for _, ours in FOREIGN_ATTRIBUTES[attribute].methods:
        eval(ours, {"model": model, "stagewise": stagewise, "X": X, "y": y})
    assert (tmp_path / "model.stgw").exists()


def test_facts_about_a_fit_are_named_as_left_out_of_files(tmp_path: Path) -> None:
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    model.save(tmp_path / "model.stgw")
    for other in (stagewise.load(tmp_path / "model.stgw"), model.refit(X, y)):
        for name in ("best_score_", "evals_result_", "fit_report_"):
            with pytest.raises(
                AttributeError, match=rf"'{name}'\. .*model files and refit leave it"
            ):
                getattr(other, name)
    for without in (model, GradientBoostingRegressor()):
        with pytest.raises(AttributeError, match=r"'oob_score_'$"):
            without.oob_score_  # noqa: B018


def test_an_interval_of_an_error_rate_has_a_message() -> None:
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(TypeError, match=r"Here it is coverage \(coverage=1 - alpha"):
        model.predict_interval(X, alpha=0.1)
    with pytest.raises(AttributeError, match=r"of a classifier it is predict_set\(X\)"):
        GradientBoostingClassifier(n_estimators=3).fit(X, y > 0).predict_interval  # noqa: B018


def test_a_metric_function_of_scikit_learn_has_a_message() -> None:
    model = GradientBoostingRegressor(
        n_estimators=3, early_stopping=True, eval_metric=mean_absolute_error
    )
    words = r"Pass 'mae', or sklearn\.metrics\.make_scorer\(mean_absolute_error, greater"
    with pytest.raises(InvalidParameterError, match=words):
        model.fit(X, y)


def test_callbacks_of_fit_have_the_parameters_here(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type("_EarlyStoppingCallback", (), {"__module__": "lightgbm.callback"})
    monkeypatch.setitem(sys.modules, "lightgbm.callback", ModuleType("lightgbm.callback"))
    callback = kind()
    callback.stopping_rounds = 100
    with pytest.raises(
        TypeError,
        match=r"^fit\(\) has no argument 'callbacks'\. lightgbm\.early_stopping is a callback of "
        r"LightGBM; here it is early_stopping=True, n_iter_no_change=100\.$",
    ):
        GradientBoostingRegressor(n_estimators=3).fit(X, y, callbacks=[callback])
    with pytest.raises(TypeError, match=r"'callbacks'\. It is a parameter .* in the constructor"):
        GradientBoostingRegressor(n_estimators=3).fit(X, y, callbacks=[print])


def test_arguments_of_rankers_have_a_message() -> None:
    model = GradientBoostingRanker(n_estimators=3)
    words = r"Here it is query_sizes_val \(X_val=\.\.\., y_val=\.\.\., query_sizes_val="
    with pytest.raises(TypeError, match=words):
        model.fit(X, y > 0, eval_group=[80])
    with pytest.raises(TypeError, match="Here it is qid_val"):
        model.fit(X, y > 0, eval_qid=[80])


def test_the_name_of_a_column_is_no_qid_and_no_weight() -> None:
    words = r"it would be a feature: fit\(X\.drop\(columns='search'\), y, qid=X\['search'\]\)\.$"
    with pytest.raises(ValueError, match=words):
        GradientBoostingRanker(n_estimators=3).fit(X, y > 0, qid="search")
    words = r"^sample_weight is the text 'w'.*columns='w'\), y, sample_weight=X\['w'\]\)\.$"
    for kind in (GradientBoostingRegressor, stagewise.RandomForestRegressor):
        with pytest.raises(ValueError, match=words):
            kind(n_estimators=3).fit(X, y, sample_weight="w")


def test_functions_without_queries_name_the_ranking_target(tmp_path: Path) -> None:
    model = GradientBoostingRanker(n_estimators=3).fit(X, y > 0, qid=np.arange(80) % 8)
    words = r"has no argument 'qid'\. .*: y=stagewise\.ranking_target\(y, qid=\.\.\.\)\.$"
    with pytest.raises(TypeError, match=words):
        stagewise.inspection.scores(model, X, y > 0, qid=np.arange(80) % 8)
    for call in (
        lambda: stagewise.inspection.scores(model, X, y > 0),
        lambda: model.report(X, y > 0, tmp_path / "page.html"),
        lambda: model.score(X, y > 0),
    ):
        with pytest.raises(ValueError, match=r"read y=stagewise\.ranking_target\(y, qid=\.\.\.\)"):
            call()
    with pytest.raises(TypeError, match=r"Queries are those of GradientBoostingRanker\.$"):
        GradientBoostingRegressor().fit(X, y, qid=np.arange(80))


def test_the_error_for_a_text_date_in_a_single_row_names_fromisoformat() -> None:
    table = {"a": X[:, 0], "b": X[:, 1]}
    model = GradientBoostingRegressor(n_estimators=3).fit(pd.DataFrame(table), y)
    with pytest.raises(ValueError, match=r"parse_dates \(data frames\), or with datetime"):
        model.predict({"a": "2024-01-01", "b": 1.0})


def test_a_number_of_folds_beside_a_set_is_a_warning() -> None:
    model = GradientBoostingRegressor(n_estimators=3, early_stopping=2)
    with pytest.warns(UserWarning, match=r"=2 is a number of folds.*n_iter_no_change=2\.$"):
        model.fit(X, y, eval_set=[(X[:9], y[:9])])
    with pytest.raises(ValueError, match=r"early_stopping=2 holds.*n_iter_no_change=2, which stop"):
        model.fit(X, y, X_val=X, y_val=y)


def test_the_error_for_a_set_that_is_an_array_has_its_shape() -> None:
    with pytest.raises(TypeError, match=r"'valid_0' is ndarray of shape \(80, 2\)\.$"):
        GradientBoostingRegressor(n_estimators=3).fit(X, y, eval_set=[X, y])


def test_the_error_for_a_set_without_an_exposure_has_the_syntax() -> None:
    model = GradientBoostingRegressor(loss="poisson", n_estimators=3)
    words = r'eval_set=\{"valid_0": \{"X": \.\.\., "y": \.\.\., "exposure": \.\.\.\}\}\.$'
    with pytest.raises(ValueError, match=words):
        model.fit(X, y + 9, exposure=y + 9, eval_set=[(X, y + 9)])


def test_a_dataset_of_lightgbm_has_a_message() -> None:
    for call in (lambda: stagewise.Dataset(X, label=y), lambda: stagewise.Dataset(X)):
        with pytest.raises(TypeError, match=r"read_parquet.*is fit\(X, y\) here"):
            call()


def test_load_of_an_estimator_has_a_message() -> None:
    with pytest.raises(AttributeError, match=r'here it is stagewise\.load\("model\.stgw"\)'):
        GradientBoostingClassifier().load("model.stgw")
