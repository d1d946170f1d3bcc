"""Data frames of any library, through narwhals.

A frame is opened once, its names are converted to text once, and each column is read in a type that
holds its values exactly. pandas, polars and pyarrow are never imported here. This module must not
import features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from stagewise.data.reading.cell import family
from stagewise.data.reading.column import LARGEST_EXACT, Array, Mask
from stagewise.datasets.dataset import Dataset
from stagewise.validation.messages import column_label, short_repr

__all__ = ["Frame", "feature_names", "open_frame", "open_series", "series_cells"]

SMALL = 1 << 16
"""Below this many cells, copying a frame is cheaper than reading its columns."""


ARROW_LIBRARIES: tuple[Literal["pyarrow", "polars"], ...] = ("pyarrow", "polars")
"""Libraries that read Arrow's C stream; the first that is installed is used."""

INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = {"float32", "float64"}
CATEGORY_TYPES = (nw.Categorical, nw.Enum)


class _OpenedSeries(NamedTuple):
    """A column of a frame with its type, which narwhals finds anew at each call."""

    series: nw.Series[Any]
    dtype: Any
    is_category: bool

    @classmethod
    def of(cls, series: nw.Series[Any]) -> _OpenedSeries:
        dtype = series.dtype
        return cls(series, dtype, dtype in CATEGORY_TYPES)


@dataclass(frozen=True)
class Frame:
    """An opened data frame.

    Parameters
    ----------
    frame : narwhals DataFrame
        The frame itself.
    labels : list
        Its column labels, of any type.
    names : list of str, or None
        The labels as text; None if they are 0, 1, 2, …, which are positions and not names.
    """

    frame: nw.DataFrame[Any]
    labels: list[Any]
    names: list[str] | None
    _opened: dict[int, _OpenedSeries] = field(default_factory=dict, init=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return len(self.frame), len(self.labels)

    def select(self, names: Sequence[str]) -> Frame:
        """Return a frame with only the named columns, in that order."""
        if self.names is None or list(names) == self.names:
            return self
        label = dict(zip(self.names, self.labels, strict=True))
        labels = [label[name] for name in names]
        return replace(self, labels=labels, names=list(names))

    def native(self) -> Any:
        """Return the selected columns as a frame of its own library."""
        if self.labels == list(self.frame.columns):
            return self.frame.to_native()
        # By position, since pandas converts a list of names to text, and names need not be text.
        place = {label: j for j, label in enumerate(self.frame.columns)}
        return self.frame[:, [place[label] for label in self.labels]].to_native()

    def matrix(self, *, of_one_type: bool = False) -> Array | None:
        """Return all cells as one array of numbers, if that is exact and cheap; else None.

        Parameters
        ----------
        of_one_type : bool
            Whether to return None if the columns have different types.
        """
        n_rows, n_columns = self.shape
        native = self.frame.to_native()
        if n_rows * n_columns > SMALL or not hasattr(native, "dtypes"):
            return None
        native = self.native()
        types = {str(dtype).lower() for dtype in native.dtypes}
        if not types <= INTEGERS | FLOATS or (of_one_type and len(types) > 1):
            return None
        values: Array = native.to_numpy()
        if values.dtype.kind != "f" or types <= FLOATS:
            return values if values.dtype.kind in "iuf" else None
        # Integers were converted to floats. Below 2**53 none of them was rounded.
        exact = values.dtype == np.float64 and bool((abs(values) < LARGEST_EXACT).all())
        return values if exact else None

    def sparse_matrix(self) -> Any:
        """Return the columns as a scipy.sparse matrix, if pandas stores them all so; else None.

        They must have one numeric type, and 0 as the value that is not stored.
        """
        types = list(getattr(self.frame.to_native(), "dtypes", ()))
        if not types or not all(type(t).__name__ == "SparseDtype" for t in types):
            return None
        if len(set(types)) > 1 or types[0].kind not in "biuf" or types[0].fill_value != 0:
            return None
        return self.native().sparse.to_coo()

    def cells(self, position: int) -> tuple[Array, Mask | None]:
        """Return the cells of one column; see `series_cells`."""
        return _cells(self._column(position), column_label(self.names, position))

    def text_codes(self, position: int) -> tuple[list[str], Array] | None:
        """Return the categories of a column, and the code of each row; -1 where it is missing.

        None: the column is not text of Arrow and does not have codes as pandas does, or not all
        categories are text.
        """
        native: Any = self._column(position).series.to_native()
        if hasattr(native, "dictionary_encode"):
            return _arrow_codes(native)
        own: Any = getattr(native, "array", None)
        if not hasattr(own, "codes"):  # a Categorical of pandas has them without an accessor
            own = getattr(native, "cat", None)
        codes = getattr(own, "codes", None)
        if codes is None:
            return None
        categories = list(own.categories)
        return (categories, np.asarray(codes)) if set(map(type, categories)) <= {str} else None

    def has_category_type(self, position: int) -> bool:
        """Return whether a column has a category type of any library."""
        return self._column(position).is_category

    def is_text(self, position: int) -> bool:
        """Return whether a column has a text type, or holds objects some of which are text."""
        series, dtype, _ = self._column(position)
        if dtype.is_numeric():
            return False
        # narwhals inspects only the first few objects, and reports an empty column as text.
        if str(getattr(series.to_native(), "dtype", "")).lower().startswith("object"):
            return any(family(kind) == "text" for kind in set(map(type, series.to_list())))
        return bool(dtype == nw.String)

    def is_time_of_day(self, position: int) -> bool:
        """Return whether a column has a time-of-day type, whose cells are read as integers."""
        return bool(self._column(position).dtype == nw.Time)

    def refuse_category(self, position: int, remedy: str) -> None:
        """Raise ValueError for a column of a category type, unless all its cells are missing."""
        column = self._column(position)
        if not column.is_category:
            return
        series = column.series
        present = ~series.is_null().to_numpy().astype(bool)
        if present.any():
            row = int(np.argmax(present))
            raise ValueError(
                f"{column_label(self.names, position)} is categorical (dtype {column.dtype}, "
                f"{short_repr(series[row])} at row {row}). {remedy}."
            )

    def _column(self, position: int) -> _OpenedSeries:
        if position not in self._opened:
            series = self.frame.get_column(self.labels[position])
            self._opened[position] = _OpenedSeries.of(series)
        return self._opened[position]


def open_frame(X: Any, caller: str, name: str = "X") -> Frame | None:
    """Open X if it is a data frame of a library that narwhals supports.

    Parameters
    ----------
    X : object
        The data.
    caller : str
        The estimator's name, for messages.
    name : str
        The name of X in messages.

    Returns
    -------
    Frame or None
        None if X is not a frame.
    """
    if isinstance(X, (np.ndarray, list, tuple)):
        return None
    if isinstance(X, Dataset):
        raise TypeError(
            f"{name} is a Dataset, which is read in batches, and {caller} needs a table in memory "
            "here: only fit and the methods that predict rows read datasets. Loop over "
            "dataset.batches(), or pass dataset.to_table() if it fits into memory."
        )
    try:
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            module = type(X).__module__
            method = "compute" if module.startswith("dask") else "collect"
            raise TypeError(
                f"{name} is a lazy frame ({module}.{type(X).__name__}), which has no "
                f"values yet. Call .{method}() and pass the result to {caller}."
            )
        if not isinstance(frame, nw.DataFrame) and hasattr(X, "__arrow_c_stream__"):
            frame = _from_arrow(X)
        if not isinstance(frame, nw.DataFrame):
            return None
        labels: list[Any] = list(frame.columns)
    except DuplicateError:
        raise _duplicates(_labels(X), name) from None
    return Frame(frame, labels, feature_names(labels))


def open_series(y: Any) -> nw.Series[Any] | None:
    """Open y if it is a series of a library that narwhals supports; else return None."""
    if isinstance(y, (np.ndarray, list, tuple)):
        return None
    try:
        series = nw.from_native(y, pass_through=True, allow_series=True)
    except DuplicateError:  # a frame
        return None
    return series if isinstance(series, nw.Series) else None


def series_cells(series: nw.Series[Any], label: str) -> tuple[Array, Mask | None]:
    """Return the cells as a numpy array of the series' own type, and a mask of missing values.

    Narwhals converts integers with nulls to floats, which rounds large ones; such columns are read
    as integers and a mask instead. A cell of a category type is its category; a time of day is the
    number of nanoseconds since midnight.
    """
    return _cells(_OpenedSeries.of(series), label)


def _cells(column: _OpenedSeries, label: str) -> tuple[Array, Mask | None]:
    """Return the cells of an opened column; see `series_cells`."""
    series, dtype, is_category = column
    if is_category:
        return _category_cells(series)
    if dtype == nw.Time:
        return series_cells(_nanoseconds_of_day(series), label)
    if dtype in (nw.Int128, nw.UInt128):
        raise TypeError(f"{label} has 128-bit integers. Cast it to Int64, UInt64 or Float64 first.")
    cells: Array = series.to_numpy()
    if cells.ndim != 1:  # records and nested arrays
        raise TypeError(
            f"{label} holds {short_repr(series[0])} at row 0 (dtype {dtype}), where every cell "
            "must be a number or missing. Split it into one column per part first."
        )
    if (dtype.is_integer() or dtype == nw.Boolean) and cells.dtype.kind not in "biu":
        missing: Mask = series.is_null().to_numpy().astype(bool)
        filled = series.fill_null(False if dtype == nw.Boolean else 0)
        return filled.to_numpy(), missing
    if dtype == nw.Date and cells.dtype.kind != "M":
        return series.cast(nw.Datetime("us")).to_numpy(), None
    return cells, None


def _from_arrow(X: Any) -> Any:
    """Open an object with Arrow's C stream interface, by the first library that is installed."""
    for backend in ARROW_LIBRARIES:
        try:
            return nw.from_arrow(X, backend=backend)
        except ImportError:
            continue
        except (TypeError, ValueError):  # a stream that is not a table
            return None
    raise TypeError(
        f"X is a {type(X).__module__}.{type(X).__name__}, which is read through Arrow. Install "
        f"one of {', '.join(ARROW_LIBRARIES)}."
    )


def _labels(X: Any) -> list[Any]:
    labels = getattr(X, "column_names", None)
    return list(X.columns if labels is None else labels)


def _duplicates(labels: Sequence[Any], name: str = "X") -> ValueError:
    twice = [label for label, count in Counter(labels).items() if count > 1]
    reason = "; features are matched by name" if name == "X" else ""
    return ValueError(
        f"{name} has duplicate column names: {', '.join(map(short_repr, twice))}. "
        f"Rename or drop the repeated columns{reason}."
    )


def feature_names(labels: list[Any]) -> list[str] | None:
    """Return labels as text: strings unchanged, other labels by repr, and 0, 1, 2, … as None.

    Raises
    ------
    TypeError
        If some labels are text and others are not.
    ValueError
        If two labels have the same text.
    """
    if all(isinstance(label, str) for label in labels):
        names = [str(label) for label in labels]
    elif any(isinstance(label, str) for label in labels):
        types = sorted({type(label).__name__ for label in labels})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but X has "
            f"column names of types {', '.join(types)}. Convert them all to strings, for instance "
            "with X.columns = X.columns.astype(str)."
        )
    elif labels == list(range(len(labels))):
        return None
    else:
        names = [repr(label.item() if isinstance(label, np.generic) else label) for label in labels]
    if len(set(names)) < len(names):
        raise _duplicates(names)
    return names or None


def _arrow_codes(column: Any) -> tuple[list[str], Array] | None:
    """Return the texts of a column of Arrow, and the code of each row; None: it has other cells."""
    is_dictionary = hasattr(column.type, "index_type")
    kind = column.type.value_type if is_dictionary else column.type
    if str(kind) not in ("string", "large_string"):
        return None
    # A dictionary may hold a value twice, so its rows are encoded again.
    texts = column.cast(kind) if is_dictionary else column
    coded = texts.dictionary_encode().unify_dictionaries().combine_chunks()
    if hasattr(coded, "chunks"):
        coded = coded.chunk(0) if coded.num_chunks else None
    if coded is None:
        return [], np.empty(0, dtype=np.int32)
    return coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy()


def _nanoseconds_of_day(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return times of day as integer nanoseconds; Arrow has four units, narwhals has none."""
    native = series.to_native()
    if hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):
        # In pandas, narwhals maps all of Arrow's time types to one, and would not cast.
        series = nw.from_native(native.astype("time64[ns][pyarrow]"), series_only=True)
    return series.cast(nw.Time()).cast(nw.Int64())


def _category_cells(series: nw.Series[Any]) -> tuple[Array, Mask | None]:
    """Return each cell's category, and a mask of missing values.

    Only cells that are not missing are converted: next to a null pandas would round large integers,
    and pyarrow fills a null with the last category.
    """
    missing: Mask = series.is_null().to_numpy().astype(bool)
    if missing.all():
        return np.full(len(series), np.nan), None
    if not missing.any():
        return series.to_numpy(), None
    present: Array = series.filter(~series.is_null()).to_numpy()
    cells = np.full(len(series), present[0], dtype=present.dtype)
    cells[~missing] = present
    return cells, missing
