"""Focal, Brier, hinge and one-vs-rest losses, and several targets of classes."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

import stagewise
from stagewise import GradientBoostingClassifier, RandomForestClassifier
from stagewise._native import Workers
from stagewise.errors import InvalidParameterError
from stagewise.losses import Brier, Focal, Hinge, Loss, Multinomial, OneVsRest, check_loss

PLAIN = {
    "n_estimators": 15,
    "max_leaf_nodes": 6,
    "early_stopping": False,
    "learning_rate": 0.2,
    "max_features": None,
}
LOSSES = {
    "focal": Focal,
    "brier": Brier,
    "hinge": Hinge,
    "one_vs_rest": OneVsRest,
}


def classes_of(k, n=500):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, 4))
    centre = rng.normal(size=(k, 4)) * 1.5
    return X, (X @ centre.T + rng.gumbel(size=(n, k))).argmax(axis=1)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(
    "loss",
    [Focal(0.0), Focal(0.5), Focal(2.0), Focal(5.0), Brier(), Hinge(), OneVsRest()],
    ids=repr,
)
def test_derivatives_are_those_of_the_loss(loss, k):
    own = loss.for_classes(k)
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, 100).astype(np.int32)
    score = 2.0 * rng.normal(size=(100, own.n_outputs))
    given = own, y, score[:, 0] if k == 2 else score
    if isinstance(loss, Hinge) and k == 2:  # its probabilities are clipped
        with pytest.raises(InvalidParameterError, match="not the inverse of `mean`"):
            check_loss(*given)
    else:
        check_loss(*given)


@pytest.mark.parametrize("k", [2, 3])
def test_focal_loss_with_gamma_0_is_log_loss(k):
    X, y = classes_of(k)
    focal = GradientBoostingClassifier(loss=Focal(0.0), **PLAIN).fit(X, y)
    plain = GradientBoostingClassifier(**PLAIN).fit(X, y)
    np.testing.assert_allclose(focal.predict_proba(X), plain.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("gamma", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("k", [2, 3])
def test_focal_probabilities_minimise_the_expected_loss(gamma, k):
    rng = np.random.default_rng(1)
    loss = Focal(gamma, k)
    p = rng.dirichlet(np.ones(k), 5)
    score = loss.link(p)
    np.testing.assert_allclose(loss.mean(score), p, atol=1e-9)
    own = score if k > 2 else score.reshape(-1, 1)
    for row, wanted in zip(own, p, strict=True):
        each = np.stack(
            [
                np.reshape(
                    loss.derivatives(np.array([c], dtype=np.int32), row if k == 2 else row[None])[
                        0
                    ],
                    -1,
                )
                for c in range(k)
            ]
        )
        np.testing.assert_allclose(wanted @ each, 0.0, atol=1e-7)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("k", [2, 3])
def test_a_fit_predicts_classes_and_probabilities(name, k, tmp_path):
    X, y = classes_of(k)
    model = GradientBoostingClassifier(loss=name, **PLAIN).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (500, k)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.75
    model.save(tmp_path / "model.stgw")
    for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X), proba)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("k", [2, 3])
def test_weights_are_frequencies(name, k):
    X, y = classes_of(k, 300)
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    params = {**PLAIN, "loss": name, "min_samples_leaf": 4}
    one = GradientBoostingClassifier(**params).fit(X, y, sample_weight=counts)
    other = GradientBoostingClassifier(**params).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=2e-3)


@pytest.mark.parametrize("k", [2, 3])
def test_parameters_of_a_loss_are_in_files(k, tmp_path):
    X, y = classes_of(k)
    for loss in (Focal(4.0), OneVsRest(normalised=False)):
        model = GradientBoostingClassifier(loss=loss, **PLAIN).fit(X, y)
        model.save(tmp_path / "model.stgw")
        other = stagewise.load(tmp_path / "model.stgw")
        assert other.loss == loss
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        refitted = other.fit(X, y)
        assert refitted.fingerprint() == model.fingerprint()


def test_probabilities_of_one_vs_rest_may_be_raw():
    X, y = classes_of(3)
    model = GradientBoostingClassifier(loss=OneVsRest(normalised=False), **PLAIN).fit(X, y)
    score = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-score)))
    for k in range(3):
        alone = GradientBoostingClassifier(**PLAIN).fit(X, y == k)
        np.testing.assert_allclose(alone.decision_function(X), score[:, k], atol=0.05)


def test_one_vs_rest_has_the_kernel_of_log_loss():
    _, y = classes_of(3)
    loss, codes = OneVsRest(n_classes=3), y.astype(np.int32)
    score = np.asfortranarray(np.random.default_rng(0).normal(size=(len(y), 3)))
    fast, slow = loss.bind(Workers(2), codes, None), Loss.bind(loss, Workers(1), codes, None)
    assert fast.evaluate(score) == pytest.approx(slow.evaluate(score), rel=1e-6)
    for k in range(3):
        pairs = fast.gradients(k).pairs(), slow.gradients(k).pairs()
        np.testing.assert_allclose(*pairs, rtol=1e-5, atol=1e-6)


def test_gamma_of_focal_loss_is_checked():
    with pytest.raises(ValueError, match="between 0 and 10; got -1"):
        Focal(-1)


def test_brier_is_bounded_where_log_loss_is_not():
    y = np.zeros(2, dtype=np.int32)
    score = np.array([[-50.0, 50.0, 0.0], [0.0, 0.0, 0.0]])
    assert Brier(3).loss(y, score)[0] == pytest.approx(2.0)
    assert Multinomial(3).loss(y, score)[0] > 99


# ---- several targets -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labels():
    return make_multilabel_classification(600, 8, n_classes=4, random_state=0)


@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_labels_have_the_shapes_of_forests(labels, leaves):
    X, Y = labels
    model = GradientBoostingClassifier(leaves=leaves, **PLAIN).fit(X, Y)
    forest = RandomForestClassifier(n_estimators=5).fit(X, Y)
    assert [own.tolist() for own in model.classes_] == [own.tolist() for own in forest.classes_]
    assert model.n_classes_ == forest.n_classes_ == [2] * 4
    proba = model.predict_proba(X)
    assert isinstance(proba, list)
    assert [p.shape for p in proba] == [p.shape for p in forest.predict_proba(X)]
    assert model.predict(X).shape == Y.shape
    assert model.predict(X).dtype == forest.predict(X).dtype
    assert model.decision_function(X).shape == Y.shape
    assert model.score(X, Y) == np.mean((model.predict(X) == Y).all(axis=1))
    assert model.score(X, Y) > 0.45
    trees = {"constant": 4, "vector": 1}[leaves] * PLAIN["n_estimators"]
    assert len(model.model_.ensemble.trees) == trees


def test_one_tree_per_label_is_one_model_per_label(labels):
    X, Y = labels
    model = GradientBoostingClassifier(**PLAIN, leaves="constant").fit(X, Y)
    for k, own in enumerate(model.predict_proba(X)):
        alone = GradientBoostingClassifier(**PLAIN, leaves="constant").fit(X, Y[:, k])
        np.testing.assert_allclose(own, alone.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_files_and_pickles_of_labels(labels, leaves, tmp_path):
    X, Y = labels
    model = GradientBoostingClassifier(leaves=leaves, **PLAIN).fit(X, Y)
    model.save(tmp_path / "model.stgw")
    for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert other.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        for one, two in zip(other.predict_proba(X), model.predict_proba(X), strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("stopping", [True, "cv"])
def test_labels_stop_early(labels, stopping):
    X, Y = labels
    model = GradientBoostingClassifier(
        n_estimators=200, learning_rate=0.5, early_stopping=stopping
    ).fit(X, Y)
    assert model.n_iter_ < 200


def test_labels_have_default_parameters(labels):
    X, Y = labels
    model = GradientBoostingClassifier().fit(X, Y)
    assert model.score(X, Y) > 0.6


@pytest.mark.parametrize("loss", ["exponential", "focal", "brier", "hinge", "one_vs_rest"])
def test_labels_may_have_other_losses(labels, loss):
    X, Y = labels
    model = GradientBoostingClassifier(loss=loss, **PLAIN).fit(X, Y)
    assert model.score(X, Y) > 0.5
    assert all(p.shape == (600, 2) for p in model.predict_proba(X))


def test_labels_may_be_text_and_lack_a_class(labels):
    X, Y = labels
    words = np.where(Y == 1, "yes", "no")
    words[:, 2] = "no"
    model = GradientBoostingClassifier(**PLAIN).fit(X, words)
    assert [p.shape[1] for p in model.predict_proba(X)] == [2, 2, 1, 2]
    assert set(model.predict(X)[:, 2]) == {"no"}


def test_weights_of_labels_are_frequencies(labels):
    X, Y = labels
    counts = np.random.default_rng(1).integers(0, 3, len(Y))
    rows = np.repeat(np.arange(len(Y)), counts)
    params = {**PLAIN, "min_samples_leaf": 4}
    one = GradientBoostingClassifier(**params).fit(X, Y, sample_weight=counts)
    other = GradientBoostingClassifier(**params).fit(X[rows], Y[rows])
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-3)


def test_labels_that_cannot_be_fitted_are_named(labels):
    X, Y = labels
    three = Y.copy()
    three[:, 1] = np.arange(len(Y)) % 3
    with pytest.raises(ValueError, match=r"Target 1 of y has the 3 classes \[0, 1, 2\].*Random"):
        GradientBoostingClassifier(**PLAIN).fit(X, three)


def test_metrics_of_labels(labels):
    X, Y = labels
    model = GradientBoostingClassifier(
        **{**PLAIN, "n_estimators": 40, "early_stopping": True},
        eval_metric=["hamming_loss", "subset_accuracy", "macro_auc"],
    ).fit(X, Y)
    found = model.evals_result_["valid"]
    held = model.held_out_rows_
    predicted, proba = model.predict(X[held]), model.predict_proba(X[held])
    last = model.n_iter_ - 1
    assert found["hamming_loss"][last] == pytest.approx(np.mean(predicted != Y[held]))
    assert found["subset_accuracy"][last] == pytest.approx(
        np.mean((predicted == Y[held]).all(axis=1))
    )
    from sklearn.metrics import roc_auc_score

    columns = np.column_stack([p[:, 1] for p in proba])
    expected = roc_auc_score(Y[held], columns, average="macro")
    assert found["macro_auc"][last] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "params",
    [
        {"init": LogisticRegression()},
        {"calibration": "auto", "early_stopping": "cv"},
        {"conformal": "cv"},
    ],
)
def test_what_is_of_one_target_is_refused_by_name(labels, params):
    with pytest.raises(InvalidParameterError, match=f"{next(iter(params))}.*one target"):
        GradientBoostingClassifier(**{**PLAIN, **params}).fit(*labels)


def test_labels_continue_and_have_offsets(labels):
    X, Y = labels
    whole = GradientBoostingClassifier(**PLAIN).fit(X, Y)
    part = GradientBoostingClassifier(**{**PLAIN, "n_estimators": 5}, warm_start=True).fit(X, Y)
    part.set_params(n_estimators=15).fit(X, Y)
    np.testing.assert_allclose(part.decision_function(X), whole.decision_function(X), atol=1e-5)
    with pytest.raises(ValueError, match="warm_start continues a model of the classes"):
        part.set_params(n_estimators=20).fit(X, np.where(Y == 1, 3, 2))
    offset = np.tile([1.0, 0.0, -1.0, 0.5], (len(Y), 1))
    moved = GradientBoostingClassifier(**PLAIN).fit(X, Y, offset=offset)
    found = moved.decision_function(X, offset=offset)
    np.testing.assert_allclose(found, whole.decision_function(X), atol=1e-3)
