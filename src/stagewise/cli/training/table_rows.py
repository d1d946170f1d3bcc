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
    date_columns,
    drop_unlabelled,
    feature_table,
    labels,
    numbers,
    ranking,
    text_columns,
)
from stagewise.cli.errors import InputError
from stagewise.cli.evaluation_data import target_values, time_values
from stagewise.cli.files import read_file
from stagewise.cli.methods import uses_validation_rows
from stagewise.cli.models import named_input
from stagewise.cli.scoring.score_table import ScoreTable
from stagewise.cli.screen import Screen, amount
from stagewise.cli.task import Guess, guess_task
from stagewise.cli.training.column_checks import check_dates
from stagewise.cli.training.rows import HeldOutScores

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

    def take(self, chosen: npt.NDArray[np.bool_]) -> _Data:
        """Return the chosen rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return _Data(
            self.table.filter(chosen), self.features.filter(chosen), self.y[chosen], weight
        )


class TableRows:
    """The rows of one file, in memory; see `TrainingRows`."""

    def __init__(self, roles: Roles, args: argparse.Namespace, screen: Screen) -> None:
        self.roles, self._args, self._screen = roles, args, screen
        self.columns = self._read(Path(args.data[0]), roles, roles.categorical)
        self._task = ""
        self._train: _Data | None = None
        self._valid: _Data | None = None
        self._held: _Data | None = None

    @property
    def n_rows(self) -> int:
        """The number of training rows."""
        return int(self.columns.num_rows) if self._train is None else len(self._train.y)

    def guess_task(self) -> Guess:
        """Return the task that the target suggests."""
        return guess_task(self.columns.column(self.roles.target), self.roles.target)

    def check(self, estimator: Any) -> None:
        """Do nothing: all estimators are fitted to tables in memory."""

    def choose(self, names: list[str], task: str) -> pa.Table:
        """Choose the features, and read the target and the weights."""
        self._task = task
        features = feature_table(self.columns, names)
        check_dates(features, Path(self._args.data[0]), self.roles.categorical)
        whole = _Data(self.columns, features, *self._target_and_weight(self.columns))
        if self._args.hold_out is None:
            self._train = whole
            return features
        held = _draw_rows(whole.y, self._args.hold_out, self._args.seed or 0, task)
        self._train, self._held = whole.take(~held), whole.take(held)
        return self._train.features

    def open_validation(self, categorical: list[str]) -> None:
        """Read the validation table, if there is one."""
        if self._args.valid is None:
            return
        assert self._train is not None
        trained, path = self._train.features, Path(self._args.valid)
        # Text columns of the training table stay text, even if all values look like numbers.
        as_text = [name for name in categorical if name in text_columns(trained)]
        table = self._read(path, replace(self.roles, ignore=(), categorical=()), as_text)
        dates = date_columns(trained)
        features = named_input(trained.column_names, table, path, categorical, dates)
        self._valid = _Data(table, features, *self._target_and_weight(table))

    def fit(self, estimator: Any) -> Any:
        """Return the fitted estimator."""
        data, valid = self._train, self._valid
        assert data is not None
        if valid is None or not uses_validation_rows(estimator):
            return estimator.fit(data.features, data.y, data.weight, **self.roles.offsets)
        return estimator.fit(
            data.features,
            data.y,
            data.weight,
            X_val=valid.features,
            y_val=valid.y,
            sample_weight_val=valid.weight,
            **self.roles.offsets,
        )

    def scores(self, estimator: Any) -> HeldOutScores | None:
        """Return the scores on rows that were not trained on; None: there are none."""
        if self._held is not None:
            where = f"{amount(len(self._held.y), 'row')} that --hold-out held out"
            return self._score_data(estimator, self._held, "hold_out", where)
        if self._valid is not None:
            n, name = len(self._valid.y), Path(self._args.valid).name
            return self._score_data(estimator, self._valid, "file", f"{amount(n, 'row')} of {name}")
        return self._training_row_scores(estimator)

    def _score_data(self, estimator: Any, data: _Data, kind: str, where: str) -> HeldOutScores:
        known = self._known(estimator, data)
        rows = estimator, data.features, known, self.roles.target, data.weight
        return HeldOutScores(kind, where, ScoreTable.of_rows(*rows), len(known), len(known))

    def _known(self, estimator: Any, data: _Data) -> npt.NDArray[Any]:
        """Return the targets of rows, for scores."""
        own = self.roles.target, self.roles.query, self.roles.times
        return target_values(estimator, data.table, *own)

    def _training_row_scores(self, estimator: Any) -> HeldOutScores | None:
        """Return the scores of training rows by models that were not fitted to them."""
        data = self._train
        assert data is not None
        if hasattr(estimator, "held_out_rows_"):
            chosen = np.zeros(len(data.y), dtype=bool)
            chosen[estimator.held_out_rows_] = True
            where = f"{amount(int(chosen.sum()), 'row')} that early stopping held out"
            return self._score_data(estimator, data.take(chosen), "fraction", where)
        for kind, name, by in (
            ("folds", "oof_prediction_", "the model of a fold"),
            ("out_of_bag", "oob_prediction_", "trees"),
        ):
            y_pred = getattr(estimator, name, None)
            if y_pred is None:
                continue
            known = np.isfinite(y_pred).reshape(len(y_pred), -1).all(axis=1)
            if not known.any():
                continue
            held = data.take(known)
            y, target = self._known(estimator, held), self.roles.target
            rows = held.weight, held.features
            table = ScoreTable.of_arrays(estimator, y, y_pred[known], target, *rows)
            n = int(known.sum())
            where = f"{amount(n, 'training row')}, each predicted by {by} not fitted to it"
            if kind == "folds" and _is_one_hold_out(estimator):
                where = f"{amount(n, 'training row')}, held out of a first fit"
            return HeldOutScores(kind, where, table, n, n)
        return None

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
        if self.roles.query is not None:
            y = ranking(table, target, self.roles.query)
        elif self._task == "survival":
            y = time_values(table, target, self.roles.times)
        else:
            read = self._task == "regression"
            y = numbers(table, target, "target") if read else labels(table, target)
        return y, None if weight is None else numbers(table, weight, "weight")


def _is_one_hold_out(estimator: Any) -> bool:
    """Return whether the rows of one fold were held out, not those of each fold in turn."""
    return bool(estimator.fit_report_.get("round_choice", {}).get("folds") == 1)


def _draw_rows(y: npt.NDArray[Any], fraction: float, seed: int, task: str) -> npt.NDArray[np.bool_]:
    """Return which rows are held out: a share of each class, of each event, or of the queries."""
    if task == "ranking":
        queries, codes = np.unique(y["qid"], return_inverse=True)
        return _draw_rows(queries, fraction, seed, "queries")[codes]
    order = np.random.default_rng(seed).permutation(len(y))
    groups = [order]
    if task in ("classification", "survival"):
        strata = y if task == "classification" else _events(y)
        labels, codes = np.unique(strata, return_inverse=True)
        groups = [order[codes[order] == k] for k in range(len(labels))]
    held = np.zeros(len(y), dtype=bool)
    for group in groups:
        held[group[: int(fraction * len(group))]] = True
    if not held.any():
        what = "query" if task == "queries" else "row"
        raise InputError(
            f"--hold-out {fraction:g} of {len(y):,} {'queries' if task == 'queries' else 'rows'} "
            f"is no {what}; hold out more."
        )
    return held


def _events(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the codes of events; an event in an interval has the code 1."""
    return y["event"] if "event" in (y.dtype.names or ()) else np.isfinite(y["upper"])
