"""Exact Shapley values of trees.

The Shapley values of trees are additive: the core adds those of one tree after another to the same
array, by blocks of rows (native/shap/shap.hpp). This module encodes the rows, divides the values of
target-encoded columns among their source features, and converts to the units of predictions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from stagewise._native import Columns, Shap, Workers
from stagewise.boosting.progress import ProgressLines
from stagewise.display import MOST_ROWS, Displayed, Summary
from stagewise.errors import InvalidParameterError
from stagewise.inspection import memory_limits
from stagewise.inspection.fitted_model import FittedModel
from stagewise.inspection.shap.attributions import row_cells
from stagewise.inspection.shap.plot_methods import ShapPlots
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.validation.arguments import suggests_arguments
from stagewise.validation.foreign_calls import suggests_attributes
from stagewise.validation.messages import short_repr

__all__ = ["ShapValues", "shap_values"]

Values = npt.NDArray[np.float64]
Kind = Literal["tree_path_dependent", "interventional"]
KINDS: tuple[str, ...] = get_args(Kind)
RENAMED = {"path": " Write kind='tree_path_dependent'."}

MOST_BASES = 8
"""The largest number of base values that are displayed."""
TREE_BYTES = 2**28
"""The memory limit of the prepared trees of one pass."""
WORK = 10**8
"""The size of a block of rows, in nodes × rows: a fraction of a second."""


@suggests_attributes
@dataclass(frozen=True, eq=False, repr=False)
class ShapValues(Displayed, ShapPlots):
    """Shapley values of features, row by row.

    ``base_values`` plus the sum of the ``values`` of a row is the model output of the row. With an
    offset or an exposure, ``offset`` is a further term.
    Regression: the prediction (its logarithm with the losses "poisson", "gamma" and "tweedie", its
    log odds with "cross_entropy").
    Classification: `decision_function`; of a forest or a tree the probabilities (of two classes
    that of the second).

    Parameters
    ----------
    values : float64 array of shape (n_rows, n_features), or (n_rows, n_features, n_features)
        With interactions the second shape: off the diagonal half of the interaction of a pair, on
        the diagonal the main effect of a feature, so that rows sum to the Shapley values. A model
        with several outputs has one more axis at the end.
    base_values : float64 array of shape (), or (n_outputs,)
        The expected model output without any feature.
    feature_names : tuple of str
        The features; x0, x1, … if the training table had no names.
    output_names : tuple of str or None
        The classes or targets, if there are several.
    data : array-like or data frame
        The rows, as passed by the caller.
    offset : float64 array of shape (n_rows,), or (n_rows, n_outputs), or None
        The offset of each row plus the logarithm of its exposure; None: all are 0.
    """

    values: Values
    base_values: Values
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    data: Any
    offset: Values | None = None

    def _summary(self) -> Summary:
        shape = " × ".join(f"{n:,}" for n in self.values.shape)
        names, outputs = self.feature_names, self.output_names
        base = np.atleast_1d(self.base_values).tolist()
        own = [""] if outputs is None else list(outputs)
        facts = {
            f"base value {name}".strip(): value
            for name, value in zip(own[:MOST_BASES], base, strict=False)
        }
        if self.values.ndim - (outputs is not None) > 2:  # interactions
            return Summary(f"Shapley interaction values, {shape}", facts)
        each = self.values if outputs is not None else self.values[..., np.newaxis]
        means = np.abs(each).mean(axis=(0, 2)) if len(each) else np.zeros(len(names))
        order = np.argsort(-means, kind="stable")[:MOST_ROWS].tolist()
        rows = [{"feature": names[j], "mean |value|": float(means[j])} for j in order]
        title = (
            f"Shapley values, {shape} (rows × features{'' if outputs is None else ' × outputs'})"
        )
        return Summary(title, facts, rows, len(names), bars="mean |value|")

    def as_shap(self) -> Any:
        """Return the values as `shap.Explanation`, for the plots of the package shap.

        The offset of a row is a part of its base value there.
        """
        try:
            import shap
        except ImportError:
            raise ImportError(
                "as_shap() needs the package shap, which is not installed: pip install shap. The "
                "numbers are in .values and .base_values."
            ) from None
        n_rows = len(self.values)
        base = np.broadcast_to(self.base_values, (n_rows, *self.base_values.shape)).copy()
        base += 0.0 if self.offset is None else self.offset
        return shap.Explanation(
            self.values,
            base_values=base,
            data=row_cells(self.data, self.feature_names),
            feature_names=list(self.feature_names),
            output_names=None if self.output_names is None else list(self.output_names),
        )


@suggests_arguments
def shap_values(
    estimator: Any,
    X: Any,
    *,
    kind: Kind = "tree_path_dependent",
    background: Any = None,
    interactions: bool = False,
    verbose: int = 0,
    offset: Any = None,
    exposure: Any = None,
) -> ShapValues:
    """Return the exact Shapley values of a model of trees.

    The Shapley value of feature j is its marginal contribution, averaged over all orders in which
    the features of the row are added (Shapley 1953):

        φ_j(x) = Σ_S |S|! (p - |S| - 1)! / p! · [v(S ∪ {j}) - v(S)],    S without j

    where v(S) is the expected model output when the features in S have the values of the row.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator, forest or tree.
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
        The rows, as for `predict`.
    kind : {"tree_path_dependent", "interventional"}, default="tree_path_dependent"
        How the features outside S are treated. "tree_path_dependent": at a split on one of them
        both children are followed, weighted by the training rows (Lundberg et al. 2020); leaves
        must be constants. "interventional": they have the values of a background row, averaged over
        the rows of `background`; linear leaves are supported.
    background : array-like, data frame or sparse matrix or None, default=None
        For kind="interventional": the background rows, such as some hundred training rows. The time
        per row of X does not depend on their number, unless trees are large or have linear leaves.
    interactions : bool, default=False
        Return Shapley interaction values of pairs of features (Lundberg et al. 2020).
    verbose : int, default=0
        1: print the progress on standard error, about once a second.
    offset, exposure : array-like, number, str or None
        As of `predict` of the estimator. They are a term of their own, and change no value of a
        feature.

    Returns
    -------
    ShapValues

    Notes
    -----
    The values are exact up to rounding, and the same for any number of threads (`n_jobs` of the
    estimator) and any division of the rows into calls. The Shapley value of a target-encoded column
    (``category_encoding="target"``) is divided equally among its source features.

    A leaf with a linear model, c + Σ_j β_j x_j, is reached if the features in A come from the row x
    and those in B from the background row z. Its constant, and the terms of features in A or B, are
    one cooperative game of A and B; every other term is one more game, in which j must also come
    from the row and whose payoff is β_j (x_j - z_j). If the linear model is clipped at its bounds,
    or falls back to its constant because a value is missing, all different mixtures of x and z are
    enumerated.

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import shap_values
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = GradientBoostingRegressor().fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    >>> shap = shap_values(model, X)
    >>> bool(np.allclose(shap.base_values + shap.values.sum(axis=1), model.predict(X)))
    True
    """
    fitted = FittedModel.of(estimator, "shap_values", offsets=True, of_targets=True)
    model = fitted.model
    _check_options(kind, background, interactions, verbose)
    _check_trees(model, kind)
    rows = fitted.rows(X)
    others = None if background is None else fitted.rows(background, "background", least=1)
    for given in (rows, others):
        if given is not None:
            fitted.check_one_leaf(given)
    _check_size(rows.n, fitted, interactions)
    added = fitted.offset(X, rows.n, offset, exposure)
    values, base = _compute(
        model.ensemble,
        fitted.workers,
        rows.dense_tree_columns(memory_limits.RESULT_BYTES),  # at most as large as the result
        None if others is None else others.dense_tree_columns(memory_limits.COPY_BYTES),
        interactions,
        ProgressLines(verbose, seconds=1.0),
    )
    if interactions:
        for part in _blocks(rows.n, values[:1].size):
            _complete(values[part])
    values = _by_feature(values, model.features.sources, model.features.n, interactions)
    zero, scale = fitted.score_units
    values *= scale
    base = zero + scale * base
    added = scale * added
    one = model.ensemble.n_outputs == 1
    return ShapValues(
        values[..., 0] if one else values,
        np.asarray(base[0] if one else base),
        fitted.names,
        None if one else fitted.outputs("score"),
        X,
        None if not added.any() else added[:, 0] if one else added,
    )


# ---- arguments ----------------------------------------------------------------------------------


def _check_options(kind: Any, background: Any, interactions: Any, verbose: Any) -> None:
    if kind not in KINDS:
        raise InvalidParameterError(
            f"kind must be 'tree_path_dependent' or 'interventional', as in the package shap; got "
            f"{short_repr(kind)}.{RENAMED.get(kind, '') if isinstance(kind, str) else ''}"
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
            "kind='interventional' needs background rows: pass some as background, such as "
            "background=X_train[:200]."
        )
    if kind == "tree_path_dependent" and background is not None:
        raise InvalidParameterError(
            "background was passed, but kind='tree_path_dependent' uses the training rows stored "
            "in the model. Omit background, or pass kind='interventional'."
        )


def _check_trees(model: Model, kind: str) -> None:
    trees = model.ensemble.trees
    if kind == "tree_path_dependent" and any(tree.linear_leaves is not None for tree in trees):
        raise ValueError(
            "This model has linear leaves, which kind='tree_path_dependent' does not support: the "
            "means of their features are not stored. Pass kind='interventional' and a background, "
            "such as background=X_train[:100]."
        )
    for number, tree in enumerate(trees if kind == "tree_path_dependent" else ()):
        inner = tree.feature >= 0
        below = tree.cover[tree.left[inner]] + tree.cover[tree.right[inner]]
        if not (below > 0).all():
            raise ValueError(
                f"Tree {number} of this model has no row counts (its cover is 0). Pass "
                " kind='interventional' and a background."
            )


def _check_size(n_rows: int, fitted: FittedModel, interactions: bool) -> None:
    """Raise if the result would be too large."""
    features, n_outputs = fitted.model.features, fitted.model.ensemble.n_outputs
    power = 2 if interactions else 1
    # Target-encoded columns have their own values before these are divided.
    behind = len(features.sources) ** power if len(features.sources) > features.n else 0
    row = 8 * n_outputs * (features.n**power + behind)
    memory_limits.check_size(
        f"{'Interaction values' if interactions else 'Shapley values'} of {n_rows} rows"
        f"{f' x {features.n}' * power} features"
        f"{f' x {n_outputs} outputs' if n_outputs > 1 else ''}",
        n_rows,
        row,
        memory_limits.RESULT_BYTES,
        ", or pass interactions=False" if interactions else "",
    )


# ---- computation
# ----------------------------------------------------------------------------------------


def _compute(
    ensemble: Ensemble,
    workers: Workers,
    columns: Columns,
    background: Columns | None,
    interactions: bool,
    lines: ProgressLines,
) -> tuple[Values, Values]:
    """Return the values of all columns (pairs: above the diagonal only) and the base values."""
    n_columns, n_trees = ensemble.n_features, len(ensemble.trees)
    shape = (n_columns, n_columns) if interactions else (n_columns,)
    values = np.zeros((columns.n_rows, *shape, ensemble.n_outputs))
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
            _add(shap, workers, columns, part, values)
            share = (first + (shap.last - first) * part.stop / columns.n_rows) / n_trees
            lines.show(f"explained {share:.0%} of {columns.n_rows} rows", last=share >= 1.0)
        first = shap.last
    return values, base


def _add(shap: Shap, workers: Workers, columns: Columns, part: slice, values: Values) -> None:
    """Add the Shapley values of some rows to the result."""
    try:
        shap.add(workers, columns, part.start, part.stop, values[part].reshape(-1))
    except OverflowError as error:
        raise ValueError(
            f"{error} Exact Shapley values would take too long. Fit with a smaller max_depth or "
            "leaves='constant'."
        ) from None


def _cost(ensemble: Ensemble, shap: Shap, first: int, background: Columns | None) -> int:
    """Return the approximate work per row, in nodes."""
    nodes = sum(len(tree.feature) for tree in ensemble.trees[first : shap.last])
    walks = 10 if shap.n_walked else 1
    return nodes * walks * (background.n_rows if shap.n_walked and background is not None else 1)


def _blocks(n_rows: int, cost: int) -> Iterator[slice]:
    """Divide rows into blocks of a fraction of a second; the results do not depend on it."""
    rows = min(max(WORK // max(cost, 1), 256), 2**16)
    for begin in range(0, n_rows, rows):
        yield slice(begin, min(begin + rows, n_rows))


def _complete(values: Values) -> None:
    """Convert values on the diagonal and half interactions above it to interaction values."""
    own = np.einsum("niik->nik", values)
    alone = own.copy()
    values += values.swapaxes(1, 2)
    own[:] = 0.0
    own[:] = alone - values.sum(axis=2)


def _by_feature(
    values: Values, sources: list[tuple[int, ...]], n_features: int, interactions: bool
) -> Values:
    """Divide the values of target-encoded columns equally among their source features."""
    if len(sources) == n_features:
        return values
    share = np.zeros((len(sources), n_features))
    for column, features in enumerate(sources):
        share[column, list(features)] = 1 / len(features)
    if interactions:
        shared = np.einsum("ncdk,cf,dg->nfgk", values, share, share, optimize=True)
    else:
        shared = np.einsum("nck,cf->nfk", values, share)
    return np.ascontiguousarray(shared, dtype=np.float64)
