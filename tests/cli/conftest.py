"""A folder of tables and models, and a way to run commands in it."""

import pytest
from pyarrow import csv

from cli_runs import FAST, make_table
from stagewise.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table to train on, one to test on, and a model of each task."""
    folder = tmp_path_factory.mktemp("cli")
    for seed, name in enumerate(["train", "test"]):
        csv.write_csv(make_table(seed), folder / f"{name}.csv")
    for target in ["price", "kind", "flag"]:
        others = {"price", "kind", "flag", "weight"} - {target}
        model = ["--model", str(folder / f"{target}.stgw"), "--quiet"]
        train = ["train", str(folder / "train.csv"), "--target", target]
        assert main([*train, *model, *FAST, "--ignore", *sorted(others)]) == 0
    return folder


@pytest.fixture
def run(capsys, folder, monkeypatch):
    """Run a command inside the folder; return exit code, standard output, standard error."""

    def run(*argv):
        monkeypatch.chdir(folder)
        capsys.readouterr()
        code = main([str(word) for word in argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
