"""`help` of every estimator documents each parameter once, in the order of the signature."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import stagewise
from estimators.every import EVERY, classifies, small
from stagewise.estimators.parameters.documentation import GROUPS, MIN_GROUPED

ESTIMATORS = [
    value
    for name in stagewise.__all__
    if inspect.isclass(value := getattr(stagewise, name)) and hasattr(value, "fit")
]


def documented(kind):
    """Return the names of each entry of the section "Parameters"."""
    section = re.search(r"Parameters\n-+\n(.*?)\n\n\w+\n---", inspect.getdoc(kind), re.DOTALL)[1]
    heads = [line for line in section.splitlines() if line[:1].strip() and line[:2] != "**"]
    return [[name.strip() for name in head.partition(" : ")[0].split(",")] for head in heads]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_documented_once(kind):
    names = [name for entry in documented(kind) for name in entry]
    assert sorted(names) == sorted(inspect.signature(kind).parameters)
    assert "As in `" not in inspect.getdoc(kind)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_entries_of_a_group_are_in_the_order_of_the_signature(kind):
    order = list(inspect.signature(kind).parameters)
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    by_group = {}
    for first, *_ in documented(kind):
        by_group.setdefault(group_of.get(first, ""), []).append(order.index(first))
    if len(order) >= MIN_GROUPED:
        assert all(places == sorted(places) for places in by_group.values())


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_parameters_are_in_groups_with_a_heading_each(kind):
    text = inspect.getdoc(kind)
    headings = re.findall(r"^\*\*(.*)\*\*$", text, re.MULTILINE)
    names = [name for entry in documented(kind) for name in entry]
    if len(documented(kind)) < MIN_GROUPED:
        assert not headings
    else:
        assert headings == [group for group, own in GROUPS.items() if {*own} & {*names}]


def test_every_group_has_parameters_of_some_estimator():
    known = {name for kind in ESTIMATORS for name in inspect.signature(kind).parameters}
    assert {name for names in GROUPS.values() for name in names} <= known


X = np.random.default_rng(0).normal(size=(80, 3))


@EVERY
def test_every_fitted_attribute_is_documented(kind):
    model = small(kind).fit(X, X[:, 0] > 0 if classifies(kind) else X[:, 0])
    names = {name for name in (*vars(model), *dir(kind)) if re.fullmatch(r"[a-z]\w*_", name)}
    section = re.search(
        r"Attributes\n-+\n(.*?)(?=\n\n\w+\n---|\Z)", inspect.getdoc(kind), re.DOTALL
    )
    heads = [line for line in section[1].splitlines() if line[:1].strip()]
    listed = {name.strip() for head in heads for name in head.partition(" : ")[0].split(",")}
    assert names <= listed


def test_a_shared_text_has_the_default_of_the_class():
    assert 'subsample : float or "auto", default=1.0' in inspect.getdoc(
        stagewise.AdaBoostClassifier
    )


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_the_class_and_its_constructor_have_one_signature(kind):
    """`help` prints the signature twice, as of every class with a constructor: both are needed.

    pydoc prints that of the class and, in the list of methods, that of `__init__`, and it hides no
    special method. A short `__init__.__signature__` would need a `__signature__` of the class for
    `inspect.signature(cls)`; subclasses would inherit it, so that the signature of a subclass with
    a constructor of its own would be wrong. scikit-learn's `get_params`, and programs that derive
    from our classes, read the signature of `__init__`.
    """
    of_class = list(inspect.signature(kind).parameters.values())
    of_init = list(inspect.signature(kind.__init__).parameters.values())
    assert of_init[1:] == of_class
    assert set(kind._get_param_names()) == {parameter.name for parameter in of_class}
    assert inspect.getdoc(kind.__init__) in (None, inspect.getdoc(object.__init__))


def test_a_subclass_with_its_own_constructor_has_its_own_signature():
    class Small(stagewise.GradientBoostingRegressor):
        def __init__(self, n_estimators=10):
            super().__init__(n_estimators=n_estimators)

    assert list(inspect.signature(Small).parameters) == ["n_estimators"]
    assert Small().get_params() == {"n_estimators": 10}


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_help_names_pages_and_both_meanings_of_auto(kind):
    text = inspect.getdoc(kind)
    assert "docs/" not in text
    assert not re.search(r"; or (None|\d+|[\"'\w]+)\.(\s|$)", text)
    if kind is stagewise.GradientBoostingRegressor:
        assert 'See the page "defaults".' in text
