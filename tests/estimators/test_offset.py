"""Offsets and exposures: where they enter a fit, and what predictions need."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import stagewise
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor, StagewiseRegressor
from stagewise.datasets import read_batches
from stagewise.errors import ColumnWarning

N = 400
SMALL = {"n_estimators": 12, "min_samples_leaf": 10}


def make_counts(n: int = N) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with a column of exposures, and counts."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 5, n)})
    X["years"] = rng.uniform(0.05, 2.0, n)
    return X, rng.poisson(X["years"] * np.exp(0.6 * X["a"])).astype(float)


X, Y = make_counts()
FEATURES, YEARS = X[["a", "b"]], X["years"].to_numpy()
OFFSET = np.random.default_rng(1).normal(size=N)


def counts(**params: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(loss="poisson", **{**SMALL, **params})


@pytest.fixture(scope="module")
def by_column() -> GradientBoostingRegressor:
    return counts().fit(X, Y, exposure="years")


@pytest.fixture(scope="module")
def by_array() -> GradientBoostingRegressor:
    return counts().fit(FEATURES, Y, exposure=YEARS)


# ---- what an offset is ---------------------------------------------------------------------------


def test_a_column_and_an_array_give_the_same_model(by_column: Any, by_array: Any) -> None:
    assert by_column.feature_names_in_.tolist() == ["a", "b"]
    assert np.array_equal(by_column.predict(X), by_array.predict(FEATURES, exposure=YEARS))


def test_an_exposure_is_an_offset_of_its_logarithm(by_array: Any) -> None:
    other = counts().fit(FEATURES, Y, offset=np.log(YEARS))
    np.testing.assert_allclose(
        other.predict(FEATURES, offset=np.log(3)), by_array.predict(FEATURES, exposure=3), rtol=1e-9
    )


def test_offset_and_exposure_add(by_array: Any) -> None:
    both = counts().fit(FEATURES, Y, offset=np.log(YEARS / 2), exposure=2)
    expected = by_array.predict(FEATURES, exposure=YEARS)
    found = both.predict(FEATURES, offset=np.log(YEARS / 2), exposure=2)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_an_offset_of_squared_error_is_subtracted_from_y() -> None:
    with_offset = GradientBoostingRegressor(**SMALL).fit(FEATURES, Y, offset=OFFSET)
    residual = GradientBoostingRegressor(**SMALL).fit(FEATURES, Y - OFFSET)
    assert with_offset.model_.to_bytes() != residual.model_.to_bytes()  # it needs its offset
    assert with_offset.fingerprint() == residual.fingerprint()
    found = with_offset.predict(FEATURES, offset=OFFSET)
    np.testing.assert_allclose(found, residual.predict(FEATURES) + OFFSET, rtol=1e-12)


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile", "expectile", "mape"])
def test_losses_with_the_identity_link_have_offsets_in_units_of_y(loss: str) -> None:
    y = 50 + Y
    model = GradientBoostingRegressor(loss=loss, **SMALL).fit(FEATURES, y + OFFSET, offset=OFFSET)
    found = model.predict(FEATURES, offset=OFFSET) - OFFSET
    assert abs(np.median(found - y)) < 1.0
    assert np.array_equal(model.predict(FEATURES, offset=0), model.predict(FEATURES, offset=0.0))


def test_the_offset_of_several_targets_has_a_column_for_each() -> None:
    targets, both = np.column_stack([Y, -Y]), np.column_stack([OFFSET, 2 * OFFSET])
    model = GradientBoostingRegressor(**SMALL).fit(FEATURES, targets + both, offset=both)
    plain = GradientBoostingRegressor(**SMALL).fit(FEATURES, targets)
    found = model.predict(FEATURES, offset=both) - both
    np.testing.assert_allclose(found, plain.predict(FEATURES), atol=1e-8)
    with pytest.raises(ValueError, match=r"offset has 1 column, and the model has 2 scores"):
        GradientBoostingRegressor(**SMALL).fit(FEATURES, targets, offset=OFFSET)


def test_several_counts_share_one_exposure() -> None:
    all_features = counts(max_features=None)
    model = clone(all_features).fit(FEATURES, np.column_stack([Y, 2 * Y]), exposure=YEARS)
    alone = clone(all_features).fit(FEATURES, Y, exposure=YEARS)
    found = model.predict(FEATURES, exposure=YEARS)
    np.testing.assert_allclose(found[:, 0], alone.predict(FEATURES, exposure=YEARS), rtol=1e-6)


def test_scores_of_classes_have_an_offset() -> None:
    labels = (Y > 0).astype(int)
    model = GradientBoostingClassifier(**SMALL).fit(FEATURES, labels, offset=OFFSET)
    alone = model.decision_function(FEATURES, offset=0)
    np.testing.assert_allclose(model.decision_function(FEATURES, offset=OFFSET), alone + OFFSET)
    p = model.predict_proba(FEATURES, offset=OFFSET)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-(alone + OFFSET))))
    assert np.array_equal(model.predict(FEATURES, offset=OFFSET), (p[:, 1] > 0.5).astype(int))
    assert np.array_equal(np.log(p), model.predict_log_proba(FEATURES, offset=OFFSET))
    accuracy = np.mean(model.predict(FEATURES, offset=OFFSET) == labels)
    assert model.score(FEATURES, labels, offset=OFFSET) == accuracy


def test_an_offset_of_zeros_changes_no_byte() -> None:
    for model, y in ((counts(), Y), (GradientBoostingClassifier(**SMALL), Y > 0)):
        plain = clone(model).fit(FEATURES, y)
        zeros = clone(model).fit(FEATURES, y, offset=np.zeros(N))
        assert zeros.fingerprint() == plain.fingerprint()
        assert zeros.model_.row_offset.passed == ("offset",)


@pytest.mark.parametrize("table", [X, pl.from_pandas(X), X.to_dict("records")])
def test_a_column_is_read_from_any_table_with_names(table: Any, by_column: Any) -> None:
    model = counts().fit(table, Y, exposure="years")
    assert model.fingerprint() == by_column.fingerprint()
    assert np.array_equal(model.predict(table), by_column.predict(X))


def test_one_row_is_predicted_from_a_dictionary(by_column: Any) -> None:
    row = X.iloc[3].to_dict()
    assert by_column.predict(row) == by_column.predict(X.iloc[3:4])


# ---- predictions need the offset again -----------------------------------------------------------


def test_a_prediction_without_its_exposure_is_refused(by_array: Any) -> None:
    for predict in (
        lambda: by_array.predict(FEATURES),
        lambda: next(by_array.staged_predict(FEATURES)),
        lambda: by_array.score(FEATURES, Y),
    ):
        with pytest.raises(ValueError, match=r"was fitted with exposure.*exposure=1 for a rate"):
            predict()


def test_a_classifier_needs_its_offset_again() -> None:
    model = GradientBoostingClassifier(**SMALL).fit(FEATURES, Y > 0, offset=OFFSET)
    for method in ("predict", "predict_proba", "decision_function", "predict_log_proba"):
        with pytest.raises(ValueError, match=r"was fitted with offset.*offset=0 for the scores"):
            getattr(model, method)(FEATURES)


def test_a_table_without_its_exposure_column_is_refused(by_column: Any) -> None:
    with pytest.raises(ValueError, match=r"exposure is the column 'years', which X does not have"):
        by_column.predict(FEATURES)
    np.testing.assert_allclose(
        by_column.predict(FEATURES, exposure=2), 2 * by_column.predict(X, exposure=1)
    )


def test_any_additive_model_may_get_an_offset() -> None:
    model = GradientBoostingRegressor(**SMALL).fit(FEATURES, Y)
    np.testing.assert_allclose(
        model.predict(FEATURES, offset=OFFSET), model.predict(FEATURES) + OFFSET
    )


def test_staged_predictions_end_with_the_prediction(by_column: Any) -> None:
    *_, last = by_column.staged_predict(X)
    np.testing.assert_allclose(last, by_column.predict(X), rtol=1e-14)


def test_files_and_pickles_keep_the_column(by_column: Any, by_array: Any, tmp_path: Path) -> None:
    for model, table in ((by_column, X), (by_array, FEATURES)):
        model.save(tmp_path / "m.stgw")
        for again in (stagewise.load(tmp_path / "m.stgw"), pickle.loads(pickle.dumps(model))):
            assert again.model_.row_offset == model.model_.row_offset
            assert again.fingerprint() == model.fingerprint()
            assert np.array_equal(
                again.predict(table, exposure=2), model.predict(table, exposure=2)
            )
    assert by_column.fingerprint() != by_array.fingerprint()  # other predictions of the same rows


def test_datasets_are_predicted_with_their_offsets(by_column: Any, by_array: Any) -> None:
    whole = by_column.predict(X)
    parts = [X[:150], X[150:]]
    dataset = read_batches(lambda: iter(parts))
    assert np.array_equal(by_column.predict(dataset), whole)
    plain = read_batches(lambda: iter([part[["a", "b"]] for part in parts]))
    assert np.array_equal(by_array.predict(plain, exposure=YEARS), whole)
    with pytest.raises(ValueError, match="exposure has 401 rows, and X has 400"):
        by_array.predict(plain, exposure=np.append(YEARS, 1.0))


def test_a_dataset_is_read_into_memory_for_its_exposure(by_column: Any) -> None:
    dataset = read_batches(lambda: iter([X.assign(n=Y)]), target="n")
    model = counts().fit(dataset, exposure="years")
    assert model.fingerprint() == by_column.fingerprint()
    assert model.fit_report_["rows_in_memory"] == "exposure"


# ---- fits ----------------------------------------------------------------------------------------


def test_the_first_score_is_the_logarithm_of_the_rate(by_array: Any) -> None:
    np.testing.assert_allclose(by_array.model_.ensemble.base, np.log(Y.sum() / YEARS.sum()))


@pytest.mark.parametrize("params", [{"early_stopping": True}, {"early_stopping": "cv"}, {}])
def test_held_out_rows_keep_their_exposure(params: dict[str, Any]) -> None:
    large, y = make_counts(3000)
    model = counts(n_estimators=200, learning_rate=0.05, **params)
    model.fit(large, y, exposure="years")
    deviance = np.mean(model.predict(large) - y * np.log(model.predict(large)))
    held_out = params.get("early_stopping") is True
    tolerance = 0.05 if held_out else 1e-6
    np.testing.assert_allclose(model.train_loss_[model.n_iter_ - 1], deviance, rtol=tolerance)
    if params:
        assert deviance < model.validation_loss_.min() < model.validation_loss_[0]


def test_out_of_fold_predictions_have_the_exposure() -> None:
    model = counts(early_stopping="cv").fit(X, Y, exposure="years")
    assert np.corrcoef(np.log(model.oof_prediction_), np.log(YEARS))[0, 1] > 0.5
    np.testing.assert_allclose(model.oof_prediction_.sum(), Y.sum(), rtol=0.15)


def test_metrics_of_validation_rows_see_whole_predictions() -> None:
    seen: list[np.ndarray] = []

    def error(y: np.ndarray, predicted: np.ndarray, weight: Any) -> float:
        seen.append(predicted.copy())
        return float(np.mean((y - predicted) ** 2))

    for model, name, scores in (
        (counts(eval_metric=error), "exposure", YEARS),
        (GradientBoostingRegressor(eval_metric=error, **SMALL), "offset", OFFSET),
    ):
        seen.clear()
        held = {f"{name}_val": scores[300:]}
        arguments = {name: scores[:300], **held}
        model.fit(FEATURES[:300], Y[:300], X_val=FEATURES[300:], y_val=Y[300:], **arguments)
        found = model.predict(FEATURES[300:], **{name: scores[300:]})
        np.testing.assert_allclose(found, seen[model.n_iter_ - 1], rtol=1e-9)


def test_sets_of_rows_have_offsets(by_array: Any) -> None:
    held = {"X": FEATURES[300:], "y": Y[300:], "exposure": YEARS[300:]}
    model = counts(eval_metric="rmse")
    model.fit(FEATURES, Y, exposure=YEARS, eval_set={"train": (FEATURES, Y), "held": held})
    assert model.fingerprint() == by_array.fingerprint()
    for name, part in (("train", slice(None)), ("held", slice(300, None))):
        predicted = model.predict(FEATURES[part], exposure=YEARS[part])
        error = np.sqrt(np.mean((Y[part] - predicted) ** 2))
        np.testing.assert_allclose(model.evals_result_[name]["rmse"][-1], error)
    model.fit(X, Y, exposure="years", eval_set=[(X, Y), (X[300:], Y[300:])])
    np.testing.assert_allclose(model.evals_result_["valid_1"]["rmse"][-1], error)


def test_warm_start_gets_the_exposure_again() -> None:
    whole = counts().fit(X, Y, exposure="years")
    part = counts(n_estimators=5, warm_start=True).fit(X, Y, exposure="years")
    part.set_params(n_estimators=12).fit(X, Y, exposure="years")
    assert part.fingerprint() == whole.fingerprint()
    with pytest.raises(ValueError, match=r"continues a model with exposure='years', but now.*no"):
        part.fit(FEATURES, Y)


@pytest.mark.parametrize("init", ["zero", -0.5, PoissonRegressor()])
def test_a_start_and_an_exposure_add(init: Any) -> None:
    model = counts(init=init).fit(X, Y, exposure="years")
    rate = model.predict(X, exposure=1)
    np.testing.assert_allclose(model.predict(X), rate * YEARS, rtol=1e-12)
    if not isinstance(init, str):
        start = next(model.staged_predict(X, exposure=1)).mean()
        assert 0.5 < start < 1.5


def test_an_estimator_as_start_is_fitted_to_rates_or_residuals() -> None:
    model = counts(init=PoissonRegressor(alpha=0)).fit(X, Y, exposure="years")
    rates = PoissonRegressor(alpha=0).fit(FEATURES, Y / YEARS, sample_weight=YEARS)
    np.testing.assert_allclose(model.init_.predict(FEATURES), rates.predict(FEATURES), rtol=1e-6)
    line = GradientBoostingRegressor(init=PlainRegression(), **SMALL)
    line.fit(FEATURES, Y, offset=OFFSET)
    np.testing.assert_allclose(line.init_.coef_, PlainRegression().fit(FEATURES, Y - OFFSET).coef_)
    with pytest.raises(ValueError, match=r"cannot be combined with an offset"):
        GradientBoostingClassifier(init=stagewise.DecisionTreeClassifier(max_depth=2)).fit(
            FEATURES, Y > 0, offset=OFFSET
        )


def test_target_encodings_are_those_of_rates() -> None:
    city = np.arange(N) % 4
    y = np.where(city < 2, 2.0, 1.0) * YEARS * 2  # the rate depends on the city, and counts on both
    table = pd.DataFrame({"city": pd.Categorical(city.astype(str)), "years": YEARS})
    model = counts(category_encoding="target", n_estimators=60).fit(table, y, exposure="years")
    np.testing.assert_allclose(model.predict(table, exposure=1), y / YEARS, rtol=0.05)


def test_dropout_works_with_an_exposure() -> None:
    model = counts(dropout="dart").fit(X, Y, exposure="years")
    np.testing.assert_allclose(model.predict(X), model.predict(X, exposure=1) * YEARS, rtol=1e-12)


def test_any_learner_works_with_an_offset() -> None:
    learner = PlainRegression()
    model = StagewiseRegressor(learner=learner, n_estimators=5, learning_rate=1.0)
    found = model.fit(FEATURES, Y, offset=OFFSET).predict(FEATURES, offset=OFFSET)
    expected = PlainRegression().fit(FEATURES, Y - OFFSET).predict(FEATURES) + OFFSET
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_searches_need_no_routing_for_a_column() -> None:
    own = {"params": {"exposure": "years"}, "cv": 3}
    assert np.isfinite(cross_val_score(counts(), X, Y, **own)).all()
    found = cross_val_predict(counts(), X, Y, **own)
    assert np.corrcoef(np.log(found), np.log(YEARS))[0, 1] > 0.5
    search = GridSearchCV(counts(), {"max_depth": [1, 2]}, cv=3).fit(X, Y, exposure="years")
    assert search.predict(X).shape == (N,)


def test_rows_of_weight_zero_must_have_valid_offsets() -> None:
    weight = np.ones(N)
    weight[5] = 0
    years = YEARS.copy()
    years[5] = 1e-3
    without = np.arange(N) != 5
    one = counts().fit(FEATURES, Y, sample_weight=weight, exposure=years)
    other = counts().fit(FEATURES[without], Y[without], exposure=YEARS[without])
    assert one.fingerprint() == other.fingerprint()
    years[5] = np.nan
    with pytest.raises(ValueError, match=r"exposure must be positive and finite.*nan at row 5"):
        counts().fit(FEATURES, Y, sample_weight=weight, exposure=years)


# ---- faults --------------------------------------------------------------------------------------


def changed(values: np.ndarray, value: float) -> np.ndarray:
    return np.where(np.arange(N) == 7, value, values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"exposure": changed(YEARS, 0.0)}, r"exposure must be positive.*0\.0 at row 7 \(the fir"),
        ({"exposure": changed(YEARS, -1.0)}, r"-1\.0 at row 7 .*\. Correct or remove these rows\."),
        ({"exposure": -YEARS}, r"400 such rows\)\. Pass positive and finite numbers\.$"),
        ({"exposure": changed(YEARS, np.nan)}, r"exposure must be positive.*nan at row 7"),
        ({"exposure": changed(YEARS, np.inf)}, r"exposure must be positive and finite.*inf at"),
        ({"exposure": YEARS[:-1]}, r"X has 400 rows, and exposure has 399 values"),
        ({"offset": OFFSET[:-1]}, r"X has 400 rows, and offset has 399 values"),
        ({"exposure": np.column_stack([YEARS, YEARS])}, r"exposure has 2 columns"),
        ({"exposure": "ages"}, r"the column 'ages', which X does not have"),
        ({"exposure": "year"}, r"Did you mean 'years'"),
        ({"exposure": {"a": 1}}, r"exposure is a dictionary"),
        ({"exposure": ["x"] * N}, r"exposure"),
        ({"offset": changed(OFFSET, np.nan)}, r"offset must be finite.*nan at row 7"),
        ({"offset": changed(OFFSET, np.inf)}, r"offset must be finite.*inf at row 7"),
        ({"offset": changed(OFFSET, 100.0)}, r"row 7 is 100.*Was an exposure passed as offset"),
        ({"offset": np.ones((N, 2))}, r"offset has 2 columns, and the model has 1 score per row"),
        ({"offset": np.ones((N - 1, 1))}, r"offset has 399 rows, and X has 400"),
        ({"exposure_val": YEARS}, r"exposure_val was passed without X_val"),
        ({"exposure": YEARS, "X_val": X, "y_val": Y}, r"X_val has none: pass exposure_val, one"),
        (
            {"exposure": YEARS, "X_val": X, "y_val": Y, "exposure_val": 0},
            r"In the offset of X_val: exposure must be positive",
        ),
        ({"X_val": X, "y_val": Y, "offset_val": 1}, r"offset_val was passed without offset"),
        (
            {"exposure": YEARS, "eval_set": {"new": (X, Y)}},
            r"eval_set 'new' has none: pass the key 'exposure'",
        ),
        ({"eval_set": [{"X": X, "y": Y, "offset": 1}]}, r"has offset, but offset was not passed"),
    ],
)
def test_faults_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        counts().fit(X, Y, **arguments)


def test_an_exposure_needs_a_log_link() -> None:
    for model, y in ((GradientBoostingRegressor(), Y), (GradientBoostingClassifier(), Y > 0)):
        with pytest.raises(ValueError, match=r"losses with a log link \('poisson', 'gamma', 'twe"):
            model.fit(FEATURES, y, exposure=YEARS)


def test_an_array_has_no_column_of_a_name() -> None:
    with pytest.raises(ValueError, match=r"X has no column names. Pass a data frame"):
        counts().fit(FEATURES.to_numpy(), Y, exposure="years")


@pytest.mark.parametrize(
    "model",
    [
        stagewise.RandomForestRegressor(n_estimators=2),
        stagewise.DecisionTreeRegressor(),
        stagewise.AdaBoostClassifier(n_estimators=2),
        stagewise.LogitBoostClassifier(n_estimators=2),
        stagewise.StagewiseLinearRegressor(n_estimators=2),
    ],
)
def test_models_without_an_offset_refuse_it(model: Any) -> None:
    y = Y > 0 if hasattr(model, "predict_proba") else Y
    with pytest.raises(ValueError, match=r"offset was passed, but .* Use GradientBoosting"):
        model.fit(FEATURES, y, offset=OFFSET)
    with pytest.raises(ValueError, match=r"offset was passed, but .* Use GradientBoosting"):
        clone(model).fit(FEATURES, y).predict(FEATURES, offset=OFFSET)


@pytest.mark.parametrize("kind", [stagewise.LinearRegression, stagewise.AutoRegressor])
def test_other_models_have_no_such_argument(kind: Any) -> None:
    with pytest.raises(TypeError, match="offset"):
        kind().fit(FEATURES, Y, offset=OFFSET)


@pytest.mark.parametrize(
    "table", [X[["years"]], X[["years"]].to_dict("records")], ids=["frame", ""]
)
def test_a_table_without_a_column_besides_the_exposure_is_an_error(table):
    with pytest.raises(ValueError, match=r"X has no features: its only column 'years' is .*Add a"):
        counts().fit(table, Y, exposure="years")


# ---- scikit-learn's cross-validation -------------------------------------------------------------


@pytest.mark.parametrize("name", ["exposure", "offset"])
def test_scores_of_a_cross_validation_are_routed_or_read_from_a_column(name: str) -> None:
    values = YEARS if name == "exposure" else np.log(YEARS)
    expected = cross_val_score(counts(), FEATURES.assign(e=values), Y, params={name: "e"})
    assert np.isfinite(expected).all()
    with sklearn.config_context(enable_metadata_routing=True):
        requests = {name: True}
        model = counts().set_fit_request(**requests).set_score_request(**requests)
        found = cross_val_score(model, FEATURES, Y, params={name: values})
        search = GridSearchCV(model, {"max_depth": [1, 2]}).fit(FEATURES, Y, **{name: values})
    assert (found == expected).all()
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("name", ["exposure", "offset"])
def test_a_score_without_the_exposure_of_the_fit_names_both_remedies(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}='column of X'") as caught:
        cross_val_score(counts(), FEATURES, Y, params={name: YEARS}, error_score="raise")
    routed = f"set_fit_request({name}=True).set_score_request({name}=True)"
    assert "sklearn.set_config(enable_metadata_routing=True)" in str(caught.value)
    assert routed in str(caught.value)


# ---- an exposure that is also a column of X ------------------------------------------------------

OTHER_TABLES = {
    "polars": pl.from_pandas(X),
    "columns": {name: X[name].tolist() for name in X},
    "rows": X.to_dict("records"),
}


@pytest.mark.parametrize("table", [X, *OTHER_TABLES.values()], ids=["pandas", *OTHER_TABLES])
def test_an_exposure_that_is_also_a_column_causes_a_warning(table: Any) -> None:
    words = r"exposure is X column 'years', which is also a feature.*Pass exposure='years'"
    with pytest.warns(ColumnWarning, match=words):
        counts().fit(table, Y, exposure=YEARS)


def test_an_offset_that_is_a_column_or_its_logarithm_causes_a_warning() -> None:
    with pytest.warns(ColumnWarning, match=r"offset is the logarithm of .*Pass exposure='years'"):
        counts().fit(X, Y, offset=np.log(YEARS))
    with pytest.warns(ColumnWarning, match=r"offset is X column 'years'.*Pass offset='years'"):
        counts().fit(X, Y, offset=X["years"])
    with pytest.warns(ColumnWarning, match=r"exposure is X column 2, .* Leave the column out of X"):
        counts().fit(X.to_numpy(), Y, exposure=YEARS)


def test_other_exposures_cause_no_warning() -> None:
    ones = X.assign(years=1.0)
    nearly = np.where(np.arange(N) == 201, 0.5, YEARS)
    for table, exposure in ((ones, np.ones(N)), (X, nearly), (FEATURES, YEARS), (X, "years")):
        counts(n_estimators=2).fit(table, Y, exposure=exposure)  # warnings are errors in tests
