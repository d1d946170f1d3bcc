"""Which features an automatic model crosses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from stagewise.data.crosses import OPERATIONS, Cross
from stagewise.data.features import Features
from stagewise.model.model import Model

__all__ = ["choose_crosses", "numeric_features"]


def numeric_features(features: Features) -> list[int]:
    """Return the positions of the features that can be crossed."""
    return [j for j, f in enumerate(features) if f.kind == "real" and f.temporal_type is None]


def choose_crosses(models: Sequence[Model], n_features: int) -> list[Cross]:
    """Return all differences, ratios and products of the most important numeric features.

    Parameters
    ----------
    models : sequence of Model
        Models of the same features, of training rows of folds.
    n_features : int
        The number of features to cross, in the order of their gains in these models.
    """
    gain = np.sum([model.gain_by_feature() for model in models], axis=0)
    used = [j for j in numeric_features(models[0].features) if gain[j] > 0.0]
    best = sorted(used, key=lambda j: (-gain[j], j))[:n_features]
    return [Cross(operation, pair) for operation in OPERATIONS for pair in combinations(best, 2)]
