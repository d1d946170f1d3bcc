"""Unknown names of `stagewise.inspection` cause an error with the nearest one."""

from __future__ import annotations

import re

import pytest

import stagewise.inspection


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("learning_curve", "learning_curves"),
        ("partial_dependance", "partial_dependence"),
        ("permutation_importances", "permutation_importance"),
        ("shap_value", "shap_values"),
    ],
)
def test_the_error_for_an_unknown_name_suggests_the_nearest_one(name: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. Did you mean '{ours}'\?"):
        getattr(stagewise.inspection, name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("learning_curve", "Did you mean 'stagewise.inspection.learning_curves'?"),
        ("importance", "Did you mean 'stagewise.inspection.importance'?"),
        ("GradientBoostingClasifier", "Did you mean 'GradientBoostingClassifier'?"),
        ("parse_date", "Did you mean 'parse_dates'?"),
        ("plot_metric", "here it is stagewise.inspection.learning_curves(model).plot()."),
    ],
)
def test_the_error_for_an_unknown_name_of_the_package_has_the_module(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'\. .*{re.escape(hint)}$"):
        getattr(stagewise, name)


def test_functions_of_other_libraries_are_named_by_inspection_too() -> None:
    with pytest.raises(AttributeError, match=r"learning_curves\(model\)\.plot\(\)\.$"):
        stagewise.inspection.plot_metric  # noqa: B018


def test_private_names_have_no_suggestion() -> None:
    for module in (stagewise, stagewise.inspection):
        with pytest.raises(AttributeError, match=r"attribute '_importances'\.?$"):
            module._importances  # noqa: B018


def test_a_name_without_a_similar_one_has_the_usual_message() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'\.$"):
        stagewise.inspection.zzz  # noqa: B018
    with pytest.raises(ImportError):
        from stagewise.inspection import zzz  # type: ignore[attr-defined]  # noqa: F401
