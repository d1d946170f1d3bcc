"""Gradient boosting of classes with scikit-learn's face."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from stagewise.boosting.recipe import BY_RESPONSE, Recipe
from stagewise.estimators.boosting_base import BaseBoosting
from stagewise.estimators.classifier import ClassifierPredictions, make_class_loss
from stagewise.estimators.scores import TreeAttributes
from stagewise.estimators.specs import tree_learner
from stagewise.losses import Loss
from stagewise.training.specs import LearnerSpec
from stagewise.validation.defaults import AUTO_RULES
from stagewise.validation.parameters import suggests_names

__all__ = ["GradientBoostingClassifier"]


class GradientBoostingClassifier(ClassifierPredictions, TreeAttributes, BaseBoosting):
    """Boosted trees that predict a class, and the probability of every class.

    Two classes share one score, p = 1 / (1 + e^-F); K > 2 classes have one each, p = softmax(F).

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or Loss, default="log_loss"
        What is minimised: the deviance, or AdaBoost's exponential loss, both for two or for more
        classes; or an object derived from `stagewise.losses.Loss` whose `mean` are probabilities.
    response : {"newton", "gradient"}, default="newton"
        What trees are fitted to: -g/h with weights h, so that leaves are Newton steps (as XGBoost
        does); or the negative gradient alone, after which every leaf takes its region's own optimum
        (Friedman's gradient boosting).
    learning_rate : float or "auto", default="auto"
        ν: what every tree's values are multiplied by. "auto": 0.1 · min(1, (100 / n_estimators)^¼),
        so 0.1 up to 100 rounds, 0.056 at 1000, 0.047 at 2000. Whoever pays for more rounds gets
        smaller steps, which end at a lower loss; `fit_report_` and `recipe` say which they were. A
        continued fit (`warm_start`) keeps the rate of the model it continues, and one that begins
        with warm_start=True has 0.1, since its number of rounds is not the last word.
    n_estimators : int, default=100
        The number of rounds, at most. A round is one tree, or with more than two classes one tree
        for each of them, unless `multi_output` says otherwise.
    max_leaf_nodes : int or None, default=31
        The most leaves of a tree.
    max_depth : int or None, default=None
        The most splits between the root and a leaf.
    min_samples_leaf : float, default=20
        The least number of rows in a leaf; with weights, the least sum of these, exactly. 1: one
        row is enough, if it has a thousandth of the mean weight.
    min_hessian : float, default=0.001
        The least sum of second derivatives in a leaf.
    l1_regularization, l2_regularization : float, default=0.0 and 3.0
        α and λ of the regularised objective: a leaf is -sign(G) max(|G| - α, 0) / (H + λ).
    min_gain : float, default=0.0
        γ: a split must lower the objective by more than this.
    max_step : float or None, default=None
        The largest absolute leaf value before shrinkage.
    leaves : {"constant", "linear"}, default="constant"
        What a leaf says: one number; or a line in the numeric features that were asked about on its
        path, for rows that have all of them (others get the number). Trees are grown as ever. A
        line needs as much curvature of the loss as eight rows can have for each of its numbers, and
        stops four of its standard deviations from its middle, so it goes on a little beyond the
        training rows. See docs/trees.md.
    linear_l2 : float, default=0.1
        For "linear": λ of the slopes, in units of standardised features, beside the leaf's sum of
        hessians. `l1_regularization` and `l2_regularization` are about the constants.
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Whether the best leaf is split next, or one level after the other, or all leaves of a level
        by the same question (as CatBoost does), as long as there is room for twice as many.
    multi_output : {"trees", "vector"}, default="trees"
        What a round is where rows have several scores (more than two classes): a
        tree for each, or one tree whose leaves have a value for each, split where the gains of all
        scores together are largest.
    subsample : float, default=1.0
        The share of rows that a round sees, drawn anew.
    sampling : {"uniform", "bootstrap", "goss", "mvs", "group"}, default="uniform"
        How they are drawn: each with the same probability; with replacement (a Poisson number of
        times, `subsample` in the mean); those with large gradients, and some for all others (GOSS);
        with probabilities that make the variance least (MVS); or in the groups that are passed to
        `fit`, all rows of one or none. `min_samples_leaf` is about the rows themselves, however
        often they count.
    goss_top, goss_other : float, default=0.2 and 0.1
        For "goss": the share of rows with the largest gradients, and the share drawn for others.
    mvs_lambda : float, default=1.0
        For "mvs": how much second derivatives matter beside first ones, in units of the target's
        variance where the loss has its unit.
    out_of_bag : bool, default=False
        Whether to measure how much each round improves the loss of the rows that it does not see,
        by chance: `oob_improvement_`, and from it `oob_best_iteration_`.
    drop_rate : float, default=0.0
        DART: the probability that an earlier round is left out of the scores while a round is
        fitted; then both are scaled to fit together. 0: no dropout. Staged predictions are sums of
        the trees as they are in the end.
    max_drop : int or None, default=50
        The most rounds that are left out at once.
    skip_drop : float, default=0.5
        The probability that a round leaves nothing out.
    drop_normalization : {"tree", "forest"}, default="tree"
        Whether the new trees weigh as much as one of those left out, or as all of them.
    columns_per_tree, columns_per_level : float, default=1.0
        The share of features that a tree and a level may use; they multiply.
    columns_per_node : float or "auto", default="auto"
        The share of these that a node may use, drawn anew. "auto": 0.7, which makes trees differ
        and the model generalise a little better; with growth="symmetric", whose nodes cannot draw,
        1. Pass 1.0 for trees that look at every feature. See docs/defaults.md.
    feature_weights, monotonic_cst, interaction_cst, path_smoothing, random_thresholds, \
first_use_penalty, forced_splits, split, proposal, epsilon, max_bins, missing_values, \
categorical_features, on_unseen, categorical, permutations, early_stopping, cv, \
validation_fraction, n_iter_no_change, tol, time_limit
        As in `GradientBoostingRegressor`; directions are those of the scores of classes.
    warm_start : bool, default=False
        Whether `fit` continues the model it finds, up to `n_estimators` rounds in all. On the same
        data the result is the same, to the bit, as one fit with all rounds and the same learning
        rate.
    random_state : int, RandomState or None, default=0
        Seeds all random choices. None: a new seed every time.
    n_jobs : int or None, default=None
        Threads; None: all that this process may use. Never changes the result.
    verbose : int, default=0
        1: a progress bar (lines, if this is no terminal). 2: a line a round.
    callbacks : callable, list of callables or None, default=None
        Called after every round with a `stagewise.boosting.monitor.Progress`; a true answer stops.
    class_weight : dict, "balanced" or None, default=None
        What the weights of each class's rows are multiplied by; "balanced" gives every class the
        same weight in all. A class of weight 0 is absent. These weights count for
        `min_samples_leaf` as any others do; 1 is one row of any class.

    Attributes
    ----------
    model_ : Model
        All that was learned.
    n_iter_, best_iteration_ : int
        The number of rounds that predictions use.
    learning_rate_ : float
        The rate that was used.
    train_loss_, validation_loss_ : float64 array
        The mean loss after every round that was run.
    feature_importances_ : float64 array
        Each feature's share of the gain of all splits.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    fit_report_ : dict
        What the fit noticed: constant columns, how many values were taken as missing, threads,
        seed, why it stopped, and which numbers "auto" stood for.
    classes_ : array
        The labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stagewise import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    own_rules = AUTO_RULES

    @suggests_names
    def __init__(
        self,
        loss: str | Loss = "log_loss",
        *,
        response: str = "newton",
        learning_rate: float | str = "auto",
        n_estimators: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: float = 20,
        min_hessian: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float = 3.0,
        min_gain: float = 0.0,
        max_step: float | None = None,
        leaves: str = "constant",
        linear_l2: float = 0.1,
        growth: str = "best_first",
        multi_output: str = "trees",
        subsample: float = 1.0,
        sampling: str = "uniform",
        goss_top: float = 0.2,
        goss_other: float = 0.1,
        mvs_lambda: float = 1.0,
        out_of_bag: bool = False,
        drop_rate: float = 0.0,
        max_drop: int | None = 50,
        skip_drop: float = 0.5,
        drop_normalization: str = "tree",
        columns_per_tree: float = 1.0,
        columns_per_level: float = 1.0,
        columns_per_node: float | str = "auto",
        feature_weights: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        path_smoothing: float = 0.0,
        random_thresholds: bool = False,
        first_use_penalty: Any = None,
        forced_splits: Any = None,
        split: str = "histogram",
        proposal: str | None = None,
        epsilon: float | None = None,
        max_bins: int = 255,
        missing_values: Any = None,
        categorical_features: Any = "from_dtype",
        on_unseen: str = "missing",
        categorical: str = "auto",
        permutations: int = 1,
        early_stopping: bool | str = False,
        cv: Any = 5,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        time_limit: float | None = None,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.loss = loss
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
        self.linear_l2 = linear_l2
        self.growth = growth
        self.multi_output = multi_output
        self.subsample = subsample
        self.sampling = sampling
        self.goss_top = goss_top
        self.goss_other = goss_other
        self.mvs_lambda = mvs_lambda
        self.out_of_bag = out_of_bag
        self.drop_rate = drop_rate
        self.max_drop = max_drop
        self.skip_drop = skip_drop
        self.drop_normalization = drop_normalization
        self.columns_per_tree = columns_per_tree
        self.columns_per_level = columns_per_level
        self.columns_per_node = columns_per_node
        self.feature_weights = feature_weights
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.path_smoothing = path_smoothing
        self.random_thresholds = random_thresholds
        self.first_use_penalty = first_use_penalty
        self.forced_splits = forced_splits
        self.split = split
        self.proposal = proposal
        self.epsilon = epsilon
        self.max_bins = max_bins
        self.missing_values = missing_values
        self.categorical_features = categorical_features
        self.on_unseen = on_unseen
        self.categorical = categorical
        self.permutations = permutations
        self.early_stopping = early_stopping
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.class_weight = class_weight

    def _recipe(self) -> Recipe:
        return BY_RESPONSE[self.response]

    def _learner_spec(self, params: dict[str, Any]) -> LearnerSpec:
        return tree_learner(params)

    def _make_loss(self, classes: npt.NDArray[Any] | None) -> Loss:
        return make_class_loss(self.loss, classes, type(self).__name__)
