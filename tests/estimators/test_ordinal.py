"""Ordered classes: cumulative logit and probit losses with learned thresholds."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

import stagewise
from stagewise import GradientBoostingClassifier, StagewiseClassifier
from stagewise._native import Workers
from stagewise.errors import InvalidParameterError
from stagewise.losses import CumulativeLogit, CumulativeProbit, check_loss
from stagewise.metrics.ordinal import quadratic_kappa

LOSSES = {"cumulative_logit": CumulativeLogit, "cumulative_probit": CumulativeProbit}
CDF = {"cumulative_logit": expit, "cumulative_probit": norm.cdf}
PLAIN = {"n_estimators": 20, "max_leaf_nodes": 6, "early_stopping": False, "learning_rate": 0.2}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 4))
    latent = 1.5 * X[:, 0] + np.sin(2 * X[:, 1]) + rng.logistic(size=800)
    return X, np.digitize(latent, [-2.0, -0.5, 0.2, 2.5]) + 3


def fitted(table, loss="cumulative_logit", **params):
    return GradientBoostingClassifier(loss=loss, **{**PLAIN, **params}).fit(*table)


def rows_of(seed, n=400, k=5):
    rng = np.random.default_rng(seed)
    score = 2.0 * rng.normal(size=n)
    y = np.digitize(score + rng.logistic(size=n), np.linspace(-2, 2, k - 1)).astype(np.int32)
    return y, score, rng.uniform(0.0, 2.0, n)


# ---- the loss ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_the_loss_is_the_logarithm_of_the_probability(name):
    y, score, _ = rows_of(0)
    loss = LOSSES[name](5, [-2.0, 0.0, 0.1, 3.0])
    cuts = np.array([-np.inf, -2.0, 0.0, 0.1, 3.0, np.inf])
    p = CDF[name](cuts[y + 1] - score) - CDF[name](cuts[y] - score)
    np.testing.assert_allclose(loss.loss(y, score), -np.log(p), rtol=1e-7)
    np.testing.assert_allclose(loss.mean(score)[np.arange(len(y)), y], p, rtol=1e-7)
    check_loss(loss, y, score / 6.0)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_finite_for_any_score(name):
    loss = LOSSES[name](4, [-1.0, 0.0, 1e-7])
    for far in (40.0, 1e3, 1e6):
        score = np.repeat([-far, far], 4)
        y = np.tile(np.arange(4, dtype=np.int32), 2)
        for values in (loss.loss(y, score), *loss.derivatives(y, score)):
            assert np.isfinite(values).all()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_equals_numpy(name, weighted):
    y, score, weight = rows_of(1, 3000)
    loss, given = LOSSES[name](5), weight if weighted else None
    bound = loss.bind(Workers(2), y, given)
    total = bound.evaluate(score[:, np.newaxis])
    own = loss.with_thresholds(bound.learned()["thresholds"])
    expected = own.loss(y, score) @ (weight if weighted else np.ones(len(y)))
    assert total == pytest.approx(expected, rel=1e-10)
    g, h = bound.gradients(0).pairs().reshape(-1, 2).T
    gradient, hessian = own.derivatives(y, score)
    np.testing.assert_allclose(g, gradient, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(h, hessian, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_no_threshold(threads):
    y, score, weight = rows_of(2, 5000)
    one = CumulativeLogit(5).learned_thresholds(Workers(1), y, weight, score)
    found = CumulativeLogit(5).learned_thresholds(Workers(threads), y, weight, score)
    assert one.tolist() == found.tolist()


@pytest.mark.parametrize("name", LOSSES)
def test_thresholds_are_those_of_maximum_likelihood(name):
    y, score, weight = rows_of(3, 300, 4)
    found = LOSSES[name](4).learn(y, weight, score[:, np.newaxis])["thresholds"]

    def total(at):
        if not (np.diff(at) > 0).all():
            return np.inf
        return float(weight @ LOSSES[name](4, at).loss(y, score))

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
    begin = found + np.array([-0.1, 0.05, 0.1])
    other = minimize(total, begin, method="Nelder-Mead", options=options)
    np.testing.assert_allclose(found, other.x, atol=1e-5)
    assert total(found) <= total(other.x) + 1e-9


def test_thresholds_of_a_linear_score_are_those_of_statsmodels():
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    rng = np.random.default_rng(5)
    x = rng.normal(size=1500)
    y = np.digitize(1.3 * x + rng.logistic(size=1500), [-1.0, 0.5, 2.0]).astype(np.int32)
    model = ordinal.OrderedModel(y, x[:, np.newaxis], distr="logit")
    theirs = model.fit(method="bfgs", gtol=1e-8, disp=False)
    cuts = model.transform_threshold_params(theirs.params)[1:-1]
    score = theirs.params[0] * x
    found = CumulativeLogit(4).learn(y, None, score[:, np.newaxis])["thresholds"]
    np.testing.assert_allclose(found, cuts, atol=1e-4)
    own = CumulativeLogit(4, found)
    assert own.loss(y, score).sum() == pytest.approx(-theirs.llf, rel=1e-7)


def test_separated_classes_have_finite_ordered_thresholds():
    y = np.repeat(np.arange(4, dtype=np.int32), 50)
    for score in (100.0 * y, -100.0 * y, 1e-6 * y, 0.0 * y):
        found = CumulativeLogit(4).learn(y, None, score[:, np.newaxis])["thresholds"]
        assert np.isfinite(found).all()
        assert (np.diff(found) > 0).all()


def test_a_class_without_weight_changes_no_other_threshold():
    y, score, _ = rows_of(6, 500, 4)
    weight = np.where(y == 2, 0.0, 1.0)
    found = CumulativeLogit(4).learn(y, weight, score[:, np.newaxis])["thresholds"]
    kept = y != 2
    codes = np.searchsorted([0, 1, 3], y[kept]).astype(np.int32)
    others = CumulativeLogit(3).learn(codes, None, score[kept, np.newaxis])["thresholds"]
    np.testing.assert_allclose(found[[0, 1]], others, atol=1e-7)
    assert found[1] < found[2] < found[1] + 0.01


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("absent", [0, 3])
@pytest.mark.parametrize("weight", [0.0, 1e-200])
def test_an_absent_class_at_an_end_takes_no_rows_of_its_neighbour(name, absent, weight):
    y, score, _ = rows_of(6, 500, 4)
    own = np.where(y == absent, weight, 1.0)
    loss = LOSSES[name](4)
    fitted_loss = loss.with_learned(loss.learn(y, own, score[:, np.newaxis]))
    kept = y != absent
    expected = np.bincount(y[kept], minlength=4) / kept.sum()
    found = fitted_loss.mean(score[kept]).mean(axis=0)
    np.testing.assert_allclose(found, expected, atol=0.08)
    assert found[absent] < 0.001
    assert np.isfinite(fitted_loss.loss(y, score)).all()


def test_thresholds_must_increase():
    with pytest.raises(ValueError, match="3 increasing numbers for 4 classes"):
        CumulativeLogit(4, [0.0, 2.0, 1.0])


# ---- fits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_fit_has_one_score_and_ordered_thresholds(table, loss):
    X, y = table
    model = fitted(table, loss)
    assert model.decision_function(X).shape == (800,)
    assert model.classes_.tolist() == [3, 4, 5, 6, 7]
    assert (np.diff(model.thresholds_) > 0).all()
    below = np.cumsum(model.predict_proba(X), axis=1)[:, :-1]
    cuts = model.thresholds_ - model.decision_function(X)[:, np.newaxis]
    np.testing.assert_allclose(below, CDF[loss](cuts), atol=1e-12)
    assert model.score(X, y) > 0.45
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)]
    )


def test_a_first_round_is_the_newton_step_of_the_textbook(table):
    X, y = table
    codes = (y - 3).astype(np.int32)
    model = fitted(table, n_estimators=1, learning_rate=1.0, max_leaf_nodes=2, l2_regularization=0)
    start = float(model.model_.ensemble.base[0])
    loss = CumulativeLogit(5)
    first = loss.learn(codes, None, np.full((800, 1), start))["thresholds"]
    g, h = loss.with_thresholds(first).derivatives(codes, np.full(800, start))
    score = model.decision_function(X)
    for value in np.unique(score):
        leaf = score == value
        assert value - start == pytest.approx(-g[leaf].sum() / h[leaf].sum(), rel=1e-5)


def test_two_classes_are_log_loss(table):
    X, y = table
    ordinal = fitted((X, y > 5))
    plain = GradientBoostingClassifier(**PLAIN).fit(X, y > 5)
    np.testing.assert_allclose(ordinal.predict_proba(X), plain.predict_proba(X), atol=0.01)


def test_reversed_classes_have_the_opposite_scores(table):
    X, y = table
    model, other = fitted((X, y - 3)), fitted((X, 4 - (y - 3)))
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X)[:, ::-1], atol=1e-4)


def test_a_cost_predicts_medians_and_means(table):
    X, _ = table
    model = fitted(table)
    ranks = np.arange(5)
    median = model.predict(X, cost=np.abs(ranks[:, None] - ranks))
    below = np.cumsum(model.predict_proba(X), axis=1)
    np.testing.assert_array_equal(median, model.classes_[(below < 0.5).sum(axis=1)])


def test_weights_are_frequencies(table):
    X, y = table
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    params = {**PLAIN, "min_samples_leaf": 5, "loss": "cumulative_logit"}
    weighted = GradientBoostingClassifier(**params).fit(X, y, sample_weight=counts)
    repeated = GradientBoostingClassifier(**params).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.thresholds_, repeated.thresholds_, atol=1e-4)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)


def test_the_order_of_rows_and_threads_change_nothing(table):
    X, y = table
    order = np.random.default_rng(2).permutation(len(y))
    model = fitted(table)
    shuffled = fitted((X[order], y[order]))
    threads = fitted(table, n_jobs=3)
    np.testing.assert_allclose(model.thresholds_, shuffled.thresholds_, atol=1e-9)
    assert model.fingerprint() == threads.fingerprint()


def test_monotone_constraints_hold_for_the_score(table):
    X, _ = table
    model = fitted(table, monotonic_cst=[1, 0, 0, 0])
    low, high = X.copy(), X.copy()
    low[:, 0], high[:, 0] = -1.0, 1.0
    assert (model.decision_function(high) >= model.decision_function(low)).all()
    below = [np.cumsum(model.predict_proba(own), axis=1) for own in (low, high)]
    assert (below[1] <= below[0] + 1e-12).all()


def test_an_offset_is_part_of_the_score(table):
    X, y = table
    offset = 0.8 * X[:, 0]
    model = GradientBoostingClassifier(loss="cumulative_logit", **PLAIN).fit(X, y, offset=offset)
    zero = model.decision_function(X, offset=np.zeros(len(y)))
    np.testing.assert_allclose(model.decision_function(X, offset=offset), zero + offset)
    p = model.predict_proba(X, offset=offset)
    cuts = model.thresholds_ - (zero + offset)[:, np.newaxis]
    np.testing.assert_allclose(np.cumsum(p, axis=1)[:, :-1], expit(cuts), atol=1e-12)


def test_class_weights_count_as_weights(table):
    X, y = table
    params = {**PLAIN, "loss": "cumulative_logit"}
    given = {label: 1 + (label == 7) for label in range(3, 8)}
    by_class = GradientBoostingClassifier(class_weight=given, **params).fit(X, y)
    by_row = GradientBoostingClassifier(**params).fit(X, y, sample_weight=1 + (y == 7))
    assert by_class.fingerprint() == by_row.fingerprint()


@pytest.mark.parametrize("stopping", [True, "cv"])
def test_held_out_rows_are_measured_with_the_thresholds_of_the_training_rows(table, stopping):
    model = fitted(
        table,
        n_estimators=60,
        early_stopping=stopping,
        eval_metric=["log_loss", "ranked_probability_score"],
    )
    found = model.evals_result_["valid"]
    np.testing.assert_allclose(found["loss"], found["log_loss"], rtol=1e-6)
    assert min(found["ranked_probability_score"]) < found["ranked_probability_score"][0]


def test_the_loss_of_the_last_round_is_that_of_the_model(table):
    X, y = table
    X_val, y_val = X[:200] + 0.1, y[:200]
    model = GradientBoostingClassifier(loss="cumulative_logit", **PLAIN)
    model.fit(X, y, eval_set=[(X_val, y_val)])
    p = model.predict_proba(X_val)[np.arange(200), y_val - 3]
    recorded = model.evals_result_["valid_0"]["loss"][model.n_iter_ - 1]
    assert -np.log(p).mean() == pytest.approx(recorded, rel=1e-6)


def test_the_thresholds_are_those_of_the_best_round(table):
    X, y = table
    model = fitted(table, n_estimators=200, early_stopping=True, learning_rate=0.5)
    assert model.n_iter_ < 200
    kept = np.setdiff1d(np.arange(len(y)), model.held_out_rows_)
    score = model.decision_function(X[kept])[:, np.newaxis]
    again = CumulativeLogit(5).learn((y[kept] - 3).astype(np.int32), None, score)
    np.testing.assert_allclose(model.thresholds_, again["thresholds"], atol=1e-7)


def test_staged_predictions_end_with_the_predictions(table):
    X, _ = table
    model = fitted(table)
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X))


@pytest.mark.parametrize(
    "params",
    [
        {"dropout": "dart"},
        {"sampling": "goss"},
        {"subsample": 0.5, "oob_score": True},
        {"leaves": "linear"},
        {"response": "gradient"},
        {"grow_policy": "symmetric"},
    ],
)
def test_ordered_classes_can_be_combined_with(table, params):
    model = fitted(table, **params)
    assert model.score(*table) > 0.4
    assert (np.diff(model.thresholds_) > 0).all()


def test_a_fit_continues(table):
    X, y = table
    whole = fitted(table, n_estimators=20)
    part = GradientBoostingClassifier(
        loss="cumulative_logit", **{**PLAIN, "n_estimators": 8}, warm_start=True
    ).fit(X, y)
    part.set_params(n_estimators=20).fit(X, y)
    np.testing.assert_allclose(part.predict_proba(X), whole.predict_proba(X), atol=1e-5)


# ---- the order of classes ------------------------------------------------------------------------

WORDS = np.array(["poor", "fair", "good", "great", "best"])


def test_text_needs_an_order(table):
    X, y = table
    with pytest.raises(ValueError, match=r"order of the classes is unknown.*class_order="):
        fitted((X, WORDS[y - 3]))


def test_class_order_and_ordered_categories_are_the_order(table):
    X, y = table
    numbers = fitted(table)
    given = fitted((X, WORDS[y - 3]), class_order=list(WORDS))
    series = pd.Series(pd.Categorical(WORDS[y - 3], categories=list(WORDS), ordered=True))
    ordered = fitted((X, series))
    for model in (given, ordered):
        assert model.classes_.tolist() == WORDS.tolist()
        np.testing.assert_array_equal(model.predict_proba(X), numbers.predict_proba(X))
        np.testing.assert_array_equal(model.predict(X), WORDS[numbers.predict(X) - 3])


def test_validation_rows_have_the_order_of_the_training_rows(table):
    X, y = table
    model = GradientBoostingClassifier(
        loss="cumulative_logit", class_order=list(WORDS), **{**PLAIN, "early_stopping": True}
    )
    model.fit(X, WORDS[y - 3], X_val=X[:100], y_val=WORDS[y[:100] - 3])
    assert model.evals_result_["valid"]["loss"][-1] < 1.3


def test_bad_orders_are_errors(table):
    X, y = table
    with pytest.raises(ValueError, match=r"label 'best' at row \d+.*lacks"):
        fitted((X, WORDS[y - 3]), class_order=list(WORDS[:4]))
    with pytest.raises(ValueError, match="'poor' twice"):
        fitted((X, WORDS[y - 3]), class_order=[*WORDS, "poor"])
    with pytest.raises(InvalidParameterError, match="class_order is for losses of ordered"):
        GradientBoostingClassifier(class_order=[1, 2]).fit(X, y)


def test_other_estimators_refuse_ordered_classes(table):
    with pytest.raises(InvalidParameterError, match="for ordered classes, which StagewiseClass"):
        StagewiseClassifier(loss="cumulative_logit").fit(*table)


def test_models_without_an_order_have_no_thresholds(table):
    model = GradientBoostingClassifier(**PLAIN).fit(*table)
    with pytest.raises(AttributeError, match="thresholds_ is an attribute of models with a loss"):
        _ = model.thresholds_


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_files_and_pickles_have_the_thresholds(table, loss, tmp_path):
    X, y = table
    model = fitted((X, WORDS[y - 3]), loss, class_order=list(WORDS))
    model.save(tmp_path / "model.stgw")
    for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert other.fingerprint() == model.fingerprint()
        assert other.class_order == list(WORDS)
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(other.predict(X[:3]), model.predict(X[:3]))
        np.testing.assert_array_equal(other.thresholds_, model.thresholds_)


def test_other_thresholds_are_another_fingerprint(table):
    from dataclasses import replace

    model = fitted(table).model_
    other = replace(model, learned={"loss.thresholds": model.learned["loss.thresholds"] + 1e-9})
    assert other.fingerprint() != model.fingerprint()


def test_a_loss_object_is_the_same_as_its_name(table):
    assert fitted(table, CumulativeLogit(2)).fingerprint() == fitted(table).fingerprint()


def test_refit_is_refused(table):
    with pytest.raises(InvalidParameterError, match="thresholds are those of the rows of the fit"):
        fitted(table).refit(*table)


def test_quality_and_the_report_page_have_ordered_classes(table, tmp_path):
    from stagewise.inspection import confusion_matrix, scores, shap_values

    X, y = table
    model = fitted(table)
    assert confusion_matrix(model, X, y).counts.shape == (5, 5)
    usual = [own.name for own in scores(model, X, y).scores]
    assert usual[-2:] == ["ranked_probability_score", "quadratic_kappa"]
    found = scores(model, X, y, metrics=["quadratic_kappa", "ranked_probability_score"])
    assert 0 < found["quadratic_kappa"].value <= 1
    values = shap_values(model, X[:20])
    total = values.values.sum(axis=1).reshape(-1) + values.base_values
    np.testing.assert_allclose(total, model.decision_function(X[:20]), atol=1e-9)
    model.report(X, y, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_kappa_of_one_class_is_zero_to_the_last_digit():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, k = rng.integers(0, 7, 100), int(rng.integers(0, 7))
        assert quadratic_kappa(y, np.eye(7)[np.full(100, k)], None) == 0.0
        weight = rng.random(100)
        assert quadratic_kappa(np.full(100, k), np.eye(7)[np.full(100, k)], weight) == 0.0


# ---- folds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("encoding", ["sets", stagewise.OrderedTargetEncoding()])
def test_out_of_fold_predictions_have_the_thresholds_of_the_fold(table, loss, encoding):
    X, y = table[0][:200].copy(), table[1][:200]
    X[:, 3] = np.arange(200) % 40
    others = {"categorical_features": [3], "category_encoding": encoding, "early_stopping": 3}
    model = fitted((X, y), loss, **others)
    true = model.oof_prediction_[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    expected = min(model.validation_loss_)
    np.testing.assert_allclose(-np.log(true).mean(), expected, rtol=1e-6)


def test_calibration_and_prediction_sets_use_the_thresholds_of_the_folds(table):
    X, y = table[0][:200], table[1][:200]
    model = fitted((X, y), early_stopping=3)
    codes = np.searchsorted(model.classes_, y)
    true = model.oof_prediction_[np.arange(len(y)), codes]

    calibrated = fitted((X, y), early_stopping=3, calibration="temperature")
    report = calibrated.fit_report_["calibration"]
    np.testing.assert_allclose(report["log_loss_before"], -np.log(true).mean(), rtol=1e-9)

    sets = fitted((X, y), early_stopping=3, conformal="cv")
    kept = np.sort(sets.model_.learned["conformity.scores"])
    np.testing.assert_allclose(kept, np.sort(1.0 - true), rtol=1e-9)
