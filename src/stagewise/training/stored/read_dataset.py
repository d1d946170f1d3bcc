"""Reading a dataset for a fit: the same `TrainingData` as of a table in memory."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stagewise.cluster.peers import ALONE, Peers
from stagewise.data import NO_ROWS, Features, UnknownCategories
from stagewise.data.bins import core_columns
from stagewise.datasets.batch import Batch
from stagewise.datasets.dataset import Dataset
from stagewise.training.reading.feature_reader import FeatureReader
from stagewise.training.reading.target_reader import ClassReader, TargetReader
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.specs import HoldOutSpec
from stagewise.training.stored.dataset_rows import DatasetRows, learn_features
from stagewise.training.stored.dataset_target import DatasetTarget

__all__ = ["read_training_dataset"]


def read_training_dataset(
    arguments: FitArguments,
    table_reader: FeatureReader,
    target_reader: TargetReader,
    hold_out: HoldOutSpec,
    seed: int,
    *,
    sample_groups: bool = False,
    peers: Peers = ALONE,
) -> TrainingData:
    """Read the arguments of `fit` if X is a dataset; see `read_training_data`.

    With several `peers`, the dataset has the rows of this rank; scales, classes, features and the
    sample for cuts are those of all rows.
    """
    _check_arguments(arguments, hold_out, sample_groups=sample_groups)
    dataset, caller = arguments.X, table_reader.caller
    of_classes = isinstance(target_reader, ClassReader)
    if isinstance(target_reader, ClassReader) and target_reader.class_weight is not None:
        raise ValueError(
            "class_weight is not supported for a Dataset yet; multiply the weight column by the "
            "factor of each class instead."
        )
    folder = dataset.cache
    target = DatasetTarget.read(dataset, caller, folder, of_classes=of_classes, peers=peers)
    features, sample = learn_features(dataset, target, table_reader, seed)

    def read_training(batch: Batch) -> Any:
        table = table_reader.read(dataset.features_of(batch))
        # Every category of the training rows is known.
        return core_columns(features.columns(table, UnknownCategories("missing", NO_ROWS)))

    train = DatasetRows(dataset, target, read_training, sample)
    unknown: Counter[int] = Counter()
    valid = None
    if arguments.X_val is not None:
        valid = _read_validation(arguments.X_val, dataset, table_reader, target, features, unknown)
    return TrainingData(
        features,
        train,  # type: ignore[arg-type]
        valid,  # type: ignore[arg-type]
        None,
        target.classes,
        None,
        None,
        target.n_rows,
        sample.missing,
        unknown,
    )


def _read_validation(
    X_val: Dataset,
    dataset: Dataset,
    reader: FeatureReader,
    target: DatasetTarget,
    features: Features,
    unknown: Counter[int],
) -> DatasetRows:
    """Return the validation rows; `unknown` gets the counts of unknown categories."""
    own = DatasetTarget.read(
        X_val,
        reader.caller,
        dataset.cache,
        of_classes=target.classes is not None,
        classes=target.classes,
        peers=target.peers,
    )

    def read(batch: Batch) -> Any:
        found = UnknownCategories(reader.spec.handle_unknown, None)
        table = reader.read_validation(X_val.features_of(batch), features)
        columns = core_columns(features.columns(table, found))
        found.refuse(features.names)
        unknown.update(found.rows_per_column)
        return columns

    return DatasetRows(X_val, own, read)


def _check_arguments(
    arguments: FitArguments, hold_out: HoldOutSpec, *, sample_groups: bool
) -> None:
    """Raise unless the arguments and parameters are supported for a dataset."""
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
    if arguments.groups is not None or sample_groups:
        raise ValueError("groups are not supported for a Dataset yet; pass a table in memory.")
    if hold_out.kind != "none" and arguments.X_val is None:
        raise ValueError(
            f"{hold_out.parameter} holds rows out, which is not supported for a Dataset yet. Set "
            "n_estimators to a number and early_stopping=False, or pass a Dataset as X_val."
        )
