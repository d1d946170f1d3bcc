"""Kinds of trees, and what they need the other parameters to be.

The one idea: a kind of tree that does not know some rule refuses it, in one way of saying so,
instead of ignoring it. Must not know data.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stagewise.errors import InvalidParameterError
from stagewise.validation.messages import short_repr

__all__ = [
    "allows",
    "check_need",
    "check_needs",
    "check_sparse",
    "is_joint",
    "is_possible",
    "reads_sparse",
]

NEEDS: Mapping[tuple[str, str], tuple[str, Mapping[str, tuple[Any, ...]]]] = MappingProxyType(
    {
        ("growth", "symmetric"): (
            "asks one question a level, found from histograms",
            {
                "split": ("histogram",),
                "columns_per_node": (1.0,),
                "random_thresholds": (False,),
                "forced_splits": (None,),
            },
        ),
        ("multi_output", "vector"): (
            "grows trees from histograms of all outputs, leaf by leaf and without bounds",
            {
                "split": ("histogram",),
                "growth": ("best_first", "depth_wise"),
                "random_thresholds": (False,),
                "forced_splits": (None,),
                "path_smoothing": (0.0,),
                "monotonic_cst": (None,),
                "first_use_penalty": (None,),
                "leaves": ("constant",),
            },
        ),
        ("categorical", "statistics"): (
            "tells trees about several features at once, and each tree something else",
            {
                "interaction_cst": (None,),
                "first_use_penalty": (None,),
                "drop_rate": (0.0,),
                "leaves": ("constant",),
            },
        ),
    }
)
"""What some values of parameters need others to be, and why."""


def is_joint(params: Mapping[str, Any]) -> bool:
    """Return whether a round is one tree for all scores of a row."""
    return bool(params.get("multi_output", "trees") == "vector")


def check_needs(params: Mapping[str, Any], n_outputs: int) -> None:
    """Raise unless the parameters say something about trees of the kind that is wanted.

    Parameters
    ----------
    params : mapping
        Checked one by one.
    n_outputs : int
        How many scores a row has.
    """
    if is_joint(params) and n_outputs == 1:
        raise InvalidParameterError(
            "multi_output='vector' grows one tree for several scores, but two classes, or one "
            "target, have only one; leave it at 'trees'."
        )
    for kind, value in NEEDS:
        if params.get(kind) == value:
            check_need(params, kind, value)


def check_need(params: Mapping[str, Any], kind: str, value: str) -> None:
    """Raise unless the other parameters are what one of these values needs."""
    words, needs = NEEDS[kind, value]
    for name, needed in needs.items():
        if name in params and not _is_one_of(params[name], needed):
            raise InvalidParameterError(
                f"{kind}={value!r} {words}: {name} must be "
                f"{' or '.join(map(repr, needed))}; got {short_repr(params[name])}."
            )


def is_possible(params: Mapping[str, Any], kind: str, value: str) -> bool:
    """Return whether the other parameters are what one of these values needs."""
    _, needs = NEEDS[kind, value]
    return all(_is_one_of(params[name], needs[name]) for name in needs if name in params)


def allows(params: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether trees of the kinds that are wanted can have this value of a parameter."""
    wanted = [needs for (kind, word), (_, needs) in NEEDS.items() if params.get(kind) == word]
    return all(_is_one_of(value, needs[name]) for needs in wanted if name in needs)


NOT_SPARSE: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("split", "exact"): "sorts all rows by every feature",
        ("split", "approx"): "sorts all rows by every feature",
        ("criterion", "absolute_error"): "puts the targets of all rows in order at every node",
        ("multi_output", "vector"): "adds vectors to the sums of every cell",
        ("leaves", "linear"): "multiplies all values of a leaf with each other",
        ("missing", "mean"): "fills the missing cells of every column",
        ("missing", "probability"): "fills the missing cells of every column",
    }
)
"""What is done with tables that are dense only, and why."""

SPARSE: Mapping[str, str] = MappingProxyType(
    {
        "split": "histogram",
        "criterion": "squared_error",
        "multi_output": "trees",
        "leaves": "constant",
        "missing": "learned",
    }
)
"""What can be done with sparse ones."""


def reads_sparse(params: Mapping[str, Any]) -> bool:
    """Return whether such trees can be grown on a sparse matrix."""
    return all(params.get(name) != value for name, value in NOT_SPARSE)


def check_sparse(params: Mapping[str, Any]) -> None:
    """Raise unless trees of the kind that is wanted can be grown on a sparse matrix."""
    for (name, value), words in NOT_SPARSE.items():
        if params.get(name) == value:
            raise InvalidParameterError(
                f"{name}={value!r} {words}, and X is a sparse matrix. Set {name}={SPARSE[name]!r}, "
                "or pass X.toarray() if that fits into memory."
            )


def _is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    # An array would answer for each of its cells.
    return any(value is c or (type(value) is type(c) and value == c) for c in choices)
