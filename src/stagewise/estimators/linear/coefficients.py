"""Reads names and values of coefficients that a caller passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.errors import InvalidParameterError
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["coefficient_values", "select_names"]

NO_GROUPS: Mapping[str, Sequence[int]] = MappingProxyType({})


def select_names(
    terms: Any, names: Sequence[str], groups: Mapping[str, Sequence[int]] = NO_GROUPS
) -> list[int]:
    """Return the positions of some coefficients.

    Parameters
    ----------
    terms : str, sequence of str, or None
        Names of coefficients or of groups of them; None: all.
    names : sequence of str
        The names of all coefficients.
    groups : mapping of str
        The positions of the coefficients of each categorical feature.

    Raises
    ------
    InvalidParameterError
        If a name is unknown, ambiguous or repeated.
    """
    if terms is None:
        return list(range(len(names)))
    listed = [terms] if isinstance(terms, str) else terms
    if not np.iterable(listed) or not all(isinstance(term, str) for term in listed):
        raise InvalidParameterError(
            f"terms must be names of coefficients, such as {list(names)[-1:]}; got "
            f"{short_repr(terms)}."
        )
    found: list[int] = []
    for term in listed:
        places = [place for place, name in enumerate(names) if name == term]
        if len(places) > 1:
            raise InvalidParameterError(
                f"terms: {term!r} is the name of {len(places)} coefficients. Rename the column."
            )
        places = places or list(groups.get(term, ()))
        if not places:
            raise InvalidParameterError(
                f"terms: there is no coefficient {term!r}."
                f"{nearest_name(term, [*names, *groups])} The names are {short_repr(list(names))}."
            )
        found += places
    repeated = next((names[p] for p in found if found.count(p) > 1), None)
    if repeated is not None or not found:
        what = f"{repeated!r} is there twice" if found else "there is none"
        raise InvalidParameterError(f"terms must be different coefficients; {what}.")
    return found


def coefficient_values(values: Any, names: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return values of coefficients as one vector, or as a matrix with a vector per row.

    Raises
    ------
    InvalidParameterError
        If they are not finite numbers, or their number is not that of the coefficients.
    """
    q = len(names)
    expected = f"a number or {q} numbers, for {short_repr(list(names))}"
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"The values must be {expected}; got {short_repr(values)}."
        ) from None
    given = np.full(q, given) if given.ndim == 0 else given
    if given.ndim > 2 or given.shape[-1] != q:
        raise InvalidParameterError(
            f"The values must be {expected}; got an array of shape {given.shape}."
        )
    if not np.isfinite(given).all():
        raise InvalidParameterError(f"The values must be finite numbers; got {short_repr(values)}.")
    return given
