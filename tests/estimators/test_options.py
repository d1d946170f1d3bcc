"""Options as objects: nested parameters, files, pickles and messages."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

import stagewise
from estimators.every import EVERY
from estimators.tables import make_table, quick
from stagewise import (
    BaggingRegressor,
    Conformal,
    Dart,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    FeatureSampling,
    Goss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistogramTree,
    InvalidParameterError,
    LinearLeaves,
    Mvs,
    OrderedTargetEncoding,
    RandomForestClassifier,
    SplitSearch,
    StagewiseRegressor,
)

BOTH = pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
OPTIONS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "Conformal": ("conformal", Conformal(method="split", fraction=0.3), {}),
    "Goss": ("sampling", Goss(top=0.3), {}),
    "Mvs": ("sampling", Mvs(regularization=0.5), {"subsample": 0.5}),
    "Dart": ("dropout", Dart(rate=0.5, skip=0.0), {}),
    "LinearLeaves": ("leaves", LinearLeaves(l2=2.0), {}),
    "FeatureSampling": ("max_features", FeatureSampling(per_tree=0.6, weights=[1, 2, 1, 1, 1]), {}),
    "SplitSearch": ("split", SplitSearch(method="approx", sketch_eps=0.1), {}),
    "OrderedTargetEncoding": (
        "category_encoding",
        OrderedTargetEncoding(n_orderings=2),
        {"categorical_features": [1]},
    ),
}
EVERY_OPTION = pytest.mark.parametrize("name", OPTIONS)


@pytest.fixture(scope="module")
def table():
    return make_table(300)


def target(kind, table):
    return table.number if kind is GradientBoostingRegressor else table.many


def make(kind, name, **more):
    parameter, option, beside = OPTIONS[name]
    return quick(kind, **{parameter: clone(option), **beside, **more})


def test_the_table_has_every_option():
    named = [getattr(stagewise, name) for name in stagewise.__all__]
    kinds = {
        k.__name__ for k in named if isinstance(k, type) and issubclass(k, stagewise.Goss.__base__)
    }
    assert kinds == set(OPTIONS)


# ---- scikit-learn's rules -----------------------------------------------------------------------


@BOTH
@EVERY_OPTION
def test_parameters_of_options_are_nested(kind, name):
    model = make(kind, name)
    parameter, option, _ = OPTIONS[name]
    for own, value in option.get_params().items():
        assert model.get_params()[f"{parameter}__{own}"] == value
        assert f"{parameter}__{own}" not in model.get_params(deep=False)
    first = next(iter(option.get_params()))
    model.set_params(**{f"{parameter}__{first}": "changed"})
    assert getattr(getattr(model, parameter), first) == "changed"
    assert getattr(option, first) != "changed"


@BOTH
@EVERY_OPTION
def test_a_clone_copies_its_options(kind, name):
    model, (parameter, option, _) = make(kind, name), OPTIONS[name]
    other = clone(model)
    assert getattr(other, parameter) is not getattr(model, parameter)
    assert getattr(other, parameter) == getattr(model, parameter) == option
    assert type(option).__name__ in repr(other)


@EVERY_OPTION
def test_options_are_equal_if_their_parameters_are(name):
    option = OPTIONS[name][1]
    assert option == clone(option)
    assert option != type(option)()
    assert option != name
    assert option != clone(option).set_params(**{next(iter(vars(option))): np.ones(3)})
    assert eval(repr(type(option)()), vars(stagewise)) == type(option)()


WORDS = {
    "sampling": [("goss", Goss()), ("mvs", Mvs())],
    "dropout": [("dart", Dart())],
    "leaves": [("linear", LinearLeaves())],
    "split": [("exact", SplitSearch(method="exact")), ("histogram", SplitSearch())],
    "max_features": [(0.5, FeatureSampling(per_node=0.5)), (2, FeatureSampling(per_node=2))],
    "category_encoding": [("target", OrderedTargetEncoding())],
}


@BOTH
@pytest.mark.parametrize("parameter", WORDS)
def test_a_word_equals_the_option_with_its_defaults(kind, parameter, table):
    beside = {"categorical_features": [1]} if parameter == "category_encoding" else {}
    for word, option in WORDS[parameter]:
        half = {"subsample": 0.5} if word == "mvs" else {}
        prints = {
            quick(kind, **{parameter: value}, **beside, **half)
            .fit(table.X, target(kind, table))
            .fingerprint()
            for value in (word, option)
        }
        assert len(prints) == 1, word


@BOTH
@EVERY_OPTION
def test_an_option_has_an_effect_and_a_fit_does_not_change_it(kind, name, table):
    parameter, option, beside = OPTIONS[name]
    model = make(kind, name).fit(table.X, target(kind, table))
    assert getattr(model, parameter) == option
    plain = quick(kind, **beside).fit(table.X, target(kind, table))
    assert plain.fingerprint() != model.fingerprint()


NESTED = {
    "sampling__top": (
        GradientBoostingRegressor(n_estimators=100),
        r"is 'auto'.*Set sampling=Goss\(top=\.\.\.\)",
    ),
    "dropout__rate": (
        GradientBoostingClassifier(n_estimators=100),
        r"is None.*Set dropout=Dart\(rate=\.\.\.\)",
    ),
    "learner__l2": (
        StagewiseRegressor(learner=HistogramTree()),
        "is Histogram.*has no parameters to set",
    ),
    "estimator__max_depth": (BaggingRegressor(), "is None, which has no parameters to set"),
}


@pytest.mark.parametrize("name", NESTED)
def test_the_error_for_a_parameter_of_a_word_shows_the_option(name):
    model, words = NESTED[name]
    with pytest.raises(ValueError, match=f"Invalid parameter '{name}' for .*{words}"):
        model.set_params(**{name: 0.3})
    assert GradientBoostingRegressor(n_estimators=100).set_params(
        sampling=Goss(), sampling__top=0.4
    )


def test_a_search_sets_parameters_of_options(table):
    grid = {"sampling__top": [0.1, 0.4], "sampling__other": [0.1, 0.3]}
    model = quick(GradientBoostingRegressor, sampling=Goss(), n_jobs=1)
    search = GridSearchCV(model, grid, cv=2).fit(table.X, table.number)
    assert len(search.cv_results_["mean_test_score"]) == 4
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    best = search.best_estimator_.sampling
    assert {"sampling__top": best.top, "sampling__other": best.other} == search.best_params_
    assert model.sampling == Goss()


def test_a_search_chooses_among_options(table):
    grid = [{"sampling": [Goss()]}, {"sampling": ["uniform", Mvs()], "subsample": [0.5]}]
    model = quick(GradientBoostingRegressor, n_jobs=1)
    search = GridSearchCV(model, grid, cv=2).fit(table.X, table.number)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.sampling == search.best_params_["sampling"]


# ---- files and pickles ---------------------------------------------------------------------------


@BOTH
@EVERY_OPTION
def test_options_are_restored_from_files_and_pickles(kind, name, table, tmp_path):
    parameter, option, _ = OPTIONS[name]
    model = make(kind, name).fit(table.X, target(kind, table))
    model.save(tmp_path / "model.stgw")
    for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert getattr(other, parameter) == option
        assert other.get_params() == model.get_params()
        assert other.fingerprint() == model.fingerprint()
        assert other.fit(table.X, target(kind, table)).fingerprint() == model.fingerprint()


@pytest.mark.parametrize("value", [np.bool_(True), np.int8(3), 3.0, "cv", False])
def test_early_stopping_is_restored_from_a_file(value, table, tmp_path):
    model = quick(GradientBoostingRegressor, early_stopping=value).fit(table.X, table.number)
    model.save(tmp_path / "model.stgw")
    assert stagewise.load(tmp_path / "model.stgw").early_stopping == value


SPLITTERS = (
    TimeSeriesSplit(3),
    RepeatedKFold(n_splits=2, n_repeats=2, random_state=3),
    ShuffleSplit(2, random_state=1),
)


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda value: type(value).__name__)
def test_a_splitter_of_scikit_learn_is_restored_from_a_file(splitter, table, tmp_path):
    pruned = {"pruning": "cost_complexity", "max_depth": 3}
    for model, name in (
        (quick(GradientBoostingRegressor, early_stopping=splitter), "early_stopping"),
        (DecisionTreeRegressor(ccp_cv=splitter, **pruned), "ccp_cv"),
    ):
        model.fit(table.X, table.number).save(tmp_path / "model.stgw")
        other = stagewise.load(tmp_path / "model.stgw")
        assert repr(getattr(other, name)) == repr(splitter)
        again = other.fit(table.X, table.number)
        np.testing.assert_array_equal(again.validation_loss_, model.validation_loss_)


def test_a_warning_names_folds_that_are_not_part_of_a_file(table, tmp_path):
    class Own(KFold):
        pass

    folds = [(np.arange(200), np.arange(200, 300))]
    for own in (folds, Own(), KFold(shuffle=True, random_state=np.random.RandomState(0))):
        model = quick(GradientBoostingRegressor, early_stopping=own).fit(table.X, table.number)
        with pytest.warns(UserWarning, match=r"folds early_stopping=.* not saved.*joblib\.dump"):
            model.save(tmp_path / "model.stgw")
        assert stagewise.load(tmp_path / "model.stgw").early_stopping == "cv"


COLLECTIONS = {
    "array": ({"monotonic_cst": np.array([1, 0, 0, 0, 0])}, [1, 0, 0, 0, 0]),
    "sets": ({"interaction_cst": [{1, 0}, frozenset({2})]}, [[0, 1], [2]]),
    "set of tuples": ({"interaction_cst": {(2,), (0, 1)}}, [[0, 1], [2]]),
    "weights": (
        {"max_features": FeatureSampling(per_node=0.5, weights=np.arange(5))},
        FeatureSampling(per_node=0.5, weights=[0, 1, 2, 3, 4]),
    ),
}


@pytest.mark.parametrize(("params", "read"), COLLECTIONS.values(), ids=COLLECTIONS)
def test_arrays_and_sets_are_restored_from_a_file_as_lists(params, read, table, tmp_path):
    model = quick(GradientBoostingRegressor, **params).fit(table.X, table.number)
    model.save(tmp_path / "model.stgw")
    other = stagewise.load(tmp_path / "model.stgw")
    assert getattr(other, next(iter(params))) == read
    assert other.fit(table.X, table.number).fingerprint() == model.fingerprint()


def test_a_custom_loss_can_only_be_pickled(table, tmp_path):
    class Own(stagewise.losses.Tweedie):
        pass

    class Custom(stagewise.losses.SquaredError):
        name = "custom"

    for loss in (Own(power=1.2), Custom()):
        model = quick(GradientBoostingRegressor, loss=loss).fit(table.X, np.abs(table.number))
        with pytest.raises(ValueError, match=r"custom loss.*joblib\.dump or pickle\.dump"):
            model.save(tmp_path / "model.stgw")


class OwnGoss(Goss):
    """An option that no model file can name."""


def test_an_option_of_ones_own_can_only_be_pickled(table, tmp_path):
    model = quick(GradientBoostingRegressor, sampling=OwnGoss()).fit(table.X, table.number)
    with pytest.raises(ValueError, match=r"option OwnGoss cannot be saved.*Set a stagewise\.Goss"):
        model.save(tmp_path / "model.stgw")
    assert list(tmp_path.iterdir()) == []
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()


def test_a_loss_with_a_parameter_is_restored_from_a_file(table, tmp_path):
    loss = stagewise.losses.Tweedie(power=1.2)
    model = quick(GradientBoostingRegressor, loss=loss).fit(table.X, table.number)
    model.save(tmp_path / "model.stgw")
    other = stagewise.load(tmp_path / "model.stgw")
    assert isinstance(other.loss, stagewise.losses.Tweedie)
    assert other.loss.power == 1.2
    assert other.fit(table.X, table.number).fingerprint() == model.fingerprint()


# ---- messages -----------------------------------------------------------------------------------

BAD = {
    "Conformal": ({"fraction": 1.0}, "'fraction' of Conformal must be .* below 1; got 1.0"),
    "Goss": ({"top": 1.0}, "'top' of Goss must be a number above 0 and below 1; got 1.0"),
    "Mvs": ({"regularization": 0}, "'regularization' of Mvs must be a number above 0; got 0"),
    "Dart": ({"normalization": "trees"}, "'normalization' of Dart must be one of 'tree', 'forest'"),
    "LinearLeaves": ({"l2": -1}, "'l2' of LinearLeaves must be a number at least 0; got -1"),
    "FeatureSampling": ({"per_tree": 0}, "'per_tree' of FeatureSampling must be .*; got 0"),
    "SplitSearch": ({"sketch_eps": 2}, "'sketch_eps' of SplitSearch must be .*, or None; got 2"),
    "OrderedTargetEncoding": (
        {"n_orderings": 65},
        "'n_orderings' of OrderedTargetEncoding must be a whole number .* at most 64; got 65",
    ),
}
MORE_BAD = [
    (Goss, {"other": 0}),
    (Goss, {"top": "some"}),
    (Dart, {"rate": 0}),
    (Dart, {"rate": 1.0001}),
    (Dart, {"max_drop": 0}),
    (Dart, {"skip": 1.0}),
    (FeatureSampling, {"per_level": 1.5}),
    (FeatureSampling, {"per_node": True}),
    (Conformal, {"method": "jackknife"}),
    (Conformal, {"score": "gamma"}),
    (Conformal, {"groups": 1.5}),
    (Conformal, {"per_class": 1}),
    (Conformal, {"score": "aps", "randomized": "yes"}),
    (Conformal, {"score": "raps", "penalty": -1}),
    (Conformal, {"score": "raps", "free_ranks": 0.5}),
    (SplitSearch, {"method": "best"}),
    (SplitSearch, {"random_thresholds": 1}),
    (SplitSearch, {"method": "approx", "proposal": "all"}),
]


@BOTH
@pytest.mark.parametrize("name", BAD)
def test_error_names_the_option_and_its_parameter(kind, name, table):
    values, words = BAD[name]
    model = make(kind, name).set_params(
        **{f"{OPTIONS[name][0]}__{own}": value for own, value in values.items()}
    )
    with pytest.raises(InvalidParameterError, match=f"The parameter {words}"):
        model.fit(table.X, target(kind, table))
    assert not hasattr(model, "model_")


def test_every_parameter_of_every_option_is_checked(table):
    for option, values in MORE_BAD:
        parameter = OPTIONS[option.__name__][0]
        model = GradientBoostingRegressor(**{parameter: option(**values)})
        with pytest.raises(
            InvalidParameterError, match=f"{list(values)[-1]!r} of {option.__name__}"
        ):
            model.fit(table.X, table.number)
    tried = {(kind.__name__, name) for kind, values in MORE_BAD for name in values}
    tried |= {(kind, name) for kind, (values, _) in BAD.items() for name in values}
    # Weights and forced splits are checked with the table, by name of the feature.
    tried |= {("FeatureSampling", "weights"), ("SplitSearch", "forced_splits")}
    named = {(kind, name) for kind, (_, option, _) in OPTIONS.items() for name in vars(option)}
    assert tried == named


def test_an_option_of_another_parameter_is_refused(table):
    with pytest.raises(
        InvalidParameterError,
        match=r"'sampling' of .* must be one of 'auto', 'uniform', 'fixed_size', 'bootstrap', "
        r"'group', 'goss', 'mvs', or "
        r"a stagewise.Goss or a stagewise.Mvs; got Dart\(\)",
    ):
        GradientBoostingRegressor(n_estimators=100, sampling=Dart()).fit(table.X, table.number)
    with pytest.raises(InvalidParameterError, match=r"'dropout' of .*; got <class .*Dart'>"):
        GradientBoostingRegressor(n_estimators=100, dropout=Dart).fit(table.X, table.number)


def test_parameters_of_approx_need_the_method_approx(table):
    with pytest.raises(InvalidParameterError, match=r"'sketch_eps' of SplitSearch has no effect"):
        GradientBoostingRegressor(n_estimators=100, split=SplitSearch(sketch_eps=0.1)).fit(
            table.X, table.number
        )


OTHER_NAMES = {
    "drop_rate": r"here it is dropout: dropout=Dart\(rate=\.\.\.\)\.",
    "feature_weights": r"max_features=FeatureSampling\(per_node=0\.7, weights=\.\.\.\)",
    "top": r"It is a parameter of Goss: sampling=Goss\(top=\.\.\.\)\.",
    "l2": r"leaves=LinearLeaves\(l2=\.\.\.\)",
    "per_tree": r"max_features=FeatureSampling\(per_tree=\.\.\.\)",
    "random_thresholds": r"split=SplitSearch\(random_thresholds=\.\.\.\)",
    "forced_splits": r"split=SplitSearch\(forced_splits=\.\.\.\)",
    "n_orderings": r"category_encoding=OrderedTargetEncoding\(n_orderings=\.\.\.\)",
    "max_drop": r"dropout=Dart\(max_drop=\.\.\.\)",
    "first_use_penalty": r"Did you mean 'feature_penalty'\?",
    "categorical": r"Did you mean 'categorical_features'\?",
}


@BOTH
@pytest.mark.parametrize("name", OTHER_NAMES)
def test_the_error_for_another_name_shows_the_option(kind, name):
    words = rf"{kind.__name__} has no parameter '{name}'\..*{OTHER_NAMES[name]}"
    with pytest.raises(TypeError, match=words):
        kind(**{name: 1})
    with pytest.raises(ValueError, match=rf"'{name}' for estimator.*{OTHER_NAMES[name]}"):
        kind().set_params(**{name: 1})


def test_messages_offer_no_option_that_the_estimator_refuses():
    with pytest.raises(TypeError, match="has no such parameter, but GradientBoosting"):
        RandomForestClassifier(feature_weights=[1, 2])
    with pytest.raises(TypeError, match=r"split=SplitSearch\(random_thresholds=\.\.\.\)"):
        DecisionTreeClassifier(random_thresholds=True)
    with pytest.raises(TypeError, match=r"has no parameter 'random_thresholds'\.$"):
        RandomForestClassifier(random_thresholds=True)


# ---- the public surface -------------------------------------------------------------------------


@BOTH
def test_every_estimator_has_at_most_45_parameters(kind):
    assert len(inspect.signature(kind).parameters) <= 45


SCIKIT_LEARN = {"fit", "predict", "score", "get_params", "set_params", "get_metadata_routing"}
SCIKIT_LEARN |= {"set_fit_request", "set_predict_request", "set_score_request"}
SCIKIT_LEARN |= {"set_decision_function_request", "set_predict_proba_request"}
SCIKIT_LEARN |= {"set_predict_log_proba_request"}
SCIKIT_LEARN |= {"predict_proba", "decision_function", "staged_predict", "staged_predict_proba"}
SCIKIT_LEARN |= {"staged_decision_function", "apply", "feature_importances_", "decision_path"}
SCIKIT_LEARN |= {"n_classes_", "predict_log_proba", "oob_decision_function_"}
SCIKIT_LEARN |= {"estimators_", "estimators_features_", "estimators_samples_", "n_outputs_"}
SCIKIT_LEARN |= {"get_depth", "get_n_leaves", "cost_complexity_pruning_path"}
OURS = {"recipe", "report", "save", "fingerprint", "refit"}
OURS_OF: dict[str, set[str]] = {
    "GradientBoosting": {"best_iteration_", "oob_best_iteration_", "conformalize"},
    "GradientBoostingRegressor": {"predict_interval", "predict_dist"},
    "GradientBoostingClassifier": {"predict_set", "calibrate", "thresholds_"},
    "AdaBoost": {"best_iteration_", "estimator_weights_", "estimator_errors_", "staged_score"},
    "Auto": {"best_iteration_", "distill"},
    "GentleBoost": {"best_iteration_"},
    "LogitBoost": {"best_iteration_"},
    "Stagewise": {"best_iteration_"},
    "StagewiseLinear": {"coef_path_", "plot_path"},
    "DecisionTree": {"best_iteration_"},
    "RandomForest": {"best_iteration_", "oob_importances", "select_features", "conformalize"},
    "ExtraTrees": {"best_iteration_", "oob_importances", "select_features", "conformalize"},
    "RandomForestClassifier": {"class_importances_", "predict_set", "calibrate"},
    "ExtraTreesClassifier": {"class_importances_", "predict_set", "calibrate"},
    "RandomForestRegressor": {"predict_interval"},
    "ExtraTreesRegressor": {"predict_interval"},
    "LinearRegression": {"summary", "conf_int", "predict_interval", "plot_residuals"},
    "StepwiseRegressor": {"summary", "conf_int", "predict_interval", "plot_residuals", "plot_path"},
}
LEAST_SQUARES = {"adjusted_r2_", "aic_", "bic_", "covariance_", "df_residual_", "f_test_", "r2_"}
LEAST_SQUARES |= {"log_likelihood_", "pvalues_", "rank_", "sigma_", "standard_errors_"}
LEAST_SQUARES |= {"term_names_", "tvalues_", "t_test", "f_test", "confidence_set"}


@EVERY
def test_estimators_have_no_other_public_attributes(kind):
    allowed = SCIKIT_LEARN | OURS
    for start, names in OURS_OF.items():
        if kind.__name__.startswith(start):
            allowed |= names
    if kind.__name__ in ("LinearRegression", "StepwiseRegressor"):
        allowed |= LEAST_SQUARES
    assert {name for name in dir(kind) if not name.startswith("_")} - allowed == set()


@EVERY
def test_attributes_of_an_object_are_its_parameters(kind):
    assert set(vars(kind())) == set(inspect.signature(kind).parameters)


def test_an_invalid_number_of_an_option_is_one_sentence() -> None:
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40.0)
    with pytest.raises(InvalidParameterError) as error:
        GradientBoostingRegressor(n_estimators=100, sampling=Goss(top="a")).fit(X, y)
    expected = "The parameter 'top' of Goss must be a number above 0 and below 1; got 'a'."
    assert str(error.value) == expected
