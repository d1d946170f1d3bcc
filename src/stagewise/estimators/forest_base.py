"""What forests and single trees share: trees that are averaged, not added up.

The one idea: the same model, f = Σ b_m / M, and the same way to it; what differs from boosting is
that no tree depends on another, so the rows outside their bags can judge them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.forest_loop import Average
from stagewise.boosting.methods import GENTLE, Method
from stagewise.errors import InvalidParameterError
from stagewise.estimators.boosting_base import BoostedTrees
from stagewise.estimators.classifier import BoostedClassifier
from stagewise.estimators.forest_importance import (
    Bags,
    Importances,
    impurity_by_class,
    out_of_bag_importances,
)
from stagewise.estimators.logit_boost import PLAIN_TREES
from stagewise.estimators.r_squared import r_squared
from stagewise.estimators.regressor import BoostedRegressor
from stagewise.losses import CLASSIFICATION_LOSSES, AbsoluteError, Loss, SquaredError
from stagewise.model.model import Model
from stagewise.training.boosting_trainer import Fit
from stagewise.training.describe import tree_words
from stagewise.training.forest_trainer import CommitteeFit, check_averages, columns_share
from stagewise.training.row_set import Sample
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.parameters import check_parameter
from stagewise.validation.rules import Number, OneOf, flag
from stagewise.workers import make_workers

__all__ = ["FIXED", "AveragedClassifier", "AveragedRegressor", "AveragedTrees"]

Vector = npt.NDArray[np.float64]

FIXED = MappingProxyType(
    {
        **PLAIN_TREES,
        "loss": "squared_error",
        "learning_rate": 1.0,
        "warm_start": False,
        "early_stopping": False,
        "random_thresholds": False,
        "callbacks": (),
        "time_limit": None,
        "tol": 0.0,
        "n_iter_no_change": 10,
        "max_step": None,
    }
)
"""What a fit of averaged trees does about parameters that are not theirs."""


def _max_features(value: Any) -> Any:
    """Return a word, a number of columns, a share of them, or None."""
    if value is None or (isinstance(value, str) and value in ("sqrt", "log2", "third")):
        return value
    try:
        if isinstance(value, (float, np.floating)):
            return Number(0.0, 1.0, open_low=True)(value)
        return Number(1, whole=True)(value)
    except ValueError:
        raise ValueError(
            "'sqrt', 'log2', 'third', None, a whole number of columns, or a share above 0.0 and at "
            "most 1.0"
        ) from None


def _flag_or_auto(value: Any) -> Any:
    """Return True, False or "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    try:
        return flag(value)
    except ValueError as error:
        raise ValueError(f"'auto', {error}") from None


OWN_RULES = MappingProxyType(
    {
        "max_features": _max_features,
        "min_impurity_decrease": Number(0.0),
        "bootstrap": flag,
        "split": OneOf(("histogram", "exact")),
        "early_stopping": flag,
        "out_of_bag": _flag_or_auto,
    }
)


def _bag_words(p: Mapping[str, Any]) -> str:
    if p["bootstrap"]:
        return f"bootstrap of {p['subsample']:g} of the rows" if p["subsample"] < 1 else "bootstrap"
    return f"{p['subsample']:g} of the rows" if p["subsample"] < 1 else "all rows"


class AveragedTrees(BoostedTrees):
    """Base of forests and single trees; see `RandomForestRegressor` for the parameters."""

    _fixed = FIXED
    averages = True

    def _fit_class(self) -> type[Fit]:
        return CommitteeFit

    @classmethod
    def _check_model(cls, model: Model) -> None:
        super()._check_model(model)
        check_averages(model, cls.__name__)

    def _method(self) -> Method:
        return GENTLE  # weighted means of the target, from 0

    def _checked(self) -> dict[str, Any]:
        params = super()._checked()
        params["out_of_bag_wanted"] = params["out_of_bag"] is True
        if params["out_of_bag"] == "auto":
            params["out_of_bag"] = params["bootstrap"] or params["subsample"] < 1
        params["stops_by_bags"] = params["early_stopping"] and params["out_of_bag"]
        params["needs_held_out"] = params["early_stopping"] and not params["out_of_bag"]
        params["early_stopping"] = False  # no row is held out for it
        return params

    def _check_stopping(self, params: dict[str, Any], X_val: Any, groups: Any) -> None:
        super()._check_stopping(params, X_val, groups)
        if params["needs_held_out"] and X_val is None:
            raise InvalidParameterError(
                f"early_stopping=True of {type(self).__name__} needs rows that trees have not seen:"
                " set out_of_bag=True, or pass X_val and y_val to fit."
            )

    def _keep_out_of_bag(
        self,
        params: dict[str, Any],
        details: dict[str, Any],
        train: Sample,
        n_rows: int,
        continued: int = 0,
    ) -> None:
        """Set the out-of-bag predictions; NaN for rows that are in every bag."""
        average: Average | None = details.pop("out_of_bag_average", None)
        details.pop("out_of_bag")
        for name in ("oob_prediction_", "oob_score_", "oob_loss_path_"):
            self.__dict__.pop(name, None)
        if average is None or not params["out_of_bag"]:
            return
        scores = np.ascontiguousarray(average.scores().T)
        said = self._answer(self._fitted(), scores)
        known = average.trees > 0
        said[~known] = np.nan
        details["rows_in_every_bag"] = int((~known).sum())
        if params["out_of_bag_wanted"] and not known.all():
            warn_caller(
                f"{details['rows_in_every_bag']} of {len(known)} rows are in the bag of every tree,"
                " so their oob_prediction_ is NaN, and oob_score_ leaves them out. Raise "
                f"n_estimators; it is {params['n_estimators']}."
            )
        weight = None if train.weight is None else train.weight[known]
        self.oob_prediction_ = train.spread(said, n_rows)
        if known.any():
            self.oob_score_ = self._judge(train.y[known], said[known], weight)
        if not details["judged_by_held_out_rows"]:
            self.oob_loss_path_ = self._fitted().valid_loss

    def oob_importances(self, X: Any, y: Any, sample_weight: Any = None) -> Importances:
        """Return by how much trees err more if the cells of a column change places.

        Of every tree, the rows outside its bag are predicted as they are, and once for each column
        with that column's cells exchanged among them (Breiman 2001, section 10).

        Parameters
        ----------
        X, y, sample_weight
            What the forest was fitted on: the bags are drawn again, so these must be the same rows.

        Returns
        -------
        Importances
            `mean` and `error` of each feature, and of classifiers `by_class`: what is lost of the
            share of right answers, or by how much the squared error grows.
        """
        model = self._fitted()
        bootstrap, share = (check_parameter(self, name) for name in ("bootstrap", "subsample"))
        if not bootstrap and share >= 1:
            raise InvalidParameterError(
                f"This {type(self).__name__} showed all rows to all trees, so there is none outside"
                " a bag. Fit it with bootstrap=True or subsample below 1, or permute columns of "
                "rows that you held out (sklearn.inspection.permutation_importance)."
            )
        values = self._match(model, X)
        n_rows = values.shape[0] if hasattr(values, "shape") else len(values[0])
        target, weight, _ = self._read_target(y, sample_weight, n_rows)
        workers, bags = make_workers(self.n_jobs), Bags(bootstrap, share, self.seed_)
        return out_of_bag_importances(model, workers, values, target, weight, bags)

    def select_features(
        self, X: Any, y: Any, sample_weight: Any = None, *, errors: float = 2.0
    ) -> list[Any]:
        """Return the features that rows outside the bags would miss, the most important one first.

        Parameters
        ----------
        X, y, sample_weight
            What the forest was fitted on.
        errors : float, default=2.0
            Those are kept whose `oob_importances` are more than this many standard errors above 0.

        Returns
        -------
        list of str, or of int where columns have no names
            At least one: if none passes, the best.

        Examples
        --------
        >>> import numpy as np
        >>> from stagewise import RandomForestRegressor
        >>> X = np.random.default_rng(0).normal(size=(300, 5))
        >>> y = X[:, 3] + X[:, 1] / 2
        >>> RandomForestRegressor(n_estimators=50).fit(X, y).select_features(X, y)
        [3, 1]
        """
        try:
            least = Number(0.0)(errors)
        except ValueError as error:
            raise InvalidParameterError(
                f"errors must be {error}; got {short_repr(errors)}."
            ) from None
        worth = self.oob_importances(X, y, sample_weight)
        order = np.argsort(-worth.mean, kind="stable").tolist()
        kept = [f for f in order if worth.mean[f] > least * worth.error[f]] or order[:1]
        names = self._fitted().features.names
        return kept if names is None else [names[f] for f in kept]

    def _resolved(self, params: dict[str, Any]) -> dict[str, Any]:
        n = self.n_features_in_
        return {"max_features": round(columns_share(params["max_features"], n) * n)}

    def recipe(self) -> str:
        """Return in one line what a fit does: criterion x trees x rows x average."""
        p = self._checked()
        stopped = " at most, by out-of-bag rows" if p["stops_by_bags"] else ""
        stopped = " at most, by X_val" if p["needs_held_out"] else stopped
        return (
            f"{p['criterion']} x trees ({', '.join(tree_words(p))}) x {_bag_words(p)} "
            f"x average of {p['n_estimators']} trees{stopped}"
        )

    @abstractmethod
    def _judge(self, y: npt.NDArray[Any], said: Vector, weight: Vector | None) -> float:
        """Return the score of what was said of rows: accuracy, or R²."""

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        """Yield the averages of the first one, two, … trees."""
        n, flat = self._fitted().ensemble.n_rounds, self._fitted().ensemble.flat()
        value = flat["value"]
        low, high = (value.min() * n, value.max() * n) if n else (0.0, 0.0)
        for m, score in enumerate(super()._staged_score(X), start=1):
            yield np.clip(score * (n / m), low, high)


class AveragedClassifier(AveragedTrees, BoostedClassifier):
    """Base of the classifiers among them."""

    own_rules = MappingProxyType(
        {**OWN_RULES, "criterion": OneOf(("gini", "entropy", "misclassification"))}
    )

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        assert classes is not None
        return CLASSIFICATION_LOSSES["squared_error"](len(classes))

    @property
    def class_importances_(self) -> npt.NDArray[np.float64]:
        """What each feature is worth to telling each class from the others.

        The decrease of p_k (1 - p_k) by all splits, shape (n_classes, n_features), as shares of the
        whole; with two classes both rows are the same.
        """
        return impurity_by_class(self._fitted())

    def _judge(self, y: npt.NDArray[Any], said: Vector, weight: Vector | None) -> float:
        return float(np.average(said.argmax(axis=1) == y, weights=weight))


class AveragedRegressor(AveragedTrees, BoostedRegressor):
    """Base of the regressors among them."""

    loss = ""
    criterion: str
    own_rules = MappingProxyType(
        {**OWN_RULES, "criterion": OneOf(("squared_error", "absolute_error"))}
    )

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return AbsoluteError() if self.criterion == "absolute_error" else SquaredError()

    def _judge(self, y: npt.NDArray[Any], said: Vector, weight: Vector | None) -> float:
        return r_squared(y, said, weight) if len(y) > 1 else float("nan")
