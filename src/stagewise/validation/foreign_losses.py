"""The names that other libraries have for losses, and ours.

One table makes the errors for `loss="mae"`, the hints and the calls for `objective="mae"`, and the
page `docs/coming-from.md`. Names are compared in lower case.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = [
    "FOREIGN_LOSSES",
    "LOSS_PARAMETERS",
    "ForeignLoss",
    "default_loss",
    "foreign_loss_hint",
    "loss_of_task",
    "objective_hint",
    "task_of",
]


@dataclass(frozen=True)
class ForeignLoss:
    """A loss of other libraries.

    Parameters
    ----------
    task : str
        The task, a key of `ESTIMATORS`.
    ours : str
        The name of the loss here.
    libraries : str
        The libraries that have it, for messages.
    """

    task: str
    ours: str
    libraries: str


ESTIMATORS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "regression": ("GradientBoostingRegressor", "squared_error"),
        "classification": ("GradientBoostingClassifier", "log_loss"),
        "ranking": ("GradientBoostingRanker", "ndcg"),
        "survival": ("GradientBoostingSurvival", "cox"),
    }
)
"""The estimator of each task, and its default loss."""

_LGB, _XGB, _CAT, _SKL = "LightGBM", "XGBoost", "CatBoost", "scikit-learn"


def _losses(task: str, library: str, pairs: str) -> dict[str, ForeignLoss]:
    """Return the entries of a library; "theirs>ours" between spaces."""
    found = {}
    for pair in pairs.split():
        theirs, _, ours = pair.partition(">")
        found[theirs] = ForeignLoss(task, ours, library)
    return found


_BOTH = f"{_LGB} and {_CAT}"

FOREIGN_LOSSES: Mapping[str, ForeignLoss] = MappingProxyType(
    {
        **_losses(
            "regression",
            _LGB,
            "regression>squared_error regression_l2>squared_error l2>squared_error "
            "mean_squared_error>squared_error l2_root>squared_error "
            "root_mean_squared_error>squared_error regression_l1>absolute_error "
            "l1>absolute_error mean_absolute_error>absolute_error "
            "mean_absolute_percentage_error>mape",
        ),
        **_losses("regression", f"{_LGB} and {_SKL}", "mse>squared_error"),
        **_losses("regression", f"{_LGB}, {_CAT} and {_SKL}", "mae>absolute_error"),
        **_losses("regression", _BOTH, "rmse>squared_error"),
        **_losses(
            "regression",
            _XGB,
            "reg:squarederror>squared_error reg:linear>squared_error "
            "reg:absoluteerror>absolute_error reg:quantileerror>quantile "
            "reg:expectileerror>expectile count:poisson>poisson reg:gamma>gamma "
            "reg:tweedie>tweedie reg:pseudohubererror>pseudo_huber "
            "reg:squaredlogerror>squared_log_error",
        ),
        **_losses("regression", _CAT, "logcosh>log_cosh multiquantile>quantiles"),
        **_losses("regression", _CAT, "rmsewithuncertainty>normal"),
        **_losses(
            "regression",
            _SKL,
            "ls>squared_error squared_loss>squared_error least_squares>squared_error "
            "lad>absolute_error least_absolute_deviation>absolute_error friedman_mse>squared_error",
        ),
        **_losses(
            "classification",
            _LGB,
            "binary>log_loss cross_entropy>log_loss xentropy>log_loss softmax>log_loss "
            "multiclassova>one_vs_rest multiclass_ova>one_vs_rest ova>one_vs_rest ovr>one_vs_rest",
        ),
        **_losses("classification", _BOTH, "multiclass>log_loss"),
        **_losses(
            "classification",
            _XGB,
            "binary:logistic>log_loss binary:logitraw>log_loss reg:logistic>log_loss "
            "multi:softprob>log_loss multi:softmax>log_loss binary:hinge>hinge",
        ),
        **_losses(
            "classification",
            _CAT,
            "logloss>log_loss crossentropy>log_loss multiclassonevsall>one_vs_rest",
        ),
        **_losses(
            "classification",
            _SKL,
            "deviance>log_loss binomial_deviance>log_loss binary_crossentropy>log_loss "
            "categorical_crossentropy>log_loss",
        ),
        **_losses("ranking", _LGB, "lambdarank>ndcg rank_xendcg>xendcg xendcg_mart>xendcg"),
        **_losses("ranking", _LGB, "xe_ndcg>xendcg xe_ndcg_mart>xendcg"),
        **_losses("ranking", _XGB, "rank:ndcg>ndcg rank:map>map rank:pairwise>pairwise"),
        **_losses(
            "ranking",
            _CAT,
            "yetirankpairwise>yetirank pairlogit>pairwise pairlogitpairwise>pairwise "
            "querysoftmax>softmax queryrmse>query_squared_error lambdamart>ndcg",
        ),
        **_losses("survival", _XGB, "survival:cox>cox survival:aft>aft"),
        **_losses("survival", _CAT, "cox>cox survivalaft>aft"),
    }
)
"""Losses of other libraries in lower case, and the nearest one here."""

SHARE_LOSSES: Mapping[str, ForeignLoss] = MappingProxyType(
    {
        **_losses("regression", _LGB, "cross_entropy>cross_entropy xentropy>cross_entropy"),
        **_losses("regression", _XGB, "reg:logistic>cross_entropy"),
        **_losses("regression", _CAT, "crossentropy>cross_entropy"),
    }
)
"""Losses of shares, which for a classifier are losses of classes."""

INTENSITY = (
    "cross_entropy_lambda of LightGBM is loss='cross_entropy' here if all weights are 1; weights "
    "as exposures w are GradientBoostingClassifier("
    "loss=stagewise.Loss.from_formula('(1 - y)*exp(f) - y*log(-expm1(-exp(f)))', y='0/1')) with "
    "offset=np.log(w)"
)
"""With weights, LightGBM's probability is 1 - exp(-w λ): the intensity λ is e^F here, and
log(1 + e^F) there."""

OTHER_LOSSES: Mapping[str, str] = MappingProxyType(
    {
        "lq": "Lq of CatBoost is a formula here: "
        "stagewise.Loss.from_formula('(1e-9 + (y - f)**2)**(q/2)', q=1.5)",
        "loglinquantile": "LogLinQuantile of CatBoost is loss='quantile' fitted to log(y) here; "
        "take exp of its predictions",
        "stochasticrank": "StochasticRank of CatBoost is not here; the nearest one is "
        "GradientBoostingRanker(loss='ndcg')",
        "stochasticfilter": "StochasticFilter of CatBoost is not here; the nearest one is "
        "GradientBoostingRanker(loss='ndcg')",
        "querycrossentropy": "QueryCrossEntropy of CatBoost is not here; the nearest one is "
        "GradientBoostingRanker(loss='softmax')",
        "groupquantile": "GroupQuantile of CatBoost is not here; the nearest one is "
        "GradientBoostingRegressor(loss='quantile')",
        "multirmse": "MultiRMSE of CatBoost is loss='squared_error' here, with several columns of "
        "y in GradientBoostingRegressor",
        "multirmsewithmissingvalues": "MultiRMSEWithMissingValues of CatBoost is not here; fit a "
        "GradientBoostingRegressor for each column of y, to the rows with its targets",
        "multilogloss": "MultiLogloss of CatBoost is loss='log_loss' here, with several columns "
        "of 0 and 1 as y of GradientBoostingClassifier",
        "multicrossentropy": "MultiCrossEntropy of CatBoost is loss='cross_entropy' here, with "
        "several columns of y in GradientBoostingRegressor",
        "combination": "Combination of CatBoost is a sum of losses; here it can be a formula, such "
        "as stagewise.Loss.from_formula('(y - f)**2 + log(cosh(y - f))')",
        **dict.fromkeys(
            ("pythonuserdefinedperobject", "pythonuserdefinedmultitarget"),
            "A loss of your own is an object here: loss=function(y, score), which returns "
            "gradients and hessians, or an object of a class derived from stagewise.Loss",
        ),
        **dict.fromkeys(("cross_entropy_lambda", "xentlambda"), INTENSITY),
        **dict.fromkeys(
            ("custom", "none", "null", "na"),
            "A custom objective of LightGBM is loss=function(y, score) here, which returns "
            "gradients and hessians",
        ),
    }
)
"""Losses of other libraries without one of the same meaning here: what to use instead."""

LOSS_PARAMETERS: Mapping[tuple[str, str], tuple[str, float]] = MappingProxyType(
    {
        ("huber", "alpha"): ("stagewise.losses.Huber(delta={})", 0.9),
        ("reg:pseudohubererror", "huber_slope"): ("stagewise.losses.PseudoHuber(delta={})", 1.0),
        ("tweedie", "tweedie_variance_power"): ("stagewise.losses.Tweedie(power={})", 1.5),
        ("reg:tweedie", "tweedie_variance_power"): ("stagewise.losses.Tweedie(power={})", 1.5),
    }
)
"""Losses of other libraries with the parameter of their own: the loss here, and their default."""


_CATBOOST_PARAMETERS: Mapping[str, str] = MappingProxyType(
    {
        "quantile:alpha": "loss='quantile', quantile={}",
        "multiquantile:alpha": "loss='quantile', quantile=[{}]",
        "expectile:alpha": "loss='expectile', quantile={}",
        "huber:delta": "loss=stagewise.losses.Huber(delta={})",
        "tweedie:variance_power": "loss=stagewise.losses.Tweedie(power={})",
        "focal:focal_gamma": "loss=stagewise.losses.Focal(gamma={})",
    }
)
"""Losses of CatBoost with a parameter in their text, such as "Quantile:alpha=0.9"."""


def task_of(kind: type) -> str:
    """Return the task of an estimator, by the default of its parameter `loss`; empty: none."""
    parameter = inspect.signature(kind).parameters.get("loss")
    defaults = {default: task for task, (_, default) in ESTIMATORS.items()}
    return "" if parameter is None else defaults.get(parameter.default, "")


def default_loss(task: str) -> str:
    """Return the default loss of a task."""
    return ESTIMATORS[task][1] if task in ESTIMATORS else ""


SAME_LOSSES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "regression": frozenset(
            ("huber", "fair", "quantile", "mape", "poisson", "gamma", "tweedie", "expectile")
        )
    }
)
"""Losses that have the same name here, perhaps in lower case."""


def loss_of_task(loss: Any, task: str) -> str:
    """Return our name of a loss of another library; empty: it is none of this task."""
    if not isinstance(loss, str):
        return ""
    if loss.lower() in SAME_LOSSES.get(task, ()):
        return loss.lower()
    if task == "regression" and loss.lower() in SHARE_LOSSES:
        return SHARE_LOSSES[loss.lower()].ours
    found = FOREIGN_LOSSES.get(loss.lower())
    return found.ours if found is not None and found.task == task else ""


def objective_hint(objective: Any, kind: type) -> str:
    """Return a sentence about the value of `objective` for an estimator; empty: there is none."""
    task = task_of(kind)
    ours = loss_of_task(objective, task)
    if ours == "huber":
        return f" {objective!r} is loss=stagewise.losses.Huber(delta=0.9); delta is their alpha."
    if ours:
        return f" {objective!r} is loss={ours!r}."
    return foreign_loss_hint(objective, ()) if task else ""


def foreign_loss_hint(loss: Any, names: Collection[str]) -> str:
    """Return a sentence about a loss of another library; empty: it is none.

    Parameters
    ----------
    loss : object
        The value that was passed.
    names : collection of str
        The losses of the estimator.
    """
    if not isinstance(loss, str) or loss in names:
        return ""
    if loss.lower() in names:  # CatBoost's Poisson
        return f" Here it is {loss.lower()!r}."
    of_shares = SHARE_LOSSES.get(loss.lower())
    is_of_shares = of_shares is not None and of_shares.ours in names
    found = of_shares if is_of_shares else FOREIGN_LOSSES.get(loss.lower())
    if found is None and (ours := _with_parameters(loss)):
        return f" {loss!r} of CatBoost is {ours} here."
    if found is None:
        other = OTHER_LOSSES.get(loss.lower().partition(":")[0], "")  # CatBoost's Lq:q=1.5
        return f" {other}." if other else ""
    owner, default = ESTIMATORS[found.task]
    here = repr(found.ours)
    if found.ours not in names or (default not in names and found.task != "regression"):
        ours = "" if found.ours == default else f"loss={found.ours!r}"
        here = f"{owner}({ours})"
    return f" {loss!r} is the name of {found.libraries}; here it is {here}."


def _with_parameters(loss: str) -> str:
    """Return a loss of CatBoost with parameters in its text as arguments; empty: it is none."""
    name, _, parameters = loss.lower().partition(":")
    for parameter in parameters.split(";"):
        theirs, sign, value = parameter.partition("=")
        ours = _CATBOOST_PARAMETERS.get(f"{name}:{theirs.strip()}")
        if sign and ours is not None:
            return ours.format(value.strip().replace(",", ", "))
    return ""
