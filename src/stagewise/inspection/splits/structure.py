"""The structure score of a tree: how far a partition of the rows can lower the objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.display import Summary, Tabled
from stagewise.errors import InvalidParameterError
from stagewise.inspection.splits.objectives import GradientObjective
from stagewise.inspection.splits.tree_rows import TreeRows
from stagewise.validation.arguments import suggests_arguments

__all__ = ["StructureScore", "structure_score"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class StructureScore(Tabled):
    """Obj*(q) = -½ Σ_j G_j² / (H_j + λ) + γ J of a partition of the rows into J regions.

    Attributes
    ----------
    regions : integer array of shape (n_regions,)
        The numbers of the leaves, or the labels of the partition.
    gradient, hessian : float64 arrays of shape (n_regions, n_outputs)
        G_j and H_j.
    value : float64 array of shape (n_regions, n_outputs)
        The best values w_j* = -G_j / (H_j + λ), before the learning rate.
    leaf_cost : float
        γ.
    """

    regions: npt.NDArray[Any]
    gradient: Vector
    hessian: Vector
    value: Vector
    leaf_cost: float
    _objective: GradientObjective

    @property
    def score(self) -> float:
        """Obj*(q): the objective with the best values."""
        return self.objective(self.value)

    def objective(self, value: Any) -> float:
        """Return Σ_j [G_j w_j + ½ (H_j + λ) w_j² + α |w_j|] + γ J for other values of the leaves.

        Parameters
        ----------
        value : array-like of shape (n_regions,), or (n_regions, n_outputs)
            w_j, in the order of `regions`.
        """
        chosen = np.asarray(value, dtype=np.float64)
        if chosen.size != self.gradient.size:
            raise InvalidParameterError(
                f"value must have {self.gradient.size} numbers, one for each region and output; "
                f"got {chosen.size}."
            )
        sums = np.concatenate([self.gradient, self.hessian], axis=1)
        costs = self._objective.cost(sums, chosen.reshape(self.gradient.shape))
        return float(costs.sum()) + self.leaf_cost * len(self.regions)

    def _summary(self) -> Summary:
        title = f"Structure score {self.score:.6g}, {len(self.regions)} regions"
        return Summary(title, rows=self.table())

    def table(self) -> list[dict[str, Any]]:
        """Return one row per region: its label, G, H, w* and its part of the score."""
        sums = np.concatenate([self.gradient, self.hessian], axis=1)
        parts = self._objective.cost(sums, self.value) + self.leaf_cost
        return [
            {"region": region, **self._objective.columns(own)}
            | {"value": value[0] if len(value) == 1 else tuple(value), "score": part}
            for region, own, value, part in zip(
                self.regions.tolist(), sums, self.value.tolist(), parts.tolist(), strict=True
            )
        ]


@suggests_arguments
def structure_score(
    estimator: Any,
    X: Any,
    y: Any,
    tree: int = 0,
    sample_weight: Any = None,
    *,
    partition: Any = None,
) -> StructureScore:
    """Return the structure score of a boosted tree, or of another partition of its rows.

    Parameters
    ----------
    estimator : estimator
        A fitted boosting estimator whose trees are fitted to gradients.
    X, y : array-like or data frame, and array-like
        The training rows.
    tree : int, default=0
        The index of the tree; gradients are those at the scores before its round.
    sample_weight : array-like or None
        The weights of the fit.
    partition : integer array of shape (n_rows,), or None
        The region of every row; None: the leaves of the tree.

    Returns
    -------
    StructureScore
        `score` is Obj*(q) of Chen & Guestrin (2016), eq. 6, in the units of the loss; `objective`
        is the same with other values of the leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from stagewise import GradientBoostingRegressor
    >>> from stagewise.inspection import structure_score
    >>> X, y = np.arange(4.0)[:, np.newaxis], np.array([0.0, 0.0, 4.0, 4.0])
    >>> model = GradientBoostingRegressor(n_estimators=1, min_samples_leaf=1, max_depth=1)
    >>> model = model.set_params(l2_regularization=2.0, min_gain=0.5).fit(X, y)
    >>> structure_score(model, X, y).score  # G = ±4, H = 2: -½ (16/4 + 16/4) + 0.5 · 2
    -3.0
    """
    rows = TreeRows.of(estimator, X, y, tree, sample_weight, "structure_score")
    if not isinstance(rows.objective, GradientObjective):
        raise InvalidParameterError(
            f"structure_score needs trees that are fitted to gradients, and those of this "
            f"{type(estimator).__name__} are fitted to targets. Use show_split."
        )
    regions = rows.leaves()
    if partition is not None:
        given = np.asarray(partition)
        n_rows = rows.fitted.rows(X).n
        if given.shape != (n_rows,) or given.dtype.kind not in "iu":
            raise InvalidParameterError(
                f"partition must have a whole number for each of the {n_rows} rows; got an array "
                f"of {given.dtype} of shape {given.shape}."
            )
        regions = given[rows.kept]
    labels, places = np.unique(regions, return_inverse=True)
    sums = np.zeros((len(labels), rows.objective.row_sums.shape[1]))
    np.add.at(sums, places, rows.objective.row_sums)
    gradient, hessian = np.split(sums, 2, axis=1)
    value = rows.objective.value(sums)
    return StructureScore(labels, gradient, hessian, value, rows.rules.min_gain, rows.objective)
