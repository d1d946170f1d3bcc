"""The targets and weights of a dataset: one pass reads them, and files keep them.

Rows of weight zero are absent: only the others have a number. Neither the sizes of the files nor
those of the batches change anything. On a cluster, each rank reads some of the rows; scales,
classes and sums are those of the rows of all ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cluster.peers import ALONE, Peers
from stagewise.data import read_labels, read_target
from stagewise.data.target import FrequencyScale, read_weights
from stagewise.datasets.batch import Batch
from stagewise.datasets.dataset import Dataset
from stagewise.exact_sums import ExactSums
from stagewise.training.stored.placement import Placement
from stagewise.training.stored.spool import Spool

__all__ = ["DatasetTarget", "present_rows"]

Vector = npt.NDArray[np.float64]


def present_rows(dataset: Dataset, batch: Batch) -> npt.NDArray[np.uint32] | None:
    """Return the rows of a batch that have a positive weight; None: all."""
    if dataset.weight is None:
        return None
    weight = read_weights(batch.table.column(dataset.weight).to_numpy(), batch.n_rows)
    return None if weight.min(initial=1.0) > 0 else np.flatnonzero(weight > 0).astype(np.uint32)


@dataclass(frozen=True)
class DatasetTarget:
    """The targets and weights of the rows of positive weight.

    Attributes
    ----------
    y : Spool
        Of the rows that this rank reads: float64, or int32 codes of classes.
    weight : Spool or None
        The weights as the dataset has them; None: all ones.
    scale : FrequencyScale
        How they become frequencies.
    classes : array or None
        The labels in the order of their codes; None: regression.
    placement : Placement
        The numbers of the rows in the fit.
    peers : Peers
        The ranks of the fit.
    """

    y: Spool
    weight: Spool | None
    scale: FrequencyScale
    classes: npt.NDArray[Any] | None
    placement: Placement
    peers: Peers = ALONE

    @property
    def n_rows(self) -> int:
        """The number of rows of all ranks."""
        return self.placement.n_all

    @classmethod
    def read(
        cls,
        dataset: Dataset,
        caller: str,
        folder: Path | None,
        *,
        of_classes: bool,
        classes: npt.NDArray[Any] | None = None,
        peers: Peers = ALONE,
    ) -> DatasetTarget:
        """Read the targets and weights of a dataset.

        Parameters
        ----------
        dataset : Dataset
            The rows; it must have a target.
        caller : str
            The estimator's name, for messages.
        folder : Path or None
            The folder of the files.
        of_classes : bool
            Whether the target is a class.
        classes : array or None
            Of validation rows: the classes of the training rows.
        peers : Peers
            The ranks of the fit.
        """
        assert dataset.target is not None
        columns = [name for name in (dataset.target, dataset.weight) if name is not None]
        y = Spool(np.int32 if of_classes else np.float64, folder)
        weight = None if dataset.weight is None else Spool(np.float64, folder)
        labels, counts = _Labels(caller, classes), Counter[int]()
        with closing(dataset.batches(columns=columns)) as batches:
            for batch in batches:
                with batch.locate_errors():
                    cells = batch.table.column(dataset.target)
                    rows = present_rows(dataset, batch)
                    if weight is not None:
                        own = batch.table.column(dataset.weight).to_numpy()
                        own = read_weights(own, batch.n_rows)
                        weight.append(own if rows is None else own[rows])
                    if rows is not None:
                        cells = cells.take(rows)
                    counts[batch.partition or 0] += len(cells)
                    if not len(cells):
                        continue
                    plain = cells.to_pandas() if _has_pandas_type(cells) else cells.to_numpy()
                    if of_classes:
                        y.append(labels.codes(plain))
                    else:
                        y.append(read_target(plain, len(plain), caller=caller))
        placement = Placement.gather(counts, peers)
        if not placement.n_all:
            raise ValueError(
                "Sample weights must contain at least one non-zero number, but all weights of the "
                f"dataset are 0 (column {dataset.weight!r}). Give some rows a positive weight."
            )
        scale = FrequencyScale()
        if weight is not None:
            scale = FrequencyScale.learn(weight.blocks, peers=peers)
            ones = all((scale.apply(w) == 1.0).all() for w in weight.blocks())
            weight = None if all(peers.gather(ones)) else weight
        if not of_classes:
            return cls(y, weight, scale, None, placement, peers)
        found = labels.order(peers)
        return cls(labels.recode(y, found, folder), weight, scale, found, placement, peers)

    def rows(self, begin: int, n: int) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the targets and the frequencies of n rows."""
        weight = None if self.weight is None else self.scale.apply(self.weight.read(begin, n))
        return self.y.read(begin, n), weight

    def check_rows(self, n: int, *, complete: bool = True) -> None:
        """Raise unless a pass has had as many rows of positive weight as the first one.

        With `complete=False` the pass goes on.
        """
        known = len(self.y)
        if n > known or (complete and n < known):
            raise ValueError(
                f"The rows of the dataset have changed between two passes: the first one had "
                f"{known:,} rows of positive weight, and a later one has "
                f"{'more' if n > known else f'{n:,}'}. Fit again when the rows stay the same."
            )

    def blocks(self) -> Iterator[tuple[npt.NDArray[Any], Vector | None]]:
        """Read the targets and frequencies in blocks."""
        begin = 0
        for y in self.y.blocks():
            yield y, self.rows(begin, len(y))[1]
            begin += len(y)

    def total_weight(self) -> tuple[float, bool]:
        """Return the sum of the frequencies, and whether all of them are whole numbers."""
        if self.weight is None:
            return float(self.n_rows), True
        sums, whole = ExactSums.of_rows(np.empty(0)), True
        for block in self.weight.blocks():
            own = self.scale.apply(block)
            sums += ExactSums.of_rows(own)
            whole = whole and bool((own == np.floor(own)).all())
        return float(sums.over(self.peers).values[0]), all(self.peers.gather(whole))

    def class_weights(self) -> Vector:
        """Return the sum of the frequencies of each class."""
        assert self.classes is not None
        n = len(self.classes)
        sums = ExactSums.by_code(np.empty(0, np.int32), n)
        for codes, weight in self.blocks():
            sums += ExactSums.by_code(codes, n, weight)
        return sums.over(self.peers).values

    def close(self) -> None:
        """Remove the files."""
        self.y.close()
        if self.weight is not None:
            self.weight.close()


def _has_pandas_type(cells: Any) -> bool:
    """Return whether NumPy has no type for the values of an Arrow column."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(cells.type))


class _Labels:
    """The labels that the batches have had so far, numbered in the order of their first rows."""

    def __init__(self, caller: str, known: npt.NDArray[Any] | None) -> None:
        self._caller, self._known = caller, known
        self._number: dict[Any, int] = {}
        self._first: list[npt.NDArray[Any]] = []  # the labels of each batch, in order

    def codes(self, cells: Any) -> npt.NDArray[np.int32]:
        """Return the numbers of the labels of a batch."""
        classes, codes = read_labels(cells, len(cells), caller=self._caller)
        self._refuse_unknown(classes)
        new = np.array([label not in self._number for label in classes.tolist()], dtype=bool)
        if new.any():
            self._first.append(classes[new])
        for label in classes.tolist():
            self._number.setdefault(label, len(self._number))
        places = np.array([self._number[label] for label in classes.tolist()], dtype=np.int32)
        return places[codes]

    def _refuse_unknown(self, classes: npt.NDArray[Any]) -> None:
        if self._known is None:
            return
        unknown = [label for label in classes.tolist() if label not in set(self._known.tolist())]
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

    def recode(self, numbers: Spool, order: npt.NDArray[Any], folder: Path | None) -> Spool:
        """Return the final codes of the numbers."""
        place = {label: code for code, label in enumerate(order.tolist())}
        final = np.array([place[label] for label in self._number], dtype=np.int32)
        codes = Spool(np.int32, folder)
        for block in numbers.blocks():
            codes.append(final[block])
        numbers.close()
        return codes
