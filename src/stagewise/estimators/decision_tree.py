"""Single decision trees for classification and regression."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from stagewise.estimators.bases.predictions.class_targets import ClassTargetPredictions
from stagewise.estimators.bases.predictions.regressor import RegressorPredictions
from stagewise.estimators.bases.trees.averages import CLASS_CRITERION, NUMBER_CRITERION
from stagewise.estimators.bases.trees.tree import TREE_RULES, BaseDecisionTree
from stagewise.losses import CLASSIFICATION_LOSSES, AbsoluteError, Loss, SquaredError
from stagewise.validation.parameters import suggests_names

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]


class DecisionTreeClassifier(ClassTargetPredictions, BaseDecisionTree):
    """A decision tree classifier.

        p_k(x) = share of class k in the leaf that x reaches

    Leaves are split again and again, each by the split that lowers the impurity most (Breiman et
    al. 1984; with entropy this is the information gain of Quinlan 1986).

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        The impurity that a split lowers: Σ p_k (1 - p_k), -Σ p_k log p_k in nats (both "entropy"
        and "log_loss"), or 1 - max p_k.
    grow_policy : {"best_first", "depth_wise"}, default="best_first"
        Which leaf is split next: the one with the largest gain, or those of the smallest depth. It
        matters only with `max_leaf_nodes` and with pruning="early_stopping".
    max_depth, max_leaf_nodes : int or None, default=None
        The largest number of splits between the root and a leaf, and the largest number of leaves.
        None: the tree grows until its leaves are pure.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf; with weights, the smallest sum of weights, exactly.
        With 1, one row is enough, if it has a thousandth of the mean weight.
    min_samples_split : float, default=2
        The smallest number of rows, or sum of weights, of a node that is split. With 2, any two
        rows are enough.
    min_weight_fraction_leaf : float, default=0.0
        The smallest weight of a leaf, as a fraction of the weight of all rows.
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity of the whole tree by more than this:
        N_t / N · (i(t) - N_L / N_t · i(t_L) - N_R / N_t · i(t_R)).
    monotonic_cst : dict or list of {-1, 0, 1}, or None, default=None
        By name or for each feature: 1, the probability of the second class does not decrease when
        the feature increases; -1, it does not increase; 0, no constraint. Only for two classes.
    max_features : {"sqrt", "log2", "third"}, int, float or None, default=None
        The features that are drawn for every node: a number, a fraction (float), √p, log₂ p, p/3,
        or None for all. If none of them splits the node, others are drawn.
    split : {"exact", "histogram"} or SplitSearch, default="exact"
        Where a node may be split: between all values, or between at most `max_bins` bins.
        SplitSearch(method="exact", random_thresholds=True) tries one random threshold per feature.
    pruning : {None, "cost_complexity", "reduced_error", "early_stopping"}, default=None
        How the grown tree is pruned; None: it is not. "cost_complexity": to the subtree that
        minimises impurity + `ccp_alpha` · (number of leaves). "reduced_error": from the leaves up,
        splits are removed that do not lower the error of held-out rows. "early_stopping": the
        splits after the one with the smallest loss of held-out rows are removed; growing stops
        when `n_iter_no_change` splits do not lower that loss by more than `tol`. Held-out rows are
        X_val and y_val of `fit`, or a fraction `validation_fraction` of the rows.
    ccp_alpha : "cv" or float, default="cv"
        α, the complexity parameter of cost-complexity pruning. "cv": the α with the smallest
        cross-validated error. A number above 0 implies pruning="cost_complexity".
    ccp_cv : int, splitter or list of pairs, default=5
        The folds of ccp_alpha="cv".
    one_standard_error : bool, default=False
        Take the largest α whose error is within one standard error of the smallest error.
    validation_fraction : float, default=0.2
        The fraction of rows that is held out, stratified by class, unless X_val is passed to `fit`.
    n_iter_no_change : int, default=10
        See `pruning`.
    tol : float, default=0.0
        See `pruning`.
    missing_strategy : {"learned", "mean", "probability"}, default="learned"
        Where rows with a missing value go. "learned": to the side that every split has learned.
        "mean": the value is replaced by the mean of the column (of categories, by the most frequent
        one). "probability": to both sides, weighted by the fraction of the training rows on each
        side (the fractional instances of C4.5); missing values of training rows are drawn from the
        other values of their column.
    max_bins, missing_values, categorical_features, handle_unknown, random_state, n_jobs, \
class_weight
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    ccp_alpha_, pruning_path_
        With pruning="cost_complexity": the α of the tree, and the trees of other α.
    validation_loss_ : array
        With pruning="early_stopping": the loss of held-out rows after no, one, two, … splits; with
        "reduced_error": their error; with ccp_alpha="cv": that of the folds for each α of the path.
    oof_prediction_ : array
        With ccp_alpha="cv": the predictions of the rows that each fold held out.
    model_, feature_importances_, n_features_in_, feature_names_in_, fit_report_, \
classes_
        As in `GradientBoostingClassifier`.
    n_outputs_ : int
        The number of targets.
    n_iter_, best_iteration_, train_loss_, n_classes_, seed_
        As in `GradientBoostingClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(pruning="cost_complexity").fit(X, y)
    >>> tree.get_n_leaves() < 6
    True
    """

    _rules = MappingProxyType({**TREE_RULES, "criterion": CLASS_CRITERION})

    @suggests_names
    def __init__(
        self,
        *,
        criterion: str = "gini",
        grow_policy: str = "best_first",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: float = 1,
        min_samples_split: float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        monotonic_cst: Any = None,
        max_features: Any = None,
        split: Any = "exact",
        pruning: str | None = None,
        ccp_alpha: Any = "cv",
        ccp_cv: Any = 5,
        one_standard_error: bool = False,
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        missing_strategy: str = "learned",
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        random_state: Any = 0,
        n_jobs: int | None = None,
        class_weight: Any = None,
    ) -> None:
        self.criterion = criterion
        self.grow_policy = grow_policy
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.split = split
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
        self.ccp_cv = ccp_cv
        self.one_standard_error = one_standard_error
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.missing_strategy = missing_strategy
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.class_weight = class_weight

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        assert classes is not None
        return CLASSIFICATION_LOSSES["squared_error"](len(classes))


class DecisionTreeRegressor(RegressorPredictions, BaseDecisionTree):
    """A decision tree regressor.

        f(x) = mean (or median) target in the leaf that x reaches

    Leaves are split again and again, each by the split that lowers the squared (or absolute) error
    most (Breiman et al. 1984, chapter 8).

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The impurity that a split lowers: the variance, the mean absolute deviation from the median,
        or half of the Poisson deviance, for targets that are not negative. The value of a leaf is
        the mean; with "absolute_error", the median. Of several targets, the mean of the impurities
        (not with "absolute_error").
    grow_policy : {"best_first", "depth_wise"}, default="best_first"
        Which leaf is split next: the one with the largest gain, or those of the smallest depth. It
        matters only with `max_leaf_nodes` and with pruning="early_stopping".
    max_depth, max_leaf_nodes : int or None, default=None
        The largest number of splits between the root and a leaf, and the largest number of leaves.
        None: the tree grows until its leaves are pure.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf; with weights, the smallest sum of weights, exactly.
        With 1, one row is enough, if it has a thousandth of the mean weight.
    min_samples_split : float, default=2
        The smallest number of rows, or sum of weights, of a node that is split. With 2, any two
        rows are enough.
    min_weight_fraction_leaf : float, default=0.0
        The smallest weight of a leaf, as a fraction of the weight of all rows.
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity of the whole tree by more than this:
        N_t / N · (i(t) - N_L / N_t · i(t_L) - N_R / N_t · i(t_R)).
    monotonic_cst : dict or list of {-1, 0, 1}, or None, default=None
        By name or for each feature: 1, predictions do not decrease when the feature increases; -1,
        they do not increase; 0, no constraint. Only for one target.
    max_features : {"sqrt", "log2", "third"}, int, float or None, default=None
        The features that are drawn for every node: a number, a fraction (float), √p, log₂ p, p/3,
        or None for all. If none of them splits the node, others are drawn.
    split : {"exact", "histogram"} or SplitSearch, default="exact"
        Where a node may be split: between all values, or between at most `max_bins` bins.
        SplitSearch(method="exact", random_thresholds=True) tries one random threshold per feature.
    pruning : {None, "cost_complexity", "reduced_error", "early_stopping"}, default=None
        How the grown tree is pruned; None: it is not. "cost_complexity": to the subtree that
        minimises impurity + `ccp_alpha` · (number of leaves). "reduced_error": from the leaves up,
        splits are removed that do not lower the error of held-out rows. "early_stopping": the
        splits after the one with the smallest loss of held-out rows are removed; growing stops
        when `n_iter_no_change` splits do not lower that loss by more than `tol`. Held-out rows are
        X_val and y_val of `fit`, or a fraction `validation_fraction` of the rows.
    ccp_alpha : "cv" or float, default="cv"
        α, the complexity parameter of cost-complexity pruning. "cv": the α with the smallest
        cross-validated error. A number above 0 implies pruning="cost_complexity".
    ccp_cv : int, splitter or list of pairs, default=5
        The folds of ccp_alpha="cv".
    one_standard_error : bool, default=False
        Take the largest α whose error is within one standard error of the smallest error.
    validation_fraction : float, default=0.2
        The fraction of rows that is held out, unless X_val is passed to `fit`.
    n_iter_no_change : int, default=10
        See `pruning`.
    tol : float, default=0.0
        See `pruning`.
    missing_strategy : {"learned", "mean", "probability"}, default="learned"
        Where rows with a missing value go. "learned": to the side that every split has learned.
        "mean": the value is replaced by the mean of the column (of categories, by the most frequent
        one). "probability": to both sides, weighted by the fraction of the training rows on each
        side (the fractional instances of C4.5); missing values of training rows are drawn from the
        other values of their column.
    max_bins, missing_values, categorical_features, handle_unknown, random_state, n_jobs
        As in `GradientBoostingRegressor`.

    Attributes
    ----------
    ccp_alpha_, pruning_path_
        With pruning="cost_complexity": the α of the tree, and the trees of other α.
    validation_loss_ : array
        With pruning="early_stopping": the loss of held-out rows after no, one, two, … splits; with
        "reduced_error": their error; with ccp_alpha="cv": that of the folds for each α of the path.
    oof_prediction_ : array
        With ccp_alpha="cv": the predictions of the rows that each fold held out.
    model_, feature_importances_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingRegressor`.
    n_outputs_ : int
        The number of targets.
    n_iter_, best_iteration_, train_loss_, seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> DecisionTreeRegressor(max_leaf_nodes=8).fit(X, y).get_depth()
    5
    """

    _several_targets = True
    _rules = MappingProxyType({**TREE_RULES, "criterion": NUMBER_CRITERION})

    @suggests_names
    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        grow_policy: str = "best_first",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: float = 1,
        min_samples_split: float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        monotonic_cst: Any = None,
        max_features: Any = None,
        split: Any = "exact",
        pruning: str | None = None,
        ccp_alpha: Any = "cv",
        ccp_cv: Any = 5,
        one_standard_error: bool = False,
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        missing_strategy: str = "learned",
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.grow_policy = grow_policy
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.monotonic_cst = monotonic_cst
        self.max_features = max_features
        self.split = split
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
        self.ccp_cv = ccp_cv
        self.one_standard_error = one_standard_error
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.missing_strategy = missing_strategy
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return AbsoluteError() if self.criterion == "absolute_error" else SquaredError()
