"""Target encodings in a model file: they are restored, and invalid ones are an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from model_samples import make_model
from stagewise.data.categories.categories import Categories
from stagewise.data.categories.target_encoding import TargetEncoding
from stagewise.data.feature import Feature
from stagewise.errors import ModelFormatError
from stagewise.model.ensemble import Ensemble
from stagewise.model.file.contents import pack, unpack
from stagewise.model.file.format import decode, encode

# Three categories, a number, two categories.
FEATURES = [
    Feature(None, "categorical", None, Categories.of(["a", "b", "c"])),
    Feature(None, "real"),
    Feature(None, "categorical", None, Categories.of([1, 2])),
]


def target_encoding(sources: tuple[int, ...], keys: list[int], outputs: int) -> TargetEncoding:
    categories = tuple((3, 0, 2)[f] for f in sources)
    n = len(keys) if len(sources) > 1 else categories[0] + 2
    values = np.arange(outputs * (n + 1), dtype=np.float32).reshape(outputs, n + 1) / 8
    return TargetEncoding(sources, categories, np.array(keys, dtype=np.uint64), values)


def make(outputs: int = 1) -> Any:
    classes = np.arange(outputs) if outputs > 1 else None
    model = make_model(features=FEATURES, classes=classes)
    target_encodings = [
        target_encoding((0,), [], outputs),
        target_encoding((0, 2), [0, 7, 19], outputs),
    ]
    features = model.features.with_target_encodings(target_encodings)
    categories = features.n_categories_per_column()
    ensemble = Ensemble(len(categories), np.zeros(outputs), model.ensemble.trees, categories)
    return replace(model, features=features, ensemble=ensemble)


@pytest.mark.parametrize("outputs", [1, 3])
def test_target_encodings_are_restored(outputs) -> None:
    model = make(outputs)
    again, _ = decode(encode(model))
    assert again.features == model.features
    assert again.features.sources[3:] == [(0,)] * outputs + [(0, 2)] * outputs
    assert again.fingerprint() == model.fingerprint()
    other = model.features.with_target_encodings([target_encoding((0,), [], outputs)] * 2)
    assert other != model.features


def test_target_encodings_are_part_of_the_fingerprint() -> None:
    model = make()
    before = model.fingerprint()
    model.features.target_encodings[1].values[0, 1] += 1
    assert model.fingerprint() != before


@pytest.mark.parametrize(
    ("array", "index", "number", "words"),
    [
        ("statistic_sources", 0, 1, "not categorical"),
        ("statistic_sources", 2, 3, "features that do not exist"),
        ("statistic_sources", 1, 2, "features that do not exist"),
        ("statistic_start", 1, 0, "features that do not exist"),
        ("statistic_start", -1, 9, "boundaries between its target encodings"),
        ("statistic_key_start", 1, 1, "encoding of one feature"),
        ("statistic_key_start", -1, 2, "boundaries between its keys"),
        ("statistic_keys", 1, 0, "not (in )?increasing"),
        ("statistic_keys", 2, 20, "too large"),
        ("statistic_values", 3, np.nan, "not finite"),
        ("statistic_values", 3, np.inf, "not finite"),
    ],
)
def test_invalid_target_encodings_are_refused(array, index, number, words) -> None:
    facts, arrays = pack(make(), {})
    arrays[array] = arrays[array].copy()
    arrays[array][index] = number
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("statistic_values", lambda a: a[:-1], "value for each key"),
        ("statistic_values", lambda a: np.append(a, a[:1]), "more values than keys"),
        ("statistic_key_start", lambda a: a[:-1], "boundaries|keys for each"),
        ("statistic_keys", None, "only some of the sections"),
        ("statistic_start", lambda a: a[:1], "only some of the sections"),
    ],
)
def test_sections_of_the_wrong_length_are_refused(name, change, words) -> None:
    facts, arrays = pack(make(), {})
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


def test_a_split_on_a_target_encoding_that_does_not_exist_is_refused() -> None:
    facts, arrays = pack(make(), {})
    for name in [name for name in arrays if name.startswith("statistic_")]:
        del arrays[name]
    arrays["feature"] = np.where(arrays["feature"] >= 0, 3, arrays["feature"])
    with pytest.raises(ModelFormatError):
        unpack(facts, arrays)
    assert not [name for name in pack(make_model(), {})[1] if name.startswith("statistic_")]
