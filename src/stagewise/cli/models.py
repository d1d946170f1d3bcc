"""A saved model, and what it wants from a table.

The one idea: a model that remembers its columns takes them from the table by name, whatever else
the table holds and in whatever order; one trained on a nameless array takes columns as they come.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stagewise.cli.columns import feature_table, refuse_text, text_columns
from stagewise.cli.complaint import Complaint, did_you_mean, listing
from stagewise.model.file import read_model

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["model_input", "named_input", "open_model", "remembered_target", "save_model"]


def open_model(path: Path, threads: int | None = None) -> Any:
    """Load a model as the estimator it was saved from."""
    import stagewise

    if not path.exists():
        raise Complaint(f"There is no model {str(path)!r}; make one with: stagewise train.")
    if path.is_dir():
        raise Complaint(f"{str(path)!r} is a folder; name the model file in it.")
    estimator = stagewise.load(path)
    if threads is not None:
        estimator.set_params(n_jobs=threads)
    return estimator


def save_model(estimator: Any, path: Path, target: str) -> None:
    """Save an estimator, and with it the name of the column it was trained to predict."""
    # How the training was watched is nothing to remember.
    estimator.set_params(verbose=0)
    estimator.save(path, notes={"target": target})


def remembered_target(path: Path) -> str | None:
    """Return the name of the column a saved model was trained to predict, if it says."""
    _, notes = read_model(path)
    target = notes.get("target")
    return target if isinstance(target, str) else None


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
    names = estimator.model_.features.names
    if names is None:
        return _nameless_input(estimator.n_features_in_, table, path, besides)
    return named_input(names, table, path)


def named_input(names: Sequence[str], table: pa.Table, path: Path) -> pa.Table:
    """Return the columns of these names, in this order; all must be there and hold numbers."""
    missing = [name for name in names if name not in table.column_names]
    if missing:
        hint = did_you_mean(missing[0], table.column_names) if len(missing) == 1 else ""
        raise Complaint(
            f"{str(path)!r} lacks {len(missing)} of the {len(names)} columns the model was trained "
            f"on: {listing(missing)}{hint}; add them (empty cells count as missing values)."
        )
    chosen = table.select(names)
    text = text_columns(chosen)
    if text:
        raise Complaint(
            f"{str(path)!r} holds text in {listing(text)}, where the model was trained on numbers; "
            "mend these columns."
        )
    return feature_table(chosen, names)


def _nameless_input(n_features: int, table: pa.Table, path: Path, besides: Collection[str]) -> Any:
    names = [name for name in table.column_names if name not in besides]
    if len(names) != n_features:
        raise Complaint(
            f"The model was trained on {n_features} columns without names, and {str(path)!r} has "
            f"{len(names)} that could be meant; leave out the others with --ignore."
        )
    chosen = table.select(names)
    text = text_columns(chosen)
    if text:
        raise refuse_text(chosen, text)
    columns = feature_table(chosen, names)
    return np.column_stack([columns.column(name).to_numpy() for name in names])
