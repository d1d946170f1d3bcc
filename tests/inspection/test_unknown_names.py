"""Names: unknown ones cause an error with the nearest one, and habits of other libraries work."""

from __future__ import annotations

import re

import numpy as np
import pytest

import stagewise.inspection
from inspection.tables import fitted, mixed, targets
from stagewise import InvalidParameterError
from stagewise.display import Tabled
from stagewise.inspection import importance, partial_dependence, scores, shap_values


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


def test_results_with_a_table_are_data_frames() -> None:
    found = importance(fitted("a number"))
    frame = found.to_frame()
    assert frame.to_dict("records") == found.table()
    every = [getattr(stagewise.inspection, name) for name in stagewise.inspection.__all__]
    tables = [kind for kind in every if isinstance(kind, type) and hasattr(kind, "table")]
    assert len(tables) > 20
    assert all(issubclass(kind, Tabled) for kind in tables)


def test_numbers_of_features_of_plots_have_our_name() -> None:
    with pytest.raises(TypeError, match=r"^plot\(\) has no argument .* Here it is top\.$"):
        importance(fitted("a number")).plot(max_num_features=3)
    with pytest.raises(TypeError, match=r"^beeswarm\(\) has no argument .* Here it is top\.$"):
        shap_values(fitted("a number"), mixed()[:5]).beeswarm(max_display=3)


def test_scores_are_found_by_their_label() -> None:
    X = mixed()
    found = scores(fitted("two classes"), X, targets(X)["two"], n_resamples=0)
    assert found["AUC"] is found["auc"]
    assert found["Log loss"] is found["log loss"] is found["log_loss"]
    with pytest.raises(KeyError, match="'rmse' is not a score; the scores are log_loss"):
        found["rmse"]


def test_a_list_of_one_pair_is_the_pair() -> None:
    X = mixed()[:50]
    found = partial_dependence(fitted("a number"), X, [("a", "d")], grid_resolution=3)
    np.testing.assert_array_equal(
        found.mean, partial_dependence(fitted("a number"), X, ["a", "d"], grid_resolution=3).mean
    )
    with pytest.raises(InvalidParameterError, match="Call the function once for each pair"):
        partial_dependence(fitted("a number"), X, ["a", ("a", "d")])
