"""Every loss by name: accuracy, errors and invariants."""

from __future__ import annotations

import numpy as np
import pytest

import stagewise
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.losses import (
    POINT_LOSSES,
    Expectile,
    Huber,
    Loss,
    Mape,
    Multinomial,
    PseudoHuber,
    Quantile,
    Tweedie,
)

LOG_LINKS = ("poisson", "gamma", "tweedie")


def numbers(loss: str, n: int = 1500, seed: int = 0):
    """Return a table and a target in the loss's domain, with its mean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    signal = np.sin(X[:, 0]) + 0.5 * X[:, 1] * (X[:, 2] > 0)
    if loss == "poisson":
        return X, rng.poisson(np.exp(signal)).astype(float), np.exp(signal)
    if loss == "gamma":
        return X, rng.gamma(4.0, np.exp(signal) / 4.0), np.exp(signal)
    if loss == "tweedie":
        claims = rng.poisson(np.exp(signal))
        return X, rng.gamma(2.0 * np.maximum(claims, 1), 0.5) * (claims > 0), np.exp(signal)
    if loss == "squared_log_error":
        return X, np.expm1(signal + rng.normal(size=n) / 4), np.expm1(signal)
    if loss == "cross_entropy":
        mean = 1 / (1 + np.exp(-2 * signal))
        return X, rng.binomial(5, mean) / 5, mean
    return X, signal + rng.normal(size=n) / 4, signal


def test_losses_of_one_class_with_equal_parameters_are_equal():
    for kind in POINT_LOSSES.values():
        assert kind() == kind()
        assert len({kind(), kind()}) == 1
    assert Multinomial(3) == Multinomial(3) != Multinomial(4)
    assert Quantile(0.2) != Quantile(0.3)
    assert Quantile(0.9) != Huber(0.9)


@pytest.mark.parametrize("loss", POINT_LOSSES)
def test_every_loss_learns(loss):
    X, y, truth = numbers(loss)
    model = GradientBoostingRegressor(loss=loss, n_estimators=60).fit(X[:1000], y[:1000])
    predicted, constant = model.predict(X[1000:]), np.median(y[:1000])
    truth = truth[1000:]
    assert np.abs(predicted - truth).mean() < 0.7 * np.abs(constant - truth).mean()
    assert model.train_loss_[-1] < model.train_loss_[0]
    if loss in LOG_LINKS:
        assert (predicted > 0).all()


@pytest.mark.parametrize(
    ("loss", "room"), [("poisson", 0.01), ("gamma", 0.1), ("tweedie", 0.1), ("cross_entropy", 0.01)]
)
def test_losses_with_a_link_predict_the_mean(loss, room):
    # Exactly only where the link is the canonical one, for Poisson and the cross-entropy.
    X, y, _ = numbers(loss, 3000)
    model = GradientBoostingRegressor(loss=loss, n_estimators=80).fit(X, y)
    assert model.predict(X).mean() == pytest.approx(y.mean(), rel=room)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_the_share_of_rows_below_a_predicted_quantile_is_q(q):
    X, y, _ = numbers("quantile", 4000)
    model = GradientBoostingRegressor(loss="quantile", quantile=q, n_estimators=60).fit(X, y)
    fresh, target, _ = numbers("quantile", 4000, seed=1)
    assert np.mean(target < model.predict(fresh)) == pytest.approx(q, abs=0.05)


def test_huber_is_robust_against_outliers():
    X, y, truth = numbers("huber")
    y[::25] += 1000.0
    errors = {
        loss: np.abs(
            GradientBoostingRegressor(n_estimators=100, loss=loss).fit(X, y).predict(X) - truth
        ).mean()
        for loss in ("huber", "squared_error")
    }
    assert errors["huber"] < 0.3
    assert errors["squared_error"] > 10


@pytest.mark.parametrize("loss", POINT_LOSSES)
def test_threads_weights_and_files_change_nothing(loss, tmp_path):
    X, y, _ = numbers(loss, 900)
    weight = np.random.default_rng(2).integers(0, 4, len(y)).astype(float)
    settings = {"loss": loss, "n_estimators": 8, "learning_rate": 0.3}
    one, two = (
        GradientBoostingRegressor(n_jobs=threads, **settings).fit(X, y, weight)
        for threads in (1, 2)
    )
    assert one.fingerprint() == two.fingerprint()
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = GradientBoostingRegressor(**settings).fit(X[copies], y[copies])
    np.testing.assert_allclose(repeated.predict(X), one.predict(X), rtol=1e-5, atol=1e-6)
    one.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    np.testing.assert_array_equal(loaded.predict(X), one.predict(X))
    assert loaded.get_params() == one.get_params()
    *_, last = loaded.staged_predict(X)
    np.testing.assert_array_equal(last, one.predict(X))


@pytest.mark.parametrize("loss", POINT_LOSSES)
def test_early_stopping_uses_the_same_loss(loss):
    X, y, _ = numbers(loss)
    model = GradientBoostingRegressor(loss=loss, n_estimators=400, early_stopping=True).fit(X, y)
    assert model.n_iter_ == int(np.argmin(model.validation_loss_)) + 1
    assert model.n_iter_ < 400


@pytest.mark.parametrize("loss", [Huber(0.8), Huber(delta=1.5), Quantile(0.25), Tweedie(1.2)])
def test_a_loss_object_equals_the_loss_by_name(loss, tmp_path):
    X, y, _ = numbers(loss.name, 400)
    own = {name: getattr(loss, name) for name in loss.parameter_names}
    own = {name: value for name, value in own.items() if value is not None}
    by_object = GradientBoostingRegressor(loss=loss, n_estimators=5).fit(X, y)
    if set(own) == {"quantile"}:
        by_name = GradientBoostingRegressor(loss=loss.name, n_estimators=5, **own).fit(X, y)
        assert by_object.fingerprint() == by_name.fingerprint()
    by_object.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw").loss
    assert type(loaded) is type(loss)
    assert {name: getattr(loaded, name) for name in own} == own


@pytest.mark.parametrize("loss", ["fair", "log_cosh", "pseudo_huber", "expectile"])
def test_a_target_times_a_plus_b_gives_predictions_times_a_plus_b(loss):
    X, y, _ = numbers(loss, 600)
    plain, moved = (
        GradientBoostingRegressor(loss=loss, n_estimators=20).fit(X, target).predict(X)
        for target in (y, 1e6 * y - 40.0)
    )
    np.testing.assert_allclose((moved + 40.0) / 1e6, plain, rtol=1e-4, atol=1e-4)


def test_the_unit_of_the_target_does_not_matter_to_mape():
    X, y, _ = numbers("gamma", 600)
    plain, moved = (
        GradientBoostingRegressor(loss="mape", n_estimators=20).fit(X, target).predict(X)
        for target in (y, 1e6 * y)
    )
    np.testing.assert_allclose(moved / 1e6, plain, rtol=1e-6)


def test_mape_is_smaller_than_with_absolute_error():
    X, y, _ = numbers("gamma")
    errors = {
        loss: np.mean(
            np.abs(y - GradientBoostingRegressor(loss=loss, n_estimators=60).fit(X, y).predict(X))
            / y
        )
        for loss in ("mape", "absolute_error")
    }
    assert errors["mape"] < errors["absolute_error"]


def test_mape_refuses_a_target_of_zero_unless_it_has_a_floor():
    X, y, _ = numbers("gamma", 60)
    y[7] = 0.0
    with pytest.raises(ValueError, match=r"y is 0 at row 7 .*Mape\(floor"):
        GradientBoostingRegressor(loss="mape", n_estimators=5).fit(X, y)
    GradientBoostingRegressor(loss=Mape(floor=0.1), n_estimators=5).fit(X, y)


def test_an_expectile_balances_the_weighted_residuals():
    y = np.random.default_rng(0).normal(size=500)
    constant = Expectile(0.8).best_constant(y, None)[0]
    above, below = np.maximum(y - constant, 0).sum(), np.maximum(constant - y, 0).sum()
    assert 0.8 * above == pytest.approx(0.2 * below)


def test_the_width_of_pseudo_huber_has_an_efficiency_of_95_percent_at_the_normal_distribution():
    width = PseudoHuber.tuning
    r = np.linspace(-12.0, 12.0, 100_001)
    density = np.exp(-(r**2) / 2) / np.sqrt(2 * np.pi) * (r[1] - r[0])
    influence = PseudoHuber(width).derivatives(np.zeros_like(r), r)[0]
    slope = np.gradient(influence, r)
    efficiency = (slope @ density) ** 2 / (influence**2 @ density)
    assert efficiency == pytest.approx(0.95, abs=1e-5)


def test_pseudo_huber_is_finite_for_residuals_whose_squares_are_not():
    loss, r = PseudoHuber(1e-3), np.array([0.0, 1e-12, 1e200])
    np.testing.assert_allclose(loss.loss(np.zeros(3), r), [0.0, 5e-25, 1e197], rtol=1e-9)
    np.testing.assert_allclose(loss.derivatives(np.zeros(3), r)[0], [0.0, 1e-12, 1e-3])


def test_cross_entropy_of_classes_is_the_model_of_a_classifier():
    X, y, _ = numbers("cross_entropy", 600)
    labels = y > 0.5
    settings = {"n_estimators": 20, "min_samples_leaf": 5, "l2_regularization": 1.0}
    of_shares = GradientBoostingRegressor(loss="cross_entropy", **settings).fit(X, labels)
    of_classes = GradientBoostingClassifier(**settings).fit(X, labels)
    expected = of_classes.predict_proba(X)[:, 1]
    np.testing.assert_allclose(of_shares.predict(X), expected, rtol=1e-12)
    np.testing.assert_allclose(of_shares.train_loss_, of_classes.train_loss_, rtol=1e-12)


def test_a_share_is_the_weights_of_its_classes():
    # 2 of 5 is three rows of class 0 and two of class 1.
    X, y, _ = numbers("cross_entropy", 400)
    settings = {"n_estimators": 10, "min_samples_leaf": 1, "max_features": None}
    one = GradientBoostingRegressor(loss="cross_entropy", **settings).fit(X, y, np.full(400, 5.0))
    labels = np.repeat([0.0, 1.0], 400)
    weight = np.concatenate([5 * (1 - y), 5 * y]).round()
    two = GradientBoostingRegressor(loss="cross_entropy", **settings)
    two.fit(np.vstack([X, X]), labels, weight)
    np.testing.assert_allclose(one.predict(X), two.predict(X), rtol=1e-3)


def test_squared_log_error_is_squared_error_of_the_logarithm():
    X, y, _ = numbers("squared_log_error", 600)
    settings = {"n_estimators": 20, "l2_regularization": 0.0}
    model = GradientBoostingRegressor(loss="squared_log_error", **settings).fit(X, y)
    of_logs = GradientBoostingRegressor(**settings).fit(X, np.log1p(y))
    np.testing.assert_allclose(model.predict(X), np.expm1(of_logs.predict(X)), rtol=1e-4)


@pytest.mark.parametrize("loss", ["squared_log_error", "cross_entropy"])
def test_losses_with_a_link_accept_offsets_and_several_targets(loss):
    X, y, _ = numbers(loss, 300)
    both, settings = np.column_stack([y, y[::-1]]), {"n_estimators": 5, "max_features": None}
    several = GradientBoostingRegressor(loss=loss, **settings).fit(X, both)
    one = GradientBoostingRegressor(loss=loss, **settings).fit(X, y)
    np.testing.assert_allclose(several.predict(X)[:, 0], one.predict(X), rtol=1e-6)
    moved = GradientBoostingRegressor(loss=loss, **settings).fit(X, y, offset=0.5)
    np.testing.assert_allclose(moved.predict(X, offset=0.5), one.predict(X), rtol=1e-5)


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "bad", "message"),
    [
        ("poisson", -1.0, r"needs targets at least 0, but y is -1 .*Use loss='squared_error'"),
        ("tweedie", -0.5, r"tweedie loss needs targets at least 0, but y is -0.5"),
        ("gamma", 0.0, r"gamma loss needs targets above 0, but y is 0 .*Use loss='tweedie'"),
        ("gamma", -1.0, r"gamma loss needs targets above 0, but y is -1 .*loss='squared_error'"),
        ("cross_entropy", 35.0, r"from 0 to 1, but y is 35 at row 7 \(the .*percentages by 100\)"),
        ("cross_entropy", -0.1, r"cross_entropy loss needs .* y is -0.1 .*loss='squared_error'"),
        ("squared_log_error", -1.0, r"needs targets above -1, but y is -1 at row 7 .*Use loss='sq"),
    ],
)
def test_error_names_a_target_outside_the_domain(loss, bad, message):
    X, y, _ = numbers(loss, 50)
    y[7] = bad
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(n_estimators=100, loss=loss).fit(X, y)


@pytest.mark.filterwarnings("ignore:y has only one value")
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_shares_that_are_all_0_or_all_1_are_refused(value):
    y = np.full(30, value)
    with pytest.raises(ValueError, match=f"all targets are {value:g}: the log odds"):
        GradientBoostingRegressor(n_estimators=5, loss="cross_entropy").fit(np.zeros((30, 1)), y)


@pytest.mark.filterwarnings("ignore:y has only one value")
@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
def test_a_target_of_zeros_only_is_refused(loss):
    with pytest.raises(ValueError, match="all targets are 0"):
        GradientBoostingRegressor(n_estimators=100, loss=loss).fit(np.zeros((30, 1)), np.zeros(30))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"quantile": 0.5},
            "'quantile' .* is for loss='quantile' or 'expectile' or 'huber', but loss is",
        ),
        (
            {"loss": "huber", "quantile": 1.0},
            "'quantile' .* above 0 and below 1, .* or None; got 1.0",
        ),
        ({"loss": "quantile", "quantile": "most"}, "'quantile' .* above 0 and below 1.*got 'most'"),
        ({"loss": "poison"}, "Did you mean 'poisson'"),
    ],
)
def test_parameters_of_a_loss_are_checked(params, message):
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(**params).fit(np.arange(30.0).reshape(-1, 1), np.arange(30.0))


# ---- classes ------------------------------------------------------------------------------------


def test_exponential_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    p = 1 / (1 + np.exp(-2 * (X[:, 0] + X[:, 1] * X[:, 2])))
    y = np.where(rng.random(len(p)) < p, "yes", "no")
    model = GradientBoostingClassifier(loss="exponential", n_estimators=40).fit(
        X[:10_000], y[:10_000]
    )
    proba, score = model.predict_proba(X[10_000:]), model.decision_function(X[10_000:])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-2 * score)))
    for low in np.arange(0, 1, 0.2):
        near = (proba[:, 1] >= low) & (proba[:, 1] < low + 0.2)
        assert np.mean(y[10_000:][near] == "yes") == pytest.approx(proba[near, 1].mean(), abs=0.06)


def test_exponential_probabilities_of_many_classes_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16_000, 3))
    score = np.column_stack([X[:, 0], X[:, 1], -X[:, 0] + 0.5 * X[:, 2]])
    p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((16_000, 1))).argmax(axis=1)
    model = GradientBoostingClassifier(loss="exponential", n_estimators=60, max_features=1.0)
    model.fit(X[:12_000], y[:12_000])
    proba, F = model.predict_proba(X[12_000:]), model.decision_function(X[12_000:])
    expected = np.exp(F / 2) / np.exp(F / 2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba, expected)
    for k in range(3):
        for low in np.arange(0, 1, 0.2):
            near = (proba[:, k] >= low) & (proba[:, k] < low + 0.2)
            if near.sum() > 300:
                share = np.mean(y[12_000:][near] == k)
                assert share == pytest.approx(proba[near, k].mean(), abs=0.06)


def test_an_exponential_model_is_saved_with_its_link(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = GradientBoostingClassifier(loss="exponential", n_estimators=5).fit(X, X[:, 0] > 0)
    model.save(tmp_path / "model.stgw")
    loaded = stagewise.load(tmp_path / "model.stgw")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


class Margin(Loss):
    """Squared distance of ±1 to the score, for classes; only its value is implemented."""

    def loss(self, y, score):
        return (2.0 * y - 1 - score) ** 2

    def best_constant(self, y, weight):
        return np.zeros(1)

    def mean(self, score):
        p = np.clip((score + 1) / 2, 0, 1)
        return np.column_stack([1 - p, p])


def test_a_custom_loss_works_for_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "b", "a")
    model = GradientBoostingClassifier(loss=Margin(), n_estimators=40).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.95
    assert model.predict_proba(X).shape == (500, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Huber(0.0), "quantile must lie between 0 and 1; got 0.0"),
        (lambda: Quantile(1.0), "quantile must lie between 0 and 1; got 1.0"),
        (lambda: Tweedie(1.0), "power must lie between 1 and 2.*For 1 use 'poisson'"),
    ],
)
def test_a_loss_object_checks_its_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_validation_targets_are_checked_too():
    X, y, _ = numbers("poisson", 60)
    with pytest.raises(ValueError, match=r"y_val.*at least 0, but y is -3"):
        GradientBoostingRegressor(n_estimators=100, loss="poisson").fit(
            X, y, X_val=X[:2], y_val=[1.0, -3.0]
        )


def test_a_continued_fit_needs_the_same_loss():
    X, y, _ = numbers("poisson", 200)
    model = GradientBoostingRegressor(loss="poisson", n_estimators=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="a model of the loss 'poisson', but now it is 'squared"):
        model.set_params(loss="squared_error", n_estimators=6).fit(X, y)


def test_a_newton_step_of_a_pure_region_is_bounded():
    # Rows of a class with p near 0, with a learning rate of 1: -G/H would be unbounded.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 6, 200)
    model = GradientBoostingClassifier(
        response="gradient", learning_rate=1.0, min_samples_leaf=1, n_estimators=30
    ).fit(X, y)
    assert np.isfinite(model.train_loss_).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_holding_out_rows_of_classes_of_one_row_is_refused():
    X, y = np.arange(5.0).reshape(-1, 1), np.arange(5)
    with pytest.raises(ValueError, match="every class of y has only one row"):
        GradientBoostingClassifier(n_estimators=100, early_stopping=True).fit(X, y)


@pytest.mark.parametrize("value", ["1", True, 0.0, -1.0, np.inf, np.nan, [1.0]])
def test_a_fixed_delta_is_a_positive_number(value):
    with pytest.raises(ValueError, match="delta must be a positive number; got"):
        Huber(delta=value)


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(loss="squarred_error"),
        GradientBoostingClassifier(loss="log_los"),
        stagewise.AutoRegressor(loss="squarred_error"),
        stagewise.StagewiseRegressor(loss="squarred_error"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_unknown_loss_is_named_before_any_problem_of_the_data(model):
    with pytest.raises(ValueError, match=r"^loss=.* Did you mean '\w+'\? The parameter 'loss' of "):
        model.fit("no table", None)


@pytest.mark.parametrize("kind", [Quantile, Huber, Expectile])
@pytest.mark.parametrize("value", [0, 1.0, -0.5, "a", None, True, float("nan")])
def test_a_fraction_is_a_number_between_0_and_1(kind, value):
    with pytest.raises(ValueError, match="must lie between 0 and 1; got"):
        kind(value)


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
@pytest.mark.parametrize("other", [{"learning_rate": -1}, {"max_depth": -3}, {"max_bins": "a"}])
def test_an_unknown_loss_is_named_before_another_wrong_parameter(kind, other):
    X = np.zeros((4, 1))
    with pytest.raises(stagewise.InvalidParameterError, match="'loss'"):
        kind(loss="sqaured", **other).fit(X, [0, 1, 0, 1])
    with pytest.raises(stagewise.InvalidParameterError, match=next(iter(other))):
        kind(**other).fit(X, [0, 1, 0, 1])
