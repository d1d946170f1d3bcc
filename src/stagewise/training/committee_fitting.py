"""One fit of trees that are averaged: standardise, bin, grow side by side.

The one idea: everything before the first tree is what it is for boosting; only the loop is another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import ForestGrower
from stagewise.boosting.averaging import Average, average
from stagewise.boosting.loop import Rows
from stagewise.boosting.monitor import Monitor
from stagewise.data import TargetScale
from stagewise.errors import ModelFormatError
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Margin
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.training.fitting import Fit
from stagewise.training.ready import Ready, Scale
from stagewise.training.rows import Sample
from stagewise.training.tree_rules import proposal

__all__ = ["CommitteeFit", "check_averages", "columns_share"]


def columns_share(max_features: Any, n_features: int) -> float:
    """Return the share of the columns that a node may use.

    Parameters
    ----------
    max_features : {"sqrt", "log2", "third"}, int, float or None
        Checked.
    n_features : int
        How many there are.
    """
    if max_features is None:
        return 1.0
    if isinstance(max_features, float):
        wanted = max(1, round(max_features * n_features))
    elif isinstance(max_features, int):
        wanted = min(max_features, n_features)
    else:
        wanted = {
            "sqrt": round(n_features**0.5),
            "log2": round(np.log2(n_features)),
            "third": round(n_features / 3),
        }[max_features]
    return max(1, int(wanted)) / n_features


def check_averages(model: Model, name: str) -> None:
    """Raise ModelFormatError unless a model is one of trees that are averaged."""
    ensemble = model.ensemble
    if model.loss not in ("squared_error", "absolute_error"):
        raise ModelFormatError(f"a {name} does not have the loss {model.loss!r}.")
    if ensemble.trees and ensemble.outputs_per_tree != ensemble.n_outputs:
        raise ModelFormatError(f"the leaves of a {name} have the shares of all classes.")
    largest = max((float(np.abs(tree.value).max()) for tree in ensemble.trees), default=0.0)
    with np.errstate(over="ignore"):
        reached = np.abs(model.offset) + model.scale * len(ensemble.trees) * largest
    if not np.isfinite(reached):
        raise ModelFormatError("a leaf has a value that is beyond the range of a float64.")


class CommitteeFit(Fit):
    """The same for trees that are averaged."""

    average: Average | None = None
    """What the trees say of training rows that they have not seen."""

    def _noticed(self, monitor: Monitor, ready: Ready) -> dict[str, Any]:
        return {
            **super()._noticed(monitor, ready),
            "out_of_bag_average": self.average,
            "judged_by_held_out_rows": ready.held is not None,
        }

    def _joint(self) -> bool:
        return self.loss.n_outputs > 1

    def _target_scale(self, train: Sample, previous: Model | None) -> Scale:
        """Return a scale that can be undone exactly: a leaf's mean is within its targets."""
        if self.loss.degree is None:
            return TargetScale(0.0, 1.0, 1.0)
        return TargetScale.learn_exact(train.y, train.weight)

    def _boost(self, ready: Ready, ensemble: Ensemble) -> Monitor:
        p, rows, held = self.params, ready.rows, ready.held
        scale, classes = ready.scale, ready.classes
        patient = held is not None or p["stops_by_bags"]
        monitor = self._monitor(scale, patient=patient, previous=None)
        if classes is not None and len(classes) == 1:
            monitor.close()
            return monitor
        try:
            self.average = average(
                self._committee(rows, scale, classes),
                ensemble,
                self.loss,
                rows,
                held,
                monitor,
                workers=self.workers,
                seed=self.seed,
                out_of_bag=p["out_of_bag"],
            )
        finally:
            monitor.close()
        return monitor

    def _committee(
        self, rows: Rows, scale: Scale, classes: npt.NDArray[Any] | None
    ) -> ForestGrower:
        """Return who grows the trees. By the Gini index, two classes are the numbers -1 and 1."""
        p, (bins,) = self.params, rows.table
        tree = self._tree(rows, scale)
        by_class = classes is not None and not (
            isinstance(self.loss, Margin) and p["criterion"] == "gini"
        )
        target = None if by_class else np.asarray(self.loss.target(rows.y, 0), dtype=np.float64)
        return ForestGrower(
            self.workers,
            bins,
            rows.weight,
            target,
            rows.y if by_class else None,
            len(classes) if by_class and classes is not None else 0,
            tree.native(bins, hessian_bound=1.0, hessian_is_weight=not by_class),
            p["bootstrap"],
            p["subsample"],
        )

    def _tree(self, rows: Rows, scale: Scale) -> HistogramTree:
        """Return the rules of a tree; the core's gain is what all rows together gain.

        Of classes that is the impurity times the weight; of numbers it is in units of the scaled
        target, and of squares half of it.
        """
        p, degree = self.params, self.loss.degree
        min_gain = p["min_impurity_decrease"] * rows.total_weight * (0.5 if degree == 2 else 1.0)
        for _ in range(degree or 0):  # a power of a huge scale is an OverflowError, this is not
            min_gain /= float(scale.scale)
        return HistogramTree(
            max_leaf_nodes=p["max_leaf_nodes"],
            max_depth=p["max_depth"],
            min_samples_leaf=p["min_samples_leaf"],
            min_hessian=0.0,
            min_gain=min_gain,
            l2=0.0,
            criterion=p["criterion"].replace("squared_error", "gini"),  # of ±1 they are the same
            growth=self._growth(),
            columns_per_node=columns_share(p["max_features"], self.features.n),
            random_thresholds=p["random_thresholds"],
            to_the_end=True,
            level_smoothing=0.0,
            level_l2=0.0,
            **proposal(p),
        )

    def _growth(self) -> str:
        """Return which leaf is split next; without a limit of leaves, the order does not matter."""
        return "best_first" if self.params["max_leaf_nodes"] else "depth_first"
