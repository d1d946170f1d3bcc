"""The examples run, print something and are short."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


# It starts a cluster. Dask leaves sockets of lost workers to the garbage collector.
CLUSTER = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
RUNS = [
    pytest.param(path, id=path.stem, marks=CLUSTER if path.stem == "lost_worker" else [])
    for path in EXAMPLES
]


@pytest.mark.parametrize("path", RUNS)
def test_an_example_runs_and_prints_something(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_on_a_screen(path):
    """tinygbt.py is an entire library of boosting, one function per equation."""
    most = 155 if path.stem == "tinygbt" else 40
    assert len(path.read_text(encoding="utf-8").splitlines()) <= most
