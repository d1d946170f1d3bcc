"""StagewiseLinearRegressor: the textbook's loop, invariants, and comparison with the lasso."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lars_path

import stagewise
from estimators.tables import hashed, make_table
from reference.linear import stagewise as textbook
from stagewise import (
    GradientBoostingRegressor,
    InvalidParameterError,
    LinearRegression,
    ModelFormatError,
    StagewiseLinearRegressor,
)
from stagewise.model.file.format import write_model


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X, y.to_numpy()


def frame(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    cells = hashed(n, 5, 1)
    X = pd.DataFrame(cells[:, :3] / 2.0**20, columns=["a", "b", "ü"])
    city = cells[:, 3] % 3
    X["city"] = pd.Categorical(np.array(["Bonn", "Oslo", "Rome"])[city])
    return X, 2 * X["a"] - X["ü"] + 6.0 * (city == 1) + cells[:, 4] / 2.0**23


# ---- compared with the reference -----------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "how", [{"rate": 1.0}, {"rate": 0.3}, {"epsilon": 0.02}], ids=["full", "shrunk", "epsilon"]
)
def test_every_round_equals_the_textbooks(how, weighted, diabetes):
    X, y = diabetes
    weight = 1.0 + np.arange(len(y)) % 3 if weighted else np.ones(len(y))
    own = {"step_size": how["epsilon"]} if "epsilon" in how else {}
    own |= {"learning_rate": how["rate"]} if "rate" in how else {}
    model = StagewiseLinearRegressor(n_estimators=120, **own).fit(X, y, weight)
    path, _ = textbook(X.to_numpy(), y, weight, 120, **how)
    assert len(path) == model.n_iter_ + 1
    np.testing.assert_allclose(model.coef_path_, path, rtol=1e-5, atol=1e-4)
    predicted = X.to_numpy() @ path[-1]
    predicted += np.average(y - predicted, weights=weight)
    np.testing.assert_allclose(model.predict(X), predicted, rtol=1e-6)


def test_dummies_are_separate_columns(diabetes):
    X, y = frame()
    model = StagewiseLinearRegressor(n_estimators=40).fit(X, y)
    assert model.coef_names_ == ["a", "b", "ü", "city=Oslo", "city=Rome"]
    dummies = [(X["city"] == name).to_numpy(float) for name in ("Oslo", "Rome")]
    A = np.column_stack([X[["a", "b", "ü"]], *dummies])
    path, moved = textbook(A, np.asarray(y), np.ones(len(y)), 40)
    np.testing.assert_allclose(model.coef_path_, path[: model.n_iter_ + 1], rtol=1e-5, atol=1e-6)
    assert 3 in moved[:3]
    np.testing.assert_allclose(model.predict(X), model.intercept_ + A @ model.coef_, rtol=1e-12)


def test_it_converges_to_least_squares(diabetes):
    X, y = diabetes
    model = StagewiseLinearRegressor(n_estimators=100_000).fit(X, y)
    plain = LinearRegression().fit(X, y)
    assert model.n_iter_ < 100_000
    assert "no column is correlated" in model.fit_report_["stop_reason"]
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-3)
    assert model.score(X, y) == pytest.approx(plain.r2_, abs=1e-6)


def test_small_steps_end_where_none_lowers_the_error(diabetes):
    X, y = diabetes
    model = StagewiseLinearRegressor(step_size=0.05, n_estimators=100_000).fit(X, y)
    assert "no step of 0.05 lowers" in model.fit_report_["stop_reason"]
    assert (np.diff(model.train_loss_) < 0).all()
    assert model.coef_path_.shape == (model.n_iter_ + 1, 10)


def test_small_steps_approximate_the_lasso(diabetes):
    """Where lasso coefficients are monotone both paths are the same (ESL, section 3.8.1)."""
    X, y = diabetes
    Z = (X - X.mean()) / X.std(ddof=0)
    spread = y.std()
    _, _, lasso = lars_path(Z.to_numpy(), (y - y.mean()) / spread, method="lasso")
    length = np.abs(lasso).sum(axis=0)
    distances = []
    for epsilon in (0.02, 0.002):
        model = StagewiseLinearRegressor(step_size=epsilon, n_estimators=20_000)
        path = model.fit(Z, y).coef_path_ / spread
        arc = np.abs(path).sum(axis=1)
        half = arc <= length[6]  # until the first coefficient changes direction
        beside = np.array([np.interp(arc[half], length, row) for row in lasso]).T
        distances.append(np.abs(path[half] - beside).max())
    assert distances[0] < 0.04
    assert distances[1] < 0.01
    assert distances[1] < distances[0]


# ---- invariants ----------------------------------------------------------------------------------


def test_threads_do_not_matter():
    table = make_table(20_000, 8, missing=False)
    found = {
        StagewiseLinearRegressor(n_estimators=30, n_jobs=n).fit(table.X, table.number).fingerprint()
        for n in (1, 2, 3)
    }
    assert len(found) == 1


def test_weight_two_equals_the_row_twice_and_weight_zero_its_absence():
    X, y = frame()
    weight = np.arange(200) % 3
    model = StagewiseLinearRegressor(n_estimators=30).fit(X, y, weight)
    twice = StagewiseLinearRegressor(n_estimators=30).fit(
        X.loc[X.index.repeat(weight)], np.repeat(y, weight)
    )
    np.testing.assert_allclose(model.coef_path_, twice.coef_path_, rtol=1e-6, atol=1e-8)
    absent = StagewiseLinearRegressor(n_estimators=30).fit(
        X[weight > 0], y[weight > 0], weight[weight > 0]
    )
    assert absent.fingerprint() == model.fingerprint()


def test_x_scale_and_y_scale_do_not_matter(diabetes):
    X, y = diabetes
    model = StagewiseLinearRegressor(step_size=0.01, n_estimators=80).fit(X, y)
    other = StagewiseLinearRegressor(step_size=0.01, n_estimators=80).fit(
        X * 1e9 - 7.0, y / 1024 + 3.0
    )
    np.testing.assert_allclose(other.coef_path_ * 1e9 * 1024, model.coef_path_, rtol=1e-6)


@pytest.mark.parametrize("step_size", [None, 0.01])
@pytest.mark.parametrize("early", [False, True])
def test_a_continued_fit_equals_an_uninterrupted_one(step_size, early):
    X, y = frame()
    own = {"step_size": step_size, "early_stopping": early, "n_iter_no_change": 1000}
    whole = StagewiseLinearRegressor(n_estimators=60, **own).fit(X, y)
    parts = StagewiseLinearRegressor(n_estimators=25, warm_start=True, **own).fit(X, y)
    parts.set_params(n_estimators=60).fit(X, y)
    assert parts.fingerprint() == whole.fingerprint()
    np.testing.assert_array_equal(parts.train_loss_, whole.train_loss_)


def test_a_fit_can_be_continued_on_other_rows(diabetes):
    X, y = diabetes
    model = StagewiseLinearRegressor(n_estimators=10, warm_start=True).fit(X[:200], y[:200])
    before = model.predict(X)
    model.set_params(n_estimators=30).fit(X[200:], y[200:])
    stages = list(model.staged_predict(X))
    np.testing.assert_allclose(stages[9], before, rtol=1e-12)
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), model.intercept_ + X.to_numpy() @ model.coef_)


def test_the_last_stage_equals_the_prediction(diabetes):
    X, y = diabetes
    model = StagewiseLinearRegressor(n_estimators=50).fit(X, y)
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X), model.intercept_ + X.to_numpy() @ model.coef_)
    parts = np.concatenate([model.predict(X[i : i + 50]) for i in range(0, len(X), 50)])
    np.testing.assert_array_equal(parts, model.predict(X))
    loss = [np.mean((y - p) ** 2) / 2 for p in model.staged_predict(X)]
    np.testing.assert_allclose(model.train_loss_, loss, rtol=1e-7)


# ---- early stopping ------------------------------------------------------------------------------


def noisy(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 40))
    return X, X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)


@pytest.mark.parametrize("early", [True, "cv", "own rows"])
def test_early_stopping_predicts_better_than_least_squares(early):
    (X, y), (X_new, y_new) = noisy(120, 0), noisy(4000, 1)
    held = {"X_val": noisy(60, 2)[0], "y_val": noisy(60, 2)[1]} if early == "own rows" else {}
    model = StagewiseLinearRegressor(
        step_size=0.01,
        early_stopping=early if not held else "auto",
        **({"validation_fraction": 0.25} if early is True else {}),
    ).fit(X, y, **held)
    assert model.n_iter_ < len(model.train_loss_) or early == "cv"
    assert model.score(X_new, y_new) > LinearRegression().fit(X, y).score(X_new, y_new) + 0.05
    if early == "cv":
        assert model.oof_prediction_.shape == y.shape


def test_folds_use_only_their_rows():
    """The model of a fold equals a fit to its training rows alone."""
    X, y = noisy(90, 3)
    train, held = np.arange(60), np.arange(60, 90)
    model = StagewiseLinearRegressor(early_stopping=[(train, held), (held, train)], n_estimators=5)
    model.fit(X, y)
    alone = StagewiseLinearRegressor(n_estimators=model.n_iter_).fit(X[train], y[train])
    np.testing.assert_allclose(model.oof_prediction_[held], alone.predict(X[held]), rtol=1e-6)


def test_a_category_that_only_held_out_rows_have():
    X, y = frame()
    X["city"] = X["city"].cat.add_categories("Paris")
    for row in range(200):
        one = X.copy()
        one.loc[row, "city"] = "Paris"
        model = StagewiseLinearRegressor(early_stopping=True, n_estimators=5).fit(one, y)
        if "city=Paris" not in model.coef_names_:
            assert model.fit_report_["unknown_category_counts"] == {"city": 1}
            with pytest.raises(ValueError, match=r"'city' has unknown .*'Paris'.*no coefficient"):
                model.predict(one)
            return
    raise AssertionError("no row was held out")


# ---- errors, copies and files --------------------------------------------------------------------


def test_error_names_missing_values():
    X, y = frame()
    model = StagewiseLinearRegressor(n_estimators=3).fit(X, y)
    X.loc[9, "b"] = np.nan
    for use in (lambda: StagewiseLinearRegressor().fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match=r"column 'b' is missing \(NaN\) at row 9"):
            use()
    weight = np.ones(200)
    weight[9] = 0
    assert StagewiseLinearRegressor(n_estimators=3).fit(X, y, weight).n_iter_ == 3
    with pytest.raises(ValueError, match=r"sparse matrix.*toarray"):
        StagewiseLinearRegressor().fit(scipy.sparse.csr_array(np.eye(9)), np.arange(9.0))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"step_size": "full"}, r"'step_size' .* above 0 and below 1, or None; got 'full'"),
        (
            {"step_size": 0.1, "learning_rate": 0.1},
            r"'learning_rate' .* no effect with step_size=0",
        ),
        ({"step_size": 1.5}, r"'step_size' .* got 1.5"),
        ({"learning_rate": 0}, r"'learning_rate' .* above 0; got 0"),
    ],
)
def test_parameters_are_checked(params, message):
    with pytest.raises(InvalidParameterError, match=message):
        StagewiseLinearRegressor(**params).fit(*frame())


def test_a_constant_target_and_constant_columns():
    X, y = frame()
    with pytest.warns(UserWarning, match="y has only one value"):
        model = StagewiseLinearRegressor().fit(X, np.full(200, 3.0))
    assert model.n_iter_ == 0
    np.testing.assert_array_equal(model.predict(X), 3.0)
    with pytest.warns(UserWarning, match="Every feature is constant"):
        model = StagewiseLinearRegressor().fit(np.full((200, 2), 0.1), y)
    np.testing.assert_allclose(model.predict(np.zeros((1, 2))), np.mean(y))
    model = StagewiseLinearRegressor(n_estimators=3).fit(X.assign(c=0.1), y)
    assert model.fit_report_["constant_features"] == ["c"]
    assert model.coef_[model.coef_names_.index("c")] == 0.0


def test_copies_and_files(tmp_path):
    X, y = frame()
    model = StagewiseLinearRegressor(step_size=0.01, n_estimators=70).fit(X, y)
    model.save(tmp_path / "model.stgw")
    for restored in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert type(restored) is StagewiseLinearRegressor
        assert restored.fingerprint() == model.fingerprint()
        assert restored.get_params() == model.get_params()
        np.testing.assert_array_equal(restored.coef_path_, model.coef_path_)
        np.testing.assert_array_equal(restored.predict(X), model.predict(X))
        assert restored.fit(X, y).fingerprint() == model.fingerprint()


def test_a_file_of_trees_is_no_linear_model(tmp_path):
    X, y = frame()
    X = X[["a", "b"]]
    named = {"class": "StagewiseLinearRegressor", "params": {}, "seed": 0}
    for leaves in ("constant", "linear"):
        other = GradientBoostingRegressor(n_estimators=2, leaves=leaves).fit(X, y)
        write_model(tmp_path / "model.stgw", other.model_, named)
        with pytest.raises(ModelFormatError, match="not a StagewiseLinearRegressor"):
            stagewise.load(tmp_path / "model.stgw")


def test_the_recipe_and_absent_attributes():
    model = StagewiseLinearRegressor(step_size=0.01, early_stopping="cv")
    assert model.recipe() == (
        "squared_error x residuals x steps of ε=0.01 x one column x all rows x 1000 rounds at "
        "most, chosen by cross-validation (5 folds)"
    )
    X, y = frame()
    model = StagewiseLinearRegressor(n_estimators=3).fit(X, y)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match="has no attribute 'apply'"):
        model.apply(X)


def test_path_plot():
    pytest.importorskip("matplotlib")
    X, y = frame()
    model = StagewiseLinearRegressor(n_estimators=20).fit(X, y)
    ax = model.plot_path()
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), model.coef_path_[:, 0])
