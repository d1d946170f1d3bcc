"""Target encoding of categories: accuracy, invariants, files and refused parameters."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import stagewise
from stagewise import (
    FeatureSampling,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    OrderedTargetEncoding,
)

FAST = {"n_estimators": 20, "max_leaf_nodes": 8, "learning_rate": 0.3, "n_jobs": 2}
TWICE = OrderedTargetEncoding(n_orderings=2)


def shops(n=4000, seed=0, noise=1.0):
    """Return sales by shop (many) and by date (month and day), with a number."""
    rng = np.random.default_rng(seed)
    known = np.random.default_rng(99)
    of_shop, of_date = known.normal(size=400), known.normal(size=(12, 28))
    shop, month, day = rng.integers(0, 400, n), rng.integers(0, 12, n), rng.integers(0, 28, n)
    x = rng.normal(size=n)
    y = of_shop[shop] + of_date[month, day] + 0.5 * x + noise * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "shop": pd.Categorical([f"shop {i}" for i in shop]),
            "x": x,
            "month": pd.Categorical(month),
            "day": pd.Categorical(day),
        }
    )
    return frame, y


def by_class(y, k=3):
    return np.digitize(y, np.quantile(y, np.arange(1, k) / k))


def fit(X, y, kind=GradientBoostingRegressor, **params):
    return kind(**{**FAST, **params}).fit(X, y)


def test_target_encoding_learns_more_than_category_sets() -> None:
    X, y = shops(8000)
    new, truth = shops(4000, seed=1)
    error = {
        how: np.mean((fit(X, y, category_encoding=how, n_estimators=60).predict(new) - truth) ** 2)
        for how in ("sets", "auto")
    }
    assert error["auto"] < 0.8 * error["sets"]


def test_the_date_is_found_as_a_combination() -> None:
    model = fit(*shops(8000))
    sources = [s.sources for s in model.model_.features.target_encodings]
    assert sources[0] == (0,)  # the shop alone; months and days have few categories
    assert (2, 3) in sources


def test_uninformative_categories_are_not_overfitted() -> None:
    rng = np.random.default_rng(0)
    names = pd.Categorical(rng.integers(0, 900, 3000))
    X, y = pd.DataFrame({"name": names, "x": rng.normal(size=3000)}), rng.normal(size=3000)
    model = fit(X, y, category_encoding="target", n_estimators=60)
    r2 = 1 - model.train_loss_[-1] / (0.5 * np.var(y))
    assert r2 < 0.25  # trees on a random number reach as much
    new = pd.DataFrame({"name": rng.permutation(names), "x": rng.normal(size=3000)})
    assert np.var(model.predict(new)) < 0.15 * np.var(y)


@pytest.mark.parametrize("n_orderings", [1, 3])
@pytest.mark.parametrize("case", ["number", "two", "three", "absolute", "exact", "validated"])
def test_a_continued_fit_equals_the_uninterrupted_one(case, n_orderings, tmp_path) -> None:
    X, y = shops(1500)
    kind, params = (
        GradientBoostingRegressor,
        {"category_encoding": OrderedTargetEncoding(n_orderings=n_orderings)},
    )
    if case in ("two", "three"):
        kind, y = GradientBoostingClassifier, by_class(y, {"two": 2, "three": 3}[case])
    if case == "absolute":
        params["loss"] = "absolute_error"
    if case == "exact":
        params["split"] = "exact"
    held = {}
    if case == "validated":
        other, truth = shops(500, seed=5)
        held = {"X_val": other, "y_val": truth}
        params["n_iter_no_change"] = 100
    whole = kind(**{**FAST, **params}).fit(X, y, **held)
    part = kind(**{**FAST, **params, "n_estimators": 7, "warm_start": True}).fit(X, y, **held)
    part.save(tmp_path / "part.stgw")
    part = stagewise.load(tmp_path / "part.stgw").set_params(n_estimators=20, n_jobs=1)
    assert part.fit(X, y, **held).fingerprint() == whole.fingerprint()
    assert part.model_.features.target_encodings


def test_a_model_continued_on_other_rows_keeps_its_encodings() -> None:
    X, y = shops(2000)
    model = fit(X, y, warm_start=True)
    encodings = model.model_.features.target_encodings
    other, truth = shops(2000, seed=4)
    model.set_params(n_estimators=30).fit(other, truth)
    assert model.model_.features.target_encodings == encodings


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_target_encodings_are_restored_from_a_file(classes, tmp_path) -> None:
    X, y = shops(1500)
    kind = GradientBoostingClassifier if classes else GradientBoostingRegressor
    model = fit(X, by_class(y, classes) if classes else y, kind)
    assert len(model.model_.features.target_encodings[0].values) == (classes if classes > 2 else 1)
    model.save(tmp_path / "model.stgw")
    method = "predict_proba" if classes else "predict"
    for again in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
        assert again.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
        assert again.model_.features == model.model_.features
    last = list(getattr(model, "staged_" + method)(X))[-1]
    np.testing.assert_array_equal(last, getattr(model, method)(X))
    assert model.apply(X).size == 1500 * len(model.model_.ensemble.trees)


def test_the_model_does_not_depend_on_threads_codes_or_absent_rows() -> None:
    X, y = shops(1500)
    model = fit(X, y, category_encoding=TWICE)
    for threads in (1, 3):
        assert (
            fit(X, y, category_encoding=TWICE, n_jobs=threads).fingerprint() == model.fingerprint()
        )
    turned = X.assign(shop=X["shop"].cat.reorder_categories(X["shop"].cat.categories[::-1]))
    assert fit(turned, y, category_encoding=TWICE).fingerprint() == model.fingerprint()
    more, extra = shops(200, seed=8)
    both = pd.concat([X.astype(object), more.astype(object)]).astype({"x": float})
    both = both.astype({"shop": "category", "month": "category", "day": "category"})
    weight = np.r_[np.ones(1500), np.zeros(200)]
    model_of = GradientBoostingRegressor(**FAST, category_encoding=TWICE)
    absent = model_of.fit(both, np.r_[y, extra], sample_weight=weight)
    assert absent.fingerprint() == model.fingerprint()


def test_held_out_rows_do_not_change_the_encodings() -> None:
    X, y = shops(1500)
    params = {**FAST, "early_stopping": True, "n_iter_no_change": 100}
    first = GradientBoostingRegressor(**params).fit(X, y)
    inner = first.validation_loss_[-1] * 2
    assert inner > 0.5  # the noise has variance 1
    shift = y.copy()
    held = np.random.default_rng([0, 1500]).permutation(1500)[:150]  # as `hold_out` draws them
    shift[held] += 1e-3
    again = GradientBoostingRegressor(**params).fit(X, shift)
    tables = (first.model_.features.target_encodings, again.model_.features.target_encodings)
    assert tables[0] == tables[1]


def test_folds_are_encoded_separately() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": pd.Categorical(rng.integers(0, 100, 1000)), "x": rng.random(1000)})
    y = rng.normal(size=1000)  # pure noise, so no gain is allowed
    model = GradientBoostingRegressor(**FAST, early_stopping="cv", category_encoding="target")
    model.fit(X, y)
    assert np.corrcoef(model.oof_prediction_, y)[0, 1] < 0.08
    X, y = shops(3000)
    model.fit(X, y)
    assert np.corrcoef(model.oof_prediction_, y)[0, 1] > 0.5


def test_missing_and_unknown_categories_can_be_predicted() -> None:
    X, y = shops(3000)
    X.loc[::7, "shop"] = np.nan
    y = y + 3.0 * X["shop"].isna()
    model = fit(X, y)
    new = X.iloc[:3].copy()
    new["shop"] = pd.Categorical([None, "elsewhere", X["shop"].iloc[1]])
    with pytest.warns(UserWarning, match="elsewhere"):
        missing, unknown, _ = model.predict(new)
    lost = new.assign(shop=pd.Categorical([None, None, None]))
    assert unknown == model.predict(lost)[1]  # handle_unknown="missing"
    model.set_params(handle_unknown="prior")
    assert missing == model.predict(new)[0]
    assert model.predict(new)[1] != unknown


def test_importances_belong_to_the_original_columns() -> None:
    X, y = shops(4000)
    model = fit(X, y, n_estimators=60)
    shares = model.feature_importances_
    assert len(shares) == 4
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] > 0.1
    assert shares[2] > 0.1
    assert shares[3] > 0.1


@pytest.mark.parametrize(
    "params",
    [
        {"monotonic_cst": {"x": 1}},
        {"max_features": FeatureSampling(per_node=0.5, weights={"shop": 2.0, "x": 1.0})},
        {"grow_policy": "symmetric", "max_depth": 3},
        {"sampling": "goss"},
        {"loss": "quantile", "quantile": 0.8},
        {"split": "approx"},
        {"max_bins": 40},
    ],
    ids=lambda p: next(iter(p)),
)
def test_target_encoding_works_with_other_parameters(params) -> None:
    X, y = shops(3000)
    model = fit(X, y, **params)
    assert model.model_.features.target_encodings
    assert len(np.unique(model.predict(X))) > 50
    if "monotonic_cst" in params:
        low = model.predict(X.assign(x=-1.0))
        assert (model.predict(X.assign(x=1.0)) >= low).all()


@pytest.mark.parametrize(
    "params",
    [
        {"interaction_cst": "no_interactions"},
        {"feature_penalty": np.array([0.0, 1.0, 0.0, 0.0])},
        {"dropout": "dart"},
        {"leaves": "linear"},
    ],
    ids=lambda p: next(iter(p)),
)
def test_parameters_that_target_encoding_cannot_respect_are_refused(params) -> None:
    X, y = shops(1000)
    assert not fit(X, y, **params).model_.features.target_encodings
    with pytest.raises(
        ValueError, match=rf"category_encoding='target'.*{next(iter(params))} must be"
    ):
        fit(X, y, category_encoding="target", **params)
    model = fit(X, y, warm_start=True).set_params(n_estimators=25, **params)
    with pytest.raises(ValueError, match=f"{next(iter(params))} must be"):
        model.fit(X, y)


def test_auto_encodes_only_many_categories_and_few_classes() -> None:
    X, y = shops(2000)
    assert fit(X, y).model_.features.target_encodings
    few = X[["month", "day", "x"]]
    assert not fit(few, y).model_.features.target_encodings
    assert fit(few, y, category_encoding="target").model_.features.target_encodings
    assert not fit(X, y, category_encoding="sets").model_.features.target_encodings
    classes = by_class(y, 9)
    assert not fit(X, classes, GradientBoostingClassifier).model_.features.target_encodings


@pytest.mark.filterwarnings("ignore:.*like an identifier")
def test_a_continued_fit_keeps_its_orderings() -> None:
    X, y = shops(500)
    model = fit(X, y, category_encoding=TWICE, warm_start=True)
    model.set_params(category_encoding__n_orderings=3, n_estimators=model.n_estimators + 1)
    with pytest.raises(ValueError, match="n_orderings=2, but now it is 3"):
        model.fit(X, y)


def test_combinations_are_found_on_a_sample_of_the_rows(monkeypatch) -> None:
    X, y = shops(6000)
    monkeypatch.setattr("stagewise.training.target_encoder.MAX_ROWS", 5000)
    model = fit(X, y)
    assert (2, 3) in [s.sources for s in model.model_.features.target_encodings]


@pytest.mark.parametrize(
    "trees",
    [
        {"leaves": "constant"},
        {"leaves": "vector"},
        {"leaves": "vector", "grow_policy": "symmetric"},
    ],
    ids=["constant", "vector", "symmetric vector"],
)
def test_several_targets_have_separate_encodings(trees, tmp_path) -> None:
    X, y = shops(2000)
    targets = np.column_stack([y, 2.0 * np.roll(y, 1) + 5.0])
    model = fit(X, targets, **trees)
    assert len(model.model_.features.target_encodings[0].values) == 2
    part = fit(X, targets, **trees, n_estimators=9, warm_start=True)
    part.set_params(n_estimators=FAST["n_estimators"]).fit(X, targets)
    assert part.fingerprint() == model.fingerprint()
    model.save(tmp_path / "model.stgw")
    again = stagewise.load(tmp_path / "model.stgw")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    plain = fit(X, targets, **trees, category_encoding="sets")
    errors = [np.mean((m.predict(X)[:, 0] - y) ** 2) for m in (model, plain)]
    assert errors[0] < errors[1]
