"""Ways to damage a model file.

A mutator takes the valid body of a file, without its footer, and returns a damaged one; `close`
gives any body a valid footer, as an attacker would.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

PREFIX, FOOTER = 24, 40

HUGE = [2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
ODD_DOUBLES = [math.nan, math.inf, -math.inf, -1.0, 5e-324, 1e308]
ODD_TEXT = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "-" + "9" * 21, "true", "null"]
ODD_TEXT += ['"x"', "[]", "{}", "-1", "0.5", "1e3", '{"a":1,"a":2}', "[" * 9 + "]" * 9]
ODD_TEXT += ["[" * 100_000, '{"a":' * 2000 + "1" + "}" * 2000, '{"$pairs":[[[],1]]}', '"\\ud800"']
DTYPES = ["float64", "uint64", "int32", "uint8", "float16", "int8", "object", "<f8", "", "str"]


def close(body: bytes) -> bytes:
    """Return a body with its valid footer."""
    counted = body + struct.pack("<Q", len(body) + FOOTER)
    return counted + hashlib.sha256(counted).digest()


def parts(body: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header and the data of a body that is not damaged."""
    end = PREFIX + struct.unpack_from("<Q", body, 16)[0]
    return json.loads(body[PREFIX:end]), body[end:]


def join(body: bytes, header: bytes, data: bytes) -> bytes:
    return body[:16] + struct.pack("<Q", len(header)) + header + data


def dump(header: Any) -> bytes:
    return json.dumps(header, separators=(",", ":"), sort_keys=True).encode()


def overwrite(body: bytes, at: int, new: bytes) -> bytes:
    return (body[:at] + new + body[at + len(new) :])[: len(body)]


# Mutators: each takes a valid body, without its footer, and returns a damaged one.

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
    """Append the end of the file after another part of it."""
    return body[: rng.integers(len(body))] + body[rng.integers(len(body)) :]


def edit_length(rng: Rng, body: bytes) -> bytes:
    near = struct.unpack_from("<Q", body, 16)[0] + int(rng.integers(-16, 17))
    lengths = [*HUGE, 0, 1, near]
    return overwrite(body, 16, struct.pack("<Q", lengths[rng.integers(len(lengths))]))


def edit_prefix(rng: Rng, body: bytes) -> bytes:
    return overwrite(body, int(rng.integers(16)), rng.bytes(int(rng.integers(1, 5))))


def edit_numbers(rng: Rng, body: bytes) -> bytes:
    """Put an invalid number into a section: a cycle, an index out of range, a leaf of NaN."""
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
    """Replace one value of the header by an unusual text, perhaps no valid JSON."""
    header, data = parts(body)
    holder = header if rng.random() < 0.5 else header["estimator"]
    key = str(rng.choice(sorted(holder)))
    holder[key] = "@here@"
    text = dump(header).replace(b'"@here@"', ODD_TEXT[rng.integers(len(ODD_TEXT))].encode())
    return join(body, text, data)


def edit_key(rng: Rng, body: bytes) -> bytes:
    """Remove a key of the header, or repeat one."""
    header, data = parts(body)
    key = str(rng.choice(sorted(header)))
    if rng.random() < 0.3:
        del header[key]
        return join(body, dump(header), data)
    twice = b"{" + dump({key: header[key]})[1:-1] + b"," + dump(header)[1:]
    return join(body, twice, data)


def edit_text(rng: Rng, body: bytes) -> bytes:
    """Overwrite a few characters of the header with other characters of JSON."""
    header, data = parts(body)
    text = bytearray(dump(header))
    for at in rng.integers(len(text), size=rng.integers(1, 4)):
        text[at] = int(rng.choice(list(b'{}[]",:0123456789-eE+. \\utfn\x00\x80\xff')))
    return join(body, bytes(text), data)


MUTATORS: list[Callable[[Rng, bytes], bytes]] = [
    flip_bytes, flip_data, truncate, delete, insert, splice, edit_length, edit_prefix,
    edit_numbers, edit_numbers, edit_entry, edit_table, edit_fact, edit_key, edit_text,
]  # fmt: skip
