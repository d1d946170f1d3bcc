"""Sets of evaluation rows: the argument `eval_set` of `fit`, and the rows of X_val.

A set is measured after every round. One set at most decides when a fit stops; the others are only
recorded, and change nothing about the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from stagewise.boosting.monitor import HELD_OUT, OUT_OF_BAG, TRAIN
from stagewise.datasets.dataset import Dataset
from stagewise.training.reading.row_set import RowSet
from stagewise.validation.messages import short_repr

__all__ = ["EvalSet", "WatchedRows", "read_eval_sets"]

FORMS = "[(X, y), (X, y, weight), ...], or with names {'test': (X, y), ...}"


@dataclass(frozen=True)
class EvalSet:
    """One set of evaluation rows as the caller passed it.

    Attributes
    ----------
    name : str
        Its name in `evals_result_`.
    X, y, sample_weight, offset, exposure
        As of `fit`.
    """

    name: str
    X: Any
    y: Any
    sample_weight: Any = None
    offset: Any = None
    exposure: Any = None

    @property
    def label(self) -> str:
        """The set in messages."""
        return "X_val" if self.name == HELD_OUT else f"eval_set {self.name!r}"


@dataclass(frozen=True)
class WatchedRows:
    """The rows of a set that is measured after every round and decides nothing."""

    name: str
    rows: RowSet


KEYS = tuple(f.name for f in fields(EvalSet) if f.name != "name")
"""The keys of a set that is passed as a mapping."""


def read_eval_sets(value: Any, X: Any, y: Any, sample_weight: Any) -> tuple[EvalSet, ...]:
    """Return the sets of the argument `eval_set`, with names.

    Parameters
    ----------
    value : None, tuple, list, or mapping
        One set, several, or several by name. A set is (X, y), (X, y, weight), or a mapping of such
        names. Without names they are "valid_0", "valid_1", …, and the training rows "train".
    X, y, sample_weight
        The training rows.

    Raises
    ------
    TypeError, ValueError
        If it is something else, is empty, or a name is reserved.
    """
    if value is None:
        return ()
    if not isinstance(value, (tuple, list, Mapping)):
        raise TypeError(f"eval_set must be {FORMS}; got {short_repr(value)}.")
    if _is_one(value):
        value = [value]
    if not value:
        raise ValueError(f"eval_set has no sets. Leave it out, or pass {FORMS}.")
    named = isinstance(value, Mapping)
    items = list(value.items()) if named else [(f"valid_{i}", v) for i, v in enumerate(value)]
    sets = []
    for name, parts in items:
        own = _read_set(name, parts)
        is_training = own.X is X and own.y is y
        is_training &= own.sample_weight is None or own.sample_weight is sample_weight
        is_training &= own.offset is None and own.exposure is None
        if is_training and not named:
            own = EvalSet(TRAIN, *(getattr(own, key) for key in KEYS))
        _check_name(own.name, is_training=is_training)
        sets.append(own)
    names = [own.name for own in sets]
    if len(set(names)) < len(names):  # only "train" can be there twice
        raise ValueError("eval_set has the training rows twice; leave one of them out.")
    return tuple(sets)


def _is_one(value: Any) -> bool:
    """Return whether a value is one set rather than several: (X, y), or {"X": …, "y": …}."""
    if isinstance(value, Mapping):
        return {"X", "y"} <= set(value)
    return isinstance(value, tuple) and not all(_is_set(part) for part in value)


def _is_set(value: Any) -> bool:
    return isinstance(value, (tuple, Mapping))


def _read_set(name: Any, parts: Any) -> EvalSet:
    """Return a set with a name."""
    if isinstance(parts, Mapping):
        unknown = [key for key in parts if key not in KEYS]
        if unknown or not {"X", "y"} <= set(parts):
            raise ValueError(
                f"A set of eval_set has the keys {', '.join(KEYS)}; {name!r} has "
                f"{', '.join(map(short_repr, parts))}."
            )
        own = EvalSet(name, **parts)
    elif isinstance(parts, Sequence) and not isinstance(parts, str) and len(parts) in (2, 3):
        own = EvalSet(name, *parts)
    else:
        raise TypeError(
            f"A set of eval_set must be (X, y), (X, y, weight), or a mapping of {', '.join(KEYS)}; "
            f"{name!r} is {_described(parts)}."
        )
    if isinstance(own.X, Dataset):
        raise TypeError(
            f"{own.label} is a Dataset, and eval_set has rows in memory. Pass X_val for a dataset "
            "of validation rows."
        )
    return own


def _described(value: Any) -> str:
    """Return what was passed: of an array or a data frame its shape."""
    shape = getattr(value, "shape", None)
    return short_repr(value) if shape is None else f"{type(value).__name__} of shape {shape}"


def _check_name(name: Any, *, is_training: bool) -> None:
    """Raise ValueError unless a set can have a name."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"The name of a set of eval_set must be text; got {short_repr(name)}.")
    if name == TRAIN and not is_training:
        raise ValueError(
            f"The name {TRAIN!r} of eval_set is that of the training rows, X and y of fit, and "
            "these are others. Use another name."
        )
    if name in (HELD_OUT, OUT_OF_BAG):
        what = "held-out rows (X_val, a fraction or folds)" if name == HELD_OUT else "bags"
        raise ValueError(
            f"The name {name!r} of eval_set is reserved for {what}. Use another name, such as "
            "'test'."
        )
