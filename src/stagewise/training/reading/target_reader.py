"""Reading y: numbers, or codes of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stagewise.data import (
    as_frequencies,
    check_weight,
    read_label_columns,
    read_labels,
    read_target,
    read_targets,
    target_names,
)
from stagewise.data.class_order import order_labels, place_labels
from stagewise.data.labels import Labels
from stagewise.training.reading.class_weights import (
    class_weighted,
    targets_weighted,
    without_absent,
)

__all__ = [
    "ClassReader",
    "ClassTargetsReader",
    "NumberReader",
    "OrderedClassReader",
    "Target",
    "TargetReader",
]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """The targets of all rows.

    Attributes
    ----------
    y : array
        float64 of shape (n_rows,) or (n_rows, n_targets), or int32 codes of classes.
    weight : float64 array or None
        How often each row counts.
    classes : array or None
        The labels in the order of their codes; None: regression.
    names : tuple of str or None
        The names of several targets.
    class_targets : tuple of arrays or None
        The labels of each of several targets of classes; then y has their codes, shape
        (n_rows, n_targets), and `classes` is None.
    groups : array or None
        The group of every row, such as its query: rows of a group are held out together.
    """

    y: npt.NDArray[Any]
    weight: Vector | None
    classes: npt.NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    class_targets: tuple[npt.NDArray[Any], ...] | None = None
    groups: npt.NDArray[Any] | None = None


class TargetReader(Protocol):
    """Reads y and sample_weight."""

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Return the targets of the rows of X."""

    def read_validation(
        self, y: Any, sample_weight: Any, n_rows: int, classes: Any
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the targets and weights of evaluation rows, which have the same classes."""


@dataclass(frozen=True)
class ClassReader:
    """Reads labels of classes.

    Parameters
    ----------
    caller : str
        The estimator's name, for messages.
    class_weight : mapping, "balanced" or None
        The factors of the weights of each class.
    """

    caller: str
    class_weight: Any

    def read_classes(self, y: Any, n_rows: int) -> Labels:
        """Return the classes in the order of their codes, and the code of each row."""
        return read_labels(y, n_rows, caller=self.caller)

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Return the codes of the classes."""
        classes, codes = self.read_classes(y, n_rows)
        weight = check_weight(sample_weight, n_rows)
        classes, codes = without_absent(classes, codes, weight)
        weight = class_weighted(self.class_weight, classes, codes, weight)
        classes, codes = without_absent(classes, codes, weight)
        return Target(codes, weight, classes)

    def read_validation(
        self, y: Any, sample_weight: Any, n_rows: int, classes: Any
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the codes and weights of evaluation rows."""
        assert classes is not None
        found, codes = read_labels(y, n_rows, caller=self.caller)
        unknown = [label for label in found.tolist() if label not in set(classes.tolist())]
        if unknown:
            raise ValueError(
                f"there is the label {unknown[0]!r}, which y does not have (the classes of the "
                f"training rows are {classes.tolist()[:20]}). Leave such rows out."
            )
        places = place_labels(classes, found).astype(np.int32)
        weight = check_weight(sample_weight, n_rows)
        return places[codes], None if weight is None else as_frequencies(weight)


@dataclass(frozen=True)
class OrderedClassReader(ClassReader):
    """Reads labels of ordered classes.

    Parameters
    ----------
    caller, class_weight
        As of `ClassReader`.
    order : sequence of labels or None
        The classes in their order; None: numbers, or an ordered categorical.
    """

    order: Sequence[Any] | None = None

    def read_classes(self, y: Any, n_rows: int) -> Labels:
        """Return the classes in their order; see `order_labels`."""
        remedy = (
            "Pass class_order=[...], the labels from the lowest to the highest; or an ordered "
            "categorical (pandas.Categorical(y, categories=[...], ordered=True)), or integers."
        )
        return order_labels(super().read_classes(y, n_rows), y, self.order, remedy)


@dataclass(frozen=True)
class ClassTargetsReader(ClassReader):
    """Reads labels of classes of one target or of several.

    Parameters
    ----------
    caller, class_weight
        As of `ClassReader`; for several targets also a list with a mapping for each.
    """

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Return the codes of the classes; of several targets, a column for each."""
        columns = read_label_columns(y, n_rows, caller=self.caller)
        if columns is None:
            return super().read(y, sample_weight, n_rows)
        weight = check_weight(sample_weight, n_rows)
        labels = [Labels(*without_absent(*own, weight)) for own in columns]
        weight = targets_weighted(self.class_weight, labels, weight)
        labels = [Labels(*without_absent(*own, weight)) for own in labels]
        codes = np.column_stack([own.codes for own in labels]).astype(np.int32)
        classes = tuple(own.classes for own in labels)
        return Target(codes, weight, None, target_names(y), classes)

    def read_validation(
        self, y: Any, sample_weight: Any, n_rows: int, classes: Any
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the codes and weights of evaluation rows."""
        if not isinstance(classes, tuple):
            return super().read_validation(y, sample_weight, n_rows, classes)
        columns = read_label_columns(y, n_rows, caller=self.caller)
        if columns is None or len(columns) != len(classes):
            n = 1 if columns is None else len(columns)
            raise ValueError(f"there must be as many targets as in y, {len(classes)}; got {n}.")
        each = [
            super(ClassTargetsReader, self).read_validation(
                found.classes[found.codes], sample_weight, n_rows, own
            )
            for found, own in zip(columns, classes, strict=True)
        ]
        return np.column_stack([codes for codes, _ in each]).astype(np.int32), each[0][1]


@dataclass(frozen=True)
class NumberReader:
    """Reads numbers.

    Parameters
    ----------
    caller : str
        The estimator's name, for messages.
    several : bool
        Whether y may have more than one column.
    """

    caller: str
    several: bool = False

    def read(self, y: Any, sample_weight: Any, n_rows: int) -> Target:
        """Return the targets as float64."""
        read = read_targets if self.several else read_target
        target = read(y, n_rows, caller=self.caller)
        weight = check_weight(sample_weight, n_rows)
        names = target_names(y) if self.several else None
        return Target(target, None if weight is None else as_frequencies(weight), None, names)

    def read_validation(
        self, y: Any, sample_weight: Any, n_rows: int, classes: Any
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the targets and weights of evaluation rows."""
        target = self.read(y, sample_weight, n_rows)
        return target.y, target.weight
