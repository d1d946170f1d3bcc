"""Exported models: contents, size limit and errors."""

from __future__ import annotations

import base64
import gzip
import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from browser.samples import SAMPLES, Doubled, Rooted, fitted, table, target
from stagewise import (
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    InvalidParameterError,
    LinearRegression,
    StagewiseLinearRegressor,
)
from stagewise.export.links import link_of
from stagewise.inspection.fitted_model import FittedModel
from stagewise.report.exported_model import category_labels, export_model, model_script
from stagewise.report.packing import narrow, pack


@pytest.fixture(scope="module")
def numbers():
    return table()[["b"]], target("number")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_exported_model_is_plain_data_and_reproducible(name):
    payloads = (export_model(fitted(name)).payload() for _ in range(2))
    first, again = (json.dumps(payload, allow_nan=False) for payload in payloads)
    assert first == again
    assert json.loads(first)["complete"]


@pytest.mark.parametrize(
    ("name", "kind", "divisor"),
    [
        ("a number", "identity", 1.0),
        ("poisson", "exp", 1.0),
        ("shares", "sigmoid", 1.0),
        ("squared log error", "exp", 1.0),
        ("two targets", "identity", 1.0),
        ("two classes", "logistic", 1.0),
        ("exponential, two", "logistic", 0.5),
        ("three classes", "softmax", 1.0),
        ("exponential, three", "softmax", 2.0),
        ("squares of two classes", "margin", 1.0),
        ("extra trees", "shares", 1.0),
        ("AdaBoost of three", "softmax", 2.0),
        ("one class", "certain", 1.0),
    ],
)
def test_links_are_identified_by_their_values(name, kind, divisor):
    link = link_of(FittedModel.of(fitted(name), ""))
    assert (link.kind, link.divisor) == (kind, divisor)


def test_a_custom_loss_with_an_affine_link_has_a_link(numbers):
    X, y = numbers
    model = GradientBoostingRegressor(loss=Doubled(), n_estimators=2).fit(X, y)
    link = link_of(FittedModel.of(model, ""))
    assert link.kind == "identity"
    assert np.allclose([link.offset[0], link.scale[0]], [1.0, 2.0])
    model = GradientBoostingRegressor(loss=Rooted(), n_estimators=2).fit(X, y)
    assert link_of(FittedModel.of(model, "")) is None
    assert export_model(model).payload()["link"] is None


def test_numbers_are_stored_in_the_smallest_type():
    assert narrow(np.array([0, 255])).dtype == np.uint8
    assert narrow(np.array([256.0])).dtype == np.uint16
    assert narrow(np.array([2**16])).dtype == np.uint32
    assert narrow(np.array([0.5, -1.0])).dtype == np.float32
    assert narrow(np.array([0.1])).dtype == np.float64
    assert narrow(np.array([0.1]), exact=False).dtype == np.float32
    assert narrow(np.array([1e300, 0.1]), exact=False).dtype == np.float64
    assert narrow(np.empty(0)).dtype == np.uint8
    with pytest.raises(ValueError, match="integers must be"):
        narrow(np.array([-1]))


def test_packed_arrays_can_be_unpacked():
    arrays = {"a": np.array([1.5, -2.0]), "b": np.arange(3, dtype=np.uint16), "c": np.empty(0)}
    places, text = pack(arrays)
    assert places == [["a", "f8", 2], ["b", "u2", 3], ["c", "f8", 0]]
    data = gzip.decompress(base64.b64decode(text))
    assert data[16:] == bytes([0, 1, 2, 0, 0, 0])  # little-endian
    assert np.frombuffer(data[:16], np.uint8).reshape(8, 2).T.tobytes() == arrays["a"].tobytes()


def test_categories_have_distinct_labels():
    assert category_labels([7, 0.5, "7", "", "a", "missing"]) == [
        *("7", "0.5", '"7"', '""', "a", "missing")
    ]
    assert category_labels(["", '""', "x"]) == ['""""', '""', "x"]


def test_an_ordinary_model_is_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 30))
    y = X[:, 0] * X[:, 1] + X[:, 2:9].sum(axis=1) + rng.normal(size=3000)
    model = GradientBoostingRegressor(n_estimators=50, max_leaf_nodes=31).fit(X, y)
    carried = export_model(model)
    assert carried.complete
    assert len(json.dumps(carried.payload())) < 50 * 1200


def test_large_models_are_cut_to_size(numbers):
    model = GradientBoostingRegressor(n_estimators=40).fit(*numbers)
    whole = export_model(model)
    for most in (len(whole.packed), len(whole.packed) // 2, 1000, 0):
        carried = export_model(model, max_bytes=most)
        assert carried.complete == (most >= len(whole.packed))
        assert len(carried.packed) <= most or carried.n_trees == 0
        assert carried.tree_count == 40
    half = export_model(model, max_bytes=len(whole.packed) // 2)
    assert 10 <= half.n_trees <= 25


@pytest.mark.parametrize("most", [-1, 0.5, None, "much"])
def test_an_invalid_size_is_refused(numbers, most):
    model = GradientBoostingRegressor(n_estimators=1).fit(*numbers)
    with pytest.raises(InvalidParameterError, match="max_bytes must be"):
        export_model(model, max_bytes=most)


def test_models_without_trees_are_refused(numbers):
    with pytest.raises(NotFittedError):
        export_model(GradientBoostingClassifier(n_estimators=100))
    for other in (
        LinearRegression(),
        BaggingRegressor(GradientBoostingRegressor(n_estimators=100), n_estimators=2),
    ):
        with pytest.raises(TypeError, match=r"export_model needs a fitted .* has none"):
            export_model(other.fit(*numbers))
    with pytest.raises(TypeError, match=r"StagewiseLinearRegressor has none. .* coef_"):
        export_model(StagewiseLinearRegressor(n_estimators=2).fit(*numbers))
    with pytest.raises(TypeError, match="GradientBoostingRegressor is a class"):
        export_model(GradientBoostingRegressor)


def test_the_engine_declares_one_name():
    script = model_script()
    assert script.startswith("const Model = (() => {\n")
    assert script.endswith("return Model;\n})();\n")
    assert "</script" not in script
    assert "document" not in script
    assert "window" not in script
