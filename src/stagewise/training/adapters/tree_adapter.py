"""Boosting of trees: rows are binned, and parameters become the rules of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise._native import Bins, Columns, SparseColumns
from stagewise.boosting.linear_step import linear_leaves
from stagewise.boosting.monitor import Monitor
from stagewise.boosting.steps import Step
from stagewise.errors import InvalidParameterError
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.learners.tree_learner import TreeLearner
from stagewise.losses import Loss
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.model.tree_list import TreeList
from stagewise.training.feature_rules import FeatureRules, check_positions
from stagewise.training.fit_report import warn_if_constant
from stagewise.training.preparation import Scale, encode_bins, make_model, new_ensemble, score_rows
from stagewise.training.reading.training_data import TrainingData
from stagewise.training.specs import FitContext

__all__ = ["TreeAdapter"]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TreeAdapter:
    """Trees on bins of values.

    Attributes
    ----------
    trees : tuple of HistogramTree
        The rules of the trees, which rounds use in turn; numbers with a unit are in units of the
        target.
    feature_rules : FeatureRules
        The rules that name features.
    split : {"histogram", "exact", "approx"}
        How thresholds are searched.
    max_bins : int
        The largest number of bins of a feature.
    linear_l2 : float or None
        The penalty of the slopes of linear leaves; None: leaves are constants.
    vector_leaves : bool
        Whether a round is one tree with a value for each output.
    """

    trees: tuple[HistogramTree, ...]
    feature_rules: FeatureRules = field(default_factory=FeatureRules)
    split: str = "histogram"
    max_bins: int = 255
    linear_l2: float | None = None
    vector_leaves: bool = False

    def max_step(self, scale: Scale) -> float:
        """Return the largest step, in units of the scaled target; 0: no limit."""
        return self.trees[0].max_step * scale.unit

    def source(self, table: Any, context: FitContext) -> Any:
        """Return rows as the ensemble reads them; linear leaves read a few columns only."""
        return table if self.linear_l2 is None else table.contiguous(context.workers)

    def encode(
        self,
        tables: Sequence[Columns | SparseColumns],
        weight: Vector | None,
        features: Any,
        context: FitContext,
        rows: npt.NDArray[np.uint32] | None = None,
    ) -> tuple[list[Bins], Callable[[Any], Any]]:
        """Return the bins of the training rows, and a function that encodes other rows."""
        return encode_bins(tables, weight, features, self.split, self.max_bins, context)

    def find_constant(
        self, encoded: list[Bins], data: TrainingData, features: Any, *, warns: bool
    ) -> tuple[list[str], list[str] | None]:
        """Return the features that cannot be split; with `warns`, warn if there are no others."""
        return warn_if_constant(encoded[0], features, data.train.y, data.classes, warns=warns)

    def new_ensemble(self, features: Any, base: Vector) -> Ensemble:
        """Return an ensemble without trees."""
        return new_ensemble(features, base, joint=self.vector_leaves)

    def continued(self, features: Any, previous: Ensemble) -> Ensemble:
        """Return a copy of the ensemble of an earlier fit."""
        if (previous.outputs_per_tree > 1) != self.vector_leaves:
            joint = previous.outputs_per_tree > 1
            kind, word = ("all outputs", "vector") if joint else ("each output", "constant")
            raise InvalidParameterError(
                f"warm_start continues a model with one tree per round for {kind}; set "
                f"leaves={word!r}. Fit with warm_start=False to start a new model."
            )
        categories = features.n_categories_per_column()
        return replace(previous, trees=TreeList(previous.trees), n_categories=categories)

    def score(self, ensemble: Ensemble, source: Any, context: FitContext) -> Vector:
        """Return the scores of rows, shape (n_rows, n_outputs)."""
        return score_rows(ensemble, source, context)

    def learner(self, features: Any, loss: Loss, unit: float, used: Sequence[int]) -> TreeLearner:
        """Return the learner, whose rules are in the units of the scores."""
        return TreeLearner(
            tuple(self._in_units(tree, features, loss, unit, used) for tree in self.trees),
            loss.location,
        )

    def _in_units(
        self, tree: HistogramTree, features: Any, loss: Loss, unit: float, used: Sequence[int]
    ) -> HistogramTree:
        """Return the rules of a tree in the units of the scores.

        A gradient of a loss of degree d is of degree d - 1, a gain of degree 2 (d - 1).
        """
        gradient_unit = unit ** ((loss.degree or 1) - 1)
        own = self.feature_rules.of(features, tree)
        penalty = own.pop("feature_penalty", tree.feature_penalty)
        found = replace(
            tree,
            **own,
            used_features=tuple(used) or tree.used_features,
            l1=tree.l1 * gradient_unit,
            min_gain=tree.min_gain * gradient_unit * gradient_unit,  # the square may overflow
            feature_penalty=tuple(price * gradient_unit * gradient_unit for price in penalty),
            max_step=0.0 if loss.leaf_quantile is not None else tree.max_step * unit,
        )
        check_positions(found, features)
        return found

    def step(self, step: Step, features: Any, max_step: float) -> Step:
        """Return a step that also fits linear models in the leaves, if they are wanted."""
        return step if self.linear_l2 is None else linear_leaves(step, self.linear_l2, max_step)

    def model(
        self,
        loss: Loss,
        data: TrainingData,
        features: Any,
        ensemble: Ensemble,
        scale: Scale,
        monitor: Monitor,
    ) -> Model:
        """Return the model."""
        return make_model(loss, data, features, ensemble, scale, monitor)
