"""Row weights from `class_weight`.

The factor of a class multiplies the weights of its rows. A class with the factor 0 is absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data import as_frequencies
from stagewise.data.labels import Labels
from stagewise.errors import InvalidParameterError
from stagewise.exact_sums import sum_by_code, sum_rows
from stagewise.validation.messages import short_repr

__all__ = ["class_factors", "class_weighted", "targets_weighted", "without_absent"]

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


def class_weighted(
    class_weight: Any, classes: npt.NDArray[Any], codes: Codes, weight: Vector | None
) -> Vector | None:
    """Return the weights of rows, multiplied by the factors of their classes.

    Parameters
    ----------
    class_weight : mapping of label to number, "balanced" or None
        The parameter. A class that a mapping does not name has the factor 1.
    classes, codes : array
        The labels, and the position of each row's label among them.
    weight : float64 array or None
        Checked weights, as the caller passed them.

    Returns
    -------
    float64 array or None
        How often each row counts. Products that are whole numbers are counts; otherwise the
        products are scaled so that their sum is that of the weights before.
    """
    counted = None if weight is None else as_frequencies(weight)
    if class_weight is None:
        return counted
    factor = class_factors(class_weight, classes, sum_by_code(codes, len(classes), counted))
    product = factor[codes] if counted is None else factor[codes] * counted
    total = float(len(codes)) if counted is None else sum_rows(counted)
    return as_frequencies(np.asarray(product, dtype=np.float64), total=total)


def targets_weighted(
    class_weight: Any, labels: Sequence[Labels], weight: Vector | None
) -> Vector | None:
    """Return the weights of rows, multiplied by the factors of the classes of all their targets.

    Parameters
    ----------
    class_weight : "balanced", list of mappings or "balanced", or None
        The parameter: one entry per target, or one for all.
    labels : sequence of Labels
        The classes of each target.
    weight : float64 array or None
        As of `class_weighted`.
    """
    counted = None if weight is None else as_frequencies(weight)
    if class_weight is None:
        return counted
    each = class_weight if isinstance(class_weight, (list, tuple)) else [class_weight] * len(labels)
    if isinstance(class_weight, Mapping) or len(each) != len(labels):
        raise InvalidParameterError(
            f"The parameter 'class_weight' of {len(labels)} targets must be None, 'balanced', or a "
            f"list with a dict of label to number for each target; got {short_repr(class_weight)}."
        )
    n_rows = len(labels[0].codes)
    product = np.ones(n_rows) if counted is None else counted.copy()
    for own, (classes, codes) in zip(each, labels, strict=True):
        if own is not None:
            share = sum_by_code(codes, len(classes), counted)
            product *= class_factors(own, classes, share)[codes]
    total = float(n_rows) if counted is None else sum_rows(counted)
    return as_frequencies(product, total=total)


def class_factors(class_weight: Any, classes: npt.NDArray[Any], share: Vector) -> Vector:
    """Return the factor of each class.

    Parameters
    ----------
    class_weight : mapping of label to number, or "balanced"
        The parameter.
    classes : array
        The labels.
    share : float64 array
        The sum of the weights of each class.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(math.fsum(share) / (len(classes) * share))
    return _given(class_weight, classes)


def without_absent(
    classes: npt.NDArray[Any], codes: Codes, weight: Vector | None
) -> tuple[npt.NDArray[Any], Codes]:
    """Return the classes that have a row of positive weight, and codes; others have any code."""
    if weight is None or weight.min() > 0.0:
        return classes, codes
    alive = np.bincount(codes[weight > 0], minlength=len(classes)) > 0
    renumbered = (np.cumsum(alive) - 1).clip(0).astype(np.int32)
    return classes[alive], renumbered[codes]


def _given(class_weight: Any, classes: npt.NDArray[Any]) -> Vector:
    if not isinstance(class_weight, Mapping):
        raise InvalidParameterError(
            "The parameter 'class_weight' must be None, 'balanced', or a dict of label to number; "
            f"got {short_repr(class_weight)}."
        )
    labels = classes.tolist()
    left_out = [label for label in labels if label not in class_weight]
    unknown = [label for label in class_weight if label not in set(labels)]
    if left_out and unknown:
        # One of the two alone may be intended; both together are a misspelt label.
        raise InvalidParameterError(
            f"The parameter 'class_weight' names {short_repr(unknown[0])}, which is not a label of "
            f"y, and leaves out {short_repr(left_out[0])}, which is."
        )
    factor = np.ones(len(labels))
    for place, label in enumerate(labels):
        value = class_weight.get(label, 1.0)
        try:
            factor[place] = value
        except (TypeError, ValueError):
            factor[place] = np.nan
        if not 0.0 <= factor[place] < np.inf:
            raise InvalidParameterError(
                f"The parameter 'class_weight' must hold finite numbers that are not negative; "
                f"it holds {short_repr(value)} for the label {short_repr(label)}."
            )
    if not factor.any():
        raise InvalidParameterError(
            "The parameter 'class_weight' is 0 for every class, so no row would count."
        )
    return factor
