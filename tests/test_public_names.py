"""`dir` of a public module has its public names, and no modules or imported helpers."""

from __future__ import annotations

import dataclasses
import importlib
import inspect

import pytest

import stagewise
from stagewise import HistogramTree

PACKAGES = [
    "",
    ".dependence",
    ".importances",
    ".quality",
    ".rounds",
    ".shap",
    ".splits",
    ".survival",
    ".tables",
]


MODULES = ["", ".losses", ".averaging", ".options", ".learners", ".estimators", ".bagging"]
MODULES += [
    ".dask",
    ".export",
    ".errors",
    ".datasets",
    *(f".inspection{name}" for name in PACKAGES),
]


@pytest.mark.parametrize("name", MODULES)
def test_the_public_names_of_a_module_are_those_that_it_lists(name):
    module = importlib.import_module(f"stagewise{name}")
    public = [key for key in dir(module) if not key.startswith("_")]
    assert public == sorted(key for key in module.__all__ if not key.startswith("_"))
    assert all(hasattr(module, key) for key in module.__all__)


def test_the_package_has_no_other_names_but_modules():
    others = {k: v for k, v in vars(stagewise).items() if k not in stagewise.__all__}
    assert all(k.startswith("_") or inspect.ismodule(v) for k, v in others.items())


def test_a_tree_has_no_methods():
    public = {name for name in dir(HistogramTree) if not name.startswith("_")}
    assert public == {field.name for field in dataclasses.fields(HistogramTree)}


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_of_a_package_has_no_modules(name):
    package = importlib.import_module(f"stagewise.inspection{name}")
    shown = {key: getattr(package, key) for key in dir(package)}
    assert all(inspect.isfunction(value) or inspect.isclass(value) for value in shown.values())


def test_a_star_import_gets_the_public_names():
    names: dict[str, object] = {}
    exec("from stagewise.inspection import *", names)
    names.pop("__builtins__")
    assert sorted(names) == sorted(importlib.import_module("stagewise.inspection").__all__)


@pytest.mark.parametrize("name", PACKAGES[1:])
def test_the_names_of_subpackages_are_in_the_package(name):
    whole = importlib.import_module("stagewise.inspection")
    part = importlib.import_module(f"stagewise.inspection{name}")
    assert all(getattr(whole, key) is getattr(part, key) for key in part.__all__)
