"""Loads and saves models, and selects the columns that a model needs from a table.

A model trained with column names selects columns by name, in any order and among others. A model
trained on an array without names uses all columns in their order.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from stagewise.cli.columns import (
    feature_table,
    text_columns,
    unsupported_columns,
    unsupported_columns_error,
)
from stagewise.cli.errors import InputError, did_you_mean, listing, row_name
from stagewise.cli.methods import has_parameter
from stagewise.cli.names import add_column_names
from stagewise.data import Features
from stagewise.data.reading.column import is_number
from stagewise.data.reading.text_dates import MISSING_TEXTS, parse_iso_date
from stagewise.datasets import Dataset
from stagewise.datasets.csv_source import ENDINGS as CSV
from stagewise.datasets.parquet_source import ENDINGS as PARQUET
from stagewise.model.file.format import read_model
from stagewise.validation.messages import short_repr

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "add_input_arguments",
    "check_text",
    "check_text_columns",
    "learning_rate_of",
    "model_input",
    "n_categories_of",
    "named_input",
    "names_of",
    "open_model",
    "save_model",
    "saved_query_name",
    "saved_target_name",
    "saved_times",
    "text_category_columns",
]


TABLES = (*CSV, *PARQUET)
"""The endings of tables, which are no models."""


def open_model(path: Path, threads: int | None = None, data: Sequence[Any] = ()) -> Any:
    """Load a model as the estimator that was saved; `data` are the tables that follow it."""
    import stagewise

    if path.name.lower().endswith(TABLES):
        model = next((str(name) for name in data if str(name).endswith(".stgw")), "")
        raise InputError(
            f"{str(path)!r} is a table, not a Stagewise model; the model comes first"
            + (f": {shlex.join([model, str(path)])}." if model else ".")
        )
    if not path.exists():
        raise InputError(f"There is no model {str(path)!r}; train one with: stagewise train.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name the model file in it.")
    estimator = stagewise.load(path)
    if threads is not None and has_parameter(type(estimator), "n_jobs"):
        estimator.set_params(n_jobs=threads)
    return estimator


def save_model(
    estimator: Any,
    path: Path,
    target: str,
    query: str | None = None,
    times: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Save an estimator with the names of its target, query and times."""
    # The verbosity of the training is not part of the model.
    if has_parameter(type(estimator), "verbose"):
        estimator.set_params(verbose=0)
    others = {"query": query, "times": dict(times)}
    named = {name: value for name, value in others.items() if value}
    estimator.save(path, notes={"target": target, **named})


def saved_target_name(path: Path) -> str | None:
    """Return the name of the target column of a saved model; None if it has none."""
    _, notes = read_model(path)
    target = notes.get("target")
    return target if isinstance(target, str) else None


def saved_query_name(path: Path) -> str | None:
    """Return the name of the query column of a saved ranker; None if it has none."""
    _, notes = read_model(path)
    query = notes.get("query")
    return query if isinstance(query, str) else None


def saved_times(path: Path) -> dict[str, str]:
    """Return the columns of times until an event of a saved model, besides the time."""
    times = read_model(path)[1].get("times")
    return {str(name): str(column) for name, column in (times or {}).items()}


def names_of(estimator: Any) -> list[str]:
    """Return the names of the features; x0, x1, … if the model has none."""
    names = estimator.model_.features.names
    return list(names) if names else [f"x{k}" for k in range(estimator.n_features_in_)]


def learning_rate_of(estimator: Any) -> float | None:
    """Return the learning rate of a fit; None if the method has none."""
    rate = getattr(estimator, "learning_rate_", None)
    return (
        float(rate)
        if rate is not None and has_parameter(type(estimator), "learning_rate")
        else None
    )


def n_categories_of(estimator: Any) -> dict[str, int]:
    """Return the number of categories of each categorical feature."""
    names, features = names_of(estimator), estimator.model_.features
    counts = features.n_categories_per_feature()
    return {names[k]: counts[k] for k in sorted(features.categorical)}


def text_category_columns(estimator: Any) -> list[str]:
    """Return the categorical columns with text categories, which must be read as text."""
    return [
        feature.name
        for feature in estimator.model_.features
        if feature.name is not None
        and feature.categories is not None
        and feature.categories.kind == "text"
    ]


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the input table of a saved model."""
    without = "columns to leave out (needed only for models trained without column names)"
    add_column_names(parser, "--ignore", without)
    parser.add_argument(
        "--threads", type=int, metavar="N", help="number of threads (default: all cores)"
    )


def model_input(estimator: Any, table: pa.Table, path: Path, besides: Collection[str] = ()) -> Any:
    """Return the feature columns of a model from a table.

    Parameters
    ----------
    estimator : fitted estimator
        A fitted estimator.
    table : pyarrow.Table
        All columns of the file.
    path : Path
        The file, for messages.
    besides : collection of str
        Columns that are not features; used only for a model without column names.
    """
    features = estimator.model_.features
    if features.names is None:
        return _nameless_input(features, table, path, besides)
    names = [*features.names, *estimator.model_.row_offset.columns]
    return named_input(names, table, path, *_text_features(features, features.names))


def _text_features(features: Features, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the categorical features, and of those that were dates."""
    dates = [name for name, own in zip(names, features, strict=True) if own.temporal_type == "date"]
    return [names[k] for k in features.categorical], dates


def named_input(
    names: Sequence[str],
    table: pa.Table,
    path: Path,
    categorical: Collection[str],
    dates: Collection[str],
) -> pa.Table:
    """Return the named columns, in this order.

    Only categorical columns may have text, and columns of dates may have text in ISO 8601.
    """
    missing = [name for name in names if name not in table.column_names]
    if missing:
        hint = did_you_mean(missing[0], table.column_names) if len(missing) == 1 else ""
        raise InputError(
            f"{str(path)!r} lacks {len(missing)} of the {len(names)} columns of the model: "
            f"{listing(missing)}{hint}; add them (empty cells are missing values)."
        )
    chosen = table.select(names)
    _check_types(chosen, path, categorical, dates)
    return feature_table(chosen, names)


def _check_types(
    table: pa.Table, path: Path, categorical: Collection[str], dates: Collection[str]
) -> None:
    """Raise for columns of unsupported types, and for text; a table without rows has no text."""
    text = [name for name in text_columns(table) if name not in categorical]
    wrong = {name: _wrong_text(table.column(name), is_date=name in dates) for name in text}
    found = [name for name in text if wrong[name] or _has_text(table.column(name), name, dates)]
    if found:
        raise _text_error(path, found, wrong[found[0]])
    unsupported = unsupported_columns(table)
    if unsupported:
        raise unsupported_columns_error(table, unsupported)


def check_text(estimator: Any, dataset: Dataset, ignore: Collection[str] = ()) -> None:
    """Raise for text in columns of files in which a model has numbers or dates.

    Parameters
    ----------
    estimator : fitted estimator
        The model.
    dataset : Dataset
        The rows; only columns of text are read.
    ignore : collection of str
        Columns that are not features, of a model without names.
    """
    features, schema = estimator.model_.features, dataset.source.schema
    names = features.names or [name for name in schema.names if name not in ignore]
    categorical, dates = _text_features(features, names)
    check_text_columns(dataset, names, categorical, dates if features.names else [])


def check_text_columns(
    dataset: Dataset, names: Collection[str], categorical: Collection[str], dates: Collection[str]
) -> None:
    """Raise for text in columns of files that are neither categorical nor dates; see `check_text`.

    The first wrong cell is named with its row in its file.
    """
    texts = text_columns(dataset.source.schema.empty_table())
    texts = [name for name in texts if name in names and name not in categorical]
    if not texts:
        return
    found: dict[str, Path] = {}
    starts: dict[Path, int] = {}
    with closing(dataset.batches(columns=texts)) as batches:
        for batch in batches:
            assert batch.part is not None
            path = batch.part.file.path
            above = batch.first_row - starts.setdefault(path, batch.first_row)
            for name in texts:
                column = batch.table.column(name)
                wrong = _wrong_text(column, is_date=name in dates)
                if wrong is not None:
                    raise _text_error(path, [name], (wrong[0], wrong[1] + above))
                if _has_text(column, name, dates):
                    found.setdefault(name, path)
    if found:
        raise _text_error(next(iter(found.values())), list(found), None)


def _has_text(column: pa.ChunkedArray, name: str, dates: Collection[str]) -> bool:
    """Return whether a column has text, all of which may be numbers, and was not dates."""
    return name not in dates and column.null_count < len(column)


def _text_error(path: Path, names: Sequence[str], wrong: tuple[str, int] | None) -> InputError:
    """Return the error for columns with text; `wrong` is a cell of the first one and its row."""
    cell = "" if wrong is None else f" ({short_repr(wrong[0])} in {row_name(wrong[1])})"
    return InputError(
        f"{str(path)!r} has text in {listing(names)}{cell}, but the model was trained on "
        f"numbers or dates; correct {'this column' if len(names) == 1 else 'these columns'}."
    )


def _wrong_text(column: pa.ChunkedArray, *, is_date: bool) -> tuple[str, int] | None:
    """Return the first cell that is neither a number nor a date, and its row; None: there is none.

    A column of dates has no numbers.
    """
    for row, cell in enumerate(column.to_pylist()):
        if cell is None or (is_date and cell in MISSING_TEXTS):
            continue
        if parse_iso_date(cell) is None and (is_date or not is_number(cell)):
            return cell, row
    return None


def _nameless_input(
    features: Features, table: pa.Table, path: Path, besides: Collection[str]
) -> Any:
    names = [name for name in table.column_names if name not in besides]
    if len(names) != features.n:
        raise InputError(
            f"The model was trained on {features.n} columns without names, and {str(path)!r} has "
            f"{len(names)}; leave out the others with --ignore."
        )
    chosen = table.select(names)
    _check_types(chosen, path, [names[k] for k in features.categorical], ())
    columns = feature_table(chosen, names)
    if not features.categorical:
        return np.column_stack([columns.column(name).to_numpy() for name in names])
    cells = np.empty((table.num_rows, features.n), dtype=object)
    for k, name in enumerate(names):
        cells[:, k] = columns.column(name).to_pylist()
    return cells
