"""Gradient boosting of numbers with scikit-learn's face."""

from __future__ import annotations

from typing import Any

from stagewise.boosting.recipe import BY_RESPONSE, Recipe
from stagewise.estimators.boosting_base import BaseBoosting
from stagewise.estimators.regressor import RegressionLossParameters, RegressorPredictions
from stagewise.estimators.scores import TreeAttributes
from stagewise.estimators.specs import tree_learner
from stagewise.losses import Loss
from stagewise.training.specs import LearnerSpec
from stagewise.validation.defaults import AUTO_RULES
from stagewise.validation.parameters import suggests_names

__all__ = ["GradientBoostingRegressor"]


class GradientBoostingRegressor(
    RegressionLossParameters, RegressorPredictions, TreeAttributes, BaseBoosting
):
    """Boosted trees that predict a number.

    Fits F = f_0 + ν Σ b_m to a target that is centred and scaled first, so a·y + b gives a·F + b.
    Parameters with a unit (`max_step`, and for squared error `l1_regularization` and `min_gain`)
    are in units of the target's standard deviation.

    Several targets, y of shape (n_rows, n_targets), are predicted together: the loss is that of
    each target in units of its own standard deviation, and `train_loss_` is the mean over them.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        What is minimised: "squared_error", "absolute_error", "huber", "quantile"; for targets that
        are never negative "poisson", "gamma", "tweedie" (these predict e^F); or an object derived
        from `stagewise.losses.Loss`.
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
        The number of rounds, at most. A round is one tree, or with several targets one tree for
        each of them, unless `multi_output` says otherwise.
    max_leaf_nodes : int or None, default=31
        The most leaves of a tree.
    max_depth : int or None, default=None
        The most splits between the root and a leaf.
    min_samples_leaf : float, default=20
        The least number of rows in a leaf; with weights, the least sum of these, exactly. 1: one
        row is enough, if it has a thousandth of the mean weight.
    min_hessian : float, default=0.001
        The least sum of second derivatives in a leaf.
    l1_regularization, l2_regularization : float, default=0.0 and 1.0
        α and λ of the regularised objective: a leaf is -sign(G) max(|G| - α, 0) / (H + λ).
    min_gain : float, default=0.0
        γ: a split must lower the objective by more than this.
    max_step : float or None, default=None
        The largest absolute leaf value before shrinkage.
    leaves : {"constant", "linear"}, default="constant"
        What a leaf says: one number; or a line in the numeric features that were asked about on its
        path, for rows that have all of them (others get the number). Trees are grown as ever. A
        line needs eight rows (of log loss, as much curvature as eight rows can have) for each of
        its numbers, and stops four of its standard deviations from its middle, so it goes on a
        little beyond the training rows. See docs/trees.md.
    linear_l2 : float, default=0.1
        For "linear": λ of the slopes, in units of standardised features, beside the leaf's sum of
        hessians. `l1_regularization` and `l2_regularization` are about the constants.
    growth : {"best_first", "depth_wise", "symmetric"}, default="best_first"
        Whether the best leaf is split next, or one level after the other, or all leaves of a level
        by the same question (as CatBoost does), as long as there is room for twice as many.
    multi_output : {"trees", "vector"}, default="trees"
        What a round is where rows have several scores (several targets): a
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
    feature_weights : dict or list of floats, or None, default=None
        By name or for each feature: how likely it is to be among these, in proportion. 0: never.
    monotonic_cst : dict or list of {-1, 0, 1}, or None, default=None
        By name or for each feature: 1, and predictions must not fall when it rises; -1, and they
        must not rise; 0, and both are fine. Classes: their scores. Values of a leaf are bounded by
        those of the leaves around it.
    interaction_cst : {"pairwise", "no_interactions"}, list of groups or None, default=None
        Which features, by name or position, may be on one path from the root to a leaf: at most two
        different ones, one, or those of one group. Features in no group form one together.
    path_smoothing : float, default=0.0
        s of the pull ½ s (w - u)² of a leaf's value w towards that of its parent, u.
    random_thresholds : bool, default=False
        Whether a node tries one threshold per feature, drawn between the smallest and the largest
        value there, instead of all (extremely randomised trees).
    first_use_penalty : dict or list of floats, or None, default=None
        By name or for each feature: what a split by it must gain more as long as no earlier tree
        has used it.
    forced_splits : dict or None, default=None
        What every tree begins with: {"feature": name or position, "threshold": t}, and for its
        children the same under "left" and "right". The nearest cut between bins is taken.
    split : {"histogram", "exact", "approx"}, default="histogram"
        Between which values a node may be split: between the bins of the whole table; between any
        two values of its own, at the middle (exact greedy); or where the hessians of its sorted
        rows add up to multiples of `epsilon` of their sum.
    proposal : {"global", "local"} or None, default=None
        For "approx": the sum of the whole tree, proposed once (None), or of every node anew.
    epsilon : float or None, default=None
        For "approx", None: 0.02.
    max_bins : int, default=255
        The most bins per feature, 2 to 65,535, not counting the one for missing values.
    missing_values : number, list of numbers or None, default=None
        Values of X that are missing besides NaN, such as -999 or [-999, 1e20], at fit and at
        predict. They are compared in the type of each column: as integers, or rounded to float32.
    categorical_features : "from_dtype", "text", list or None, default="from_dtype"
        Which columns are categorical: those of a category type (pandas category, polars
        Categorical and Enum, pyarrow dictionary); "text": these and every column of text; or the
        columns' names, their places counted from 0, or a truth value for each, of whatever type
        they are; None: no column. Levels are told apart by value: 1, 1.0 and True are one level,
        "1" is another. A value is a level if a training row holds it.
    on_unseen : {"missing", "error", "prior"}, default="missing"
        What becomes of other values at predict and in `X_val`: they are taken as missing (with a
        warning at predict), refused, or treated as a level that no training row had. Rows that the
        fit itself holds out are never refused; `fit_report_` counts them.
    categorical : {"auto", "sets", "statistics"}, default="auto"
        What trees may ask about categories. "sets": whether a level is in a set of levels.
        "statistics": also what its levels, and combinations of levels of up to four columns, say
        about the target, each row told by other rows only (ordered target statistics). "auto":
        statistics if a column has more than 50 levels, and there are at most eight classes.
    permutations : int, default=1
        In how many orders rows are told; trees take turns. Memory grows with it.
    early_stopping : bool or "cv", default=False
        Whether to hold rows out and stop when their loss no longer improves. Passing `X_val` and
        `y_val` to `fit` does the same with rows of your own. "cv": the mean loss of several folds
        says how many rounds, and that many are then fitted to all rows; `oof_prediction_` keeps
        what the folds' models said of the rows they had not seen.
    cv : int, splitter or list of pairs of indices, default=5
        The folds of early_stopping="cv": a number (drawn at random, each class alike, groups
        together), a splitter such as TimeSeriesSplit, or (training, held-out) pairs.
    validation_fraction : float, default=0.1
        The share of rows held out.
    n_iter_no_change : int, default=10
        Rounds without improvement before stopping; predictions then use the best round.
    tol : float, default=0.0
        How much less loss counts as improvement.
    time_limit : float or None, default=None
        Seconds that a fit may take: no round begins that would probably end later. One round always
        runs. How many do depends on the machine, so the model does too.
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
    quantile : float or None, default=None
        For loss="quantile", which one (None: 0.5); for "huber", which one of the absolute residuals
        is the width up to which they count as squares (None: 0.9).
    power : float or None, default=None
        For "tweedie", the power of the mean that the variance is proportional to, between 1 and 2
        (None: 1.5).

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
    target_names_ : array of str
        What the columns of y were called, if there were several with names.
    fit_report_ : dict
        What the fit noticed: constant columns, how many values were taken as missing, threads,
        seed, why it stopped, and which numbers "auto" stood for.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=50).fit(X, y)
    >>> model.predict(X[:2]).shape
    (2,)
    """

    own_rules = AUTO_RULES
    _several_targets = True

    @suggests_names
    def __init__(
        self,
        loss: str | Loss = "squared_error",
        *,
        response: str = "newton",
        learning_rate: float | str = "auto",
        n_estimators: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: float = 20,
        min_hessian: float = 1e-3,
        l1_regularization: float = 0.0,
        l2_regularization: float = 1.0,
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
        quantile: float | None = None,
        power: float | None = None,
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
        self.quantile = quantile
        self.power = power

    def _recipe(self) -> Recipe:
        return BY_RESPONSE[self.response]

    def _learner_spec(self, params: dict[str, Any]) -> LearnerSpec:
        return tree_learner(params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
