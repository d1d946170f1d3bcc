"""The meaning of "auto": defaults that depend on the other parameters and on the data.

`n_estimators` decides between two sets of defaults. With a number of rounds, a fit is plain: one
kind of tree, and all rows in every round. With "auto", rows that are held out choose the number of
rounds, and the model is fitted to all rows; of every three of its trees, two are best-first with
random thresholds and one is symmetric. The rules were chosen by trials on real tables;
docs/defaults.md has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from stagewise.estimators.parameters.tree_needs import allows, is_possible
from stagewise.losses import Loss
from stagewise.options import (
    OPTION_RULES,
    FeatureSampling,
    Mvs,
    SplitSearch,
    flatten_options,
)
from stagewise.training.reading.folds import MANY_ROWS, FoldSizes
from stagewise.validation.parameters import RULES
from stagewise.validation.rules import OrAuto, Rule
from stagewise.validation.uses import LEAVE_ROWS_OUT

__all__ = ["AUTO_RULES", "RATE", "DataFacts", "resolve_auto"]


@dataclass(frozen=True)
class DataFacts:
    """The facts about the training data that defaults depend on.

    Attributes
    ----------
    n_rows, n_outputs : int
        The number of training rows, and of scores of a row.
    of_classes : bool
        Whether the target is a class.
    is_sparse : bool
        Whether X is a sparse matrix.
    by_folds : bool
        Whether folds hold rows out, which choose the number of rounds.
    by_validation_rows : bool
        Whether other held-out rows choose it.
    fold_share : float
        The share of the rows that the model of a fold is fitted to.
    total_weight : float or None
        The sum of the weights of the training rows; None: it is not needed.
    shares_trees : bool
        Whether a round is one tree for all scores, if that is possible.
    of_queries : bool
        Whether the rows of queries are ranked.
    """

    n_rows: int = 10_000
    n_outputs: int = 1
    of_classes: bool = False
    is_sparse: bool = False
    by_folds: bool = True
    by_validation_rows: bool = False
    fold_share: float = 0.8
    total_weight: float | None = None
    shares_trees: bool = False
    of_queries: bool = False

    @classmethod
    def of_rows(
        cls,
        n_rows: int,
        loss: Loss,
        folds: Sequence[FoldSizes],
        *,
        of_classes: bool,
        is_sparse: bool = False,
        has_validation: bool = False,
        total_weight: Callable[[], float] | None = None,
    ) -> DataFacts:
        """Return the facts about rows.

        `folds` are the sizes of their folds. `total_weight` is called if there are few rows, or
        they are ranked.
        """
        shares = [fold.learned / n_rows for fold in folds]
        share = sum(shares) / len(shares) if shares else 1.0
        held = bool(folds), has_validation
        needed = n_rows < FEW_ROWS or loss.task == "ranking"
        weight = total_weight() if total_weight is not None and needed else None
        return cls(
            n_rows,
            loss.n_outputs,
            of_classes,
            is_sparse,
            *held,
            share,
            weight,
            shares_trees=loss.shares_trees and loss.n_outputs > 1,
            of_queries=loss.task == "ranking",
        )

    @property
    def weight(self) -> float:
        """The sum of the weights of the rows; their number, if the sum is not needed."""
        return self.n_rows if self.total_weight is None else self.total_weight

    @property
    def has_many_rows(self) -> bool:
        """Whether time rather than overfitting limits the number of rounds."""
        return self.n_rows > MANY_ROWS and self.by_folds

    @property
    def holds_out(self) -> bool:
        """Whether there are rows that can choose the number of rounds."""
        return self.by_folds or self.by_validation_rows


PLAIN: Mapping[str, Any] = MappingProxyType(
    {
        "grow_policy": "best_first",
        "max_leaf_nodes": 31,
        "max_depth": None,
        "min_samples_leaf": 20.0,
        "leaves": "constant",
        "split": SplitSearch(),
        "n_iter_no_change": 30,
    }
)
"""The values of "auto" in a plain fit; λ depends on the task."""
LEAF_SHARE: Mapping[bool, float] = MappingProxyType({False: 1 / 20, True: 1 / 4})
"""The largest `min_samples_leaf` of a plain fit as a share of the rows, by whether the target is a
class: the 20 rows of large tables would leave no split in small ones."""
FEW_ROWS = 400
"""From this number of rows on, the share is at least 20 rows."""
PLAIN_L2: Mapping[bool, float] = MappingProxyType({False: 1.0, True: 3.0})
"""λ of a plain fit, by whether the target is a class."""

NUMBERS = (
    "n_estimators",
    "learning_rate",
    "grow_policy",
    "max_leaf_nodes",
    "max_depth",
    "min_samples_leaf",
    "l2_regularization",
    "subsample",
    "n_iter_no_change",
)
"""The parameters that may be "auto" and are not options."""

BEST_FIRST: Mapping[str, Any] = MappingProxyType(
    {
        "grow_policy": "best_first",
        "max_leaf_nodes": 31,
        "max_depth": None,
        "min_samples_leaf": 1.0,
    }
)
SYMMETRIC: Mapping[str, Any] = MappingProxyType(
    {
        "grow_policy": "symmetric",
        "max_leaf_nodes": 64,
        "max_depth": 6,
        "min_samples_leaf": 1.0,
    }
)
RANDOM: Mapping[str, Any] = MappingProxyType(
    {**BEST_FIRST, "split": SplitSearch(random_thresholds=True)}
)
FEW_RANKED_ROWS = 10_000
"""With fewer rows (by their weights), the trees of a plain ranker are smaller."""
RANKED: Mapping[bool, Mapping[str, Any]] = MappingProxyType(
    {
        True: {"max_leaf_nodes": 31, "max_depth": 6, "l2_regularization": 3.0},
        False: {"max_leaf_nodes": 64, "max_depth": 6, "l2_regularization": 1.0},
    }
)
"""The symmetric trees of a plain ranker, by whether there are few rows."""
TURNS: tuple[Mapping[str, Any], ...] = (RANDOM, RANDOM, SYMMETRIC)
"""The kinds of trees of the rounds, in turn, if the number of rounds is "auto"."""

AUTO_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **{name: OrAuto(RULES[name]) for name in NUMBERS},
        **{name: OPTION_RULES[name].or_auto() for name in ("leaves", "sampling", "split")},
    }
)
"""The rules of the parameters that may be "auto"."""

RATE, ROUNDS = 0.1, 100
"""ν of a plain fit, and the number of rounds up to which it is used."""
SHARE = 0.7
"""The share of the features that a node may use."""
AUTO_RATE, AUTO_RATE_ROWS, PATIENCE = 0.05, 25_000, 50
"""ν, the number of rows up to which it is used, and `n_iter_no_change` if rounds are chosen."""
ROWS_OF_ALL_ROUNDS, ROUNDS_LIMITS = 30_000_000, (300, 3000)
"""The largest number of rounds times rows, and the limits of the number of rounds."""
ROWS_OF_MANY, ROUNDS_OF_MANY, PATIENCE_OF_MANY = 16_000_000, (250, 320), 25
"""With more than `MANY_ROWS` rows: the same of the model of all rows, and `n_iter_no_change`. One
kind of tree, all rows in every round, and ν = 0.1 are then faster."""
AUTO_L2, AUTO_L2_OF_CLASSES = 3.0, 1.0
"""λ if rounds are chosen, and that with more than two classes."""
MANY_CLASSES = 8
"""With more classes, a round is one tree whose leaves have a value for each class."""
DRAWN = 0.8
"""The share of the rows of a round, if MVS draws them, or groups are drawn."""


def resolve_auto(
    params: Mapping[str, Any], facts: DataFacts, rate: float | None = None
) -> dict[str, Any]:
    """Return the parameters with a value in the place of every "auto".

    Parameters
    ----------
    params : mapping
        All of them, checked.
    facts : DataFacts
        The facts about the data.
    rate : float or None
        The learning rate of the model that the fit continues, if there is one.

    Returns
    -------
    dict
        The parameters, and under "shapes" one mapping for each kind of tree, in turn: the values in
        which it differs from the parameters.
    """
    if _is_auto(params, "n_estimators") and not facts.holds_out:
        params = {**params, "n_estimators": ROUNDS}
    values = dict(params)
    searches = _is_auto(params, "n_estimators")
    if _is_auto(params, "learning_rate"):
        values["learning_rate"] = _learning_rate(params, facts, rate)
    if searches:
        values["n_estimators"] = _most_rounds(facts)
    if "leaves" in params:
        usual = {**PLAIN, "l2_regularization": PLAIN_L2[facts.of_classes]}
        usual["min_samples_leaf"] = _least_rows(facts)
        usual |= _shape_of_rankings(params, facts) if facts.of_queries else {}
        draws = not facts.has_many_rows if searches else facts.of_queries
        usual |= _sampling(params, draws=draws)
        if searches:
            several = facts.of_classes and facts.n_outputs > 1
            patience = PATIENCE_OF_MANY if facts.has_many_rows else PATIENCE
            usual |= {**BEST_FIRST, "n_iter_no_change": patience}
            usual["l2_regularization"] = AUTO_L2_OF_CLASSES if several else AUTO_L2
        values |= {name: usual[name] for name in usual if _is_auto(params, name)}
        shares = facts.shares_trees or (searches and facts.of_classes)
        if shares and _is_auto(params, "leaves") and _has_vector_leaves(values, facts):
            values["leaves"] = "vector"
        kinds = (BEST_FIRST,) if facts.has_many_rows else TURNS
        values["shapes"] = _shapes(params, values, kinds) if searches else ({},)
    if _is_auto(params, "max_features"):
        values["max_features"] = _features(values, searches=searches)
        values["shapes"] = tuple(
            {**shape, "max_features": _features({**values, **shape}, searches=searches)}
            for shape in values["shapes"]
        )
    if _is_auto(params, "category_encoding") and not is_possible(
        flatten_options(values), "category_encoding", "target"
    ):
        values["category_encoding"] = "sets"
    return values


def _shape_of_rankings(params: Mapping[str, Any], facts: DataFacts) -> Mapping[str, Any]:
    """Return the shape of the trees of a plain ranker: symmetric, unless a parameter forbids it.

    Pairs are noisy targets: symmetric trees, each of a part of the rows, overfit less.
    """
    shape = {"grow_policy": "symmetric", **RANKED[facts.weight < FEW_RANKED_ROWS]}
    given = {name: value for name, value in params.items() if not _is_auto(params, name)}
    free = not {"grow_policy", "max_leaf_nodes", "max_depth"} & {*given}
    possible = is_possible(flatten_options({**given, **shape}), "grow_policy", "symmetric")
    return shape if free and possible else {"l2_regularization": shape["l2_regularization"]}


def _least_rows(facts: DataFacts) -> float:
    """Return `min_samples_leaf` of a plain fit."""
    # The sum of weights that are not whole numbers is the number of rows, with a rounding error.
    share = math.ceil(facts.weight * LEAF_SHARE[facts.of_classes] - 1e-6)
    return float(min(PLAIN["min_samples_leaf"], max(1, share)))


def _most_rounds(facts: DataFacts) -> int:
    """Return the largest number of rounds of the models of folds.

    The model of all rows has more rounds, by the square root of the ratio of the numbers of rows.
    """
    if facts.has_many_rows:
        rounds = float(np.clip(ROWS_OF_MANY / facts.n_rows, *ROUNDS_OF_MANY))
        return round(rounds * math.sqrt(facts.fold_share))
    return int(np.clip(ROWS_OF_ALL_ROUNDS // facts.n_rows, *ROUNDS_LIMITS))


def _is_auto(params: Mapping[str, Any], name: str) -> bool:
    value = params.get(name)
    return isinstance(value, str) and value == "auto"


def _shapes(
    params: Mapping[str, Any], values: Mapping[str, Any], kinds: tuple[Mapping[str, Any], ...]
) -> tuple[dict[str, Any], ...]:
    """Return the kinds of trees that the other parameters permit; a parameter holds for all."""
    if params.get("feature_penalty") is not None:
        kinds = (BEST_FIRST,)  # a feature that one kind has used would cost the other kind again
    if not _is_auto(params, "grow_policy"):
        kinds = (SYMMETRIC if values["grow_policy"] == "symmetric" else BEST_FIRST,)
    shapes = [
        {name: value for name, value in kind.items() if _is_auto(params, name)} for kind in kinds
    ]
    options = flatten_options({**values, "max_features": params["max_features"]})
    if _is_auto(params, "max_features"):
        options["max_features__per_node"] = None
    possible = is_possible(options, "grow_policy", "symmetric")
    shapes = [s for s in shapes if possible or s.get("grow_policy") != "symmetric"]
    return tuple(shapes[:1] if all(s == shapes[0] for s in shapes) else shapes)


def _has_vector_leaves(values: Mapping[str, Any], facts: DataFacts) -> bool:
    """Return whether a round is one tree for all scores, if it is possible.

    It is for many classes, and for scores of one target that share trees.
    """
    many_classes = facts.of_classes and facts.n_outputs > MANY_CLASSES
    many = (many_classes or facts.shares_trees) and not facts.is_sparse
    options = {name: v for name, v in flatten_options(values).items() if name != "grow_policy"}
    return many and is_possible(options, "leaves", "vector")


def _features(values: Mapping[str, Any], *, searches: bool) -> FeatureSampling:
    """Return the features that a node may use; nodes of symmetric trees share those of a depth."""
    if allows(flatten_options(values), "max_features__per_node", SHARE):
        return FeatureSampling(per_node=SHARE)
    return FeatureSampling(per_level=SHARE if searches else None)


def _sampling(params: Mapping[str, Any], *, draws: bool) -> dict[str, Any]:
    """Return the sampling of rows and its fraction; if rows are drawn by default, MVS."""
    free = _is_auto(params, "sampling") and _is_auto(params, "subsample")
    if draws and free and not params.get("oob_score"):
        return {"sampling": Mvs(), "subsample": DRAWN}
    sampling = params["sampling"]
    by_share = isinstance(sampling, Mvs) or sampling in LEAVE_ROWS_OUT
    return {"sampling": "uniform", "subsample": DRAWN if by_share else 1.0}


def _learning_rate(params: Mapping[str, Any], facts: DataFacts, rate: float | None) -> float:
    """Return ν: that of the continued model, by the rows, or 0.1 · min(1, (100 / rounds)^¼).

    If rounds are chosen, ν is 0.05 up to 25,000 rows, and grows with the square root of the
    number of rows to 0.1: there the number of rounds is limited by time rather than by
    overfitting. With more rounds, smaller steps reach a lower loss (Friedman 2001, section 5),
    but the best number of rounds grows as 1/ν, and the first halving brings most of the
    improvement. The number of rounds of a fit that will be continued is not known: it has the ν
    of few rounds.
    """
    if rate is not None:
        return rate
    if _is_auto(params, "n_estimators"):
        if facts.has_many_rows:
            return RATE
        more = max(1.0, facts.n_rows / AUTO_RATE_ROWS)
        return min(RATE, AUTO_RATE * float(np.sqrt(more)))
    if params.get("warm_start"):
        return RATE
    return float(RATE * min(1.0, (ROUNDS / params["n_estimators"]) ** 0.25))
