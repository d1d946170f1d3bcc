"""The key of a checkpoint: everything that the model of a fit depends on."""

from __future__ import annotations

from typing import Any

from stagewise.datasets import Dataset
from stagewise.datasets.identity import file_identity
from stagewise.model.file.format import MAJOR, MINOR

__all__ = ["checkpoint_key"]

WITHOUT_EFFECT = {"callbacks", "n_jobs", "verbose"}
"""Parameters that do not change the model."""


def checkpoint_key(estimator: Any, train: Dataset, valid: Dataset | None) -> dict[str, str]:
    """Return the key of the fit of an estimator, as texts by name."""
    from stagewise import __version__

    parameters = {
        name: repr(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in WITHOUT_EFFECT
    }
    return {
        "the version": __version__,
        "the file format": f"{MAJOR}.{MINOR}",
        "the estimator": type(estimator).__name__,
        **parameters,
        "the target": repr(train.target),
        "the weight": repr(train.weight),
        "the list of features": ", ".join(train.features),
        **_rows_key("training", train),
        **({} if valid is None else _rows_key("validation", valid)),
    }


def _rows_key(role: str, dataset: Dataset) -> dict[str, str]:
    """Return the types of the columns, and what identifies the rows of each file."""
    types = {f"the type of {field.name!r} ({role})": str(field.type) for field in dataset.schema}
    n_rows = dict.fromkeys(dataset.files, 0)
    for part in dataset.parts:
        n_rows[part.file] += part.n_rows
    files = {
        f"{role} file {number}": ", ".join(
            f"{name} {value}" for name, value in [*file_identity(file).items(), ("rows", n)]
        )
        for number, (file, n) in enumerate(n_rows.items(), start=1)
    }
    return types | {f"the number of {role} files": str(len(files))} | files
