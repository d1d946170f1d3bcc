"""The output files of predictions, and the record of what a file was made from.

A Parquet output has the model, the input and the options in its metadata. A later run compares
them, and skips a file that it would only write again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stagewise.cli.errors import InputError
from stagewise.cli.files import PARQUET
from stagewise.cli.scoring.scorer import Scorer
from stagewise.datasets import Dataset
from stagewise.datasets.csv_source import ENDINGS as CSV_ENDINGS
from stagewise.datasets.identity import file_identity

__all__ = ["Output", "Provenance", "is_folder", "outputs_of"]

KEY = "stagewise.prediction"
"""The key of the record in the metadata of a Parquet file."""


@dataclass(frozen=True)
class Output:
    """One output file, and the rows that are predicted for it."""

    path: Path
    dataset: Dataset

    def is_complete(self, notes: Mapping[str, str]) -> bool:
        """Return whether the file exists and was made from the same model, input and options."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self.path.suffix.lower() not in PARQUET or not self.path.is_file():
            return False
        try:
            footer = pq.read_metadata(self.path)
        except (pa.ArrowException, OSError):
            return False
        found = (footer.metadata or {}).get(KEY.encode())
        return found == notes[KEY].encode() and footer.num_rows == self.dataset.n_rows


@dataclass(frozen=True)
class Provenance:
    """What the predictions of a run depend on, besides the input.

    Parameters
    ----------
    fingerprint : str
        The fingerprint of the model.
    model_file : str
        The SHA-256 digest of the model file, which also has the names and the missing values.
    options : mapping of str
        The options of the command that change the output.
    """

    fingerprint: str
    model_file: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, model: Path, scorer: Scorer) -> Provenance:
        """Return the provenance of the predictions of a model file."""
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        options = {"keep": scorer.keep, "ignore": scorer.ignore, "proba": scorer.proba}
        if scorer.interval is not None:
            options["interval"] = scorer.interval
        if scorer.levels:
            options["levels"] = scorer.levels
        if scorer.times:
            options["times"] = scorer.times
        return cls(scorer.estimator.fingerprint(), digest, options)

    def notes(self, dataset: Dataset) -> dict[str, str]:
        """Return the metadata of the output of a dataset."""
        from stagewise import __version__

        record = {
            "version": __version__,
            "model": self.fingerprint,
            "model_file": self.model_file,
            "options": self.options,
            "types": [str(field.type) for field in dataset.source.schema],
            "inputs": [
                {**file_identity(file), "changed_at": file.changed_at} for file in dataset.files
            ],
        }
        return {KEY: json.dumps(record, sort_keys=True)}


def is_folder(out: str) -> bool:
    """Return whether the argument of --out names a folder: it exists, or has no suffix."""
    path = Path(out)
    return path.is_dir() or out.endswith("/") or (path.suffix == "" and not path.exists())


def outputs_of(dataset: Dataset, out: str) -> list[Output]:
    """Return the output files of a dataset: one, or in a folder one for each input file.

    A file in the folder has the relative name of its input.

    Raises
    ------
    InputError
        If two inputs have the same output, or an output would replace an input.
    """
    found = [Output(Path(out), dataset)]
    if is_folder(out):
        parts = dataset.by_file()
        found = [Output(Path(out) / _parquet_name(part.files[0].name), part) for part in parts]
    outputs: dict[Path, Output] = {}
    inputs = {file.path.resolve() for file in dataset.files}
    for output in found:
        path, other = output.path, outputs.get(output.path)
        if other is not None:
            both = f"{str(other.dataset.files[0].path)!r} and {str(output.dataset.files[0].path)!r}"
            raise InputError(
                f"{both} have the same output {str(path)!r}; predict them one after another, or "
                "name the folder above both."
            )
        if path.resolve() in inputs:
            raise InputError(
                f"The output {str(path)!r} would replace an input; choose another name or folder."
            )
        outputs[path] = output
    return found


def _parquet_name(name: str) -> str:
    """Return the name of an output: the ending of a CSV file is replaced."""
    endings = [ending for ending in CSV_ENDINGS if name.lower().endswith(ending)]
    if endings:
        return name[: -len(max(endings, key=len))] + PARQUET[0]
    return name if name.lower().endswith(PARQUET) else name + PARQUET[0]
