"""Malicious model files: thousands of damaged ones, none of which may do harm.

Every file is tried twice. As it is, the checksum must detect the damage. With its length and
checksum corrected, as an attacker would do, it must be refused, or be a model that passes a slow,
independent check of the rules.
"""

from __future__ import annotations

import math
import struct
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from model_damage import FOOTER, HUGE, MUTATORS, close, dump, join, overwrite, parts
from model_samples import ESTIMATOR, sample_models
from stagewise.errors import ModelFormatError
from stagewise.model.file.format import decode, encode
from stagewise.model.model import Model
from stagewise.trees.tree import Tree

N_FILES = 8000
FILES = {name: encode(model, ESTIMATOR) for name, model in sample_models().items()}


def assert_tree_is_sound(tree: Tree, n_features: int) -> None:
    """Check the rules of a tree, node by node in plain Python, as in the specification."""
    feature, left, right = tree.feature.tolist(), tree.left.tolist(), tree.right.tolist()
    threshold, missing_left = tree.threshold.tolist(), tree.missing_left.tolist()
    visited = [0]
    for node in visited:
        assert -1 <= feature[node] < n_features
        assert missing_left[node] in (0, 1)
        if feature[node] == -1:
            assert (left[node], right[node]) == (-1, -1)
            assert (threshold[node], missing_left[node], tree.gain[node]) == (0.0, 0, 0.0)
        else:
            assert node < left[node] < len(feature)
            assert node < right[node] < len(feature)
            visited += [left[node], right[node]]
    assert sorted(visited) == list(range(len(feature)))
    assert not any(map(math.isnan, threshold))
    columns = tree.value.T if tree.value.ndim > 1 else [tree.value]
    for numbers in (*columns, tree.gain, tree.cover):
        assert len(numbers) == len(feature)
        assert all(map(math.isfinite, numbers.tolist()))
    assert min(*tree.gain.tolist(), *tree.cover.tolist(), 0.0) == 0.0


def assert_categories_are_sound(categories: Sequence[Any]) -> None:
    """Check: ascending numbers, then texts by code point; integers have 64 bits."""
    numbers = [category for category in categories if not isinstance(category, str)]
    texts = [category for category in categories if isinstance(category, str)]
    assert list(categories) == numbers + texts
    for its in (numbers, [list(map(ord, text)) for text in texts]):
        assert all(a < b for a, b in pairwise(its))
    for number in numbers:
        assert number == number
        assert type(number) in (int, float)
        whole = not math.isinf(number) and number == math.floor(number)
        assert (type(number) is int) == (whole and -(2**63) <= number < 2**64)


def assert_model_is_sound(model: Model) -> None:
    ensemble = model.ensemble
    assert ensemble.n_features == len(model.features) > 0
    for tree in ensemble.trees:
        assert_tree_is_sound(tree, ensemble.n_features)
    per_round = ensemble.n_outputs if ensemble.outputs_per_tree == 1 else 1
    assert ensemble.outputs_per_tree in (1, ensemble.n_outputs)
    assert len(ensemble.trees) == ensemble.n_rounds * per_round
    constants = (ensemble.base, np.atleast_1d(model.offset), np.atleast_1d(model.scale))
    assert all(map(math.isfinite, np.concatenate(constants).tolist()))
    names = [feature.name for feature in model.features if feature.name is not None]
    assert len(set(names)) == len(names)
    for feature in model.features:
        assert (feature.cuts is None) == (feature.kind != "wide_integer")
        assert (feature.categories is None) == (feature.kind != "categorical")
        assert_categories_are_sound([] if feature.categories is None else feature.categories.values)
        cuts = [] if feature.cuts is None else feature.cuts.tolist()
        assert all(a < b for a, b in pairwise(cuts))
    numbers = model.classes is None and model.class_targets is None
    assert numbers == (model.task == "regression")
    if model.class_targets is not None:
        assert sum(map(len, model.class_targets)) == ensemble.n_outputs
        assert model.targets is None or len(set(model.targets)) == len(model.class_targets) > 1
        assert (model.offset, model.scale) == (0.0, 1.0)
    elif model.classes is None:
        assert len(np.atleast_1d(model.scale)) == ensemble.n_outputs
        assert model.targets is None or len(set(model.targets)) == ensemble.n_outputs > 1
    else:
        n_classes = len(model.classes)
        assert ensemble.n_outputs == n_classes or (n_classes, ensemble.n_outputs) == (2, 1)
        assert len(set(model.classes.tolist())) == n_classes
        assert (model.offset, model.scale) == (0.0, 1.0)


def try_damaged(body: bytes, footer: bytes) -> bool:
    """Try a damaged body as it is and with a valid footer; return whether that was a model."""
    with pytest.raises(ModelFormatError):
        decode(body + footer)
    message = ""
    try:
        model, estimator = decode(close(body))
    except ModelFormatError as error:
        message = str(error)
    assert len(message) < 400, "the message quotes the file"
    if message:
        return False
    assert_model_is_sound(model)
    again, _ = decode(encode(model, estimator))
    assert again.fingerprint() == model.fingerprint()
    return True


def test_thousands_of_damaged_files_are_refused_or_valid_models() -> None:
    rng = np.random.default_rng(20240607)
    files = list(FILES.values())
    accepted: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for i in range(N_FILES):
        mutate = MUTATORS[i % len(MUTATORS)]
        data = files[rng.integers(len(files))]
        body, footer = data[:-FOOTER], data[-FOOTER:]
        damaged = mutate(rng, body)
        if damaged != body:
            tried[mutate.__name__] += 1
            accepted[mutate.__name__] += try_damaged(damaged, footer)
    assert tried.total() > 7000
    # If all or none had been refused, the test would prove little.
    assert accepted["flip_data"] > 100
    assert accepted["edit_numbers"] > 20
    assert tried["edit_numbers"] - accepted["edit_numbers"] > 200
    for name in ("truncate", "delete", "insert", "edit_length", "edit_key"):
        assert accepted[name] == 0


def test_any_bytes_after_the_magic_are_refused() -> None:
    rng = np.random.default_rng(1)
    magic = FILES["regression"][:16]
    for _ in range(300):
        length = int(rng.integers(200))
        body = magic + struct.pack("<Q", int(rng.integers(200))) + rng.bytes(length)
        for data in (body, close(body)):
            with pytest.raises(ModelFormatError):
                decode(data)


def test_every_truncation_of_a_file_is_refused() -> None:
    data = FILES["named"]
    for length in range(len(data)):
        with pytest.raises(ModelFormatError):
            decode(data[:length])


def bombs(name: str) -> dict[str, bytes]:
    """Return small files that request much memory or time."""
    body = FILES[name][:-FOOTER]
    header, data = parts(body)
    begin = len(body) - len(data)
    made = {f"header of {n}": overwrite(body, 16, struct.pack("<Q", n)) for n in HUGE}
    for index, entry in enumerate(header["sections"]):
        for shape in ([2**62], [2**64 - 1], [2**32, 2**32], [0, 2**50], [1, 2**50], [2**40]):
            edited, _ = parts(body)
            edited["sections"][index]["shape"] = shape
            made[f"{entry['name']} of shape {shape}"] = join(body, dump(edited), data)
        if entry["dtype"] == "uint64":
            at = begin + entry["offset"] + entry["size"] - 8
            for number in HUGE:
                made[f"{entry['name']} up to {number}"] = overwrite(
                    body, at, struct.pack("<Q", number)
                )
    for size in HUGE:
        edited, _ = parts(body)
        edited["sections"][0]["size"] = size
        made[f"section of {size} bytes"] = join(body, dump(edited), data)
    return made


@pytest.mark.parametrize("file", ["text labels", "categorical"])
def test_false_lengths_take_no_memory(file: str) -> None:
    made = bombs(file)
    assert len(made) > 100
    for name, body in made.items():
        data = close(body)
        tracemalloc.start()
        try:
            with pytest.raises(ModelFormatError):
                decode(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 20 * len(data) + 100_000, name


LIMIT = 4 * 2**20


LARGE_TEXTS: dict[str, Callable[[int], bytes]] = {
    "lists": lambda n: b"[" * n,
    "objects": lambda n: b'{"a":' * (n // 5),
    "flat lists": lambda n: b"[" + b"[]," * (n // 3 - 1) + b"0]",
    "flat objects": lambda n: b"[" + b"{}," * (n // 3 - 1) + b"0]",
    "small objects": lambda n: b"[" + b'{"a":0},' * (n // 8 - 1) + b"0]",
    "integer": lambda n: b"9" * n,
    "float": lambda n: b"0." + b"9" * (n - 2),
    "quotes": lambda n: b'"' * n,
    "backslashes": lambda n: b'"' + b"\\\\" * (n // 2 - 1) + b'"',
    "escapes": lambda n: b'"' + b'\\"' * (n // 2 - 1) + b'"',
}


@pytest.mark.parametrize("text", LARGE_TEXTS.values(), ids=LARGE_TEXTS)
def test_the_largest_header_is_refused_quickly_and_in_bounded_memory(
    text: Callable[[int], bytes],
) -> None:
    body = FILES["regression"][:-FOOTER]
    data = close(join(body, text(LIMIT), b""))
    begin = time.process_time()
    with pytest.raises(ModelFormatError):
        decode(data)
    assert time.process_time() - begin < 10.0
    # Tracing makes it many times slower, and the memory per byte is the same for fewer bytes.
    data = close(join(body, text(LIMIT // 8), b""))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError):
            decode(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50 * len(data)


def test_a_header_longer_than_the_limit_is_refused_without_reading() -> None:
    body = FILES["regression"][:-FOOTER]
    header, data = parts(body)
    text = dump(header) + b" " * (LIMIT + 1)
    with pytest.raises(ModelFormatError, match="header is longer"):
        decode(close(join(body, text, data)))
