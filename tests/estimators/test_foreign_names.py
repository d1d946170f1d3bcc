"""Parameter names of other libraries: the table is true, and messages name ours."""

from __future__ import annotations

import importlib
import inspect

import pytest
import sklearn.ensemble
import sklearn.linear_model
import sklearn.tree

from estimators.every import PUBLIC
from stagewise import (
    BaggingRegressor,
    DecisionTreeClassifier,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    RandomForestClassifier,
)
from stagewise.validation.foreign_names import FOREIGN_NAMES

OURS = {name for kind in PUBLIC for name in inspect.signature(kind).parameters}
SCIKIT_LEARN = [
    *(getattr(sklearn.ensemble, name) for name in sklearn.ensemble.__all__),
    *(getattr(sklearn.tree, name) for name in sklearn.tree.__all__),
    sklearn.linear_model.LinearRegression,
    sklearn.linear_model.QuantileRegressor,
]
OLDER = {"scikit-learn": {"base_estimator"}}
"""Names of versions before the installed one."""


def known_to_scikit_learn() -> set[str]:
    kinds = [kind for kind in SCIKIT_LEARN if isinstance(kind, type)]
    return {name for kind in kinds for name in inspect.signature(kind).parameters}


def known_to_lightgbm() -> set[str]:
    lightgbm = pytest.importorskip("lightgbm")
    aliases = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    named = {name for main, others in aliases.items() for name in (main, *others)}
    calls = (lightgbm.LGBMModel, lightgbm.LGBMModel.fit, lightgbm.train)
    return named | {name for call in calls for name in inspect.signature(call).parameters}


def known_to_xgboost() -> set[str]:
    xgboost = pytest.importorskip("xgboost")
    calls = (xgboost.XGBModel, xgboost.XGBModel.fit, xgboost.train, xgboost.DMatrix)
    return {name for call in calls for name in inspect.signature(call).parameters}


def known_to_catboost() -> set[str]:
    catboost = pytest.importorskip("catboost")
    calls = (catboost.CatBoostClassifier, catboost.CatBoost.fit, catboost.CatBoostRegressor)
    return {name for call in calls for name in inspect.signature(call).parameters}


LIBRARIES = {
    "scikit-learn": known_to_scikit_learn,
    "LightGBM": known_to_lightgbm,
    "XGBoost": known_to_xgboost,
    "CatBoost": known_to_catboost,
}
ONLY_NATIVE = {
    "XGBoost": {"eta", "num_round", "min_split_loss", "nthread", "seed", "silent"}
    | {"rate_drop", "skip_drop", "normalize_type", "tweedie_variance_power"}
}
"""Parameters of a library's own configuration, which is no signature of Python."""


def test_every_name_of_ours_is_a_parameter() -> None:
    for name, found in FOREIGN_NAMES.items():
        assert not found.ours or found.ours in OURS, name
        assert found.ours or found.usage, f"{name} has neither a name nor an explanation"
        assert found.libraries


def test_usages_name_parameters_and_options_that_exist() -> None:
    stagewise = importlib.import_module("stagewise")
    for name, found in FOREIGN_NAMES.items():
        head, equals, value = found.usage.partition("=")
        if equals and head.isidentifier():
            assert head in OURS, name
            option = value.partition("(")[0].removeprefix("stagewise.")
            if "(" in value and option.isidentifier():
                own = inspect.signature(getattr(stagewise, option)).parameters
                passed = [part.partition("=")[0] for part in value.split("(")[1].split(", ")]
                assert set(passed) <= set(own), name


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_name_is_one_of_the_library(library: str) -> None:
    known = LIBRARIES[library]() | ONLY_NATIVE.get(library, set()) | OLDER.get(library, set())
    named = {name for name, found in FOREIGN_NAMES.items() if library in found.libraries}
    assert named - known == set()
    assert len(named) > 5


MESSAGES = {
    "num_leaves": (
        GradientBoostingClassifier,
        r"'num_leaves'\. num_leaves is the name of LightGBM; here it is max_leaf_nodes\.",
    ),
    "max_iter": (GradientBoostingRegressor, r"scikit-learn; here it is n_estimators\."),
    "reg_lambda": (GradientBoostingRegressor, r"XGBoost and LightGBM; .* l2_regularization\."),
    "colsample_bytree": (
        GradientBoostingRegressor,
        r"here it is max_features: max_features=FeatureSampling\(per_tree=\.\.\.\)\.",
    ),
    "rate_drop": (GradientBoostingRegressor, r"dropout=Dart\(rate=\.\.\.\)"),
    "eval_set": (GradientBoostingRegressor, r"XGBoost, LightGBM and CatBoost; here pass X_val and"),
    "min_samples_split": (RandomForestClassifier, r"here it is min_samples_leaf: limit the leaves"),
    "splitter": (DecisionTreeClassifier, r"split=SplitSearch\(random_thresholds=True\)"),
    "base_estimator": (BaggingRegressor, r"here it is estimator\."),
    "copy_X": (LinearRegression, r"here X is never changed\."),
    "num_class": (GradientBoostingClassifier, r"has no parameter 'num_class'"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_message_names_ours(name: str) -> None:
    kind, words = MESSAGES[name]
    with pytest.raises(TypeError, match=rf"{kind.__name__} has no parameter '{name}'.*"):
        kind(**{name: 1})
    with pytest.raises(TypeError, match=words):
        kind(**{name: 1})


def test_a_name_that_an_estimator_lacks_is_explained_too() -> None:
    with pytest.raises(TypeError, match=r"LightGBM; this estimator has no such parameter\."):
        LinearRegression(num_leaves=31)
    with pytest.raises(TypeError, match=r"Goss has no parameter 'top_rate'\..*LightGBM"):
        Goss(top_rate=0.2)


def test_set_params_names_ours() -> None:
    with pytest.raises(ValueError, match=r"'num_leaves'.*max_leaf_nodes"):
        GradientBoostingRegressor().set_params(num_leaves=31)


def test_a_name_that_an_estimator_has_is_not_foreign() -> None:
    assert RandomForestClassifier(criterion="entropy").criterion == "entropy"
    assert RandomForestClassifier(max_samples=0.5).max_samples == 0.5
