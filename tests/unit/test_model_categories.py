"""Categories in a model file: every value is restored, and any other form is an error."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_samples import ESTIMATOR, categorical_features, make_model
from stagewise.data.categories.categories import Categories
from stagewise.data.feature import Feature
from stagewise.errors import ModelFormatError
from stagewise.model.file.contents import pack, unpack
from stagewise.model.file.format import MINOR, decode, encode

# Five categories of a mixed feature, none of an empty one, two of text; a real one between them.
MODEL = make_model(features=categorical_features(), seed=3)


def with_categories(*columns: list[Any]) -> Any:
    features = [Feature(None, "categorical", None, Categories.of(column)) for column in columns]
    return make_model(features=features)


@given(
    st.lists(
        st.lists(
            st.one_of(
                st.text(max_size=5),
                st.text(st.characters(categories=["Cs"]), max_size=2),
                st.integers(-(2**63), 2**64 - 1),
                st.floats(allow_nan=False),
            )
        ),
        min_size=1,
        max_size=4,
    )
)
def test_every_category_is_restored(columns) -> None:
    model = with_categories(*columns)
    again, _ = decode(encode(model))
    assert again.features == model.features
    kinds = [[type(v) for v in f.categories.values] for f in again.features]
    assert kinds == [[type(v) for v in f.categories.values] for f in model.features]
    assert again.fingerprint() == model.fingerprint()


def test_a_model_without_categories_has_no_such_section() -> None:
    assert not [name for name in pack(make_model(), {})[1] if name.startswith("level_")]


@pytest.mark.parametrize(
    ("array", "index", "number", "words"),
    [
        ("level_start", 0, 1, "boundaries between its categories"),
        ("level_start", -1, 6, "boundaries between its categories"),
        ("level_start", 1, 2**63, "boundaries between its categories"),
        ("level_start", 1, 4, "categories for a feature that is not categorical"),
        ("level_type", 0, 4, "types of its categories"),
        ("level_type", 0, 3, "lengths of its categories"),
        ("level_type", 0, 1, "not in increasing order, or one has the wrong type"),
        ("level_type", 1, 1, "not in increasing order, or one has the wrong type"),
        ("level_bits", 0, 9, "not in increasing order, or one has the wrong type"),
        ("level_bits", 1, struct.unpack("<Q", struct.pack("<d", 1.0))[0], "not (in )?increasing"),
        ("level_bits", 1, struct.unpack("<Q", struct.pack("<d", math.nan))[0], "is NaN"),
        ("level_bits", 1, struct.unpack("<Q", struct.pack("<d", -0.0))[0], "not (in )?increasing"),
        ("level_bits", -1, 2**64 - 1, "lengths of its categories"),
        ("level_bits", -1, 0, "lengths of its categories"),
        ("level_text", 0, 0xFF, "is not valid text"),
        ("level_text", -1, ord("a"), "not (in )?increasing"),
        ("feature_kind", 1, 3, None),
        ("feature_kind", 0, 0, "categories for a feature that is not categorical"),
        ("feature_kind", 0, 4, "kinds of its features"),
    ],
)
def test_one_wrong_number_is_refused(array: str, index: int, number: Any, words: Any) -> None:
    facts, arrays = pack(MODEL, {})
    arrays[array] = arrays[array].copy()
    arrays[array][index] = number
    if words is None:  # a categorical feature may have no categories
        assert unpack(facts, arrays)[0].features.n_categories_per_feature() == [5, 0, 0, 2]
        return
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


@pytest.mark.parametrize("array", ["level_start", "level_type", "level_bits", "level_text"])
def test_the_sections_are_all_present_or_all_absent(array: str) -> None:
    facts, arrays = pack(MODEL, {})
    whole = arrays.pop(array)
    with pytest.raises(ModelFormatError, match="categories for each categorical feature"):
        unpack(facts, arrays)
    for other in (whole.astype(np.float32), whole[None]):
        with pytest.raises(ModelFormatError, match="wrong type or shape"):
            unpack(facts, {**arrays, array: other})
    for other in (whole[:-1], np.append(whole, whole)):
        with pytest.raises(ModelFormatError):
            unpack(facts, {**arrays, array: other.astype(whole.dtype)})


def test_categories_of_a_numeric_feature_are_refused() -> None:
    facts, arrays = pack(make_model(), {})
    _, others = pack(with_categories([], [], []), {})
    categories = {name: others[name] for name in others if name.startswith("level_")}
    with pytest.raises(ModelFormatError, match="categories"):
        unpack(facts, {**arrays, **categories})


def test_a_categorical_feature_has_no_cuts() -> None:
    facts, arrays = pack(MODEL, {})
    arrays["cuts"] = np.array([5], dtype=np.uint64)
    arrays["cut_start"] = np.array([0, 1, 1, 1, 1], dtype=np.uint64)
    with pytest.raises(ModelFormatError, match="cuts for a feature that is not a wide integer"):
        unpack(facts, arrays)


@pytest.mark.parametrize("minor", range(MINOR))
def test_files_of_earlier_formats_are_read_as_before(minor: int) -> None:
    model = make_model()
    data = encode(model, ESTIMATOR)
    body = data[:12] + struct.pack("<I", minor) + data[16:-32]
    again, estimator = decode(body + hashlib.sha256(body).digest())
    assert again.fingerprint() == model.fingerprint()
    assert estimator == ESTIMATOR


def test_categories_are_part_of_the_fingerprint() -> None:
    models = [
        with_categories(["a", "b"], []),
        with_categories(["a"], ["b"]),
        with_categories(["ab"], []),
        with_categories([1, 2], []),
        with_categories(["1", "2"], []),
        make_model(features=[Feature(None, "real"), Feature(None, "real")]),
    ]
    assert len({model.fingerprint() for model in models}) == len(models)
