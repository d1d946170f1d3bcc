"""Attributes and arguments of `predict` that other libraries have, and what replaces them here.

Results such as `ShapValues` have hints of the same kind for names that users expect of them.

The tables make the errors for such names and the page `docs/coming-from.md`. A replacement is
written as an expression of `model` and `X`; the tests evaluate all of them.
"""

from __future__ import annotations

import numbers
from abc import ABCMeta
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

__all__ = [
    "FOREIGN_ATTRIBUTES",
    "FUNCTIONS",
    "PREDICT_ARGUMENTS",
    "RESULTS",
    "ForeignCall",
    "SuggestsClassMethods",
    "attribute_hint",
    "call_hint",
    "function_hint",
    "suggests_attributes",
]

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class ForeignCall:
    """An attribute, a method or an argument of `predict` of other libraries.

    Parameters
    ----------
    libraries : tuple of str
        The libraries that have it.
    ours : str
        What replaces it, as an expression; empty: nothing.
    note : str
        A difference, or a reason.
    needs : str
        An attribute of the estimators for which the entry is true.
    theirs : str
        How it is written on the page; empty: by its name.
    methods : tuple of pairs of str
        The methods of an attribute, and what replaces each of them.
    """

    libraries: tuple[str, ...]
    ours: str
    note: str = ""
    needs: str = "fit"
    theirs: str = ""
    methods: tuple[tuple[str, str], ...] = ()

    @property
    def remedy(self) -> str:
        """The replacement and the note; of an attribute with methods, a line for each method."""
        if self.methods:
            every = ((self.theirs, self.ours), *self.methods)
            return "".join(f"\n  {theirs}: {ours}" for theirs, ours in every)
        return " " + ": ".join(filter(None, [self.ours, self.note])) + "."


_LGB, _XGB, _CAT, _SKL = "LightGBM", "XGBoost", "CatBoost", "scikit-learn"
_JOB = "joblib"
_SHAP = "stagewise.inspection.shap_values(model, X).values"
_PAIRS = "stagewise.inspection.shap_values(model, X, interactions=True).values"
_TREES = "model.model_.ensemble.trees"
_ROUNDS = "model.n_iter_"
_NAMES = "model.feature_names_in_"
_SCORES = "model.decision_function(X)"
_FEWER = "model.predict(X, n_rounds=10)"
_ALL_COLUMNS = "columns are always matched by name, and a missing one is an error"
_SWARM = "beeswarm() of all rows, waterfall(0) of the first row"
_INSPECTED = "staged_predict"
"""An attribute of the estimators that have rounds or trees."""

FOREIGN_ATTRIBUTES: Mapping[str, ForeignCall] = MappingProxyType(
    {
        "booster_": ForeignCall(
            (_LGB,),
            "stagewise.export_json(model)",
            needs="feature_importances_",
            theirs="booster_.dump_model()",
            methods=(
                ('booster_.save_model("model.txt")', 'model.save("model.stgw")'),
                ("booster_.feature_importance()", "stagewise.inspection.importance(model)"),
                ("booster_.trees_to_dataframe()", "stagewise.trees_to_frame(model)"),
                ("booster_.refit(X, y, decay_rate=0.9)", "model.refit(X, y, decay=0.9)"),
            ),
        ),
        "get_booster": ForeignCall(
            (_XGB,),
            "stagewise.export_json(model)",
            needs="feature_importances_",
            theirs='get_booster().get_dump(dump_format="json")',
            methods=(
                ('get_booster().save_model("model.json")', 'model.save("model.stgw")'),
                ("get_booster().trees_to_dataframe()", "stagewise.trees_to_frame(model)"),
            ),
        ),
        "estimators_": ForeignCall((_SKL,), _TREES, "a list", _INSPECTED),
        "tree_": ForeignCall((_SKL,), f"{_TREES}[0]", needs="get_depth"),
        "plot_tree": ForeignCall(
            (_CAT,), "stagewise.export_svg(model)", needs="feature_importances_"
        ),
        "save_model": ForeignCall((_XGB, _CAT), 'model.save("model.stgw")', needs="save"),
        "load_model": ForeignCall((_XGB, _CAT), 'stagewise.load("model.stgw")', needs="save"),
        "load": ForeignCall((_JOB,), 'stagewise.load("model.stgw")', needs="save"),
        "best_iteration": ForeignCall(
            (_XGB,), "model.best_iteration_", "it counts from 1", _INSPECTED
        ),
        "get_best_iteration": ForeignCall(
            (_CAT,), "model.best_iteration_", "it counts from 1", _INSPECTED
        ),
        "best_score": ForeignCall((_XGB,), "model.best_score_", needs=_INSPECTED),
        "get_best_score": ForeignCall((_CAT,), "model.best_score_", needs=_INSPECTED),
        "evals_result": ForeignCall((_XGB,), "model.evals_result_", needs=_INSPECTED),
        "get_evals_result": ForeignCall((_CAT,), "model.evals_result_", needs=_INSPECTED),
        "n_estimators_": ForeignCall((_LGB, _SKL), _ROUNDS, needs=_INSPECTED),
        "get_num_boosting_rounds": ForeignCall((_XGB,), _ROUNDS, needs=_INSPECTED),
        "tree_count_": ForeignCall((_CAT,), _ROUNDS, needs=_INSPECTED),
        "n_trees_per_iteration_": ForeignCall(
            (_SKL,), "model.model_.ensemble.trees_per_round", needs="feature_importances_"
        ),
        "train_score_": ForeignCall(
            (_SKL,), "model.train_loss_", "a loss: smaller is better", _INSPECTED
        ),
        "validation_score_": ForeignCall(
            (_SKL,), "model.validation_loss_", "a loss: smaller is better", _INSPECTED
        ),
        "do_early_stopping_": ForeignCall((_SKL,), 'model.fit_report_["stop_reason"]'),
        "get_feature_importance": ForeignCall(
            (_CAT,),
            "stagewise.inspection.importance(model)",
            'Shapley values, of type="ShapValues": stagewise.inspection.shap_values',
            "feature_importances_",
        ),
        "get_score": ForeignCall(
            (_XGB,),
            "stagewise.inspection.importance(model)",
            needs="feature_importances_",
            theirs='get_booster().get_score(importance_type="gain")',
        ),
        "calc_leaf_indexes": ForeignCall((_CAT,), "model.apply(X)", needs="apply"),
        "calc_feature_statistics": ForeignCall(
            (_CAT,), "stagewise.inspection.partial_dependence(model, X, [0])", needs=_INSPECTED
        ),
        "trees_to_dataframe": ForeignCall(
            (_LGB, _XGB),
            "stagewise.trees_to_frame(model)",
            needs="feature_importances_",
            theirs="booster.trees_to_dataframe()",
        ),
        "feature_name_": ForeignCall((_LGB,), _NAMES, "only if X had names"),
        "feature_names_": ForeignCall((_CAT,), _NAMES, "only if X had names"),
        "n_features_": ForeignCall((_LGB, _SKL), "model.n_features_in_"),
        "objective_": ForeignCall((_LGB,), "model.model_.loss", needs=_INSPECTED),
        "loss_": ForeignCall((_SKL,), "model.model_.loss", needs=_INSPECTED),
        "is_categorical_": ForeignCall(
            (_SKL,), "model.model_.features.categorical", "positions", "feature_importances_"
        ),
        "get_all_params": ForeignCall((_CAT,), "model.get_params()"),
        "get_xgb_params": ForeignCall((_XGB,), "model.get_params()"),
        "is_fitted": ForeignCall((_CAT,), "sklearn.utils.validation.check_is_fitted(model)"),
        "shrink": ForeignCall((_CAT,), _FEWER, needs=_INSPECTED),
        "eval_metrics": ForeignCall((_CAT,), "model.staged_predict(X)", needs=_INSPECTED),
        "grid_search": ForeignCall(
            (_CAT,), 'sklearn.model_selection.GridSearchCV(model, {"max_depth": [3, 6]})'
        ),
        "randomized_search": ForeignCall(
            (_CAT,), 'sklearn.model_selection.RandomizedSearchCV(model, {"max_depth": [3, 6]})'
        ),
    }
)
"""Attributes and methods of fitted models."""

PREDICT_ARGUMENTS: Mapping[str, ForeignCall] = MappingProxyType(
    {
        "num_iteration": ForeignCall((_LGB,), _FEWER, needs=_INSPECTED),
        "iteration_range": ForeignCall((_XGB,), _FEWER, "of iteration_range=(0, 10)", _INSPECTED),
        "ntree_limit": ForeignCall((_XGB,), _FEWER, needs=_INSPECTED),
        "ntree_end": ForeignCall((_CAT,), _FEWER, needs=_INSPECTED),
        "start_iteration": ForeignCall(
            (_LGB,), "model.staged_predict(X)", "rounds are used from the first on", _INSPECTED
        ),
        "ntree_start": ForeignCall(
            (_CAT,), "model.staged_predict(X)", "rounds are used from the first on", _INSPECTED
        ),
        "pred_contrib": ForeignCall((_LGB,), _SHAP, needs=_INSPECTED),
        "pred_contribs": ForeignCall((_XGB,), _SHAP, needs=_INSPECTED),
        "approx_contribs": ForeignCall((_XGB,), _SHAP, "they are exact", _INSPECTED),
        "pred_interactions": ForeignCall((_XGB,), _PAIRS, needs=_INSPECTED),
        "pred_leaf": ForeignCall((_LGB, _XGB), "model.apply(X)", needs="apply"),
        "base_margin": ForeignCall(
            (_XGB,), "model.predict(X, offset=0.5)", "scores, also of fit", "staged_predict"
        ),
        "raw_score": ForeignCall((_LGB,), _SCORES, needs="decision_function"),
        "output_margin": ForeignCall((_XGB,), _SCORES, needs="decision_function"),
        "prediction_type": ForeignCall(
            (_CAT,),
            "model.predict_proba(X)",
            'of "RawFormulaVal": decision_function',
            "predict_proba",
        ),
        "validate_features": ForeignCall((_LGB, _XGB), "model.predict(X)", _ALL_COLUMNS),
        "predict_disable_shape_check": ForeignCall((_LGB,), "model.predict(X)", _ALL_COLUMNS),
        "check_input": ForeignCall((_SKL,), "model.predict(X)", "X is always checked"),
        "thread_count": ForeignCall((_CAT,), "model.set_params(n_jobs=2).predict(X)"),
    }
)
"""Arguments of `predict` and of the methods like it."""


_ESTIMATOR = "stagewise.GradientBoostingRegressor or GradientBoostingClassifier"

FUNCTIONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "plot_importance": (f"{_LGB} and {_XGB}", "stagewise.inspection.importance(model).plot()"),
        "plot_metric": (_LGB, "stagewise.inspection.learning_curves(model).plot()"),
        "plot_tree": (f"{_LGB}, {_XGB} and {_SKL}", "stagewise.export_svg(model)"),
        "train": (f"{_LGB} and {_XGB}", f"fit of {_ESTIMATOR}"),
        "cv": (f"{_LGB}, {_XGB} and {_CAT}", "early_stopping='cv' of an estimator"),
        "DMatrix": (_XGB, "fit(X, y), with arrays and data frames themselves"),
        "Pool": (_CAT, "fit(X, y), with arrays and data frames themselves"),
        "Booster": (f"{_LGB} and {_XGB}", 'stagewise.load("model.stgw")'),
        "early_stopping": (_LGB, "early_stopping=True, n_iter_no_change=... of an estimator"),
        "log_evaluation": (_LGB, "verbose=1 of an estimator"),
        "LGBMRegressor": (_LGB, "stagewise.GradientBoostingRegressor"),
        "XGBRegressor": (_XGB, "stagewise.GradientBoostingRegressor"),
        "CatBoostRegressor": (_CAT, "stagewise.GradientBoostingRegressor"),
        "LGBMClassifier": (_LGB, "stagewise.GradientBoostingClassifier"),
        "XGBClassifier": (_XGB, "stagewise.GradientBoostingClassifier"),
        "CatBoostClassifier": (_CAT, "stagewise.GradientBoostingClassifier"),
        "LGBMRanker": (_LGB, "stagewise.GradientBoostingRanker"),
        "XGBRanker": (_XGB, "stagewise.GradientBoostingRanker"),
        "CatBoostRanker": (_CAT, "stagewise.GradientBoostingRanker"),
    }
)
"""Functions and classes of the modules of other libraries: the libraries, and what is here."""


RESULTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "ShapValues": {
            **dict.fromkeys(("plot", "summary_plot", "bar"), _SWARM),
            "force_plot": "waterfall(0) of the first row",
            "dependence_plot": "dependence(0) of the first feature",
            "shape": "values.shape",
            "expected_value": "base_values",
        },
        "Importance": {
            "values": "table(), the rows of the table, or to_frame()",
            "sort_values": "to_frame(), in decreasing order",
            "to_dict": "table()",
        },
        "Thresholds": {
            "best": "cost(false_positive=1, false_negative=5).best_threshold",
            "optimal": "cost(false_positive=1, false_negative=5).best_threshold",
        },
        "Picture": {
            "save": 'pathlib.Path("tree.svg").write_text(picture)',
            "write": 'pathlib.Path("tree.svg").write_text(picture)',
        },
    }
)
"""Names that users expect of results, and what replaces them, by the class of the result."""


CLASS_METHODS = ("load", "load_model")
"""Methods that users call of a class."""


def suggests_attributes(kind: Kind) -> Kind:
    """Decorate a class of `RESULTS`: the error for an unknown attribute has what replaces it."""

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807
        ours = RESULTS[kind.__name__].get(name, "")
        hint = f" Here it is {ours}." if ours else ""
        message = f"{kind.__name__!r} object has no attribute {name!r}.{hint}"
        raise AttributeError(message, name=name, obj=self)

    kind.__getattr__ = __getattr__  # type: ignore[attr-defined]
    return kind


class SuggestsClassMethods(ABCMeta):
    """The class of classes whose error for a method of other libraries has what replaces it.

    It derives from ABCMeta, so that a user can derive from an estimator and from ABC.
    """

    def __getattr__(cls, name: str) -> Any:
        hint = attribute_hint(name, cls) if name in CLASS_METHODS else ""
        message = f"type object {cls.__name__!r} has no attribute {name!r}{hint and f'.{hint}'}"
        raise AttributeError(message, name=name, obj=cls)


def function_hint(name: str) -> str:
    """Return a sentence about a function or class of another library; empty: there is none."""
    libraries, ours = FUNCTIONS.get(name, ("", ""))
    return f" {name} is the name of {libraries}; here it is {ours}." if ours else ""


def attribute_hint(name: str, kind: type) -> str:
    """Return a sentence about an attribute of another library; empty: there is none."""
    if name == "predict_interval" and _has(kind, "predict_set"):
        return " Regressors have predict_interval; of a classifier it is predict_set(X)."
    hint = _hint(name, FOREIGN_ATTRIBUTES.get(name), kind)
    is_plot = name.startswith("plot_") and _has(kind, "feature_importances_")
    return hint or (function_hint(name) if is_plot else "")


def call_hint(name: str, kind: type, method: str = "predict", value: Any = None) -> str:
    """Return a sentence about an argument of `predict` of another library; empty: none.

    Parameters
    ----------
    name : str
        The argument.
    kind : type
        The class of the estimator.
    method : str
        The method that was called.
    value : object
        The value of the argument.
    """
    found = PREDICT_ARGUMENTS.get(name)
    return _hint(name, None if found is None else _called(found, method, value), kind)


def _called(entry: ForeignCall, method: str, value: Any) -> ForeignCall:
    """Return the entry with the method that was called, and with its value as the rounds."""
    ours, note = entry.ours.replace(".predict(X", f".{method}(X"), entry.note
    rounds = value[1] if isinstance(value, (tuple, list)) and len(value) == 2 else value
    if entry.ours == _FEWER and isinstance(rounds, numbers.Integral) and value is not True:
        few = f", n_rounds={rounds}" if int(rounds) > 0 else ""
        ours, note = ours.replace(", n_rounds=10", few), ""
    return replace(entry, ours=ours, note=note)


def _hint(name: str, found: ForeignCall | None, kind: type) -> str:
    if found is None or not _has(kind, found.needs):
        return ""
    libraries = found.libraries
    whose = " and ".join(filter(None, [", ".join(libraries[:-1]), libraries[-1]]))
    is_or_has = "its methods are here:" if found.methods else "here it is"
    return f" {name} is the name of {whose}; {is_or_has}{found.remedy}"


def _has(kind: type, attribute: str) -> Any:
    """Return whether a class has an attribute; properties of the class are not evaluated."""
    return any(attribute in vars(base) for base in kind.__mro__)
