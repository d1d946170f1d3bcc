"""`help` of every estimator documents each parameter once, in the order of the signature."""

from __future__ import annotations

import inspect
import re

import pytest

import stagewise

ESTIMATORS = [
    value
    for name in stagewise.__all__
    if inspect.isclass(value := getattr(stagewise, name))
    and hasattr(value, "fit")
    and not name.startswith("Bagging")
]


def documented(kind):
    section = re.search(r"Parameters\n-+\n(.*?)\n\n\w+\n---", inspect.getdoc(kind), re.DOTALL)[1]
    heads = [line for line in section.splitlines() if line[:1].strip()]
    return [name.strip() for head in heads for name in head.partition(" : ")[0].split(",")]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_documented_in_order(kind):
    assert sorted(documented(kind)) == sorted(inspect.signature(kind).parameters)
    assert "As in `" not in inspect.getdoc(kind)


def test_a_shared_text_has_the_default_of_the_class():
    assert 'subsample : float or "auto", default=1.0' in inspect.getdoc(
        stagewise.AdaBoostClassifier
    )
