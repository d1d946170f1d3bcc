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
from stagewise import losses
from stagewise.dask import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise.dask.shard import Checkpoint
from stagewise.errors import InvalidParameterError
from stagewise.losses import Loss
from stagewise.training.stored import stored_trainer
from stagewise.training.stored.checkpoint import Rounds

N = 2_500
FORMULA = Loss.from_formula("log(1 + exp(-y*f))", y="±1")


def shares(X: pd.DataFrame) -> np.ndarray:
    return (np.minimum(count_target(X), 4.0) + 0.5) / 5.0


class Learning(Loss):
    """A loss of a user that learns a number from all rows."""

    learns = True

    def loss(self, y: Any, score: Any) -> Any:
        return 0.5 * (y - score) ** 2


class Quartic(Loss):
    """A loss of a user: ¼ (y - F)⁴ + ½ (y - F)²."""

    def loss(self, y: Any, score: Any) -> Any:
        return 0.25 * (y - score) ** 4 + 0.5 * (y - score) ** 2

    def derivatives(self, y: Any, score: Any) -> Any:
        return (score - y) ** 3 + score - y, 3 * (score - y) ** 2 + 1.0


POSITIVE, COUNTS = (lambda X: count_target(X) + 0.5), count_target
NUMBERS: dict[str, tuple[Any, Any]] = {
    "squared_error": ("squared_error", number_target),
    "poisson": ("poisson", COUNTS),
    "gamma": ("gamma", POSITIVE),
    "tweedie": ("tweedie", COUNTS),
    "cross_entropy": ("cross_entropy", shares),
    "squared_log_error": ("squared_log_error", COUNTS),
    "expectile": ("expectile", number_target),
    **{
        kind.name: (kind(delta=2.5), number_target)
        for kind in (losses.PseudoHuber, losses.Fair, losses.LogCosh)
    },
    **{name: (name, number_target) for name in ("normal", "laplace", "student_t")},
    **{name: (name, POSITIVE) for name in ("log_normal", "gamma_distribution", "weibull")},
    "beta": ("beta", shares),
    **{
        name: (name, COUNTS)
        for name in (
            *("negative_binomial", "zero_inflated_poisson", "hurdle_poisson"),
            *("zero_inflated_negative_binomial", "hurdle_negative_binomial"),
        )
    },
    "formula": (Loss.from_formula("log(cosh(y-f))"), number_target),
    "custom": (Quartic(), lambda X: number_target(X) / 100),
}
CLASSES: dict[str, Any] = {
    name: name
    for name in (
        *("log_loss", "exponential", "squared_error"),
        *("focal", "brier", "hinge", "one_vs_rest"),
    )
}
FEW = {"n_estimators": 3, "category_encoding": "sets"}
CUTS, PLACES = [700, 1_900], [0, 1, 0]


def assert_the_same_on_ranks(case: Case, valid_cuts: list[int] | None = None) -> None:
    for found in fit_on_ranks(case, CUTS, PLACES, 2, valid_cuts):
        assert_same_model(found, case.local)
        assert found.model_.learned.keys() == case.local.model_.learned.keys()


@pytest.mark.parametrize("name", NUMBERS)
def test_losses_of_numbers_have_the_bytes_of_one_machine(name: str) -> None:
    loss, target = NUMBERS[name]
    X = frame(N)
    assert_the_same_on_ranks(Case(regressor(loss=loss, **FEW), X, target(X)))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("name", CLASSES)
def test_losses_of_classes_have_the_bytes_of_one_machine(name: str, n: int) -> None:
    X = frame(N)
    assert_the_same_on_ranks(Case(classifier(loss=name, **FEW), X, class_target(X, n)))


@pytest.mark.parametrize("loss", [FORMULA, losses.Focal(gamma=3.0)], ids=["formula", "focal"])
def test_losses_of_two_classes_as_objects_have_the_bytes_of_one_machine(loss: Loss) -> None:
    X = frame(N)
    assert_the_same_on_ranks(Case(classifier(loss=loss, **FEW), X, class_target(X)))


@pytest.mark.parametrize("sampling", [0.5, "goss", "mvs", "bootstrap"])
@pytest.mark.parametrize("name", ["expectile", "normal"])
def test_sampled_rows_are_those_of_one_machine(name: str, sampling: Any) -> None:
    X, rows = frame(N), {"subsample": sampling} if isinstance(sampling, float) else {}
    drawn = rows or {"sampling": sampling}
    assert_the_same_on_ranks(Case(regressor(loss=name, **drawn, **FEW), X, number_target(X)))


@pytest.mark.parametrize("name", ["negative_binomial", "expectile", "normal"])
def test_weights_and_validation_rows_have_the_bytes_of_one_machine(name: str) -> None:
    X, other = frame(N), frame(900, seed=3)
    rng = np.random.default_rng(4)
    weight, own = rng.uniform(0.0, 2.0, N), rng.integers(0, 3, 900).astype(float)
    weight[:100] = 0.0
    target = NUMBERS[name][1]
    valid = other, target(other), own
    case = Case(regressor(loss=name, **FEW), X, target(X), weight, valid)
    assert_the_same_on_ranks(case, [300])


def test_held_out_rows_have_the_bytes_of_one_machine() -> None:
    X = frame(N)
    model = regressor(loss="normal", early_stopping=True, **FEW)
    assert_the_same_on_ranks(Case(model, X, number_target(X)))


def test_a_rank_without_stored_rows_adds_nothing() -> None:
    X = frame(900)  # one block of rows, which one rank stores
    case = Case(regressor(loss="normal", **FEW), X, number_target(X))
    for found in fit_on_ranks(case, [400], [0, 1], 2):
        assert_same_model(found, case.local)


def test_a_checkpoint_of_a_density_is_resumed() -> None:
    X = frame(N)
    model = regressor(loss="normal", n_estimators=4, category_encoding="sets")
    case, shards = Case(model, X, number_target(X)), []
    fit_on_ranks(case, CUTS, PLACES, 2, shards=shards)
    whole = shards[0].checkpoint.state["model"]
    trees, losses = whole.trees[: 2 * 2], whole.train_loss[:2]  # two scores
    checkpoint = Checkpoint(2, {"model": Rounds(2, trees, losses, [])})
    for found in fit_on_ranks(case, CUTS, PLACES, 2, checkpoint=checkpoint):
        assert_same_model(found, case.local)


def test_targets_that_do_not_fit_into_memory_are_an_error_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = frame(N)
    monkeypatch.setattr(stored_trainer, "TARGET_NUMBERS", 10_000)
    case = Case(regressor(loss="normal", **FEW), X, number_target(X))
    with pytest.raises(InvalidParameterError, match=r"from the targets of all rows.*init='zero'"):
        fit_on_ranks(case, CUTS, PLACES, 2, memory_limit=80_000_000)


def unread(columns: Any = ("a", "b", "y", "z")) -> dd.DataFrame:
    """Return a collection whose partitions raise when they are computed."""

    def fail(part: int) -> pd.DataFrame:
        raise AssertionError("a partition was computed")

    meta = pd.DataFrame({name: np.zeros(0) for name in columns})
    return dd.from_map(fail, [0, 1], meta=meta)


REFUSED: list[tuple[Any, str, str]] = [
    (GradientBoostingRegressor(loss="huber"), "huber", r"quantile of its .*PseudoHuber\(delta"),
    (GradientBoostingRegressor(loss="absolute_error"), "absolute_error", r"PseudoHuber\(delta"),
    (GradientBoostingRegressor(loss="quantile"), "quantile", "loss='expectile'"),
    (GradientBoostingRegressor(loss="mape"), "mape", "loss='squared_log_error'"),
    (GradientBoostingRegressor(loss="pseudo_huber"), "pseudo_huber", r"PseudoHuber\(delta"),
    (GradientBoostingRegressor(loss="fair"), "fair", r"losses.Fair\(delta"),
    (GradientBoostingRegressor(loss="log_cosh"), "log_cosh", r"losses.LogCosh\(delta"),
    *(
        (GradientBoostingRegressor(loss=name, quantile=[0.1, 0.9]), f"{name}s", "for each level")
        for name in ("quantile", "expectile")
    ),
    (GradientBoostingRegressor(loss=lambda y, f: (f - y, y)), "custom", "stagewise.Loss"),
    (GradientBoostingRegressor(loss=Learning()), "custom", "learns numbers from the scores"),
    *(
        (GradientBoostingClassifier(loss=name), name, "thresholds are fitted .*'log_loss'")
        for name in ("cumulative_logit", "cumulative_probit")
    ),
]


@pytest.mark.parametrize(("model", "name", "words"), REFUSED, ids=range(len(REFUSED)))
def test_other_losses_are_refused_before_anything_is_computed(
    model: Any, name: str, words: str
) -> None:
    kind = type(model).__name__
    message = rf"loss='{name}' \(.*{words}.*\)\..*fit stagewise.{kind} to a table"
    with pytest.raises(InvalidParameterError, match=message):
        clone(model).fit(unread(), "y")


def test_every_loss_is_trained_or_refused() -> None:
    refused = {name for _, name, _ in REFUSED} - {"custom"}
    assert set(losses.REGRESSION_LOSSES) == (NUMBERS.keys() | refused) - {
        *("formula", "custom", "cumulative_logit", "cumulative_probit")
    }
    assert set(losses.CLASSIFICATION_LOSSES) == CLASSES.keys() | {
        n for n in refused if "cumul" in n
    }


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
