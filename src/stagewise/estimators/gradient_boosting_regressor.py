"""Gradient boosting for regression."""

from __future__ import annotations

from typing import Any

from stagewise.boosting.recipe import BY_RESPONSE, Recipe
from stagewise.estimators.bases.boosting import BaseBoosting, OutOfBagMixin
from stagewise.estimators.bases.predictions.distributions import DistributionPredictions
from stagewise.estimators.bases.predictions.intervals import IntervalPredictions
from stagewise.estimators.bases.predictions.regressor import (
    RegressionLossParameters,
    RegressorPredictions,
)
from stagewise.estimators.bases.trees.tree_attributes import TreeAttributes
from stagewise.estimators.parameters.make_specs import BOOSTING_RULES, BOOSTING_USES, tree_adapter
from stagewise.training.specs import LearnerAdapter
from stagewise.validation.parameters import suggests_names

__all__ = ["GradientBoostingRegressor"]


class GradientBoostingRegressor(
    IntervalPredictions,
    DistributionPredictions,
    RegressionLossParameters,
    RegressorPredictions,
    TreeAttributes,
    OutOfBagMixin,
    BaseBoosting,
):
    """Boosted trees that predict a number.

    Fits F = f_0 + ν Σ b_m to a target that is centred and scaled first, so a·y + b gives a·F + b.
    Parameters with a unit are in units of the target: `max_step` in those of y, and for squared
    error, ½ (y - F)², `l1_regularization` in those of y and `min_gain` in those of y². See
    docs/conventions.md.

    Several targets, y of shape (n_rows, n_targets), are predicted together: the loss is that of
    each target in units of its own standard deviation, as are these parameters, and `train_loss_`
    is the mean over them.

    Parameters
    ----------
    loss : str, Loss or function, default="squared_error"
        The loss to minimise: "squared_error", "absolute_error", "huber", "fair", "log_cosh",
        "pseudo_huber", "quantile", "expectile" or "mape"; for targets that are never negative
        "poisson", "gamma" or "tweedie" (these predict e^F), and "squared_log_error" (e^F - 1); for
        shares and probabilities from 0 to 1 "cross_entropy" (1 / (1 + e^-F)); or an object of
        `stagewise.losses`, such as `Tweedie(power=1.2)`, or derived from `Loss`; or a function
        (y, score) -> (gradient, hessian). See docs/losses.md. Losses of distributions, for
        `predict_dist`: "normal", "laplace", "student_t", "log_normal", "gamma_distribution",
        "weibull", "beta", and for counts "negative_binomial", "zero_inflated_poisson",
        "zero_inflated_negative_binomial", "hurdle_poisson" and "hurdle_negative_binomial"; see
        docs/distributions.md.
    init : {"mean", "zero"}, float, sequence of floats or estimator, default="mean"
        F before the first round. "mean": the best constant of the loss, which is the mean of y for
        squared error. "zero": 0, as in Algorithm 10.2 of *The Elements of Statistical Learning*. A
        number: this score, before the link; or one for each score. An estimator: its predictions,
        after it is fitted to the same rows and weights (in folds, to theirs); such models are
        pickled, and have no file. See docs/training.md.
    response : {"newton", "gradient"}, default="newton"
        The target of a tree. "newton": -g/h with weights h, so that leaves are Newton steps (as in
        XGBoost). "gradient": the negative gradient; then every leaf takes the optimum of its region
        (Friedman's gradient boosting).
    learning_rate : float or "auto", default="auto"
        ν, the factor of every tree. "auto": 0.05 with n_estimators="auto" (with n > 25,000
        rows 0.05 · √(n / 25,000), with n > 50,000 rows 0.1), otherwise 0.1 · min(1, (100 /
        n_estimators)^¼), which is 0.1 up to 100 rounds, 0.056 with 1000 and 0.047 with
        2000. `fit_report_` and `recipe` have the value. A continued fit (`warm_start`)
        keeps the rate of its model; a fit that begins with warm_start=True has 0.1, since
        its number of rounds is not final.
    n_estimators : int or "auto", default="auto"
        The largest number of rounds. A round is one tree; with several targets it is one tree for
        each, unless leaves="vector". "auto": rows that are held out choose the number of rounds (a
        fifth of the rows, or five folds if there are fewer than 2000 rows; `groups` stay together),
        and then the model is fitted to all rows. Of three rounds, two grow best-first trees with
        random thresholds and one grows a symmetric tree, each on 80 % of the rows (MVS). With more
        than 50,000 rows a tenth is held out, a quarter chooses the number of rounds, and trees are
        plain. With fewer than 50 rows it is 100. Some parameters below have another "auto" with
        n_estimators="auto" than with a number of rounds. Every parameter that is set holds for all
        trees. See docs/defaults.md.
    max_leaf_nodes : int, None or "auto", default="auto"
        The largest number of leaves of a tree. None: no limit. "auto": 31; with
        n_estimators="auto" 64 for the symmetric trees.
    max_depth : int, None or "auto", default="auto"
        The largest number of splits between the root and a leaf. None: no limit. "auto": None;
        with n_estimators="auto" 6 for the symmetric trees.
    min_samples_leaf : float or "auto", default="auto"
        The smallest number of rows in a leaf; with weights, the smallest sum of weights,
        exactly. With 1, one row is enough, if it has a thousandth of the mean weight.
        "auto": with n_estimators="auto" 1; with a number of rounds 20, but in small tables at most
        a twentieth of the rows (of a classification, a quarter).
    min_hessian : float, default=0.001
        The smallest sum of hessians in a leaf.
    l1_regularization, l2_regularization : float, default=0.0 and "auto"
        α and λ of the regularised objective. A leaf is -sign(G) max(|G| - α, 0) / (H + λ). λ may
        be "auto": with n_estimators="auto" 3, but 1 with more than two classes; with a number of
        rounds 1 for regression and 3 for classification.
    min_gain : float, default=0.0
        γ. A split must lower the objective by more than this.
    max_step : float or None, default=None
        The largest absolute value of a leaf before shrinkage.
    leaves : {"auto", "constant", "linear", "vector"} or LinearLeaves, default="auto"
        "constant": a leaf is a number. "linear": a leaf is a linear model in the numeric features
        of its path; see `LinearLeaves`. "vector", for several targets: a round is one tree whose
        leaves have a value for each target; it is split where the sum of their gains is largest.
        "auto": "constant"; with n_estimators="auto" and more than eight classes "vector".
    grow_policy : {"auto", "best_first", "depth_wise", "symmetric"}, default="auto"
        Which leaf is split next: the one with the largest gain; those of the smallest depth; or all
        leaves of one depth by the same split (as in CatBoost), as long as `max_leaf_nodes` permits.
        "auto": "best_first"; with n_estimators="auto" two of three trees are "best_first" and one
        is "symmetric", where the other parameters permit both.
    path_smoothing : float, default=0.0
        s of the penalty ½ s (w - u)² on the difference of a leaf's value w and its parent's u.
    max_features : "auto", float, int, str, None or FeatureSampling, default="auto"
        The features that a node may use, drawn at random: a fraction (float), a number (int),
        "sqrt", "log2", "third", or None for all. "auto": 0.7, which makes trees differ and the
        model generalise a little better; nodes of symmetric trees share a split, so these draw 0.7
        for each depth if n_estimators="auto", otherwise all. `FeatureSampling` also draws features
        for each tree and each depth. See docs/defaults.md.
    subsample : float or "auto", default="auto"
        The fraction of the rows that a round uses, drawn anew in each round. "auto": 0.8 where
        `sampling` is MVS, "fixed_size" or draws groups, otherwise 1.
    sampling : {"auto", "uniform", "fixed_size", "bootstrap", "goss", "mvs", "group"}, Goss or \
Mvs, default="auto"
        How rows are drawn. "auto": with n_estimators="auto" "mvs", unless `subsample` or
        `oob_score` is set; with a number of rounds "uniform". "uniform": each with the same
        probability. "fixed_size": the fraction of the rows exactly, rounded to a number of rows.
        "bootstrap": with replacement (a Poisson number of times, with mean `subsample`). "goss":
        rows with large gradients and a part of the others; see `Goss`. "mvs": with probabilities of
        minimal variance; see `Mvs`. "group": all rows of a group that is passed to `fit`, or none.
        `min_samples_leaf` counts a row once, however often it was drawn.
    oob_score : bool, default=False
        Measure how much each round improves the loss of its out-of-bag rows: `oob_improvement_` and
        `oob_best_iteration_`.
    dropout : None, "dart" or Dart, default=None
        Fit each round without some of the earlier rounds; see `Dart`.
    monotonic_cst : dict or list of {-1, 0, 1}, or None, default=None
        By name or for each feature: 1, predictions do not decrease when the feature increases; -1,
        they do not increase; 0, no constraint. The value of a leaf is bounded by those of the
        leaves around it.
    interaction_cst : {"pairwise", "no_interactions"}, list of groups or None, default=None
        Which features, by name or position, may be on one path from the root to a leaf: at most two
        different ones, one, or those of one group. Features in no group form a group together.
    feature_penalty : dict or list of floats, or None, default=None
        By name or for each feature: the gain that a split by it needs in addition, as long as no
        earlier tree has used the feature; in the units of `min_gain`.
    split : {"auto", "histogram", "exact", "approx"} or SplitSearch, default="auto"
        Where a node may be split: between the bins of the entire table; between any two values of
        its own; or between quantiles of its hessians. See `SplitSearch`, which also has random
        thresholds and forced splits. "auto": "histogram"; with n_estimators="auto" the best-first
        trees have random thresholds.
    max_bins : int, default=255
        The largest number of bins of a feature, 2 to 65,535, without the bin of missing values.
    missing_values : number, list of numbers or None, default=None
        Values of X that are missing besides NaN, such as -999 or [-999, 1e20], at fit and at
        predict. They are compared in the type of each column: as integers, or rounded to float32.
    categorical_features : "from_dtype", "text", list or None, default="from_dtype"
        Which columns are categorical. "from_dtype": those of a category type (pandas category,
        polars Categorical and Enum, pyarrow dictionary). "text": these and all columns of text. A
        list: these and the columns of its names, positions counted from 0, or a bool per column.
        None: no column. Categories are compared by value: 1, 1.0 and True are one category, "1" is
        another.
    category_encoding : {"auto", "sets", "target"} or OrderedTargetEncoding, default="auto"
        How trees split by categories. "sets": by sets of categories. "target": also by the target
        encoding of categories and of combinations of up to four features; see
        `OrderedTargetEncoding`. "auto": "target" if a feature has more than 50 categories and there
        are at most eight outputs, else "sets".
    handle_unknown : {"missing", "error", "prior"}, default="missing"
        How categories that no training row has are handled, at predict and in `X_val`: they are
        missing values (with a warning at predict), an error, or a category without training rows.
        Such categories in rows that the fit itself holds out are never an error; `fit_report_`
        counts them.
    early_stopping : "auto", bool, "cv", int, splitter or list of folds, default="auto"
        When the fit stops. "auto": when the loss of the rows that were passed to `fit` no longer
        improves: `X_val`, or the first set of `eval_set` that is not X itself. Without such rows no
        row is held out, except by n_estimators="auto". True: the same, but without such rows a
        fraction of X is held out. False: after n_estimators rounds; `X_val` and `eval_set` are only
        recorded, but n_estimators="auto" is always chosen by folds: set a number of rounds to hold
        no row out. "cv": the mean loss of five folds chooses the number of rounds, and a model of
        that many rounds is fitted to all rows; `oof_prediction_` has the predictions of the rows
        that each fold held out, of repeated folds by the mean score. An int from 2 to 20 is a
        number of folds, not a wait (`n_iter_no_change`). Folds are drawn at random, stratified by
        class, with groups together; or pass a splitter such as TimeSeriesSplit, or a list of
        (training, held-out) pairs of indices.
    validation_fraction : float, default=0.1
        The fraction of the rows that early_stopping=True holds out.
    n_iter_no_change : int or "auto", default="auto"
        The number of rounds without improvement after which a fit stops. Predictions use the best
        round. "auto": 50, or 30 if `n_estimators` is a number.
    eval_metric : None, str, callable, scorer, Metric, or a list of these, default=None
        The metrics that are measured after every round, besides the loss. The first one chooses the
        best round, and the fit stops when neither it nor the loss improves. "rmse", "mae", "r2",
        "poisson_deviance", "gamma_deviance", "tweedie_deviance", "d2_absolute_error",
        "d2_poisson_deviance", "d2_gamma_deviance", "d2_tweedie_deviance"; for classes "error_rate",
        "accuracy", "log_loss", "brier", "auc", "average_precision", "f1"; a scorer of
        scikit-learn; a function (y, prediction, weight) that is smaller where it is better; or a
        `stagewise.metrics.Metric`. The gradients stay those of the loss. See docs/training.md.
    tol : float, default=0.0
        The loss, or the metric, must improve by more than this to be an improvement.
    time_limit : float or None, default=None
        The seconds that a fit may take: no round begins that would probably end later. At least one
        round runs. The number of rounds, and so the model, then depends on the machine.
    conformal : {None, "split", "cv", "cv+"} or Conformal, default=None
        Conformity scores for `predict_interval`, of rows that were not used to fit the model that
        predicts them. "cv": rows that folds hold out; new rows are predicted by the model of all
        rows. "cv+": new rows are predicted by the models of the folds, too. "split": a fifth of the
        rows, which the fit does not use. None: none. See `Conformal` for scores and groups, and
        docs/intervals.md.
    warm_start : bool, default=False
        Whether `fit` continues the model of the previous `fit`, up to `n_estimators` rounds in all.
        On the same data the result is the same, to the bit, as one fit of all rounds with the same
        learning rate.
    random_state : int, RandomState or None, default=0
        The seed of all random choices. None: a new seed for every fit.
    n_jobs : int or None, default=None
        The number of threads. None: all that this process may use. It never changes the result.
    verbose : int, default=0
        1: a progress bar in a terminal or a notebook, elsewhere lines after the rounds 1, 2, 5, 10,
        20, 50 and so on. 2: a line per round.
    callbacks : callable, list of callables or None, default=None
        Called after every round with a `stagewise.Progress`. The fit stops if one returns True.
    quantile : float, list of floats or None, default=None
        For loss="quantile": the quantile to predict (None: 0.5), or an increasing list of several,
        which never cross; see docs/quantiles.md. For "expectile": the level or levels. For "huber":
        the quantile of the absolute residuals up to which they are squared (None: 0.9).

    Attributes
    ----------
    model_ : Model
        The fitted model.
    n_iter_, best_iteration_ : int
        The number of rounds that predictions use.
    learning_rate_ : float
        ν.
    train_loss_, validation_loss_ : float64 array
        The mean loss after every round that was run.
    evals_result_ : dict
        The loss and the metrics of every set after every round that was run, such as
        ``{"train": {"loss": [...]}, "valid": {"loss": [...], "auc": [...]}}``. "valid" are held-out
        rows: X_val, a fraction, or the mean over folds; other names are those of `eval_set`.
    best_score_ : dict
        The same at the last round that predictions use: ``{"valid": {"auc": 0.9, ...}, ...}``.
    held_out_rows_ : array of int
        The indices of the rows of X that early_stopping=True held out.
    feature_importances_ : float64 array
        Each feature's share of the gain of all splits.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    target_names_ : array of str
        The names of several targets, if y has names.
    fit_report_ : dict
        Facts about the fit, such as constant features, the numbers of missing values and unknown
        categories, why the fit stopped, and the values of "auto"; see docs/fit-report.md.
    oob_best_iteration_ : int
        With oob_score=True, the number of rounds with the largest sum of `oob_improvement_`.
    seed_ : int
        The seed of all random numbers of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stagewise import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=50).fit(X, y)
    >>> model.predict(X[:2]).shape
    (2,)
    """

    _rules = BOOSTING_RULES
    _uses = BOOSTING_USES
    _takes_offset = True
    _several_targets = True
    _several_scores = True

    @suggests_names
    def __init__(
        self,
        *,
        loss: Any = "squared_error",
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
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        quantile: Any = None,
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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.quantile = quantile

    def _recipe(self) -> Recipe:
        return BY_RESPONSE[self.response]

    def _learner_adapter(self, params: dict[str, Any]) -> LearnerAdapter:
        return tree_adapter(params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
