"""AdaBoost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stagewise.boosting.recipe import DISCRETE, REAL, Recipe
from stagewise.estimators.bases.boosting import BaseBoosting
from stagewise.estimators.bases.classifier import ClassifierPredictions
from stagewise.estimators.bases.tree_attributes import TreeAttributes
from stagewise.losses import CLASSIFICATION_LOSSES, Loss
from stagewise.validation.parameters import suggests_names

__all__ = ["AdaBoostClassifier"]


class AdaBoostClassifier(ClassifierPredictions, TreeAttributes, BaseBoosting):
    """AdaBoost: classification trees with row weights that grow with the errors so far.

    Weights w = e^(-margin) start equal. Every round fits a classification tree with these weights
    and adds its values to the scores, which is forward stagewise additive modelling with the
    exponential loss:

    - "discrete" (AdaBoost.M1, Freund & Schapire 1997; SAMME, Zhu et al. 2009): the tree votes with
      α = log((1 - err) / err) + log(K - 1), err its weighted error;
    - "real" (Friedman, Hastie & Tibshirani 2000, Algorithm 2; SAMME.R): every leaf has the values
      (K-1) (log p_k - mean log p), for two classes ½ log(p / (1-p)), p its shares of weight.

    `decision_function` is F. With two classes its sign is the predicted class; with K classes the
    predicted class has the largest score.

    Parameters
    ----------
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
    estimator_weights_ : float64 array of shape (n_iter_,)
        ν α_m, the weights of the votes; only for algorithm="discrete".
    model_, n_iter_, best_iteration_, train_loss_, validation_loss_, feature_importances_, \
classes_, n_features_in_, feature_names_in_, fit_report_
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
        *,
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
        early_stopping: Any = False,
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

    @property
    def estimator_weights_(self) -> npt.NDArray[np.float64]:
        """The weights of the votes: ν α_m, α_m = log((1 - err_m) / err_m) + log(K - 1).

        They are read from the leaves, whose largest value is β = (K-1)²/K · ν α_m, so a loaded
        model has them, too. `stagewise.inspection.ada_boost_path` computes err_m.
        """
        model = self._fitted()
        assert model.classes is not None
        k, n = max(2, len(model.classes)), model.ensemble.trees_per_round
        leaves = [tree.value[tree.feature < 0] for tree in model.ensemble.trees]
        rounds = [np.abs(np.concatenate(leaves[i : i + n])) for i in range(0, len(leaves), n)]
        beta = np.array([values.max() for values in rounds], dtype=np.float64)
        voted = all(
            (np.isclose(v, b, rtol=1e-9) | np.isclose(v, b / (k - 1), rtol=1e-9)).all()
            for v, b in zip(rounds, beta, strict=True)
        )
        if self.algorithm != "discrete" or not voted:
            raise AttributeError(
                "Only AdaBoostClassifier(algorithm='discrete') has estimator_weights_; trees of "
                "algorithm='real' add log odds of leaves, not votes."
            )
        return beta * (k / (k - 1) ** 2)

    def _recipe(self) -> Recipe:
        return DISCRETE if self.algorithm == "discrete" else REAL

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        assert classes is not None
        return CLASSIFICATION_LOSSES["exponential"](len(classes))
