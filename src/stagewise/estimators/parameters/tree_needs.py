"""Which parameters of trees can be combined.

A parameter that a kind of tree does not support is an error; it is never ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stagewise.errors import InvalidParameterError
from stagewise.options import LinearLeaves, OrderedTargetEncoding, SplitSearch
from stagewise.validation.messages import short_repr

__all__ = [
    "allows",
    "check_need",
    "check_needs",
    "check_sparse",
    "is_possible",
    "reads_sparse",
]

NEEDS: Mapping[tuple[str, str], tuple[str, Mapping[str, tuple[Any, ...]]]] = MappingProxyType(
    {
        ("grow_policy", "symmetric"): (
            "has one split per depth, found from histograms",
            {
                "split__method": ("histogram",),
                "max_features__per_node": (None, 1.0),
                "split__random_thresholds": (False,),
                "split__forced_splits": (None,),
            },
        ),
        ("leaves", "vector"): (
            "grows trees from histograms of all outputs, without bounds",
            {
                "split__method": ("histogram",),
                "split__forced_splits": (None,),
                "path_smoothing": (0.0,),
                "monotonic_cst": (None,),
                "feature_penalty": (None,),
            },
        ),
        ("category_encoding", "target"): (
            "has columns of several features at once, which differ between trees",
            {
                "interaction_cst": (None,),
                "feature_penalty": (None,),
                "dropout": (None,),
                "leaves": ("constant", "vector"),
            },
        ),
    }
)
"""The values of other parameters that some values need, and why."""


def check_needs(params: Mapping[str, Any], n_outputs: int) -> None:
    """Raise InvalidParameterError unless the parameters of trees can be combined.

    Parameters
    ----------
    params : mapping
        Each checked, with the fields of options as entries of their own.
    n_outputs : int
        The number of scores of a row.
    """
    if params.get("leaves") == "vector" and n_outputs == 1:
        raise InvalidParameterError(
            "leaves='vector' grows one tree for several scores, but two classes, or one target, "
            "have only one; set leaves='constant'."
        )
    for kind, value in NEEDS:
        if _has(params, kind, value):
            check_need(params, kind, value)


def _has(params: Mapping[str, Any], kind: str, value: str) -> bool:
    """Return whether a parameter has a value, or is an option of this kind."""
    if value == "target":
        return isinstance(params.get(kind), OrderedTargetEncoding)
    return _is_one_of(params.get(kind), (value,))


def check_need(params: Mapping[str, Any], kind: str, value: str) -> None:
    """Raise unless the other parameters have values that this value of a parameter needs."""
    why, needs = NEEDS[kind, value]
    for name, needed in needs.items():
        if name in params and not _is_one_of(params[name], needed):
            raise InvalidParameterError(
                f"{kind}={value!r} {why}: {_short_name(name)} must be "
                f"{' or '.join(map(repr, needed))}; got {short_repr(params[name])}."
            )


def _short_name(name: str) -> str:
    """Return the name of a parameter without the part that a plain value stands for."""
    return name.removesuffix("__method").removesuffix("__per_node")


def is_possible(params: Mapping[str, Any], kind: str, value: str) -> bool:
    """Return whether the other parameters have values that this value of a parameter needs."""
    _, needs = NEEDS[kind, value]
    return all(_is_one_of(params[name], needs[name]) for name in needs if name in params)


def allows(params: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether a parameter can have this value with the others."""
    all_needs = [needs for (kind, of), (_, needs) in NEEDS.items() if _has(params, kind, of)]
    return all(_is_one_of(value, needs[name]) for needs in all_needs if name in needs)


NOT_SPARSE: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("split", "exact"): "sorts all rows by every feature",
        ("split", "approx"): "sorts all rows by every feature",
        ("criterion", "absolute_error"): "sorts the targets of all rows in every node",
        ("criterion", "poisson"): "adds up the rows of every node",
        ("leaves", "vector"): "adds vectors to the sums of every value",
        ("leaves", "linear"): "multiplies all values of a leaf with each other",
        ("missing_strategy", "mean"): "replaces the missing values of every column",
        ("missing_strategy", "probability"): "replaces the missing values of every column",
    }
)
"""The values of parameters that need dense tables, and why."""

SPARSE: Mapping[str, str] = MappingProxyType(
    {
        "split": "histogram",
        "criterion": "squared_error",
        "leaves": "constant",
        "missing_strategy": "learned",
    }
)
"""The values of the same parameters that work with sparse tables."""


def _name_of(value: Any) -> Any:
    """Return the name of the value of a parameter, also if the value is an option."""
    if isinstance(value, LinearLeaves):
        return "linear"
    return value.method if isinstance(value, SplitSearch) else value


def reads_sparse(params: Mapping[str, Any]) -> bool:
    """Return whether such trees can be grown on a sparse matrix."""
    return not any(_is_one_of(_name_of(params.get(name)), (value,)) for name, value in NOT_SPARSE)


def check_sparse(params: Mapping[str, Any]) -> None:
    """Raise InvalidParameterError unless such trees can be grown on a sparse matrix."""
    for (name, value), why in NOT_SPARSE.items():
        if _is_one_of(_name_of(params.get(name)), (value,)):
            raise InvalidParameterError(
                f"{name}={value!r} {why}, and X is a sparse matrix. Set {name}={SPARSE[name]!r}, "
                "or pass X.toarray() if that fits into memory."
            )


def _is_one_of(value: Any, choices: tuple[Any, ...]) -> bool:
    # Arrays compare element by element.
    return any(value is c or (type(value) is type(c) and value == c) for c in choices)
