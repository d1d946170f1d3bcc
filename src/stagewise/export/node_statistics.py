"""Gains, impurities and sums of gradients of the nodes of a tree, as far as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stagewise.errors import InvalidParameterError
from stagewise.estimators.bases.model_access import fit_spec
from stagewise.export.tree_facts import TreeFacts, tree_facts
from stagewise.inspection.fitted_model import FittedModel, check_argument
from stagewise.inspection.splits.tree_rows import TreeRows
from stagewise.trees.impurity import class_impurity
from stagewise.validation.rules import flag

__all__ = ["ShownStatistics"]


@dataclass(frozen=True, eq=False)
class ShownStatistics:
    """The statistics of nodes that `export_text`, `export_svg` and `rules` show.

    Parameters
    ----------
    caller : str
        The name of the function, for messages.
    show_gain : bool
        Whether inner nodes have the gain of their split. It is ``gain`` of boosted trees, in the
        units of the loss, and ``decrease`` of single trees and forests: W i - W_L i_L - W_R i_R.
    show_impurity : bool
        Whether nodes have their impurity. Trees of classes store the class fractions of their
        nodes. Other trees need the rows.
    X, y, sample_weight : array-like, data frame, or None
        The training rows. With them nodes have ``G`` and ``H`` of the gradients before the round,
        or the ``impurity`` of these rows.
    """

    caller: str
    show_gain: bool = False
    show_impurity: bool = False
    X: Any = None
    y: Any = None
    sample_weight: Any = None

    def __post_init__(self) -> None:
        for name in ("show_gain", "show_impurity"):
            check_argument(name, flag, getattr(self, name))
        if (self.X is None) != (self.y is None):
            given, other = ("y", "X") if self.X is None else ("X", "y")
            raise InvalidParameterError(
                f"{self.caller}: {given} was passed without {other}. Pass both: the training rows."
            )
        if self.sample_weight is not None and self.X is None:
            raise InvalidParameterError(
                f"{self.caller}: sample_weight was passed without X and y. Pass the training rows."
            )

    def facts(self, estimator: Any, tree: int) -> TreeFacts:
        """Return one tree of a fitted estimator, with the statistics of its nodes."""
        facts = tree_facts(estimator, tree)
        fitted = FittedModel.of(
            estimator, self.caller, of_trees=self.X is None, of_targets=self.X is None
        )
        statistics: list[dict[str, Any]] = [{} for _ in facts.nodes]
        if self.show_gain:
            for own, node in zip(statistics, facts.nodes, strict=True):
                if node.split is not None:
                    own[facts.gain_name] = node.gain * fitted.gain_unit
        for own, more in zip(statistics, self._sums(fitted, facts, tree), strict=True):
            own.update(more)
        nodes = (replace(n, statistics=s) for n, s in zip(facts.nodes, statistics, strict=True))
        return replace(facts, nodes=tuple(nodes))

    def _sums(self, fitted: FittedModel, facts: TreeFacts, tree: int) -> list[Mapping[str, Any]]:
        """Return the impurity, or G and H, of every node."""
        if self.X is None:
            return self._stored(fitted, facts) if self.show_impurity else [{} for _ in facts.nodes]
        place = int(tree) % len(fitted.model.ensemble.trees)
        rows = TreeRows.of(fitted.estimator, self.X, self.y, place, self.sample_weight, self.caller)
        found = [dict(rows.objective.columns(sums)) for sums in rows.node_sums()]
        if self.show_impurity and "impurity" not in found[0]:
            raise InvalidParameterError(
                f"{self.caller}: show_impurity=True needs trees that lower an impurity, and those "
                f"of this {type(fitted.estimator).__name__} are fitted to gradients. Leave it at "
                "False: G and H are shown."
            )
        for own in found:
            own.pop("weight", None)  # shown anyway
        return list(found)

    def _stored(self, fitted: FittedModel, facts: TreeFacts) -> list[Mapping[str, Any]]:
        """Return the impurities of the class fractions that a tree stores."""
        if facts.value_kind != "shares":
            raise InvalidParameterError(
                f"{self.caller}: show_impurity=True needs the training rows, because the trees of "
                f"this {type(fitted.estimator).__name__} do not store class fractions. Pass X and "
                "y, or leave it at False."
            )
        criterion = fit_spec(fitted.estimator).tree.criterion
        share = np.clip([node.value for node in facts.nodes], 0.0, 1.0)
        return [{"impurity": own} for own in class_impurity(share, criterion).tolist()]
