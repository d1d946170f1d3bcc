"""Rows that are passed to a learner as they are.

Only the shape, the number and the names of the columns are checked. A learner that was fitted to
columns with names gets columns with these names again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils import _safe_indexing

from stagewise.data.features import check_width, select_by_name, warn_of_names
from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.records import Records, are_records, open_records, refuse_records
from stagewise.data.reading.table import check_shape, exact_array
from stagewise.training.reading.training_data import ReadTable

__all__ = ["Header", "PassthroughReader", "UntouchedRows"]


class UntouchedRows:
    """Rows as they were given, for learners that read tables themselves."""

    def __init__(self, X: Any, header: Header | None = None) -> None:
        self.X = X
        self.n_rows = X.shape[0]
        self.header = header

    def take(self, rows: npt.NDArray[np.uint32]) -> UntouchedRows:
        """Choose rows."""
        return UntouchedRows(_safe_indexing(self.X, rows.astype(np.intp)))


@dataclass(frozen=True)
class Header:
    """The number and the names of the columns of a table that is passed on.

    Parameters
    ----------
    n : int
        Their number.
    names : tuple of str or None
        Their names, if they have any.
    labels : tuple
        The labels of these columns in the frame.
    library : str
        The narwhals name of the library of the frame.
    """

    n: int
    names: tuple[str, ...] | None = None
    labels: tuple[Any, ...] = ()
    library: str = ""

    def n_categories_per_column(self) -> list[int]:
        """Return 0 for every column: the learner handles categories itself."""
        return [0] * self.n

    def append_encoded(self, columns: UntouchedRows) -> UntouchedRows:
        """Return the columns unchanged: no target encodings are appended."""
        return columns

    def set_attributes(self, estimator: Any) -> None:
        """Set `n_features_in_` and `feature_names_in_`."""
        estimator.n_features_in_ = self.n
        if self.names is not None:
            estimator.feature_names_in_ = np.array(self.names, dtype=object)
        else:
            estimator.__dict__.pop("feature_names_in_", None)

    def match(self, X: Any, caller: str) -> UntouchedRows:
        """Return new rows with the columns in the order of the header.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n)
            Columns of a frame are selected by name; others are dropped.
        caller : str
            The estimator's name, for messages.

        Raises
        ------
        ValueError
            If a column is missing, or their number differs.
        """
        if self.names is None:
            refuse_records(X, caller)
        records = open_records(X, self.names)
        if records is not None:
            return UntouchedRows(self._frame_of(records))
        frame, array = _open(X, caller, allow_empty=True)
        names = None if frame is None else frame.names
        if frame is not None and names is not None and self.names is not None:
            return UntouchedRows(select_by_name(frame, self.names).native())
        if names is not None:
            warn_of_names(caller, fitted_with=False)
        check_width(array.shape[1] if frame is None else frame.shape[1], self.n, caller)
        if names is not None and frame is not None:
            return UntouchedRows(frame.native().to_numpy())
        if names is None and self.names is not None:
            warn_of_names(caller, fitted_with=True)
            array = array if frame is None else frame.native().to_numpy()
            return UntouchedRows(array if scipy.sparse.issparse(array) else self._named(array))
        return UntouchedRows(array if frame is None else frame.native())

    def _named(self, array: npt.NDArray[Any]) -> Any:
        """Return an array as a frame of the library and with the labels of the fit."""
        return self._labelled(list(array.T))

    def _frame_of(self, records: Records) -> Any:
        """Return rows with names as a frame of the library and with the labels of the fit."""
        return self._labelled(records.columns)

    def _labelled(self, columns: list[npt.NDArray[Any]]) -> Any:
        values = {
            f"{place}": column.tolist() if column.dtype.kind == "O" else column
            for place, column in enumerate(columns)
        }
        library: Any = self.library
        native = nw.from_dict(values, backend=library).to_native()
        if hasattr(native, "rename_columns"):
            return native.rename_columns(list(self.labels))
        native.columns = list(self.labels)
        return native


@dataclass(frozen=True)
class PassthroughReader:
    """Reads tables for a learner that reads their values itself.

    Parameters
    ----------
    caller : str
        The estimator's name, for messages.
    """

    caller: str

    def read(self, X: Any) -> UntouchedRows:
        """Return the rows of X, with the description of its columns."""
        if are_records(X):
            raise TypeError(
                f"X is a {type(X).__name__} of values with names, and an estimator that "
                f"{self.caller} fits reads X itself. Pass a data frame to fit, for instance "
                "pandas.DataFrame(X); predictions accept rows with names."
            )
        frame, array = _open(X, self.caller, allow_empty=False)
        if frame is None:
            return UntouchedRows(array, Header(array.shape[1]))
        if frame.names is None:
            return UntouchedRows(frame.native(), Header(frame.shape[1]))
        library = frame.frame.implementation.value
        names, labels = tuple(frame.names), tuple(frame.labels)
        return UntouchedRows(frame.native(), Header(frame.shape[1], names, labels, library))

    def learn(self, table: UntouchedRows, weight: Any, rows: Any, held: Any) -> ReadTable:
        """Return the rows with the description of their columns."""
        return ReadTable(table.header, table, Counter())

    def read_validation(self, X: Any, features: Header) -> UntouchedRows:
        """Return evaluation rows."""
        return features.match(X, self.caller)

    def match(self, table: UntouchedRows, features: Header, rows: Any) -> ReadTable:
        """Return evaluation rows."""
        return ReadTable(features, table, Counter())

    def missing_counts(self, table: UntouchedRows) -> Counter[int]:
        """Return no counts: values are not read."""
        return Counter()


def _open(X: Any, caller: str, *, allow_empty: bool) -> tuple[Frame | None, Any]:
    """Return X as a frame, or as an array or a sparse matrix by rows."""
    if scipy.sparse.issparse(X):
        X = X.tocsr()
        check_shape(np.empty(X.shape) if 0 in X.shape else np.empty((1, 1)), caller, allow_empty)
        _refuse_complex(X.dtype)
        return None, X
    frame = open_frame(X, caller)
    if frame is not None:
        if 0 in frame.shape:
            check_shape(np.empty(frame.shape), caller, allow_empty)
        return frame, None
    array = exact_array(X)
    _refuse_complex(array.dtype)
    check_shape(array, caller, allow_empty)
    return None, array


def _refuse_complex(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: X holds complex numbers. Pass their real and imaginary "
            "parts as two columns."
        )
