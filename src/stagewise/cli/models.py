"""A saved model, and what it wants from a table.

The one idea: a model that remembers its columns takes them from the table by name, whatever else
the table holds and in whatever order; one trained on a nameless array takes columns as they come.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stagewise.cli.columns import feature_table, refuse_columns, strange_columns, text_columns
from stagewise.cli.errors import Complaint, did_you_mean, listing
from stagewise.cli.methods import takes
from stagewise.data import Features
from stagewise.model.file.format import read_model

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "add_input_arguments",
    "columns_of_text",
    "learning_rate_of",
    "levels_of",
    "model_input",
    "named_input",
    "names_of",
    "open_model",
    "remembered_target",
    "save_model",
]


def open_model(path: Path, threads: int | None = None) -> Any:
    """Load a model as the estimator it was saved from."""
    import stagewise

    if not path.exists():
        raise Complaint(f"There is no model {str(path)!r}; make one with: stagewise train.")
    if path.is_dir():
        raise Complaint(f"{str(path)!r} is a folder; name the model file in it.")
    estimator = stagewise.load(path)
    if threads is not None and takes(type(estimator), "n_jobs"):
        estimator.set_params(n_jobs=threads)
    return estimator


def save_model(estimator: Any, path: Path, target: str) -> None:
    """Save an estimator, and with it the name of the column it was trained to predict."""
    # How the training was watched is nothing to remember.
    if takes(type(estimator), "verbose"):
        estimator.set_params(verbose=0)
    estimator.save(path, notes={"target": target})


def remembered_target(path: Path) -> str | None:
    """Return the name of the column a saved model was trained to predict, if it says."""
    _, notes = read_model(path)
    target = notes.get("target")
    return target if isinstance(target, str) else None


def names_of(estimator: Any) -> list[str]:
    """Return the features' names, made up where the model has none."""
    names = estimator.model_.features.names
    return list(names) if names else [f"x{k}" for k in range(estimator.n_features_in_)]


def learning_rate_of(estimator: Any) -> float | None:
    """Return the ν of a fit, where the method has one."""
    rate = getattr(estimator, "learning_rate_", None)
    return float(rate) if rate is not None and takes(type(estimator), "learning_rate") else None


def levels_of(estimator: Any) -> dict[str, int]:
    """Return the categorical features and how many levels each has."""
    names, features = names_of(estimator), estimator.model_.features
    counts = features.levels_per_feature()
    return {names[k]: counts[k] for k in sorted(features.categorical)}


def columns_of_text(estimator: Any) -> list[str]:
    """Return the columns whose levels are text, which a file must not be taken for numbers in."""
    return [
        feature.name
        for feature in estimator.model_.features
        if feature.name is not None and feature.levels is not None and feature.levels.kind == "text"
    ]


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a saved model reads a table."""
    parser.add_argument(
        "--ignore",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns that are no features (needed only for models trained without names)",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads to use (default: all)")


def model_input(estimator: Any, table: pa.Table, path: Path, besides: Collection[str] = ()) -> Any:
    """Return the columns of a table that a model predicts from.

    Parameters
    ----------
    estimator : fitted estimator
        Its model says which columns.
    table : pyarrow.Table
        All columns of the file.
    path : Path
        The file, for messages.
    besides : collection of str
        Columns that are no features; only a model without names needs to be told.
    """
    features = estimator.model_.features
    if features.names is None:
        return _nameless_input(features, table, path, besides)
    categorical = [features.names[k] for k in features.categorical]
    return named_input(features.names, table, path, categorical)


def named_input(
    names: Sequence[str], table: pa.Table, path: Path, categorical: Collection[str]
) -> pa.Table:
    """Return the columns of these names, in this order; only categorical ones may hold text."""
    missing = [name for name in names if name not in table.column_names]
    if missing:
        hint = did_you_mean(missing[0], table.column_names) if len(missing) == 1 else ""
        raise Complaint(
            f"{str(path)!r} lacks {len(missing)} of the {len(names)} columns the model was trained "
            f"on: {listing(missing)}{hint}; add them (empty cells count as missing values)."
        )
    chosen = table.select(names)
    _refuse_other_kinds(chosen, path, categorical)
    return feature_table(chosen, names)


def _refuse_other_kinds(table: pa.Table, path: Path, categorical: Collection[str]) -> None:
    text = [name for name in text_columns(table) if name not in categorical]
    if text:
        raise Complaint(
            f"{str(path)!r} holds text in {listing(text)}, where the model was trained on numbers; "
            "mend these columns."
        )
    strange = strange_columns(table)
    if strange:
        raise refuse_columns(table, strange)


def _nameless_input(
    features: Features, table: pa.Table, path: Path, besides: Collection[str]
) -> Any:
    names = [name for name in table.column_names if name not in besides]
    if len(names) != features.n:
        raise Complaint(
            f"The model was trained on {features.n} columns without names, and {str(path)!r} has "
            f"{len(names)} that could be meant; leave out the others with --ignore."
        )
    chosen = table.select(names)
    _refuse_other_kinds(chosen, path, [names[k] for k in features.categorical])
    columns = feature_table(chosen, names)
    if not features.categorical:
        return np.column_stack([columns.column(name).to_numpy() for name in names])
    cells = np.empty((table.num_rows, features.n), dtype=object)
    for k, name in enumerate(names):
        cells[:, k] = columns.column(name).to_pylist()
    return cells
