"""Training rows that are read from files in batches, by this process or by a cluster."""

from __future__ import annotations

import argparse
import glob
import shlex
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stagewise.cli.columns import Roles, date_columns, feature_table, numbers, text_columns
from stagewise.cli.errors import InputError
from stagewise.cli.evaluation_data import target_values
from stagewise.cli.files import open_tables
from stagewise.cli.methods import uses_validation_rows
from stagewise.cli.models import check_text_columns, named_input
from stagewise.cli.scoring.score_table import ScoreTable
from stagewise.cli.task import Guess, guess_task_of_dataset
from stagewise.cli.training.checkpoint_key import checkpoint_key
from stagewise.cli.training.cluster import Cluster
from stagewise.cli.training.rows import HeldOutScores
from stagewise.datasets import Dataset
from stagewise.datasets.memory import read_bytes
from stagewise.datasets.tables import ColumnMismatchError
from stagewise.training.reading.training_data import FitArguments
from stagewise.training.stored.checkpoint_folder import CheckpointFolder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_SCORED", "DatasetRows"]

MOST_SCORED = 100_000
"""The most validation rows that are predicted for the scores of the summary."""
SECONDS_BETWEEN_WRITES = 5.0
"""The least time between two writes of a checkpoint."""


class DatasetRows:
    """The rows of files of any size; see `TrainingRows`.

    Parameters
    ----------
    roles : Roles
        The columns.
    args : argparse.Namespace
        The arguments of the command.
    cluster : Cluster or None
        The cluster that reads the rows and fits the model; None: this process.
    """

    def __init__(self, roles: Roles, args: argparse.Namespace, cluster: Cluster | None) -> None:
        self.roles, self._args, self._cluster = roles, args, cluster
        limit = read_bytes(args.memory_limit, "--memory-limit")
        if args.cache is not None and not args.cache.is_dir():
            raise InputError(f"--cache: there is no folder {str(args.cache)!r}; create it.")
        opened = self._open(args.data, roles, roles.categorical)
        self._train = opened.with_limits(args.cache, limit)
        self._valid: Dataset | None = None
        self._fitted_in_memory = False
        self._checkpoints: CheckpointFolder | None = None

    @property
    def columns(self) -> pa.Table:
        """A table with the names and types of all columns, without rows."""
        return self._train.source.schema.empty_table()

    @property
    def n_rows(self) -> int:
        """The number of training rows."""
        return self._train.n_rows

    def guess_task(self) -> Guess:
        """Return the task that the target suggests."""
        return guess_task_of_dataset(self._train, self.roles.target)

    def check(self, estimator: Any) -> None:
        """Raise if the estimator cannot be fitted to a dataset with these options."""
        if self._cluster is not None:
            has_validation = self._args.valid is not None and uses_validation_rows(estimator)
            self._cluster.check(estimator, self._args.method, has_validation=has_validation)
        if self._args.checkpoint is not None and self._args.method != "boosting":
            raise InputError(
                f"--checkpoint keeps the rounds of --method boosting; --method {self._args.method} "
                "has none. Leave --checkpoint out."
            )
        if self._args.checkpoint is not None and not isinstance(estimator.random_state, int):
            raise InputError(
                "--checkpoint needs a fixed random_state, so that a resumed fit draws the same "
                "numbers; set it with --seed."
            )

    def choose(self, names: list[str], task: str) -> pa.Table:
        """Choose the features; the target and the weights are read by the fit."""
        self._train = self._choose(self._train, names)
        return self.columns.select(names)

    def open_validation(self, categorical: list[str]) -> None:
        """Open the validation files, if there are any."""
        if self._args.valid is None:
            return
        text = text_columns(self.columns)
        roles = replace(self.roles, ignore=(), categorical=())
        valid = self._open([self._args.valid], roles, [n for n in categorical if n in text])
        names, empty = list(self._train.features), valid.source.schema.empty_table()
        dates = date_columns(self.columns)
        named_input(names, empty, Path(self._args.valid), categorical, dates)
        check_text_columns(valid, names, categorical, dates)
        self._valid = self._choose(valid, names)

    def fit(self, estimator: Any) -> Any:
        """Return the fitted estimator."""
        if self._args.checkpoint is None:
            return self._fit(estimator, None)
        key = checkpoint_key(estimator, self._train, self._valid)
        folder = self._args.checkpoint
        self._checkpoints = CheckpointFolder(folder, key, SECONDS_BETWEEN_WRITES)
        try:
            fitted = self._fit(estimator, self._checkpoints)
            self._fitted_in_memory = "rows_in_memory" in fitted.fit_report_
            return fitted
        except KeyboardInterrupt:
            if not self._checkpoints.n_rounds:
                raise
            raise KeyboardInterrupt(
                f"Interrupted; {str(folder)!r} has the rounds so far, and the same command resumes."
            ) from None
        finally:
            self._checkpoints.close()

    def _fit(self, estimator: Any, checkpoints: CheckpointFolder | None) -> Any:
        """Return the estimator, fitted by the cluster or by this process."""
        valid = self._valid if uses_validation_rows(estimator) else None
        if self._cluster is not None:
            return self._cluster.fit(estimator, self._train, valid, checkpoints)
        if checkpoints is not None:
            arguments = FitArguments(self._train, None, X_val=valid, **self.roles.offsets)
            return estimator._fit(arguments, checkpoints=checkpoints)  # noqa: SLF001
        held = {} if valid is None else {"X_val": valid}
        return estimator.fit(self._train, **held, **self.roles.offsets)

    def scores(self, estimator: Any) -> HeldOutScores | None:
        """Return the scores on a sample of the validation rows; None: there are none."""
        valid = self._valid
        if valid is None:
            return None
        target, weight = self.roles.target, self.roles.weight
        table = _sample(valid, MOST_SCORED)
        scored = ScoreTable.of_rows(
            estimator,
            feature_table(table, valid.features),
            target_values(estimator, table, target),
            target,
            None if weight is None else numbers(table, weight, "weight"),
        )
        where = (
            self._args.valid if glob.has_magic(self._args.valid) else Path(self._args.valid).name
        )
        count = f"{table.num_rows:,} of the {valid.n_rows:,}"
        if table.num_rows == valid.n_rows:
            count = f"{valid.n_rows:,}"
        return HeldOutScores(
            "file", f"{count} rows of {where}", scored, valid.n_rows, table.num_rows
        )

    def finish(self) -> dict[str, Any]:
        """Remove the checkpoint after the model was saved; return the round it resumed from."""
        if self._checkpoints is None:
            return {}
        self._checkpoints.remove()
        resumed = self._checkpoints.resumed.get("model", 0)
        if self._fitted_in_memory:
            return {"checkpoint": "not used: the rows were fitted in memory"}
        return {"resumed_after_round": resumed} if resumed else {}

    def _open(self, sources: Sequence[str], roles: Roles, as_text: Collection[str]) -> Dataset:
        """Open files and check the names of the columns."""
        try:
            dataset = open_tables(sources, as_text, roles.ignore)
        except ColumnMismatchError as error:
            ignore = f", or leave the column out with --ignore {shlex.quote(error.column)}"
            used = error.column in (roles.target, roles.weight) or sources is not self._args.data
            raise InputError(
                f"{error.problem}; write the files with the same columns and types"
                f"{'' if used else ignore}."
            ) from error
        # Ignored columns that differ between the files are not columns of the dataset.
        source: Any = dataset.source
        known = tuple(name for name in roles.ignore if name not in source.layout.left_out)
        replace(roles, ignore=known).check(source.schema.empty_table(), Path(" ".join(sources)))
        return dataset

    def _choose(self, dataset: Dataset, names: Sequence[str]) -> Dataset:
        """Return a dataset with its features, target and weights."""
        return replace(
            dataset, features=tuple(names), target=self.roles.target, weight=self.roles.weight
        )


def _sample(dataset: Dataset, most: int) -> pa.Table:
    """Return at most so many rows of a dataset, at equal distances."""
    import pyarrow as pa

    step = -(-dataset.n_rows // most)
    tables = []
    with closing(dataset.batches()) as batches:
        for batch in batches:
            rows = range(-batch.first_row % step, batch.n_rows, step)
            tables.append(batch.table.take(pa.array(rows, pa.int64())))
    return pa.concat_tables(tables)
