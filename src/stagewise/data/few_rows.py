"""Encodes few rows cell by cell, for predictions that take microseconds.

A cell is *plain* if its code needs no rule: a float, a boolean, an integer up to 2**53, a missing
value, or a known category; numbers in a column of dates or durations are not. Rows of plain cells
become a matrix of floats, which equals the columns of the general path to the bit. Any other cell,
with its warnings and errors, is left to the general path. This module must not import features.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.categories.categories import Category
from stagewise.data.feature import Feature
from stagewise.data.reading.column import LARGEST_EXACT
from stagewise.data.reading.plain_cells import plain_cells

__all__ = ["FewRows"]


class FewRows:
    """Encodes few rows for the features of a model.

    Parameters
    ----------
    features : sequence of Feature
        The features. They must have names, and none may have wide integers; see `supports`.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self._names = [str(feature.name) for feature in features]
        self._categories = [feature.categories for feature in features]
        self._temporal = [feature.temporal_type is not None for feature in features]
        self._categorical = frozenset(j for j, c in enumerate(self._categories) if c is not None)

    @staticmethod
    def supports(features: Sequence[Feature]) -> bool:
        """Return whether rows of these features can be encoded cell by cell."""
        return all(f.name is not None and f.kind != "wide_integer" for f in features)

    def encode(self, X: Any) -> npt.NDArray[np.float64] | None:
        """Return the rows of X as floats, categories as codes.

        Parameters
        ----------
        X : object
            The data.

        Returns
        -------
        float64 array of shape (n_rows, n_features), or None
            None: X has many rows, another type, or a cell that is not plain.
        """
        columns = plain_cells(X, self._names, self._categorical)
        if not columns or not columns[0]:
            return None
        numbers: list[list[float]] = []
        known = zip(columns, self._categories, self._temporal, strict=True)
        for cells, categories, is_temporal in known:
            if categories is None:
                column = [_number(cell) for cell in cells]
                if is_temporal and not all(number != number for number in column):
                    return None  # the general path has the error
            else:
                codes = categories.codes
                column = [_code(cell, codes) for cell in cells]
            if None in column:
                return None
            numbers.append(column)  # type: ignore[arg-type]
        return np.array(numbers).T.copy()


def _number(cell: Any) -> float | None:
    """Return the number of a plain cell; NaN if it is missing; None if it is not plain."""
    kind = type(cell)
    if kind is float or kind is np.float64:
        return float(cell)
    if kind is int or kind is np.int64:
        return float(cell) if -LARGEST_EXACT <= cell <= LARGEST_EXACT else None
    if cell is None:
        return math.nan
    return float(cell) if kind is bool else None


def _code(cell: Any, codes: Mapping[Category, int]) -> float | None:
    """Return the code of a plain cell; NaN if it is missing; None if it is not plain."""
    if type(cell) is not str:
        number = _number(cell)
        if number is None or number != number:
            return number
        # Equal numbers have equal hashes: 1, 1.0 and True are one category.
        cell = number
    return codes.get(cell)
