"""Typed values are encoded as in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd

from browser.samples import fitted
from stagewise import GradientBoostingRegressor
from stagewise.inspection.fitted_model import FittedModel
from stagewise.report.exported_model import export_model


def encoded(lab, model, texts):
    """Return the encoded value of a text, one for each feature."""
    script = """async ([payload, texts]) => {
      const model = await Model.open(payload);
      return texts.map(([j, text]) => model.encode(j, text));
    }"""
    return lab.evaluate(script, [export_model(model).payload(), texts])


def test_typed_values_are_encoded_as_in_python(lab):
    model = fitted("a number")
    frame = pd.DataFrame(
        {
            "a": ["1.5", "-inf", "inf", "", "0.1", "1e-3", "-0.25", "7"],
            "b": ["2", "-3.", ".5", "NaN", "+4", "1e3", "missing", " 8 "],
            "few": ["u", "x y", 'z"', "", "w", "missing", "v", "u"],
            "many": ["0", "89", "17", "7.0", "5", "", "1e1", "3"],
            "id": [str(2**60 + k) for k in (0, 1, 39, 17, -5, 100, 2**59)] + [""],
        }
    )
    texts = [[j, text] for j, name in enumerate(frame) for text in frame[name]]
    result = np.reshape([found["code"] for found in encoded(lab, model, texts)], frame.shape[::-1])
    X = frame.apply(lambda column: column.str.strip().replace({"": None, "missing": None}))
    X["a"], X["b"] = X["a"].astype(float), X["b"].replace({"NaN": None}).astype(float)
    X["many"] = pd.to_numeric(X["many"]).astype("Int64").astype("category")
    X["id"] = X["id"].astype("Int64")
    known = FittedModel.of(model, "").columns(X)
    assert np.array_equal(result, known, equal_nan=True)


def test_integers_of_any_width_keep_their_side_of_a_threshold(lab):
    X = pd.DataFrame({"wide": 2**60 + np.arange(40), "real": np.arange(40.0)})
    model = GradientBoostingRegressor(n_estimators=3).fit(X, np.arange(40) % 7)
    wide = [-(2**70), 0, 2**60 + 3, 2**60 + 40, 2**64, 2**70]
    real = [2**53 + 1, -(2**53) - 1, 2**53, 10**400]
    texts = [[0, str(v)] for v in wide] + [[1, str(v)] for v in real]
    texts += [[0, str(2.0**60 + 256)], [0, "-inf"], [0, "inf"]]
    result = [found["code"] for found in encoded(lab, model, texts)]
    cuts = [int(cut) for cut in model.model_.features[0].cuts]
    assert result[:6] == [sum(cut < v for cut in cuts) for v in wide]
    assert result[6:10] == [2.0**53 + 2, -(2.0**53), 2.0**53, np.inf]
    assert result[10:] == [len(cuts), 0, len(cuts)]


def test_invalid_input_has_a_message(lab):
    texts = [[0, "many"], [0, "1,5"], [0, "0x10"], [2, "never"], [3, "1000"], [4, "12a"]]
    wrong = [found["error"] for found in encoded(lab, fitted("a number"), texts)]
    assert wrong[0] == "a must be a number; got “many”. Type a number, or “missing”."
    assert all("must be a number" in words for words in (*wrong[:3], wrong[5]))
    assert wrong[3].startswith(
        "“never” is not a category of few. Use one of its categories (u, v, w, x y"
    )
    assert "(0, 1, 2, 3, 4, …)" in wrong[4]
    prior = encoded(lab, fitted("unknown categories"), [[2, "never"], [3, "1000"]])
    assert prior == [{"code": 5}, {"code": 90}]


def test_missing_value_markers_are_missing(lab):
    X = pd.DataFrame({"a": [1.0, 2.0, -999.0] * 9, "c": pd.Categorical([4, 5, -999] * 9)})
    model = GradientBoostingRegressor(
        n_estimators=2, missing_values=[-999, 0.5], min_samples_leaf=1
    )
    model.fit(X, np.arange(27) % 3)
    result = encoded(lab, model, [[0, "-999"], [0, "-999.0"], [0, "0.5"], [1, "-999"], [1, "5"]])
    assert np.array_equal([found["code"] for found in result], [np.nan] * 4 + [1.0], equal_nan=True)


def test_a_category_named_missing_is_a_category(lab):
    X = pd.DataFrame({"c": pd.Categorical(["missing", " x ", "", "7", 7] * 6)})
    model = GradientBoostingRegressor(n_estimators=2, min_samples_leaf=1).fit(X, np.arange(30) % 5)
    categories = list(model.model_.features[0].categories.values)
    result = encoded(
        lab, model, [[0, word] for word in ("missing", " x ", '""', '"7"', "7", "", "y")]
    )
    codes = [found.get("code") for found in result]
    assert codes[:5] == [categories.index(category) for category in ("missing", " x ", "", "7", 7)]
    assert np.isnan(codes[5])
    assert "is not a category of c" in result[6]["error"]
