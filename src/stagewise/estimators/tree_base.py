"""What single trees share: parameters that go together, the tree itself, rows that go both ways.

The one idea: an average of one tree, grown on all rows. A single tree is read, so its size matters:
it is limited while it grows, or grown to the end and cut back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from stagewise.boosting.methods import GENTLE, Method
from stagewise.estimators.boosting_base import BoostedTrees
from stagewise.estimators.forest_base import FIXED, OWN_RULES
from stagewise.model.model import Model
from stagewise.training.boosting_trainer import Fit
from stagewise.training.describe import tree_words
from stagewise.training.forest_trainer import check_averages, columns_share
from stagewise.training.row_set import Sample
from stagewise.training.tree_trainer import Pruned, TreeFit
from stagewise.trees.fractional_rows import predict_fractional
from stagewise.trees.pruning import PruningPath, nodes_by_depth
from stagewise.trees.tree import Tree
from stagewise.validation.parameters import RULES, Use, check_parameter
from stagewise.validation.rules import Number, OneOf, flag

__all__ = ["TREE_RULES", "SingleTree"]

Vector = npt.NDArray[np.float64]

HELD_OUT = ("reduced_error", "early_stopping")
"""What is done with rows that the tree was not grown on."""
ROWS_AT_ONCE = 4096
"""Rows that go both ways together."""


def _alpha(value: Any) -> Any:
    if isinstance(value, str) and value == "cv":
        return value
    try:
        return Number(0.0)(value)
    except ValueError as error:
        raise ValueError(f"'cv', or {error}") from None


TREE_RULES = MappingProxyType(
    {
        **OWN_RULES,
        "growth": OneOf(("best_first", "depth_wise")),
        "missing": OneOf(("learned", "mean", "probability")),
        "pruning": OneOf((None, "cost_complexity", *HELD_OUT)),
        "ccp_alpha": _alpha,
        "ccp_cv": RULES["cv"],
        "patience": RULES["n_iter_no_change"],
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
        ("patience", "tol"),
        "pruning",
        lambda pruning: pruning == "early_stopping",
        "set pruning='early_stopping'",
    ),
)


class SingleTree(BoostedTrees):
    """Base of the single trees; see `DecisionTreeClassifier` for the parameters."""

    _fixed = MappingProxyType(
        {
            **FIXED,
            "n_estimators": 1,
            "bootstrap": False,
            "subsample": 1.0,
            "out_of_bag": False,
            "verbose": 0,
        }
    )
    averages = True
    own_uses = TREE_USES

    def _fit_class(self) -> type[Fit]:
        return TreeFit

    @classmethod
    def _check_model(cls, model: Model) -> None:
        super()._check_model(model)
        check_averages(model, cls.__name__)

    def _method(self) -> Method:
        return GENTLE  # weighted means of the target, from 0

    def _checked(self) -> dict[str, Any]:
        params = super()._checked()
        if params["pruning"] is None and params["ccp_alpha"] not in ("cv", 0.0):
            params["pruning"] = "cost_complexity"
        if params["pruning"] in HELD_OUT:
            params["early_stopping"] = True
            params["held_out_for"] = f"pruning={params['pruning']!r}"
        elif params["pruning"] == "cost_complexity" and params["ccp_alpha"] == "cv":
            params["early_stopping"], params["cv"] = "cv", params["ccp_cv"]
        return params

    def _check_stopping(self, params: dict[str, Any], X_val: Any, groups: Any) -> None:
        if groups is not None and params["early_stopping"] != "cv":
            raise ValueError(
                "groups was passed, but only pruning='cost_complexity' with ccp_alpha='cv' has "
                "folds."
            )
        if X_val is not None and params["pruning"] not in HELD_OUT:
            raise ValueError(
                "X_val was passed, but only pruning='reduced_error' and 'early_stopping' look at "
                f"held-out rows; here pruning={params['pruning']!r}."
            )

    def _keep_out_of_bag(
        self,
        params: dict[str, Any],
        details: dict[str, Any],
        train: Sample,
        n_rows: int,
        continued: int = 0,
    ) -> None:
        """Set what was noticed when the tree was cut; no row is outside of its bag."""
        details.pop("out_of_bag")
        pruned: Pruned | None = details.pop("pruned")
        details["leaves_grown"] = 1 if pruned is None else pruned.grown_leaves
        for name in ("ccp_alpha_", "pruning_path_"):
            self.__dict__.pop(name, None)
        if pruned is not None and pruned.path is not None:
            self.ccp_alpha_, self.pruning_path_ = pruned.alpha, pruned.path

    def _resolved(self, params: dict[str, Any]) -> dict[str, Any]:
        n = self.n_features_in_
        return {"max_features": round(columns_share(params["max_features"], n) * n)}

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> PruningPath:
        """Return the trees that weakest-link pruning would go through, without fitting this one.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        PruningPath
            `alphas`, and the `impurities` and `n_leaves` of the trees that they lead to.
        """
        usual: dict[str, Any] = {"ccp_cv": 5, "one_standard_error": False, "tol": 0.0}
        usual |= {"validation_fraction": 0.2, "patience": 10}
        usual |= {"pruning": "cost_complexity", "ccp_alpha": 0.0}
        tree = clone(self).set_params(**usual).fit(X, y, sample_weight)
        path: PruningPath = tree.pruning_path_
        return path

    def _plain_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super()._plain_params()
        if not isinstance(params["ccp_cv"], (int, np.integer)):
            params["ccp_cv"] = 5  # folds of one's own belong to the rows, not to the model
        return params

    def recipe(self) -> str:
        """Return in one line what a fit does: criterion x tree x rows x pruning."""
        p = self._checked()
        tree = ", ".join([p["growth"].replace("_", "-"), *tree_words(p)])
        alpha = f", α={p['ccp_alpha']}" if p["pruning"] == "cost_complexity" else ""
        pruned = "unpruned" if p["pruning"] is None else p["pruning"].replace("_", " ") + alpha
        held = p["pruning"] in HELD_OUT
        rows = f"all rows but {p['validation_fraction']:g} held out" if held else "all rows"
        return f"{p['criterion']} x one tree ({tree}) x {rows} x {pruned}"

    # ---- reading the tree ------------------------------------------------------------------------

    def _tree(self) -> Tree | None:
        """Return the tree; None: there was but one class, and nothing to ask."""
        trees = self._fitted().ensemble.trees
        return trees[0] if trees else None

    @property
    def n_leaves_(self) -> int:
        """How many leaves the tree has."""
        tree = self._tree()
        return 1 if tree is None else int((tree.feature < 0).sum())

    @property
    def depth_(self) -> int:
        """How many questions the longest path has."""
        tree = self._tree()
        return 0 if tree is None else len(nodes_by_depth(tree)) - 1

    def decision_path(self, X: Any) -> list[list[int]]:
        """Return for each row the numbers of the nodes that it passes, the root first.

        A row whose cell is missing is followed to the leaf that `apply` says.
        """
        tree = self._tree()
        if tree is None:
            raise ValueError("The tree was fitted to one class; it asks nothing.")
        paths: dict[int, list[int]] = {0: [0]}
        for level in nodes_by_depth(tree):
            for node in level[tree.feature[level] >= 0].tolist():
                for child in (int(tree.left[node]), int(tree.right[node])):
                    paths[child] = [*paths[node], child]
        return [paths[leaf] for leaf in self.apply(X)[:, 0].tolist()]

    def fingerprint(self) -> str:
        """Return a digest of what was learned: equal for equal models, on every machine."""
        own = super().fingerprint()
        if check_parameter(self, "missing") != "probability":
            return own
        return hashlib.sha256(f"{own} both ways".encode()).hexdigest()

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        yield self._score(X)

    def _score_values(self, model: Model, values: Any) -> Vector:
        score = super()._score_values(model, values)
        if check_parameter(self, "missing") != "probability" or not model.ensemble.trees:
            return score
        if not isinstance(values, (np.ndarray, list)):
            raise TypeError(
                "missing='probability' sends rows both ways, which a sparse matrix does not tell; "
                "pass X.toarray() if that fits into memory."
            )
        tree = model.ensemble.trees[0]
        columns = values if isinstance(values, list) else values.T
        asked = np.unique(tree.feature[tree.feature >= 0])
        unknown = np.zeros(len(score), dtype=bool)
        for place in asked:
            unknown |= np.isnan(columns[place])
        rows = np.flatnonzero(unknown)
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            cells = np.zeros((len(some), model.features.n))
            for place in asked:
                cells[:, place] = columns[place][some]
            score[some] = model.ensemble.base + predict_fractional(tree, cells)
        return score
