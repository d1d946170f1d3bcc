"""`predict_interval` of boosting and forests: coverage by simulation, laws, files, bad input."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, LeaveOneOut

from reference import conformal as reference
from stagewise import (
    Conformal,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    InvalidParameterError,
    ModelFormatError,
    RandomForestRegressor,
    load,
    read_parquet,
)


def draw(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + (0.3 + np.abs(X[:, 2])) * rng.normal(size=n)


BOOSTING = {"n_estimators": 40, "max_leaf_nodes": 8}


def covered(bounds: Any, y: Any) -> Any:
    return (bounds[:, 0] <= y) & (y <= bounds[:, 1])


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_split_intervals_have_the_coverage_by_simulation(coverage: float) -> None:
    """The mean over 200 samples is k / (n + 1), up to four standard errors."""
    rates, n = [], 60
    X_fit, y_fit = draw(300, 0)
    model = GradientBoostingRegressor(**BOOSTING).fit(X_fit, y_fit)
    for seed in range(200):
        X, y = draw(n + 200, 1000 + seed)
        model.conformalize(X[:n], y[:n])
        rates.append(covered(model.predict_interval(X[n:], coverage=coverage), y[n:]).mean())
    exact = np.ceil((n + 1) * coverage) / (n + 1)
    assert abs(np.mean(rates) - exact) < 4 * np.std(rates) / np.sqrt(len(rates))


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(conformal="split", n_estimators=60),
        GradientBoostingRegressor(conformal="cv"),
        GradientBoostingRegressor(conformal="cv", n_estimators=60),
        GradientBoostingRegressor(conformal="cv", early_stopping="cv", n_estimators=200),
        GradientBoostingRegressor(conformal="cv+"),
        GradientBoostingRegressor(conformal="cv+", n_estimators=60),
        RandomForestRegressor(conformal="oob"),
        RandomForestRegressor(conformal="split"),
        ExtraTreesRegressor(conformal="oob", bootstrap=True),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.conformal}",
)
def test_every_method_covers_new_rows(model: Any) -> None:
    X, y = draw(1500, 3)
    X_new, y_new = draw(6000, 4)
    bounds = clone(model).fit(X, y).predict_interval(X_new)
    assert bounds.shape == (6000, 2)
    assert 0.87 < covered(bounds, y_new).mean() < 0.935


def test_rows_of_the_split_are_not_used_by_the_fit() -> None:
    X, y = draw(400, 5)
    model = GradientBoostingRegressor(conformal="split", **BOOSTING).fit(X, y)
    assert model.fit_report_["conformal"] == {
        "method": "split",
        "score": "absolute",
        "rows": 80,
        "groups": 0,
    }
    scores = model.model_.learned["conformity.scores"]
    residual = np.abs(y - model.predict(X))
    kept = [int(np.argmin(np.abs(residual - s))) for s in scores]
    np.testing.assert_allclose(np.sort(residual[kept]), np.sort(scores))
    weight = np.ones(400)
    weight[kept] = 0
    alone = GradientBoostingRegressor(**BOOSTING).fit(X, y, weight)
    np.testing.assert_array_equal(alone.predict(X), model.predict(X))


def test_scores_of_folds_are_out_of_fold_residuals() -> None:
    X, y = draw(300, 6)
    model = GradientBoostingRegressor(conformal="cv", **BOOSTING).fit(X, y)
    np.testing.assert_allclose(
        model.model_.learned["conformity.scores"], np.abs(y - model.oof_prediction_)
    )
    assert model.n_iter_ == 40  # folds with a given number of rounds do not choose one
    plain = GradientBoostingRegressor(**BOOSTING).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))


def test_cross_intervals_are_those_of_the_paper() -> None:
    """Barber et al. (2021), CV+: by the models of folds that are fitted one by one."""
    X, y = draw(200, 23)
    X[:, 0] = np.round(X[:, 0], 1)
    folds = [(np.flatnonzero(np.arange(200) % 4 != k), np.arange(k, 200, 4)) for k in range(4)]
    parts = {"n_estimators": 15, "max_leaf_nodes": 6, "early_stopping": folds}
    model = GradientBoostingRegressor(conformal="cv+", n_iter_no_change=15, **parts).fit(X, y)
    X_new, _ = draw(30, 24)
    found = model.predict_interval(X_new, coverage=0.8)
    own = model.model_
    each = [replace(own, ensemble=ensemble) for ensemble in own.fold_ensembles]
    predict = lambda m, X: m.offset + m.scale * model._score_values(m, X)[:, 0]  # noqa: E731
    residuals = np.empty(200)
    for m, (_, held) in zip(each, folds, strict=True):
        residuals[held] = np.abs(y[held] - predict(m, X[held]))
    new = [predict(m, X_new) for m in each]
    for i in range(30):
        expected = reference.cross_interval(
            [new[k % 4][i] for k in range(200)], residuals, coverage="0.8"
        )
        np.testing.assert_allclose(found[i], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("loss", "levels"), [("quantile", [0.05, 0.5, 0.95]), ("expectile", [0.1, 0.9])]
)
def test_quantiles_are_conformalized(loss: str, levels: list[float]) -> None:
    X, y = draw(2000, 25)
    X_new, y_new = draw(8000, 26)
    model = GradientBoostingRegressor(loss=loss, quantile=levels, conformal="cv", **BOOSTING)
    model.fit(X, y)
    assert model.fit_report_["conformal"]["score"] == "quantile"
    bounds = model.predict_interval(X_new)
    assert 0.87 < covered(bounds, y_new).mean() < 0.93
    quantiles = model.predict(X_new)
    shift = quantiles[:, 0] - bounds[:, 0]
    np.testing.assert_allclose(shift, shift[0], atol=1e-9)
    np.testing.assert_allclose(bounds[:, 1] - quantiles[:, -1], shift[0], atol=1e-9)
    width, noisy = np.diff(bounds)[:, 0], np.abs(X_new[:, 2]) > 1.5
    assert width[noisy].mean() > 1.3 * width[~noisy].mean()  # unlike those of residuals


def test_scores_out_of_bag_are_those_of_the_predictions() -> None:
    X, y = draw(300, 7)
    model = RandomForestRegressor(conformal="oob").fit(X, y)
    np.testing.assert_allclose(
        model.model_.learned["conformity.scores"], np.abs(y - model.oob_prediction_)
    )


def test_weight_two_is_the_row_twice() -> None:
    X, y = draw(600, 8)
    model = GradientBoostingRegressor(**BOOSTING).fit(*draw(300, 9))
    weight = np.random.default_rng(0).integers(0, 3, size=600)
    some = np.repeat(np.arange(600), weight)
    one = model.conformalize(X, y, weight).predict_interval(X)
    two = model.conformalize(X[some], y[some]).predict_interval(X)
    np.testing.assert_array_equal(one, two)


def test_intervals_follow_the_unit_of_y() -> None:
    X, y = draw(500, 10)
    model = GradientBoostingRegressor(conformal="cv", **BOOSTING)
    one = model.fit(X, y).predict_interval(X)
    two = model.fit(X, 8 * y + 2).predict_interval(X)
    np.testing.assert_allclose(two, 8 * one + 2, rtol=1e-9)


def test_intervals_are_wider_for_a_larger_coverage() -> None:
    X, y = draw(500, 11)
    model = GradientBoostingRegressor(conformal="cv", **BOOSTING).fit(X, y)
    narrow, wide = (model.predict_interval(X, coverage=c) for c in (0.5, 0.95))
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()


def test_counts_with_exposures() -> None:
    rng = np.random.default_rng(12)
    X, exposure = rng.normal(size=(3000, 2)), rng.uniform(0.2, 5.0, size=3000)
    y = rng.poisson(exposure * np.exp(1 + X[:, 0] / 2)).astype(float)
    model = GradientBoostingRegressor(loss="poisson", conformal="cv", **BOOSTING)
    model.fit(X[:1500], y[:1500], exposure=exposure[:1500])
    assert model.fit_report_["conformal"]["score"] == "pearson"
    with pytest.raises(ValueError, match="fitted with exposure"):
        model.predict_interval(X)
    bounds = model.predict_interval(X[1500:], exposure=exposure[1500:])
    assert (bounds[:, 0] >= 0).all()
    assert 0.87 < covered(bounds, y[1500:]).mean() < 0.95
    large = exposure[1500:] > 3
    for rows in (large, ~large):  # the unit of a score is the deviation of a count
        assert 0.84 < covered(bounds, y[1500:])[rows].mean() < 0.97
    rates = model.predict(X[1500:], exposure=exposure[1500:])
    reach = (bounds[:, 1] - rates) / np.sqrt(rates)
    np.testing.assert_allclose(reach, reach[0])


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
@pytest.mark.parametrize("loaded", [False, True])
def test_intervals_are_those_of_the_fitted_loss(loss: str, tmp_path: Path, *, loaded: bool) -> None:
    X, y = draw(200, 30)
    counts = np.floor(np.abs(y))
    model = GradientBoostingRegressor(loss=loss, conformal="cv", **BOOSTING).fit(X, counts)
    before = model.predict_interval(X)
    if loaded:
        model.save(tmp_path / "model.stgw")
        model = load(tmp_path / "model.stgw")
    np.testing.assert_array_equal(model.predict_interval(X), before)
    model.set_params(loss="squared_error")
    np.testing.assert_array_equal(model.predict_interval(X), before)
    model.conformalize(X, counts)
    assert (model.predict_interval(X) >= 0).all()
    assert model.model_.learned["conformity.power"][0] == (1.0 if loss == "poisson" else 1.5)


@pytest.mark.parametrize(
    ("loss", "least", "most"),
    [("cross_entropy", 0, 1), ("beta", 0, 1), ("squared_log_error", -1, np.inf)],
)
def test_intervals_are_within_the_limits_of_the_targets(
    loss: str, least: float, most: float
) -> None:
    X, y = draw(300, 30)
    y = 1 / (1 + np.exp(-3 * y)) if most == 1 else np.expm1(y)
    model = GradientBoostingRegressor(loss=loss, conformal="cv", **BOOSTING).fit(X, y)
    bounds = model.predict_interval(X, coverage=0.95)
    assert (bounds >= least).all()
    assert (bounds <= most).all()
    assert (bounds == least).any()


def test_each_group_has_its_coverage() -> None:
    rng = np.random.default_rng(13)
    frame = pd.DataFrame({"x": rng.normal(size=6000)})
    frame["group"] = pd.Categorical(
        rng.choice(["a", "b", "rare"], size=6000, p=[0.6, 0.399, 0.001])
    )
    noise = frame["group"].map({"a": 0.2, "b": 2.0, "rare": 1.0}).astype(float)
    y = frame["x"] + noise * rng.normal(size=6000)
    model = GradientBoostingRegressor(conformal=Conformal(groups="group"), **BOOSTING)
    model.fit(frame[:3000], y[:3000])
    bounds = model.predict_interval(frame[3000:])
    width = bounds[:, 1] - bounds[:, 0]
    for name in ("a", "b"):
        rows = (frame["group"] == name)[3000:].to_numpy()
        assert 0.87 < covered(bounds, y[3000:])[rows].mean() < 0.93
        assert width[rows].std() < 1e-9
    rare = (frame["group"] == "rare")[3000:].to_numpy()
    pooled = GradientBoostingRegressor(conformal="cv", **BOOSTING).fit(frame[:3000], y[:3000])
    own = pooled.predict_interval(frame[3000:])
    np.testing.assert_allclose(width[rare], np.diff(own[rare])[:, 0])  # too few rows: those of all
    with pytest.warns(UserWarning, match="unknown categor"):
        new = model.predict_interval(frame[3000:3002].assign(group="new"))
    np.testing.assert_allclose(np.diff(new)[:, 0], width[rare][0])


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(conformal=Conformal(groups=0), **BOOSTING),
        GradientBoostingRegressor(conformal="cv+", **BOOSTING),
        GradientBoostingRegressor(
            conformal="cv+", loss="quantile", quantile=[0.1, 0.5, 0.9], **BOOSTING
        ),
        RandomForestRegressor(conformal="oob", n_estimators=30),
    ],
)
def test_files_and_pickles_have_the_scores(model: Any, tmp_path: Path) -> None:
    X, y = draw(200, 14)
    X[:, 0] = np.round(X[:, 0])
    model = clone(model).fit(X, y)
    bounds = model.predict_interval(X, coverage=0.8)
    plain = clone(model).set_params(conformal=None).fit(X, y)
    assert plain.fingerprint() != model.fingerprint()
    model.save(tmp_path / "model.stagewise")
    for other in (load(tmp_path / "model.stagewise"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_interval(X, coverage=0.8), bounds)
        assert other.fingerprint() == model.fingerprint()


def test_a_file_with_impossible_scores_is_refused(tmp_path: Path) -> None:
    X, y = draw(200, 15)
    model = GradientBoostingRegressor(conformal="cv", **BOOSTING).fit(X, y)
    model._set_learned("conformity.", {"conformity.facts": np.zeros(7)})
    model.save(tmp_path / "model.stagewise")
    with pytest.raises(ModelFormatError, match="conformity scores are incomplete"):
        load(tmp_path / "model.stagewise")


def test_the_number_of_threads_changes_nothing() -> None:
    X, y = draw(400, 16)
    one, two = (
        GradientBoostingRegressor(conformal="cv", n_jobs=n, **BOOSTING).fit(X, y) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.predict_interval(X), two.predict_interval(X))


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 90, "0.9", None, float("nan")])
def test_a_coverage_outside_of_its_range_is_refused(coverage: Any) -> None:
    X, y = draw(100, 17)
    model = GradientBoostingRegressor(conformal="cv", **BOOSTING).fit(X, y)
    with pytest.raises(InvalidParameterError, match="coverage must be a number above 0 and below"):
        model.predict_interval(X, coverage=coverage)


def test_too_few_rows_for_a_coverage_are_refused() -> None:
    X, y = draw(50, 18)
    model = RandomForestRegressor(conformal="split", n_estimators=20).fit(X, y)
    with pytest.raises(ValueError, match=r"coverage=0.95 needs at least 19 rows .* at most 0.909"):
        model.predict_interval(X, coverage=0.95)
    assert model.predict_interval(X, coverage=0.909).shape == (50, 2)


def test_a_model_without_scores_has_no_intervals() -> None:
    X, y = draw(50, 19)
    model = GradientBoostingRegressor(**BOOSTING).fit(X, y)
    with pytest.raises(InvalidParameterError, match="fit it with conformal="):
        model.predict_interval(X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GradientBoostingRegressor(conformal="oob"), "must be one of None, 'split', 'cv', 'cv\\+'"),
        (
            GradientBoostingRegressor(conformal=True),
            r"differ between rows, also set loss='quantile', quantile=\[0\.05, 0\.5, 0\.95\]",
        ),
        (RandomForestRegressor(conformal="cv"), "must be one of None, 'split', 'oob'"),
        (RandomForestRegressor(conformal=Conformal(method="cv")), "must have one of the methods"),
        (
            GradientBoostingRegressor(conformal=Conformal(score="aps")),
            "must have one of the scores",
        ),
        (GradientBoostingRegressor(conformal=Conformal(per_class=True)), "is for classifiers"),
        (GradientBoostingRegressor(conformal=Conformal(groups="x9")), "is not a feature"),
        (GradientBoostingRegressor(conformal=Conformal(groups=7)), "X has 3 columns"),
        (GradientBoostingRegressor(conformal="cv", warm_start=True, n_estimators=9), "warm_start"),
        (GradientBoostingRegressor(conformal="cv", early_stopping=True), "early_stopping='cv'"),
        (RandomForestRegressor(conformal="oob", bootstrap=False), "bootstrap=True"),
        (GradientBoostingRegressor(conformal=Conformal(score="quantile")), "loss='quantile'"),
        (GradientBoostingRegressor(conformal="cv+", category_encoding="target"), "'sets'"),
        (GradientBoostingRegressor(conformal="cv+", init=LinearRegression()), "init='mean'"),
        (GradientBoostingRegressor(conformal=Conformal(fraction=0.5)), "has no effect with method"),
    ],
)
def test_impossible_parameters_are_refused(model: Any, message: str) -> None:
    X, y = draw(120, 20)
    with pytest.raises(InvalidParameterError, match=message):
        clone(model).fit(X, y)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"groups": 3}, r"groups=3 .* 0 to 2\. Pass .* not how many there are"),
        ({"groups": "zone"}, r"'zone' .*The features are \['a', 'b', 'c'\]"),
        ({"groups": ["a", "b"]}, r"got \['a', 'b'\]|for combinations of features"),
        ({"groups": np.arange(120)}, r"add the groups of rows to X as a column"),
        ({"groups": 1.5}, "got 1.5"),
    ],
)
def test_bad_groups_have_a_remedy(value: Any, message: str) -> None:
    X, y = draw(120, 20)
    frame = pd.DataFrame(X, columns=list("abc"))
    with pytest.raises(InvalidParameterError, match=message):
        GradientBoostingRegressor(conformal=Conformal(**value), **BOOSTING).fit(frame, y)


@pytest.mark.parametrize(
    ("value", "message"), [(0.9, "coverage=0.9 is an argument"), (5, "early_stopping=5 sets")]
)
def test_a_number_is_no_method(value: Any, message: str) -> None:
    X, y = draw(120, 20)
    with pytest.raises(InvalidParameterError, match=message):
        GradientBoostingRegressor(conformal=value, **BOOSTING).fit(X, y)


def test_groups_without_enough_rows_are_a_warning() -> None:
    X, y = draw(120, 20)
    model = GradientBoostingRegressor(conformal=Conformal(groups=0), **BOOSTING)
    with pytest.warns(UserWarning, match="groups=0 .* 120 values, and none has the 9 rows"):
        model.fit(X, y)


def test_rows_that_replace_the_folds_are_refused() -> None:
    X, y = draw(120, 27)
    for rounds in ("auto", 20):
        model = GradientBoostingRegressor(conformal="cv", n_estimators=rounds)
        with pytest.raises(InvalidParameterError, match="X_val or eval_set stops the fit"):
            model.fit(X, y, X_val=X, y_val=y)
    model.set_params(early_stopping=False).fit(X, y, X_val=X, y_val=y)  # they are only recorded
    assert model.predict_interval(X).shape == (120, 2)


def test_cross_intervals_have_no_target_encodings() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, size=400)
    frame = pd.DataFrame({"a": rng.normal(size=400), "many": pd.Categorical(codes.astype(str))})
    y = rng.normal(size=40)[codes] * 3.0 + rng.normal(size=400)
    found = [
        GradientBoostingRegressor(conformal="cv+", category_encoding=encoding, **BOOSTING)
        .fit(frame[:300], y[:300])
        .predict_interval(frame[300:])
        for encoding in ("auto", "sets")
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert ((found[0][:, 0] <= y[300:]) & (y[300:] <= found[0][:, 1])).mean() > 0.8


def test_leave_one_out_is_the_jackknife_plus() -> None:
    X, y = draw(40, 28)
    model = GradientBoostingRegressor(
        conformal="cv+", early_stopping=LeaveOneOut(), n_estimators=5
    ).fit(X, y)
    assert len(model.model_.fold_ensembles) == 40
    assert model.predict_interval(X).shape == (40, 2)


@pytest.mark.parametrize("value", ["banana", "cv", 3, True])
def test_conformalize_takes_an_object_only(value: Any) -> None:
    X, y = draw(50, 31)
    model = GradientBoostingRegressor(**BOOSTING).fit(X, y)
    with pytest.raises(InvalidParameterError, match="None or a Conformal object"):
        model.conformalize(X, y, conformal=value)


def test_several_targets_are_refused() -> None:
    X, y = draw(100, 21)
    for model in (
        GradientBoostingRegressor(conformal="cv"),
        RandomForestRegressor(conformal="oob"),
    ):
        with pytest.raises(InvalidParameterError, match="conformal is for one target"):
            model.fit(X, np.column_stack([y, y]))


def test_groups_are_not_divided() -> None:
    X, y = draw(100, 22)
    model = GradientBoostingRegressor(conformal="split", early_stopping="cv", n_estimators=20)
    with pytest.raises(ValueError, match="would divide groups"):
        model.fit(X, y, groups=np.arange(100) // 5)
    model.set_params(conformal="cv").fit(X, y, groups=np.arange(100) // 5)
    assert model.predict_interval(X).shape == (100, 2)


# ---- agreement -----------------------------------------------------------------------------------


def test_split_intervals_are_those_of_mapie() -> None:
    pytest.importorskip("mapie")
    from mapie.regression import SplitConformalRegressor

    model = GradientBoostingRegressor(**BOOSTING).fit(*draw(300, 30))
    (X_cal, y_cal), (X, _) = draw(151, 31), draw(50, 32)
    peer = SplitConformalRegressor(model, confidence_level=0.85, prefit=True)
    _, theirs = peer.conformalize(X_cal, y_cal).predict_interval(X)
    own = model.conformalize(X_cal, y_cal).predict_interval(X, coverage=0.85)
    np.testing.assert_allclose(own, theirs[:, :, 0], rtol=1e-9)


def test_cross_intervals_are_those_of_mapie() -> None:
    """Features of few values have the same bins in all folds, so the models are the same."""
    pytest.importorskip("mapie")
    from mapie.regression import CrossConformalRegressor

    rng = np.random.default_rng(33)
    X = rng.integers(0, 4, size=(200, 3)).astype(float)
    y = X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(size=200)
    X_new, folds = rng.integers(0, 4, size=(40, 3)).astype(float), KFold(4)
    rules = {"max_leaf_nodes": 6, "min_samples_leaf": 5, "l2_regularization": 1.0}
    model = GradientBoostingRegressor(
        conformal="cv+", early_stopping=folds, n_estimators=12, n_iter_no_change=12, **rules
    ).fit(X, y)
    peer = CrossConformalRegressor(
        GradientBoostingRegressor(n_estimators=model.n_iter_, **rules),
        confidence_level=0.8,
        method="plus",
        cv=folds,
    )
    _, theirs = peer.fit_conformalize(X, y).predict_interval(X_new)
    own = model.predict_interval(X_new, coverage=0.8)
    np.testing.assert_allclose(own, theirs[:, :, 0], rtol=1e-6)


def test_datasets_and_sparse_tables_have_the_same_intervals(tmp_path: Path) -> None:
    X, y = draw(300, 35)
    X[:, 0] = np.round(X[:, 0])
    frame = pd.DataFrame(X, columns=list("abc"))
    model = GradientBoostingRegressor(conformal=Conformal(groups="a"), **BOOSTING).fit(frame, y)
    frame.to_parquet(tmp_path / "rows.parquet")
    bounds = model.predict_interval(frame, coverage=0.8)
    dataset = read_parquet(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(model.predict_interval(dataset, coverage=0.8), bounds)
    sparse = csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X))
    own = GradientBoostingRegressor(conformal=Conformal(groups=0), **BOOSTING).fit(sparse, y)
    dense = own.predict_interval(sparse.toarray(), coverage=0.8)
    np.testing.assert_array_equal(own.predict_interval(sparse, coverage=0.8), dense)


@pytest.mark.parametrize("loss", ["huber", "gamma", "normal", "negative_binomial"])
def test_other_losses_have_intervals(loss: str) -> None:
    rng = np.random.default_rng(36)
    X = rng.normal(size=(3000, 2))
    y = rng.poisson(np.exp(1 + X[:, 0] / 2)) + 1.0
    model = GradientBoostingRegressor(loss=loss, conformal="cv", n_estimators=30)
    bounds = model.fit(X[:1000], y[:1000]).predict_interval(X[1000:])
    assert 0.87 < covered(bounds, y[1000:]).mean() < 0.96
