"""A wheel and a source archive have the files that they need, and no others.

The wheel of these tests is built without the compiled core, which takes less than a second;
`make wheel` checks a complete one, and `make wheel-test` installs it.
"""

from __future__ import annotations

import importlib
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools" / "packaging"))
archives = importlib.import_module("archives")
build = pytest.importorskip("scikit_build_core.build")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel without the compiled core."""
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return folder / build.build_wheel(str(folder), {"wheel.cmake": "false"})


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """The source archive."""
    folder = tmp_path_factory.mktemp("source")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return folder / build.build_sdist(str(folder), {})


def test_the_wheel_has_exactly_the_files_of_the_package(wheel):
    assert archives.wheel_faults(wheel, with_core=False) == []


def test_the_wheel_has_the_pages_and_the_types(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {
        "stagewise/report/page/main.js",
        "stagewise/report/page/style.css",
        "stagewise/lab/page/main.js",
        "stagewise/lab/page/examples.json",
        "stagewise/_native.pyi",
        "stagewise/py.typed",
    } <= names


def test_the_source_archive_has_exactly_the_files_of_a_build(source):
    assert archives.source_faults(source) == []


def test_both_archives_are_small(wheel, source):
    assert wheel.stat().st_size + source.stat().st_size < archives.LIMIT


def test_a_missing_core_is_a_fault(wheel):
    assert archives.wheel_faults(wheel) == ["0 compiled cores instead of 1"]


def test_missing_and_additional_files_are_faults(wheel, source, tmp_path):
    other = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
        for name in set(old.namelist()) - {"stagewise/lab/page/main.js"}:
            new.writestr(name, old.read(name))
        new.writestr("tests/test_cuts.py", "")
    assert archives.wheel_faults(other, with_core=False) == [
        "missing: stagewise/lab/page/main.js",
        "does not belong there: tests/test_cuts.py",
    ]
    more = tmp_path / source.name
    with tarfile.open(source) as old, tarfile.open(more, "w") as new:
        for member in old:
            if not member.name.endswith("/LICENSE"):
                new.addfile(member, old.extractfile(member))
        new.add(__file__, "stagewise-0.1.0/build.log")
    assert archives.source_faults(more) == [
        "missing: LICENSE",
        "does not belong there: build.log",
    ]


def test_the_program_prints_sizes_and_fails_for_a_fault(wheel, source, capsys):
    assert archives.main([str(source)]) == 0
    assert archives.main([str(source), str(wheel)]) == 1
    out = capsys.readouterr().out
    assert f"{source.name}: {source.stat().st_size / 1e6:.2f} MB" in out
    assert "  0 compiled cores instead of 1" in out


def test_wheels_are_built_for_the_versions_of_the_classifiers():
    prefix = "Programming Language :: Python :: 3."
    classifiers = PROJECT["project"]["classifiers"]
    minors = [c.removeprefix(prefix) for c in classifiers if c.startswith(prefix)]
    assert PROJECT["tool"]["cibuildwheel"]["build"] == [f"cp3{minor}-*" for minor in minors]


@pytest.mark.parametrize("name", ["tests.yml", "wheels.yml"])
def test_the_commands_of_a_workflow_exist(name):
    text = (ROOT / ".github" / "workflows" / name).read_text()
    commands = re.findall(r"- run: (.*)", text)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    files = re.findall(r"(?:python |^)(\S*/\S+)", "\n".join(commands), re.M)
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert set(re.findall(r"make ([a-z-]+)", "\n".join(commands))) <= targets


def test_the_command_that_tries_each_wheel_exists():
    command = PROJECT["tool"]["cibuildwheel"]["test-command"].split()
    assert command[0] == "python"
    assert (ROOT / command[1].removeprefix("{project}/")).is_file()
    smoke = importlib.import_module("smoke")
    assert set(command[2:]) == set(smoke.CHECKS)
