"""Each rule for models, violated once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model_samples import SENTINELS, categorical_features, make_model, wide_features
from stagewise.errors import ModelFormatError
from stagewise.model.file.contents import pack, unpack

# A tree of nine nodes that begins with a root and its two children.
MODEL = make_model(features=wide_features(), n_splits=4)
FIRST = MODEL.ensemble.trees[0]
INNER = int(np.flatnonzero(FIRST.feature >= 0)[-1])
LEAF = int(np.flatnonzero(FIRST.feature < 0)[0])


@pytest.mark.parametrize(
    ("array", "index", "number", "words"),
    [
        ("feature", INNER, 4, "a feature that does not exist"),
        ("feature", INNER, -2, "a feature that does not exist"),
        ("feature", LEAF, 0, "does not come after it"),
        ("feature", INNER, -1, "is a leaf with children"),
        ("threshold", INNER, np.nan, "a threshold that is not a number"),
        ("threshold", LEAF, 1.0, "is a leaf with children"),
        ("missing_left", INNER, 2, "direction of missing values"),
        ("missing_left", LEAF, 1, "is a leaf with children"),
        ("left", INNER, INNER, "left child that does not come after it"),
        ("left", INNER, -1, "left child that does not come after it"),
        ("left", INNER, 9, "left child outside its tree"),
        ("left", INNER, 2**31 - 1, "left child outside its tree"),
        ("right", INNER, 0, "right child that does not come after it"),
        ("right", INNER, 9, "right child outside its tree"),
        ("right", INNER, int(FIRST.left[INNER]), "exactly one parent"),
        ("left", LEAF, 8, "is a leaf with children"),
        ("value", LEAF, np.nan, "a value that is not finite"),
        ("value", INNER, -np.inf, "a value that is not finite"),
        ("gain", INNER, -1.0, "a negative gain"),
        ("gain", INNER, np.inf, "a gain that is not finite"),
        ("gain", LEAF, 1.0, "is a leaf with children"),
        ("cover", LEAF, -1.0, "a negative cover"),
        ("cover", LEAF, np.nan, "a cover that is not finite"),
        ("tree_start", 0, 1, "boundaries between its trees"),
        ("tree_start", 1, 0, "a tree without nodes"),
        ("tree_start", 1, 2**63, "boundaries between its trees"),
        ("tree_start", 1, 100, "boundaries between its trees"),
        ("tree_start", -1, 26, "boundaries between its trees"),
        ("base", 0, np.nan, "base score, offset or scale"),
        ("offset", 0, np.inf, "base score, offset or scale"),
        ("scale", 0, 0.0, "base score, offset or scale"),
        ("scale", 0, np.nan, "base score, offset or scale"),
        ("feature_kind", 0, 3, "categories for each categorical feature"),
        ("feature_kind", 0, 4, "kinds of its features"),
        ("feature_kind", 1, 0, "cuts for a feature that is not a wide integer"),
        ("feature_kind", 1, 2, "cuts that are not increasing"),
        ("cuts", 1, 5, "cuts that are not increasing"),
        ("cuts", 5, 1, "cuts that are not increasing"),
        ("cut_start", 1, 2**64 - 1, "boundaries between its cuts"),
        ("names", 0, 0xFF, "is not valid text"),
        ("name_start", 1, 2**40, "boundaries between its names"),
    ],
)
def test_one_wrong_number_is_refused(array: str, index: int, number: Any, words: str) -> None:
    facts, arrays = pack(MODEL, {})
    arrays[array] = arrays[array].copy()
    arrays[array][index] = number
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


def test_a_valid_model_is_accepted() -> None:
    unpack(*pack(MODEL, {}))


def test_the_message_has_the_node_index_within_its_tree() -> None:
    facts, arrays = pack(MODEL, {})
    arrays["value"][9 + 4] = np.nan
    with pytest.raises(ModelFormatError, match="node 4 of its tree 1 has"):
        unpack(facts, arrays)


@pytest.mark.parametrize("array", pack(MODEL, {})[1])
def test_an_array_that_is_missing_or_of_another_type_or_shape_is_refused(array: str) -> None:
    facts, arrays = pack(MODEL, {})
    whole = arrays.pop(array)
    with pytest.raises(ModelFormatError, match=r"no section|name for each"):
        unpack(facts, arrays)
    for other in (whole.astype(np.float32), whole[None], whole[:, None]):
        with pytest.raises(ModelFormatError, match="wrong type or shape"):
            unpack(facts, {**arrays, array: other})


# The recorded losses are not checked.
@pytest.mark.parametrize("array", sorted({*pack(MODEL, {})[1]} - {"train_loss", "valid_loss"}))
def test_an_array_that_is_too_short_or_too_long_is_refused(array: str) -> None:
    facts, arrays = pack(MODEL, {})
    for other in (arrays[array][:-1], arrays[array][:0], np.append(arrays[array], arrays[array])):
        with pytest.raises(ModelFormatError):
            unpack(facts, {**arrays, array: other.astype(arrays[array].dtype)})


@pytest.mark.parametrize(
    ("key", "fact", "words"),
    [
        ("task", "clustering", "the task of its model"),
        ("task", ["regression"], "the task of its model"),
        ("task", "classification", "type of its class labels"),
        ("loss", None, "name of its loss"),
        ("classes", {"dtype": "int64"}, "regression model with class labels"),
        ("estimator", None, "no valid estimator"),
        ("estimator", {"class": "X", "params": []}, "class or the parameters"),
        ("estimator", {"class": "X", "params": {"a": {"$pairs": [1]}}}, "invalid list of pairs"),
        ("estimator", {"class": "X", "params": {"a": {"$pairs": [[1, 2], [1, 3]]}}}, "key twice"),
    ],
)
def test_one_wrong_header_value_is_refused(key: str, fact: object, words: str) -> None:
    facts, arrays = pack(MODEL, {})
    with pytest.raises(ModelFormatError, match=words):
        unpack({**facts, key: fact}, arrays)


@pytest.mark.parametrize("key", ["task", "loss", "classes", "estimator"])
def test_a_missing_header_value_is_refused(key: str) -> None:
    facts, arrays = pack(MODEL, {})
    del facts[key]
    with pytest.raises(ModelFormatError, match=f"has no '{key}'"):
        unpack(facts, arrays)


@pytest.mark.parametrize(
    ("n_classes", "n_outputs", "fits"),
    [(1, 1, True), (2, 1, True), (2, 2, True), (3, 3, True), (3, 1, False), (3, 2, False),
     (1, 2, False), (2, 0, False)],
)  # fmt: skip
def test_outputs_must_match_the_classes(n_classes: int, n_outputs: int, fits: bool) -> None:
    facts, arrays = pack(make_model(classes=np.arange(n_classes), n_rounds=0), {})
    arrays["base"] = np.zeros(n_outputs)
    if fits:
        assert unpack(facts, arrays)[0].ensemble.n_outputs == n_outputs
    else:
        with pytest.raises(ModelFormatError, match="outputs do not fit"):
            unpack(facts, arrays)


def test_the_number_of_trees_must_be_a_multiple_of_a_round() -> None:
    facts, arrays = pack(make_model(classes=np.arange(3), n_splits=0), {})
    arrays["tree_start"] = arrays["tree_start"][:-1]
    for name in MODEL.ensemble.flat().keys() - {"tree_start"}:
        arrays[name] = arrays[name][:-1]
    with pytest.raises(
        ModelFormatError, match="8 trees, which is not a multiple of the 3 per round"
    ):
        unpack(facts, arrays)


@pytest.mark.parametrize(
    ("array", "values", "words"),
    [
        ("missing_int64", [-999, -(2**63), 7], r"not (in )?increasing"),
        ("missing_int64", [7, 7], r"not (in )?increasing"),
        ("missing_int64", [], r"not (in )?increasing"),
        ("missing_uint64", [5], "wrong type"),
        ("missing_uint64", [2**64 - 1, 2**63], r"not (in )?increasing"),
        ("missing_float64", [-999.0], "wrong type"),
        ("missing_float64", [1e20, 0.5], r"not (in )?increasing"),
        ("missing_float64", [np.nan], "not finite"),
        ("missing_float64", [np.inf], "not finite"),
    ],
)
def test_invalid_missing_values_are_refused(array: str, values: list[Any], words: str) -> None:
    facts, arrays = pack(make_model(missing_values=SENTINELS), {})
    arrays[array] = np.array(values, dtype=arrays[array].dtype)
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


def test_duplicate_feature_names_are_refused() -> None:
    facts, arrays = pack(MODEL, {})
    arrays["names"] = np.frombuffer(b"abba", dtype=np.uint8)
    arrays["name_start"] = np.array([0, 1, 2, 3, 4], dtype=np.uint64)
    with pytest.raises(ModelFormatError, match="the same name"):
        unpack(facts, arrays)


@pytest.mark.parametrize(
    ("labels", "fact", "words"),
    [
        (np.array([0, 2], dtype=np.uint8), {"dtype": "bool"}, "not booleans"),
        (np.array([0, 1], dtype=np.int8), {"dtype": "int64"}, "not an array of int64"),
        (np.array([[0x110000]], dtype=np.uint32), {"dtype": "str"}, "not text"),
        (np.empty((2, 0), dtype=np.uint32), {"dtype": "str"}, "not text"),
        (np.array([[97], [97]], dtype=np.uint32), {"dtype": "str"}, "label twice"),
        (np.array([0.0, np.nan]), {"dtype": "float64"}, "not all finite"),
        (np.array([1, 1]), {"dtype": "int64"}, "label twice"),
        (None, {"dtype": "int64"}, "not an array of int64"),
        (None, {"dtype": "object", "labels": [1, 2.5]}, "not all text, integers or booleans"),
        (None, {"dtype": "object", "labels": [1, None]}, "not all text, integers or booleans"),
        (None, {"dtype": "object", "labels": [[1], 2]}, "not all text, integers or booleans"),
        (None, {"dtype": "object", "labels": "ab"}, "not all text, integers or booleans"),
        (None, {"dtype": "object"}, "not all text, integers or booleans"),
        (np.array([0, 1]), {"dtype": "object", "labels": ["a", "b"]}, "labels twice"),
        (None, {"dtype": ["int64"]}, "type of its class labels"),
        (None, [], "type of its class labels"),
    ],
)
def test_invalid_class_labels_are_refused(labels: Any, fact: Any, words: str) -> None:
    facts, arrays = pack(make_model(classes=np.array([0, 1])), {})
    del arrays["class_labels"]
    if labels is not None:
        arrays["class_labels"] = labels
    with pytest.raises(ModelFormatError, match=words):
        unpack({**facts, "classes": fact}, arrays)


LINES = make_model(features=wide_features(), n_splits=4, lines=True)


@pytest.mark.parametrize(
    ("array", "index", "number", "words"),
    [
        ("line_node", 0, -1, "outside of a leaf"),
        ("line_node", 0, 0, "outside of a leaf"),
        ("line_node", 1, LINES.ensemble.flat()["line_node"][0], "two in one"),
        ("line_node", -1, 10_000, "outside of a leaf"),
        ("line_start", 0, 1, "boundaries between its linear leaves"),
        ("line_start", 1, 0, "differ in length"),
        ("line_start", 1, 2**63, "boundaries between its linear leaves"),
        ("line_feature", 0, -1, "a feature that does not exist"),
        ("line_feature", 0, 4, "a feature that does not exist"),
        ("line_slope", 0, np.inf, "not finite"),
        ("line_centre", 0, np.nan, "not finite"),
        ("line_intercept", 0, np.nan, "not finite"),
        ("line_low", 0, -np.inf, "not finite"),
        ("line_high", 0, np.nan, "not finite"),
        ("line_low", 0, 1e9, "invalid range"),
        ("line_grain", 0, -1.0, "invalid range"),
        ("line_beyond", 0, 2, "infinite values"),
    ],
)
def test_one_wrong_number_of_a_linear_leaf_is_refused(
    array: str, index: int, number: Any, words: str
) -> None:
    facts, arrays = pack(LINES, {})
    unpack(facts, arrays)
    arrays[array] = arrays[array].copy()
    arrays[array][index] = number
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


@pytest.mark.parametrize("array", [name for name in pack(LINES, {})[1] if name.startswith("line_")])
def test_incomplete_linear_leaves_are_refused(array: str) -> None:
    facts, arrays = pack(LINES, {})
    whole = arrays.pop(array)
    with pytest.raises(ModelFormatError, match="only some of the sections"):
        unpack(facts, arrays)
    for other in (whole[:-1], whole[:0], np.append(whole, whole)):
        with pytest.raises(ModelFormatError):
            unpack(facts, {**arrays, array: other.astype(whole.dtype)})


def test_features_of_a_linear_leaf_are_sorted_and_numeric() -> None:
    facts, arrays = pack(LINES, {})
    start = arrays["line_start"]
    long = int(np.flatnonzero(np.diff(start.astype(np.int64)) > 1)[0])
    arrays["line_feature"] = arrays["line_feature"].copy()
    arrays["line_feature"][int(start[long]) + 1] = arrays["line_feature"][int(start[long])]
    with pytest.raises(ModelFormatError, match=r"not (in )?increasing"):
        unpack(facts, arrays)
    facts, arrays = pack(make_model(features=categorical_features(), lines=True), {})
    with pytest.raises(ModelFormatError, match="categorical feature"):
        unpack(facts, arrays)
