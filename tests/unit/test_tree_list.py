"""TreeList behaves as a list of trees, however they came."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stagewise import GradientBoostingRegressor
from stagewise.model.ensemble import Ensemble
from stagewise.model.tree_list import TreeList
from stagewise.trees.tree import Tree

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
X["town"] = pd.Categorical(rng.choice(list("pqrst"), 200))
Y = X["a"].to_numpy() + (X["town"] == "p").to_numpy() + rng.normal(size=200)


@pytest.fixture(params=["constant", "linear"])
def ensemble(request: pytest.FixtureRequest) -> Ensemble:
    model = GradientBoostingRegressor(n_estimators=7, leaves=request.param).fit(X, Y)
    return model.model_.ensemble


def rebuilt(ensemble: Ensemble, trees: Any) -> dict[str, Any]:
    own = ensemble.n_features, ensemble.base, list(trees), ensemble.n_categories
    return Ensemble(*own).flat()


def flats(ensemble: Ensemble, cuts: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the flat arrays of parts of the trees."""
    trees, bounds = list(ensemble.trees), [0, *cuts, len(ensemble.trees)]
    return [rebuilt(ensemble, trees[a:b]) for a, b in pairwise(bounds)]


def equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_blocks_are_joined(ensemble: Ensemble) -> None:
    if "line_node" in ensemble.flat():
        pytest.skip("rounds with linear leaves come one by one")
    trees = TreeList()
    for block in flats(ensemble, (1, 4)):
        trees.append_flat(block)
    assert len(trees) == 7
    flat = trees.flat()
    assert flat is not None
    assert equal(dict(flat), rebuilt(ensemble, ensemble.trees))
    assert equal(rebuilt(ensemble, trees), dict(flat))


@pytest.mark.parametrize("n", range(8))
def test_a_list_of_flat_arrays_is_cut_where_a_list_is(ensemble: Ensemble, n: int) -> None:
    trees = TreeList()
    trees.append_flat(ensemble.flat())
    trees.truncate(n)
    assert len(trees) == n
    assert equal(rebuilt(ensemble, trees), rebuilt(ensemble, list(ensemble.trees)[:n]))


def test_several_blocks_are_cut(ensemble: Ensemble) -> None:
    if "line_node" in ensemble.flat():
        pytest.skip("rounds with linear leaves come one by one")
    for n in range(8):
        trees = TreeList()
        for block in flats(ensemble, (2, 5)):
            trees.append_flat(block)
        trees.truncate(n)
        assert equal(rebuilt(ensemble, trees), rebuilt(ensemble, list(ensemble.trees)[:n]))


def test_changes_are_those_of_a_list(ensemble: Ensemble) -> None:
    trees, plain = TreeList(), list(ensemble.trees)
    trees.append_flat(ensemble.flat())
    first: Tree = trees[0]
    for own in (trees, plain):
        own.append(first)
        own[1:3] = [first]
        del own[2]
        own.insert(0, own[3])
    assert len(trees) == len(plain)
    assert trees.flat() is None
    assert equal(rebuilt(ensemble, trees), rebuilt(ensemble, plain))


def test_a_pickle_does_not_depend_on_how_trees_are_held(ensemble: Ensemble) -> None:
    flat, plain = TreeList(), TreeList(ensemble.trees)
    flat.append_flat(ensemble.flat())
    assert equal(rebuilt(ensemble, pickle.loads(pickle.dumps(flat))), rebuilt(ensemble, plain))
    assert repr(flat) == "<7 trees>"
