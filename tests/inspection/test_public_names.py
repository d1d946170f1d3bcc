"""The inspection packages show functions and result classes only."""

from __future__ import annotations

import importlib
import inspect

import pytest

PACKAGES = ["", ".dependence", ".importances", ".quality", ".shap", ".tables"]


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_show_no_modules(name):
    package = importlib.import_module(f"stagewise.inspection{name}")
    shown = {key: getattr(package, key) for key in dir(package)}
    assert sorted(shown) == sorted(package.__all__)
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
