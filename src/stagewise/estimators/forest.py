"""Random forests.

A random forest is the average of many trees. Each is grown until its leaves are pure on its own
bag, with a random subset of the features for every node, so that the errors of trees differ.
"""

from __future__ import annotations

from typing import Any

from stagewise.estimators.bases.trees.forest import BaseForest
from stagewise.estimators.bases.trees.forest_tasks import (
    ForestClassifierMixin,
    ForestRegressorMixin,
)
from stagewise.estimators.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from stagewise.validation.parameters import suggests_names

__all__ = ["RandomForestClassifier", "RandomForestRegressor"]


class RandomForestClassifier(ForestClassifierMixin, BaseForest):
    """A random forest classifier: the average of randomised trees.

        p_k(x) = (1/M) Σ_m (share of class k in the leaf of tree m that x reaches)

    Every tree is grown on a bootstrap sample of the rows, and every node uses a random subset of
    the features (Breiman 2001). The variance of the average is ρσ² + (1 - ρ) σ²/M: with many trees
    the second part vanishes, and drawing features lowers the correlation ρ.

    Parameters
    ----------
    n_estimators : int, default=100
        M, the largest number of trees.
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        The impurity that a split lowers: Σ p_k (1 - p_k), -Σ p_k log p_k (both "entropy" and
        "log_loss"), or 1 - max p_k.
    max_features : {"sqrt", "log2", "third"}, int, float or None, default="sqrt"
        The features that are drawn for every node: a number, a fraction (float), √p, log₂ p, p/3,
        or None for all. If none of them splits the node, others are drawn.
    max_depth, max_leaf_nodes : int or None, default=None
        The largest number of splits between the root and a leaf, and the largest number of leaves.
        None: the tree grows until its leaves are pure.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf, counted as often as they were drawn; with weights,
        the smallest sum of weights, exactly. With 1, one row is enough, if it has a thousandth of
        the mean weight.
    min_samples_split : float, default=2
        The smallest number of rows, or sum of weights, of a node that is split. With 2, any two
        rows are enough.
    min_weight_fraction_leaf : float, default=0.0
        The smallest weight of a leaf, as a fraction of the weight of the bag.
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity of the whole tree by more than this:
        N_t / N · (i(t) - N_L / N_t · i(t_L) - N_R / N_t · i(t_R)).
    monotonic_cst : dict or list of {-1, 0, 1}, or None, default=None
        By name or for each feature: 1, the probability of the second class does not decrease when
        the feature increases; -1, it does not increase; 0, no constraint. Only for two classes.
    bootstrap : bool, default=True
        True: each tree draws every row a Poisson number of times, `max_samples` in the mean (Oza &
        Russell 2001); a row that was drawn twice counts twice. False: each row with probability
        `max_samples`, once.
    max_samples : float, int or None, default=1.0
        The expected number of draws of a tree: a fraction of the rows (float), or a number of rows
        (int). None: 1.0.
    split : {"histogram", "exact"}, default="histogram"
        Search splits between at most `max_bins` bins of values, or between all values.
    max_bins : int, default=4095
        The largest number of bins of a feature. Deep nodes cover a small range of values, so they
        need finer bins than the few splits of a boosted tree.
    oob_score : bool, "auto" or callable, default="auto"
        Keep the out-of-bag predictions: for each row, the average of the trees whose bags do not
        contain it. "auto": if bags leave rows out. True: also warn of rows that are in every bag.
        A function (y, prediction) returns `oob_score_`; files do not have it.
    early_stopping : bool or "auto", default="auto"
        True: stop when `n_iter_no_change` more trees have not improved the out-of-bag loss by more
        than `tol`, and keep the best number of trees. Rows that are passed as X_val or `eval_set`
        replace the out-of-bag rows. "auto": stop only if such rows are passed. False: never stop,
        and only record them.
    n_iter_no_change, tol
        See `early_stopping`.
    eval_metric : None, str, callable, scorer, Metric, or a list of these, default=None
        The metrics that are measured after every tree on the out-of-bag rows, X_val and the sets of
        `eval_set`. The first one, such as "accuracy", replaces the loss for early stopping; see
        `GradientBoostingRegressor`.
    conformal : {None, "oob", "split"} or Conformal, default=None
        Conformity scores for `predict_set`, of rows that were not used to fit the trees that
        predict them. "oob": the out-of-bag rows. "split": a fifth of the rows, which the fit does
        not use. None: none. See `Conformal` for scores and groups, and docs/intervals.md.
    calibration : {None, "auto", "temperature", "beta", "isotonic"}, default=None
        A map of the probabilities that is fitted to rows that were not used to fit the model that
        predicts them: the out-of-bag rows, or those that conformal="split" keeps.
        Their weights are those that were passed, without `class_weight`. "temperature":
        softmax(F / T); with `class_weight` also a constant for each class. "beta": three numbers
        for each class. "isotonic": an increasing function. "auto": the one with the least log loss
        of other rows. `decision_function` is not calibrated. See docs/calibration.md.
    warm_start : bool, default=False
        Continue the forest of an earlier `fit` up to `n_estimators` trees. With the same rows and
        parameters the forest is the same as one fit of all trees; after loading it from a file, up
        to rounding.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        The factor of the weights of the rows of each class. "balanced": all classes have the same
        sum of weights; "balanced_subsample": they have it in the bag of every tree.
    missing_values, categorical_features, handle_unknown, time_limit, random_state, n_jobs, \
verbose, callbacks
        As in `GradientBoostingClassifier`.

    Attributes
    ----------
    oob_prediction_ : array
        The out-of-bag predictions of the training rows, as probabilities; NaN for rows that are in
        every bag.
    oob_decision_function_ : array of shape (n_rows, n_classes)
        The same, by scikit-learn's name; of several targets, (n_rows, n_classes, n_targets).
    oob_score_ : float
        Their accuracy; of several targets, the fraction of rows with no wrong target.
    n_outputs_ : int
        The number of targets. Of several, `classes_` and `n_classes_` are lists.
    estimators_ : list of decision trees
        The trees, each with the predictions of one tree; made when they are read.
    evals_result_, best_score_ : dict
        The loss and the metrics after every tree, and after the last one that is kept: of the
        out-of-bag rows ("oob"), of X_val ("valid"), and of the sets of `eval_set` by their names.
    oob_loss_ : array
        The mean out-of-bag loss after one, two, … trees.
    model_, n_iter_, feature_importances_, n_features_in_, feature_names_in_, fit_report_, \
classes_
        As in `GradientBoostingClassifier`; n_iter_ is the number of trees.
    n_outputs_ : int
        The number of targets.
    class_importances_ : float64 array of shape (n_classes, n_features)
        Each feature's share of the decrease of p_k (1 - p_k) by all splits, for each class k.
    best_iteration_, train_loss_, validation_loss_, n_classes_, seed_
        As in `GradientBoostingClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from stagewise import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> RandomForestClassifier(n_estimators=20).fit(X, y).predict(X[:2]).shape
    (2,)
    """

    _tree_class = DecisionTreeClassifier

    @suggests_names
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_features: Any = "sqrt",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: float = 1,
        min_samples_split: float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        monotonic_cst: Any = None,
        bootstrap: bool = True,
        max_samples: float | int | None = 1.0,
        split: str = "histogram",
        max_bins: int = 4095,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        oob_score: Any = "auto",
        early_stopping: bool | str = "auto",
        n_iter_no_change: int = 10,
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
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.monotonic_cst = monotonic_cst
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.split = split
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.oob_score = oob_score
        self.early_stopping = early_stopping
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


class RandomForestRegressor(ForestRegressorMixin, BaseForest):
    """A random forest regressor: the average of randomised trees.

        f(x) = (1/M) Σ_m (mean target in the leaf of tree m that x reaches)

    Every tree is grown on a bootstrap sample of the rows, and every node uses a random subset of
    the features (Breiman 2001). The variance of the average is ρσ² + (1 - ρ) σ²/M: with many trees
    the second part vanishes, and drawing features lowers the correlation ρ.

    Parameters
    ----------
    n_estimators : int, default=100
        M, the largest number of trees.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The impurity that a split lowers: the variance, the mean absolute deviation from the median,
        or half of the Poisson deviance, for targets that are not negative. The value of a leaf is
        the mean; with "absolute_error", the median. Of several targets, the mean of the impurities
        (not with "absolute_error").
    max_features : {"sqrt", "log2", "third"}, int, float or None, default="third"
        The features that are drawn for every node: a number, a fraction (float), √p, log₂ p, p/3,
        or None for all. If none of them splits the node, others are drawn.
    max_depth, max_leaf_nodes : int or None, default=None
        The largest number of splits between the root and a leaf, and the largest number of leaves.
        None: the tree grows until its leaves are pure.
    min_samples_leaf : float, default=1
        The smallest number of rows in a leaf, counted as often as they were drawn; with weights,
        the smallest sum of weights, exactly. With 1, one row is enough, if it has a thousandth of
        the mean weight.
    min_samples_split : float, default=2
        The smallest number of rows, or sum of weights, of a node that is split. With 2, any two
        rows are enough.
    min_weight_fraction_leaf : float, default=0.0
        The smallest weight of a leaf, as a fraction of the weight of the bag.
    min_impurity_decrease : float, default=0.0
        A split must lower the impurity of the whole tree by more than this:
        N_t / N · (i(t) - N_L / N_t · i(t_L) - N_R / N_t · i(t_R)).
    monotonic_cst : dict or list of {-1, 0, 1}, or None, default=None
        By name or for each feature: 1, predictions do not decrease when the feature increases; -1,
        they do not increase; 0, no constraint. Only for one target.
    bootstrap : bool, default=True
        True: each tree draws every row a Poisson number of times, `max_samples` in the mean (Oza &
        Russell 2001); a row that was drawn twice counts twice. False: each row with probability
        `max_samples`, once.
    max_samples : float, int or None, default=1.0
        The expected number of draws of a tree: a fraction of the rows (float), or a number of rows
        (int). None: 1.0.
    split : {"histogram", "exact"}, default="histogram"
        Search splits between at most `max_bins` bins of values, or between all values.
    max_bins : int, default=4095
        The largest number of bins of a feature. Deep nodes cover a small range of values, so they
        need finer bins than the few splits of a boosted tree.
    oob_score : bool, "auto" or callable, default="auto"
        Keep the out-of-bag predictions: for each row, the average of the trees whose bags do not
        contain it. "auto": if bags leave rows out. True: also warn of rows that are in every bag.
        A function (y, prediction) returns `oob_score_`; files do not have it.
    early_stopping : bool or "auto", default="auto"
        True: stop when `n_iter_no_change` more trees have not improved the out-of-bag loss by more
        than `tol`, and keep the best number of trees. Rows that are passed as X_val or `eval_set`
        replace the out-of-bag rows. "auto": stop only if such rows are passed. False: never stop,
        and only record them.
    n_iter_no_change, tol
        See `early_stopping`.
    eval_metric : None, str, callable, scorer, Metric, or a list of these, default=None
        The metrics that are measured after every tree on the out-of-bag rows, X_val and the sets of
        `eval_set`. The first one, such as "mae", replaces the loss for early stopping; see
        `GradientBoostingRegressor`.
    conformal : {None, "oob", "split"} or Conformal, default=None
        Conformity scores for `predict_interval`, of rows that were not used to fit the trees that
        predict them. "oob": the out-of-bag rows. "split": a fifth of the rows, which the fit does
        not use. None: none. See `Conformal` for scores and groups, and docs/intervals.md.
    warm_start : bool, default=False
        Continue the forest of an earlier `fit` up to `n_estimators` trees. With the same rows and
        parameters the forest is the same as one fit of all trees; after loading it from a file, up
        to rounding.
    missing_values, categorical_features, handle_unknown, time_limit, random_state, n_jobs, \
verbose, callbacks
        As in `GradientBoostingRegressor`.

    Attributes
    ----------
    oob_prediction_ : array
        The out-of-bag predictions of the training rows; NaN for rows that are in every bag.
    oob_score_ : float
        Their R²; of several targets, the mean.
    n_outputs_ : int
        The number of targets.
    estimators_ : list of decision trees
        The trees, each with the predictions of one tree; made when they are read.
    evals_result_, best_score_ : dict
        The loss and the metrics after every tree, and after the last one that is kept: of the
        out-of-bag rows ("oob"), of X_val ("valid"), and of the sets of `eval_set` by their names.
    oob_loss_ : array
        The mean out-of-bag loss after one, two, … trees.
    model_, n_iter_, feature_importances_, n_features_in_, feature_names_in_, fit_report_
        As in `GradientBoostingRegressor`; n_iter_ is the number of trees.
    n_outputs_ : int
        The number of targets.
    best_iteration_, train_loss_, validation_loss_, seed_
        As in `GradientBoostingRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(n_estimators=20).fit(X, y).predict(X[:2]).shape
    (2,)
    """

    _tree_class = DecisionTreeRegressor

    @suggests_names
    def __init__(
        self,
        *,
        n_estimators: int = 100,
        criterion: str = "squared_error",
        max_features: Any = "third",
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: float = 1,
        min_samples_split: float = 2,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        monotonic_cst: Any = None,
        bootstrap: bool = True,
        max_samples: float | int | None = 1.0,
        split: str = "histogram",
        max_bins: int = 4095,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        handle_unknown: str = "missing",
        oob_score: Any = "auto",
        early_stopping: bool | str = "auto",
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        eval_metric: Any = None,
        time_limit: float | None = None,
        conformal: Any = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.monotonic_cst = monotonic_cst
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.split = split
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.oob_score = oob_score
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.eval_metric = eval_metric
        self.time_limit = time_limit
        self.conformal = conformal
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
