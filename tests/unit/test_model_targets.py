"""Several targets and vector leaves in a file: each rule, violated once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model_samples import make_model, sample_models
from stagewise.errors import ModelFormatError
from stagewise.model.file.contents import pack, unpack
from stagewise.model.model import Model

VECTORS = make_model(n_targets=2, targets=("a", "b"), vectors=True)
TARGETS = make_model(n_targets=3)


def refused(model: Model, words: str, changes: dict[str, Any]) -> None:
    facts, arrays = pack(model, {})
    for name, change in changes.items():
        if change is None:
            del arrays[name]
        else:
            arrays[name] = change(arrays.get(name))
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


def spoil(value: float) -> Any:
    def change(array: Any) -> Any:
        changed = array.copy()
        changed[-1] = value
        return changed

    return change


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("differ in length", {"vector_value": lambda a: a[:-1]}),
        ("a value that is not finite", {"vector_value": spoil(np.nan)}),
        ("scalar values and vectors", {"value": lambda _: np.zeros(27)}),
        ("no section 'value'", {"vector_value": None}),
        ("offsets or scales", {"offset": lambda a: a[:1]}),
        ("offsets or scales", {"scale": lambda a: np.append(a, 1.0)}),
        ("base score, offset or scale", {"scale": spoil(0.0)}),
        ("base score, offset or scale", {"offset": spoil(np.inf)}),
        ("a name for each target", {"target_start": None}),
        ("a name for each target", {"target_names": None}),
        ("boundaries between its names", {"target_start": spoil(1)}),
        ("same name", {"target_names": lambda a: a[[0, 0]]}),
        ("not valid text", {"target_names": lambda a: a | np.uint8(255)}),
    ],
)
def test_a_violated_rule_of_vector_leaves_is_refused(words: str, changes: dict[str, Any]) -> None:
    refused(VECTORS, words, changes)


def test_the_number_of_trees_must_be_a_multiple_of_a_round() -> None:
    facts, arrays = pack(make_model(n_targets=2), {})
    arrays["base"] = np.zeros(4)
    arrays["offset"], arrays["scale"] = np.zeros(4), np.ones(4)
    with pytest.raises(ModelFormatError, match="not a multiple of the 4 per round"):
        unpack(facts, arrays)


def test_one_target_has_no_vectors_and_no_name() -> None:
    one = make_model()
    refused(one, "scalar values and vectors", {"vector_value": lambda _: np.zeros(27)})
    names = {
        "target_start": lambda _: np.array([0, 1], np.uint64),
        "target_names": lambda _: np.array([65], np.uint8),
    }
    refused(one, "names of targets, but does not have several", names)
    classes = make_model(classes=np.array([1, 2, 3]))
    refused(classes, "names of targets, but does not have several", names)


def test_targets_that_differ_in_scale_have_another_fingerprint() -> None:
    other = make_model(n_targets=3)
    assert other.fingerprint() == TARGETS.fingerprint()
    assert isinstance(other.scale, np.ndarray)
    other.scale[1] *= 2
    assert other.fingerprint() != TARGETS.fingerprint()


def test_vector_leaves_and_as_many_trees_have_different_fingerprints() -> None:
    assert VECTORS.fingerprint() != make_model(n_targets=2).fingerprint()


CLASSES = sample_models()["class targets"]


@pytest.mark.parametrize(
    ("words", "targets"),
    [
        ("not of two or more", [{"dtype": "int64", "labels": [1, 2]}]),
        ("not of two or more", "a, b"),
        ("type of its class labels is missing", [{"labels": [1]}, {"dtype": "int64"}]),
        ("type of its class labels is missing", [1, 2]),
        ("not all of the type int64", [{"dtype": "int64", "labels": ["a", 1]}] * 2),
        ("not all of the type bool", [{"dtype": "bool", "labels": [0, 1]}] * 2),
        ("beyond the range of int8", [{"dtype": "int8", "labels": [0, 1000]}] * 2),
        ("a class label twice", [{"dtype": "str", "labels": ["a", "a"]}] * 2),
        ("5 outputs do not fit its task", [{"dtype": "str", "labels": ["a", "b"]}] * 2),
    ],
)
def test_a_violated_rule_of_class_targets_is_refused(words: str, targets: Any) -> None:
    facts, arrays = pack(CLASSES, {})
    facts["classes"] = {"targets": targets}
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


def test_class_targets_have_no_offset() -> None:
    refused(CLASSES, "classifier with an offset", {"offset": lambda a: a + 1.0})
