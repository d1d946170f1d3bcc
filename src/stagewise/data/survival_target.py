"""Reads times until an event: from structured arrays, frames, mappings and pairs of arrays.

The result is one structured array, which the rest of the library treats as a vector of targets. The
codes of strata are numbers; their labels are returned besides them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length

from stagewise.data.labels import read_labels
from stagewise.data.reading.frame import open_frame, open_series
from stagewise.data.reading.vector import read_vector, require_y
from stagewise.data.target import read_doubles
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import nearest_name

__all__ = [
    "SURVIVAL",
    "encode_strata",
    "read_survival",
    "structured_target",
    "survival_target",
]

SURVIVAL = np.dtype(
    [
        ("entry", np.float64),
        ("time", np.float64),
        ("upper", np.float64),
        ("event", np.int32),
        ("stratum", np.int32),
    ]
)
"""The fields of a target; stagewise/losses/survival/base.py has their meaning."""
FIELDS = ("time", "event", "lower", "upper", "entry", "stratum")
"""The fields that y may have."""
FORMS = (
    "a tuple (time, event), a structured array or a data frame with the columns time and event "
    "(or lower and upper; optionally entry and stratum), or stagewise.survival_target(...)"
)
LARGEST_CODE = 1000
Strata = list[Any]


def survival_target(
    time: Any = None,
    event: Any = None,
    *,
    entry: Any = None,
    stratum: Any = None,
    lower: Any = None,
    upper: Any = None,
) -> npt.NDArray[Any]:
    """Return times until an event as a structured array, the y of `GradientBoostingSurvival`.

    Parameters
    ----------
    time : array-like of shape (n_rows,)
        The time of the event, or of the end of the observation.
    event : array-like of bool or int
        Whether the event happened (True, 1) or the row is censored (False, 0). Codes 1, 2, … are
        competing events.
    entry : array-like or None
        The row is observed from this time on (left truncation); None or 0: from the beginning.
    stratum : array-like or None
        Rows of different strata have different baseline hazards.
    lower, upper : array-like, instead of time and event
        The event was in (lower, upper]. lower = upper: at this time. upper = inf: after lower, the
        row is censored. lower = 0: before upper.

    Returns
    -------
    structured array of shape (n_rows,)

    Examples
    --------
    >>> from stagewise import survival_target
    >>> survival_target([5.0, 8.0], [True, False]).dtype.names
    ('time', 'event')
    """
    given = {"time": time, "event": event, "lower": lower, "upper": upper}
    given |= {"entry": entry, "stratum": stratum}
    columns = {name: value for name, value in given.items() if value is not None}
    _check_names(list(columns))
    return _structured(columns)


def structured_target(y: Any) -> npt.NDArray[Any]:
    """Return times until an event in any form as `survival_target` returns them."""
    return _structured(_columns(y, "survival_target"))


def _structured(columns: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return columns as a structured array."""
    n_rows = _length(*next(iter(columns.items())))
    target, strata = read_survival(columns, n_rows, caller="survival_target")
    own: dict[str, Any] = {name: target[name] for name in ("time", "event", "entry", "upper")}
    own["lower"] = target["time"]
    if target["event"].max(initial=0) <= 1:
        own["event"] = target["event"] > 0
    own["stratum"] = np.array(strata)[target["stratum"]] if strata else target["stratum"]
    own["entry"] = np.maximum(target["entry"], 0.0)
    found = np.empty(n_rows, dtype=[(name, np.asarray(own[name]).dtype) for name in columns])
    for name in columns:
        found[name] = own[name]
    return found


def read_survival(
    y: Any, n_rows: int, *, caller: str, strata: Sequence[Any] | None = None
) -> tuple[npt.NDArray[Any], Strata]:
    """Read times until an event.

    Parameters
    ----------
    y : structured array, frame, mapping, or tuple (time, event)
        The times, with the fields of `survival_target`. A structured array or frame of two columns
        of any names is a bool column of events and a column of times, as in scikit-survival.
    n_rows : int
        The number of rows of X.
    caller : str
        The estimator's name, for messages.
    strata : sequence or None
        The labels of the strata of a model, in the order of their codes; None: they are learned.

    Returns
    -------
    target : structured array of shape (n_rows,)
        With the fields of `SURVIVAL`.
    strata : list
        The labels of the strata, in the order of their codes; empty: there are none.
    """
    require_y(y, caller)
    columns = _columns(y, caller)
    for name, values in columns.items():
        if _length(name, values) != n_rows:
            check_consistent_length(range(n_rows), values)
    numbers = {
        name: _read_numbers(values, n_rows, name)
        for name, values in columns.items()
        if name not in ("event", "stratum")
    }
    target = np.zeros(n_rows, dtype=SURVIVAL)
    if "time" in columns:
        target["time"] = numbers["time"]
        target["event"] = _read_events(columns["event"], n_rows)
        target["upper"] = np.where(target["event"] > 0, target["time"], np.inf)
    else:
        target["time"], target["upper"] = numbers["lower"], numbers["upper"]
        _check_intervals(target)
        target["event"] = np.isfinite(target["upper"])
    target["entry"] = -np.inf
    if "entry" in numbers:
        target["entry"] = _check_entries(numbers["entry"], target["time"])
    if "stratum" not in columns:
        if strata:
            known = ", ".join(map(short_repr, list(strata)[:20]))
            raise ValueError(
                f"y has no column 'stratum', but the training rows have the strata {known}. Add "
                "the column, or pass stagewise.survival_target(time=..., event=..., stratum=...)."
            )
        return target, []
    try:
        labels, codes = read_labels(columns["stratum"], n_rows, caller=caller, may_be_many=True)
    except ValueError as error:
        raise ValueError(f"In y['stratum'], the labels of the strata: {error}") from None
    target["stratum"], known = codes, labels.tolist()
    if strata is None:
        return target, known
    target["stratum"] = encode_strata(np.asarray(labels)[codes], strata)
    return target, list(strata)


def encode_strata(labels: Any, strata: Sequence[Any]) -> npt.NDArray[np.int32]:
    """Return the codes of the strata of rows; raise ValueError for an unknown one."""
    codes = {label: code for code, label in enumerate(strata)}
    own = np.asarray(labels).tolist()
    for row, label in enumerate(own):
        if label not in codes:
            known = ", ".join(map(short_repr, list(strata)[:20]))
            raise ValueError(
                f"Row {row} has the stratum {label!r}, which the training rows do not have; they "
                f"have {known or 'none'}. Leave such rows out."
            )
    return np.array([codes[label] for label in own], dtype=np.int32)


# ---- columns -------------------------------------------------------------------------------------


def _columns(y: Any, caller: str) -> dict[str, Any]:
    """Return the columns of y by the names of `FIELDS`."""
    found = _named_columns(y)
    if found is None:
        raise TypeError(_not_times(y, caller))
    names = list(found)
    unknown = [name for name in names if name not in FIELDS]
    if len(names) == 2 and unknown:
        is_bool = [np.asarray(found[name]).dtype == np.bool_ for name in names]
        if sum(is_bool) == 1:  # as in scikit-survival
            event = names[is_bool.index(True)]
            time = names[is_bool.index(False)]
            return {"time": found[time], "event": found[event]}
    _check_names(names)
    return found


def _named_columns(y: Any) -> dict[str, Any] | None:
    """Return the columns of y with their names; None: y has no columns."""
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        if y.ndim != 1:
            raise ValueError(f"y is a structured array of shape {y.shape}; expected one dimension.")
        return {name: y[name] for name in y.dtype.names}
    if isinstance(y, Mapping):
        return {str(name): values for name, values in y.items()}
    if isinstance(y, tuple) and len(y) == 2:
        first, second = (np.asarray(part) for part in y)
        if first.dtype == np.bool_ and second.dtype != np.bool_:
            raise ValueError(
                "y is a tuple whose first array is bool. The order is (time, event); pass "
                "(y[1], y[0])."
            )
        return {"time": y[0], "event": y[1]}
    if open_series(y) is not None:
        return None
    frame = open_frame(y, "fit", "y")
    if frame is None:
        return None
    names = frame.names or [str(label) for label in frame.labels]
    columns = (frame.frame.get_column(label) for label in frame.labels)
    return {name: column.to_native() for name, column in zip(names, columns, strict=True)}


def _not_times(y: Any, caller: str) -> str:
    """Return the message for a y that is not read."""
    values = np.asarray(y)
    if values.ndim == 1 and values.dtype.kind in "fiu" and len(values):
        remedy = (
            "If these are times with the sign of XGBoost's Cox objective, pass (abs(y), y > 0)."
            if (values < 0).any()
            else "Pass (time, event), with event False for censored rows."
        )
        return f"y has one number per row, but {caller} needs times and events. {remedy}"
    if values.ndim == 2 and values.shape[1] == 2:
        return (
            f"y is an array of shape {values.shape} without names, so it is ambiguous which column "
            "has the times. Pass (y[:, 0], y[:, 1]) for (time, event)."
        )
    return f"y must be {FORMS}; got {short_repr(y)}."


def _check_names(names: list[str]) -> None:
    """Raise ValueError unless columns have the names of times or of intervals."""
    unknown = [name for name in names if name not in FIELDS]
    if unknown:
        raise ValueError(
            f"y has the column {unknown[0]!r}, which is not one of {', '.join(FIELDS)}."
            f"{nearest_name(unknown[0], FIELDS)} Rename the columns, or pass "
            "stagewise.survival_target(time=..., event=...)."
        )
    by_time, by_interval = ({"time", "event"} & {*names}), ({"lower", "upper"} & {*names})
    if by_time and by_interval:
        raise ValueError(
            f"y has {' and '.join(sorted(by_time | by_interval))}; pass either time and event, or "
            "lower and upper."
        )
    for pair in (("time", "event"), ("lower", "upper")):
        missing = [name for name in pair if name not in names]
        if len(missing) == 1:
            other = next(name for name in pair if name in names)
            raise ValueError(f"y has the column {other!r}, but not {missing[0]!r}. Add it.")
    if not by_time and not by_interval:
        raise ValueError(f"y has no times. It must be {FORMS}.")


# ---- values --------------------------------------------------------------------------------------


def _length(name: str, values: Any) -> int:
    """Return the number of rows of a column, or raise TypeError for a single value."""
    if np.ndim(values) == 0:
        raise TypeError(
            f"y[{name!r}] must have one value for each row; got {short_repr(values)}. Pass a list "
            "or an array."
        )
    return len(values)


def _read_numbers(values: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
    """Return the numbers of a column; raise unless they are times."""
    label = f"y[{name!r}]"
    cells, missing = read_vector(values, n_rows, label)
    if cells.dtype.kind in "mM":
        raise TypeError(
            f"{label} holds dates or durations ({cells.dtype}). Convert it to a number of days."
        )
    found = read_doubles(cells, missing, label, "Convert it to numbers")
    _refuse(
        np.isnan(found),
        found,
        label,
        "is missing",
        "Use inf for a row that is censored" if name == "upper" else "Leave these rows out",
    )
    _refuse(found < 0.0, found, label, "is negative", "Times begin at 0; subtract the first time")
    if name != "upper":
        _refuse(np.isinf(found), found, label, "is infinite", "Leave these rows out")
    return found


def _read_events(values: Any, n_rows: int) -> npt.NDArray[np.int32]:
    """Return the codes of events."""
    label = "y['event']"
    cells, missing = read_vector(values, n_rows, label)
    if cells.dtype == np.bool_ and missing is None:
        return np.asarray(cells.astype(np.int32))
    remedy = "Use True for an event and False for a censored row, or the codes 0, 1, 2, …"
    found = read_doubles(cells, missing, label, remedy)
    _refuse(np.isnan(found), found, label, "is missing", "Leave these rows out")
    wrong = (found < 0) | (found != np.rint(found)) | (found > LARGEST_CODE)
    _refuse(wrong, found, label, "is not 0 (censored), 1, or the code of a competing event", remedy)
    return np.asarray(found.astype(np.int32))


def _check_intervals(target: npt.NDArray[Any]) -> None:
    wrong = target["upper"] < target["time"]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"The interval of row {row} ends before it begins: lower is {target['time'][row]:g} and"
            f" upper is {target['upper'][row]:g} ({int(wrong.sum())} such rows). Exchange them, or "
            "leave these rows out."
        )
    nothing = (target["time"] == 0.0) & np.isinf(target["upper"])
    if nothing.all():
        raise ValueError("All intervals are (0, inf], which have no information. Check y.")


def _check_entries(
    entry: npt.NDArray[np.float64], time: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return entry times; those at the beginning are -inf."""
    wrong = (entry >= time) & (entry > 0.0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Row {row} enters at {entry[row]:g}, which is not before its time, {time[row]:g} "
            f"({int(wrong.sum())} such rows). Such a row is never at risk; leave it out, or "
            "exchange entry and time."
        )
    return np.where(entry > 0.0, entry, -np.inf)


def _refuse(
    wrong: npt.NDArray[np.bool_],
    values: npt.NDArray[np.float64],
    label: str,
    what: str,
    remedy: str,
) -> None:
    """Raise ValueError if any value is wrong, with the first one and its row."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{label} {what} at row {row} ({values[row]:g}; {int(wrong.sum())} of {len(values)} "
            f"rows). {remedy}."
        )
