"""`help` of every estimator documents each parameter once, in the order of the signature."""

from __future__ import annotations

import inspect
import re

import pytest

import stagewise

ESTIMATORS = [
    value
    for name in stagewise.__all__
    if inspect.isclass(value := getattr(stagewise, name)) and hasattr(value, "fit")
]


def documented(kind):
    """Return the names of each entry of the section "Parameters"."""
    section = re.search(r"Parameters\n-+\n(.*?)\n\n\w+\n---", inspect.getdoc(kind), re.DOTALL)[1]
    heads = [line for line in section.splitlines() if line[:1].strip()]
    return [[name.strip() for name in head.partition(" : ")[0].split(",")] for head in heads]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_documented_once(kind):
    names = [name for entry in documented(kind) for name in entry]
    assert sorted(names) == sorted(inspect.signature(kind).parameters)
    assert "As in `" not in inspect.getdoc(kind)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_entries_are_in_the_order_of_the_signature(kind):
    order = list(inspect.signature(kind).parameters)
    places = [order.index(first) for first, *_ in documented(kind)]
    assert places == sorted(places)


def test_a_shared_text_has_the_default_of_the_class():
    assert 'subsample : float or "auto", default=1.0' in inspect.getdoc(
        stagewise.AdaBoostClassifier
    )
