"""Thresholds, calibration, confusion, residuals and learning curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint

from inspection.tables import MODELS, fitted, mixed, targets
from stagewise import (
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LinearRegression,
    RandomForestRegressor,
    load,
)
from stagewise.inspection import (
    Calibration,
    ConfusionMatrix,
    Predictions,
    Residuals,
    Thresholds,
    calibration,
    confusion_matrix,
    learning_curves,
    residuals,
    scores,
    thresholds,
)


def predictions_of(name, weight=None, n=200):
    X = mixed(n, seed=5)
    return Predictions.of(fitted(name), X, targets(X, seed=6)[MODELS[name][1]], weight)


WEIGHT = np.random.default_rng(0).uniform(0, 3, 200) * (np.arange(200) % 7 > 0)


# ---- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(("name", "positive"), [("two classes", None), ("three classes", "mid")])
def test_curves_and_areas_equal_scikit_learns(name, positive, weight):
    predictions = predictions_of(name, weight)
    found = Thresholds.of(predictions, positive)
    k = predictions.names.index(positive or "yes")
    y, p = predictions.y == k, predictions.y_pred[:, k]
    roc = found.roc()
    fpr, tpr, cut = metrics.roc_curve(y, p, sample_weight=weight, drop_intermediate=False)
    # scikit-learn keeps thresholds of rows without weight, which change nothing
    own = np.isin(cut, found.threshold)
    np.testing.assert_allclose(roc.false_positive_rate, fpr[own], atol=1e-12)
    np.testing.assert_allclose(roc.true_positive_rate, tpr[own], atol=1e-12)
    assert roc.area == pytest.approx(metrics.roc_auc_score(y, p, sample_weight=weight))
    average = metrics.average_precision_score(y, p, sample_weight=weight)
    assert found.precision_recall().average == pytest.approx(average)
    for t in (0.0, 0.2, 0.5, float(p[3]), 1.0):
        tn, fp, fn, tp = metrics.confusion_matrix(y, p >= t, sample_weight=weight).ravel()
        cells = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
        assert found.at(t) == pytest.approx(cells, abs=1e-9)


def test_thresholds_decrease_from_no_row_to_all():
    found = Thresholds.of(predictions_of("two classes"))
    assert found.threshold[0] == np.inf
    assert (np.diff(found.threshold) < 0).all()
    assert found.true_positive[-1] == found.positives
    assert found.false_positive[-1] == found.negatives
    assert found.positives + found.negatives == 200


def test_the_least_cost_threshold_is_found():
    found = Thresholds.of(predictions_of("two classes"))
    cost = found.cost(false_positive=1.0, false_negative=5.0)
    by_hand = []
    for t in found.threshold[1:]:
        cells = found.at(t)
        by_hand.append((cells["fp"] + 5 * cells["fn"]) / 200)
    np.testing.assert_allclose(cost.cost[1:], by_hand)
    assert cost.cost[0] == pytest.approx(5 * found.positives / 200)
    assert cost.best_cost == min(by_hand)
    assert found.cost(1.0, 5.0).best_threshold < found.cost(5.0, 1.0).best_threshold
    assert found.cost(1.0, 0.0).best_threshold == np.inf


def test_few_thresholds_keep_the_ends_and_the_shape():
    found = Thresholds.of(predictions_of("two classes"))
    few = found.thinned(15)
    assert len(few.threshold) <= 15 < len(found.threshold)
    assert few.threshold[0] == np.inf
    assert few.threshold[-1] == found.threshold[-1]
    assert few.roc().area == pytest.approx(found.roc().area, abs=0.03)
    assert found.thinned(1000) is found
    with pytest.raises(InvalidParameterError, match="n must be a whole number at least 2"):
        found.thinned(1)


def test_thresholds_need_positive_and_negative_rows():
    X, y = mixed(30), targets(mixed(30))
    with pytest.raises(InvalidParameterError, match="pos_label must be one of the 3 classes"):
        thresholds(fitted("three classes"), X, y["three"])
    with pytest.raises(InvalidParameterError, match="Did you mean 'mid'"):
        thresholds(fitted("three classes"), X, y["three"], pos_label="mld")
    with pytest.raises(ValueError, match=r"only the class 'yes'.*Pass rows of both"):
        thresholds(fitted("two classes"), X, ["yes"] * 30)
    with pytest.raises(InvalidParameterError, match="thresholds needs a classifier"):
        thresholds(fitted("a number"), X, y["number"])
    with pytest.raises(InvalidParameterError, match="false_negative must be"):
        thresholds(fitted("two classes"), X, y["two"]).cost(false_negative=-1)


# ---- calibration ---------------------------------------------------------------------------------


def test_bins_have_equal_weights_and_wilsons_limits():
    predictions = predictions_of("two classes")
    found = Calibration.of(predictions, n_bins=5)
    p, y = predictions.y_pred[:, 1], predictions.y
    assert found.weight.sum() == 200
    assert found.weight.max() < 60
    order, begin = np.argsort(p, kind="stable"), 0
    for b, size in enumerate(found.weight.astype(int)):
        rows = order[begin : begin + size]
        begin += size
        assert found.predicted[b] == pytest.approx(p[rows].mean())
        assert found.observed[b] == pytest.approx(y[rows].mean())
        low, high = proportion_confint(y[rows].sum(), size, method="wilson")
        assert (found.low[b], found.high[b]) == pytest.approx((low, high))
    gap = np.abs(found.predicted - found.observed)
    assert found.error == pytest.approx((gap * found.weight).sum() / 200)


def test_equal_probabilities_share_a_bin():
    y_pred = np.repeat([[0.8, 0.2], [0.3, 0.7]], [30, 10], axis=0)
    y = np.repeat([0, 1, 0, 1], [24, 6, 3, 7])
    found = Calibration.of(Predictions.from_arrays(y, y_pred, [0, 1]))
    np.testing.assert_allclose(found.predicted, [0.2, 0.7])
    np.testing.assert_allclose(found.observed, [0.2, 0.7])
    assert found.error == pytest.approx(0, abs=1e-12)


def test_weights_equal_repeated_rows_in_calibration():
    predictions = predictions_of("two classes", np.arange(200) % 3)
    rows = np.repeat(np.arange(200), np.arange(200) % 3)
    X = mixed(200, seed=5).iloc[rows]
    twice = calibration(fitted("two classes"), X, targets(mixed(200, seed=5), seed=6)["two"][rows])
    found = Calibration.of(predictions)
    np.testing.assert_allclose(found.observed, twice.observed)
    np.testing.assert_allclose(found.predicted, twice.predicted)
    with pytest.raises(InvalidParameterError, match="bins must be"):
        Calibration.of(predictions, n_bins=0)


# ---- confusion matrix ----------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_confusion_equals_scikit_learns(weight):
    predictions = predictions_of("three classes", weight)
    y, y_pred = predictions.y, predictions.y_pred.argmax(axis=1)
    found = ConfusionMatrix.of(predictions)
    for how in (None, "true", "pred"):
        expected = metrics.confusion_matrix(y, y_pred, sample_weight=weight, normalize=how)
        np.testing.assert_allclose(found.normalized(how), expected)
    whole = metrics.precision_recall_fscore_support(y, y_pred, sample_weight=weight)
    rows = found.by_class()
    for name, column in zip(("precision", "recall", "f1"), whole[:3], strict=True):
        np.testing.assert_allclose([row[name] for row in rows], column)
    assert [row["rows"] for row in rows] == np.bincount(y).tolist()
    assert sum(row["weight"] for row in found.table()) == pytest.approx(predictions.weight.sum())


def test_confusion_of_a_regression_is_an_error():
    X = mixed(20)
    with pytest.raises(InvalidParameterError, match="needs a classifier"):
        confusion_matrix(fitted("a number"), X, targets(X)["number"])
    with pytest.raises(InvalidParameterError, match="normalize must be one of None"):
        ConfusionMatrix.of(predictions_of("two classes")).normalized("rows")


# ---- residuals -----------------------------------------------------------------------------------


def test_residuals_are_observed_minus_predicted():
    predictions = predictions_of("a number", WEIGHT)
    found = Residuals.of(predictions)
    np.testing.assert_array_equal(found.residual, predictions.y - predictions.y_pred)
    times = np.round(WEIGHT).astype(int)
    counted = Residuals(found.predicted, found.observed, found.residual, times.astype(float))
    repeated = np.repeat(found.residual, times)
    expected = np.quantile(repeated, [0.1, 0.5, 0.8], method="inverted_cdf")
    np.testing.assert_allclose(counted.quantiles([0.1, 0.5, 0.8]), expected)
    with pytest.raises(InvalidParameterError, match="shares must be numbers from 0 to 1"):
        found.quantiles([90])
    with pytest.raises(InvalidParameterError, match="residuals needs a regressor"):
        residuals(fitted("two classes"), mixed(9), targets(mixed(9))["two"])


def test_running_quartiles_are_those_of_neighbours():
    found = Residuals.of(predictions_of("a number"))
    running = found.running(n_bins=4)
    order = np.argsort(found.predicted, kind="stable").reshape(4, 50)
    for g, rows in enumerate(order):
        assert running["predicted"][g] == pytest.approx(found.predicted[rows].mean())
        expected = np.quantile(found.residual[rows], [0.25, 0.5, 0.75], method="inverted_cdf")
        assert [running[k][g] for k in ("lower", "median", "upper")] == pytest.approx(expected)


def test_normal_errors_lie_on_the_diagonal():
    r = norm.ppf((np.arange(500) + 0.5) / 500) * 3 + 1
    found = Residuals(np.zeros(500), r, r, np.ones(500))
    x, y = found.against_normal()
    np.testing.assert_allclose(x, y, atol=0.02)


def test_one_outlier_does_not_change_standardized_residuals():
    r = norm.ppf((np.arange(500) + 0.5) / 500)
    r[-1] = 1e5
    x, y = Residuals(np.zeros(500), r, r, np.ones(500)).against_normal()
    np.testing.assert_allclose(x[:-1], y[:-1], atol=0.02)
    constant = np.r_[np.zeros(99), 5.0]  # equal quartiles
    assert Residuals(constant, constant, constant, np.ones(100)).against_normal()[1].std() > 0.9


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_have_any_metric(weighted):
    X, y = mixed()[["a", "b", "d"]], np.asarray(targets(mixed())["two"])
    model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    weight = np.linspace(0.5, 2, len(y)) if weighted else None
    scorer = metrics.get_scorer("matthews_corrcoef")
    names = ["auc", "average_precision", "f1", "error_rate", scorer]
    found = scores(model, X, y, sample_weight=weight, metrics=names, n_resamples=30)
    p, true = model.predict_proba(X), (y == model.classes_[1]).astype(int)
    given = {"sample_weight": weight}
    expected = {
        "auc": metrics.roc_auc_score(true, p[:, 1], **given),
        "average_precision": metrics.average_precision_score(true, p[:, 1], **given),
        "f1": metrics.f1_score(true, p.argmax(axis=1), **given),
        "error_rate": 1 - metrics.accuracy_score(true, p.argmax(axis=1), **given),
        "matthews_corrcoef": scorer(model, X, y, **given),
    }
    assert [s.name for s in found.scores] == list(expected)
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value)
        assert found[name].low <= value <= found[name].high
    shares = np.average(true, weights=weight)
    assert found["average_precision"].baseline == pytest.approx(shares)
    assert found["error_rate"].baseline == pytest.approx(min(shares, 1 - shares))
    with pytest.raises(ValueError, match="The parameter 'metrics' must be one of"):
        scores(model, X, y, metrics="rmse")


# ---- learning curves -----------------------------------------------------------------------------


def test_curves_of_boosting_are_its_history(tmp_path):
    X = mixed(300)[["a", "b", "d"]]
    y = targets(mixed(300))["number"]
    model = GradientBoostingRegressor(n_estimators=40, subsample=0.5, oob_score=True)
    model.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    found = learning_curves(model)
    np.testing.assert_array_equal(found.train, model.train_loss_)
    np.testing.assert_array_equal(found.validation, model.validation_loss_)
    np.testing.assert_allclose(-np.diff(found.out_of_bag), model.oob_improvement_[1:])
    assert found.out_of_bag[0] == pytest.approx(found.train[0], rel=1e-12)
    assert (found.chosen, found.loss) == (model.n_iter_, "half the squared error")
    assert pd.DataFrame(found.table()).columns.tolist()[0] == "rounds"
    model.save(tmp_path / "m.stgw")
    kept = learning_curves(load(tmp_path / "m.stgw"))
    np.testing.assert_array_equal(kept.validation, found.validation)
    assert kept.out_of_bag is None  # a file does not contain it


def test_learning_curves_of_forests_and_bagging_are_out_of_bag_losses():
    X, y = mixed()[["a", "d"]], targets(mixed())["number"]
    forest = RandomForestRegressor(n_estimators=9).fit(X, y)
    found = learning_curves(forest)
    np.testing.assert_array_equal(found.out_of_bag, forest.oob_loss_)
    assert (found.validation, found.unit, found.chosen) == (None, "trees", 9)
    forest.fit(X, y, X_val=X, y_val=y)
    np.testing.assert_array_equal(learning_curves(forest).validation, forest.validation_loss_)
    ensemble = BaggingRegressor(LinearRegression(), n_estimators=6, oob_score=True).fit(X, y)
    found = learning_curves(ensemble)
    np.testing.assert_array_equal(found.out_of_bag, ensemble.oob_loss_)
    assert found.unit == "members"


def test_curves_have_any_metric_on_any_set(tmp_path):
    X, y = mixed()[["a", "b", "d"]], targets(mixed())["two"]
    n = len(y) // 2
    sets = {"test": (X[n:], y[n:]), "other": (X[n + 50 :], y[n + 50 :])}
    model = GradientBoostingClassifier(n_estimators=12, eval_metric=["auc", "log_loss"])
    model.fit(X[:n], y[:n], eval_set=sets)
    found = learning_curves(model)
    assert list(found.curves) == ["training", "test", "other"]
    np.testing.assert_array_equal(found.curves["test"], model.evals_result_["test"]["loss"])
    areas = learning_curves(model, metric="auc")
    assert list(areas.curves) == ["test", "other"]
    np.testing.assert_array_equal(areas.sets["other"], model.evals_result_["other"]["auc"])
    assert areas.larger_is_better
    best = int(np.argmax(areas.sets["test"]))
    assert "largest test auc" in repr(areas)
    assert f"after {best + 1} rounds" in repr(areas)
    assert [line.get_label() for line in areas.plot().get_lines()][:2] == ["test", "other"]
    with pytest.raises(ValueError, match=r"did not measure 'f1'; it measured 'loss', 'auc', 'log_"):
        learning_curves(model, metric="f1")
    model.save(tmp_path / "m.stgw")
    with pytest.raises(ValueError, match="files keep only losses"):
        learning_curves(load(tmp_path / "m.stgw"), metric="auc")
    number = targets(mixed())["number"]
    forest = RandomForestRegressor(n_estimators=5, eval_metric="mae").fit(X, number)
    found = learning_curves(forest, "mae")
    np.testing.assert_array_equal(found.out_of_bag, forest.evals_result_["oob"]["mae"])
    assert (found.unit, found.larger_is_better) == ("trees", False)


def test_a_model_without_recorded_losses_is_an_error():
    X, y = mixed()[["a", "d"]], targets(mixed())["number"]
    with pytest.raises(ValueError, match=r"recorded no losses.*oob_score=True"):
        learning_curves(fitted("extra trees"))
    with pytest.raises(ValueError, match=r"no out-of-bag losses.*oob_score=True"):
        learning_curves(BaggingRegressor(LinearRegression(), n_estimators=2).fit(X, y))
    with pytest.raises(TypeError, match="DecisionTreeRegressor is not"):
        learning_curves(DecisionTreeRegressor().fit(X, y))
    with pytest.raises(TypeError, match="LinearRegression is not"):
        learning_curves(LinearRegression().fit(X, y))
    with pytest.raises(ValueError, match="not fitted"):
        learning_curves(GradientBoostingClassifier(n_estimators=100))


# ---- plots ---------------------------------------------------------------------------------------


def test_every_plot_can_be_drawn():
    two, number = predictions_of("two classes"), predictions_of("a number")
    found = Thresholds.of(two)
    facts = [found, found.roc(), found.precision_recall(), found.cost(1, 3), Calibration.of(two)]
    facts += [
        ConfusionMatrix.of(predictions_of("three classes")),
        learning_curves(fitted("a number")),
    ]
    for fact in facts:
        ax = fact.plot()
        assert ax.get_xlabel()
        ax.figure.canvas.draw()
        assert fact.table()
        given = Figure().add_subplot()
        assert fact.plot(given) is given
    axes = Residuals.of(number).plot()
    assert [ax.get_ylabel() for ax in axes] == ["observed", "residual", "standardized residual"]
    axes[0].figure.canvas.draw()
    assert ConfusionMatrix.of(two).plot(normalize="true").texts[0].get_text().startswith("0.")
