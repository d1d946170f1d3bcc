"""Loss functions. A new loss is one class and one line in a registry."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from stagewise.losses.base import Loss
from stagewise.losses.binary_targets import BinaryTargetsLoss
from stagewise.losses.bound_loss import BoundLoss
from stagewise.losses.check import check_loss
from stagewise.losses.class_squared_error import BinarySquaredError, ClassSquaredError
from stagewise.losses.class_targets import ClassTargetsLoss
from stagewise.losses.classification import (
    ClassExponential,
    Exponential,
    Logistic,
    Multinomial,
)
from stagewise.losses.cumulative import CumulativeLogit, CumulativeProbit
from stagewise.losses.distributions import DISTRIBUTION_LOSSES, DistributionLoss, StudentTLoss
from stagewise.losses.formula import FormulaLoss
from stagewise.losses.function import FunctionLoss
from stagewise.losses.levels import Expectiles, LevelsLoss, Quantiles
from stagewise.losses.log_link import Gamma, Poisson, Tweedie
from stagewise.losses.logit_link import CrossEntropy
from stagewise.losses.margins import Brier, Focal, Hinge, OneVsRest
from stagewise.losses.multi_target import MultiTargetLoss
from stagewise.losses.ranking import (
    RANKING_LOSSES,
    LambdaMap,
    LambdaNdcg,
    ListwiseSoftmax,
    PairwiseLogistic,
    QuerySquaredError,
    XeNdcg,
    YetiRank,
)
from stagewise.losses.registration import register_loss
from stagewise.losses.regression import (
    AbsoluteError,
    Expectile,
    Huber,
    Mape,
    Quantile,
    SquaredError,
)
from stagewise.losses.robust import Fair, LogCosh, PseudoHuber
from stagewise.losses.squared_log_error import SquaredLogError
from stagewise.losses.survival.aft import Aft
from stagewise.losses.survival.base import SurvivalLoss
from stagewise.losses.survival.competing_risks import CauseSpecific, FineGray
from stagewise.losses.survival.cox import Cox
from stagewise.losses.survival.discrete_time import DiscreteTime

__all__ = [
    "CLASSIFICATION_LOSSES",
    "POINT_LOSSES",
    "RANKING_LOSSES",
    "REGRESSION_LOSSES",
    "SURVIVAL_LOSSES",
    "TASK_LOSSES",
    "AbsoluteError",
    "Aft",
    "BinarySquaredError",
    "BinaryTargetsLoss",
    "BoundLoss",
    "Brier",
    "CauseSpecific",
    "ClassExponential",
    "ClassSquaredError",
    "ClassTargetsLoss",
    "Cox",
    "CrossEntropy",
    "CumulativeLogit",
    "CumulativeProbit",
    "DiscreteTime",
    "DistributionLoss",
    "Expectile",
    "Expectiles",
    "Exponential",
    "Fair",
    "FineGray",
    "Focal",
    "FormulaLoss",
    "FunctionLoss",
    "Gamma",
    "Hinge",
    "Huber",
    "LambdaMap",
    "LambdaNdcg",
    "LevelsLoss",
    "ListwiseSoftmax",
    "LogCosh",
    "Logistic",
    "Loss",
    "Mape",
    "MultiTargetLoss",
    "Multinomial",
    "OneVsRest",
    "PairwiseLogistic",
    "Poisson",
    "PseudoHuber",
    "Quantile",
    "Quantiles",
    "QuerySquaredError",
    "SquaredError",
    "SquaredLogError",
    "StudentTLoss",
    "Tweedie",
    "XeNdcg",
    "YetiRank",
    "check_loss",
    "register_loss",
]

_SEVERAL_SCORES: tuple[type[Loss], ...] = (Quantiles, Expectiles, *DISTRIBUTION_LOSSES)

POINT_LOSSES: Mapping[str, type[Loss]] = MappingProxyType(
    {
        loss.name: loss
        for loss in (
            SquaredError,
            AbsoluteError,
            Huber,
            Fair,
            LogCosh,
            PseudoHuber,
            Quantile,
            Expectile,
            Mape,
            Poisson,
            Gamma,
            Tweedie,
            SquaredLogError,
            CrossEntropy,
        )
    }
)
"""The losses of one score per target, which several targets may have."""

REGRESSION_LOSSES: Mapping[str, type[Loss]] = MappingProxyType(
    {**POINT_LOSSES, **{loss.name: loss for loss in _SEVERAL_SCORES}}
)
"""All losses of numbers."""

SURVIVAL_LOSSES: Mapping[str, type[SurvivalLoss]] = MappingProxyType(
    {loss.name: loss for loss in (Cox, Aft, DiscreteTime, CauseSpecific, FineGray)}
)

TASK_LOSSES: Mapping[str, Mapping[str, type[Loss]]] = MappingProxyType(
    {"ranking": RANKING_LOSSES, "survival": SURVIVAL_LOSSES}
)
"""The losses of tasks besides regression and classification."""


def _log_loss(n_classes: int) -> Loss:
    """Return the deviance: one score per row for two classes, else one score per class."""
    return Logistic() if n_classes <= 2 else Multinomial(n_classes)


def _exponential(n_classes: int) -> Loss:
    """Return AdaBoost's loss: one score per row for two classes, else one score per class."""
    return Exponential() if n_classes <= 2 else ClassExponential(n_classes)


def _squared_error(n_classes: int) -> Loss:
    """Return the squared error: one score per row for two classes, else one score per class."""
    return BinarySquaredError() if n_classes <= 2 else ClassSquaredError(n_classes)


def _margin_loss(kind: Any) -> Callable[[int], Loss]:
    """Return a function of the number of classes that makes a loss with default parameters."""
    return lambda n_classes: kind(n_classes=n_classes)


# Functions of the number of classes.
CLASSIFICATION_LOSSES: Mapping[str, Callable[[int], Loss]] = MappingProxyType(
    {
        "log_loss": _log_loss,
        "exponential": _exponential,
        "squared_error": _squared_error,
        "cumulative_logit": CumulativeLogit,
        "cumulative_probit": CumulativeProbit,
        **{kind.name: _margin_loss(kind) for kind in (Focal, Brier, Hinge, OneVsRest)},
    }
)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


def is_class_loss(loss: Loss) -> bool:
    """Return whether a loss is one of this library for classes, not a subclass of it."""
    if isinstance(loss, FormulaLoss):
        return loss.of_classes
    return any(
        type(loss) is type(make(max(2, loss.n_outputs))) for make in CLASSIFICATION_LOSSES.values()
    )


register_loss(FormulaLoss)  # a file has the formula
