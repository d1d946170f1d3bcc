"""Shapley values: how much each feature has to do with what a model says of a row.

The one idea: the credits of trees add up, so the core adds those of one tree after another to the
same array, block by block of rows. What is done here is to read the rows as the model does, to put
columns that belong to several features to their account, and to say all in the units that the
model predicts in. Must not know how credits are found (native/shap.hpp).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from stagewise._native import Columns, Shap, Workers
from stagewise.data.bins import core_columns
from stagewise.data.frame import open_frame
from stagewise.data.messages import shown
from stagewise.data.sparse import Cells
from stagewise.data.unseen import Rule
from stagewise.errors import InvalidParameterError
from stagewise.estimators.base import BoostedTrees
from stagewise.estimators.parameters import check_parameter
from stagewise.inspection.shap_pictures import ShapPictures
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.workers import make_workers

__all__ = ["ShapValues", "shap_values"]

Values = npt.NDArray[np.float64]
Kind = Literal["path", "interventional"]

TREE_BYTES = 2**28
"""How much memory trees that are ready to be asked may need at once."""
MOST_BYTES = 2**32
"""The largest table of interactions that is made in one go."""
WORK = 10**8
"""Nodes and rows, multiplied, that are asked about at once: a fraction of a second."""


@dataclass(frozen=True, eq=False)
class ShapValues(ShapPictures):
    """Credits of features, row by row.

    ``base_values`` plus the sum of a row's ``values`` is what the model says of the row: of a
    regression its prediction (with the losses "poisson", "gamma" and "tweedie" the logarithm of
    it), of a classification `decision_function`, of a forest of classes the probabilities.

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
        Of boosting, of the AdaBoost family, a forest, or a tree; leaves must be constants.
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        The rows, as for `predict`.
    kind : {"path", "interventional"}, default="path"
        Whose values the other features have. "path": at a node that asks about one of them, rows go
        both ways, in the proportions of the training rows, by their weights (Lundberg et al. 2020).
        "interventional": those of a background row, averaged over the rows of `background`.
    background : array-like, data frame or sparse matrix or None, default=None
        For kind="interventional": rows to compare with, such as some hundred training rows. The
        time that a row of X takes does not depend on how many they are, unless trees are large.
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
    (``categorical="statistics"``) belongs to the features whose levels it is about, in equal parts.

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
    model = _model_of(estimator)
    if getattr(estimator, "missing", "learned") == "probability":
        raise InvalidParameterError(
            f"This {type(estimator).__name__} has missing='probability': rows with missing cells "
            "go both ways, and Shapley values of trees are about rows that go one. Fit it with "
            "missing='learned' or 'mean'."
        )
    _check_options(kind, background, interactions, verbose)
    _check_trees(model, kind)
    columns = _columns(estimator, model, X)
    others = None if background is None else _background(estimator, model, background)
    n_outputs, n_features = model.ensemble.n_outputs, model.features.n
    if interactions:
        _check_size(columns.n_rows, n_features, len(model.features.sources), n_outputs)
    workers = make_workers(estimator.n_jobs)
    credit, base = _credits(
        model.ensemble, workers, columns, others, interactions, _Display(verbose, columns.n_rows)
    )
    if interactions:
        for part in _blocks(columns.n_rows, credit[:1].size):
            _complete(credit[part])
    credit = _by_feature(credit, model.features.sources, n_features, interactions)
    credit *= model.scale
    base = model.offset + model.scale * base
    one = n_outputs == 1
    return ShapValues(
        credit[..., 0] if one else credit,
        np.asarray(base[0] if one else base),
        tuple(model.features.names or (f"x{j}" for j in range(n_features))),
        None if one else _output_names(model),
        X,
    )


# ---- what was passed -----------------------------------------------------------------------------


def _model_of(estimator: Any) -> Model:
    if not isinstance(estimator, BoostedTrees):
        kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(
            f"shap_values reads the trees of a fitted stagewise estimator, and {kind} has none. "
            "Pass a boosting estimator, a forest or a tree; of a committee one of its members; of "
            "anything else shap.Explainer(estimator.predict, background) of the package shap."
        )
    check_is_fitted(estimator, "model_")
    return estimator.model_


def _check_options(kind: Any, background: Any, interactions: Any, verbose: Any) -> None:
    if kind not in ("path", "interventional"):
        raise InvalidParameterError(f"kind must be 'path' or 'interventional'; got {shown(kind)}.")
    if not isinstance(interactions, (bool, np.bool_)):
        raise InvalidParameterError(
            f"interactions must be True or False; got {shown(interactions)}."
        )
    if not isinstance(verbose, (int, np.integer)) or verbose < 0:
        raise InvalidParameterError(
            f"verbose must be a whole number, 0 or more; got {shown(verbose)}."
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
    if any(tree.lines is not None for tree in trees):
        raise ValueError(
            "This model has linear leaves, which depend on features even where their values are "
            "unknown, so its trees have no exact Shapley values here. Fit it with "
            "leaves='constant', or use shap.Explainer(estimator.predict, background) of the "
            "package shap."
        )
    for number, tree in enumerate(trees if kind == "path" else ()):
        inner = tree.feature >= 0
        below = tree.cover[tree.left[inner]] + tree.cover[tree.right[inner]]
        if not (below > 0).all():
            raise ValueError(
                f"Tree {number} of this model does not say how many training rows went which way "
                "(its cover is 0). Pass kind='interventional' and a background."
            )


def _check_size(n_rows: int, n_features: int, n_columns: int, n_outputs: int) -> None:
    row = 8 * n_outputs * (n_features**2 + (n_columns**2 if n_columns > n_features else 0))
    if n_rows * row > MOST_BYTES:
        raise ValueError(
            f"Interactions of {n_rows} rows x {n_features} x {n_features} features"
            f"{f' x {n_outputs} outputs' if n_outputs > 1 else ''} would take "
            f"{n_rows * row / 2**30:.1f} GiB. Pass at most {max(1, MOST_BYTES // row)} rows at a "
            "time, or leave out the interactions."
        )


def _columns(estimator: Any, model: Model, X: Any) -> Columns:
    """Return all columns that trees ask about."""
    features, caller = model.features, type(estimator).__name__
    rule: Rule = check_parameter(estimator, "on_unseen") if features.categorical else "missing"
    values = features.match(X, caller, rule)
    if isinstance(values, Cells):
        values = values.dense()  # no larger than the result
    columns = features.extended(core_columns(values))
    assert isinstance(columns, Columns)
    return columns


def _background(estimator: Any, model: Model, background: Any) -> Columns:
    try:
        columns = _columns(estimator, model, background)
    except (TypeError, ValueError) as error:
        # The words are those for X; say that other rows are meant.
        raise type(error)(f"In background: {error}") from None
    if columns.n_rows == 0:
        raise ValueError("background has no rows. Pass some, such as background=X_train[:200].")
    return columns


def _output_names(model: Model) -> tuple[str, ...]:
    if model.classes is not None:
        return tuple(str(label) for label in model.classes.tolist())
    return model.targets or tuple(f"y{k}" for k in range(model.ensemble.n_outputs))


# ---- credits -------------------------------------------------------------------------------------


def _credits(
    ensemble: Ensemble,
    workers: Workers,
    columns: Columns,
    background: Columns | None,
    interactions: bool,
    display: _Display,
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
            shap.add(workers, columns, part.start, part.stop, credit[part].reshape(-1))
            display.show((first + (shap.last - first) * part.stop / columns.n_rows) / n_trees)
        first = shap.last
    return credit, base


def _cost(ensemble: Ensemble, shap: Shap, first: int, background: Columns | None) -> int:
    """Return about how much there is to do for a row, in nodes."""
    nodes = sum(len(tree.feature) for tree in ensemble.trees[first : shap.last])
    walks = 10 if shap.walked else 1
    return nodes * walks * (background.n_rows if shap.walked and background is not None else 1)


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
    cells = [np.asarray(frame.cells(j)[0]) for j in range(len(names))]
    kinds = {column.dtype.kind for column in cells}
    if kinds <= set("biuf"):
        return np.column_stack(cells)
    return np.column_stack([column.astype(object) for column in cells])


class _Display:
    """Says on standard error how far it is, about once a second."""

    def __init__(self, verbose: int, n_rows: int) -> None:
        self._on, self._n_rows = verbose > 0, n_rows
        self._begin = self._said = time.monotonic()

    def show(self, share: float) -> None:
        now = time.monotonic()
        if not self._on or (now - self._said < 1.0 and share < 1.0) or sys.stderr is None:
            return
        self._said = now
        line = f"explained {share:.0%} of {self._n_rows} rows  {now - self._begin:.1f} s"
        print(line, file=sys.stderr, flush=True)  # noqa: T201  asked for
