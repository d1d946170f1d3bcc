"""`import stagewise` and `stagewise --version` import little; names are imported when used."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import stagewise

HEAVY = {"joblib", "matplotlib", "narwhals", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}


def imported_by(script):
    """Return the modules that a new process has after a script."""
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\nimport json, sys; print(json.dumps([*sys.modules]))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def packages(modules):
    return {name.partition(".")[0] for name in modules}


def own(modules):
    return {name for name in modules if packages([name]) == {"stagewise"}}


def test_importing_the_package_imports_no_other_package():
    found = imported_by("import stagewise")
    assert not packages(found) & HEAVY
    assert own(found) == {"stagewise"}


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_the_version_and_the_help_of_the_command_import_no_command(argument):
    found = imported_by(f"from stagewise.cli.main import main\nassert main([{argument!r}]) == 0")
    assert not packages(found) & HEAVY
    allowed = {"", ".cli", ".cli.main", ".cli.errors", ".cli.hints", ".cli.screen", ".display"}
    assert own(found) == {f"stagewise{name}" for name in allowed}


def test_an_estimator_imports_no_inspection_and_no_extras():
    found = imported_by("from stagewise import GradientBoostingRegressor")
    assert not packages(found) & {"dask", "matplotlib", "polars"}
    folders = {name.split(".")[1] for name in own(found) if "." in name}
    assert not folders & {"cli", "dask", "export", "inspection", "lab", "report"}


def test_the_imports_of_type_checkers_are_those_that_run():
    tree = ast.parse(Path(stagewise.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    of_checkers = {alias.name: node.module for node in imports for alias in node.names}
    assert {*of_checkers, "__version__"} == set(stagewise.__all__)
    for name, module in of_checkers.items():
        if module == "stagewise":
            assert inspect.ismodule(getattr(stagewise, name))
        else:
            assert getattr(stagewise, name) is getattr(importlib.import_module(module), name)


def test_dir_has_all_names_before_they_are_imported():
    script = "import stagewise; assert dir(stagewise) == sorted(stagewise.__all__)"
    assert own(imported_by(script)) == {"stagewise"}


def test_a_star_import_gets_all_names():
    imported_by("from stagewise import *\nGoss, load, losses.Huber, __version__")


@pytest.mark.parametrize("module", ["datasets", "errors", "estimators", "losses", "metrics"])
def test_public_modules_are_attributes_of_the_package(module):
    assert f"stagewise.{module}" in imported_by(f"import stagewise; stagewise.{module}")


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="module 'stagewise' has no attribute 'Lasso'"):
        stagewise.Lasso  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Lasso'"):
        exec("from stagewise import Lasso")


def test_pickles_and_files_are_read_by_a_process_that_has_imported_the_package_alone(tmp_path):
    X = [[0.0], [1.0], [2.0], [3.0]]
    model = stagewise.GradientBoostingRegressor(n_estimators=2, early_stopping=False)
    model.fit(X, [0.0, 1.0, 2.0, 3.0])
    model.save(tmp_path / "model.stgw")
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    script = f"""
import json, pickle, stagewise
loaded = stagewise.load({str(tmp_path / "model.stgw")!r})
pickled = pickle.load(open({str(tmp_path / "model.pickle")!r}, "rb"))
print(json.dumps([m.predict({X}).tolist() for m in (loaded, pickled)]))
"""
    process = [sys.executable, "-c", script]
    done = subprocess.run(process, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == 2 * [model.predict(X).tolist()]
