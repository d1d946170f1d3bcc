"""Hostile model files: thousands of damaged ones, none of which may do harm.

One idea: every file is tried twice. As it is, the checksum must catch it. With its length and
checksum made right again, as an attacker would, it must be refused, or be a model that a slow and
independent reading of the rules finds nothing wrong with.
"""

from __future__ import annotations

import hashlib
import json
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

from model_samples import ESTIMATOR, sample_models
from stagewise.errors import ModelFormatError
from stagewise.learners.tree import Tree
from stagewise.model.file import decode, encode
from stagewise.model.model import Model

PREFIX, FOOTER = 24, 40
N_FILES = 8000
FILES = {name: encode(model, ESTIMATOR) for name, model in sample_models().items()}

HUGE = [2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
ODD_DOUBLES = [math.nan, math.inf, -math.inf, -1.0, 5e-324, 1e308]
ODD_TEXT = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "-" + "9" * 21, "true", "null"]
ODD_TEXT += ['"x"', "[]", "{}", "-1", "0.5", "1e3", '{"a":1,"a":2}', "[" * 9 + "]" * 9]
ODD_TEXT += ["[" * 100_000, '{"a":' * 2000 + "1" + "}" * 2000, '{"$pairs":[[[],1]]}', '"\\ud800"']
DTYPES = ["float64", "uint64", "int32", "uint8", "float16", "int8", "object", "<f8", "", "str"]


def close(body: bytes) -> bytes:
    """A body with the footer it ought to have."""
    counted = body + struct.pack("<Q", len(body) + FOOTER)
    return counted + hashlib.sha256(counted).digest()


def parts(body: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the data of a body that is not damaged."""
    end = PREFIX + struct.unpack_from("<Q", body, 16)[0]
    return json.loads(body[PREFIX:end]), body[end:]


def join(body: bytes, header: bytes, data: bytes) -> bytes:
    return body[:16] + struct.pack("<Q", len(header)) + header + data


def dump(header: Any) -> bytes:
    return json.dumps(header, separators=(",", ":"), sort_keys=True).encode()


def overwrite(body: bytes, at: int, new: bytes) -> bytes:
    return (body[:at] + new + body[at + len(new) :])[: len(body)]


# Mutators: each takes a sound body, without its footer, and returns a damaged one.

Rng = np.random.Generator


def flip_bytes(rng: Rng, body: bytes) -> bytes:
    damaged = bytearray(body)
    for at in rng.integers(len(body), size=rng.integers(1, 5)):
        damaged[at] ^= int(rng.integers(1, 256))
    return bytes(damaged)


def flip_data(rng: Rng, body: bytes) -> bytes:
    begin = len(body) - len(parts(body)[1])
    at = int(rng.integers(begin, len(body)))
    return overwrite(body, at, bytes([body[at] ^ (1 << int(rng.integers(8)))]))


def truncate(rng: Rng, body: bytes) -> bytes:
    return body[: rng.integers(len(body))]


def delete(rng: Rng, body: bytes) -> bytes:
    at = int(rng.integers(len(body)))
    return body[:at] + body[at + int(rng.integers(1, 64)) :]


def insert(rng: Rng, body: bytes) -> bytes:
    at = int(rng.integers(len(body) + 1))
    return body[:at] + rng.bytes(int(rng.integers(1, 64))) + body[at:]


def splice(rng: Rng, body: bytes) -> bytes:
    other = list(FILES.values())[rng.integers(len(FILES))]
    return body[: rng.integers(len(body))] + other[rng.integers(len(other)) : -FOOTER]


def edit_length(rng: Rng, body: bytes) -> bytes:
    near = struct.unpack_from("<Q", body, 16)[0] + int(rng.integers(-16, 17))
    lengths = [*HUGE, 0, 1, near]
    return overwrite(body, 16, struct.pack("<Q", lengths[rng.integers(len(lengths))]))


def edit_prefix(rng: Rng, body: bytes) -> bytes:
    return overwrite(body, int(rng.integers(16)), rng.bytes(int(rng.integers(1, 5))))


def edit_numbers(rng: Rng, body: bytes) -> bytes:
    """Put an odd number into a section: a cycle, an index out of range, a leaf of NaN."""
    header, data = parts(body)
    filled = [entry for entry in header["sections"] if entry["size"]]
    entry = filled[rng.integers(len(filled))]
    dtype = np.dtype(entry["dtype"])
    if dtype.kind == "f":
        number = rng.choice(ODD_DOUBLES)
    else:
        some = [-2, -1, 0, 1, 2, 3, 7, 100, *HUGE]
        number = some[rng.integers(len(some))] % 2 ** (8 * dtype.itemsize)
        dtype = np.dtype(f"uint{8 * dtype.itemsize}")
    array = np.frombuffer(data, dtype, entry["size"] // dtype.itemsize, entry["offset"]).copy()
    array[rng.integers(len(array))] = number
    return body[: -len(data)] + overwrite(data, entry["offset"], array.tobytes())


def edit_entry(rng: Rng, body: bytes) -> bytes:
    """Change one field of the table of sections."""
    header, data = parts(body)
    table = header["sections"]
    entry = table[rng.integers(len(table))]
    near = entry["size"] + int(rng.integers(-9, 10))
    numbers = [*HUGE, -1, 0, 1, near, entry["offset"], 0.5, None, True, "8", [8]]
    field = str(rng.choice(["name", "dtype", "shape", "offset", "size", "optional"]))
    entry[field] = {
        "name": [table[rng.integers(len(table))]["name"], "extra", "x" * 999][rng.integers(3)],
        "dtype": DTYPES[rng.integers(len(DTYPES))],
        "shape": [numbers[i] for i in rng.integers(len(numbers), size=rng.integers(0, 4))],
        "offset": numbers[rng.integers(len(numbers))],
        "size": numbers[rng.integers(len(numbers))],
        "optional": numbers[rng.integers(len(numbers))],
    }[field]
    return join(body, dump(header), data)


def edit_table(rng: Rng, body: bytes) -> bytes:
    """Drop, repeat or swap whole sections, with or without their data."""
    header, data = parts(body)
    table = header["sections"]
    first, second = (int(i) for i in rng.integers(len(table), size=2))
    action = rng.integers(4)
    if action == 0:
        table[first], table[second] = table[second], table[first]
    elif action == 1:
        table.insert(first, dict(table[second]))
    elif action == 2:
        table[first]["name"], table[second]["name"] = table[second]["name"], table[first]["name"]
    else:
        gone = table.pop(first)
        data = data[: gone["offset"]] + data[gone["offset"] + gone["size"] :]
        for entry in table[first:]:
            entry["offset"] -= gone["size"]
    return join(body, dump(header), data)


def edit_fact(rng: Rng, body: bytes) -> bytes:
    """Put an odd text, perhaps not even JSON, in the place of one value of the header."""
    header, data = parts(body)
    holder = header if rng.random() < 0.5 else header["estimator"]
    key = str(rng.choice(sorted(holder)))
    holder[key] = "@here@"
    text = dump(header).replace(b'"@here@"', ODD_TEXT[rng.integers(len(ODD_TEXT))].encode())
    return join(body, text, data)


def edit_key(rng: Rng, body: bytes) -> bytes:
    """Drop a key of the header, or give one twice."""
    header, data = parts(body)
    key = str(rng.choice(sorted(header)))
    if rng.random() < 0.3:
        del header[key]
        return join(body, dump(header), data)
    twice = b"{" + dump({key: header[key]})[1:-1] + b"," + dump(header)[1:]
    return join(body, twice, data)


def edit_text(rng: Rng, body: bytes) -> bytes:
    """Overwrite a few characters of the header with others that JSON knows."""
    header, data = parts(body)
    text = bytearray(dump(header))
    for at in rng.integers(len(text), size=rng.integers(1, 4)):
        text[at] = int(rng.choice(list(b'{}[]",:0123456789-eE+. \\utfn\x00\x80\xff')))
    return join(body, bytes(text), data)


MUTATORS: list[Callable[[Rng, bytes], bytes]] = [
    flip_bytes, flip_data, truncate, delete, insert, splice, edit_length, edit_prefix,
    edit_numbers, edit_numbers, edit_entry, edit_table, edit_fact, edit_key, edit_text,
]  # fmt: skip


def assert_tree_is_sound(tree: Tree, n_features: int) -> None:
    """The rules of a tree, node by node in plain Python, as the contract words them."""
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


def assert_levels_are_sound(levels: Sequence[Any]) -> None:
    """Numbers that rise, then texts by code point; whole numbers are integers of 64 bits."""
    numbers = [level for level in levels if not isinstance(level, str)]
    texts = [level for level in levels if isinstance(level, str)]
    assert list(levels) == numbers + texts
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
        assert (feature.levels is None) == (feature.kind != "categorical")
        assert_levels_are_sound([] if feature.levels is None else feature.levels.values)
        cuts = [] if feature.cuts is None else feature.cuts.tolist()
        assert all(a < b for a, b in pairwise(cuts))
    assert (model.classes is None) == (model.task == "regression")
    if model.classes is None:
        assert len(np.atleast_1d(model.scale)) == ensemble.n_outputs
        assert model.targets is None or len(set(model.targets)) == ensemble.n_outputs > 1
    else:
        n_classes = len(model.classes)
        assert ensemble.n_outputs == n_classes or (n_classes, ensemble.n_outputs) == (2, 1)
        assert len(set(model.classes.tolist())) == n_classes
        assert (model.offset, model.scale) == (0.0, 1.0)


def try_damaged(body: bytes, footer: bytes) -> bool:
    """Try a damaged body as it is and with a right footer; return whether that was a model."""
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


def test_thousands_of_damaged_files_are_refused_or_are_sound_models() -> None:
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
    # Had nothing or everything been refused, the test would prove little.
    assert accepted["flip_data"] > 100
    assert accepted["edit_numbers"] > 20
    assert tried["edit_numbers"] - accepted["edit_numbers"] > 200
    for name in ("truncate", "delete", "insert", "edit_length", "edit_key"):
        assert accepted[name] == 0


def test_any_bytes_behind_the_magic_are_refused() -> None:
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
    """Small files that ask for much memory or time."""
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
def test_lengths_that_lie_take_no_memory(file: str) -> None:
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
    # Tracing makes it many times slower, and how much memory a byte takes is the same of fewer.
    data = close(join(body, text(LIMIT // 8), b""))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError):
            decode(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50 * len(data)


def test_a_header_longer_than_the_limit_is_refused_unread() -> None:
    body = FILES["regression"][:-FOOTER]
    header, data = parts(body)
    text = dump(header) + b" " * (LIMIT + 1)
    with pytest.raises(ModelFormatError, match="header is longer"):
        decode(close(join(body, text, data)))
