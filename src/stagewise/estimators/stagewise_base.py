"""What the two estimators of any loss and any learner share.

The one idea: a tree of the core goes the way of all boosted trees; for any other learner the rows
are passed on as they were given, and the terms of the model are fitted estimators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stagewise.boosting import responses, steps
from stagewise.boosting.methods import Method
from stagewise.boosting.steps import Step
from stagewise.errors import InvalidParameterError
from stagewise.estimators.boosting_base import BoostedTrees
from stagewise.learners.estimator import check_learner
from stagewise.learners.histogram_tree import HistogramTree
from stagewise.losses import Loss
from stagewise.model.model import Model
from stagewise.training.boosting_trainer import Fit
from stagewise.training.describe import STOPPED
from stagewise.training.estimator_learner import TermFit, TreeFit
from stagewise.training.passthrough import Heading, pass_on
from stagewise.training.report import ONE_VALUE, fit_report, warn_of_one_class
from stagewise.training.row_set import Sample, counted_rows, hold_out, make_folds
from stagewise.training.sampling_options import make_sampling
from stagewise.validation.messages import short_repr, warn_caller
from stagewise.validation.parameters import check_tree
from stagewise.workers import make_workers

__all__ = ["RESPONSES", "STEPS", "Stagewise"]

Vector = npt.NDArray[np.float64]

RESPONSES = MappingProxyType(
    {
        "newton": responses.newton,
        "gradient": responses.gradient,
        "classes": responses.classes,
    }
)
STEPS: Mapping[str, Callable[[float], Step]] = MappingProxyType(
    {
        "newton": lambda most: steps.newton,
        "region_optimum": steps.region_optimum,
        "line_search": lambda most: steps.line_search,
        "votes": lambda most: steps.votes,
        "log_odds": lambda most: steps.log_odds,
    }
)
OF_CLASSES = ("votes", "log_odds")
OF_LEAVES = ("region_optimum", "log_odds")
ONLY_OF_TREES = (
    ("max_bins", 255),
    ("missing_values", ()),
    ("categorical_features", "from_dtype"),
    ("on_unseen", "missing"),
)


class Stagewise(BoostedTrees):
    """Base of the two; parameters that are not theirs are those of a plain fit."""

    learner: Any
    response: str
    step: str
    _fixed = MappingProxyType({"warm_start": False})

    def _checked(self) -> dict[str, Any]:
        params = super()._checked()
        if params["learner"] is None:
            params["learner"] = HistogramTree()
        learner, who = params["learner"], type(self).__name__
        tree, of_classes = isinstance(learner, HistogramTree), params["response"] == "classes"
        if tree:
            check_tree(learner, who)
        else:
            try:
                check_learner(learner, of_classes=of_classes)
            except ValueError as error:
                raise InvalidParameterError(
                    f"The parameter 'learner' of {who} must be {error}; got {short_repr(learner)}."
                ) from None
        self._check_step(params["step"], tree=tree, of_classes=of_classes)
        # Nothing is ignored: what the learner cannot use must be left alone.
        for name, usual in (("resample", False),) if tree else ONLY_OF_TREES:
            if params[name] != usual:
                raise InvalidParameterError(
                    f"The parameter {name!r} of {who} has no use with this learner, "
                    f"{type(learner).__name__}; leave it at its default. Got {params[name]!r}."
                )
        return params

    def _check_step(self, step: str, *, tree: bool, of_classes: bool) -> None:
        allowed = [name for name in STEPS if of_classes == (name in OF_CLASSES)]
        if not tree:
            allowed = [name for name in allowed if name not in OF_LEAVES]
        if step not in ("auto", *allowed):
            why = "" if tree else ", whose terms have no leaves"
            raise InvalidParameterError(
                f"The parameter 'step' of {type(self).__name__} must be 'auto' or one of "
                f"{', '.join(map(repr, allowed))} with response={self.response!r} and this "
                f"learner{why}; got {step!r}."
            )

    def _method(self) -> Method:
        response = RESPONSES[self.response]
        tree = self.learner is None or isinstance(self.learner, HistogramTree)

        def make(loss: Loss, most: float) -> Step:
            name = self.step
            if name == "auto":
                regions = loss.leaf_quantile is not None or self.response == "gradient"
                optimum = "region_optimum" if tree else "line_search"
                name = optimum if regions else "newton"
                name = "votes" if self.response == "classes" else name
            return STEPS[name](most)

        words = self.step.replace("_", " ") + " steps"
        return Method(words, response, make, from_zero=response.of_classes)

    def _fit_class(self) -> type[Fit]:
        tree = self.learner is None or isinstance(self.learner, HistogramTree)
        return TreeFit if tree else TermFit

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
            For trees numbers and categories, NaN included; for another learner whatever that
            learner takes.
        y : array-like of shape (n_rows,)
            The target.
        sample_weight : array-like of shape (n_rows,) or None
            Whole numbers are counts: 2 is the row twice, 0 its absence.
        X_val, y_val, sample_weight_val
            Rows to stop early by, instead of a share of X; with them early stopping is on.
        groups : array-like of shape (n_rows,) or None
            For early_stopping="cv": rows of one group are never in different folds. For
            sampling="group": a round sees all of them, or none.

        Returns
        -------
        self
        """
        if self._fit_class() is TreeFit:
            held = {"X_val": X_val, "y_val": y_val, "sample_weight_val": sample_weight_val}
            return super().fit(X, y, sample_weight, groups=groups, **held)
        begin = time.perf_counter()
        params = self._checked()
        self._check_stopping(params, X_val, groups)
        workers = make_workers(self.n_jobs)
        X, heading = pass_on(X, type(self).__name__)
        target, weight, classes = self._read_target(y, sample_weight, X.n_rows)
        seed = self._choose_seed(params["random_state"], None)
        rows, held_rows = counted_rows(weight), None
        if X_val is None and params["early_stopping"] is True:
            share = params["validation_fraction"]
            rows, held_rows = hold_out(rows, target, share, seed, by_class=classes is not None)
        train = Sample.choose(X, rows, target, weight)
        valid = self._held_out(X_val, y_val, sample_weight_val, classes, heading)
        if held_rows is not None:
            valid = Sample.choose(X, held_rows, target, weight)
        if classes is not None and len(classes) == 1:
            warn_of_one_class(classes)
        elif classes is None and (train.y == train.y[0]).all():
            warn_caller(ONE_VALUE)
        loss = self._make_loss(classes)
        drawn = self._drawn_groups(params, groups, train, X.n_rows)
        fit = TermFit(params, self._method(), loss, workers, seed, begin, drawn)
        folds = None
        if params["early_stopping"] == "cv":
            by_class = classes is not None
            folds = make_folds(params["cv"], train, target, groups, seed, by_class=by_class)
        model, details = fit.run(train, valid, heading, classes, None, folds)
        self._adopt(model)
        self._heading = heading
        heading.put_on(self)
        self._keep_out_of_fold(details, train, X.n_rows)
        self._keep_out_of_bag(params, details, train, X.n_rows)
        self.seed_, self.learning_rate_ = seed, params["learning_rate"]
        details["learning_rate"] = params["learning_rate"]
        self.fit_report_ = fit_report(details, self, workers, begin)
        return self

    def _held_out(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: npt.NDArray[Any] | None,
        heading: Heading,
    ) -> Sample | None:
        self._check_held_out(X, y, sample_weight)
        if X is None:
            return None
        rows = heading.match(X, type(self).__name__)
        if rows.n_rows == 0:
            raise ValueError("X_val has no rows.")
        codes, weight = self._held_out_target(y, sample_weight, rows.n_rows, classes)
        return Sample.choose(rows, counted_rows(weight), codes, weight)

    def _adopt(self, model: Any) -> None:
        if isinstance(model, Model):
            super()._adopt(model)
            return
        self.model_ = model
        self.n_iter_ = model.ensemble.n_rounds
        self.train_loss_ = model.train_loss
        self.validation_loss_ = model.valid_loss
        if model.classes is not None:
            self.classes_ = model.classes

    def _staged_score(self, X: Any) -> Iterator[Vector]:
        model: Any = self._fitted()
        if isinstance(model, Model):
            yield from super()._staged_score(X)
            return
        rows = self._heading.match(X, type(self).__name__)
        stages = model.ensemble.staged_scores(rows.X, rows.n_rows)
        next(stages)  # the constant
        yield from stages

    def _score(self, X: Any) -> Vector:
        model: Any = self._fitted()
        if isinstance(model, Model):
            return super()._score(X)
        rows = self._heading.match(X, type(self).__name__)
        return np.asarray(model.ensemble.score(rows.X, rows.n_rows))

    @property
    def feature_importances_(self) -> Vector:
        """Each feature's share of the gain of all splits; only trees have any."""
        self._only_trees("feature_importances_")
        return super().feature_importances_

    @property
    def apply(self) -> Any:
        """The method of trees that returns the leaf of each row in every tree; else absent."""
        self._only_trees("apply")
        return super().apply

    def _only_trees(self, what: str) -> None:
        if self._fit_class() is not TreeFit:
            raise AttributeError(
                f"{type(self).__name__} has {what} only with a tree as learner, and this one is "
                f"{type(self.learner).__name__}."
            )

    def save(self, path: str | PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file, if its terms are trees; see `GradientBoostingRegressor`."""
        if not isinstance(self._fitted(), Model):
            raise ValueError(
                f"A model of {type(self.learner).__name__} terms cannot be saved to a file, which "
                "holds no code. Pickle the estimator instead (joblib.dump), or take a tree as "
                "learner."
            )
        super().save(path, notes=notes)

    def _plain_params(self) -> dict[str, Any]:
        params = super()._plain_params()
        learner = params["learner"]
        params["learner"] = None if learner is None else dict(vars(learner))
        return params

    @classmethod
    def from_model(cls, model: Model, params: Mapping[str, Any], notes: Mapping[str, Any]) -> Self:
        """Return an estimator with these parameters that has learned this model."""
        learner = params.get("learner")
        tree = None if learner is None else HistogramTree(**learner)
        return super().from_model(model, {**params, "learner": tree}, notes)

    def recipe(self) -> str:
        """Say in one line what a fit runs: loss x response x step x learner x rows x rounds."""
        p = self._checked()
        loss = p["loss"] if isinstance(p["loss"], str) else type(p["loss"]).__name__
        learner, rows = p["learner"], make_sampling(p).words
        stop = STOPPED[p["early_stopping"]]
        return (
            f"{loss} x {p['response']} x {p['step'].replace('_', ' ')} step x "
            f"{type(learner).__name__} x {rows} x {p['n_estimators']} rounds{stop}, "
            f"ν={p['learning_rate']:g}"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self.learner
        if hasattr(learner, "__sklearn_tags__") and not isinstance(learner, type):
            theirs = learner.__sklearn_tags__().input_tags
            tags.input_tags.allow_nan = theirs.allow_nan
            tags.input_tags.categorical = theirs.categorical
            tags.input_tags.sparse = theirs.sparse
        return tags
