"""Rounds of a fit as bytes: records that follow each other in a file, each with a checksum.

A record is a mark, the length of its contents, their SHA-256, and the contents: arrays in NumPy's
format. Only complete records are decoded, and never as pickles.
"""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.training.stored.checkpoint import Rounds
from stagewise.trees.tree import NODE_ARRAYS, CategorySets, Tree

__all__ = ["Record", "decode_record", "encode_record", "join_records"]

MARK = b"STGWRND1"
_FRAME = struct.Struct("<8sQ32s")

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Record:
    """Rounds that follow each other.

    Attributes
    ----------
    first : int
        The number of rounds before them.
    n_rounds : int
        Their number.
    trees : list of Tree
        Their trees, round by round.
    train_loss, valid_loss : list of float
        The losses after each of them; valid_loss is empty without validation rows.
    """

    first: int
    n_rounds: int
    trees: list[Tree]
    train_loss: list[float]
    valid_loss: list[float]

    @classmethod
    def following(cls, first: int, rounds: Rounds) -> Self:
        """Return the rounds after the first ones."""
        n, per_round = rounds.n, len(rounds.trees) // rounds.n
        return cls(
            first,
            n - first,
            rounds.trees[first * per_round : n * per_round],
            rounds.train_loss[first:n],
            rounds.valid_loss[first:n],
        )


def join_records(records: Sequence[Record]) -> Rounds:
    """Return the rounds of records that follow each other."""
    return Rounds(
        sum(record.n_rounds for record in records),
        [tree for record in records for tree in record.trees],
        [loss for record in records for loss in record.train_loss],
        [loss for record in records for loss in record.valid_loss],
    )


def encode_record(first: int, rounds: Rounds) -> bytes:
    """Return the record of some rounds that follow the first ones."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {
        "rounds": np.array([first, rounds.n], dtype=np.int64),
        "train_loss": np.array(rounds.train_loss, dtype=np.float64),
        "valid_loss": np.array(rounds.valid_loss, dtype=np.float64),
        **_arrays(rounds.trees),
    }
    np.savez(buffer, **arrays)
    contents = buffer.getvalue()
    return _FRAME.pack(MARK, len(contents), hashlib.sha256(contents).digest()) + contents


def decode_record(data: memoryview, first: int) -> tuple[Record, int] | None:
    """Return the first record of some bytes and its size.

    None: there is no complete record, or it does not begin after `first` rounds.
    """
    if len(data) < _FRAME.size:
        return None
    mark, length, digest = _FRAME.unpack_from(data)
    contents = data[_FRAME.size : _FRAME.size + length]
    if mark != MARK or len(contents) < length or hashlib.sha256(contents).digest() != digest:
        return None
    with np.load(io.BytesIO(contents), allow_pickle=False) as arrays:
        begin, n_rounds = arrays["rounds"].tolist()
        losses = arrays["train_loss"].tolist(), arrays["valid_loss"].tolist()
        trees = list(_trees({name: arrays[name] for name in arrays.files}))
    if begin != first:
        return None
    return Record(begin, n_rounds, trees, *losses), _FRAME.size + length


def _arrays(trees: Sequence[Tree]) -> dict[str, Array]:
    """Return the nodes of all trees as arrays; set_start is empty if no tree has sets."""
    sets = [tree.category_sets for tree in trees]
    return {
        "n_nodes": np.array([len(tree.feature) for tree in trees], dtype=np.int64),
        **{
            name: np.concatenate([getattr(tree, name) for tree in trees]).astype(dtype, copy=False)
            for name, dtype in NODE_ARRAYS.items()
        },
        "n_words": np.array([-1 if own is None else len(own.bits) for own in sets], dtype=np.int64),
        "set_start": np.concatenate(
            [np.empty(0, np.int32), *(own.start for own in sets if own is not None)]
        ),
        "set_bits": np.concatenate(
            [np.empty(0, np.uint64), *(own.bits for own in sets if own is not None)]
        ),
    }


def _trees(arrays: Mapping[str, Array]) -> Iterator[Tree]:
    """Yield the trees of the arrays."""
    node, set_node, word = 0, 0, 0
    counts = zip(arrays["n_nodes"].tolist(), arrays["n_words"].tolist(), strict=True)
    for n_nodes, n_words in counts:
        own = slice(node, node + n_nodes)
        sets = None
        if n_words >= 0:
            start = arrays["set_start"][set_node : set_node + n_nodes]
            sets = CategorySets(start, arrays["set_bits"][word : word + n_words])
            set_node, word = set_node + n_nodes, word + n_words
        nodes: dict[str, Any] = {name: arrays[name][own] for name in NODE_ARRAYS}
        yield Tree(**nodes, category_sets=sets)
        node += n_nodes
