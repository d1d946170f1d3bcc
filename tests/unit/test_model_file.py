"""Model files: every model is restored bit for bit, and values that cannot be are refused."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model_samples import (
    ESTIMATOR,
    SENTINELS,
    make_model,
    objects,
    sample_models,
    wide_features,
)
from stagewise.data.feature import Feature
from stagewise.errors import ModelFormatError
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.format import decode, encode, read_model, write_model
from stagewise.model.model import Model
from stagewise.trees.tree import NODE_ARRAYS

SAMPLES = sample_models()
FOOTER = 40


def with_params(**params: Any) -> dict[str, Any]:
    return {"class": "GradientBoostingClassifier", "params": params}


def refooted(body: bytes) -> bytes:
    """Return a body with its valid length and checksum."""
    counted = body + struct.pack("<Q", len(body) + FOOTER)
    return counted + hashlib.sha256(counted).digest()


def rebuilt(data: bytes, edit: Callable[[dict[str, Any]], bytes]) -> bytes:
    """Return a file with an edited header, and the bytes that `edit` returns added to its data."""
    end = 24 + struct.unpack_from("<Q", data, 16)[0]
    header = json.loads(data[24:end])
    extra = edit(header)
    text = json.dumps(header).encode()
    body = data[:16] + struct.pack("<Q", len(text)) + text + data[end:-FOOTER] + extra
    return refooted(body)


def changed_tree(model: Model, name: str, node: int, bits: int) -> Model:
    """Return the model with some bits of one number of its first tree flipped."""
    flat = {key: array.copy() for key, array in model.ensemble.flat().items()}
    flat[name].view(f"u{flat[name].itemsize}")[node] ^= bits
    ensemble = model.ensemble
    return replace(model, ensemble=Ensemble.from_flat(ensemble.n_features, ensemble.base, flat))


@pytest.mark.parametrize("name", list(SAMPLES))
def test_reading_and_writing_again_gives_the_same_bytes(name: str) -> None:
    data = encode(SAMPLES[name], ESTIMATOR)
    assert encode(*decode(data)) == data


@pytest.mark.parametrize("name", list(SAMPLES))
def test_a_model_is_restored_bit_for_bit(name: str) -> None:
    model = SAMPLES[name]
    read, estimator = decode(encode(model, ESTIMATOR))
    assert estimator == ESTIMATOR
    assert (read.task, read.loss, read.targets) == (model.task, model.loss, model.targets)
    np.testing.assert_array_equal(read.offset, model.offset)
    np.testing.assert_array_equal(read.scale, model.scale)
    assert read.ensemble.outputs_per_tree == model.ensemble.outputs_per_tree
    assert read.features == model.features
    assert read.ensemble.n_features == model.ensemble.n_features
    assert read.ensemble.n_rounds == model.ensemble.n_rounds
    assert read.ensemble.base.tobytes() == model.ensemble.base.tobytes()
    assert len(read.ensemble.trees) == len(model.ensemble.trees)
    for ours, theirs in zip(read.ensemble.trees, model.ensemble.trees, strict=True):
        for field, dtype in NODE_ARRAYS.items():
            assert getattr(ours, field).dtype == dtype
            assert getattr(ours, field).tobytes() == getattr(theirs, field).tobytes()
    assert read.train_loss.tobytes() == model.train_loss.tobytes()
    assert read.valid_loss.tobytes() == model.valid_loss.tobytes()
    assert read.fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    "classes",
    [
        np.array([False, True]),
        *(np.array([0, 1, 100], dtype=f"int{bits}") for bits in (8, 16, 32, 64)),
        *(np.array([0, 1, 2**bits - 1], dtype=f"uint{bits}") for bits in (8, 16, 32, 64)),
        *(np.array([-1.5, 0.1], dtype=f"float{bits}") for bits in (16, 32, 64)),
        np.array(["a", "bb", ""], dtype="U7"),
        np.array(["a\x00b", "\ud800", "🌒"]),
        objects("ja", "nein", ""),
        objects(3, 2**64 - 1, -(2**63)),
        objects(False, True),
        objects("1", 1, 2**40),
        np.array(["only one"]),
    ],
    ids=lambda classes: f"{classes.dtype}{len(classes)}",
)
def test_class_labels_keep_their_values_and_their_type(classes: np.ndarray[Any, Any]) -> None:
    read = Model.from_bytes(make_model(classes=classes).to_bytes()).classes
    assert read is not None
    assert read.dtype == classes.dtype
    assert read.tolist() == classes.tolist()
    assert list(map(type, read.tolist())) == list(map(type, classes.tolist()))


def test_labels_of_another_byte_order_keep_their_values() -> None:
    for classes in (np.array([1, 2, 300], dtype=">i4"), np.array(["x", "y"], dtype=">U3")):
        read = Model.from_bytes(make_model(classes=classes).to_bytes()).classes
        assert read is not None
        assert read.dtype == classes.dtype.newbyteorder("=")
        assert read.tolist() == classes.tolist()


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (np.array([b"a", b"b"]), "S1"),
        (np.array([1j, 2j]), "complex128"),
        (np.array([1, 2], dtype="datetime64[s]"), "datetime64"),
        (np.array([0, 1], dtype=np.longdouble), "float"),
        (objects("a", None), "None of type NoneType"),
        (objects("a", 0.5), "0.5 of type float"),
        (objects("a", 2**64), "18446744073709551616 of type int"),
        (objects("a", ("b",)), "of type tuple"),
        (np.array([[0], [1]]), "2 dimensions"),
        (np.array([1.0, np.nan]), "not all finite"),
        (objects(1, True), "label twice"),
        (np.empty(0, dtype=np.int64), "without classes"),
    ],
)
def test_a_label_that_cannot_be_restored_is_refused(
    classes: np.ndarray[Any, Any], words: str
) -> None:
    model = replace(make_model(classes=np.array([0, 1])), classes=classes)
    with pytest.raises(ValueError, match=words):
        encode(model)


def test_feature_names_may_be_any_text() -> None:
    names = ["", " ", 'a"b\\c\n', "größe", "身長", "🌲", "lone \udc80", "\x00", "[<{:}>]", "None"]
    model = make_model(features=[Feature(name, "real", None) for name in names])
    assert Model.from_bytes(model.to_bytes()).features.names == names


def test_wide_integer_cuts_keep_their_type() -> None:
    features = Model.from_bytes(make_model(features=wide_features()).to_bytes()).features
    cuts = [feature.cuts for feature in features]
    assert cuts[0] is None
    assert cuts[1] is not None
    assert cuts[1].dtype == np.int64
    assert cuts[1].tolist() == [-(2**62), -1, 0, 2**60]
    assert cuts[2] is not None
    assert cuts[2].dtype == np.uint64
    assert cuts[2].tolist() == [1, 2**63, 2**64 - 1]


def test_missing_values_keep_their_values_and_their_type() -> None:
    read = Model.from_bytes(make_model(missing_values=SENTINELS).to_bytes())
    assert repr(read.features.missing_values.values) == repr(SENTINELS)


def test_only_a_model_with_missing_values_has_their_sections() -> None:
    def sections(model: Model) -> dict[str, bool]:
        data = encode(model)
        header = json.loads(data[24 : 24 + struct.unpack_from("<Q", data, 16)[0]])
        return {entry["name"]: entry["optional"] for entry in header["sections"]}

    without, one = sections(make_model()), sections(make_model(missing_values=[-999]))
    assert one == {**without, "missing_int64": False}


def test_a_file_of_format_1_0_is_still_read() -> None:
    data = encode(make_model(), ESTIMATOR)
    older = refooted(data[:12] + struct.pack("<I", 0) + data[16:-FOOTER])
    assert encode(*decode(older)) == data
    assert not decode(older)[0].features.missing_values


PARAMS = {
    "none": None,
    "truth": True,
    "whole": 2**64 - 1,
    "negative": -(2**63),
    "real": 0.1,
    "tiny": 5e-324,
    "text": "ä\udc80\x00",
    "list": [1, [2.5, "x"], {}],
    "dict": {"a": {"b": [None]}},
    "class_weight": {0: 1.0, 1: 2.5, None: 3, "a": 4, False + 2: 5},
    "reserved": {"$pairs": [1, 2]},
}


def test_parameters_are_restored_with_their_types() -> None:
    _, estimator = decode(encode(make_model(), with_params(**PARAMS)))
    assert estimator == with_params(**PARAMS)
    assert repr(sorted(estimator["params"].items())) == repr(sorted(PARAMS.items()))


def test_numpy_scalars_and_tuples_become_plain_values() -> None:
    params = with_params(
        a=np.float64(0.5), b=np.int32(3), c=np.bool(True), d=np.str_("x"), e=(1, 2),
        f={np.int64(0): np.float32(0.25)}, g={np.str_("k"): 1},
    )  # fmt: skip
    _, estimator = decode(encode(make_model(), params))
    expected = {"a": 0.5, "b": 3, "c": True, "d": "x", "e": [1, 2], "f": {0: 0.25}, "g": {"k": 1}}
    assert repr(estimator["params"]) == repr(expected)


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (print, "builtin_function_or_method"),
        (float("inf"), "holds inf, but only finite"),
        (float("nan"), "holds nan"),
        ([1.0, np.float64("nan")], "holds nan"),
        (2**64, "more than 64 bits"),
        (np.arange(3), "ndarray"),
        ({1, 2}, "set"),
        (b"x", "bytes"),
        (1j, "complex"),
        (Path("x"), "Path"),
        ({(1, 2): 3}, "tuple for a key"),
        ({"a": {"b": object()}}, "object"),
        (np.datetime64("2020-01-01"), "date"),
        ([[[[[[[[1]]]]]]]], "nested too deeply"),
        (LOOP, "nested too deeply"),
    ],
)
def test_a_parameter_that_cannot_be_stored_is_refused_by_name(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=f"the parameter 'callbacks' .*{words}"):
        encode(make_model(), with_params(callbacks=value))


def test_very_large_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 4194304"):
        encode(make_model(), with_params(notes="x" * 2**23))


@pytest.mark.parametrize("estimator", [{"class": "X"}, {"params": {}}, {"class": 1, "params": {}}])
def test_an_estimator_without_name_or_parameters_is_refused(estimator: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="class or the parameters"):
        encode(make_model(), estimator)


def test_a_model_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    model = make_model()
    model.ensemble.trees[1].value[3] = np.nan
    with pytest.raises(ValueError, match="node 3 of its tree 1 has a value that is not finite"):
        write_model(tmp_path / "model.stgw", model)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_a_newer_format_is_refused_with_both_versions() -> None:
    data = encode(make_model())
    newer = refooted(data[:8] + struct.pack("<II", 7, 3) + data[16:-FOOTER])
    with pytest.raises(ModelFormatError, match=r"format 7\.3, .* reads format 1; upgrade"):
        decode(newer)


def test_a_file_of_a_newer_minor_format_is_read() -> None:
    data = encode(make_model(), ESTIMATOR)
    newer = refooted(data[:12] + struct.pack("<I", 9) + data[16:-FOOTER])
    model, estimator = decode(newer)
    assert model.fingerprint() == make_model().fingerprint()
    assert estimator == ESTIMATOR


def add_section(header: dict[str, Any], *, optional: bool) -> bytes:
    last = header["sections"][-1]
    header["sections"].append(
        {
            "name": "shap_cache",
            "dtype": "bfloat16",
            "shape": [1, 2, 3],
            "offset": last["offset"] + last["size"],
            "size": 12,
            "optional": optional,
        }
    )
    header["a fact of later versions"] = {"x": 1}
    return b"later things"


def test_an_unknown_optional_section_is_skipped() -> None:
    model = make_model(classes=np.array(["a", "b"]))
    data = rebuilt(encode(model), lambda header: add_section(header, optional=True))
    assert Model.from_bytes(data).to_bytes() == encode(model)


def test_an_unknown_required_section_is_refused() -> None:
    data = rebuilt(encode(make_model()), lambda header: add_section(header, optional=False))
    with pytest.raises(ModelFormatError, match=r"section 'shap_cache' .* upgrade"):
        decode(data)


def test_bytes_after_the_end_are_refused() -> None:
    data = encode(make_model())
    for rest in (b"\n", b"\x00" * 8, data):
        with pytest.raises(ModelFormatError, match=r"something was added|checksum"):
            decode(data + rest)


def test_bytes_outside_all_sections_are_refused() -> None:
    with pytest.raises(ModelFormatError, match="do not cover"):
        decode(rebuilt(encode(make_model()), lambda header: b"hidden"))


def test_every_flipped_bit_is_detected() -> None:
    data = encode(make_model(n_rounds=1, n_splits=1))
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << (at % 8)
        with pytest.raises(ModelFormatError):
            decode(bytes(damaged))


def test_pickles_and_copies_use_the_bytes_of_a_file() -> None:
    model = make_model(classes=np.array(["a", "b", "c"]), features=wide_features())
    data = model.to_bytes()
    assert data in pickle.dumps(model)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(model, protocol)).to_bytes() == data
    assert copy.copy(model).to_bytes() == data
    assert copy.deepcopy(model).to_bytes() == data
    assert copy.deepcopy(model).ensemble.base is not model.ensemble.base


def test_a_damaged_pickle_is_refused_like_a_damaged_file() -> None:
    data = pickle.dumps(make_model())
    value = make_model().ensemble.trees[0].value[:1].tobytes()
    damaged = data.replace(value, bytes(8))
    assert damaged != data
    with pytest.raises(ModelFormatError, match="checksum"):
        pickle.loads(damaged)


def test_the_trees_of_a_loaded_model_are_read_only() -> None:
    tree = Model.from_bytes(make_model().to_bytes()).ensemble.trees[0]
    with pytest.raises(ValueError, match="read-only"):
        tree.value[0] = 1.0


def test_reading_from_a_buffer_keeps_no_reference_to_it() -> None:
    data = bytearray(encode(make_model()))
    model, _ = decode(data)
    data[:] = bytes(len(data))
    assert model.fingerprint() == make_model().fingerprint()


def test_the_fingerprint_ignores_data_without_influence_on_predictions() -> None:
    model = make_model()
    renamed = make_model(features=[Feature(name, "real", None) for name in "abc"])
    later = replace(model, train_loss=np.zeros(9), valid_loss=np.ones(2), loss="custom")
    gained = changed_tree(changed_tree(model, "gain", 0, 1), "cover", 0, 1)
    with_missing_values = make_model(missing_values=SENTINELS)
    for other in (
        renamed,
        later,
        gained,
        with_missing_values,
        model,
        Model.from_bytes(model.to_bytes()),
    ):
        assert other.fingerprint() == model.fingerprint()


def test_the_fingerprint_does_not_depend_on_the_width_of_labels() -> None:
    same = [np.array(["a", "b"]), np.array(["a", "b"], dtype="U9"), objects("a", np.str_("b"))]
    assert len({make_model(classes=classes).fingerprint() for classes in same}) == 1
    other = [np.array([0, 1]), np.array(["0", "1"]), np.array([0.0, 1.0]), np.array([1, 0])]
    assert len({make_model(classes=classes).fingerprint() for classes in other}) == 4


@pytest.mark.parametrize("name", ["feature", "threshold", "missing_left", "left", "right", "value"])
def test_the_fingerprint_depends_on_every_bit_of_the_trees(name: str) -> None:
    model = make_model()
    width = 8 * NODE_ARRAYS[name].itemsize
    seen = {
        changed_tree(model, name, node, 1 << bit).fingerprint()
        for node in range(9)
        for bit in range(width)
    }
    assert len(seen) == 9 * width
    assert model.fingerprint() not in seen


def test_the_fingerprint_depends_on_base_offset_scale_and_cuts() -> None:
    model = make_model(features=wide_features())
    base = Ensemble(4, model.ensemble.base + 1e-15, model.ensemble.trees)
    moved = wide_features()
    moved[1] = Feature("身長", "wide_integer", np.array([-(2**62), -1, 1, 2**60], dtype=np.int64))
    others = [
        replace(model, offset=np.nextafter(model.offset, 0)),
        replace(model, scale=8.0),
        replace(model, ensemble=base),
        make_model(features=moved),
        model,
    ]
    assert len({other.fingerprint() for other in others}) == len(others)


def test_the_fingerprint_depends_on_the_order_of_the_trees() -> None:
    model = make_model(n_splits=0, n_rounds=2)
    first, second = model.ensemble.trees
    swapped = Ensemble(3, model.ensemble.base, [second, first])
    assert replace(model, ensemble=swapped).fingerprint() != model.fingerprint()


def test_a_file_on_disk_has_the_written_bytes(tmp_path: Path) -> None:
    write_model(tmp_path / "model.stgw", make_model(), ESTIMATOR)
    model, estimator = read_model(tmp_path / "model.stgw")
    assert encode(model, estimator) == (tmp_path / "model.stgw").read_bytes()
