"""Every objective on a cluster: the bytes of one machine, or refused before any work."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from cluster.rank_fits import (
    Case,
    assert_same_model,
    class_target,
    classifier,
    count_target,
    fit_on_ranks,
    frame,
    number_target,
    regressor,
)
from stagewise.dask import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.errors import InvalidParameterError
from stagewise.losses import Focal, Loss

N = 2_500
FORMULA = Loss.from_formula("log(1 + exp(-y*f))", y="±1")
NUMBERS = {
    "squared_error": number_target,
    "poisson": count_target,
    "gamma": lambda X: count_target(X) + 0.5,
    "tweedie": count_target,
    "cross_entropy": lambda X: np.minimum(count_target(X), 4.0) / 4.0,
}
FEW = {"n_estimators": 3, "category_encoding": "sets"}


@pytest.mark.parametrize("loss", NUMBERS)
def test_losses_of_numbers_have_the_bytes_of_one_machine(loss: str) -> None:
    X = frame(N)
    case = Case(regressor(loss=loss, **FEW), X, NUMBERS[loss](X))
    for found in fit_on_ranks(case, [700, 1_900], [0, 1, 0], 2):
        assert_same_model(found, case.local)


@pytest.mark.parametrize("n", [2, 3])
def test_the_log_loss_has_the_bytes_of_one_machine(n: int) -> None:
    X = frame(N)
    case = Case(classifier(**FEW), X, class_target(X, n))
    for found in fit_on_ranks(case, [700, 1_900], [0, 1, 0], 2):
        assert_same_model(found, case.local)


def unread(columns: Any = ("a", "b", "y", "z")) -> dd.DataFrame:
    """Return a collection whose partitions raise when they are computed."""

    def fail(part: int) -> pd.DataFrame:
        raise AssertionError("a partition was computed")

    meta = pd.DataFrame({name: np.zeros(0) for name in columns})
    return dd.from_map(fail, [0, 1], meta=meta)


REFUSED: list[tuple[Any, str]] = [
    *((GradientBoostingRegressor(loss=loss), loss) for loss in ("huber", "absolute_error")),
    *((GradientBoostingRegressor(loss=loss), loss) for loss in ("quantile", "expectile", "mape")),
    (GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9]), "quantiles"),
    (GradientBoostingRegressor(loss="expectile", quantile=[0.1, 0.9]), "expectiles"),
    *(
        (GradientBoostingRegressor(loss=loss), loss)
        for loss in (
            *("normal", "laplace", "student_t", "log_normal", "gamma_distribution", "weibull"),
            *("beta", "negative_binomial", "zero_inflated_poisson", "hurdle_poisson"),
            *("zero_inflated_negative_binomial", "hurdle_negative_binomial"),
        )
    ),
    (GradientBoostingRegressor(loss=Loss.from_formula("log(cosh(y-f))")), "formula"),
    *(
        (GradientBoostingClassifier(loss=loss), loss)
        for loss in (
            *("cumulative_logit", "cumulative_probit", "exponential", "squared_error"),
            *("focal", "brier", "hinge", "one_vs_rest"),
        )
    ),
    (GradientBoostingClassifier(loss=Focal(gamma=3.0)), "focal"),
    (GradientBoostingClassifier(loss=FORMULA), "formula"),
]


@pytest.mark.parametrize(("model", "name"), REFUSED, ids=range(len(REFUSED)))
def test_other_losses_are_refused_before_anything_is_computed(model: Any, name: str) -> None:
    kind = type(model).__name__
    works = "'log_loss'" if "Classifier" in kind else "'squared_error', 'poisson', 'gamma', 't"
    words = rf"loss='{name}' \(its losses are {works}.*\) yet\..*fit stagewise.{kind} to a table"
    with pytest.raises(InvalidParameterError, match=words):
        clone(model).fit(unread(), "y")


@pytest.mark.parametrize(
    "y", [["y", "z"], unread(["y", "z"]), da.zeros((4, 2), chunks=(2, 2))], ids=range(3)
)
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_several_targets_are_refused_before_anything_is_computed(kind: Any, y: Any) -> None:
    with pytest.raises(ValueError, match=r"y has several targets.*Fit a model for each column"):
        kind().fit(unread(["a", "b"]), y)


@pytest.mark.parametrize("name", ["GradientBoostingSurvival", "GradientBoostingRanker"])
def test_estimators_that_need_all_rows_are_refused_by_name(name: str) -> None:
    import stagewise.dask

    with pytest.raises(ImportError, match=rf"no {name}\. .*fit stagewise\.{name} to a table in"):
        getattr(stagewise.dask, name)
    assert hasattr(stagewise, name)
    assert not hasattr(stagewise.dask, "GradientBoosting")


@pytest.mark.parametrize("parameter", ["conformal", "calibration"])
def test_folds_of_intervals_and_calibration_are_refused_by_their_name(parameter: str) -> None:
    value = "cv" if parameter == "conformal" else "isotonic"
    model = GradientBoostingClassifier(n_estimators=5, early_stopping=5, **{parameter: value})
    with pytest.raises(
        InvalidParameterError, match=f"the folds of {parameter} .early_stopping=True"
    ):
        model.fit(unread(), "y")
