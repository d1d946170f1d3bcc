"""Our estimators with the parameter names, positional arguments and defaults of scikit-learn.

Names are translated by `stagewise.validation.foreign_names`, values by the few functions below. A
parameter that has no counterpart is an error, unless it has scikit-learn's default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import sklearn.ensemble
import sklearn.tree
from sklearn.metrics import get_scorer

import stagewise
from stagewise.validation.foreign_names import FOREIGN_NAMES

__all__ = ["SHIMS"]

Params = dict[str, Any]


def _names(params: Params, known: Mapping[str, Any]) -> Params:
    """Return parameters by our names, as the table of names of other libraries translates them."""
    translated = {}
    for name, value in params.items():
        entry = FOREIGN_NAMES.get(name)
        renamed = name not in known and entry is not None and entry.ours in known
        renamed = renamed and entry is not None and not entry.usage
        translated[entry.ours if renamed and entry is not None else name] = value
    return translated


def make_shim(
    ours: type,
    theirs: type,
    defaults: Mapping[str, Any],
    values: Callable[[Params], Params] = dict,
) -> type:
    """Return a subclass of our class that is called as scikit-learn's class.

    Parameters
    ----------
    ours, theirs : type
        The classes.
    defaults : mapping
        Scikit-learn's defaults where they differ from ours, by our names.
    values : callable
        Translates parameters whose values differ.
    """
    signature = inspect.signature(theirs)
    positional = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    usual = {p.name: p.default for p in signature.parameters.values()}
    own = inspect.signature(ours).parameters

    def translate(params: Params) -> Params:
        return {
            name: value
            for name, value in _names(values(dict(params)), own).items()
            if name in own or "__" in name or name not in usual or not _same(value, usual[name])
        }

    def __init__(self: Any, *args: Any, **params: Any) -> None:  # noqa: N807
        given = translate({**dict(zip(positional, args, strict=False)), **params})
        ours.__init__(self, **{**defaults, **given})

    def set_params(self: Any, **params: Any) -> Any:
        return ours.set_params(self, **translate(params))

    __init__.__signature__ = inspect.signature(ours.__init__)  # type: ignore[attr-defined]
    body = {"__init__": __init__, "set_params": set_params, "__module__": __name__}
    for name in usual:
        entry = FOREIGN_NAMES.get(name)
        if name not in own and entry is not None and entry.ours in own and not entry.usage:
            body[name] = property(lambda self, ours=entry.ours: getattr(self, ours))
    shim = type(theirs.__name__, (ours,), body)
    globals()[theirs.__name__] = shim  # pickles find it
    return shim


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _criterion(params: Params) -> Params:
    if params.get("criterion") == "friedman_mse":  # gains of weighted variances, as here
        params["criterion"] = "squared_error"
    return params


def _tree(params: Params) -> Params:
    _criterion(params)
    if params.pop("splitter", "best") == "random":
        params["split"] = _RANDOM
    return params


def _bagging(params: Params) -> Params:
    if not params.pop("bootstrap", True):
        params["sampling"] = "uniform"
    if params.get("max_samples", 1.0) is None:
        del params["max_samples"]
    return params


def _boosting(params: Params) -> Params:
    if params.get("criterion", "friedman_mse") in ("friedman_mse", "squared_error"):
        params.pop("criterion", None)
    if params.get("init", "") is None:
        params["init"] = "mean"
    if params.get("n_iter_no_change", "auto") != "auto":  # "auto" is the default here
        patience = params.pop("n_iter_no_change")
        params |= {} if patience is None else {"n_iter_no_change": patience, "early_stopping": True}
    if params.get("loss") != "quantile":
        params.pop("alpha", None) if params.get("alpha") == 0.9 else None
    if not params.get("early_stopping"):
        params.pop("validation_fraction", None)
    if params.get("subsample", 1.0) < 1.0:
        params["oob_score"] = True  # scikit-learn always measures it
    return params


def _histogram(params: Params) -> Params:
    if isinstance(params.get("early_stopping"), str) and params["early_stopping"] == "auto":
        params["early_stopping"] = False  # of at most 10,000 rows
    if not params.get("early_stopping", True):
        for name in ("validation_fraction", "tol", "n_iter_no_change"):
            params.pop(name, None)
    scoring = params.pop("scoring", "loss")
    if scoring not in ("loss", None):
        params["eval_metric"] = get_scorer(scoring)
    if params.get("validation_fraction", 0.1) is None:  # the rows of X_val, or the training rows
        del params["validation_fraction"]
    return params


_BOOSTED = {
    "learning_rate": 0.1,
    "n_estimators": 100,
    "subsample": 1.0,
    "sampling": "uniform",
    "max_features": None,
    "l2_regularization": 0.0,
    "grow_policy": "best_first",
    "category_encoding": "sets",
    "early_stopping": False,
}
_GRADIENT = {
    **_BOOSTED,
    "response": "gradient",
    "max_depth": 3,
    "max_leaf_nodes": None,
    "min_samples_leaf": 1,
    "grow_policy": "depth_wise",
}
_HISTOGRAM = {**_BOOSTED, "max_depth": None, "max_leaf_nodes": 31, "min_samples_leaf": 20}
# Splits by bins: sparse matrices are read, and up to 255 values of a column have a bin each.
_RANDOM = stagewise.SplitSearch(method="histogram", random_thresholds=True)
_FOREST = {"n_estimators": 100}

SHIMS: dict[str, dict[str, type]] = {
    "sklearn.ensemble": {
        **{
            f"GradientBoosting{task}": make_shim(
                getattr(stagewise, f"GradientBoosting{task}"),
                getattr(sklearn.ensemble, f"GradientBoosting{task}"),
                _GRADIENT,
                _boosting,
            )
            for task in ("Classifier", "Regressor")
        },
        **{
            f"HistGradientBoosting{task}": make_shim(
                getattr(stagewise, f"GradientBoosting{task}"),
                getattr(sklearn.ensemble, f"HistGradientBoosting{task}"),
                _HISTOGRAM,
                _histogram,
            )
            for task in ("Classifier", "Regressor")
        },
        **{
            f"{kind}{task}": make_shim(
                getattr(stagewise, f"{kind}{task}"),
                getattr(sklearn.ensemble, f"{kind}{task}"),
                defaults,
                values,
            )
            for kind, defaults, values in (
                ("RandomForest", _FOREST, _criterion),
                ("ExtraTrees", _FOREST, _criterion),
                ("Bagging", {"n_estimators": 10}, _bagging),
                ("AdaBoost", {"n_estimators": 50}, dict),
            )
            for task in ("Classifier", "Regressor")
            if hasattr(stagewise, f"{kind}{task}")
        },
    },
    "sklearn.tree": {
        f"{kind}{task}": make_shim(
            getattr(stagewise, f"DecisionTree{task}"),
            getattr(sklearn.tree, f"{kind}{task}"),
            defaults,
            _tree,
        )
        for kind, defaults in (
            ("DecisionTree", {"split": "histogram"}),
            ("ExtraTree", {"split": _RANDOM}),
        )
        for task in ("Classifier", "Regressor")
    },
}
"""The classes to substitute, by the module that the tests import them from."""
