"""Callbacks, verbosity and attributes of callbacks of other libraries have messages with ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stagewise import GradientBoostingRegressor

X = np.random.default_rng(0).normal(size=(100, 2))
Y = X[:, 0]


def fit(**params: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=3, **params).fit(X, Y)


def of_lightgbm(name: str, *args: Any) -> Any:
    return getattr(pytest.importorskip("lightgbm"), name)(*args)


def of_xgboost(name: str, *args: Any, **named: Any) -> Any:
    return getattr(pytest.importorskip("xgboost.callback"), name)(*args, **named)


CALLBACKS = {
    "early_stopping": (
        lambda: of_lightgbm("early_stopping", 50, False, False),
        r"lightgbm\.early_stopping is .* of LightGBM; .* early_stopping=True, n_iter_no_change=50",
    ),
    "log_evaluation": (lambda: of_lightgbm("log_evaluation", 10), r"log_evaluation .* verbose=1"),
    "record": (lambda: of_lightgbm("record_evaluation", {}), r"the attribute evals_result_"),
    "EarlyStopping": (
        lambda: of_xgboost("EarlyStopping", rounds=7),
        r"xgboost\.callback\.EarlyStopping .* of XGBoost; here .* n_iter_no_change=7",
    ),
}


@pytest.mark.parametrize("in_list", [False, True])
@pytest.mark.parametrize("name", CALLBACKS)
def test_the_message_for_a_callback_of_another_library_has_ours(name: str, in_list: bool) -> None:
    make, words = CALLBACKS[name]
    callback = make()
    with pytest.raises(ValueError, match=words):
        fit(callbacks=[callback] if in_list else callback)


def test_a_callback_is_recognised_without_its_library() -> None:
    kind = type("_EarlyStoppingCallback", (), {"__module__": "lightgbm.callback"})
    with pytest.raises(ValueError, match="early_stopping=True"):
        fit(callbacks=kind())


def test_the_message_for_an_attribute_of_the_environment_of_lightgbm_has_ours() -> None:
    with pytest.raises(AttributeError, match=r"'iteration'\. Here it is round"):
        fit(callbacks=lambda env: env.iteration > 3)
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'\.$"):
        fit(callbacks=lambda env: env.nonsense)


def test_verbose_may_be_a_boolean(capsys: pytest.CaptureFixture[str]) -> None:
    fit(verbose=False)
    assert capsys.readouterr().err == ""
    fit(verbose=np.True_)
    assert "round 3/3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "words"), [(-1, r"-1 of LightGBM, .* verbose=0 here"), (100, "verbose=1 here")]
)
def test_messages_for_verbosities_of_other_libraries_have_ours(value: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit(verbose=value)
