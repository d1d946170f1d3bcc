"""Training rows that are read into memory."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stagewise.cli.columns import (
    Roles,
    drop_unlabelled,
    feature_table,
    labels,
    numbers,
    text_columns,
)
from stagewise.cli.evaluate import model_scores
from stagewise.cli.evaluation_data import target_values
from stagewise.cli.files import read_file
from stagewise.cli.methods import uses_validation_rows
from stagewise.cli.models import named_input
from stagewise.cli.screen import Screen, amount
from stagewise.cli.task import Guess, guess_task
from stagewise.cli.training.rows import ValidationScores

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableRows"]


@dataclass(frozen=True)
class _Data:
    """A table with its features, target and weights."""

    table: pa.Table
    features: pa.Table
    y: npt.NDArray[Any]
    weight: npt.NDArray[np.float64] | None


class TableRows:
    """The rows of one file, in memory; see `TrainingRows`."""

    def __init__(self, roles: Roles, args: argparse.Namespace, screen: Screen) -> None:
        self.roles, self._args, self._screen = roles, args, screen
        self.columns = self._read(Path(args.data[0]), roles, roles.categorical)
        self._task = ""
        self._train: _Data | None = None
        self._valid: _Data | None = None

    @property
    def n_rows(self) -> int:
        """The number of training rows."""
        return int(self.columns.num_rows)

    def guess_task(self) -> Guess:
        """Return the task that the target suggests."""
        return guess_task(self.columns.column(self.roles.target), self.roles.target)

    def check(self, estimator: Any) -> None:
        """Do nothing: all estimators are fitted to tables in memory."""

    def choose(self, names: list[str], task: str) -> pa.Table:
        """Choose the features, and read the target and the weights."""
        self._task = task
        features = feature_table(self.columns, names)
        self._train = _Data(self.columns, features, *self._target_and_weight(self.columns))
        return features

    def open_validation(self, categorical: list[str]) -> None:
        """Read the validation table, if there is one."""
        if self._args.valid is None:
            return
        assert self._train is not None
        trained, path = self._train.features, Path(self._args.valid)
        # Text columns of the training table stay text, even if all values look like numbers.
        as_text = [name for name in categorical if name in text_columns(trained)]
        table = self._read(path, replace(self.roles, ignore=(), categorical=()), as_text)
        features = named_input(trained.column_names, table, path, categorical)
        self._valid = _Data(table, features, *self._target_and_weight(table))

    def fit(self, estimator: Any) -> Any:
        """Return the fitted estimator."""
        data, valid = self._train, self._valid
        assert data is not None
        if valid is None or not uses_validation_rows(estimator):
            return estimator.fit(data.features, data.y, data.weight)
        return estimator.fit(
            data.features,
            data.y,
            data.weight,
            X_val=valid.features,
            y_val=valid.y,
            sample_weight_val=valid.weight,
        )

    def scores(self, estimator: Any) -> ValidationScores | None:
        """Return the scores on the validation rows; None: there are none."""
        valid = self._valid
        if valid is None:
            return None
        known = target_values(estimator, valid.table, self.roles.target)
        scores, _ = model_scores(estimator, valid.features, known, self.roles.target, valid.weight)
        return ValidationScores(scores, len(known), len(known))

    def finish(self) -> dict[str, Any]:
        """Return no facts: there are no temporary files."""
        return {}

    def _read(self, path: Path, roles: Roles, as_text: Collection[str]) -> pa.Table:
        """Read a table and check its columns; drop rows without a target if requested."""
        table = read_file(path, as_text)
        roles.check(table, path)
        if not self._args.drop_unlabelled:
            return table
        known = drop_unlabelled(table, roles.target)
        left_out = table.num_rows - known.num_rows
        if left_out:
            self._screen.warn(f"left out {amount(left_out, 'row')} of {path} without a target.")
        return known

    def _target_and_weight(
        self, table: pa.Table
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        target, weight = self.roles.target, self.roles.weight
        y = (
            numbers(table, target, "target")
            if self._task == "regression"
            else labels(table, target)
        )
        return y, None if weight is None else numbers(table, weight, "weight")
