"""The first pass over a dataset: it reads targets and weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cluster.peers import ALONE, Peers
from stagewise.data import read_labels, read_target
from stagewise.data.target import FrequencyScale, read_weights
from stagewise.datasets.batch import Batch
from stagewise.datasets.dataset import Dataset
from stagewise.training.stored.dataset_target import DatasetTarget
from stagewise.training.stored.gather_rows import plain_column
from stagewise.training.stored.placement import Placement
from stagewise.training.stored.row_parts import ABSENT, LEARNED, RowParts
from stagewise.training.stored.spool import Spool

__all__ = ["read_dataset_target"]


def read_dataset_target(
    dataset: Dataset,
    caller: str,
    *,
    of_classes: bool,
    class_weight: Any = None,
    classes: npt.NDArray[Any] | None = None,
    check: Callable[[npt.NDArray[Any]], None] | None = None,
    peers: Peers = ALONE,
) -> DatasetTarget:
    """Read the targets and weights of a dataset.

    Parameters
    ----------
    dataset : Dataset
        The rows; it must have a target.
    caller : str
        The estimator's name, for messages.
    of_classes : bool
        Whether the target is a class.
    class_weight : mapping, "balanced" or None
        The factors of the weights of each class.
    classes : array or None
        Of validation rows: the classes of the training rows.
    check : callable or None
        Raises unless the loss is defined for targets.
    peers : Peers
        The ranks of the fit.
    """
    found = _TargetPass(dataset, caller, of_classes, classes, check).read(peers)
    return found if class_weight is None else found.weighted_by_class(class_weight)


class _TargetPass:
    def __init__(
        self,
        dataset: Dataset,
        caller: str,
        of_classes: bool,
        classes: npt.NDArray[Any] | None,
        check: Callable[[npt.NDArray[Any]], None] | None,
    ) -> None:
        self.dataset, self.caller, self.of_classes = dataset, caller, of_classes
        self.check = check
        self.labels, self.counts = _Labels(caller, classes), Counter[int]()
        folder = dataset.cache
        self.y = Spool(np.int32 if of_classes else np.float64, folder)
        self.weight = None if dataset.weight is None else Spool(np.float64, folder)
        self.parts = None if dataset.weight is None else Spool(np.int8, folder)
        self.n_read = 0

    def read(self, peers: Peers) -> DatasetTarget:
        dataset = self.dataset
        columns = [name for name in (dataset.target, dataset.weight) if name is not None]
        with closing(dataset.batches(columns=columns)) as batches:
            for batch in batches:
                with batch.locate_errors():
                    self._add(batch)
        placement = Placement.gather(self.counts, peers)
        if not placement.n_all:
            raise ValueError(
                "Sample weights must contain at least one non-zero number, but all weights of the "
                f"dataset are 0 (column {dataset.weight!r}). Give some rows a positive weight."
            )
        scale, y, classes = FrequencyScale(), self.y, None
        if self.weight is not None:
            scale = FrequencyScale.learn(self.weight.blocks, peers=peers)
        if self.of_classes:
            classes = self.labels.order(peers)
            y = self.labels.recode(self.y, classes)
        whole = all(peers.gather(len(y) == self.n_read))
        row_parts = None if self.parts is None or whole else RowParts(self.parts)
        found = DatasetTarget(
            y, self.weight, scale, classes, placement, self.n_read, row_parts, peers
        )
        return found.without_ones()

    def _add(self, batch: Batch) -> None:
        """Add the rows of a batch."""
        self.n_read += batch.n_rows
        present = None
        if self.weight is not None and self.parts is not None:
            weight = read_weights(batch.table.column(self.dataset.weight).to_numpy(), batch.n_rows)
            present = weight > 0
            self.parts.append(np.where(present, LEARNED, ABSENT))
            self.weight.append(weight[present])
        cells = plain_column(batch.table.column(self.dataset.target))
        if self.of_classes:
            y: npt.NDArray[Any] = self.labels.codes(cells, present)
        else:
            y = read_target(cells, len(cells), caller=self.caller)
            if self.check is not None:
                self.check(y)
            y = y if present is None else y[present]
        self.counts[batch.partition or 0] += len(y)
        self.y.append(y)


class _Labels:
    """The labels that the batches have had so far, numbered in the order of their first rows."""

    def __init__(self, caller: str, known: npt.NDArray[Any] | None) -> None:
        self._caller, self._known = caller, known
        self._number: dict[Any, int] = {}
        self._first: list[npt.NDArray[Any]] = []  # the labels of each batch, in order

    def codes(self, cells: Any, present: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int32]:
        """Return the numbers of the labels of the rows of a batch that are present (None: all)."""
        classes, codes = read_labels(cells, len(cells), caller=self._caller)
        if present is not None:
            used, places = np.unique(codes[present], return_inverse=True)
            classes, codes = classes[used], places.astype(np.int32)
        self._refuse_unknown(classes)
        new = np.array([label not in self._number for label in classes.tolist()], dtype=bool)
        if new.any():
            self._first.append(classes[new])
        for label in classes.tolist():
            self._number.setdefault(label, len(self._number))
        places = np.array([self._number[label] for label in classes.tolist()], dtype=np.int32)
        return np.asarray(places[codes], dtype=np.int32)

    def _refuse_unknown(self, classes: npt.NDArray[Any]) -> None:
        if self._known is None:
            return
        known = set(self._known.tolist())
        unknown = [label for label in classes.tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"The target has the label {unknown[0]!r}, which the training rows do not have "
                f"(their classes are {self._known.tolist()[:20]}). Leave such rows out of X_val."
            )

    def order(self, peers: Peers) -> npt.NDArray[Any]:
        """Return the labels of all ranks in the order of their final codes."""
        if self._known is not None:
            return self._known
        labels = np.concatenate([part for parts in peers.gather(self._first) for part in parts])
        return np.asarray(read_labels(labels, len(labels), caller=self._caller)[0])

    def recode(self, numbers: Spool, order: npt.NDArray[Any]) -> Spool:
        """Return the final codes of the numbers."""
        place = {label: code for code, label in enumerate(order.tolist())}
        final = np.array([place[label] for label in self._number], dtype=np.int32)
        codes = Spool(np.int32, numbers.folder)
        for block in numbers.blocks():
            codes.append(final[block])
        numbers.close()
        return codes
