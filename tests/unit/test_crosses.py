"""Feature crosses: columns that are computed from two features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stagewise import GradientBoostingRegressor
from stagewise._native import Columns
from stagewise.data import Feature, Features
from stagewise.data.crosses import OPERATIONS, Cross
from stagewise.errors import ModelFormatError
from stagewise.inspection import partial_dependence, shap_values
from stagewise.model.file.contents import pack, unpack
from stagewise.model.file.format import decode, encode
from stagewise.model.weighted_sum import weighted_sum

CROSSES = (Cross("difference", (0, 1)), Cross("ratio", (2, 0)), Cross("product", (1, 2)))


def by_hand(X):
    """Return the table with the columns of CROSSES."""
    with np.errstate(divide="ignore"):
        more = [X[:, 0] - X[:, 1], X[:, 2] / X[:, 0], X[:, 1] * X[:, 2]]
    return np.column_stack([X, *more])


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return np.random.default_rng(0).normal(size=(300, 3))


@pytest.fixture(scope="module")
def fitted(X):
    """An estimator that was fitted to a table with the columns, as a model that computes them."""
    y = np.abs(X[:, 0] - X[:, 1]) + X[:, 1] * X[:, 2]
    plain = GradientBoostingRegressor(n_estimators=20).fit(by_hand(X), y)
    features = Features([Feature(name, "real") for name in "abc"], crosses=CROSSES)
    model = replace(plain.model_, features=features)
    return plain, GradientBoostingRegressor._from_model(model, plain.get_params(), {})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_columns_are_those_of_numpy(dtype):
    X = np.array([[1.5, 2.0], [0.0, 0.0], [np.nan, 1.0], [3e38, 1e-30], [-1.0, 0.0]], dtype)
    columns = Columns(X)
    a, b = X.astype(np.float64).T
    with np.errstate(all="ignore"):
        expected = {"difference": a - b, "ratio": a / b, "product": a * b}
    for operation in OPERATIONS:
        (found,) = Cross(operation, (0, 1)).columns(columns)
        own = expected[operation]
        np.testing.assert_array_equal(found, np.where(np.isfinite(own), own, np.nan))


def test_a_result_beyond_the_range_of_floats_is_missing():
    columns = Columns(np.array([[1e300, 1e300], [-1e300, 1e-300]]))
    (product,), (ratio,) = (Cross(o, (0, 1)).columns(columns) for o in ("product", "ratio"))
    assert np.isnan(product[0])
    assert np.isnan(ratio[1])


def test_the_columns_have_names_and_sources(fitted):
    features = fitted[1].model_.features
    assert [features.column_name(j) for j in range(6)] == ["a", "b", "c", "a − b", "c / a", "b · c"]
    assert features.sources == [(0,), (1,), (2,), (0, 1), (2, 0), (1, 2)]
    assert features != features.with_crosses(CROSSES[:2])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_model_computes_the_columns(fitted, X):
    plain, model = fitted
    expected = plain.predict(by_hand(X))
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(
        [model.predict(row[np.newaxis])[0] for row in X[:5]], expected[:5]
    )
    np.testing.assert_array_equal(model.apply(X), plain.apply(by_hand(X)))
    np.testing.assert_array_equal(
        list(model.staged_predict(X))[3], list(plain.staged_predict(by_hand(X)))[3]
    )


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_contributions_and_importances_are_those_of_the_sources(fitted, X):
    plain, model = fitted
    gain = plain.feature_importances_
    derived = np.array([gain[3] + gain[4], gain[3] + gain[5], gain[4] + gain[5]])
    np.testing.assert_allclose(model.feature_importances_, gain[:3] + derived / 2)
    values = shap_values(model, X[:20])
    np.testing.assert_allclose(
        values.values.sum(axis=1) + values.base_values, model.predict(X[:20]), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_partial_dependence_computes_the_columns_for_every_row(fitted, X):
    plain, model = fitted
    found = partial_dependence(model, X[:30], "a", grid_resolution=3, method="brute")
    for value, mean in zip(found.grids[0].values, found.mean[:, 0], strict=True):
        changed = X[:30].copy()
        changed[:, 0] = value
        assert mean == pytest.approx(plain.predict(by_hand(changed)).mean())
    with pytest.raises(ValueError, match="computed from 'a', 'b' together"):
        partial_dependence(model, X, "a", method="recursion")


def test_a_file_restores_the_crosses(fitted):
    model = fitted[1].model_
    again, _ = decode(encode(model, {}))
    assert again.features == model.features
    assert again.fingerprint() == model.fingerprint()


def test_crosses_are_part_of_the_fingerprint(fitted):
    model = fitted[1].model_
    for other in (Cross("ratio", (0, 1)), Cross("difference", (1, 0))):
        features = model.features.with_crosses([other, *CROSSES[1:]])
        assert replace(model, features=features).fingerprint() != model.fingerprint()


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("cross_operation", [0, 1, 3], "unknown operation"),
        ("cross_operation", [], "two features for each"),
        ("cross_operation", None, "only some of the sections"),
        ("cross_sources", [0, 1, 2, 0, 1], "two features for each"),
        ("cross_sources", [0, 1, 2, 0, 1, 3], "not a numeric feature"),
        ("cross_sources", None, "only some of the sections"),
    ],
)
def test_damaged_crosses_are_refused(fitted, name, changed, message):
    facts, arrays = pack(fitted[1].model_, {})
    if changed is None:
        del arrays[name]
    else:
        arrays[name] = np.array(changed, arrays[name].dtype)
    with pytest.raises(ModelFormatError, match=message):
        unpack(facts, arrays)


def test_the_same_cross_twice_is_refused(fitted):
    facts, arrays = pack(fitted[1].model_, {})
    arrays["cross_operation"][:] = 0
    arrays["cross_sources"][:] = [0, 1, 0, 1, 0, 1]
    with pytest.raises(ModelFormatError, match="twice"):
        unpack(facts, arrays)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_sum_of_models_has_all_their_crosses(fitted, X):
    crossed = fitted[1]
    names = Features([Feature(name, "real") for name in "abc"])
    other = GradientBoostingRegressor(n_estimators=5, random_state=1).fit(X, crossed.predict(X))
    columns = np.column_stack([by_hand(X)[:, [0, 1, 2, 5]], X[:, 0] / X[:, 1]])
    third = GradientBoostingRegressor(n_estimators=5).fit(columns, crossed.predict(X))
    of_third = names.with_crosses([CROSSES[2], Cross("ratio", (0, 1))])
    unit = {"offset": crossed.model_.offset, "scale": crossed.model_.scale}
    models = [
        crossed.model_,
        replace(other.model_, features=names, **unit),
        replace(third.model_, features=of_third, **unit),
    ]
    found = weighted_sum(models, (0.5, 0.2, 0.3))
    assert found.features.crosses == (*CROSSES, Cross("ratio", (0, 1)))
    score = GradientBoostingRegressor._from_model(found, {}, {})._score(X)
    parts = crossed._score(X), other._score(X), third._score(columns)
    expected = 0.5 * parts[0] + 0.2 * parts[1] + 0.3 * parts[2]
    np.testing.assert_allclose(score, expected, rtol=1e-12, atol=1e-12)
