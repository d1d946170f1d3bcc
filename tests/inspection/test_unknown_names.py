"""Unknown names of `stagewise.inspection` cause an error with the nearest one."""

from __future__ import annotations

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


def test_a_name_without_a_similar_one_has_the_usual_message() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'zzz'\.$"):
        stagewise.inspection.zzz  # noqa: B018
    with pytest.raises(ImportError):
        from stagewise.inspection import zzz  # type: ignore[attr-defined]  # noqa: F401
