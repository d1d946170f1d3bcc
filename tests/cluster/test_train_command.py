"""``stagewise train --cluster``: workers read the files, and the model file has the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from distributed import LocalCluster, Security
from distributed.client import FutureCancelledError
from pyarrow import parquet

from cli_runs import fails
from cluster.clusters import DASK_WARNINGS, make_cluster
from stagewise.cli.main import main
from stagewise.cli.training import cluster as cluster_command
from stagewise.cluster.exchange import EpochError
from stagewise.dask.estimators import ClusterMixin

pytestmark = DASK_WARNINGS

OPTIONS = ["--target", "size", "--weight", "times", "--valid", "valid.parquet", "--quiet"]
OPTIONS += ["--set", "n_estimators=6", "--set", "subsample=0.7"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with training files, one of them without rows, and validation rows."""
    folder = tmp_path_factory.mktemp("train")
    rng = np.random.default_rng(0)
    for name, n in (("0", 2_500), ("1", 0), ("2", 1_600), ("valid", 800)):
        a, b = rng.normal(size=(2, n))
        score = a * b + rng.normal(size=n)
        table = pa.table(
            {
                "a": a,
                "b": pa.array(b, mask=rng.random(n) < 0.1),
                "day": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
                "colour": pa.array(rng.choice(["red", "green"], n).tolist(), pa.string()),
                "size": pa.array(np.where(score > 0, "big", "small").tolist(), pa.string()),
                "times": rng.integers(0, 3, n),
            }
        )
        parquet.write_table(table, folder / f"{name}.parquet", row_group_size=700)
    return folder


@pytest.fixture
def run(capfd: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command inside the folder; return exit code, standard output, standard error."""

    def run(*argv: Any) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        capfd.readouterr()
        code = main([str(word) for word in argv])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def address() -> Iterator[str]:
    """Return the address of a cluster of two workers in this process."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    with LocalCluster(dashboard_address=None, **options) as cluster:
        yield cluster.scheduler_address


def test_the_model_file_has_the_bytes_of_a_local_training(
    run: Run, address: str, tmp_path: Path
) -> None:
    local, remote = tmp_path / "local.stgw", tmp_path / "remote.stgw"
    assert run("train", "[012].parquet", *OPTIONS, "--model", local)[0] == 0
    code, out, err = run(
        "train", "[012].parquet", *OPTIONS, "--model", remote, "--cluster", address
    )
    assert code == 0, err
    assert "rows of valid.parquet" in out
    assert "AUC" in out
    assert remote.read_bytes() == local.read_bytes()


@pytest.mark.parametrize("method", ["auto", "adaboost"])
def test_a_method_without_clusters_is_refused(run: Run, address: str, method: str) -> None:
    options = ["--target", "size", "--method", method, "--cluster", address]
    fails(run("train", "[012].parquet", *options), f"--method {method}", "--method boosting")


def test_a_parameter_that_clusters_do_not_support_is_refused(run: Run, address: str) -> None:
    options = ["--target", "size", "--set", "grow_policy=symmetric", "--cluster", address]
    fails(
        run("train", "[012].parquet", *options), "grow_policy='symmetric'", "Change the parameter"
    )


def test_a_file_that_workers_do_not_have_is_one_clear_error(
    run: Run, address: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "here.parquet"
    path.write_bytes((folder / "0.parquet").read_bytes())
    partitions = cluster_command._partitions

    def vanish(dataset: Any) -> Any:
        found = partitions(dataset)
        path.unlink()
        return found

    monkeypatch.setattr(cluster_command, "_partitions", vanish)
    options = ["--target", "size", "--set", "n_estimators=6", "--cluster", address]
    fails(run("train", path, *options), "A worker cannot read a file", "here.parquet", "same paths")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FutureCancelledError("rank-0", "by a user"), ["The tasks of the fit were cancelled"]),
        (MemoryError(), ["A worker has not enough memory."]),
        (MemoryError("they have 2GB, and a worker has 1GB"), ["they have 2GB"]),
        (EpochError("lost", 1, "gone"), ["lost too many workers", "gone", "check their logs"]),
        (ConnectionError("lost"), ["The connection to the scheduler at 'tcp://", "was lost"]),
    ],
)
def test_a_fault_of_the_cluster_is_one_clear_line(
    run: Run,
    address: str,
    error: Exception,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(ClusterMixin, "_fit_partitions", fail)
    options = ["--target", "size", "--set", "n_estimators=6", "--quiet", "--cluster", address]
    result = run("train", "[012].parquet", *options)
    fails(result, *words)
    assert len(result[2].splitlines()) == 1


def test_a_scheduler_that_does_not_respond_is_one_clear_line(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_command, "SECONDS_TO_CONNECT", 1)
    result = run("train", "0.parquet", "--target", "size", "--cluster", "tcp://127.0.0.1:9")
    fails(result, "no connection to the scheduler at 'tcp://127.0.0.1:9'", "check the address")
    assert len(result[2].splitlines()) == 1


def test_a_cluster_without_workers_is_an_error(run: Run) -> None:
    with LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        result = run("train", "0.parquet", "--target", "size", "--cluster", address)
    fails(result, "has no worker", f"dask worker {address}")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cluster", "host:8786"], ["tcp://host:8786", "not 'host:8786'"]),
        (["--cluster", "tls://127.0.0.1:9"], ["--tls-ca-file", "certificates"]),
        (["--cluster", "tls://127.0.0.1:9", "--tls-cert", "none.pem"], ["--tls-cert", "none.pem"]),
        (["--cluster", "tcp://127.0.0.1:9", "--tls-cert", "c.pem"], ["--tls-cert is for"]),
        (["--cluster", "tcp://127.0.0.1:9", "--memory-limit", "1GB"], ["--memory-limit cannot"]),
        (["--cluster", "tcp://127.0.0.1:9", "--threads", "2"], ["--threads cannot"]),
    ],
)
def test_wrong_options_of_clusters(run: Run, options: list[str], words: list[str]) -> None:
    fails(run("train", "0.parquet", "--target", "size", *options), *words)


def test_dask_is_an_extra(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if "dist" in name else name)
    result = run("train", "0.parquet", "--target", "size", "--cluster", "tcp://127.0.0.1:9")
    fails(result, "pip install 'stagewise[dask]'")


@pytest.mark.cluster
def test_processes_with_tls(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    security = Security.temporary()
    files = {"--tls-ca-file": "tls_ca_file", "--tls-cert": "tls_client_cert"}
    files["--tls-key"] = "tls_client_key"
    options: list[Any] = []
    for option, name in files.items():
        path = tmp_path / f"{name}.pem"
        path.write_text(getattr(security, name))
        options += [option, path]
    local, remote = tmp_path / "local.stgw", tmp_path / "remote.stgw"
    assert run("train", "[012].parquet", *OPTIONS, "--model", local)[0] == 0
    monkeypatch.chdir(tmp_path)  # the workers start in another folder than that of the files
    with make_cluster(2, security=security, protocol="tls") as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        options += ["--cluster", address, "--model", remote]
        code, _, err = run("train", "[012].parquet", *OPTIONS, *options)
    assert code == 0, err
    assert remote.read_bytes() == local.read_bytes()
