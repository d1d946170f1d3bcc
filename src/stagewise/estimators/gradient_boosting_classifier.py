"""Gradient boosting for classification."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.recipe import BY_RESPONSE, Recipe
from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.estimators.bases.boosting import BaseBoosting, OutOfBagMixin
from stagewise.estimators.bases.fit_mixin import ANY_CLASSES
from stagewise.estimators.bases.predictions.calibrated import CalibratedModel
from stagewise.estimators.bases.predictions.class_targets import ClassTargetPredictions
from stagewise.estimators.bases.predictions.classifier import make_class_loss
from stagewise.estimators.bases.predictions.prediction_sets import SetPredictions
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.parameters.make_specs import BOOSTING_RULES, BOOSTING_USES, tree_adapter
from stagewise.estimators.parameters.warm_start import check_same_classes
from stagewise.losses import BinaryTargetsLoss, Loss
from stagewise.model.model import Model
from stagewise.training.reading.target_reader import OrderedClassReader, TargetReader
from stagewise.training.specs import LearnerAdapter
from stagewise.validation.messages import short_repr
from stagewise.validation.parameters import suggests_names

__all__ = ["GradientBoostingClassifier"]


class GradientBoostingClassifier(
    CalibratedModel,
    SetPredictions,
    ClassTargetPredictions,
    TreeAttributes,
    OutOfBagMixin,
    BaseBoosting,
):
    """Boosted trees that predict a class, and the probability of every class.

    Two classes share one score, p = 1 / (1 + e^-F). K > 2 classes have one score each,
    p = softmax(F).

    Parameters
    ----------
    loss : {"log_loss", "exponential", "focal", "brier", "hinge", "one_vs_rest", \
"cumulative_logit", "cumulative_probit"}, Loss or function, default="log_loss"
        The loss to minimise: the deviance, or AdaBoost's exponential loss, or one of those of
        docs/losses.md, all for two or for more classes; the cumulative losses are for ordered
        classes, with one score and learned thresholds (docs/ordinal.md). Or an object derived from
        `stagewise.losses.Loss` whose `mean` are probabilities, such as one from a formula; or a
        function (y, score) -> (gradient, hessian) of class codes and log odds. Several targets, y
        of shape (n_rows, n_targets), have two classes each (docs/multi-label.md).
    init : {"mean", "zero"}, float, sequence of floats or estimator, default="mean"
        F before the first round. "mean": the best constant of the loss, such as the log odds of the
        classes. "zero": 0, all classes have the same probability. A number: this score, as of
        `decision_function`; or one for each class. An estimator with `predict_proba`: the scores of
        its probabilities; see `GradientBoostingRegressor`.
    n_estimators : int or "auto", default="auto"
        The largest number of rounds. A round is one tree; with more than two classes it is one tree
        for each, unless leaves="vector". "auto": held-out rows choose it; see
        `GradientBoostingRegressor`.
    leaves : {"auto", "constant", "linear", "vector"} or LinearLeaves, default="auto"
        "constant": a leaf is a number. "linear": a leaf is a linear model in the numeric features
        of its path; see `LinearLeaves`. "vector", for more than two classes: a round is one tree
        whose leaves have a value for each class; it is split where the sum of their gains is
        largest. "auto": "constant"; with n_estimators="auto" and more than eight classes "vector".
    class_weight : dict, "balanced" or None, default=None
        The factor of the weights of each class's rows. "balanced" gives every class the same sum of
        weights. A class of weight 0 is absent. `min_samples_leaf` counts these weights as it counts
        sample weights; with 1, one row of any class is enough.
    conformal : {None, "split", "cv"} or Conformal, default=None
        Conformity scores for `predict_set`, of rows that were not used to fit the model that
        predicts them. "cv": rows that folds hold out. "split": a fifth of the rows, which the fit
        does not use. None: none. See `Conformal` for scores and groups, and docs/intervals.md.
    calibration : {None, "auto", "temperature", "beta", "isotonic"}, default=None
        A map of the probabilities that is fitted to rows that were not used to fit the model that
        predicts them: those that folds, `early_stopping` or X_val hold out.
        Their weights are those that were passed, without `class_weight`. "temperature":
        softmax(F / T); with `class_weight` also a constant for each class. "beta": three numbers
        for each class. "isotonic": an increasing function. "auto": the one with the least log loss
        of other rows. `decision_function` is not calibrated. See docs/calibration.md.
    class_order : sequence of labels or None, default=None
        The classes from the lowest to the highest, for losses of ordered classes. None: the order
        of numbers, or that of an ordered categorical; text of more than two classes is an error.
    response, learning_rate, max_leaf_nodes, max_depth, min_samples_leaf, min_hessian, \
l1_regularization, l2_regularization, min_gain, max_step, grow_policy, path_smoothing, \
max_features, subsample, sampling, oob_score, dropout, monotonic_cst, interaction_cst, \
feature_penalty, split, max_bins, missing_values, categorical_features, category_encoding, \
handle_unknown, early_stopping, validation_fraction, n_iter_no_change, tol, eval_metric, \
time_limit, warm_start, random_state, n_jobs, verbose, callbacks
        As in `GradientBoostingRegressor`; `monotonic_cst` constrains the scores of the classes.

    Attributes
    ----------
    classes_ : array
        The labels, sorted; of ordered classes, in their order.
    thresholds_ : float64 array
        Of ordered classes: P(y ≤ k) = G(thresholds_[k] - F).
    model_, n_iter_, best_iteration_, learning_rate_, train_loss_, validation_loss_, \
evals_result_, best_score_, \
held_out_rows_, feature_importances_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingRegressor`.
    n_classes_ : int
        The number of classes.
    oob_best_iteration_, seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _rules = BOOSTING_RULES
    _uses = BOOSTING_USES
    _takes_offset = True
    _scores_of_targets = True

    @suggests_names
    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        init: Any = "mean",
        response: str = "newton",
        learning_rate: float | str = "auto",
        n_estimators: int | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | str | None = "auto",
        min_samples_leaf: float | str = "auto",
        min_hessian: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float | str = "auto",
        min_gain: float = 0.0,
        max_step: float | None = None,
        leaves: Any = "auto",
        grow_policy: str = "auto",
        path_smoothing: float = 0.0,
        max_features: Any = "auto",
        subsample: float | str = "auto",
        sampling: Any = "auto",
        oob_score: bool = False,
        dropout: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_penalty: Any = None,
        split: Any = "auto",
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        category_encoding: Any = "auto",
        handle_unknown: str = "missing",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 0.0,
        eval_metric: Any = None,
        time_limit: float | None = None,
        conformal: Any = None,
        calibration: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        class_weight: Any = None,
        class_order: Any = None,
    ) -> None:
        self.loss = loss
        self.init = init
        self.response = response
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_hessian = min_hessian
        self.l1_regularization = l1_regularization
        self.l2_regularization = l2_regularization
        self.min_gain = min_gain
        self.max_step = max_step
        self.leaves = leaves
        self.grow_policy = grow_policy
        self.path_smoothing = path_smoothing
        self.max_features = max_features
        self.subsample = subsample
        self.sampling = sampling
        self.oob_score = oob_score
        self.dropout = dropout
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_penalty = feature_penalty
        self.split = split
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.category_encoding = category_encoding
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.conformal = conformal
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.class_weight = class_weight
        self.class_order = class_order

    def _recipe(self) -> Recipe:
        return BY_RESPONSE[self.response]

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        return tree_adapter(params)

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        classes = ANY_CLASSES if classes is None else classes  # of several targets
        loss = make_class_loss(self.loss, classes, type(self).__name__, ordered=True)
        if self.class_order is not None and not loss.ordered:
            raise InvalidParameterError(
                f"class_order is for losses of ordered classes, 'cumulative_logit' and "
                f"'cumulative_probit', but loss is {short_repr(self.loss)}. Leave class_order at "
                "None, or set one of these."
            )
        return loss

    def _targets_loss(self, targets: tuple[npt.NDArray[Any], ...]) -> BinaryTargetsLoss:
        for k, classes in enumerate(targets):
            if len(classes) > 2:
                raise ValueError(
                    f"Target {k} of y has the {len(classes)} classes "
                    f"{short_repr(classes.tolist()[:6])}. Several targets of gradient boosting "
                    "have two classes each (labels); fit one model for this target, or use "
                    "RandomForestClassifier."
                )
        one = self._make_loss(ANY_CLASSES)
        if one.ordered or one.n_outputs != 1:
            raise InvalidParameterError(
                f"loss={short_repr(self.loss)} cannot be the loss of several targets, which need "
                "one score for two classes. Set loss='log_loss', or fit one model per target."
            )
        return BinaryTargetsLoss(one, [len(classes) for classes in targets])

    def _check_data(
        self, params: dict[str, Any], data: Any, loss: Loss, previous: Model | None
    ) -> None:
        super()._check_data(params, data, loss, previous)
        if data.class_targets is None:
            return
        if hasattr(params["init"], "fit"):
            raise InvalidParameterError(
                f"init={short_repr(params['init'])} is of one target, but y has "
                f"{len(data.class_targets)}. Set init='mean', or fit one model per target."
            )
        if previous is not None:
            check_same_classes(previous, data)

    @classmethod
    def _check_targets(cls, model: Model) -> None:
        targets = model.class_targets or ()
        if model.ensemble.n_outputs != len(targets) or any(len(own) > 2 for own in targets):
            raise ModelFormatError(
                f"a {cls.__name__} has one score for each target of two classes."
            )

    def _target_reader(self) -> TargetReader:
        if self._make_loss(ANY_CLASSES).ordered:
            return OrderedClassReader(type(self).__name__, self.class_weight, self.class_order)
        reader: TargetReader = super()._target_reader()
        return reader

    @property
    def thresholds_(self) -> npt.NDArray[np.float64]:
        """The thresholds between ordered classes: P(y ≤ k) = G(thresholds_[k] - F)."""
        found = self._fitted().learned_by("loss").get("thresholds")
        if found is None:
            raise AttributeError(
                f"thresholds_ is an attribute of models with a loss of ordered classes; this one "
                f"was fitted with loss={short_repr(self.loss)}."
            )
        return found
