"""``stagewise train --cluster --checkpoint``: the rounds are kept by the command, on its machine.

After the end of the command or of the cluster, the same command resumes, and the model file has the
bytes of a training on one machine.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster
from pyarrow import parquet

from cli_runs import fails
from cluster.clusters import DASK_WARNINGS, SHORT, make_cluster, wait_for
from cluster.rank_fits import frame, number_target, regressor
from stagewise.cli.main import main
from stagewise.dask import round_copies
from stagewise.dask.driver import fit_on_cluster
from stagewise.dask.epoch import HANDLER
from stagewise.dask.partition_fit import PartitionFit, _ShardCheckpoints
from stagewise.dask.partitions import read_partitions
from stagewise.dask.round_copies import RoundCopies
from stagewise.dask.shard import Checkpoint
from stagewise.training.stored.checkpoint import Rounds
from stagewise.training.stored.checkpoint_folder import CheckpointFolder

pytestmark = DASK_WARNINGS

ROUNDS = 150
# Rounds are copied and written as soon as possible, so that a kill can come after any of them.
COMMAND = """
import sys
from stagewise.cli.main import main
from stagewise.cli.training import dataset_rows
from stagewise.dask import round_copies
dataset_rows.SECONDS_BETWEEN_WRITES = round_copies.SECONDS = 0.0
sys.exit(main(sys.argv[1:]))
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with training files and validation rows."""
    folder = tmp_path_factory.mktemp("checkpoint")
    rng = np.random.default_rng(0)
    for name, n in (("0", 4_000), ("1", 3_000), ("valid", 1_000)):
        a, b = rng.normal(size=(2, n))
        colour = rng.choice(["red", "green", "blue"], n)
        y = a * b + (colour == "red") + rng.normal(size=n)
        table = pa.table({"a": a, "b": b, "colour": colour.tolist(), "y": y})
        parquet.write_table(table, folder / f"{name}.parquet", row_group_size=900)
    return folder


def command(model: Path, *more: Any) -> list[str]:
    options = ["train", "[01].parquet", "--target", "y", "--set", f"n_estimators={ROUNDS}"]
    options += ["--set", "subsample=0.8", "--set", "n_iter_no_change=100"]
    return [*options, "--valid", "valid.parquet", "--model", str(model), *map(str, more)]


@pytest.fixture
def run(capfd: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command inside the folder; return exit code, standard output, standard error."""
    monkeypatch.setattr(round_copies, "SECONDS", 0.0)

    def run(*argv: Any) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        capfd.readouterr()
        code = main([str(word) for word in argv])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def expected(run: Run, tmp_path: Path) -> bytes:
    """Return the model file of a training on one machine."""
    assert run(*command(tmp_path / "whole.stgw"))[0] == 0
    return (tmp_path / "whole.stgw").read_bytes()


def slow_down() -> None:
    """Let every round in this process take so long that the client copies some of them."""
    save = _ShardCheckpoints.save

    def save_slowly(self: _ShardCheckpoints, stage: str, rounds: Rounds) -> None:
        save(self, stage, rounds)
        time.sleep(0.01)

    _ShardCheckpoints.save = save_slowly  # type: ignore[method-assign]


@contextmanager
def threads(n_workers: int) -> Iterator[list[str]]:
    """Return the option for a cluster of slow workers in this process."""
    options = {"threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    with (
        pytest.MonkeyPatch.context() as patch,
        LocalCluster(n_workers=n_workers, dashboard_address=None, **options) as cluster,
    ):
        patch.setattr(_ShardCheckpoints, "save", _ShardCheckpoints.save)  # restores it
        slow_down()
        yield ["--cluster", cluster.scheduler_address]
        wait_for(lambda: not any(HANDLER in each.handlers for each in cluster.workers.values()))


@contextmanager
def one_machine() -> Iterator[list[str]]:
    yield []


def interrupt_after(n: int, monkeypatch: pytest.MonkeyPatch, in_stage: str = "model") -> None:
    """Interrupt the command when it has kept some rounds of a stage."""
    save = CheckpointFolder.save

    def interrupt(self: CheckpointFolder, stage: str, rounds: Rounds) -> None:
        save(self, stage, rounds)
        if stage == in_stage and rounds.n >= n:
            raise KeyboardInterrupt

    monkeypatch.setattr(CheckpointFolder, "save", interrupt)


@pytest.mark.parametrize("resumes", [lambda: threads(1), one_machine])
def test_an_interrupted_training_resumes_also_elsewhere(
    run: Run, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumes: Any
) -> None:
    model, checkpoint = tmp_path / "m.stgw", ["--checkpoint", tmp_path / "c"]
    with threads(2) as cluster, monkeypatch.context() as patch:
        interrupt_after(20, patch)
        code, out, err = run(*command(model, *checkpoint, *cluster))
    assert (code, out) == (130, "")
    assert "the same command resumes" in err
    assert not model.exists()
    with resumes() as cluster:
        code, out, err = run(*command(model, *checkpoint, *cluster))
    assert code == 0, err
    resumed = re.search(r"resumed after round +(\d+)\n", out)
    assert resumed is not None
    assert 20 <= int(resumed[1]) < ROUNDS
    assert model.read_bytes() == expected
    assert not (tmp_path / "c").exists()


def test_a_cluster_resumes_the_training_of_one_machine(
    run: Run, expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, checkpoint = tmp_path / "m.stgw", ["--checkpoint", tmp_path / "c"]
    with monkeypatch.context() as patch:
        interrupt_after(20, patch)
        assert run(*command(model, *checkpoint))[0] == 130
    with threads(2) as cluster:
        code, out, err = run(*command(model, *checkpoint, *cluster))
    assert code == 0, err
    assert re.search(r"resumed after round +20\n", out)
    assert model.read_bytes() == expected


def test_a_checkpoint_of_rows_in_one_place_is_not_used(run: Run, tmp_path: Path) -> None:
    options = ["train", "0.parquet", "--target", "y", "--set", "n_estimators=3"]
    options += ["--model", tmp_path / "m.stgw", "--checkpoint", tmp_path / "c"]
    with threads(2) as cluster:
        metric = ["--set", "eval_metric=mae", "--set", "early_stopping=True"]
        code, out, err = run(*options, *metric, *cluster)
        assert code == 0, err
        assert re.search("checkpoint +not used: the rows were fitted in memory\n", out)
        assert not (tmp_path / "c").exists()
        code, out, err = run(*options, *cluster)
        assert code == 0, err
        assert "not used" not in out


@pytest.mark.slow
def test_the_search_for_the_number_of_rounds_resumes_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 51_000))
    table = pa.table({"a": a, "b": b, "y": a * b + rng.normal(size=51_000)})
    parquet.write_table(table, tmp_path / "many.parquet", row_group_size=9_000)
    options = ["train", tmp_path / "many.parquet", "--target", "y", "--memory-limit", "1GB"]
    assert run(*options, "--model", tmp_path / "whole.stgw")[0] == 0
    options = [*options[:-2], "--model", tmp_path / "m.stgw", "--checkpoint", tmp_path / "c"]
    for stage, place in (("search", threads(2)), ("model", one_machine()), ("model", threads(2))):
        with place as cluster, monkeypatch.context() as patch:
            n = 30 if (tmp_path / "c" / "model.rounds").exists() else 10
            interrupt_after(n, patch, stage)
            assert run(*options, *cluster)[0] == 130
    with threads(1) as cluster:
        code, out, err = run(*options, *cluster)
    assert code == 0, err
    resumed = re.search(r"resumed after round +(\d+)\n", out)
    assert resumed is not None
    assert int(resumed[1]) >= 30
    assert (tmp_path / "m.stgw").read_bytes() == (tmp_path / "whole.stgw").read_bytes()


def test_a_checkpoint_of_another_training_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = ["--checkpoint", tmp_path / "c"]
    with monkeypatch.context() as patch:
        interrupt_after(1, patch)
        assert run(*command(tmp_path / "m.stgw", *checkpoint))[0] == 130
    with threads(1) as cluster:
        options = [*checkpoint, *cluster, "--set", "subsample=0.7"]
        result = run(*command(tmp_path / "m.stgw", *options))
    fails(result, "subsample is 0.8 there and 0.7 now", "Resume with the same files")


def test_a_full_disk_ends_the_training_with_one_clear_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: CheckpointFolder, stage: str, rounds: Rounds) -> None:
        raise OSError("The checkpoint cannot be written: No space left on device")

    with threads(1) as cluster:
        monkeypatch.setattr(CheckpointFolder, "save", fail)
        result = run(*command(tmp_path / "m.stgw", "--checkpoint", tmp_path / "c", *cluster))
    fails(result, "No space left")


class Kept:
    """Checkpoints in a dict."""

    def __init__(self, stages: dict[str, Rounds]) -> None:
        self.stages = stages

    def load(self, stage: str) -> Rounds | None:
        return self.stages.get(stage)

    def save(self, stage: str, rounds: Rounds) -> None:
        self.stages[stage] = rounds

    def rows_are_stored(self) -> None: ...


def rounds_of(n: int) -> Rounds:
    trees: Any = list(range(2 * n))
    return Rounds(n, trees, [float(i) for i in range(n)], [])


def test_copies_of_two_stages_follow_those_that_were_kept() -> None:
    client: Any = None
    kept = Kept({"search": rounds_of(3)})
    copies = RoundCopies(client, kept)
    assert copies.newest == Checkpoint(3, {"search": rounds_of(3)})
    copies.add(Checkpoint(7, {"search": rounds_of(5), "model": rounds_of(2)}))
    copies.add(Checkpoint(6, {"search": rounds_of(5), "model": rounds_of(1)}))
    assert kept.stages == {"search": rounds_of(5), "model": rounds_of(2)}
    assert copies.newest == Checkpoint(7, kept.stages)


def test_without_rounds_there_is_nothing_to_resume_from() -> None:
    client: Any = None
    copies = RoundCopies(client, Kept({}))
    copies.add(None)
    assert copies.newest is None


def start(folder: Path, *argv: Any) -> subprocess.Popen[str]:
    """Start the command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, argv)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.cluster
def test_a_command_that_is_killed_several_times_writes_the_same_bytes(
    folder: Path, expected: bytes, tmp_path: Path
) -> None:
    model, rounds = tmp_path / "m.stgw", tmp_path / "c" / "model.rounds"
    least = kills = 0
    with make_cluster(2) as cluster, Client(cluster) as client:
        client.run(slow_down)
        address = cluster.scheduler_address
        while True:
            options = ["--checkpoint", tmp_path / "c", "--cluster", address, "--quiet"]
            process = start(folder, *command(model, *options))
            while size_of(rounds) <= least and process.poll() is None:
                time.sleep(0.01)
            if process.poll() is not None:
                break
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            assert not model.exists()
            kills, least = kills + 1, size_of(rounds) + 100_000
    assert process.communicate()[1] == ""
    assert process.returncode == 0
    assert kills > 2
    assert model.read_bytes() == expected
    assert not (tmp_path / "c").exists()


@pytest.mark.cluster
def test_a_training_whose_scheduler_was_killed_resumes_on_another_cluster(
    folder: Path, run: Run, expected: bytes, tmp_path: Path
) -> None:
    model, checkpoint = tmp_path / "m.stgw", ["--checkpoint", tmp_path / "c", "--quiet"]
    with scheduler_process(tmp_path) as (address, pids):
        process = start(folder, *command(model, *checkpoint, "--cluster", address))
        wait_for(lambda: size_of(tmp_path / "c" / "model.rounds") > 100_000, 60.0)
        os.kill(pids[0], signal.SIGKILL)
        out, err = process.communicate(timeout=90)
    fails((process.returncode, out, err), "The connection to the scheduler at", "was lost")
    with threads(3) as cluster:
        code, _, err = run(*command(model, *checkpoint, *cluster))
    assert code == 0, err
    assert model.read_bytes() == expected


@dataclass(frozen=True)
class LogRounds:
    """A callback that appends the process and the round to a file."""

    path: str

    def __call__(self, progress: Any) -> None:
        with Path(self.path).open("a") as file:
            file.write(f"{os.getpid()} {progress.round}\n")


@pytest.mark.cluster
def test_a_fit_that_loses_all_ranks_resumes_from_the_copies_of_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_copies, "SECONDS", 0.0)
    X, log, kept = frame(4_000), tmp_path / "rounds", Kept({})
    y = number_target(X)
    local = regressor(n_estimators=100).fit(X, y)
    partitions = read_partitions(dd.from_pandas(X.assign(y=y), npartitions=4), "y", None)
    estimator = regressor(n_estimators=100, callbacks=[LogRounds(str(log))])
    fit = PartitionFit(estimator, partitions.roles, None, 4)
    with make_cluster(2) as cluster, Client(cluster) as client, ThreadPoolExecutor(1) as pool:
        client.run(slow_down)
        pids = client.run(os.getpid)
        compute = partial(client.compute, partitions.tables)
        found = pool.submit(fit_on_cluster, client, compute, fit, limits=SHORT, checkpoints=kept)
        wait_for(lambda: "model" in kept.stages and kept.stages["model"].n >= 20)
        for pid in pids.values():
            os.kill(pid, signal.SIGKILL)
        assert found.result(60).fingerprint() == local.fingerprint()
    first: dict[str, int] = {}
    for line in log.read_text().splitlines():
        pid, number = line.split()
        first.setdefault(pid, int(number))
    starts = list(first.values())
    assert starts[0] == 1
    assert min(starts[1:]) > 20


@contextmanager
def scheduler_process(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Return the address of a scheduler with two workers; ids of processes, that of it first."""
    file, processes = folder / "scheduler.json", []
    dask = [sys.executable, "-m", "dask"]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    root = str(Path(__file__).parents[2])
    quiet["env"] = os.environ | {"PYTHONPATH": os.pathsep.join([root, *sys.path])}
    try:
        options = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0"]
        options += ["--no-dashboard"]
        processes.append(subprocess.Popen([*dask, "scheduler", *options], **quiet))
        wait_for(file.exists)
        with Client(scheduler_file=str(file)) as client:
            options = [client.scheduler.address, "--nthreads", "1", "--no-dashboard"]
            options += ["--no-nanny", "--local-directory", str(folder)]
            processes += [subprocess.Popen([*dask, "worker", *options], **quiet) for _ in range(2)]
            client.wait_for_workers(2, timeout=60)
            client.run(slow_down)
            address = client.scheduler.address
        yield address, [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
