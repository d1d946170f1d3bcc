"""Sets of rows that are measured after every round: `eval_set`, `evals_result_`, `best_score_`."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from stagewise import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseClassifier,
    StagewiseLinearRegressor,
    StagewiseRegressor,
    load,
)
from stagewise.datasets import make_friedman1, make_nested_spheres, read_batches
from stagewise.losses import Tweedie
from stagewise.metrics import METRICS, Metric
from stagewise.metrics.metric import FitFacts
from stagewise.metrics.ranking import roc_auc

CLASSIFIERS = [
    AdaBoostClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    StagewiseClassifier,
]


def unweighted(y_true, y_pred):
    return float(np.mean(y_true == y_pred))


@pytest.fixture(scope="module")
def classes():
    return make_nested_spheres(600, seed=1)


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(400, seed=1)
    return X, np.abs(y)


# ---- the history --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_metric_on_every_set_is_recorded_after_every_round(kind, classes):
    X, y = classes
    weight = np.linspace(0.5, 2, 150)
    sets = {"a": (X[300:450], y[300:450]), "b": (X[450:], y[450:], weight)}
    model = kind(n_estimators=12, eval_metric=["auc", "error_rate", "log_loss"])
    model.fit(X[:300], y[:300], eval_set=sets)
    assert list(model.evals_result_) == ["train", "a", "b"]
    assert list(model.evals_result_["a"]) == ["loss", "auc", "error_rate", "log_loss"]
    for name, (Xe, ye, *w) in sets.items():
        given = {"sample_weight": w[0]} if w else {}
        staged = list(model.staged_predict_proba(Xe))
        expected = {
            "auc": [sk.roc_auc_score(ye, p[:, 1], **given) for p in staged],
            "error_rate": [1 - sk.accuracy_score(ye, p.argmax(axis=1), **given) for p in staged],
            "log_loss": [sk.log_loss(ye, p, **given) for p in staged],
        }
        for metric, values in expected.items():
            found = model.evals_result_[name][metric]
            np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, StagewiseRegressor])
def test_metrics_of_numbers_are_recorded_in_units_of_the_target(kind, numbers):
    X, y = numbers
    model = kind(n_estimators=8, eval_metric=["rmse", "mae", "r2"]).fit(
        X[:200], 100 * y[:200], eval_set=[(X[200:], 100 * y[200:])]
    )
    staged = list(model.staged_predict(X[200:]))
    ye = 100 * y[200:]
    found = model.evals_result_["valid_0"]
    np.testing.assert_allclose(found["rmse"], [sk.root_mean_squared_error(ye, p) for p in staged])
    np.testing.assert_allclose(found["mae"], [sk.mean_absolute_error(ye, p) for p in staged])
    np.testing.assert_allclose(found["r2"], [sk.r2_score(ye, p) for p in staged])
    np.testing.assert_allclose(found["loss"], [np.mean((ye - p) ** 2) / 2 for p in staged])


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_forests_record_sets_after_every_tree(kind, numbers):
    X, y = numbers
    model = kind(n_estimators=7, eval_metric=["mae", "rmse"], bootstrap=True)
    model.fit(X[:200], y[:200], eval_set={"test": (X[200:], y[200:])})
    staged = list(model.staged_predict(X[200:]))
    expected = [np.mean(np.abs(y[200:] - p)) for p in staged]
    np.testing.assert_allclose(model.evals_result_["test"]["mae"], expected)
    assert list(model.evals_result_) == ["oob", "test"]
    assert len(model.evals_result_["oob"]["rmse"]) == 7
    assert model.n_iter_ == 7


def test_the_training_rows_can_be_a_set(classes):
    X, y = classes
    weight = np.linspace(0.5, 2, 300)
    Xt, yt = X[:300], y[:300]
    model = GradientBoostingClassifier(n_estimators=6, eval_metric="auc")
    model.fit(Xt, yt, weight, eval_set=[(Xt, yt), (X[300:], y[300:])])
    assert list(model.evals_result_) == ["train", "valid_1"]
    expected = [
        sk.roc_auc_score(yt, p[:, 1], sample_weight=weight) for p in model.staged_predict_proba(Xt)
    ]
    np.testing.assert_allclose(model.evals_result_["train"]["auc"], expected)
    np.testing.assert_array_equal(model.evals_result_["train"]["loss"], model.train_loss_)
    forest = RandomForestClassifier(n_estimators=3, eval_metric="auc")
    forest.fit(Xt, yt, eval_set={"train": (Xt, yt)})
    *_, last = forest.staged_predict_proba(Xt)
    assert forest.best_score_["train"]["auc"] == pytest.approx(sk.roc_auc_score(yt, last[:, 1]))


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_the_history_has_the_shape_of_lightgbm(classes):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = classes
    given = {"eval_set": [(X[300:450], y[300:450]), (X[450:], y[450:])]}
    theirs = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)
    theirs.fit(X[:300], y[:300], eval_metric="auc", **given)
    ours = GradientBoostingClassifier(n_estimators=5, eval_metric="auc", early_stopping=False)
    ours.fit(X[:300], y[:300], **given)
    for name, values in theirs.evals_result_.items():
        assert len(ours.evals_result_[name]["auc"]) == len(values["auc"])
        assert ours.best_score_[name]["auc"] == ours.evals_result_[name]["auc"][-1]
    assert set(theirs.best_score_) == set(ours.best_score_) - {"train"}


# ---- laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=10),
        GradientBoostingClassifier(n_estimators=10, dropout="dart"),
        GradientBoostingClassifier(n_estimators=10, early_stopping="cv"),
        GradientBoostingClassifier(n_estimators=10, init=LogisticRegression()),
        StagewiseClassifier(n_estimators=10, corrective="end"),
        AdaBoostClassifier(n_estimators=10),
        StagewiseClassifier(n_estimators=10),
        RandomForestClassifier(n_estimators=10),
    ],
    ids=str,
)
def test_a_set_that_only_watches_does_not_change_the_model(model, classes):
    X, y = classes
    if model.early_stopping == "auto":
        model = clone(model).set_params(early_stopping=False)
    alone = clone(model).fit(X[:300], y[:300]).fingerprint()
    model = clone(model).fit(X[:300], y[:300], eval_set=[(X[300:], y[300:]), (X[:300], y[:300])])
    assert model.fingerprint() == alone
    assert "valid_0" in model.evals_result_


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(), RandomForestClassifier(n_estimators=10)], ids=str
)
def test_validation_rows_are_only_recorded_without_early_stopping(model, classes):
    X, y = classes
    model = clone(model).set_params(early_stopping=False)
    alone = clone(model).fit(X[:300], y[:300]).fingerprint()
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert model.fingerprint() == alone
    own = model.evals_result_["valid"]["loss"]
    assert len(own) >= model.n_iter_


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, RandomForestClassifier])
def test_weight_2_in_a_set_is_the_row_twice(kind, classes):
    X, y = classes
    times = np.arange(300) % 3
    repeated = np.repeat(np.arange(300, 600), times)
    names = [name for name, metric in METRICS.items() if metric.task == "classification"]
    model = kind(n_estimators=5, eval_metric=names).fit(
        X[:300],
        y[:300],
        eval_set={
            "weights": {"X": X[300:], "y": y[300:], "sample_weight": times},
            "rows": (X[repeated], y[repeated]),
        },
    )
    found = model.evals_result_
    for name in ("loss", *names):
        np.testing.assert_allclose(found["weights"][name], found["rows"][name], rtol=1e-12)


def test_metrics_of_numbers_take_weights_as_frequencies():
    rng = np.random.default_rng(0)
    y, p = rng.uniform(0.5, 3, (2, 90))
    times = np.arange(90) % 3 + 1.0
    repeated = np.repeat(np.arange(90), times.astype(int))
    for name, metric in METRICS.items():
        if metric.task == "regression" and not metric.of_distribution:
            own = metric.bind(FitFacts(None, "tweedie", 1.3))
            unit = 3.0 if name == "cross_entropy" else 1.0
            twice = own.value(y[repeated] / unit, p[repeated] / unit, None)
            assert own.value(y / unit, p / unit, times) == pytest.approx(twice, rel=1e-12), name


def test_target_encodings_and_estimators_as_start_measure_sets_as_predictions(numbers):
    X, y = numbers
    table = pd.DataFrame(X[:, :4], columns=list("abcd"))
    table["city"] = pd.Categorical(np.array(list("uvwxyz"))[(X[:, 4] * 6).astype(int)])
    Xe, ye = table[200:], y[200:]
    for given in (
        {"init": LinearRegression(), "categorical_features": None},
        {"category_encoding": "target"},
    ):
        columns = ["a", "b"] if "init" in given else list(table)
        model = GradientBoostingRegressor(n_estimators=5, eval_metric="mae", **given).fit(
            table[columns][:200], y[:200], eval_set=[(Xe[columns], ye), (Xe[columns], ye + 1)]
        )
        *_, last = model.staged_predict(Xe[columns])
        expected = np.mean(np.abs(ye - last))
        assert model.best_score_["valid_0"]["mae"] == pytest.approx(expected)
        expected = np.mean(np.abs(ye + 1 - last))
        assert model.best_score_["valid_1"]["mae"] == pytest.approx(expected)


def test_dropped_rounds_are_restored_in_all_sets(numbers):
    X, y = numbers
    model = GradientBoostingRegressor(n_estimators=12, dropout="dart", eval_metric="mae").fit(
        X[:200], y[:200], eval_set=[(X[200:300], y[200:300]), (X[300:], y[300:])]
    )
    for name, rows in (("valid_0", slice(200, 300)), ("valid_1", slice(300, None))):
        expected = np.mean(np.abs(y[rows] - model.predict(X[rows])))
        assert model.best_score_[name]["mae"] == pytest.approx(expected)


# ---- early stopping -----------------------------------------------------------------------------


def test_the_first_set_decides_if_the_fit_stops_early(classes):
    X, y = classes
    given = {"n_estimators": 100, "n_iter_no_change": 5, "eval_metric": ["error_rate", "auc"]}
    by_X_val = GradientBoostingClassifier(**given).fit(
        X[:300], y[:300], X_val=X[300:450], y_val=y[300:450]
    )
    sets = {"train": (X[:300], y[:300]), "a": (X[300:450], y[300:450]), "b": (X[450:], y[450:])}
    Xt, yt = X[:300], y[:300]
    sets["train"] = (Xt, yt)
    by_set = GradientBoostingClassifier(**given).fit(Xt, yt, eval_set=sets)
    assert by_set.fingerprint() == by_X_val.fingerprint()
    assert by_set.fit_report_["stop_reason"] == "no better a error_rate or loss for 5 rounds"
    np.testing.assert_array_equal(by_set.validation_loss_, by_X_val.validation_loss_)
    assert by_set.best_score_["a"]["error_rate"] < by_set.evals_result_["a"]["error_rate"][0]
    also = GradientBoostingClassifier(early_stopping=True, **given).fit(Xt, yt, eval_set=sets)
    assert also.fingerprint() == by_set.fingerprint()


def test_a_copy_of_the_training_rows_that_decides_is_a_warning(classes):
    X, y = classes
    model = GradientBoostingClassifier(n_estimators=3, early_stopping=True)
    with pytest.warns(UserWarning, match="'valid_0' decides when the fit stops, and its y is that"):
        model.fit(X[:300], y[:300], eval_set=[(X[:300], y[:300]), (X[300:], y[300:])])


def test_a_wait_without_early_stopping_is_a_warning(classes):
    X, y = classes
    model = GradientBoostingClassifier(n_estimators=3, n_iter_no_change=2)
    with pytest.warns(UserWarning, match="n_iter_no_change=2 has no effect.*early_stopping=True"):
        model.fit(X[:300], y[:300])
    assert model.n_iter_ == 3


def test_a_wait_in_the_place_of_folds_is_an_error_with_the_remedy(classes):
    X, y = classes
    model = GradientBoostingClassifier(n_estimators=100, early_stopping=50)
    with pytest.raises(ValueError, match="early_stopping=True, n_iter_no_change=50"):
        model.fit(X, y)


def test_validation_rows_decide_before_sets(classes):
    X, y = classes
    given = {"n_estimators": 60, "n_iter_no_change": 5, "early_stopping": True}
    held = {"X_val": X[300:450], "y_val": y[300:450]}
    alone = GradientBoostingClassifier(**given).fit(X[:300], y[:300], **held)
    both = GradientBoostingClassifier(**given).fit(
        X[:300], y[:300], **held, eval_set=[(X[450:], y[450:])]
    )
    assert both.fingerprint() == alone.fingerprint()
    assert list(both.evals_result_) == ["train", "valid", "valid_0"]


def test_folds_decide_and_sets_watch_the_final_model(classes):
    X, y = classes
    model = GradientBoostingClassifier(n_estimators=20, early_stopping="cv", eval_metric="auc")
    model.fit(X[:400], y[:400], eval_set={"test": (X[400:], y[400:])})
    assert list(model.evals_result_) == ["train", "valid", "test"]
    assert len(model.evals_result_["test"]["auc"]) == model.n_iter_
    *_, last = model.staged_predict_proba(X[400:])
    assert model.best_score_["test"]["auc"] == pytest.approx(sk.roc_auc_score(y[400:], last[:, 1]))
    best = model.fit_report_["round_choice"]["best_round"]
    assert model.best_score_["valid"]["auc"] == max(model.evals_result_["valid"]["auc"])
    assert model.best_score_["valid"]["auc"] == model.evals_result_["valid"]["auc"][best - 1]


def test_a_set_stops_a_forest(classes):
    X, y = classes
    model = RandomForestClassifier(
        n_estimators=100, early_stopping=True, n_iter_no_change=5, eval_metric=["auc", "accuracy"]
    ).fit(X[:300], y[:300], eval_set={"test": (X[300:], y[300:])})
    found = model.evals_result_["test"]["auc"]
    assert model.n_iter_ == int(np.argmax(found)) + 1 == len(found) - 5
    assert model.best_score_["test"]["auc"] == max(found)
    assert len(model.evals_result_["oob"]["accuracy"]) == len(found)


def test_the_end_of_linear_stagewise_is_recorded(numbers):
    X, y = numbers
    model = StagewiseLinearRegressor(n_estimators=20, early_stopping=False).fit(
        X[:200], y[:200], eval_set=[(X[200:], y[200:])]
    )
    losses = [np.mean((y[200:] - p) ** 2) / 2 for p in model.staged_predict(X[200:])]
    np.testing.assert_allclose(model.evals_result_["valid_0"]["loss"], losses)


# ---- metrics ------------------------------------------------------------------------------------


def test_scorers_of_scikit_learn_are_metrics(classes):
    X, y = classes
    labels = np.array(["no", "yes"])[y]

    def share(y_true, y_pred, sample_weight=None):
        return np.average(y_true == y_pred, weights=sample_weight)

    scorers = [sk.get_scorer("roc_auc"), sk.get_scorer("neg_log_loss"), sk.make_scorer(share)]
    names = ["roc_auc", "neg_log_loss", "share"]
    model = GradientBoostingClassifier(
        n_estimators=50, n_iter_no_change=5, early_stopping=True, eval_metric=scorers
    )
    weight = np.linspace(1, 2, 300)
    model.fit(X[:300], labels[:300], eval_set=[(X[300:], labels[300:], weight)])
    assert list(model.evals_result_["valid_0"]) == ["loss", *names]
    for name, scorer in zip(names, scorers, strict=True):
        expected = scorer(model, X[300:], labels[300:], sample_weight=weight)
        assert model.best_score_["valid_0"][name] == pytest.approx(expected)
    found = model.evals_result_["valid_0"]["roc_auc"]
    assert model.n_iter_ == int(np.argmax(found)) + 1


def test_scorers_of_numbers_and_of_many_classes(numbers):
    X, y = numbers
    rmse = sk.get_scorer("neg_root_mean_squared_error")
    model = GradientBoostingRegressor(n_estimators=5, eval_metric=rmse).fit(
        X[:200], y[:200], eval_set=[(X[200:], y[200:])]
    )
    expected = rmse(model, X[200:], y[200:])
    assert model.best_score_["valid_0"]["neg_root_mean_squared_error"] == pytest.approx(expected)
    many = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    area = sk.get_scorer("roc_auc_ovr")
    forest = RandomForestClassifier(n_estimators=5, eval_metric=area, oob_score=False)
    forest.fit(X[:200], many[:200], eval_set=[(X[200:], many[200:])])
    expected = area(forest, X[200:], many[200:])
    assert forest.best_score_["valid_0"]["roc_auc_ovr"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("loss", "power"), [("poisson", 1), ("gamma", 2), ("tweedie", 1.5), (Tweedie(power=1.3), 1.3)]
)
def test_the_tweedie_deviance_has_the_power_of_the_loss(loss, power, numbers):
    X, y = numbers
    names = ["tweedie_deviance", "d2_tweedie_deviance"]
    model = GradientBoostingRegressor(loss=loss, n_estimators=4, eval_metric=names).fit(
        X[:200], y[:200], eval_set=[(X[200:], y[200:])]
    )
    *_, last = model.staged_predict(X[200:])
    found = model.best_score_["valid_0"]
    expected = sk.mean_tweedie_deviance(y[200:], last, power=power)
    assert found["tweedie_deviance"] == pytest.approx(expected)
    expected = sk.d2_tweedie_score(y[200:], last, power=power)
    assert found["d2_tweedie_deviance"] == pytest.approx(expected)


def test_deviances_have_a_domain(numbers):
    X, y = numbers
    model = GradientBoostingRegressor(n_estimators=3, eval_metric="tweedie_deviance")
    with pytest.raises(ValueError, match="loss='squared_error' has none"):
        model.fit(X, y, eval_set=[(X, y)])
    model.set_params(eval_metric="poisson_deviance")
    with pytest.raises(ValueError, match=r"needs y ≥ 0; the least one is -"):
        model.fit(X, y, eval_set=[(X, -y)])
    with pytest.raises(ValueError, match=r"needs predictions > 0; the least one is -"):
        model.fit(X, -y, eval_set=[(X, y)])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_auc_is_the_share_of_pairs_in_order(ties, weighted):
    rng = np.random.default_rng(0)
    score = rng.integers(0, 9, 80).astype(float) if ties else rng.normal(size=80)
    positive, weight = rng.random(80) < 0.3, rng.uniform(0.5, 2, 80)
    w = weight if weighted else np.ones(80)
    pairs = w[positive][:, None] * w[~positive]
    a, b = score[positive][:, None], score[~positive]
    expected = ((a > b) * pairs + (a == b) * pairs / 2).sum() / pairs.sum()
    assert roc_auc(positive, score, weight if weighted else None) == pytest.approx(expected)


# ---- callbacks, files, progress -----------------------------------------------------------------


def test_callbacks_have_all_metrics(classes):
    X, y = classes
    seen = []
    model = GradientBoostingClassifier(
        n_estimators=4, eval_metric=["auc", "f1"], callbacks=[seen.append]
    ).fit(X[:300], y[:300], eval_set={"a": (X[300:450], y[300:450]), "b": (X[450:], y[450:])})
    for m, progress in enumerate(seen):
        for name, values in model.evals_result_.items():
            assert progress.metrics[name] == {metric: v[m] for metric, v in values.items()}


def test_progress_lines_show_all_sets(classes, capsys):
    X, y = classes
    GradientBoostingClassifier(n_estimators=2, eval_metric="auc", verbose=2).fit(
        X[:300], y[:300], eval_set={"test": (X[300:], y[300:])}
    )
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("round 2/2  train 0.")
    assert "  test 0." in line
    assert " auc 0." in line


def test_pickles_keep_the_history_and_files_the_losses(classes, tmp_path):
    X, y = classes
    model = GradientBoostingClassifier(
        n_estimators=4, eval_metric=["auc", lambda y, p, w: 1.0], early_stopping=True
    ).fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])])
    again = pickle.loads(pickle.dumps(model.set_params(eval_metric=None)))
    assert again.evals_result_ == model.evals_result_
    assert again.best_score_ == model.best_score_
    model.set_params(eval_metric=["auc", lambda y, p, w: 1.0])
    with pytest.warns(UserWarning, match=r"the loaded estimator has eval_metric=\['auc'\]"):
        model.save(tmp_path / "m.stgw")
    loaded = load(tmp_path / "m.stgw")
    assert loaded.eval_metric == ["auc"]
    np.testing.assert_array_equal(loaded.validation_loss_, model.validation_loss_)
    assert not hasattr(loaded, "evals_result_")


def test_rows_of_datasets_are_read_into_memory_for_a_set(numbers):
    pa = pytest.importorskip("pyarrow")
    X, y = numbers
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y})
    data = read_batches(table.to_batches(max_chunksize=100), target="y")
    held = table.drop(["y"])
    model = GradientBoostingRegressor(
        n_estimators=5, eval_metric=["mae", "rmse"], early_stopping=False
    )
    model.fit(data, eval_set={"test": (held, y)})
    assert model.fit_report_["rows_in_memory"] == "eval_set"
    assert model.best_score_["test"]["mae"] == pytest.approx(
        np.mean(np.abs(y - model.predict(held)))
    )
    with pytest.raises(TypeError, match="eval_set 'test' is a Dataset"):
        model.fit(data, eval_set={"test": (data, None)})


# ---- errors -------------------------------------------------------------------------------------

GOOD = (np.zeros((5, 10)), np.array([0, 1, 0, 1, 0]))
BAD_SETS = {
    "nothing": ([], "eval_set has no sets"),
    "no pair": ([(GOOD[0],)], r"must be \(X, y\), \(X, y, weight\)"),
    "a number": (3, r"eval_set must be \[\(X, y\)"),
    "an array": (GOOD[0], r"eval_set must be \[\(X, y\)"),
    "the name train": ({"train": GOOD}, "'train' of eval_set is that of the training rows"),
    "the name valid": ({"valid": GOOD}, "'valid' of eval_set is reserved"),
    "the name oob": ({"oob": GOOD}, "'oob' of eval_set is reserved"),
    "a name that is no text": ({3: GOOD}, "name of a set of eval_set must be text; got 3"),
    "an unknown key": ([{"X": 1, "y": 2, "w": 3}], "has the keys X, y, sample_weight"),
    "no rows": ([(GOOD[0][:0], GOOD[1][:0])], "In eval_set 'valid_0': .*(no|0) rows|minimum"),
    "other columns": ({"test": (GOOD[0][:, :4], GOOD[1])}, "In eval_set 'test': .*4"),
    "an unknown class": ([(GOOD[0], GOOD[1] * 7)], "In eval_set 'valid_0': .*label 7"),
    "fewer targets": ([(GOOD[0], GOOD[1][:3])], "In eval_set 'valid_0': .*3"),
    "a negative weight": ([(*GOOD, -np.ones(5))], "In eval_set 'valid_0': .*negative"),
}


@pytest.mark.parametrize(("given", "words"), BAD_SETS.values(), ids=BAD_SETS)
def test_a_bad_set_is_an_error(given, words, classes):
    X, y = classes
    with pytest.raises((ValueError, TypeError), match=words):
        GradientBoostingClassifier(n_estimators=2).fit(X, y, eval_set=given)


def test_one_set_alone_is_accepted(classes):
    X, y = classes
    for given in ((X[300:], y[300:]), {"X": X[300:], "y": y[300:]}):
        model = GradientBoostingClassifier(n_estimators=2).fit(X[:300], y[:300], eval_set=given)
        assert list(model.evals_result_) == ["train", "valid_0"]


def test_the_training_rows_are_a_set_once(classes):
    X, y = classes
    with pytest.raises(ValueError, match="has the training rows twice"):
        GradientBoostingClassifier(n_estimators=2).fit(X, y, eval_set=[(X, y), (X, y)])


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (["auc", "auc"], "has the name 'auc' twice"),
        ([], "a list of these"),
        (["auc", 3], "a list of these"),
        (Metric("loss", lambda y, p, w: 0.0), "the name 'loss' of the loss"),
        ("roc_auc", r"the name of scikit-learn; here it is 'auc', or pass sklearn.metrics.get_sc"),
        ("top_k_accuracy", r"pass sklearn.metrics.get_scorer\('top_k_accuracy'\)"),
        ("binary_logloss", "'binary_logloss' is the name of LightGBM; here it is 'log_loss'"),
        ("AUC", "'AUC' is the name of CatBoost; here it is 'auc'"),
        (sk.make_scorer(unweighted), "'unweighted' of 'eval_metric' does not use them"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_bad_metric_is_an_error(metric, words, classes):
    X, y = classes
    model = GradientBoostingClassifier(n_estimators=2, eval_metric=metric)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y, eval_set=[(X, y, np.linspace(1, 2, len(y)))])


def test_auc_of_one_class_is_an_error(classes):
    X, y = classes
    one = y == 1
    with pytest.raises(ValueError, match=r"'auc' is nan for these \d+ rows of eval_set 'valid_0'"):
        GradientBoostingClassifier(n_estimators=2, eval_metric="auc").fit(
            X, y, eval_set=[(X[one], y[one])]
        )


def test_a_scorer_that_needs_decision_function_is_an_error(classes):
    X, y = classes
    scorer = sk.make_scorer(sk.roc_auc_score, response_method="decision_function")
    with pytest.raises(ValueError, match="response_method='predict' or 'predict_proba'"):
        GradientBoostingClassifier(n_estimators=2, eval_metric=scorer).fit(
            X, y, eval_set=[(X[:300], y[:300])]
        )


def test_sets_are_for_models_of_rounds(classes):
    X, y = classes
    with pytest.raises(ValueError, match="a single tree has no rounds"):
        DecisionTreeClassifier().fit(X, y, eval_set=[(X, y)])
    model = GradientBoostingClassifier(n_estimators=2, warm_start=True)
    with pytest.raises(ValueError, match="eval_set cannot be combined with warm_start"):
        model.fit(X, y, eval_set=[(X, y)])
