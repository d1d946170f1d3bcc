"""The weighted sum of models, which is one model.

A weighted sum of additive models is an additive model: its base score is the weighted sum of the
base scores, and its trees are all their trees, with values multiplied by the weights. So an
ensemble of models is predicted, saved and explained as one. This module must not train models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.data.features import Features
from stagewise.model.ensemble import Ensemble
from stagewise.model.model import Model
from stagewise.trees.tree import Tree

__all__ = ["weighted_sum"]

Vector = npt.NDArray[np.float64]


def weighted_sum(models: Sequence[Model], weights: Sequence[float]) -> Model:
    """Return the model whose score is Σ w_m F_m(x).

    Parameters
    ----------
    models : sequence of Model
        Models of one target, with the same features, loss and unit of the scores. Their crosses
        and target encodings may differ: the sum has all of them. Models of weight 0 are left out.
    weights : sequence of float
        The weight of each model.

    Returns
    -------
    Model
        Without losses of rounds, which belong to single models.
    """
    kept = [(model, float(w)) for model, w in zip(models, weights, strict=True) if w != 0.0]
    first = kept[0][0]
    for model, _ in kept[1:]:
        _check_same_unit(first, model)
    crosses = dict.fromkeys(cross for model, _ in kept for cross in model.features.crosses)
    encodings = [encoding for model, _ in kept for encoding in model.features.target_encodings]
    features = first.features.with_crosses(crosses).with_target_encodings(encodings)
    joint = max(model.ensemble.outputs_per_tree for model, _ in kept)
    base, trees = np.zeros(first.ensemble.n_outputs), []
    n_encoded = 0
    for model, weight in kept:
        own = model.ensemble
        base += weight * own.base
        place = _places(model.features, features, n_encoded)
        for number, tree in enumerate(own.trees):
            part = _scale(tree, weight, place)
            if joint > own.outputs_per_tree:
                part = _spread(part, number % own.trees_per_round, joint)
            trees.append(part)
        n_encoded += sum(encoding.n_columns for encoding in model.features.target_encodings)
    categories = features.n_categories_per_column()
    return replace(
        first,
        features=features,
        ensemble=Ensemble(len(categories), base, trees, categories, joint),
        train_loss=np.empty(0),
        valid_loss=np.empty(0),
    )


def _places(own: Features, features: Features, n_encoded: int) -> npt.NDArray[np.int32]:
    """Return the columns of a model in the sum, behind -1: the column of a leaf is -1.

    `n_encoded` is the number of target-encoded columns of the models before it.
    """
    crosses = [own.n + features.crosses.index(cross) for cross in own.crosses]
    first = own.n + len(features.crosses) + n_encoded
    behind = range(first, first + len(own.sources) - own.n - len(crosses))
    return np.array([-1, *range(own.n), *crosses, *behind], dtype=np.int32)


def _scale(tree: Tree, weight: float, place: npt.NDArray[np.int32]) -> Tree:
    """Return a tree times a weight, with the columns of the sum."""
    lines = tree.linear_leaves
    if lines is not None:
        lines = replace(lines.scaled(weight, 0.0), feature=place[1 + lines.feature])
    return replace(
        tree,
        feature=place[1 + tree.feature],
        value=weight * tree.value,
        gain=abs(weight) * tree.gain,
        linear_leaves=lines,
    )


def _spread(tree: Tree, output: int, n_outputs: int) -> Tree:
    """Return a tree of one output as a tree with a value for each output."""
    if tree.linear_leaves is not None:
        raise ValueError("models with linear leaves and models with vector leaves cannot be added.")
    value = np.zeros((len(tree.feature), n_outputs))
    value[:, output] = tree.value
    return tree.with_values(value)


def _check_same_unit(first: Model, other: Model) -> None:
    """Raise ValueError unless the scores of two models can be added."""
    plain: list[Any] = [
        (m.task, m.loss, Features(m.features, m.features.missing_values), m.targets)
        for m in (first, other)
    ]
    same = plain[0] == plain[1] and all(
        np.array_equal(getattr(first, name), getattr(other, name)) for name in ("offset", "scale")
    )
    labels = [None if m.classes is None else m.classes.tolist() for m in (first, other)]
    if not same or labels[0] != labels[1]:
        raise ValueError("models with different features, targets or losses cannot be added.")
    if any(m.least_squares is not None for m in (first, other)):
        raise ValueError("linear models cannot be added.")
