"""Parameter names of other libraries: the table is correct, and messages name ours."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import sklearn.ensemble
import sklearn.linear_model
import sklearn.tree

import stagewise
from estimators.every import EVERY
from stagewise import (
    AdaBoostClassifier,
    BaggingRegressor,
    Dart,
    DecisionTreeClassifier,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearRegression,
    LogitBoostClassifier,
    RandomForestClassifier,
)
from stagewise.errors import InvalidParameterError
from stagewise.losses import (
    CLASSIFICATION_LOSSES,
    RANKING_LOSSES,
    REGRESSION_LOSSES,
    SURVIVAL_LOSSES,
)
from stagewise.validation.foreign_losses import FOREIGN_LOSSES
from stagewise.validation.foreign_names import FOREIGN_NAMES
from stagewise.validation.parameters import name_hint

SCIKIT_LEARN = [
    *(getattr(sklearn.ensemble, name) for name in sklearn.ensemble.__all__),
    *(getattr(sklearn.tree, name) for name in sklearn.tree.__all__),
    sklearn.linear_model.LinearRegression,
    sklearn.linear_model.QuantileRegressor,
]
OLDER = {"scikit-learn": {"base_estimator"}, "XGBoost": {"use_label_encoder"}}
"""Names of versions before the installed one."""


def names_of_scikit_learn() -> set[str]:
    kinds = [kind for kind in SCIKIT_LEARN if isinstance(kind, type)]
    return {name for kind in kinds for name in inspect.signature(kind).parameters}


def names_of_lightgbm() -> set[str]:
    lightgbm = pytest.importorskip("lightgbm")
    aliases = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    named = {name for main, others in aliases.items() for name in (main, *others)}
    calls = (lightgbm.LGBMModel, lightgbm.LGBMModel.fit, lightgbm.train)
    return named | {name for call in calls for name in inspect.signature(call).parameters}


def names_of_xgboost() -> set[str]:
    xgboost = pytest.importorskip("xgboost")
    calls = (xgboost.XGBModel, xgboost.XGBModel.fit, xgboost.train, xgboost.DMatrix)
    return {name for call in calls for name in inspect.signature(call).parameters}


def names_of_catboost() -> set[str]:
    catboost = pytest.importorskip("catboost")
    calls = (catboost.CatBoostClassifier, catboost.CatBoost.fit, catboost.CatBoostRegressor)
    return {name for call in calls for name in inspect.signature(call).parameters}


LIBRARIES = {
    "scikit-learn": names_of_scikit_learn,
    "LightGBM": names_of_lightgbm,
    "XGBoost": names_of_xgboost,
    "CatBoost": names_of_catboost,
}
ONLY_NATIVE = {
    "XGBoost": {"eta", "num_round", "min_split_loss", "nthread", "seed", "silent"}
    | {"rate_drop", "skip_drop", "normalize_type", "tweedie_variance_power", "lambda", "num_class"}
    | {"huber_slope"}
}
"""Parameters of a library's own configuration, which is no signature of Python."""


SAMPLES = {
    "delta": 1.0,
    "n_iter_no_change": 5,
    "top": 0.3,
    "other": 0.2,
    "regularization": 2.0,
    "l2": 0.5,
    "per_tree": 0.5,
    "per_level": 0.5,
    "rate": 0.2,
    "skip": 0.3,
    "max_drop": 3,
    "normalization": "forest",
    "forced_splits": {"feature": 0, "threshold": 1.0},
    "weights": [1, 2],
    "power": 1.2,
    "max_features": 0.5,
}
"""Values in the place of ... in a usage."""


def arguments(usage: str) -> dict[str, object]:
    """Return the arguments of a call."""
    filled = re.sub(r"(\w+)=\.\.\.", lambda m: f"{m[1]}={SAMPLES[m[1]]!r}", usage)
    found: dict[str, object] = eval(f"dict({filled.replace('...', '2')})", NAMES)
    return found


NAMES = {"stagewise": stagewise, **{name: getattr(stagewise, name) for name in stagewise.__all__}}
REMEDY = re.compile(r" here it is (\w+)(?:: ([^;]*?=.*?))?(?: \(.*\)|: \".*)?$")
ELSEWHERE = re.compile(r"has no such parameter, but (\w+) has (\w+)(?:: (.*?=.*?))?(?: \(.*\))?$")


@EVERY
def test_a_remedy_is_accepted_by_the_estimator_that_the_message_names(kind: type) -> None:
    known = inspect.signature(kind).parameters
    for name in set(FOREIGN_NAMES) - set(known):
        hint = name_hint(name, kind, known)
        hint = hint if hint.endswith("...") else hint.removesuffix(".")
        here, elsewhere = REMEDY.search(hint), ELSEWHERE.search(hint)
        if here is not None:
            user, ours, usage = kind, here[1], here[2]
        elif elsewhere is not None:
            user, ours, usage = getattr(stagewise, elsewhere[1]), elsewhere[2], elsewhere[3]
        else:
            assert not FOREIGN_NAMES[name].ours, hint
            continue
        if ours in ("X_val", "eval_set"):
            assert ours in inspect.signature(user.fit).parameters
            continue
        assert ours in inspect.signature(user).parameters, hint
        assert user(**arguments(usage or "")).recipe(), hint


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_name_is_a_parameter_of_its_library(library: str) -> None:
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
    "eval_set": (GradientBoostingRegressor, r"XGBoost, LightGBM and CatBoost; here it is eval_set"),
    "min_samples_split": (
        GradientBoostingRegressor,
        r"here it is min_samples_leaf \(limit the leaves",
    ),
    "tree_method": (RandomForestClassifier, r'here it is split: "histogram" or "exact"\.'),
    "early_stopping_rounds": (
        DecisionTreeClassifier,
        r'pruning="early_stopping", n_iter_no_change',
    ),
    "forcedsplits_filename": (
        DecisionTreeClassifier,
        r"but GradientBoostingRegressor has split: split=SplitSearch\(forced_splits=\.\.\.\)",
    ),
    "data_sample_strategy": (BaggingRegressor, r"but GradientBoostingRegressor has sampling: samp"),
    "feature_fraction_bynode": (BaggingRegressor, "but GradientBoostingRegressor has max_features"),
    "colsample_bylevel": (BaggingRegressor, "but GradientBoostingRegressor has max_features"),
    "base_score": (AdaBoostClassifier, "but GradientBoostingRegressor has init"),
    "positive": (DecisionTreeClassifier, "no estimator of this library has such a parameter"),
    "top_rate": (Goss, r"LightGBM; here it is top\."),
    "drop_rate": (Dart, r"LightGBM; here it is rate\."),
    "splitter": (DecisionTreeClassifier, r"split=SplitSearch\(random_thresholds=True\)"),
    "base_estimator": (BaggingRegressor, r"here it is estimator\."),
    "copy_X": (LinearRegression, r"here X is never changed\."),
    "estimator": (LogitBoostClassifier, r"but StagewiseClassifier has learner \("),
    "boosting_type": (GradientBoostingRegressor, r"boosting_type is the name of LightGBM; here"),
    "feature_weights": (GradientBoostingRegressor, r"feature_weights is the name of XGBoost; here"),
    "colsample_bynode": (GradientBoostingRegressor, r"max_features: max_features=\.\.\.$"),
    "warm_start": (
        DecisionTreeClassifier,
        r"'warm_start'\. It is a parameter of GradientBoostingClassifier\.$",
    ),
    "num_class": (GradientBoostingClassifier, r"has no parameter 'num_class'"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_the_message_has_our_parameter_name(name: str) -> None:
    kind, words = MESSAGES[name]
    with pytest.raises(TypeError, match=rf"{kind.__name__} has no parameter '{name}'.*"):
        kind(**{name: 1})
    with pytest.raises(TypeError, match=words):
        kind(**{name: 1})


def call_of(message: str) -> object:
    """Return the estimator that the last line of a message constructs."""
    last = message.splitlines()[-1]
    assert last.startswith("The call here"), message
    return eval(last.partition(": ")[2], NAMES)


LIGHTGBM_CALL = {
    "num_leaves": 31,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.9,
    "min_child_samples": 5,
    "verbosity": -1,
}
CALLS = {
    "LightGBM": (
        GradientBoostingRegressor,
        LIGHTGBM_CALL,
        (
            "max_leaf_nodes=31, subsample=0.8, max_features=FeatureSampling(per_tree=0.9), "
            "min_samples_leaf=5, verbose=0"
        ),
    ),
    "values that mean something else": (
        GradientBoostingClassifier,
        {
            "boosting_type": "gbdt",
            "objective": "binary",
            "bagging_freq": 1,
            "max_depth": -1,
            "min_split_gain": 0.5,
            "is_unbalance": False,
            "learning_rate": 0.1,
            "verbose": 100,
        },
        "learning_rate=0.1, verbose=1, min_gain=0.25",
    ),
    "two parameters of one option": (
        GradientBoostingRegressor,
        {"top_rate": 0.2, "other_rate": 0.1, "early_stopping_rounds": 20, "objective": "mae"},
        (
            "sampling=Goss(top=0.2, other=0.1), early_stopping=True, n_iter_no_change=20, "
            "loss='absolute_error'"
        ),
    ),
    "XGBoost": (
        GradientBoostingClassifier,
        {"eta": 0.3, "scale_pos_weight": 3, "tree_method": "hist", "multi_strategy": "x"},
        "learning_rate=0.3, class_weight={0: 1, 1: 3}, leaves='vector'",
    ),
}


CALLS |= {
    "the wait of od_type": (
        GradientBoostingRegressor,
        {"od_type": "Iter", "od_wait": 20},
        "early_stopping=True, n_iter_no_change=20",
    ),
    "Huber's δ of LightGBM": (
        GradientBoostingRegressor,
        {"objective": "huber", "alpha": 0.7},
        "loss=stagewise.losses.Huber(delta=0.7)",
    ),
    "Huber's quantile of scikit-learn": (
        GradientBoostingRegressor,
        {"loss": "huber", "alpha": 0.7, "max_iter": 5},
        "loss='huber', quantile=0.7, n_estimators=5",
    ),
    "the power of Tweedie": (
        GradientBoostingRegressor,
        {"objective": "tweedie", "tweedie_variance_power": 1.3},
        "loss=stagewise.losses.Tweedie(power=1.3)",
    ),
    "the slope of pseudo-Huber": (
        GradientBoostingRegressor,
        {"objective": "reg:pseudohubererror", "huber_slope": 2.0},
        "loss=stagewise.losses.PseudoHuber(delta=2.0)",
    ),
    "XGBoost's own configuration": (
        GradientBoostingRegressor,
        {"eta": 0.3, "lambda": 2.0, "alpha": 0.5},
        "learning_rate=0.3, l2_regularization=2.0, l1_regularization=0.5",
    ),
    "metrics": (
        GradientBoostingClassifier,
        {"iterations": 5, "eval_metric": ["AUC", "Logloss"], "depth": 3},
        (
            "eval_metric=['auc', 'log_loss'], n_estimators=5, max_depth=3, "
            "grow_policy='symmetric', max_leaf_nodes=8"
        ),
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_one_message_lists_several_names_and_has_the_call_to_paste(case: str) -> None:
    kind, passed, call = CALLS[case]
    with pytest.raises(TypeError) as caught:
        kind(**passed)
    message = str(caught.value)
    for name in set(passed) - set(inspect.signature(kind).parameters):
        assert f"  {name} is the name of" in message
    assert message.endswith(f"The call here: {kind.__name__}({call})")
    assert call_of(message).recipe()  # type: ignore[attr-defined]
    assert ("from stagewise import FeatureSampling\n" in message) == ("FeatureSampling(" in call)
    assert ("\nimport stagewise\n" in message) == ("stagewise." in call)


def test_lightgbms_huber_has_the_gradient_of_our_delta() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    y = np.array([-50.0, -3.0, -1.0, 0.0, 1.0, 3.0, 500.0])
    X = np.arange(len(y), dtype=float)[:, None]
    own = {"boost_from_average": False, "min_child_samples": 1, "min_data_in_bin": 1}
    tree = lightgbm.LGBMRegressor(
        objective="huber", alpha=2.0, n_estimators=1, learning_rate=1.0, verbose=-1, **own
    ).fit(X, y)
    score = np.zeros(len(y))
    bound = stagewise.losses.Huber(delta=2.0)
    gradient = np.clip(score - y, -2.0, 2.0)
    np.testing.assert_allclose(tree.predict(X), -gradient)
    residuals = np.array([1.0, 3.0])
    values = [float(np.sum(bound.loss(r, 0.0))) for r in residuals]
    assert values == [0.5, 4.0]


FOREIGN_LOSS_VALUES = {
    "mae": (GradientBoostingRegressor, "'absolute_error'"),
    "MSE": (GradientBoostingRegressor, "'squared_error'"),
    "lad": (GradientBoostingRegressor, "'absolute_error'"),
    "Poisson": (GradientBoostingRegressor, "'poisson'"),
    "count:poisson": (GradientBoostingRegressor, "'poisson'"),
    "binary": (GradientBoostingRegressor, r"GradientBoostingClassifier\(\)"),
    "MultiClass": (GradientBoostingClassifier, "'log_loss'"),
    "multi:softprob": (GradientBoostingClassifier, "'log_loss'"),
    "lambdarank": (GradientBoostingClassifier, r"GradientBoostingRanker\(\)"),
    "xentropy": (GradientBoostingRegressor, "'cross_entropy'"),
    "reg:logistic": (GradientBoostingRegressor, "'cross_entropy'"),
    "CrossEntropy": (GradientBoostingRegressor, "'cross_entropy'"),
    "cross_entropy": (GradientBoostingClassifier, "'log_loss'"),
    "reg:squaredlogerror": (GradientBoostingRegressor, "'squared_log_error'"),
    "reg:pseudohubererror": (GradientBoostingRegressor, "'pseudo_huber'"),
}


@pytest.mark.parametrize("loss", FOREIGN_LOSS_VALUES)
def test_the_error_for_a_loss_of_another_library_names_ours(loss: str) -> None:
    kind, ours = FOREIGN_LOSS_VALUES[loss]
    words = rf"^loss='{loss}': .*[Hh]ere it is {ours}\. The parameter 'loss' .* must be one of"
    with pytest.raises(InvalidParameterError, match=words):
        kind(loss=loss).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(TypeError, match=rf"'{loss}' is .*{ours}\.$"):
        kind(objective=loss)


def test_every_loss_of_another_library_has_one_here() -> None:
    names = {
        "regression": REGRESSION_LOSSES,
        "classification": CLASSIFICATION_LOSSES,
        "ranking": RANKING_LOSSES,
        "survival": SURVIVAL_LOSSES,
    }
    for theirs, found in FOREIGN_LOSSES.items():
        assert theirs == theirs.lower()
        assert found.ours in names[found.task]


def test_the_call_leaves_out_what_cannot_be_translated() -> None:
    with pytest.raises(TypeError) as caught:
        GradientBoostingRegressor(num_leaves=7, nonsense=1, random_strength=2, objective="rank")
    assert str(caught.value).splitlines()[-1] == (
        "The call here (without nonsense, random_strength, objective): "
        "GradientBoostingRegressor(max_leaf_nodes=7)"
    )


def test_the_message_of_set_params_lists_several_names() -> None:
    with pytest.raises(ValueError, match=r"'num_leaves', 'eta'.*(?s:.)*max_leaf_nodes=7, learning"):
        GradientBoostingRegressor().set_params(num_leaves=7, eta=0.3)


def test_the_message_names_an_estimator_that_has_the_parameter() -> None:
    with pytest.raises(
        TypeError,
        match=r"LightGBM; LinearRegression has no such parameter, but GradientBoostingRegressor "
        r"has max_leaf_nodes\.",
    ):
        LinearRegression(num_leaves=31)


def test_the_message_of_set_params_has_our_parameter_name() -> None:
    with pytest.raises(ValueError, match=r"'num_leaves'.*max_leaf_nodes"):
        GradientBoostingRegressor(n_estimators=100).set_params(num_leaves=31)


def test_a_name_that_an_estimator_has_is_not_foreign() -> None:
    assert RandomForestClassifier(criterion="entropy").criterion == "entropy"
    assert RandomForestClassifier(max_samples=0.5).max_samples == 0.5


FIT_ARGUMENTS = {
    "eval_X": r"Here it is X_val \(X_val=\.\.\., y_val=\.\.\.\)\.$",
    "eval_names": r"Here it is eval_set \(eval_set={name: \(X, y\), \.\.\.}\)\.$",
    "eval_metric": r"a parameter of GradientBoostingRegressor: set it in the constructor\.$",
    "early_stopping_rounds": r"here it is n_iter_no_change: .*\.\.\. Set parameters in the constr",
    "categorical_feature": r"here it is categorical_features\. Set parameters in the constr",
    "cat_features": r"here it is categorical_features\.",
    "callbacks": r"a parameter of GradientBoostingRegressor: set it in the constructor\.$",
    "verbose": r"a parameter of GradientBoostingRegressor: set it in the constructor\.$",
    "init_model": r"here it is warm_start: warm_start=True",
    "xgb_model": r"here it is warm_start: warm_start=True",
    "eval_sample_weight": r"Here it is eval_set \(eval_set=\[\(X, y, weight\), \.\.\.\]\)\.$",
    "sample_weights": r"Did you mean 'sample_weight'\?$",
}


@pytest.mark.parametrize("name", FIT_ARGUMENTS)
def test_the_error_for_an_argument_of_fit_names_ours(name: str) -> None:
    model, words = GradientBoostingRegressor(n_estimators=100), FIT_ARGUMENTS[name]
    with pytest.raises(TypeError, match=rf"^fit\(\) has no argument '{name}'\..*{words}"):
        model.fit([[1.0]], [1.0], **{name: None})


@EVERY
def test_the_signature_of_fit_is_visible(kind: type) -> None:
    arguments = list(inspect.signature(kind.fit).parameters)  # type: ignore[attr-defined]
    assert arguments[:4] == ["self", "X", "y", "sample_weight"]
    routing = kind().get_metadata_routing()
    own = getattr(routing, "_self_request", routing)  # of a router
    assert "sample_weight" in own.fit.requests
    with pytest.raises(TypeError, match=r"^fit\(\) has no argument 'nonsense'"):
        kind().fit([[1.0]], [1.0], nonsense=1)


@pytest.mark.parametrize("value", ["SymmetricTree", "Depthwise", "lossguide"])
def test_the_error_for_a_growth_policy_of_another_library_names_ours(value: str) -> None:
    ours = {"S": "symmetric", "D": "depth_wise", "l": "best_first"}[value[0]]
    with pytest.raises(ValueError, match=rf"{value!r} of .* is '{ours}' here"):
        GradientBoostingRegressor(n_estimators=100, grow_policy=value).recipe()
