"""Reading a dataset for a fit: the same `TrainingData` as of a table in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.cluster.peers import Peers
from stagewise.data import NO_ROWS, Features, UnknownCategories
from stagewise.data.bins import core_columns
from stagewise.datasets.batch import Batch
from stagewise.datasets.dataset import Dataset
from stagewise.training.reading.feature_reader import FeatureReader
from stagewise.training.reading.folds import FoldSizes
from stagewise.training.reading.target_reader import ClassReader, TargetReader
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.specs import HoldOutSpec
from stagewise.training.stored.dataset_rows import DatasetRows, learn_features
from stagewise.training.stored.dataset_target import DatasetTarget
from stagewise.training.stored.hold_out import DatasetFold, DividedRows, hold_out
from stagewise.training.stored.target_pass import read_dataset_target

__all__ = ["DatasetTrainingData", "check_dataset_arguments", "read_training_dataset"]

Indices = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class DatasetTrainingData(TrainingData):
    """The rows of a dataset that a trainer gets; `train` and `valid` are `DatasetRows`.

    Attributes
    ----------
    fold : DatasetFold or None
        The fold that chooses the number of rounds; None: there is none.
    """

    fold: DatasetFold | None = None

    @property
    def fold_sizes(self) -> list[FoldSizes]:
        """The sizes of the fold; empty: there is none."""
        return [] if self.fold is None else [self.fold.sizes]


def read_training_dataset(
    arguments: FitArguments,
    reader: FeatureReader,
    target_reader: TargetReader,
    spec: HoldOutSpec,
    seed: int,
    check: Callable[[DividedRows], None],
    check_target: Callable[[npt.NDArray[Any]], None] | None,
    peers: Peers,
) -> DatasetTrainingData:
    """Read the arguments of `fit` if X is a dataset; see `read_training_data`.

    Parameters
    ----------
    arguments : FitArguments
        As `check_dataset_arguments` accepts them.
    reader, target_reader
        How X and y are read.
    spec : HoldOutSpec
        Which rows are held out, unless there are validation rows.
    seed : int
        The key of that choice, and of the sample for cuts.
    check : callable
        Gets the rows after the first pass; it raises if they cannot be trained on.
    check_target : callable or None
        Raises unless the loss is defined for targets; None: they are classes.
    peers : Peers
        The ranks. The dataset has the rows of this one; scales, classes, features and the sample
        for cuts are those of all rows.

    Raises
    ------
    NeedsRowsInMemoryError
        If rows must be in memory.
    """
    dataset, caller = arguments.X, reader.caller
    target = read_dataset_target(
        dataset,
        caller,
        of_classes=isinstance(target_reader, ClassReader),
        class_weight=getattr(target_reader, "class_weight", None),
        check=check_target,
        peers=peers,
    )
    rows = hold_out(target, spec if arguments.X_val is None else HoldOutSpec(), seed)
    check(rows)
    features, sample = learn_features(dataset, rows.train, reader, seed)
    parts = _Reading(dataset, reader, features)
    train = DatasetRows(dataset, rows.train, parts.training, sample)
    fold, valid = rows.fold, None
    if fold is not None:
        held: Any = fold.held
        fold = replace(fold, held=DatasetRows(dataset, held, parts.training))
    if arguments.X_val is not None:
        valid = parts.validation_rows(arguments.X_val, rows.train, check_target)
    elif rows.held is not None:
        valid = DatasetRows(dataset, rows.held, parts.held_out)
    return DatasetTrainingData(
        features,
        train,  # type: ignore[arg-type]
        valid,  # type: ignore[arg-type]
        None,
        rows.train.classes,
        None,
        None,
        rows.train.n_rows,
        sample.missing,
        parts.unknown,
        fold=fold,
    )


class _Reading:
    """How batches become columns; `unknown` gets the counts of unknown categories."""

    def __init__(self, dataset: Dataset, reader: FeatureReader, features: Features) -> None:
        self.dataset, self.reader, self.features = dataset, reader, features
        self.unknown: Counter[int] = Counter()

    def training(self, batch: Batch, rows: Indices | None) -> Any:
        """Return training rows: every category is known."""
        table = self.reader.read(self.dataset.features_of(batch))
        return core_columns(self.features.columns(table, UnknownCategories("missing", NO_ROWS)))

    def held_out(self, batch: Batch, rows: Indices | None) -> Any:
        """Return rows that the fit itself holds out: it accepts unknown categories."""
        table = self.reader.read(self.dataset.features_of(batch))
        found = UnknownCategories(self.reader.spec.handle_unknown, rows)
        columns = core_columns(self.features.columns(table, found))
        self.unknown.update(found.rows_per_column)
        return columns

    def validation_rows(
        self,
        X_val: Dataset,
        target: DatasetTarget,
        check: Callable[[npt.NDArray[Any]], None] | None,
    ) -> DatasetRows:
        """Return the rows of X_val."""

        def read(batch: Batch, rows: Indices | None) -> Any:
            found = UnknownCategories(self.reader.spec.handle_unknown, rows)
            table = self.reader.read_validation(X_val.features_of(batch), self.features)
            columns = core_columns(self.features.columns(table, found))
            found.refuse(self.features.names)
            self.unknown.update(found.rows_per_column)
            return columns

        try:
            own = read_dataset_target(
                X_val,
                self.reader.caller,
                of_classes=target.classes is not None,
                classes=target.classes,
                check=check,
                peers=target.peers,
            )
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):
                raise
            raise type(error)(f"In X_val: {error}") from error
        return DatasetRows(X_val, own, read)


def check_dataset_arguments(arguments: FitArguments) -> None:
    """Raise unless the arguments can be passed with a dataset."""
    for name in ("y", "sample_weight", "y_val", "sample_weight_val"):
        if getattr(arguments, name) is not None:
            role = "weight" if "weight" in name else "target"
            raise TypeError(
                f"X is a Dataset, which has its own {role}, so {name} cannot be passed. Name the "
                f"column when the dataset is opened: read_parquet(…, {role}=…)."
            )
    if arguments.X.target is None:
        raise ValueError(
            "The dataset has no target. Name its column when the dataset is opened: "
            "read_parquet(…, target=…)."
        )
    if arguments.X_val is not None:
        if not isinstance(arguments.X_val, Dataset):
            raise TypeError(
                f"X is a Dataset, so X_val must be one, too; got {type(arguments.X_val).__name__}. "
                "stagewise.read_batches opens a table in memory as a Dataset."
            )
        if arguments.X_val.target is None:
            raise ValueError("X_val has no target. Name its column: read_parquet(…, target=…).")
