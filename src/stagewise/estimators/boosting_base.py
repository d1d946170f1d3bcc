"""What the boosting estimators share: the way from `fit` to a Model.

The one idea: everything that `fit` was given is read and checked, in one order for all of them,
before anything is learned. Must not know how boosting works (`stagewise.boosting`) nor how columns
are read (`stagewise.data`).
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.boosting.methods import Method
from stagewise.data import Features, match_targets
from stagewise.estimators.report_mixin import Reported
from stagewise.estimators.tree_scores import ScoredTrees
from stagewise.losses import Loss, MultiTargetLoss
from stagewise.model.model import Model
from stagewise.training.boosting_trainer import Fit
from stagewise.training.columns import learn_columns, match_columns, read_training
from stagewise.training.describe import describe
from stagewise.training.report import fit_report, rows_of_columns
from stagewise.training.row_set import (
    Sample,
    counted_rows,
    group_numbers,
    hold_out,
    make_folds,
)
from stagewise.training.sampling_options import EVERYTHING, choose_seed
from stagewise.training.warm_start import check_loss, model_to_continue
from stagewise.validation.defaults import AUTO_RULES, RATE, settled
from stagewise.validation.parameters import all_parameters, check_parameters
from stagewise.validation.tree_needs import reads_sparse
from stagewise.workers import make_workers

__all__ = ["BoostedTrees"]

Vector = npt.NDArray[np.float64]

ANY_CLASSES = np.arange(2)
"""Stands for the classes where they are not known yet."""


class BoostedTrees(Reported, ScoredTrees):
    """Base of the estimators; see `GradientBoostingRegressor` for the parameters."""

    _fixed: Mapping[str, Any] = MappingProxyType({})
    """What an estimator that has no such parameters does about the tree's."""
    averages = False
    """Whether a prediction is the mean of what trees say, not their sum."""

    # ---- what a subclass says about its target -------------------------------------------------

    @abstractmethod
    def _read_target(
        self, y: Any, sample_weight: Any, n_rows: int
    ) -> tuple[npt.NDArray[Any], Vector | None, npt.NDArray[Any] | None]:
        """Return y on the loss's scale (or codes), weights, and classes or None."""

    @abstractmethod
    def _read_validation_target(
        self, y: Any, sample_weight: Any, n_rows: int, classes: npt.NDArray[Any] | None
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        """Return the same for held-out rows, which must speak of the same classes."""

    @abstractmethod
    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        """Return the loss to minimise."""

    @abstractmethod
    def _method(self) -> Method:
        """Return the algorithm; parameters have been checked."""

    def _fit_class(self) -> type[Fit]:
        return Fit

    def _target_names(self, y: Any) -> tuple[str, ...] | None:
        """Return what several targets are called, if they are called anything."""
        return None

    def _checked(self) -> dict[str, Any]:
        """Return all parameters, those that are not the user's included, in their plain types."""
        return {**EVERYTHING, **self._fixed, **check_parameters(self)}

    def _settled(self) -> dict[str, Any]:
        """Return the same with a number for every "auto", as a fit would have it now."""
        params = self._checked()
        before = getattr(self, "learning_rate_", None) if params["warm_start"] else None
        return settled(params, before)

    # ---- fitting -------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
            Numbers and, as `categorical_features` says, categories. NaN, None, NA and NaT are
            missing values, as are the `missing_values`; ±inf are ordinary ones.
        y : array-like of shape (n_rows,)
            The target; of `GradientBoostingRegressor` also several, shape (n_rows, n_targets).
        sample_weight : array-like of shape (n_rows,) or None
            Whole numbers are counts: 2 is the row twice, 0 its absence. Otherwise only the ratios
            of the weights matter.
        X_val, y_val, sample_weight_val
            Rows to stop early by, instead of a share of X; with them early stopping is on.
        groups : array-like of shape (n_rows,) or None
            For early_stopping="cv": rows of one group are never in different folds. For
            sampling="group": a round sees all of them, or none.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        params = self._settled()
        self._check_stopping(params, X_val, groups)
        caller = type(self).__name__
        workers = make_workers(self.n_jobs)
        known = self.model_.features if params["warm_start"] and hasattr(self, "model_") else None
        table = read_training(X, params, caller, known)
        target, weight, classes = self._read_target(y, sample_weight, table.n_rows)
        targets = self._target_names(y)
        previous = model_to_continue(self, params, classes, target, targets)
        seed = self._choose_seed(params["random_state"], previous)
        rows, held = counted_rows(weight), None
        if X_val is None and params["early_stopping"] is True:
            share, by_class = params["validation_fraction"], classes is not None
            option = params.get("held_out_for", "early_stopping=True")
            rows, held = hold_out(rows, target, share, seed, by_class=by_class, option=option)
        features, columns, unseen = learn_columns(table, params, known, weight, rows, held)
        train = Sample.choose(columns, rows, target, weight)
        valid, unseen_val = self._validation(
            X_val, match_targets(y_val, targets), sample_weight_val, features, classes, params
        )
        if held is not None:
            valid = Sample.choose(columns, held, target, weight)
        folds = None
        if params["early_stopping"] == "cv":
            by_class = classes is not None
            folds = make_folds(params["cv"], train, target, groups, seed, by_class=by_class)
        if previous is not None and getattr(self, "fit_report_", {}).get("method_ended"):
            params["n_estimators"] = previous.ensemble.n_rounds  # as an uninterrupted fit would
        loss = self._make_loss(classes)
        if target.ndim > 1:
            loss = MultiTargetLoss(loss, target.shape[1])
        if previous is not None:
            check_loss(previous, loss)
        drawn = self._drawn_groups(params, groups, train, table.n_rows)
        fit = self._fit_class()(params, self._method(), loss, workers, seed, begin, drawn)
        model, details = fit.run(train, valid, features, classes, previous, folds)
        self._adopt(model if targets is None else replace(model, targets=targets))
        self._keep_out_of_fold(details, train, table.n_rows)
        continued = 0 if previous is None else previous.ensemble.n_rounds
        self._keep_out_of_bag(params, details, train, table.n_rows, continued)
        self.seed_, self.learning_rate_ = seed, params["learning_rate"]
        details.update(self._resolved(params))
        details["values_taken_as_missing"] = rows_of_columns(features, table.taken_as_missing)
        details["values_unseen"] = rows_of_columns(features, unseen.rows_per_column + unseen_val)
        self.fit_report_ = fit_report(details, self, workers, begin)
        return self

    def _resolved(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the numbers that a fit used where parameters leave them open."""
        names = (*AUTO_RULES, "permutations")
        return {name: params[name] for name in names if name in params}

    def _check_stopping(self, params: dict[str, Any], X_val: Any, groups: Any) -> None:
        by_folds, by_groups = params["early_stopping"] == "cv", params["sampling"] == "group"
        if groups is not None and not (by_folds or by_groups):
            raise ValueError(
                "groups was passed, but only early_stopping='cv' has folds, and only "
                "sampling='group' draws groups."
            )
        if by_groups and groups is None:
            raise ValueError("sampling='group' needs groups: pass them to fit, one for each row.")
        if by_groups and X_val is None and params["early_stopping"] is True:
            raise ValueError(
                "early_stopping=True holds single rows out, which would tear groups apart. Use "
                "early_stopping='cv', or pass X_val and y_val of other groups."
            )
        if by_folds and X_val is not None:
            raise ValueError("early_stopping='cv' holds rows out itself; leave X_val out.")
        if by_folds and params["warm_start"]:
            raise ValueError(
                "early_stopping='cv' chooses the number of rounds and fits them anew, so there is "
                "nothing for warm_start to continue. Set one of them to False."
            )

    def _drawn_groups(
        self, params: dict[str, Any], groups: Any, train: Sample, n_rows: int
    ) -> npt.NDArray[np.uint32] | None:
        by_groups = params["sampling"] == "group"
        return group_numbers(groups, train, n_rows) if by_groups else None

    def _keep_out_of_fold(self, details: dict[str, Any], train: Sample, n_rows: int) -> None:
        """Set what the folds' models said of the rows they had not seen; NaN elsewhere."""
        scores = details.pop("out_of_fold_scores", None)
        if scores is None:
            self.__dict__.pop("oof_prediction_", None)
            return
        known = self._answer(self._fitted(), np.ascontiguousarray(scores.T))
        self.oof_prediction_ = train.spread(known, n_rows)

    def _keep_out_of_bag(
        self,
        params: dict[str, Any],
        details: dict[str, Any],
        train: Sample,
        n_rows: int,
        continued: int = 0,
    ) -> None:
        """Set how much each round improved the loss of the rows that it had not seen."""
        improvement = details.pop("out_of_bag")
        if params["out_of_bag"]:
            before = getattr(self, "oob_improvement_", np.zeros(continued))[:continued]
            self.oob_improvement_ = np.concatenate([before, improvement])
        else:
            self.__dict__.pop("oob_improvement_", None)

    @property
    def oob_best_iteration_(self) -> int:
        """The number of rounds after which the rows outside the bags were predicted best.

        Σ of the improvements is largest there; usually fewer than a held-out set would choose.
        """
        self._fitted()
        if not len(getattr(self, "oob_improvement_", ())):
            raise AttributeError(
                f"this {type(self).__name__} has no oob_best_iteration_: it was fitted without "
                "out_of_bag=True, or read from a file."
            )
        return int(np.argmax(np.cumsum(self.oob_improvement_))) + 1

    def _choose_seed(self, random_state: Any, previous: Model | None) -> int:
        if previous is not None and hasattr(self, "seed_"):
            return int(self.seed_)
        return choose_seed(random_state)

    def _validation(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        features: Features,
        classes: npt.NDArray[Any] | None,
        params: dict[str, Any],
    ) -> tuple[Sample | None, Counter[int]]:
        """Return rows to stop early by, and in how many each column holds what is no level."""
        self._check_held_out(X, y, sample_weight)
        if X is None:
            return None, Counter()
        table = features.read(X, type(self).__name__)
        if table.n_rows == 0:
            raise ValueError("X_val has no rows.")
        codes, weight = self._held_out_target(y, sample_weight, table.n_rows, classes)
        rows = counted_rows(weight)
        _, columns, unseen = match_columns(table, params, features, rows)
        return Sample.choose(columns, rows, codes, weight), unseen.rows_per_column

    def _check_held_out(self, X: Any, y: Any, sample_weight: Any) -> None:
        if (X is None) != (y is None):
            raise ValueError("X_val and y_val go together; one of them was not passed.")
        if X is None and sample_weight is not None:
            raise ValueError("sample_weight_val was passed without X_val and y_val.")

    def _held_out_target(
        self, y: Any, sample_weight: Any, n_rows: int, classes: npt.NDArray[Any] | None
    ) -> tuple[npt.NDArray[Any], Vector | None]:
        try:
            return self._read_validation_target(y, sample_weight, n_rows, classes)
        except (TypeError, ValueError) as error:
            # The words are those for y and sample_weight; say that others are meant.
            raise type(error)(f"In y_val or sample_weight_val: {error}") from None

    def _adopt(self, model: Model) -> None:
        """Set every fitted attribute from a model."""
        self._adopt_columns(model)
        self.n_iter_ = model.ensemble.n_rounds
        self.train_loss_ = model.train_loss
        self.validation_loss_ = model.valid_loss
        if model.targets is not None:
            self.target_names_ = np.array(model.targets, dtype=object)
        elif hasattr(self, "target_names_"):
            del self.target_names_

    @classmethod
    def from_model(cls, model: Model, params: Mapping[str, Any], notes: Mapping[str, Any]) -> Self:
        """Return an estimator with these parameters that has learned this model."""
        estimator = super().from_model(model, params, notes)
        # Files of before "auto" have no rate beside the parameters.
        rate = notes.get("learning_rate", params.get("learning_rate", RATE))
        estimator.learning_rate_ = RATE if rate == "auto" else rate
        return estimator

    def _notes(self) -> dict[str, Any]:
        return {**super()._notes(), "learning_rate": self.learning_rate_}

    def recipe(self) -> str:
        """Say in one line what a fit runs: loss x step x learner x rows x rounds."""
        p = self._settled()
        loss = p["loss"] if isinstance(p["loss"], Loss) else self._make_loss(ANY_CLASSES)
        name = p["loss"] if isinstance(p["loss"], str) else type(loss).__name__
        return describe(p, name, self._method().describe(loss))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = reads_sparse(all_parameters(self))
        return tags
