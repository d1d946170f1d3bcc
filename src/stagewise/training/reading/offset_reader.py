"""Reading offsets and exposures for a loss, at fit and at predict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.monitor import HELD_OUT, TRAIN
from stagewise.data.row_offset import offset_scores, read_column_of
from stagewise.datasets.dataset import Dataset
from stagewise.losses import REGRESSION_LOSSES, Loss
from stagewise.training.reading.eval_sets import EvalSet, WatchedRows
from stagewise.training.reading.repeated_column import warn_of_repeated_columns
from stagewise.training.reading.row_set import RowSet
from stagewise.training.reading.training_data import FitArguments, TrainingData

__all__ = ["check_offsets", "read_offsets", "with_offsets"]

NAMES = ("offset", "exposure")


def read_offsets(
    loss: Loss, offset: Any, exposure: Any, X: Any, n_rows: int, n_outputs: int
) -> npt.NDArray[np.float64] | None:
    """Return the scores that are added to those of a model, shape (n_rows, n_outputs).

    Parameters
    ----------
    loss : Loss
        The loss of the model.
    offset, exposure, X, n_rows, n_outputs
        As of `offset_scores`.

    Raises
    ------
    ValueError, TypeError
        As `offset_scores`; or if the loss has no log link, or the offset is too large for it.
    """
    if exposure is not None and not loss.log_link:
        names = ", ".join(repr(name) for name, kind in REGRESSION_LOSSES.items() if kind.log_link)
        raise ValueError(
            f"exposure is for losses with a log link ({names}), whose predictions it multiplies; "
            f"the loss of this model is {loss.name!r}. Pass an offset, in the units of the score."
        )
    one = loss.location is not None and n_outputs > 1
    scores = offset_scores(offset, exposure, X, n_rows, 1 if one else n_outputs)
    if one and scores is not None:  # only the location has an offset
        whole = np.zeros((n_rows, n_outputs))
        for output in loss.offset_outputs or (loss.location,):
            whole[:, output] = scores[:, 0]
        scores = whole
    if scores is not None and (too_large := np.abs(scores) > loss.largest_offset).any():
        row, output = (int(place) for place in np.argwhere(too_large)[0])
        raise ValueError(
            f"The offset of row {row} is {scores[row, output]:g}. Scores of the loss {loss.name!r} "
            f"are logarithms, and an offset may be at most ±{loss.largest_offset:g}. Was an "
            "exposure passed as offset?"
        )
    return scores


def check_offsets(arguments: FitArguments) -> None:
    """Raise ValueError unless all rows of a fit have the offsets that those of X have."""
    for name in NAMES:
        value, held = getattr(arguments, name), getattr(arguments, f"{name}_val")
        if held is not None and (arguments.X_val is None or value is None):
            other = "X_val and y_val" if arguments.X_val is None else name
            raise ValueError(f"{name}_val was passed without {other}.")
        if isinstance(value, str) and not isinstance(arguments.X, Dataset):
            read_column_of(arguments.X, value, name)  # raises if there is none
        for own in _sets(arguments).values():
            passed, is_column = getattr(own, name), isinstance(value, str)
            if own.name != TRAIN and value is not None and passed is None and not is_column:
                remedy = f"pass {name}_val" if own.name == HELD_OUT else f"pass the key {name!r}"
                keys = f'"X": ..., "y": ..., "{name}": ...'
                usage = "" if own.name == HELD_OUT else f': eval_set={{"{own.name}": {{{keys}}}}}'
                raise ValueError(
                    f"{name} was passed, but {own.label} has none: {remedy}, one for each row"
                    f"{usage}."
                )
            if passed is not None and value is None:
                raise ValueError(f"{own.label} has {name}, but {name} was not passed for X.")


def with_offsets(data: TrainingData, arguments: FitArguments, loss: Loss) -> TrainingData:
    """Return the rows of a fit with the offsets that were passed."""
    if not arguments.row_offset:
        return data
    given = arguments.offset, arguments.exposure
    whole = read_offsets(loss, *given, arguments.X, data.n_rows, loss.n_outputs)
    sets, train = _sets(arguments), data.train.with_offset(whole)

    def of_set(name: str, rows: RowSet) -> RowSet:
        if name == TRAIN:
            return train
        if name not in sets:  # held out of X
            return rows.with_offset(whole)
        return rows.with_offset(_offset_of_set(sets[name], arguments, loss, rows.columns.n_rows))

    valid = None if data.valid is None else of_set(data.valid_name, data.valid)
    watched = tuple(WatchedRows(own.name, of_set(own.name, own.rows)) for own in data.eval_sets)
    warn_of_repeated_columns(arguments)
    kept = None if data.calibration is None else data.calibration.with_offset(whole)
    return replace(
        data,
        train=train,
        valid=valid,
        eval_sets=watched,
        row_offset=arguments.row_offset,
        calibration=kept,
    )


def _sets(arguments: FitArguments) -> dict[str, EvalSet]:
    """Return the sets of evaluation rows that were passed, by name."""
    return {own.name: own for own in arguments.passed_sets}


def _offset_of_set(
    own: EvalSet, arguments: FitArguments, loss: Loss, n_rows: int
) -> npt.NDArray[np.float64] | None:
    """Return the offsets of a set of evaluation rows: passed, or columns of its X."""
    given = [
        getattr(arguments, name) if getattr(own, name) is None else getattr(own, name)
        for name in NAMES
    ]
    try:
        return read_offsets(loss, given[0], given[1], own.X, n_rows, loss.n_outputs)
    except (TypeError, ValueError) as error:
        raise type(error)(f"In the offset of {own.label}: {error}") from None
