"""Shapley values: how much each feature has to do with what a model says of a row.

The one idea: the credits of trees add up, so the core adds those of one tree after another to the
same array, block by block of rows. What is done here is to read the rows as the model does, to put
columns that belong to several features to their account, and to say all in the units that the
model predicts in. Must not know how credits are found (native/shap/shap.hpp).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Shap, Workers
from stagewise.boosting.progress import Lines
from stagewise.data.reading.frame import open_frame
from stagewise.errors import InvalidParameterError
from stagewise.inspection import size
from stagewise.inspection.fitted import Fitted
from stagewise.inspection.shapley.pictures import ShapPictures
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.validation.messages import short_repr

__all__ = ["ShapValues", "shap_values"]

Values = npt.NDArray[np.float64]
Kind = Literal["path", "interventional"]

TREE_BYTES = 2**28
"""How much memory trees that are ready to be asked may need at once."""
WORK = 10**8
"""Nodes and rows, multiplied, that are asked about at once: a fraction of a second."""


@dataclass(frozen=True, eq=False)
class ShapValues(ShapPictures):
    """Credits of features, row by row.

    ``base_values`` plus the sum of a row's ``values`` is what the model says of the row: of a
    regression its prediction (with the losses "poisson", "gamma" and "tweedie" the logarithm of
    it), of a classification `decision_function`, of a forest or a tree of classes the probabilities
    (of two classes, that of the second).

    Parameters
    ----------
    values : float64 array of shape (n_rows, n_features), or (n_rows, n_features, n_features)
        With interactions the second shape: off the diagonal the half of what a pair gets that
        belongs to the first feature, on it what is the feature's alone, so that rows add up to the
        credits of the features. A model of several outputs has one more axis behind.
    base_values : float64 array of shape (), or (n_outputs,)
        What the model says when nothing is known of a row.
    feature_names : tuple of str
        The features; x0, x1, … where the training table had no names.
    output_names : tuple of str or None
        Classes or targets, where there are several.
    data : array-like or data frame
        The rows, as they were given.
    """

    values: Values
    base_values: Values
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    data: Any

    def __repr__(self) -> str:
        return f"ShapValues(shape {self.values.shape}, base {self.base_values.tolist()})"

    def as_shap(self) -> Any:
        """Return the same as `shap.Explanation`, for the plots of the package shap."""
        try:
            import shap
        except ImportError:
            raise ImportError(
                "as_shap() gives an object of the package shap, which is not installed: "
                "pip install shap. The numbers themselves are in .values and .base_values."
            ) from None
        n_rows = len(self.values)
        base = np.broadcast_to(self.base_values, (n_rows, *self.base_values.shape)).copy()
        return shap.Explanation(
            self.values,
            base_values=base,
            data=_cells(self.data, self.feature_names),
            feature_names=list(self.feature_names),
            output_names=None if self.output_names is None else list(self.output_names),
        )


def shap_values(
    estimator: Any,
    X: Any,
    *,
    kind: Kind = "path",
    background: Any = None,
    interactions: bool = False,
    verbose: int = 0,
) -> ShapValues:
    """Return the exact Shapley values of a model of trees.

    The credit of feature j is what knowing it changes, averaged over all orders in which the
    features of the row can become known (Shapley 1953):

        φ_j(x) = Σ_S |S|! (p - |S| - 1)! / p! · [v(S ∪ {j}) - v(S)],    S without j

    where v(S) is what the model says when the features in S have the values of the row.

    Parameters
    ----------
    estimator : a fitted estimator of trees
        Of boosting, of the AdaBoost family, a forest, or a tree.
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        The rows, as for `predict`.
    kind : {"path", "interventional"}, default="path"
        Whose values the other features have. "path": at a node that asks about one of them, rows go
        both ways, in the proportions of the training rows, by their weights (Lundberg et al. 2020);
        leaves must be constants. "interventional": those of a background row, averaged over the
        rows of `background`; with linear leaves too.
    background : array-like, data frame or sparse matrix or None, default=None
        For kind="interventional": rows to compare with, such as some hundred training rows. The
        time that a row of X takes does not depend on how many they are, unless trees are large or
        have linear leaves.
    interactions : bool, default=False
        Return the credits of pairs of features (Shapley interaction values, Lundberg et al. 2020).
    verbose : int, default=0
        1: say about once a second on standard error how far it is.

    Returns
    -------
    ShapValues

    Notes
    -----
    Numbers are exact up to rounding, and the same for any number of threads (`n_jobs` of the
    estimator) and however rows are divided into calls. The credit of a column of statistics
    (``category_encoding="target"``) belongs to the features whose categories it encodes, in equal
    parts.

    A leaf that says a line, c + Σ_j β_j x_j, is reached if the features in A come from the row x
    and those in B from the background row z. Its constant and the terms that this settles are one
    game of A and B; every other term is one more, in which j too must come from the row, and which
    is worth β_j (x_j - z_j). Where a line is cut off at its bounds, or says nothing since a cell is
    missing, all ways to mix x and z that differ are gone through.

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import shap_values
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = GradientBoostingRegressor().fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    >>> why = shap_values(model, X)
    >>> bool(np.allclose(why.base_values + why.values.sum(axis=1), model.predict(X)))
    True
    """
    fitted = Fitted.of(estimator, "shap_values")
    model = fitted.model
    _check_options(kind, background, interactions, verbose)
    _check_trees(model, kind)
    rows = fitted.rows(X)
    others = None if background is None else fitted.rows(background, "background", least=1)
    for given in (rows, others):
        if given is not None:
            fitted.check_one_way(given)
    _check_size(rows.n, fitted, interactions)
    credit, base = _credits(
        model.ensemble,
        fitted.workers,
        rows.asked_dense(size.RESULT_BYTES),  # no larger than the result
        None if others is None else others.asked_dense(size.COPY_BYTES),
        interactions,
        Lines(verbose, seconds=1.0),
    )
    if interactions:
        for part in _blocks(rows.n, credit[:1].size):
            _complete(credit[part])
    credit = _by_feature(credit, model.features.sources, model.features.n, interactions)
    offset, scale = fitted.score_units
    credit *= scale
    base = offset + scale * base
    one = model.ensemble.n_outputs == 1
    return ShapValues(
        credit[..., 0] if one else credit,
        np.asarray(base[0] if one else base),
        fitted.names,
        None if one else fitted.outputs("score"),
        X,
    )


# ---- what was passed -----------------------------------------------------------------------------


def _check_options(kind: Any, background: Any, interactions: Any, verbose: Any) -> None:
    if kind not in ("path", "interventional"):
        raise InvalidParameterError(
            f"kind must be 'path' or 'interventional'; got {short_repr(kind)}."
        )
    if not isinstance(interactions, (bool, np.bool_)):
        raise InvalidParameterError(
            f"interactions must be True or False; got {short_repr(interactions)}."
        )
    if not isinstance(verbose, (int, np.integer)) or verbose < 0:
        raise InvalidParameterError(
            f"verbose must be a whole number, 0 or more; got {short_repr(verbose)}."
        )
    if kind == "interventional" and background is None:
        raise InvalidParameterError(
            "kind='interventional' compares with other rows: pass some as background, such as "
            "background=X_train[:200]."
        )
    if kind == "path" and background is not None:
        raise InvalidParameterError(
            "background was passed, but kind='path' compares with the training rows, which the "
            "model remembers. Leave it out, or pass kind='interventional'."
        )


def _check_trees(model: Model, kind: str) -> None:
    trees = model.ensemble.trees
    if kind == "path" and any(tree.linear_leaves is not None for tree in trees):
        raise ValueError(
            "This model has linear leaves, and kind='path' would need the mean of every term in "
            "every leaf, which a model does not keep. Pass kind='interventional' and a background, "
            "such as background=X_train[:100]."
        )
    for number, tree in enumerate(trees if kind == "path" else ()):
        inner = tree.feature >= 0
        below = tree.cover[tree.left[inner]] + tree.cover[tree.right[inner]]
        if not (below > 0).all():
            raise ValueError(
                f"Tree {number} of this model does not say how many training rows went which way "
                "(its cover is 0). Pass kind='interventional' and a background."
            )


def _check_size(n_rows: int, fitted: Fitted, interactions: bool) -> None:
    """Raise if credits of so many rows would be too large to be made in one go."""
    features, n_outputs = fitted.model.features, fitted.model.ensemble.n_outputs
    power = 2 if interactions else 1
    # What levels say has credits of its own before they are shared out.
    behind = len(features.sources) ** power if len(features.sources) > features.n else 0
    row = 8 * n_outputs * (features.n**power + behind)
    size.check_size(
        f"{'Interactions' if interactions else 'Credits'} of {n_rows} rows"
        f"{f' x {features.n}' * power} features"
        f"{f' x {n_outputs} outputs' if n_outputs > 1 else ''}",
        n_rows,
        row,
        size.RESULT_BYTES,
        ", or leave out the interactions" if interactions else "",
    )


# ---- credits -------------------------------------------------------------------------------------


def _credits(
    ensemble: Ensemble,
    workers: Workers,
    columns: Columns,
    background: Columns | None,
    interactions: bool,
    lines: Lines,
) -> tuple[Values, Values]:
    """Return the credits of the columns, of pairs above the diagonal only, and the base values."""
    n_columns, n_trees = ensemble.n_features, len(ensemble.trees)
    shape = (n_columns, n_columns) if interactions else (n_columns,)
    credit = np.zeros((columns.n_rows, *shape, ensemble.n_outputs))
    base = ensemble.base.copy()
    first = 0
    while first < n_trees:
        shap = ensemble.shap(
            workers,
            first,
            background=background,
            interactions=interactions,
            most_bytes=TREE_BYTES,
        )
        base += shap.base()
        cost = _cost(ensemble, shap, first, background)
        for part in _blocks(columns.n_rows, cost):
            _add(shap, workers, columns, part, credit)
            share = (first + (shap.last - first) * part.stop / columns.n_rows) / n_trees
            lines.say(f"explained {share:.0%} of {columns.n_rows} rows", last=share >= 1.0)
        first = shap.last
    return credit, base


def _add(shap: Shap, workers: Workers, columns: Columns, part: slice, credit: Values) -> None:
    """Add the credits of some rows."""
    try:
        shap.add(workers, columns, part.start, part.stop, credit[part].reshape(-1))
    except OverflowError as error:
        raise ValueError(
            f"{error} Exact Shapley values would take too long; fit it with a smaller max_depth or "
            "leaves='constant'."
        ) from None


def _cost(ensemble: Ensemble, shap: Shap, first: int, background: Columns | None) -> int:
    """Return about how much there is to do for a row, in nodes."""
    nodes = sum(len(tree.feature) for tree in ensemble.trees[first : shap.last])
    walks = 10 if shap.n_walked else 1
    return nodes * walks * (background.n_rows if shap.n_walked and background is not None else 1)


def _blocks(n_rows: int, cost: int) -> Iterator[slice]:
    """Divide rows so that a block takes a fraction of a second; the results do not depend on it."""
    rows = min(max(WORK // max(cost, 1), 256), 2**16)
    for begin in range(0, n_rows, rows):
        yield slice(begin, min(begin + rows, n_rows))


def _complete(credit: Values) -> None:
    """Turn credits of features on the diagonal and halves of pairs above it into interactions."""
    own = np.einsum("niik->nik", credit)
    alone = own.copy()
    credit += credit.swapaxes(1, 2)
    own[:] = 0.0
    own[:] = alone - credit.sum(axis=2)


def _by_feature(
    credit: Values, sources: list[tuple[int, ...]], n_features: int, interactions: bool
) -> Values:
    """Put columns of statistics to the account of their features, in equal parts."""
    if len(sources) == n_features:
        return credit
    share = np.zeros((len(sources), n_features))
    for column, features in enumerate(sources):
        share[column, list(features)] = 1 / len(features)
    if interactions:
        shared = np.einsum("ncdk,cf,dg->nfgk", credit, share, share, optimize=True)
    else:
        shared = np.einsum("nck,cf->nfk", credit, share)
    return np.ascontiguousarray(shared, dtype=np.float64)


def _cells(X: Any, names: tuple[str, ...]) -> npt.NDArray[Any]:
    """Return the cells of rows as they were given, in the order of the features."""
    frame = open_frame(X, "as_shap")
    if frame is None:
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    if frame.names is not None and set(names) <= set(frame.names):
        frame = frame.select(list(names))
    cells = [_without_masked(*frame.cells(j)) for j in range(len(names))]
    kinds = {column.dtype.kind for column in cells}
    if kinds <= set("biuf"):
        return np.column_stack(cells)
    return np.column_stack([column.astype(object) for column in cells])


def _without_masked(
    cells: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None
) -> npt.NDArray[Any]:
    """Return cells with NaN, or None, for those that a mask says are missing."""
    if missing is None or not missing.any():
        return np.asarray(cells)
    if cells.dtype.kind in "biuf":
        return np.where(missing, np.nan, cells.astype(np.float64))
    objects = cells.astype(object)
    objects[missing] = None
    return objects
