"""Parameters in model files: options and losses as plain values, and names of older versions.

A file holds no code, so an option is written as {"option": "Goss", "top": 0.2, ...}, a loss as
{"loss": "tweedie", "power": 1.5} and a splitter of scikit-learn as {"splitter": "KFold", ...}.
Files of older versions have other parameter names; they are translated here, and only here.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import model_selection

from stagewise import options
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import (
    CLASSIFICATION_LOSSES,
    RANKING_LOSSES,
    REGRESSION_LOSSES,
    Loss,
    is_class_loss,
)
from stagewise.losses.registration import make_registered, saved_loss
from stagewise.options import Option
from stagewise.validation.messages import short_repr, warn_caller

__all__ = ["CLASS_NAMES", "CUSTOM_LOSS", "plain_parameters", "read_parameters"]

CUSTOM_LOSS = (
    "A model with a custom loss cannot be saved to a file, which holds no code, unless the loss is "
    "registered: call stagewise.register_loss with its class or function, here and before the file "
    "is loaded. Or pickle the estimator, with joblib.dump or pickle.dump."
)

CLASS_NAMES: Mapping[str, str] = {"LinearModel": "LinearRegression"}
"""The estimators of older files by their present names."""

RENAMED: Mapping[str, str] = {
    "growth": "grow_policy",
    "out_of_bag": "oob_score",
    "first_use_penalty": "feature_penalty",
    "on_unseen": "handle_unknown",
    "patience": "n_iter_no_change",
    "missing": "missing_strategy",
    "limit": "z_max",
    "intercept": "fit_intercept",
}
"""Parameters of older files with another name now."""

LEARNER_RENAMED: Mapping[str, str] = {
    "growth": "grow_policy",
    "columns_per_tree": "max_features_per_tree",
    "columns_per_level": "max_features_per_level",
    "columns_per_node": "max_features",
    "to_the_end": "grow_until_pure",
    "level_smoothing": "category_smoothing",
    "level_l2": "category_l2",
    "level_chance": "category_chance",
    "together": "interaction_groups",
    "most_together": "max_interaction_order",
    "first_use": "feature_penalty",
    "used": "used_features",
    "epsilon": "sketch_eps",
    "forced": "forced_splits",
}
"""Fields of a `HistogramTree` in older files."""


FOLDS: Mapping[str, Any] = {"cv": 5, "ccp_cv": 5, "early_stopping": "cv"}
"""Parameters that may be folds, and the values in a file for folds that it cannot hold."""

SPLITTERS = (
    "GroupKFold",
    "GroupShuffleSplit",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "LeavePGroupsOut",
    "LeavePOut",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
)
"""The splitters of scikit-learn that a file can hold: their folds follow from a few numbers."""


def plain_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as a file can hold them.

    Warns if a parameter has folds that a file cannot hold.

    Raises
    ------
    ValueError
        If a loss is not registered, or an option is not one of `stagewise.options`.
    """
    params = {**params, "loss": _plain_loss(params["loss"])} if "loss" in params else params
    plain = {name: _plain(value) for name, value in params.items() if name not in FOLDS}
    folds = {name: _plain_folds(name, params[name]) for name in FOLDS if name in params}
    return {name: folds[name] if name in folds else plain[name] for name in params}


def _plain(value: Any) -> Any:
    if isinstance(value, Option):
        _check_option(type(value))
    if isinstance(value, (Option, HistogramTree)):
        own = {name: _plain(field) for name, field in vars(value).items()}
        return {"option": type(value).__name__, **own} if isinstance(value, Option) else own
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=repr)
    return value.tolist() if hasattr(value, "tolist") else value  # arrays, an index of pandas


def _plain_loss(value: Any) -> Any:
    if not isinstance(value, Loss) and not callable(value):
        return value
    if isinstance(value, Loss) and is_class_loss(value) and not value.parameter_names:
        return value.name  # the number of classes is in the model
    known = {**REGRESSION_LOSSES, **RANKING_LOSSES}
    of_classes = isinstance(value, Loss) and is_class_loss(value)
    if of_classes or type(value) is known.get(getattr(value, "name", "")):
        return {"loss": value.name, **{n: getattr(value, n) for n in value.parameter_names}}
    saved = saved_loss(value)
    if saved is None:
        raise ValueError(CUSTOM_LOSS)
    return saved


def _check_option(kind: type[Option]) -> None:
    """Raise ValueError unless an option is one of this library, which a file can name."""
    known = next(k for k in kind.__mro__ if getattr(options, k.__name__, None) is k)
    if known is not kind:
        raise ValueError(
            f"A model with the option {kind.__name__} cannot be saved to a file, which holds no "
            f"code. Set a stagewise.{known.__name__} instead, or pickle the estimator, with "
            "joblib.dump or pickle.dump."
        )


def _plain_folds(name: str, value: Any) -> Any:
    """Return a number of folds, a word or a splitter as a file can hold it."""
    if isinstance(value, (numbers.Number, np.bool_, str)):
        return _plain(value)
    kind = type(value)
    if kind.__name__ in SPLITTERS and getattr(model_selection, kind.__name__) is kind:
        own = {**getattr(value, "cvargs", {}), **vars(value)}  # of repeated splitters
        own = {n: own[n] for n in inspect.signature(kind).parameters if n in own}
        if not isinstance(own.get("random_state"), np.random.RandomState):
            return {"splitter": kind.__name__, **{n: _plain(v) for n, v in own.items()}}
    warn_caller(
        f"The folds {name}={short_repr(value)} are not saved: a model file holds no rows and no "
        f"code. The loaded estimator predicts the same, but it has {name}={FOLDS[name]!r}. Pickle "
        "the estimator (joblib.dump) to keep the folds."
    )
    return FOLDS[name]


def read_parameters(saved: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the parameters of an estimator from those of a file.

    Parameters
    ----------
    saved : mapping
        As the file has them.
    name : str
        The estimator's class.

    Raises
    ------
    TypeError, ValueError
        If an option, a loss or a splitter is unknown.
    """
    params = {key: _object(value) for key, value in saved.items()}
    if isinstance(params.get("learner"), dict):
        own = params["learner"].items()
        params["learner"] = HistogramTree(**{LEARNER_RENAMED.get(k, k): v for k, v in own})
    return _translated(params, name)


def _object(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    own = dict(value)
    if "option" in own:
        kind = getattr(options, str(own.pop("option")), None)
        if not (isinstance(kind, type) and issubclass(kind, Option)):
            raise ValueError(f"the option {value['option']!r} is unknown.")
        return kind(**own)
    if "loss" in own:
        name = str(own.pop("loss"))
        loss: Any = {**REGRESSION_LOSSES, **RANKING_LOSSES}.get(name)
        if name in CLASSIFICATION_LOSSES:
            loss = type(CLASSIFICATION_LOSSES[name](2))
        return make_registered(value) if loss is None else loss(**own)
    if "splitter" in own:
        name = own.pop("splitter")
        if name not in SPLITTERS:
            raise ValueError(f"the splitter {name!r} is unknown.")
        return getattr(model_selection, name)(**own)
    return value


def _translated(params: dict[str, Any], name: str) -> dict[str, Any]:
    """Return parameters with the present names."""
    if name.startswith("GradientBoosting") and not {"categorical", "category_encoding"} & {*params}:
        params["category_encoding"] = "sets"  # files from before target encoding
    if name.startswith(("RandomForest", "ExtraTrees")) and "subsample" in params:
        params["max_samples"] = params.pop("subsample")
    if name == "StagewiseLinearRegressor" and "epsilon" in params:
        by_epsilon, epsilon = params.pop("step") == "epsilon", params.pop("epsilon")
        params["step_size"] = epsilon if by_epsilon else None
    params = _without_options(params)
    if name.startswith("StagewiseLinear") or "early_stopping" in params:
        folds = params.pop("cv", None)
        if params.get("early_stopping") == "cv" and folds is not None:
            params["early_stopping"] = folds
    return {RENAMED.get(key, key): value for key, value in params.items()}


def _without_options(old: dict[str, Any]) -> dict[str, Any]:
    """Return parameters in which options take the place of the numbers of older files."""
    params = dict(old)

    def take(name: str, default: Any) -> Any:
        return params.pop(name, default)

    if "goss_top" in old:
        goss = options.Goss(top=take("goss_top", 0.2), other=take("goss_other", 0.1))
        mvs = options.Mvs(regularization=take("mvs_lambda", 1.0))
        params["sampling"] = {"goss": goss, "mvs": mvs}.get(old["sampling"], old["sampling"])
    if "drop_rate" in old:
        dart = options.Dart(
            rate=take("drop_rate", 0.1),
            max_drop=take("max_drop", 50),
            skip=take("skip_drop", 0.5),
            normalization=take("drop_normalization", "tree"),
        )
        params["dropout"] = dart if old["drop_rate"] > 0 else None
    if "linear_l2" in old:
        linear = options.LinearLeaves(l2=take("linear_l2", 0.1))
        params["leaves"] = linear if old.get("leaves") == "linear" else "constant"
    if "multi_output" in old and take("multi_output", "trees") == "vector":
        params["leaves"] = "vector"
    if "columns_per_node" in old:
        drawn = {part: take(f"columns_per_{part}", 1.0) for part in ("tree", "level", "node")}
        weights = take("feature_weights", None)
        if drawn["node"] == "auto" and weights is None and drawn["tree"] == drawn["level"] == 1.0:
            params["max_features"] = "auto"
        else:
            symmetric = old.get("growth") == "symmetric"  # its nodes share a split
            drawn_by_default = None if symmetric else 0.7
            node = drawn_by_default if drawn["node"] == "auto" else drawn["node"]
            params["max_features"] = options.FeatureSampling(
                per_tree=drawn["tree"], per_level=drawn["level"], per_node=node, weights=weights
            )
    if "random_thresholds" in old:
        params["split"] = options.SplitSearch(
            method=old["split"],
            random_thresholds=take("random_thresholds", False),
            forced_splits=take("forced_splits", None),
            proposal=take("proposal", None),
            sketch_eps=take("epsilon", None),
        )
    if "permutations" in old:
        target = options.OrderedTargetEncoding(n_orderings=take("permutations", 1))
        mode = take("categorical", "auto")
        params["category_encoding"] = target if mode == "statistics" else mode
    power = take("power", None)
    if power is not None:
        kind: Any = REGRESSION_LOSSES[old["loss"]]
        params["loss"] = kind(power=power)
    return params
