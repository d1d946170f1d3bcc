"""AdaBoost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from stagewise.boosting.recipe import DISCRETE, REAL, Recipe
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.estimator_sequence import EstimatorSequence
from stagewise.estimators.bases.estimator_terms import ONLY_OF_TREES, EstimatorTerms
from stagewise.estimators.bases.predictions.classifier import ClassifierPredictions
from stagewise.estimators.bases.predictions.staged_score import StagedScore
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.losses import CLASSIFICATION_LOSSES, Loss
from stagewise.model.model import Model
from stagewise.model.terms import TermModel
from stagewise.training.adapters.estimator_adapter import EstimatorAdapter
from stagewise.training.specs import LearnerAdapter
from stagewise.validation.parameters import all_parameters, suggests_names

__all__ = ["AdaBoostClassifier"]

Vector = npt.NDArray[np.float64]

OF_TREES = MappingProxyType(
    {
        "algorithm": "discrete",
        "criterion": "misclassification",
        "max_leaf_nodes": None,
        "max_depth": 1,
        "min_samples_leaf": 1,
        **ONLY_OF_TREES,
        "warm_start": False,
    }
)
"""Parameters that an estimator of another library cannot use, and their defaults."""


class AdaBoostClassifier(
    EstimatorSequence,
    StagedScore,
    EstimatorTerms,
    ClassifierPredictions,
    TreeAttributes,
    BaseBoosting,
):
    """AdaBoost: classifiers that are fitted with row weights that grow with the errors so far.

    Weights w = e^(-margin) start equal. Every round fits a classification tree, or any other
    classifier, with these weights and adds its values to the scores, which is forward stagewise
    additive modelling with the exponential loss:

    - "discrete" (AdaBoost.M1, Freund & Schapire 1997; SAMME, Zhu et al. 2009): the tree votes with
      α = log((1 - err) / err) + log(K - 1), err its weighted error;
    - "real" (Friedman, Hastie & Tibshirani 2000, Algorithm 2; SAMME.R): every leaf has the values
      (K-1) (log p_k - mean log p), for two classes ½ log(p / (1-p)), p its shares of weight.

    `decision_function` is F. With two classes its sign is the predicted class; with K classes the
    predicted class has the largest score.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        The classifier that is fitted in every round, of this library or any other; None: a tree by
        the parameters below. It votes, so it needs algorithm="discrete", and the parameters of
        trees and tables must have their defaults. It is cloned for every round; a ``random_state``
        of None is replaced by a number that depends on `random_state` and on the round.
    resample : bool, default=False
        Whether an estimator whose `fit` has no argument ``sample_weight`` gets rows that are drawn
        in proportion to their weights instead (boosting by resampling). If False, such an estimator
        is an error.
    algorithm : {"discrete", "real"}, default="discrete"
        The values that a tree adds to the scores.
    criterion : {"misclassification", "gini", "entropy"}, default="misclassification"
        The impurity that a split lowers. For trees deeper than a stump, "gini" and "entropy" work
        better.
    learning_rate : float, default=1.0
        ν, the factor of every tree.
    n_estimators : int, default=100
        The largest number of rounds.
    max_leaf_nodes, max_depth : int or None, default=None and 1
        The largest number of leaves, and the largest number of splits between the root and a leaf.
        By default a tree is a stump.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf; with weights, the smallest sum of weights, exactly.
        With 1, one row is enough, if it has a thousandth of the mean weight.
    subsample, max_bins, missing_values, categorical_features, handle_unknown, early_stopping, \
validation_fraction, n_iter_no_change, tol, eval_metric, time_limit, warm_start, random_state, \
n_jobs, verbose, callbacks, class_weight
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    estimators_ : list of fitted classifiers
        The classifier of every round. A tree is an `AdaBoostClassifier` of one round; another
        `estimator` is fitted to, and predicts, the positions of the classes in `classes_`.
    estimator_weights_ : float64 array of shape (n_iter_,)
        ν α_m, the weights of the votes; only for algorithm="discrete".
    estimator_errors_ : float64 array of shape (n_iter_,)
        err_m, the weighted error rates that α_m follows from; only for algorithm="discrete". A
        classifier without errors has the α, and the error, of one with half a row wrong.
    model_, n_iter_, best_iteration_, train_loss_, validation_loss_, \
evals_result_, best_score_, feature_importances_, \
classes_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingClassifier`.
    learning_rate_, n_classes_, seed_
        As in `GradientBoostingClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import AdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AdaBoostClassifier(n_estimators=20).fit(X, y).predict_proba(X[:2]).shape
    (2, 3)
    """

    @suggests_names
    def __init__(
        self,
        estimator: Any = None,
        *,
        resample: bool = False,
        algorithm: str = "discrete",
        criterion: str = "misclassification",
        learning_rate: float = 1.0,
        n_estimators: int = 100,
        max_leaf_nodes: int | None = None,
        max_depth: int | None = 1,
        min_samples_leaf: float = 1,
        subsample: float = 1.0,
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        early_stopping: Any = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.estimator = estimator
        self.resample = resample
        self.algorithm = algorithm
        self.criterion = criterion
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.subsample = subsample
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.class_weight = class_weight

    _term_parameter = "estimator"

    def _term_estimator(self) -> Any:
        return self.estimator

    def _parameters(self) -> dict[str, Any]:
        params = super()._parameters()
        if self.estimator is None:
            self._check_unused(params, {"resample": False})
        else:
            self._check_term_estimator(self.estimator, of_classes=True)
            self._check_unused(params, OF_TREES)
        return params

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        if self.estimator is None:
            return super()._learner_adapter(params)
        return EstimatorAdapter(self.estimator, params["resample"])

    @property
    def estimators_(self) -> list[Any]:
        """The classifier of every round; trees are made anew each time.

        A tree is a fitted `AdaBoostClassifier` of one round, which predicts the class that the tree
        votes for. It is for predictions and for inspection: its `fit` would fit all rounds.
        """
        model: Any = self._fitted()
        if isinstance(model, TermModel):
            each = model.ensemble.n_outputs
            return [term.estimator for term in model.ensemble.parts[::each]]
        return [self._round_estimator(model, m) for m in range(model.ensemble.n_rounds)]

    def _round_estimator(self, model: Model, m: int) -> AdaBoostClassifier:
        alone = replace(
            model,
            ensemble=model.ensemble.select_rounds([m]),
            train_loss=np.empty(0),
            valid_loss=np.empty(0),
        )
        notes = {"seed": self.seed_, "learning_rate": self.learning_rate_}
        return type(self)._from_model(alone, all_parameters(self), notes)  # noqa: SLF001

    @property
    def estimator_weights_(self) -> Vector:
        """The weights of the votes: ν α_m, α_m = log((1 - err_m) / err_m) + log(K - 1).

        They are read from the values of the terms, whose largest is β = (K-1)²/K · ν α_m, so a
        loaded model has them, too. `stagewise.inspection.ada_boost_path` computes err_m.
        """
        model = self._fitted()
        assert model.classes is not None
        k = max(2, len(model.classes))
        rounds = [np.abs(values) for values in _values_by_round(model)]
        beta = np.array([values.max() for values in rounds], dtype=np.float64)
        voted = all(
            (np.isclose(v, b, rtol=1e-9) | np.isclose(v, b / (k - 1), rtol=1e-9)).all()
            for v, b in zip(rounds, beta, strict=True)
        )
        if self.algorithm != "discrete" or not voted:
            raise AttributeError(
                "Only AdaBoostClassifier(algorithm='discrete') has estimator_weights_ and "
                "estimator_errors_; trees of algorithm='real' add log odds of leaves, not votes."
            )
        return np.asarray(beta * (k / (k - 1) ** 2))

    @property
    def feature_importances_(self) -> Vector:
        """Each feature's share of the gain of all splits.

        Of an `estimator`: its importances, weighted by `estimator_weights_`, if it has them.
        """
        if self.estimator is None:
            return super().feature_importances_
        members = self.estimators_
        if not all(hasattr(member, "feature_importances_") for member in members):
            raise AttributeError(
                f"AdaBoostClassifier has feature_importances_ only if its estimator has them; "
                f"{type(self.estimator).__name__} has none."
            )
        weights = self.estimator_weights_ / self.estimator_weights_.sum()
        return np.asarray(weights @ [member.feature_importances_ for member in members])

    @property
    def estimator_errors_(self) -> Vector:
        """The weighted error rates of the votes: err_m = 1 / (1 + e^α_m / (K - 1)).

        Of a classifier that is no better than chance, whose vote is 0 with row sampling, it is
        1 - 1/K.
        """
        alpha = self.estimator_weights_ / self.learning_rate_
        return np.asarray(expit(np.log(max(2, self.n_classes_) - 1.0) - alpha))

    def _recipe(self) -> Recipe:
        return DISCRETE if self.algorithm == "discrete" else REAL

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        assert classes is not None
        return CLASSIFICATION_LOSSES["exponential"](len(classes))


def _values_by_round(model: Model | TermModel) -> Iterator[Vector]:
    """Yield the values of the leaves, or of the classes, of every round."""
    if isinstance(model, TermModel):
        values, n = [part.value for part in model.ensemble.parts], model.ensemble.n_outputs
    else:
        values = [tree.value[tree.feature < 0] for tree in model.ensemble.trees]
        n = model.ensemble.trees_per_round
    yield from (np.concatenate(values[i : i + n]) for i in range(0, len(values), n))
