"""Losses of distributions: derivatives, Fisher information, fits, laws, files and refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize

import stagewise
from stagewise import GradientBoostingRegressor
from stagewise.inspection import shap_values
from stagewise.losses import StudentTLoss
from stagewise.losses.distributions import DISTRIBUTION_LOSSES, DistributionLoss

LOSSES = {kind.name: kind() for kind in DISTRIBUTION_LOSSES} | {"t with df=4": StudentTLoss(4.0)}
COUNTS = tuple(name for name in LOSSES if "poisson" in name or "binomial" in name)
REAL = ("normal", "laplace", "student_t")
LOG_LINKS = tuple(name for name, loss in LOSSES.items() if loss.log_link)
SMALL = {"n_estimators": 12, "min_samples_leaf": 5}


def scores(loss: DistributionLoss, n: int, seed: int = 0) -> np.ndarray:
    """Return scores of moderate size."""
    found = np.random.default_rng(seed).normal(size=(n, loss.n_outputs)) * 0.7
    return found + np.array([0.0, 2.0]) if loss.name == "beta" else found  # not all at 0 and 1


def drawn(loss: DistributionLoss, score: np.ndarray, seed: int = 1) -> np.ndarray:
    """Return a target for every row from the distributions of its scores."""
    y = loss.distribution(score).sample(1, random_state=seed)[:, 0]
    return np.clip(y, 1e-15, 1 - 1e-15) if loss.name == "beta" else y


def table(name: str, n: int = 400, seed: int = 0):
    """Return features and a target whose distribution depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    loss = LOSSES[name]
    columns = [0.8 * X[:, 0], 0.4 * X[:, 1] - 0.5, 0.3 * X[:, 2]]
    y = drawn(loss, np.column_stack(columns[: loss.n_outputs]), seed)
    return X, np.clip(y, 1e-6, 1 - 1e-6) if name == "beta" else y


def regressor(name: str, **parameters) -> GradientBoostingRegressor:
    loss = name if name in {kind.name for kind in DISTRIBUTION_LOSSES} else LOSSES[name]
    return GradientBoostingRegressor(**{"loss": loss, **SMALL, **parameters})


# ---- derivatives and information ---------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_equal_differences(name):
    loss = LOSSES[name]
    score = scores(loss, 60)
    y = drawn(loss, score)
    gradient, weight = loss.derivatives(y, score)
    assert (weight > 0).all()
    for k in range(loss.n_outputs):
        step = np.zeros((1, loss.n_outputs))
        step[0, k] = 1e-6
        slope = (loss.loss(y, score + step) - loss.loss(y, score - step)) / 2e-6
        np.testing.assert_allclose(gradient[:, k], slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_the_information_is_the_covariance_of_the_gradients(name):
    loss, n = LOSSES[name], 200_000
    for seed in (3, 4):
        one = scores(loss, 1, seed)
        score = np.repeat(one, n, axis=0)
        if name in COUNTS:
            y = np.arange(n, dtype=np.float64)
            share = loss.distribution(score).density(y)
        else:
            y, share = drawn(loss, score, seed), np.full(n, 1.0 / n)
        gradient = loss.gradient(y, score)
        expected = (gradient * share[:, np.newaxis]).T @ gradient
        root = np.sqrt(np.diag(expected))
        assert (np.abs(share @ gradient) < 6 * root / np.sqrt(n)).all()
        found = loss.information(one)[0] / np.outer(root, root)
        np.testing.assert_allclose(
            found, expected / np.outer(root, root), atol=0.01 if name in COUNTS else 0.03
        )


@pytest.mark.parametrize("name", LOSSES)
def test_the_natural_gradient_solves_the_linear_system(name):
    loss = LOSSES[name]
    score = scores(loss, 50)
    y = drawn(loss, score)
    gradient, weight = loss.tree_derivatives(y, score)
    natural = gradient / weight
    information = loss.information(score)
    if name.startswith(("zero_inflated", "hurdle")):  # zeros are a trade-off of all scores
        information = information * np.eye(loss.n_outputs)
    restored = np.einsum("nij,nj->ni", information, natural)
    np.testing.assert_allclose(restored, loss.derivatives(y, score)[0], rtol=1e-3, atol=1e-3)


def test_the_information_about_a_dispersion_is_its_sum():
    from scipy import stats

    for alpha in (0.01, 0.1, 0.5, 1.0, 3.0, 10.0):
        for mu in (0.05, 0.3, 5.0, 200.0):
            r = 1 / alpha
            of = stats.nbinom(r, r / (r + mu))
            j = np.arange(int(of.ppf(1 - 1e-12)) + 2)
            exact = r * r * (of.sf(j) / (r + j) ** 2).sum() - mu / (1 + alpha * mu)
            found = LOSSES["negative_binomial"].information(np.log([[mu, alpha]]))[0, 1, 1]
            assert found == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("name", LOSSES)
def test_far_scores_have_finite_derivatives(name):
    loss = LOSSES[name]
    far = (
        np.array(np.meshgrid(*[[-50.0, 0.0, 50.0]] * loss.n_outputs)).reshape(loss.n_outputs, -1).T
    )
    for y in (drawn(loss, scores(loss, len(far))), drawn(loss, scores(loss, len(far)), 7)):
        y = np.clip(y, 1e-12, 1 - 1e-12) if name == "beta" else y
        gradient, weight = loss.tree_derivatives(y, far)
        assert np.isfinite(gradient).all()
        assert np.isfinite(weight).all()
        assert (weight >= 0).all()


# ---- constants ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_the_best_constant_maximises_the_likelihood(name):
    loss = LOSSES[name]
    y = drawn(loss, np.repeat(scores(loss, 1, 5), 800, axis=0))
    best = loss.best_constant(y, None)

    def total(constant):
        return loss.loss(y, np.tile(constant, (len(y), 1))).mean()

    found = minimize(total, best, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
    assert total(best) <= found.fun + 1e-5


@pytest.mark.parametrize("name", LOG_LINKS)
def test_the_best_constant_beside_an_exposure(name):
    loss, rng = LOSSES[name], np.random.default_rng(0)
    log_exposure = rng.uniform(-2, 1, size=3000)
    offset = np.zeros((3000, loss.n_outputs))
    for output in loss.offset_outputs or (0,):
        offset[:, output] = log_exposure
    truth = scores(loss, 1, 6)
    y = drawn(loss, truth + offset)
    best = loss.best_constant_with_offset(y, None, offset)
    assert loss.loss(y, offset + best).mean() <= loss.loss(y, offset + truth).mean() + 1e-9


# ---- fits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("leaves", ["constant", "vector"])
def test_fits_improve_on_the_constant(name, leaves):
    X, y = table(name, 1500)
    fresh, target = table(name, 1500, seed=9)
    model = regressor(name, leaves=leaves, n_estimators=30, min_samples_leaf=30)
    model.fit(X, y, X_val=fresh, y_val=target)
    found = model.predict_dist(fresh)
    assert model.validation_loss_[model.n_iter_ - 1] == pytest.approx(found.nll(target).mean())
    assert found.nll(target).mean() < LOSSES[name].loss(
        (y - model.model_.offset) / model.model_.scale,
        np.tile(model.model_.ensemble.base, (len(y), 1)),
    ).mean() + np.log(model.model_.scale)
    np.testing.assert_allclose(model.predict(fresh), found.mean)
    np.testing.assert_allclose(found[:5].mean, model.predict(fresh[:5]))


def test_the_probability_integral_transform_is_nearly_uniform():
    X, y = table("normal", 4000)
    fresh, target = table("normal", 4000, seed=9)
    model = regressor("normal", n_estimators=40, min_samples_leaf=50).fit(X, y)
    pit = model.predict_dist(fresh).cdf(target)
    shares = np.histogram(pit, bins=10, range=(0, 1))[0] / len(pit)
    np.testing.assert_allclose(shares, 0.1, atol=0.03)


def test_boosting_is_the_one_of_the_textbook():
    """NGBoost with the scoring weights as weights of least squares: stumps of one feature."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, 300).astype(float)
    y = np.sin(x) + np.exp(0.2 * x - 1) * rng.normal(size=300)
    rate, rounds = 0.3, 8
    model = GradientBoostingRegressor(
        loss="normal",
        n_estimators=rounds,
        learning_rate=rate,
        max_depth=1,
        min_samples_leaf=1,
        l2_regularization=0.0,
        min_hessian=0.0,
        max_features=None,
    ).fit(x[:, np.newaxis], y)
    offset, scale = model.model_.offset, model.model_.scale
    z = (y - offset) / scale
    mu, log_sigma = np.full(300, z.mean()), np.full(300, 0.5 * np.log(z.var()))
    for _ in range(rounds):
        sigma = np.exp(log_sigma)
        residual = (z - mu) / sigma
        # The natural gradient, I⁻¹ g, and its weights, I.
        directions = [(residual * sigma, sigma**-2), ((residual**2 - 1) / 2, np.full(300, 2.0))]
        steps = [best_stump(x, n, w) for n, w in directions]
        mu, log_sigma = mu + rate * steps[0], log_sigma + rate * steps[1]
    found = model.predict_dist(x[:, np.newaxis])
    np.testing.assert_allclose(found.loc, offset + scale * mu, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.scale, scale * np.exp(log_sigma), rtol=1e-5)


def best_stump(x: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the predictions of the split with the least weighted squared error."""
    best, least = None, np.inf
    for threshold in np.unique(x)[:-1]:
        left = x <= threshold
        fitted = np.where(
            left,
            np.average(target[left], weights=weight[left]),
            np.average(target[~left], weights=weight[~left]),
        )
        error = (weight * (target - fitted) ** 2).sum()
        if error < least:
            best, least = fitted, error
    return best


# ---- laws --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_weights_are_frequencies_and_threads_change_nothing(name):
    X, y = table(name, 250)
    times = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = regressor(name, max_features=None).fit(X, y, sample_weight=times)
    repeated = regressor(name, max_features=None)
    repeated.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5)
    one, two = (regressor(name, n_jobs=n).fit(X, y).fingerprint() for n in (1, 2))
    assert one == two


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("factor", [8.0, 1.1, 3.7, 1e-3, 6e11])
def test_scaled_targets_give_scaled_distributions(name, factor):
    X, y = table(name)
    one = regressor(name, l2_regularization=20.0).fit(X, y).predict_dist(X)
    model = regressor(name, l2_regularization=20.0).fit(X, factor * (y + 2.0))
    other = model.predict_dist(X)
    np.testing.assert_allclose(other.loc / factor, one.loc + 2.0, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(other.scale / factor, one.scale, rtol=1e-7)


@pytest.mark.parametrize("name", ["log_normal", "gamma_distribution", "weibull"])
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_positive_targets_of_any_size_give_scaled_medians(name, factor):
    X, y = table(name)
    expected, found = (regressor(name).fit(X, c * y).predict_dist(X) for c in (1.0, factor))
    np.testing.assert_allclose(found.median / factor, expected.median, rtol=1e-6)


@pytest.mark.parametrize("name", REAL)
def test_an_offset_moves_the_location(name):
    X, y = table(name)
    offset = 3.0 * X[:, 3]
    plain = regressor(name).fit(X, y).predict_dist(X)
    model = regressor(name).fit(X, y + offset, offset=offset)
    moved = model.predict_dist(X, offset=offset)
    np.testing.assert_allclose(moved.loc, plain.loc + offset, atol=1e-8)
    np.testing.assert_allclose(moved.scale, plain.scale, rtol=1e-8)
    with pytest.raises(ValueError, match="offset"):
        model.predict_dist(X)


@pytest.mark.parametrize("name", COUNTS)
def test_exposures_multiply_the_rate_of_counts(name):
    X, y = table(name, 600)
    exposure = np.random.default_rng(3).uniform(0.2, 2.0, len(y))
    model = regressor(name).fit(X, y, exposure=exposure)
    one, two = (model.predict_dist(X, exposure=e) for e in (1.0, 2.0))
    np.testing.assert_allclose(two.mu, 2.0 * one.mu)
    if "hurdle" in name:
        rates = [-np.log(own.zero_probability) for own in (one, two)]
        np.testing.assert_allclose(rates[1], 2.0 * rates[0])
    elif "zero" in name:
        np.testing.assert_allclose(two.zero_probability, one.zero_probability)


@pytest.mark.parametrize("name", REAL)
def test_explanations_of_scales_have_the_unit_of_the_target(name):
    X, y = table(name)
    model = regressor(name).fit(X, 1000.0 * y)
    found, shap = model.predict_dist(X[:20]), shap_values(model, X[:20])
    total = shap.values.sum(axis=1) + shap.base_values
    np.testing.assert_allclose(total[:, 0], found.loc, rtol=1e-9)
    np.testing.assert_allclose(np.exp(total[:, 1]), found.scale, rtol=1e-9)


def test_monotone_constraints_hold_for_the_location():
    X, y = table("normal", 800)
    model = regressor("normal", monotonic_cst={0: 1}, n_estimators=40).fit(X, y)
    grid = X[:40].repeat(25, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 25), 40)
    found = model.predict_dist(grid)
    assert (np.diff(found.loc.reshape(40, 25), axis=1) >= -1e-12).all()


@pytest.mark.parametrize("name", LOSSES)
def test_monotone_constraints_that_the_mean_may_break_are_a_warning(name):
    loss = LOSSES[name]
    score = scores(loss, 50)
    others = score.copy()
    others[:, 1:] += 0.5
    changes = not np.allclose(loss.mean(score), loss.mean(others), rtol=1e-9)
    assert loss.location_is_mean != changes
    X, y = table(name, 200)
    model = regressor(name, monotonic_cst=[1, 0, 0, 0], n_estimators=2)
    if changes:
        with pytest.warns(UserWarning, match="monotonic_cst constrains the score .* For a monoto"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    regressor(name, monotonic_cst=[0, 0, 0, 0], n_estimators=2).fit(X, y)


def test_missing_values_are_read():
    X, y = table("normal")
    X[::3, 0] = np.nan
    assert np.isfinite(regressor("normal").fit(X, y).predict_dist(X).scale).all()


# ---- files, rounds, metrics --------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_files_and_pickles_keep_the_distributions(name, tmp_path):
    X, y = table(name, 150)
    model = regressor(name).fit(X, y)
    model.save(tmp_path / "model.stgw")
    expected = model.predict_dist(X)
    for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert other.fingerprint() == model.fingerprint()
        found = other.predict_dist(X)
        assert type(found) is type(expected)
        for parameter, values in expected.parameters.items():
            np.testing.assert_array_equal(found.parameters[parameter], values)


@pytest.mark.parametrize("name", ["normal", "negative_binomial"])
def test_rounds_can_be_continued(name):
    X, y = table(name)
    whole = regressor(name, n_estimators=20, learning_rate=0.1).fit(X, y)
    parts = regressor(name, n_estimators=8, warm_start=True, learning_rate=0.1).fit(X, y)
    parts.set_params(n_estimators=20).fit(X, y)
    assert whole.fingerprint() == parts.fingerprint()
    np.testing.assert_array_equal(whole.train_loss_, parts.train_loss_)
    np.testing.assert_array_equal(
        whole.predict_dist(X, n_rounds=8).mean, list(whole.staged_predict(X))[7]
    )


@pytest.mark.parametrize("name", ["normal", "zero_inflated_poisson", "beta"])
def test_metrics_of_distributions(name):
    X, y = table(name)
    fresh, target = table(name, 200, seed=8)
    model = regressor(name, eval_metric=["crps", "nll", "rmse"], early_stopping=False)
    model.fit(X, y, eval_set=[(fresh, target)])
    last = {metric: own[-1] for metric, own in model.evals_result_["valid_0"].items()}
    found = model.predict_dist(fresh)
    assert last["nll"] == pytest.approx(found.nll(target).mean())
    assert last["nll"] == pytest.approx(last["loss"])
    assert last["crps"] == pytest.approx(found.crps(target).mean())
    assert last["rmse"] == pytest.approx(np.sqrt(np.mean((target - found.mean) ** 2)))


def test_folds_choose_the_number_of_rounds():
    X, y = table("normal")
    model = regressor("normal", n_estimators="auto", early_stopping=3).fit(X, y)
    assert model.oof_prediction_.shape == (400,)


def test_poisson_boosting_predicts_poisson_distributions():
    X, y = table("negative_binomial")
    model = GradientBoostingRegressor(loss="poisson", **SMALL).fit(X, y)
    np.testing.assert_array_equal(model.predict_dist(X).mean, model.predict(X))


# ---- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("log_normal", 0.0, "above 0"),
        ("gamma_distribution", -1.0, "row 3"),
        ("weibull", 0.0, "above 0"),
        ("beta", 1.0, "between 0 and 1"),
        ("negative_binomial", 0.5, "counts"),
        ("hurdle_poisson", -2.0, "counts"),
        ("zero_inflated_poisson", 2e12, "at most 1e.12, but y is 2000000000000.0 at row 3"),
    ],
)
def test_targets_outside_the_domain_are_named(name, value, words):
    X, y = table(name, 100)
    y[3] = value
    with pytest.raises(ValueError, match=words):
        regressor(name).fit(X, y)


def test_other_losses_have_no_distributions():
    X, y = table("normal", 100)
    model = GradientBoostingRegressor(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="'normal'"):
        model.predict_dist(X)
    with pytest.raises(ValueError, match="distributions"):
        GradientBoostingRegressor(eval_metric="crps", **SMALL).fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="Fit one model per target"):
        regressor("normal").fit(X, np.column_stack([y, y]))


def test_degrees_of_freedom_are_checked():
    with pytest.raises(ValueError, match="above 1"):
        StudentTLoss(1.0)


@pytest.mark.parametrize("loss", [{"loss": "normal"}, {"loss": "quantile", "quantile": [0.1, 0.9]}])
def test_what_several_scores_cannot_do_is_named(loss):
    X, y = table("normal", 120)
    with pytest.raises(ValueError, match="GradientBoostingRegressor"):
        stagewise.AutoRegressor(quality=1, **loss).fit(X, y)
    with pytest.raises(ValueError, match="offset"):
        GradientBoostingRegressor(init=GradientBoostingRegressor(**SMALL), **loss, **SMALL).fit(
            X, y
        )
    with pytest.raises(ValueError, match="one location"):
        GradientBoostingRegressor(init=[1.0, 2.0], **loss, **SMALL).fit(X, y)
    with pytest.raises(ValueError, match="warm_start"):
        GradientBoostingRegressor(**loss, **SMALL).fit(X, y).refit(X, y)
