"""Kill a worker of a Dask cluster in the middle of a fit: the model does not change by a byte."""

import os
import signal
import threading
import time

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import stagewise
from stagewise.dask import GradientBoostingRegressor


def kill_a_worker(client):
    """Kill the process of one worker as soon as the workers have trained for a while."""
    while not any("rank" in str(key) for keys in client.processing().values() for key in keys):
        time.sleep(0.1)
    time.sleep(1.0)
    address, process = next(iter(client.run(os.getpid).items()))
    os.kill(process, signal.SIGKILL)
    print("killed the worker", address)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50_000, 6)), columns=list("abcdef"))
    y = X["a"] * X["b"] + rng.normal(size=len(X))
    with LocalCluster(3, threads_per_worker=1) as cluster, Client(cluster) as client:
        rows = dd.from_pandas(X.assign(y=y), npartitions=6)
        killer = threading.Thread(target=kill_a_worker, args=[client])
        killer.start()
        model = GradientBoostingRegressor(n_estimators=150).fit(rows, "y", client=client)
        killer.join()
    local = stagewise.GradientBoostingRegressor(n_estimators=150).fit(X, y)
    print("on the cluster:", model.fingerprint())
    print("on one machine:", local.fingerprint())
    assert model.fingerprint() == local.fingerprint()
