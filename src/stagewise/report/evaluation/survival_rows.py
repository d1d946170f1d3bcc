"""Rows with times until an event, beside the predicted curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.survival_target import read_survival, structured_target
from stagewise.inspection.encoded_rows import sample_rows
from stagewise.inspection.fitted_model import Vector
from stagewise.inspection.survival.rows import EventRows, Rows, event_rows
from stagewise.inspection.survival.scores import row_errors, scores_of_rows
from stagewise.report.evaluation.evaluated_rows import (
    CONFIDENCE_LEVEL,
    EvaluatedRows,
    GivenRows,
    Quality,
    ScoreGroup,
)
from stagewise.report.evaluation.survival_facts import curve_times, event_name, event_quality
from stagewise.report.subgroup_facts import RowErrors
from stagewise.validation.messages import warn_caller

__all__ = ["SurvivalRows"]

Target = npt.NDArray[Any]

MOST_VALUES, FEWEST = 100_000_000, 1_000
"""The number of values of curves that a report computes, and the number of rows at least."""

PREDICTIONS = {
    "cox": "log hazard ratio",
    "cause_specific": "log hazard ratio",
    "fine_gray": "log ratio of subdistribution hazards",
    "discrete_time": "expected intervals after the event",
    "aft": "median time",
}
"""The names of predictions, by loss."""


class SurvivalRows(EvaluatedRows):
    """Rows with times until an event; of competing risks, with a curve for each cause."""

    baseline = "one curve for all rows"
    baseline_note = (
        "the score if every row has the curve of Kaplan and Meier (of Aalen and Johansen for "
        "competing events); a C-index is then ½"
    )
    has_associations = False  # the times of censored rows are not times of events

    def __init__(self, given: GivenRows) -> None:
        super().__init__(given)
        estimator, y = given.estimator, given.y
        offset = given.passed.get("offset")
        every = event_rows(estimator, given.X, y, given.sample_weight, offset=offset)
        self.weight = every[0].weight
        drawn = _drawn(every[0], given)
        taken = tuple(rows.take(drawn) for rows in every)
        # Causes without an event cannot be compared; if none has any, `times` raises.
        some = tuple(rows for rows in taken if rows.is_event.any()) or taken[:1]
        self.each = tuple(rows.tabulated(curve_times(rows)) for rows in some)
        self.errors, self._used = np.zeros((2, len(self.weight)))
        self.errors[drawn] = np.mean([row_errors(rows) for rows in self.each], axis=0)
        self._used[drawn] = self.weight[drawn]
        self._target = structured_target(y)
        self._read, _ = read_survival(y, len(self.weight), caller="report")

    @property
    def prediction(self) -> str:
        return PREDICTIONS[self.given.fitted.model.loss]

    @property
    def subject(self) -> str:
        several = len(self.each) > 1
        return "times until competing events" if several else "the time until an event"

    @property
    def shown(self) -> Sequence[str]:
        several = bool(self._read["event"].max() > 1)
        return [_words(row, several) for row in self._read]

    @property
    def target(self) -> Target:
        return self._target

    @property
    def described(self) -> Vector:
        return np.asarray(self._read["time"])

    def scores(self) -> tuple[ScoreGroup, ...]:
        own = {"confidence_level": CONFIDENCE_LEVEL, "random_state": self.given.seed}
        several = len(self.each) > 1
        return tuple(
            (event_name(rows.cause) if several else "", scores_of_rows((rows,), **own).scores)
            for rows in self.each
        )

    def quality(self) -> Quality:
        return Quality(events=tuple(event_quality(rows, CONFIDENCE_LEVEL) for rows in self.each))

    def row_errors(self) -> RowErrors:
        unknown = np.full(len(self.errors), np.nan)
        return RowErrors("integrated Brier score", self.errors, unknown, unknown, self._used)


def _drawn(rows: EventRows, given: GivenRows) -> Rows:
    """Return the rows whose curves are computed: all, or a sample if these take long."""
    fitted = given.fitted
    slow = fitted.model.loss == "cause_specific"  # its incidence is a sum over all event times
    most = max(FEWEST, MOST_VALUES // rows.values_per_row) if slow else len(rows)
    found = sample_rows(rows.weight, most, given.seed)
    n_rows = int(np.count_nonzero(rows.weight))
    if len(found) < n_rows:
        warn_caller(
            f"Curves of cause-specific hazards take long, so their scores and plots are those of "
            f"a random sample of {len(found):,} of {n_rows:,} rows."
        )
    return found.astype(np.intp)


def _words(row: Any, several: bool) -> str:
    """Return the target of a row as text."""
    event = f"event {row['event']}" if several else "event"
    if not row["event"]:
        text = f"censored at {row['time']:g}"
    elif row["upper"] > row["time"]:
        text = f"{event} between {row['time']:g} and {row['upper']:g}"
    else:
        text = f"{event} at {row['time']:g}"
    return text if row["entry"] == -np.inf else f"{text}, observed from {row['entry']:g}"
