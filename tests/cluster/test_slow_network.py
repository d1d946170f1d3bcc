"""A network with delay and loss changes no byte of a model."""

from __future__ import annotations

from pathlib import Path

import dask.dataframe as dd
import pytest

import stagewise
from cluster.clusters import DASK_WARNINGS
from cluster.rank_fits import class_target, frame
from cluster.slow_network import slow_cluster
from stagewise.dask import GradientBoostingClassifier, RandomForestClassifier

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]


def test_models_trained_over_a_slow_network_have_the_same_bytes(tmp_path: Path) -> None:
    X = frame(20_000)
    y = class_target(X, 3)
    boosting = {"n_estimators": 30, "category_encoding": "sets"}
    with slow_cluster(2, tmp_path) as (client, proxies):
        rows = dd.from_pandas(X.assign(label=y), npartitions=4)
        model = GradientBoostingClassifier(**boosting).fit(rows, "label", client=client)
        assert sum(proxy.chunks for proxy in proxies) > 1_000
        assert sum(proxy.lost for proxy in proxies) > 5
        forest = RandomForestClassifier(n_estimators=8).fit(rows, "label", client=client)
    local = stagewise.GradientBoostingClassifier(**boosting).fit(X, y)
    assert model.fingerprint() == local.fingerprint()
    local = stagewise.RandomForestClassifier(n_estimators=8).fit(X, y)
    assert forest.fingerprint() == local.fingerprint()
