"""The base class of single trees: pruning, the tree itself, and rows with missing values.

A single tree is read by people, so its size matters: it is limited while it grows, or grown until
its leaves are pure and pruned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import clone

from stagewise.estimators.bases.fit_mixin import FitMixin
from stagewise.estimators.bases.model_estimator import ModelEstimator
from stagewise.estimators.bases.predictions.scores import ModelScores
from stagewise.estimators.bases.report_mixin import ReportMixin
from stagewise.estimators.bases.trees.averages import AverageMixin
from stagewise.estimators.bases.trees.decision_paths import decision_paths
from stagewise.estimators.bases.trees.forest import FOREST_RULES
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.parameters.make_specs import pruning_hold_out, single_tree_spec
from stagewise.learners.histogram_tree import feature_share
from stagewise.losses import Loss
from stagewise.model.model import Model
from stagewise.options import OPTION_RULES, SplitSearch
from stagewise.training.describe import describe_tree, other_parameters
from stagewise.training.reading.training_data import FitArguments, TrainingData
from stagewise.training.results import TreeResult
from stagewise.training.specs import FitContext, HoldOutSpec, SingleTreeSpec
from stagewise.training.tree_trainer import train_tree
from stagewise.trees.fractional_rows import predict_fractional
from stagewise.trees.pruning import PruningPath, nodes_by_depth
from stagewise.trees.tree import Tree
from stagewise.validation.parameters import RULES, check_parameter, check_parameters
from stagewise.validation.rules import Number, OneOf, flag
from stagewise.validation.uses import Use

__all__ = ["TREE_RULES", "BaseDecisionTree"]

Vector = npt.NDArray[np.float64]

HELD_OUT = ("reduced_error", "early_stopping")
"""The kinds of pruning that hold rows out."""
ROWS_AT_ONCE = 4096
"""Rows with missing values that are predicted at once."""


def _alpha(value: Any) -> Any:
    if isinstance(value, str) and value == "cv":
        return value
    try:
        return Number(0.0)(value)
    except ValueError as error:
        raise ValueError(f"'cv', or {error}") from None


class _TreeSplit:
    """The rule of the split search of a single tree."""

    words = ("exact", "histogram")
    kinds = (SplitSearch,)
    unsupported = ("forced_splits", "proposal", "sketch_eps")

    def __call__(self, value: Any) -> SplitSearch:
        """Return the split search, or raise ValueError with the allowed values."""
        found: SplitSearch = OPTION_RULES["split"](value)
        if found.method == "approx" or found.forced_splits is not None:
            raise ValueError(
                "'exact', 'histogram', or a stagewise.SplitSearch of such a method without "
                "forced_splits"
            )
        return found


TREE_RULES = MappingProxyType(
    {
        **FOREST_RULES,
        "split": _TreeSplit(),
        "grow_policy": OneOf(("best_first", "depth_wise")),
        "missing_strategy": OneOf(("learned", "mean", "probability")),
        "pruning": OneOf((None, "cost_complexity", *HELD_OUT)),
        "ccp_alpha": _alpha,
        "ccp_cv": RULES["cv"],
        "one_standard_error": flag,
    }
)

TREE_USES = (
    Use(
        ("ccp_alpha",),
        "pruning",
        lambda pruning: pruning in (None, "cost_complexity"),
        "set pruning='cost_complexity'",
    ),
    Use(
        ("ccp_cv", "one_standard_error"),
        "pruning",
        lambda pruning: pruning == "cost_complexity",
        "set pruning='cost_complexity'",
    ),
    Use(("ccp_cv", "one_standard_error"), "ccp_alpha", lambda a: a == "cv", "set ccp_alpha='cv'"),
    Use(
        ("validation_fraction",),
        "pruning",
        lambda pruning: pruning in ("reduced_error", "early_stopping"),
        "set pruning='reduced_error' or 'early_stopping'",
    ),
    Use(
        ("tol",),
        "pruning",
        lambda pruning: pruning == "early_stopping",
        "set pruning='early_stopping'",
    ),
    # scikit-learn's checks set n_iter_no_change of any classifier that has it.
    Use(
        ("n_iter_no_change",),
        "pruning",
        lambda pruning: pruning == "early_stopping",
        "set pruning='early_stopping'",
        warns=True,
    ),
)


class BaseDecisionTree(
    ReportMixin, AverageMixin, FitMixin, TreeAttributes, ModelScores, ModelEstimator
):
    """Base class of single trees; see `DecisionTreeClassifier` for the parameters."""

    _uses = TREE_USES

    def _parameters(self) -> dict[str, Any]:
        params = check_parameters(self)
        if params["pruning"] is None and params["ccp_alpha"] not in ("cv", 0.0):
            params["pruning"] = "cost_complexity"
        return params

    def _hold_out(self, params: dict[str, Any]) -> HoldOutSpec:
        return pruning_hold_out(params)

    def _spec(self, params: dict[str, Any], hold_out: HoldOutSpec) -> SingleTreeSpec:
        return single_tree_spec(params, hold_out)

    def _check_arguments(self, params: dict[str, Any], arguments: FitArguments) -> None:
        by_folds = params["pruning"] == "cost_complexity" and params["ccp_alpha"] == "cv"
        if arguments.groups is not None and not by_folds:
            raise ValueError(
                "groups was passed, but only pruning='cost_complexity' with ccp_alpha='cv' has "
                "folds."
            )
        if arguments.eval_set is not None:
            raise ValueError(
                "eval_set is measured after every round, and a single tree has no rounds. Leave it "
                "out, or pass X_val and y_val for pruning='reduced_error' or 'early_stopping'."
            )
        if arguments.X_val is not None and params["pruning"] not in HELD_OUT:
            raise ValueError(
                "X_val was passed, but only pruning='reduced_error' and 'early_stopping' use "
                f"held-out rows; here pruning={params['pruning']!r}."
            )

    def _train(
        self,
        spec: SingleTreeSpec,
        loss: Loss,
        data: TrainingData,
        context: FitContext,
        previous: Model | None,
    ) -> TreeResult:
        return train_tree(spec, loss, data, context)

    def _set_fitted(
        self, result: TreeResult, data: TrainingData, params: dict[str, Any]
    ) -> dict[str, Any]:
        for name in ("ccp_alpha_", "pruning_path_"):
            self.__dict__.pop(name, None)
        pruned = result.pruned
        if pruned is not None and pruned.path is not None:
            self.ccp_alpha_, self.pruning_path_ = pruned.alpha, pruned.path
        n = self.n_features_in_
        return {"max_features": round(feature_share(params["max_features"], n) * n)}

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> PruningPath:
        """Return the trees of cost-complexity (weakest-link) pruning, without fitting this one.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        PruningPath
            `alphas`, and the `impurities` and `n_leaves` of their trees.
        """
        params: dict[str, Any] = {"ccp_cv": 5, "one_standard_error": False, "tol": 0.0}
        params |= {"validation_fraction": 0.2, "n_iter_no_change": 10}
        params |= {"pruning": "cost_complexity", "ccp_alpha": 0.0}
        tree = clone(self).set_params(**params).fit(X, y, sample_weight)
        path: PruningPath = tree.pruning_path_
        return path

    def recipe(self) -> str:
        """Return the fit in one line: criterion x tree x rows x pruning."""
        params = self._parameters()
        sentence = describe_tree(self._spec(params, self._hold_out(params)), params["criterion"])
        return sentence + other_parameters(self, "tree")

    # ---- reading the tree ------------------------------------------------------------------------

    def _tree(self) -> Tree | None:
        """Return the tree; None: y had one class, and there is no tree."""
        trees = self._fitted().ensemble.trees
        return trees[0] if trees else None

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        tree = self._tree()
        return 1 if tree is None else int((tree.feature < 0).sum())

    def get_depth(self) -> int:
        """Return the number of splits on the longest path."""
        tree = self._tree()
        return 0 if tree is None else len(nodes_by_depth(tree)) - 1

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes on the paths of rows, as scikit-learn does.

        A row with a missing value follows the path to the leaf of `apply`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        csr_matrix of shape (n_rows, n_nodes)
            1 for each node that a row passes, the root and the leaf included.
        """
        tree = self._tree()
        if tree is None:
            n_rows = self._score(X).shape[0]
            return csr_matrix(np.ones((n_rows, 1), dtype=np.int64))
        return decision_paths(tree, self.apply(X))

    def apply(self, X: Any, *, n_rounds: int | None = None) -> npt.NDArray[np.int32]:
        """Return the node number of the leaf that each row reaches, shape (n_rows,).

        With missing_strategy="probability", a row with missing values is predicted by several
        leaves; here it goes to the side with more training rows wherever its value is missing.
        """
        leaves = super().apply(X, n_rounds=n_rounds)
        return leaves[:, 0] if leaves.shape[1] else np.zeros(len(leaves), dtype=np.int32)

    def fingerprint(self) -> str:
        """Return a hash of the model: equal for equal models, on every machine."""
        own = super().fingerprint()
        if check_parameter(self, "missing_strategy") != "probability":
            return own
        return hashlib.sha256(f"{own} both ways".encode()).hexdigest()

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        yield self._score(X)

    def _score_values(self, model: Model, values: Any, n_rounds: int | None = None) -> Vector:
        score = super()._score_values(model, values, n_rounds)
        if check_parameter(self, "missing_strategy") != "probability" or not model.ensemble.trees:
            return score
        if not isinstance(values, (np.ndarray, list)):
            raise TypeError(
                "missing_strategy='probability' reads missing values, which a sparse matrix does "
                "not have; pass X.toarray() if that fits into memory."
            )
        tree = model.ensemble.trees[0]
        columns = values if isinstance(values, list) else values.T
        used = np.unique(tree.feature[tree.feature >= 0])
        unknown = np.zeros(len(score), dtype=bool)
        for feature in used:
            unknown |= np.isnan(columns[feature])
        rows = np.flatnonzero(unknown)
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            table = np.zeros((len(some), model.features.n))
            for feature in used:
                table[:, feature] = columns[feature][some]
            score[some] = model.ensemble.base + predict_fractional(tree, table)
        return score
