"""Rows that go to estimators of others as they were given.

The one idea: only the shape, the number and the names of the columns are checked here, by the rules
of all tables; what the cells are is the business of whoever learns from them. Who learned from
columns with names gets columns with these names again. Must not know what is learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils import _safe_indexing

from stagewise.data.features import check_width, select_by_name, warn_of_names
from stagewise.data.reading.frame import Frame, open_frame
from stagewise.data.reading.table import check_shape, exact_array

__all__ = ["Heading", "Passed", "pass_on"]


class Passed:
    """Rows as they were given, for learners that read tables themselves."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows = X.shape[0]

    def take(self, rows: npt.NDArray[np.uint32]) -> Passed:
        """Choose rows."""
        return Passed(_safe_indexing(self.X, rows.astype(np.intp)))


@dataclass(frozen=True)
class Heading:
    """What is remembered of the columns of a table that is passed on.

    Parameters
    ----------
    n : int
        Their number.
    names : tuple of str or None
        Their names, if they have any.
    labels : tuple
        What the frame itself calls the columns that have names.
    library : str
        The library of that frame, as narwhals names it.
    """

    n: int
    names: tuple[str, ...] | None = None
    labels: tuple[Any, ...] = ()
    library: str = ""

    def n_categories_per_column(self) -> list[int]:
        """Return that the columns are numbers: whatever else they are is the learner's business."""
        return [0] * self.n

    def append_encoded(self, columns: Passed) -> Passed:
        """Return the columns: nothing is made of them here."""
        return columns

    def put_on(self, estimator: Any) -> None:
        """Set what scikit-learn's estimators remember of their columns."""
        estimator.n_features_in_ = self.n
        if self.names is not None:
            estimator.feature_names_in_ = np.array(self.names, dtype=object)
        else:
            estimator.__dict__.pop("feature_names_in_", None)

    def match(self, X: Any, caller: str) -> Passed:
        """Read new rows, and put their columns in the order of the heading.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n)
            Columns of a frame are found by name; those that are no features are left out.
        caller : str
            The estimator's name, for messages.

        Raises
        ------
        ValueError
            If a column is missing, or their number differs.
        """
        frame, array = _open(X, caller, allow_empty=True)
        names = None if frame is None else frame.names
        if frame is not None and names is not None and self.names is not None:
            return Passed(select_by_name(frame, self.names).native())
        if names is not None:
            warn_of_names(caller, fitted_with=False)
        check_width(array.shape[1] if frame is None else frame.shape[1], self.n, caller)
        if names is not None and frame is not None:
            return Passed(frame.native().to_numpy())
        if names is None and self.names is not None:
            warn_of_names(caller, fitted_with=True)
            array = array if frame is None else frame.native().to_numpy()
            return Passed(array if scipy.sparse.issparse(array) else self._named(array))
        return Passed(array if frame is None else frame.native())

    def _named(self, array: npt.NDArray[Any]) -> Any:
        """Return an array as a frame like that of the fit."""
        objects = array.dtype.kind == "O"
        cells = {
            f"{place}": column.tolist() if objects else column
            for place, column in enumerate(array.T)
        }
        library: Any = self.library
        native = nw.from_dict(cells, backend=library).to_native()
        if hasattr(native, "rename_columns"):
            return native.rename_columns(list(self.labels))
        native.columns = list(self.labels)
        return native


def pass_on(X: Any, caller: str) -> tuple[Passed, Heading]:
    """Read the rows of a fit.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        The rows; at least one, and at least one column.
    caller : str
        The estimator's name, for messages.
    """
    frame, array = _open(X, caller, allow_empty=False)
    if frame is None:
        return Passed(array), Heading(array.shape[1])
    if frame.names is None:
        return Passed(frame.native()), Heading(frame.shape[1])
    library = frame.frame.implementation.value
    heading = Heading(frame.shape[1], tuple(frame.names), tuple(frame.labels), library)
    return Passed(frame.native()), heading


def _open(X: Any, caller: str, *, allow_empty: bool) -> tuple[Frame | None, Any]:
    """Return X as a frame, or as an array or sparse matrix of rows that can be chosen."""
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
