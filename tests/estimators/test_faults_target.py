"""Targets, weights and validation sets: any scale is valid, invalid input is an error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from estimators.tables import make_table, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor

ROWS = 300


@pytest.fixture(scope="module")
def table():
    return make_table(ROWS)


def explained(model, X, z) -> float:
    """R² of predictions of z, computed on z / its size, so that squares cannot overflow."""
    size = np.abs(z).max()
    predicted = model.predict(X) / size
    z = z / size
    return 1.0 - np.mean((predicted - z) ** 2) / np.mean((z - z.mean()) ** 2)


LOSSES = pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
STOPPING = pytest.mark.parametrize("early_stopping", [False, True])


# ---- the scale of y does not matter -------------------------------------------------------------


@LOSSES
@STOPPING
@pytest.mark.parametrize("power", [-1000, -300, -100, -3, 5, 100, 500, 1000])
def test_y_times_a_power_of_two_gives_identical_digits(loss, early_stopping, power, table):
    params = {"loss": loss, "early_stopping": early_stopping, "n_iter_no_change": 3}
    y = table.number / 4096
    plain = quick(GradientBoostingRegressor, **params).fit(table.X, y)
    scaled = quick(GradientBoostingRegressor, **params).fit(table.X, np.ldexp(y, power))
    assert scaled.n_iter_ == plain.n_iter_
    np.testing.assert_array_equal(scaled.predict(table.X), np.ldexp(plain.predict(table.X), power))


@LOSSES
@pytest.mark.parametrize("factor", [1e-310, 1e-200, 1e-30, 1e-5, 1e-4, -1.0, 1e20, 1e39, 1e300])
def test_y_times_any_factor_is_learned_as_well(loss, factor, table):
    params = {"loss": loss, "n_estimators": 40}
    y = table.number
    plain = quick(GradientBoostingRegressor, **params).fit(table.X, y)
    scaled = quick(GradientBoostingRegressor, **params).fit(table.X, y * factor)
    expected = explained(plain, table.X, y)
    assert explained(scaled, table.X, y * factor) == pytest.approx(expected, abs=0.01)


@LOSSES
@pytest.mark.parametrize("offset", [-1e12, 2**24, 1e7, 1e8, 1e9, 1e12])
def test_y_plus_any_offset_is_learned_as_well(loss, offset, table):
    params = {"loss": loss, "n_estimators": 40}
    y = np.floor(table.number)
    plain = quick(GradientBoostingRegressor, **params).fit(table.X, y)
    moved = quick(GradientBoostingRegressor, **params).fit(table.X, y + offset)
    apart = np.abs((moved.predict(table.X) - offset) - plain.predict(table.X))
    assert apart.max() < 1e-3 * y.std()


def test_integer_targets_beyond_float64_are_rounded_with_a_warning(table):
    y = 2**60 + np.arange(ROWS)
    with pytest.warns(UserWarning, match=r"y holds 29\d integers that a float64 cannot hold"):
        quick(GradientBoostingRegressor).fit(table.X, y)
    quick(GradientBoostingRegressor).fit(table.X, 2**60 + 2**20 * np.arange(ROWS))  # exact


def test_one_extreme_target_does_not_cost_precision_of_the_others():
    X = np.arange(200.0)[:, np.newaxis]
    y = np.where(X[:, 0] < 100, 0.0, 1.0)
    y[199] = 1e5
    model = GradientBoostingRegressor(min_samples_leaf=1, n_estimators=200, learning_rate=0.5)
    predicted = model.fit(X, y).predict(X)
    assert np.abs(predicted[:90]).max() < 1.0
    assert predicted[199] == pytest.approx(1e5, rel=1e-3)


def test_parameters_with_a_unit_are_in_units_of_y(table):
    params = {"l1_regularization": 0.7, "min_gain": 0.4, "max_step": 0.3}
    scaled_params = {"l1_regularization": 0.7e6, "min_gain": 0.4e12, "max_step": 0.3e6}
    plain = quick(GradientBoostingRegressor, **params).fit(table.X, table.number)
    scaled = quick(GradientBoostingRegressor, **scaled_params).fit(table.X, table.number * 1e6)
    np.testing.assert_allclose(scaled.predict(table.X), plain.predict(table.X) * 1e6, rtol=1e-6)
    free = quick(GradientBoostingRegressor).fit(table.X, table.number)
    assert free.fingerprint() != plain.fingerprint()


# ---- constant targets ---------------------------------------------------------------------------


@LOSSES
@pytest.mark.parametrize("value", [0.0, -3.25, 1e300, 5e-324])
def test_a_constant_target_is_predicted_with_a_warning(loss, value, table):
    with pytest.warns(UserWarning, match="y has only one value"):
        model = quick(GradientBoostingRegressor, loss=loss).fit(table.X, np.full(ROWS, value))
    np.testing.assert_array_equal(model.predict(table.X), value)


@pytest.mark.parametrize("label", [0, 1, 7, "only", True])
def test_a_single_class_has_probability_one_with_a_warning(label, table, tmp_path):
    with pytest.warns(UserWarning, match="y has only one class"):
        model = quick(GradientBoostingClassifier).fit(table.X, [label] * ROWS)
    assert model.classes_.tolist() == [label]
    assert set(model.predict(table.X).tolist()) == {label}
    np.testing.assert_array_equal(model.predict_proba(table.X), np.ones((ROWS, 1)))
    assert np.isfinite(model.decision_function(table.X)).all()
    assert list(model.staged_predict(table.X)) == []
    np.testing.assert_array_equal(model.feature_importances_, np.zeros(5), strict=True)
    model.save(tmp_path / "one.stgw")


def test_one_row_cannot_be_held_out(table):
    with pytest.raises(ValueError, match=r"only one row \(n_samples=1\).*X_val"):
        GradientBoostingRegressor(n_estimators=100, early_stopping=True).fit(
            table.X[:1], table.number[:1]
        )


# ---- invalid targets and weights ----------------------------------------------------------------


def spoiled(values, what, row=7):
    wrong = np.array(values, dtype=object if isinstance(what, (str, type(None))) else None)
    wrong[row] = what
    return wrong


def test_two_columns_of_more_than_two_labels_are_refused(table):
    labels = np.arange(len(table.X)) % 3
    with pytest.raises(ValueError, match=r"Target 0 of y has the 3 classes .* have two"):
        quick(GradientBoostingClassifier).fit(table.X, np.column_stack([labels, labels]))


def test_a_column_of_targets_is_flattened_with_a_warning(table):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model = quick(GradientBoostingRegressor).fit(table.X, table.number[:, np.newaxis])
    plain = quick(GradientBoostingRegressor).fit(table.X, table.number)
    assert model.fingerprint() == plain.fingerprint()


@pytest.mark.parametrize("form", [list, pd.Series, lambda y: y.astype(object), np.float32])
def test_targets_may_have_any_container(form, table):
    plain = quick(GradientBoostingRegressor).fit(table.X, table.number)
    model = quick(GradientBoostingRegressor).fit(table.X, form(table.number))
    assert model.fingerprint() == plain.fingerprint()


WEIGHTS = {
    "NaN": (lambda w: spoiled(w, np.nan), r"NaN or missing at row 7.*Use 0"),
    "None": (lambda w: spoiled(w, None), r"NaN or missing at row 7.*Use 0"),
    "infinity": (lambda w: spoiled(w, np.inf), r"infinite at row 7 \(inf\)"),
    "negative": (lambda w: spoiled(w, -1.0), r"negative at row 7 \(-1\.0\).*Use 0"),
    "all zero": (lambda w: 0 * w, "at least one non-zero number"),
    "too few": (lambda w: w[:3], r"inconsistent numbers of samples: \[300, 3\]"),
    "two-dimensional": (lambda w: w[:, np.newaxis], r"1d array.*\(300, 1\)"),
    "text": (lambda w: spoiled(w, "much"), "text 'much' at row 7"),
    "complex": (lambda w: w + 1j, "Complex data not supported"),
}


@pytest.mark.parametrize("kind", [GradientBoostingRegressor, GradientBoostingClassifier])
@pytest.mark.parametrize(("make", "words"), WEIGHTS.values(), ids=WEIGHTS)
def test_error_names_invalid_weights(kind, make, words, table):
    wrong = make(np.ones(ROWS))
    with pytest.raises((ValueError, TypeError), match=f"(?i)sample.?weight.*{words}|{words}"):
        quick(kind).fit(table.X, table.two, sample_weight=wrong)
    with pytest.raises((ValueError, TypeError), match=f"In y_val or sample_weight_val: .*{words}"):
        quick(kind).fit(table.X, table.two, X_val=table.X, y_val=table.two, sample_weight_val=wrong)


@pytest.mark.parametrize("spread", [1e-300, 1e-12, 1e12, 1e300])
def test_weights_of_very_different_size_are_used(spread, table):
    weight = np.where(table.two == 1, 1.0, spread)
    model = quick(GradientBoostingRegressor, n_estimators=40).fit(
        table.X, table.number, sample_weight=weight
    )
    assert np.isfinite(model.predict(table.X)).all()


# ---- validation sets ----------------------------------------------------------------------------

VALIDATION = {
    "an unknown label": ({"y_val": lambda t: t.two + 1}, "label 2, which y does not have"),
    "labels of another type": ({"y_val": lambda t: t.two.astype(str)}, "label '[01]', which y"),
}


@pytest.mark.parametrize(("changed", "words"), VALIDATION.values(), ids=VALIDATION)
def test_error_names_an_invalid_validation_set(changed, words, table):
    given = {"X_val": table.X, "y_val": table.two}
    given |= {name: make(table) for name, make in changed.items()}
    with pytest.raises(ValueError, match=words):
        quick(GradientBoostingClassifier).fit(table.X, table.two, **given)


def test_validation_weights_without_a_validation_set_are_refused(table):
    with pytest.raises(ValueError, match="sample_weight_val was passed without X_val"):
        quick(GradientBoostingRegressor).fit(table.X, table.number, sample_weight_val=[1])


def test_a_failed_fit_leaves_the_estimator_unchanged(table):
    model = quick(GradientBoostingRegressor).fit(table.X, table.number)
    before, state = model.fingerprint(), dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(table.X[:, :2], spoiled(table.number, np.nan))
    with pytest.raises(ZeroDivisionError):
        model.set_params(callbacks=lambda progress: 1 / 0).fit(table.X[:, :2], table.number)
    assert model.fingerprint() == before
    assert {k: v for k, v in vars(model).items() if k != "callbacks"} == {
        k: v for k, v in state.items() if k != "callbacks"
    }
