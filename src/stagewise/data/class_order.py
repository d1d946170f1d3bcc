"""The order of classes: of numbers and ordered categories their own, of text one that is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.labels import Labels
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = ["category_order", "order_labels", "place_labels"]

Array = npt.NDArray[Any]


def place_labels(classes: Array, labels: Array) -> npt.NDArray[np.intp]:
    """Return the position of each label among the classes, which may have any order."""
    order = np.argsort(classes, kind="stable")
    return order[np.searchsorted(classes, labels, sorter=order)]


def category_order(y: Any) -> list[Any] | None:
    """Return the categories of an ordered categorical series, in order; None: y is none."""
    dtype = getattr(y, "dtype", None)
    own = getattr(y, "cat", y)
    categories = getattr(own, "categories", None)
    if getattr(dtype, "ordered", False) and categories is not None:  # pandas
        return list(categories)
    if type(dtype).__name__ == "Enum":  # polars
        return list(getattr(dtype, "categories", []))
    return None


def order_labels(labels: Labels, y: Any, given: Sequence[Any] | None, remedy: str) -> Labels:
    """Return labels with classes in their order; classes that y lacks are left out.

    Parameters
    ----------
    labels : Labels
        The sorted classes and their codes.
    y : array-like
        The labels as they were passed.
    given : sequence of labels or None
        The order; None: that of y.
    remedy : str
        What to do about text without an order, for messages.

    Raises
    ------
    ValueError
        If y has a label that the order lacks, or text of more than two classes has no order.
    """
    order = category_order(y) if given is None else list(given)
    classes = labels.classes
    if order is None:
        if classes.dtype.kind in "UTO" and len(classes) > 2:
            raise ValueError(
                f"The order of the classes is unknown: y has the text labels "
                f"{short_repr(classes.tolist()[:6])}, and their alphabetical order has no meaning. "
                f"{remedy}"
            )
        return labels
    order = [own.item() if isinstance(own, np.generic) else own for own in order]
    place = {label: k for k, label in enumerate(order)}
    if len(place) < len(order):
        twice = next(label for k, label in enumerate(order) if place[label] != k)
        raise ValueError(f"The order of the classes has the label {twice!r} twice.")
    for label in classes.tolist():
        if label not in place:
            row = int(np.argmax(labels.codes == classes.tolist().index(label)))
            near = nearest_name(str(label), [str(own) for own in order])
            raise ValueError(
                f"y has the label {label!r} at row {row}, which the order of the classes "
                f"{short_repr(order)} lacks.{near} Add it, or leave such rows out."
            )
    ranks = np.array([place[label] for label in classes.tolist()], dtype=np.intp)
    by_rank = np.argsort(ranks, kind="stable")
    codes = np.empty(len(ranks), dtype=np.int32)
    codes[by_rank] = np.arange(len(ranks), dtype=np.int32)
    return Labels(classes[by_rank], codes[labels.codes])
