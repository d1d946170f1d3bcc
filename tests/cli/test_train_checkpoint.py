"""``stagewise train --checkpoint``: after a kill, the same command resumes, with the same bytes."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from cli_runs import fails
from stagewise.cli.training import dataset_rows
from stagewise.training.stored.checkpoint_folder import CheckpointFolder

ROUNDS = 150
# Every round is written, so that a kill can come after any of them.
COMMAND = """
import sys
from stagewise.cli.main import main
from stagewise.cli.training import dataset_rows
dataset_rows.SECONDS_BETWEEN_WRITES = 0.0
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with training files and validation rows."""
    folder = tmp_path_factory.mktemp("checkpoint")
    rng = np.random.default_rng(0)
    for name, n in (("0", 4_000), ("1", 3_000), ("valid", 1_000)):
        a, b = rng.normal(size=(2, n))
        colour = rng.choice(["red", "green", "blue"], n)
        y = a * b + (colour == "red") + rng.normal(size=n)
        table = pa.table({"a": a, "b": b, "colour": colour.tolist(), "y": y})
        parquet.write_table(table, folder / f"{name}.parquet", row_group_size=900)
    return folder


def options(*more):
    return [
        *("--target", "y", "--set", f"n_estimators={ROUNDS}", "--set", "subsample=0.8"),
        *("--set", "n_iter_no_change=100", "--valid", "valid.parquet", *more),
    ]


def start(folder, model):
    """Start the command in a process of its own."""
    command = ["train", "[01].parquet", *options("--checkpoint", "c", "--quiet", "--model", model)]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, command)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_when(process, condition):
    """Kill the process as soon as a condition holds; return whether it was still running."""
    deadline = time.monotonic() + 60
    while not condition() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    if process.poll() is None:
        os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_training_that_is_killed_several_times_has_the_same_bytes(run, folder, tmp_path):
    assert run("train", "[01].parquet", *options("--model", tmp_path / "whole.stgw"))[0] == 0
    rounds, model = folder / "c" / "model.rounds", tmp_path / "m.stgw"

    def size():
        return rounds.stat().st_size if rounds.exists() else 0

    assert kill_when(start(folder, model), (folder / "c").exists)
    least = 1
    while True:
        process = start(folder, model)
        if not kill_when(process, lambda least=least: size() >= least):
            break
        assert size() >= least
        assert not model.exists()
        least = size() + 400_000
    assert least > 800_000  # more than one kill in the middle
    assert process.returncode == 0
    assert model.read_bytes() == (tmp_path / "whole.stgw").read_bytes()
    assert not (folder / "c").exists()


def test_an_interrupted_training_resumes(run, folder, tmp_path, monkeypatch):
    command = ["train", "[01].parquet", *options("--model", tmp_path / "m.stgw")]
    assert run(*command)[0] == 0
    expected = (tmp_path / "m.stgw").read_bytes()
    (tmp_path / "m.stgw").unlink()
    save = CheckpointFolder.save

    def interrupt(self, stage, rounds):
        save(self, stage, rounds)
        if rounds.n == 20:
            raise KeyboardInterrupt

    command += ["--checkpoint", str(tmp_path / "c")]
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFolder, "save", interrupt)
        code, out, err = run(*command)
    assert (code, out) == (130, "")
    assert "the same command resumes" in err
    assert not (tmp_path / "m.stgw").exists()
    code, out, _ = run(*command)
    assert code == 0
    assert re.search(r"resumed after round +20\n", out)
    assert (tmp_path / "m.stgw").read_bytes() == expected
    assert not (tmp_path / "c").exists()


@pytest.fixture
def interrupted(run, folder, tmp_path, monkeypatch):
    """A checkpoint of an interrupted training, as the option of the command."""

    def interrupt(self, stage, rounds):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFolder, "save", interrupt)
        command = ["train", "0.parquet", "--target", "y", "--set", "n_estimators=5"]
        checkpoint = ["--checkpoint", str(tmp_path / "c"), "--model", str(tmp_path / "m.stgw")]
        assert run(*command, *checkpoint)[0] == 130
    return checkpoint


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["0.parquet", "--set", "n_estimators=6"], ["n_estimators is 5 there and 6 now"]),
        (["0.parquet", "--set", "n_estimators=5", "--seed", "3"], ["random_state is 0 there"]),
        (["1.parquet", "--set", "n_estimators=5"], ["training file 1 is name 0.parquet"]),
        (["0.parquet", "--set", "n_estimators=5", "--ignore", "b"], ["the list of features"]),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(run, interrupted, changed, words):
    result = run("train", *changed, "--target", "y", *interrupted)
    fails(result, *words, "Resume with the same files and parameters", "delete this one")


def test_threads_and_memory_do_not_matter_for_a_checkpoint(run, interrupted, tmp_path):
    code, _, err = run(
        *("train", "0.parquet", "--target", "y", "--set", "n_estimators=5", *interrupted),
        *("--threads", "1", "--memory-limit", "1GB"),
    )
    assert code == 0, err
    assert (tmp_path / "m.stgw").exists()


def test_rounds_are_written_every_few_seconds():
    assert 1.0 <= dataset_rows.SECONDS_BETWEEN_WRITES <= 10.0
