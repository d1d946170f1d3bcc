"""Early stopping by a metric of the held-out rows, or of the out-of-bag rows."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold

from stagewise import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StagewiseClassifier,
)
from stagewise.datasets import make_friedman1, make_nested_spheres, read_batches
from stagewise.errors import InvalidParameterError
from stagewise.metrics import METRICS, Metric, find_metrics
from stagewise.metrics.metric import FitFacts

BOOSTED = [
    AdaBoostClassifier,
    GentleBoostClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    StagewiseClassifier,
]

POINT_METRICS = [
    name
    for name, metric in METRICS.items()
    if metric.task == "regression" and not metric.of_distribution
]
"""The metrics of one prediction per row."""


def best_round(costs, losses):
    """Return the round that is kept, by the definition in docs/training.md."""
    best = 0
    for m, (cost, loss) in enumerate(zip(costs, losses, strict=True)):
        nine_tenths = losses[0] - 0.9 * (losses[0] - min(losses[: m + 1]))
        too_early = min(losses[: best + 1]) > nine_tenths
        if too_early or (cost, loss) < (costs[best], losses[best]):
            best = m
    return best + 1


@pytest.fixture(scope="module")
def classes():
    return make_nested_spheres(600, seed=1)


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(400, seed=1)
    return X, np.abs(y)


# ---- the metrics --------------------------------------------------------------------------------


HUGE_METRICS = {
    "rmse": (sk.root_mean_squared_error, 1.0),
    "mae": (sk.mean_absolute_error, 1.0),
    "r2": (sk.r2_score, 0.0),
    "d2_absolute_error": (sk.d2_absolute_error_score, 0.0),
    "poisson_deviance": (sk.mean_poisson_deviance, 1.0),
    "gamma_deviance": (sk.mean_gamma_deviance, 0.0),
    "tweedie_deviance": (partial(sk.mean_tweedie_deviance, power=1.5), 0.5),
    "d2_poisson_deviance": (partial(sk.d2_tweedie_score, power=1), 0.0),
    "d2_gamma_deviance": (partial(sk.d2_tweedie_score, power=2), 0.0),
    "d2_tweedie_deviance": (partial(sk.d2_tweedie_score, power=1.5), 0.0),
}


@pytest.mark.parametrize("exponent", [1023, 1022, 990, -1000])
@pytest.mark.parametrize("name", HUGE_METRICS)
def test_metrics_of_numbers_do_not_overflow(name, exponent):
    """Each is homogeneous: scikit-learn's value of y / c, times a power of c."""
    expected, degree = HUGE_METRICS[name]
    rng = np.random.default_rng(3)
    y, p = rng.uniform(0.5, 1.9, 30), rng.uniform(0.5, 1.9, 30)
    weight = rng.uniform(0.5, 2.0, 30)
    if "deviance" not in name:  # differences are twice as large as y
        y, p = y * np.where(np.arange(30) % 2, 1, -1), p * np.where(np.arange(30) % 2, -1, 1)
        p[1:] *= 0.01
    metric = METRICS[name].bind(FitFacts(None, "tweedie", 1.5))
    found = metric.value(np.ldexp(y, exponent), np.ldexp(p, exponent), weight)
    whole = expected(y, p, sample_weight=weight) * 2.0 ** (degree * exponent)
    assert found == pytest.approx(whole, rel=1e-12)


def slow(name, y, p, w):
    """Return a metric of classes by scikit-learn's functions."""
    k, chosen = p.shape[1], p.argmax(axis=1)
    one_hot = np.eye(k)[y]
    kind = {"average": "binary"} if k == 2 else {"average": "macro"}
    columns = (one_hot[:, 1], p[:, 1]) if k == 2 else (one_hot, p)
    return {
        "error_rate": lambda: 1 - sk.accuracy_score(y, chosen, sample_weight=w),
        "accuracy": lambda: sk.accuracy_score(y, chosen, sample_weight=w),
        "log_loss": lambda: sk.log_loss(y, p, sample_weight=w),
        "brier": lambda: (
            np.average(((p - one_hot) ** 2).sum(axis=1), weights=w) * (0.5 if k == 2 else 1)
        ),
        "auc": lambda: sk.roc_auc_score(*columns, sample_weight=w),
        "average_precision": lambda: sk.average_precision_score(*columns, sample_weight=w),
        "f1": lambda: sk.f1_score(y, chosen, sample_weight=w, **kind),
        "ranked_probability_score": lambda: np.average(
            [
                sum((p[i, : j + 1].sum() - (y[i] <= j)) ** 2 for j in range(k - 1)) / (k - 1)
                for i in range(len(y))
            ],
            weights=w,
        ),
        "quadratic_kappa": lambda: sk.cohen_kappa_score(
            y, chosen, weights="quadratic", sample_weight=w
        ),
        "rank_mae": lambda: sk.mean_absolute_error(y, chosen, sample_weight=w),
        "hamming_loss": lambda: sk.hamming_loss(y, chosen, sample_weight=w),
        "subset_accuracy": lambda: sk.accuracy_score(y, chosen, sample_weight=w),
        "macro_auc": lambda: sk.roc_auc_score(*columns, sample_weight=w),
    }[name]()


@pytest.mark.parametrize("name", [n for n, m in METRICS.items() if m.task == "classification"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_metric_of_classes_agrees_with_scikit_learn(name, k):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(k), 200)
    y = np.array([rng.choice(k, p=row) for row in p])
    for w in (None, rng.uniform(0.5, 2, 200)):
        np.testing.assert_allclose(METRICS[name].value(y, p, w), slow(name, y, p, w), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("rmse", sk.root_mean_squared_error),
        ("mae", sk.mean_absolute_error),
        ("r2", sk.r2_score),
        ("poisson_deviance", sk.mean_poisson_deviance),
        ("gamma_deviance", sk.mean_gamma_deviance),
        ("d2_absolute_error", sk.d2_absolute_error_score),
        ("d2_poisson_deviance", partial(sk.d2_tweedie_score, power=1)),
        ("d2_gamma_deviance", partial(sk.d2_tweedie_score, power=2)),
    ],
)
def test_a_metric_of_numbers_agrees_with_scikit_learn(name, theirs):
    rng = np.random.default_rng(1)
    y, predicted = rng.uniform(0.5, 3, (2, 100))
    for w in (None, rng.uniform(0.5, 2, 100)):
        ours = METRICS[name].value(y, predicted, w)
        np.testing.assert_allclose(ours, theirs(y, predicted, sample_weight=w), rtol=1e-9)


def test_the_cross_entropy_of_shares_is_the_log_loss_of_their_classes():
    rng = np.random.default_rng(2)
    y, p, w = rng.uniform(0, 1, (3, 40))
    both = np.column_stack([1 - p, p])
    labels = np.repeat([0, 1], 40)
    expected = sk.log_loss(labels, np.vstack([both, both]), sample_weight=np.r_[w * (1 - y), w * y])
    assert METRICS["cross_entropy"].value(y, p, w) == pytest.approx(expected)
    for wrong in ((y + 1, p), (y, p - 1)):
        with pytest.raises(ValueError, match=r"'cross_entropy' needs .* from 0 to 1; one is"):
            METRICS["cross_entropy"].value(*wrong, w)


def test_the_hint_of_a_classifier_for_cross_entropy_is_its_log_loss(classes):
    model = GradientBoostingClassifier(n_estimators=2, eval_metric="cross_entropy")
    with pytest.raises(InvalidParameterError, match=r"Here it is 'log_loss'\. "):
        model.fit(*classes)


# ---- histories ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOOSTED)
def test_boosting_stops_by_the_error_rate(kind, classes):
    X, y = classes
    model = kind(n_estimators=150, n_iter_no_change=8, eval_metric="error_rate")
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    errors = [np.mean(label != y[300:]) for label in model.staged_predict(X[300:])]
    found = model.evals_result_["valid"]["error_rate"]
    np.testing.assert_allclose(found[: model.n_iter_], errors)
    assert model.n_iter_ == best_round(found, model.evals_result_["valid"]["loss"])
    reason = "no better validation error_rate or loss for 8 rounds"
    assert len(found) == 150 or model.fit_report_["stop_reason"] == reason


def test_larger_values_may_be_better(classes):
    X, y = classes
    held = {"X_val": X[300:], "y_val": y[300:]}
    given = {"n_estimators": 60, "n_iter_no_change": 5}
    right = GradientBoostingClassifier(eval_metric="accuracy", **given).fit(
        X[:300], y[:300], **held
    )
    wrong = GradientBoostingClassifier(eval_metric="error_rate", **given).fit(
        X[:300], y[:300], **held
    )
    assert right.fingerprint() == wrong.fingerprint()
    errors = np.array(wrong.evals_result_["valid"]["error_rate"])
    np.testing.assert_allclose(right.evals_result_["valid"]["accuracy"], 1 - errors)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_metrics_of_numbers_are_in_units_of_the_target(loss, numbers):
    X, y = numbers
    model = GradientBoostingRegressor(
        loss=loss, n_estimators=30, eval_metric="mae", early_stopping=False
    ).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    expected = [np.mean(np.abs(y[200:] - p)) for p in model.staged_predict(X[200:])]
    np.testing.assert_allclose(model.evals_result_["valid"]["mae"][: model.n_iter_], expected)


def test_several_targets_have_a_metric(numbers):
    X, y = numbers
    Y = np.column_stack([y, 100 * y])

    def largest(y, predicted, weight):
        return float(np.abs(y - predicted).max())

    model = GradientBoostingRegressor(n_estimators=5, eval_metric=largest).fit(
        X[:200], Y[:200], X_val=X[200:], y_val=Y[200:]
    )
    *_, last = model.staged_predict(X[200:])
    assert model.evals_result_["valid"]["largest"][model.n_iter_ - 1] == pytest.approx(
        np.abs(Y[200:] - last).max()
    )


@pytest.mark.parametrize("n_estimators", [40, "auto"])
def test_folds_choose_by_the_mean_metric(n_estimators, classes):
    X, y = classes
    folds = KFold(3)
    model = GradientBoostingClassifier(
        n_estimators=n_estimators, early_stopping=folds, eval_metric="error_rate"
    ).fit(X, y)
    found = model.evals_result_["valid"]["error_rate"]
    best = best_round(found, model.evals_result_["valid"]["loss"]) - 1
    chosen = model.fit_report_["round_choice"]
    assert chosen["best_round"] == best + 1
    wrong = (model.oof_prediction_.argmax(axis=1) != y).mean()
    assert found[best] == pytest.approx(wrong)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_forests_stop_by_the_out_of_bag_accuracy(kind, classes):
    """The notes add trees until the out-of-bag accuracy no longer increases."""
    X, y = classes
    model = kind(
        n_estimators=200,
        early_stopping=True,
        n_iter_no_change=15,
        eval_metric="accuracy",
        oob_score=True,
        **({} if kind is RandomForestClassifier else {"bootstrap": True}),
    ).fit(X, y)
    found = model.evals_result_["oob"]["accuracy"]
    assert model.n_iter_ == best_round(-np.array(found), model.evals_result_["oob"]["loss"]) < 200
    assert found[model.n_iter_ - 1] == pytest.approx(model.oob_score_)
    reason = "no better out-of-bag accuracy or loss for 15 rounds"
    assert model.fit_report_["stop_reason"] == reason


def test_forests_stop_by_a_metric_of_validation_rows(numbers):
    X, y = numbers
    model = RandomForestRegressor(n_estimators=30, eval_metric="r2", n_iter_no_change=30)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    best = model.evals_result_["valid"]["r2"][model.n_iter_ - 1]
    assert best == pytest.approx(model.score(X[200:], y[200:]))


# ---- functions ----------------------------------------------------------------------------------


def test_a_function_gets_labels_probabilities_and_weights(classes):
    X, y = classes
    labels, weight, seen = np.array(["no", "yes"])[y], np.linspace(1, 2, 300), []

    def cost(y, p, weight):
        seen.append((y, p, weight))
        return float(np.average(np.where(y == "yes", 1 - p[:, 1], p[:, 1]), weights=weight))

    model = GradientBoostingClassifier(n_estimators=3, eval_metric=cost).fit(
        X[:300], labels[:300], X_val=X[300:], y_val=labels[300:], sample_weight_val=weight
    )
    assert len(seen) == 3
    got_y, got_p, got_weight = seen[-1]
    np.testing.assert_array_equal(got_y, labels[300:])
    np.testing.assert_allclose(got_p, model.predict_proba(X[300:]))
    np.testing.assert_allclose(got_weight / got_weight.sum(), weight / weight.sum())
    assert "no better validation cost" not in model.fit_report_["stop_reason"]


def test_a_metric_object_has_a_direction(classes):
    X, y = classes
    metric = Metric("hits", lambda y, p, w: float(np.mean(p.argmax(1) == y)), larger_is_better=True)
    given = {"n_estimators": 60, "n_iter_no_change": 5}
    held = {"X_val": X[300:], "y_val": y[300:]}
    own = GradientBoostingClassifier(eval_metric=metric, **given).fit(X[:300], y[:300], **held)
    named = GradientBoostingClassifier(eval_metric="accuracy", **given).fit(
        X[:300], y[:300], **held
    )
    assert own.fingerprint() == named.fingerprint()


def test_callbacks_and_pickles_have_the_metric(classes):
    X, y = classes
    seen = []
    model = GradientBoostingClassifier(
        n_estimators=3, eval_metric="auc", early_stopping=True, callbacks=[seen.append]
    ).fit(X, y)
    found = model.evals_result_
    np.testing.assert_array_equal([p.metrics["valid"]["auc"] for p in seen], found["valid"]["auc"])
    again = pickle.loads(pickle.dumps(model))
    assert again.evals_result_ == found
    assert again.best_score_ == model.best_score_


def squared(y, p, weight):
    return float(np.mean((y - p[:, 1]) ** 2))


@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_pickled_by_name(name):
    assert pickle.loads(pickle.dumps(METRICS[name])) is METRICS[name]
    own = Metric("auc", squared, of_codes=True)
    assert pickle.loads(pickle.dumps(own)) == own


def test_a_file_keeps_the_name_and_not_the_history(classes, tmp_path):
    import stagewise

    X, y = classes
    model = GradientBoostingClassifier(n_estimators=3, eval_metric="auc", early_stopping=True)
    model.fit(X, y).save(tmp_path / "m.stgw")
    assert stagewise.load(tmp_path / "m.stgw").eval_metric == "auc"


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("error_rat", "Did you mean 'error_rate'"),
        ("rmse", "'rmse' is a metric of regression"),
        (METRICS["rmse"], "must be a metric of classification"),
        (3, "None, the name of a metric"),
        (Metric, "None, the name of a metric"),
    ],
)
def test_an_unknown_metric_is_refused_before_the_data_are_read(metric, message, classes):
    with pytest.raises(ValueError, match=message):
        GradientBoostingClassifier(eval_metric=metric, early_stopping=True).fit("no table", None)


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (GradientBoostingClassifier(n_estimators=5), "set early_stopping=True, or pass X_val"),
        (
            RandomForestClassifier(oob_score=False),
            "leave rows out of the bags and set oob_score=True",
        ),
    ],
)
def test_a_metric_without_held_out_rows_is_an_error(model, remedy, classes):
    with pytest.raises(ValueError, match=f"no rows are held out; {remedy}"):
        model.set_params(eval_metric="auc").fit(*classes)


def test_a_continued_fit_has_no_metric(classes):
    model = GradientBoostingClassifier(n_estimators=5, warm_start=True, early_stopping=True)
    with pytest.raises(ValueError, match="eval_metric cannot be combined with warm_start"):
        model.set_params(eval_metric="auc").fit(*classes)


def test_a_metric_that_is_not_a_number_is_an_error(classes):
    X, y = classes
    one = y == 1
    with pytest.raises(ValueError, match="The metric 'auc' is nan for these"):
        GradientBoostingClassifier(eval_metric="auc").fit(X, y, X_val=X[one], y_val=y[one])


def test_a_function_with_other_arguments_is_an_error(classes):
    X, y = classes
    with pytest.raises(ValueError, match=r"must take \(y, prediction, weight\)"):
        GradientBoostingClassifier(eval_metric=lambda y: 0.0, early_stopping=True).fit(X, y)


@pytest.mark.parametrize("returned", ["a", None, [1.0, 2.0], np.inf])
def test_a_metric_returns_a_finite_number(returned, classes):
    def metric(y, p, w):
        return returned

    with pytest.raises(ValueError, match=r"The metric 'metric' (must|is)"):
        GradientBoostingClassifier(eval_metric=metric, early_stopping=True).fit(*classes)


def test_an_error_inside_a_function_is_its_own(classes):
    def metric(y, p, w):
        raise TypeError("inside")

    with pytest.raises(TypeError, match=r"^inside$"):
        GradientBoostingClassifier(eval_metric=metric, early_stopping=True).fit(*classes)


def test_a_function_cannot_change_the_rows(classes):
    X, y = classes

    def metric(y, p, w):
        y[:] = 0
        return 1.0

    kept = y.copy()
    with pytest.raises(ValueError, match="read-only"):
        GradientBoostingClassifier(eval_metric=metric).fit(X[:300], y[:300], X_val=X, y_val=y)
    np.testing.assert_array_equal(y, kept)


@pytest.mark.parametrize("name", POINT_METRICS)
def test_metrics_of_several_targets_are_means_over_them(name, numbers):
    rng = np.random.default_rng(0)
    Y, P = rng.uniform(0.5, 3, (2, 50, 3)) / (3 if name == "cross_entropy" else 1)
    metric = METRICS[name].bind(FitFacts(None, "tweedie", 1.5))
    each = [metric.value(Y[:, k], P[:, k], None) for k in range(3)]
    assert metric.value(Y, P, None) == pytest.approx(np.mean(each))
    X, y = numbers
    GradientBoostingRegressor(n_estimators=2, early_stopping=True, eval_metric="rmse").fit(
        X, np.column_stack([y, y])
    )


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_the_size_of_targets_does_not_change_the_best_round(scale, numbers):
    X, y = numbers
    given = {"n_estimators": 40, "early_stopping": True, "eval_metric": "rmse"}
    one, other = (GradientBoostingRegressor(**given).fit(X, t) for t in (y, scale * y))
    assert other.n_iter_ == one.n_iter_ > 5


def test_a_file_of_a_model_with_a_function_has_a_warning(classes, tmp_path):
    import stagewise

    model = GradientBoostingClassifier(
        n_estimators=2, early_stopping=True, eval_metric=lambda y, p, w: 1.0
    ).fit(*classes)
    with pytest.warns(UserWarning, match="the loaded estimator has eval_metric=None"):
        model.save(tmp_path / "m.stgw")
    assert stagewise.load(tmp_path / "m.stgw").eval_metric is None


def test_rows_of_datasets_are_read_into_memory_for_a_metric(numbers):
    pa = pytest.importorskip("pyarrow")
    X, y = numbers
    table = pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y})
    data = read_batches(table.to_batches(max_chunksize=100), target="y")
    given = {"n_estimators": 20, "early_stopping": True, "eval_metric": "mae"}
    from_batches = GradientBoostingRegressor(**given).fit(data)
    in_memory = GradientBoostingRegressor(**given).fit(table.drop(["y"]), y)
    assert from_batches.fingerprint() == in_memory.fingerprint()


def test_no_metric_is_empty():
    assert find_metrics(None, "regression") == ()


# ---- names that other libraries have, or that are a habit ---------------------------------------

HABITS = {
    "acc": "accuracy",
    "Acc": "accuracy",
    "Accuracy": "accuracy",
    "logloss": "log_loss",
    "Logloss": "log_loss",
    "binary_logloss": "log_loss",
    "multi_logloss": "log_loss",
    "mlogloss": "log_loss",
    "AUC": "auc",
    "aucpr": "average_precision",
    "merror": "error_rate",
    "error": "error_rate",
    "mse": "rmse",
    "MSE": "rmse",
    "l2": "rmse",
    "l1": "mae",
    "RMSE": "rmse",
    "R2": "r2",
    "rmsle": "neg_root_mean_squared_log_error",
    "mape": "neg_mean_absolute_percentage_error",
}


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", HABITS)
def test_the_message_for_a_name_by_habit_has_ours(name, task):
    ours = HABITS[name]
    of = METRICS[ours].task if ours in METRICS else task
    words = "" if of == task else f", a metric of {of}"
    hint = rf"(it is|get_scorer\() ?'?{ours}'\)?{words}\."
    with pytest.raises(
        ValueError, match=rf"^eval_metric='{name}': .*{hint} The parameter"
    ) as caught:
        find_metrics(name, task)
    if ours in METRICS:
        assert "Did you mean" not in str(caught.value)


def test_a_scorer_in_the_message_exists_and_can_be_passed(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="get_scorer") as caught:
        find_metrics("rmsle", "regression")
    scorer = sk.get_scorer(str(caught.value).split("get_scorer('")[1].split("'")[0])
    model = GradientBoostingRegressor(n_estimators=5, loss="poisson", eval_metric=scorer)
    assert model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:]).best_score_["valid"]


@pytest.mark.parametrize("early_stopping", [True, "cv"])
@pytest.mark.parametrize("metric", ["auc", "average_precision"])
def test_a_metric_that_is_the_best_at_once_does_not_end_the_fit(early_stopping, metric):
    """Few held-out rows are ordered without an error long before probabilities are good."""
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(
        n_estimators=200, early_stopping=early_stopping, eval_metric=metric, random_state=0
    ).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.93
