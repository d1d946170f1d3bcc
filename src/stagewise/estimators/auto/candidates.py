"""The configurations that an automatic model tries, and how much of them each quality tries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from stagewise.estimators.auto.crosses import numeric_features
from stagewise.options import SplitSearch
from stagewise.training.target_encoder import single_sources

__all__ = ["PLANS", "Candidate", "Plan"]


@dataclass(frozen=True)
class Candidate:
    """A configuration: the parameters in which it differs from the default.

    Attributes
    ----------
    name : str
        Its name in the leaderboard.
    parameters : mapping
        Parameters of `GradientBoostingRegressor` or `GradientBoostingClassifier`.
    n_crossed : int
        The number of features, the most important ones of the default, that are crossed.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    n_crossed: int = 0

    def for_features(self, features: Any, n_outputs: int) -> Candidate | None:
        """Return the candidate for these features; None: it would equal the default."""
        if self.n_crossed and len(numeric_features(features)) < 2:
            return None
        if self != OTHER_ENCODING:
            return self
        if not single_sources("target", features, n_outputs):
            return None
        return SETS if single_sources("auto", features, n_outputs) else self


DEFAULT = Candidate("default")
OTHER_ENCODING = Candidate("target encoding", {"category_encoding": "target"})
"""The encoding of categories that is not the default; see `Candidate.for_features`."""
SETS = Candidate("sets of categories", {"category_encoding": "sets"})
DIVERSE = (
    DEFAULT,
    Candidate("linear leaves", {"leaves": "linear"}),
    Candidate("all thresholds", {"split": "histogram"}),
    Candidate("random thresholds", {"split": SplitSearch(random_thresholds=True)}),
    OTHER_ENCODING,
    Candidate("feature crosses", n_crossed=4),
)
MORE = (
    *DIVERSE,
    Candidate("small trees", {"grow_policy": "best_first", "max_leaf_nodes": 8}),
    Candidate("large trees", {"grow_policy": "best_first", "max_leaf_nodes": 63}),
    Candidate("symmetric trees of depth 4", {"grow_policy": "symmetric", "max_depth": 4}),
    Candidate("small steps", {"learning_rate": 0.025, "n_iter_no_change": 100}),
)


@dataclass(frozen=True)
class Plan:
    """What a quality does.

    Attributes
    ----------
    candidates : tuple of Candidate
        The configurations to try.
    folds : int or None
        The number of folds; None: five for few rows, otherwise one (`automatic_folds`).
    rungs : tuple of (int, int)
        Successive halving: the numbers of folds of each rung, and of candidates that it keeps.
        After the last rung the remaining folds are run. Empty: all candidates run all folds.
    members : int
        The largest number of configurations in the model.
    searches : bool
        Whether rows are held out at all.
    """

    candidates: tuple[Candidate, ...]
    folds: int | None = None
    rungs: tuple[tuple[int, int], ...] = ()
    members: int = 1
    searches: bool = True

    @property
    def combination(self) -> str:
        """How the candidates are combined, for `recipe`; empty: there is one."""
        if len(self.candidates) == 1:
            return ""
        return "weighted sum of" if self.members > 1 else "the best of"


PLANS: Mapping[int, Plan] = MappingProxyType(
    {
        1: Plan((DEFAULT,), searches=False),
        2: Plan((DEFAULT,)),
        3: Plan(DIVERSE),
        4: Plan(DIVERSE, members=len(DIVERSE)),
        5: Plan(MORE, folds=5, rungs=((1, 5), (1, 4)), members=4),
    }
)
"""The plan of each quality."""
