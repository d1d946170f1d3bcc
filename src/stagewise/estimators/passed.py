"""Rows that go to estimators of others as they were given.

The one idea: only the number and the names of the columns are checked here; what the cells are is
the business of whoever learns from them. Must not know what is learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

__all__ = ["Passed", "pass_on"]


class Passed:
    """Rows as they were given, for learners that read tables themselves."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows = X.shape[0]

    def take(self, rows: npt.NDArray[np.uint32]) -> Passed:
        """Choose rows."""
        return Passed(_safe_indexing(self.X, rows.astype(np.intp)))


def pass_on(estimator: Any, X: Any, *, reset: bool, name: str = "X") -> Passed:
    """Check the number and the names of the columns, and nothing else.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Whose ``n_features_in_`` and ``feature_names_in_`` X is held to; columns of other order are
        put in its order.
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        The rows.
    reset : bool
        Whether the estimator shall learn the columns from X instead.
    name : str
        What to call X in messages.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if not reset and names is not None and hasattr(X, "columns"):
        if sorted(map(str, X.columns)) == sorted(names) and list(X.columns) != list(names):
            X = X[list(names)]
    elif not hasattr(X, "shape"):
        X = np.asarray(X)
    elif scipy.sparse.issparse(X):
        X = X.tocsr()  # the kind whose rows can be chosen
    if len(X.shape) != 2:
        raise ValueError(
            f"{name} must have two dimensions, rows and columns; it has shape {X.shape}. "
            "Reshape your data with X.reshape(-1, 1) if it is a single feature."
        )
    if X.shape[0] == 0:
        raise ValueError(f"{name} has no rows.")
    return Passed(validate_data(estimator, X, reset=reset, skip_check_array=True))
