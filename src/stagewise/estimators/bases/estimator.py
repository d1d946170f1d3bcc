"""The base class of all estimators: parameters by name, and pickles without times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator

from stagewise.display import Summary
from stagewise.losses.words import loss_words
from stagewise.validation.foreign_calls import SuggestsClassMethods, attribute_hint
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import hint_with_value, nested_hint, unknown_parameters

__all__ = ["FACTS_OF_A_FIT", "LibraryEstimator"]

FACTS_OF_A_FIT = (
    "best_score_",
    "evals_result_",
    "fit_report_",
    "held_out_rows_",
    "oob_decision_function_",
    "oob_improvement_",
    "oob_loss_",
    "oob_prediction_",
    "oob_score_",
    "oof_prediction_",
    "pruning_path_",
)
"""Attributes about a fit and its rows, which model files and `refit` leave out."""

LEFT_OUT = (
    " It is a fact about the fit, and model files and refit leave it out: read it from the "
    "estimator that was fitted, or keep that with pickle."
)


class LibraryEstimator(BaseEstimator, metaclass=SuggestsClassMethods):
    """Base class of all estimators."""

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and of a fitted estimator a box with its facts."""
        diagram: str = super()._html_repr()
        facts = self._displayed_facts() if hasattr(self, "n_features_in_") else {}
        return f"{diagram}{Summary('Fitted model', facts).html()}" if facts else diagram

    def _displayed_facts(self) -> dict[str, Any]:
        """Return the facts about a fit that a notebook shows."""
        report = getattr(self, "fit_report_", {})
        facts: dict[str, Any] = {}
        if callable(recipe := getattr(self, "recipe", None)):
            facts["recipe"] = recipe()
        facts["features"] = self.n_features_in_
        if hasattr(self, "n_iter_"):
            facts["rounds"] = self.n_iter_
        for name in ("train_loss_", "validation_loss_"):
            losses = getattr(self, name, None)
            if losses is not None and len(losses):
                at = min(getattr(self, "n_iter_", len(losses)), len(losses)) - 1
                words = f" ({loss_words(self.model_.loss)})"
                facts[name.strip("_").replace("_", " ") + words] = float(losses[at])
        if report.get("stop_reason"):
            facts["stop reason"] = report["stop_reason"]
        if callable(fingerprint := getattr(self, "fingerprint", None)):
            facts["fingerprint"] = fingerprint()[:12]
        return facts

    if not TYPE_CHECKING:  # for a type checker, an unknown attribute is an error

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError; for a name of another library, with what replaces it here."""
            is_left_out = name in FACTS_OF_A_FIT and "model_" in vars(self)
            is_left_out &= "fit_report_" not in vars(self)
            is_own = hasattr(type(self), name)  # a property that raised an error
            hint = LEFT_OUT if is_left_out else "" if is_own else attribute_hint(name, type(self))
            if hint:
                message = f"{type(self).__name__!r} object has no attribute {name!r}.{hint}"
                raise AttributeError(message, name=name, obj=self)
            return object.__getattribute__(self, name)  # raises the error of a property, too

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the duration of the fit: equal fits have equal pickles."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "fit_report_" in state:
            report = state["fit_report_"].items()
            state["fit_report_"] = {name: value for name, value in report if name != "seconds"}
        return dict(sorted(state.items()))  # not in the order in which a fit has set them

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name. The error for an unknown name suggests the nearest one."""
        known = self.get_params(deep=False)
        for name in params:
            parameter, nested, own = name.partition("__")
            value = params.get(parameter, known.get(parameter))
            if parameter in known and nested and not hasattr(value, "set_params"):
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {type(self).__name__}: {parameter} "
                    f"is {short_repr(value)}, which has no parameters to set."
                    f"{nested_hint(parameter, own, type(self))}"
                )
            if parameter not in known:
                unknown = [each for each in params if each.partition("__")[0] not in known]
                if len(unknown) > 1:
                    raise ValueError(unknown_parameters(unknown, params, type(self), known))
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {type(self).__name__}."
                    f"{hint_with_value(name, params, type(self), known)} Valid parameters are: "
                    f"{sorted(known)}."
                )
        result: Self = super().set_params(**params)
        return result
