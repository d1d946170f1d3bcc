"""The names that other libraries have for parameters, and ours.

The table makes error messages for such names (`foreign_hints.py`), the call to paste
(`translated_call.py`), and the page `docs/coming-from.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FIT_ARGUMENTS", "FOREIGN_NAMES", "LEFT_OUT", "ForeignName"]


@dataclass(frozen=True)
class ForeignName:
    """A parameter of other libraries.

    Parameters
    ----------
    libraries : tuple of str
        The libraries that have this parameter.
    ours : str
        Our parameter, or one of `FIT_ARGUMENTS`; empty: there is none.
    usage : str
        How it is passed here, as arguments of a call in which ... is a value of the user; empty:
        by its name.
    note : str
        A difference in meaning, or a reason.
    values : tuple of pairs of str
        Values of theirs in lower case, and the argument here. Empty: it is the default here.
        Without an equals sign, it is an estimator of this library; {task} is its task.
    needs : tuple of str
        Other parameters that an estimator must have, so that the entry is true of it.
    of : str
        An estimator for which the entry is true.
    otherwise : ForeignName or None
        The entry for estimators for which this one is not true.
    """

    libraries: tuple[str, ...]
    ours: str
    usage: str = ""
    note: str = ""
    values: tuple[tuple[str, str], ...] = ()
    needs: tuple[str, ...] = ()
    of: str = "GradientBoostingRegressor"
    otherwise: ForeignName | None = None

    @property
    def remedy(self) -> str:
        """Our parameter, how it is passed, and the note."""
        usage = f": {self.usage}" if self.usage else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.ours}{usage}{note}"


FIT_ARGUMENTS = ("X_val", "eval_set")
"""Arguments of `fit` that other libraries have, under these or other names."""
_LGB, _XGB, _CAT, _SKL = "LightGBM", "XGBoost", "CatBoost", "scikit-learn"
_HALF = "half of it, since gains have the factor ½ here"
_CLASSIFIER = "GradientBoostingClassifier"

_COLUMNS = ForeignName(
    (), "max_features", note="the columns of a base estimator", needs=("estimator",)
)
_PRUNED = ForeignName(
    (), "n_iter_no_change", 'pruning="early_stopping", n_iter_no_change=...', needs=("pruning",)
)
_DART = 'dropout="dart"'
_FOREST = "RandomForest{task}"
_BOOSTINGS = (
    *(("gbdt", ""), ("gbrt", ""), ("plain", ""), ("dart", _DART), ("goss", 'sampling="goss"')),
    *(("rf", _FOREST), ("random_forest", _FOREST)),
)
_DRAWN_BY_LIGHTGBM = "drawn in every round; LightGBM draws no rows without bagging_freq=1"
_ONE_SEED = "one seed for all random choices"


def _left_out(library: str, names: str, reason: str) -> dict[str, ForeignName]:
    """Return the entries of parameters that need nothing in their place."""
    entry = ForeignName((library,), "", note=f"it is left out: {reason}")
    return dict.fromkeys(names.split(), entry)


_SAME_BYTES = "the model is the same with any number of threads"
_FROM_Y = "the classes are those of y"
_KINDS = "stagewise.inspection.importance(model, kind) has every kind"

LEFT_OUT: Mapping[str, ForeignName] = {
    **_left_out(_LGB, "deterministic", _SAME_BYTES),
    **_left_out(_LGB, "force_col_wise force_row_wise histogram_pool_size", "the core chooses it"),
    **_left_out(
        _LGB, "subsample_for_bin bin_construct_sample_cnt", "the rows for the bins are not chosen"
    ),
    **_left_out(_LGB, "feature_pre_filter", "no feature is left out before a fit"),
    **_left_out(_LGB, "use_missing", "missing values are always used"),
    **_left_out(_XGB, "use_label_encoder", "labels are of any type"),
    **_left_out(_XGB, "validate_parameters", "every parameter is checked"),
    **_left_out(_XGB, "feature_types", "types are those of the columns of X"),
    **_left_out(_CAT, "allow_writing_files train_dir", "a fit writes no files"),
    **_left_out(_CAT, "classes_count", _FROM_Y),
    **_left_out(_CAT, "nan_mode", "every split chooses the side of missing values"),
    "importance_type": ForeignName((_LGB, _XGB), "", note=f"it is left out: {_KINDS}"),
    "num_class": ForeignName((_LGB, _XGB), "", note=f"it is left out: {_FROM_Y}"),
}
"""Parameters that need nothing in their place, with the reason."""

FOREIGN_NAMES: Mapping[str, ForeignName] = {
    # size of the model
    "num_iterations": ForeignName((_LGB,), "n_estimators"),
    "num_boost_round": ForeignName((_LGB, _XGB), "n_estimators"),
    "num_round": ForeignName((_XGB,), "n_estimators"),
    "num_trees": ForeignName((_LGB, _CAT), "n_estimators"),
    "iterations": ForeignName((_CAT,), "n_estimators"),
    "max_iter": ForeignName((_SKL,), "n_estimators"),
    "eta": ForeignName((_XGB, _CAT), "learning_rate"),
    "shrinkage_rate": ForeignName((_LGB,), "learning_rate"),
    "num_leaves": ForeignName((_LGB,), "max_leaf_nodes"),
    "max_leaves": ForeignName((_XGB, _CAT), "max_leaf_nodes"),
    "depth": ForeignName(
        (_CAT,),
        "max_depth",
        note='with grow_policy="symmetric", max_leaf_nodes=2**depth it has the trees of CatBoost',
    ),
    "min_child_samples": ForeignName((_LGB,), "min_samples_leaf"),
    "min_data_in_leaf": ForeignName((_LGB, _CAT), "min_samples_leaf"),
    "min_child_weight": ForeignName((_XGB, _LGB), "min_hessian"),
    "min_sum_hessian_in_leaf": ForeignName((_LGB,), "min_hessian"),
    "min_samples_split": ForeignName(
        (_SKL,),
        "min_samples_leaf",
        note="limit the leaves: max(1, n // 2); forests and trees have it",
    ),
    "min_weight_fraction_leaf": ForeignName(
        (_SKL,),
        "min_samples_leaf",
        note="a sum of weights instead of a fraction; forests and trees have it",
    ),
    # regularisation
    "reg_lambda": ForeignName((_XGB, _LGB), "l2_regularization"),
    "lambda": ForeignName((_XGB,), "l2_regularization"),
    "lambda_l2": ForeignName((_LGB,), "l2_regularization"),
    "l2_leaf_reg": ForeignName((_CAT,), "l2_regularization"),
    "reg_alpha": ForeignName((_XGB, _LGB), "l1_regularization"),
    "lambda_l1": ForeignName((_LGB,), "l1_regularization"),
    "gamma": ForeignName((_XGB,), "min_gain", note=_HALF),
    "min_split_loss": ForeignName((_XGB,), "min_gain", note=_HALF),
    "min_split_gain": ForeignName((_LGB,), "min_gain", note=_HALF),
    "min_gain_to_split": ForeignName((_LGB,), "min_gain", note=_HALF),
    "max_delta_step": ForeignName((_XGB, _LGB), "max_step", note="None means no limit, not 0"),
    "path_smooth": ForeignName((_LGB,), "path_smoothing"),
    "linear_tree": ForeignName((_LGB,), "leaves", 'leaves="linear"'),
    "linear_lambda": ForeignName((_LGB,), "leaves", "leaves=LinearLeaves(l2=...)"),
    "extra_trees": ForeignName((_LGB,), "split", "split=SplitSearch(random_thresholds=True)"),
    "random_strength": ForeignName(
        (_CAT,),
        "max_features",
        note="gains have no random part, but features can be drawn for each node",
        needs=("split",),
    ),
    # sampling
    "bagging_fraction": ForeignName((_LGB,), "subsample", note=_DRAWN_BY_LIGHTGBM),
    "sub_row": ForeignName((_LGB,), "subsample", note=_DRAWN_BY_LIGHTGBM),
    "bagging_freq": ForeignName((_LGB,), "subsample", note="rows are drawn anew in every round"),
    "subsample_freq": ForeignName((_LGB,), "subsample", note="rows are drawn anew in every round"),
    "bootstrap_type": ForeignName((_CAT,), "sampling"),
    "sampling_method": ForeignName((_XGB,), "sampling"),
    "data_sample_strategy": ForeignName(
        (_LGB,), "sampling", 'sampling="goss"', values=(("bagging", ""),)
    ),
    "top_rate": ForeignName((_LGB,), "sampling", "sampling=Goss(top=...)"),
    "other_rate": ForeignName((_LGB,), "sampling", "sampling=Goss(other=...)"),
    "mvs_reg": ForeignName((_CAT,), "sampling", "sampling=Mvs(regularization=...), subsample=0.8"),
    "bagging_temperature": ForeignName((_CAT,), "sampling", 'sampling="bootstrap"'),
    "colsample_bytree": ForeignName(
        (_XGB, _LGB),
        "max_features",
        "max_features=FeatureSampling(per_tree=...)",
        otherwise=_COLUMNS,
    ),
    "feature_fraction": ForeignName(
        (_LGB,),
        "max_features",
        "max_features=FeatureSampling(per_tree=...)",
        otherwise=_COLUMNS,
    ),
    "colsample_bylevel": ForeignName(
        (_XGB, _CAT), "max_features", "max_features=FeatureSampling(per_level=...)"
    ),
    "colsample_bynode": ForeignName((_XGB,), "max_features", "max_features=...", needs=("split",)),
    "feature_fraction_bynode": ForeignName(
        (_LGB,), "max_features", "max_features=...", needs=("split",)
    ),
    "rsm": ForeignName((_CAT,), "max_features", "max_features=FeatureSampling(per_level=...)"),
    "feature_weights": ForeignName(
        (_XGB,),
        "max_features",
        "max_features=FeatureSampling(per_node=0.7, weights=...)",
        "the feature_weights of CatBoost, factors of gains, do not exist here",
    ),
    "max_samples": ForeignName((_SKL,), "subsample", note="forests and bagging have max_samples"),
    # dropout
    "booster": ForeignName(
        (_XGB,),
        "dropout",
        _DART,
        values=(("gbtree", ""), ("dart", _DART), ("gblinear", "StagewiseLinearRegressor")),
    ),
    "boosting_type": ForeignName(
        (_LGB,),
        "dropout",
        _DART,
        "the boosting_type of CatBoost does not exist here",
        values=_BOOSTINGS,
    ),
    "boosting": ForeignName((_LGB,), "dropout", _DART, values=_BOOSTINGS),
    "rate_drop": ForeignName((_XGB,), "dropout", "dropout=Dart(rate=...)"),
    "drop_rate": ForeignName((_LGB,), "dropout", "dropout=Dart(rate=...)"),
    "skip_drop": ForeignName((_XGB, _LGB), "dropout", "dropout=Dart(skip=...)"),
    "max_drop": ForeignName((_LGB,), "dropout", "dropout=Dart(max_drop=...)"),
    "normalize_type": ForeignName((_XGB,), "dropout", "dropout=Dart(normalization=...)"),
    # objective
    "objective": ForeignName((_XGB, _LGB), "loss"),
    "loss_function": ForeignName((_CAT,), "loss"),
    "criterion": ForeignName((_SKL,), "loss", note="boosted trees are split by the loss"),
    "alpha": ForeignName(
        (_SKL, _LGB),
        "quantile",
        note='of LightGBM\'s objective="huber" it is loss=stagewise.losses.Huber(delta=...), and '
        "XGBoost's own alpha is l1_regularization",
    ),
    "tweedie_variance_power": ForeignName(
        (_XGB, _LGB), "loss", "loss=stagewise.losses.Tweedie(power=...)", needs=("quantile",)
    ),
    "huber_slope": ForeignName(
        (_XGB,), "loss", "loss=stagewise.losses.PseudoHuber(delta=...)", needs=("quantile",)
    ),
    "multi_strategy": ForeignName(
        (_XGB,), "leaves", 'leaves="vector"', values=(("one_output_per_tree", ""),)
    ),
    "scale_pos_weight": ForeignName(
        (_XGB, _LGB, _CAT), "class_weight", "class_weight={0: 1, 1: ...}", of=_CLASSIFIER
    ),
    "is_unbalance": ForeignName((_LGB,), "class_weight", 'class_weight="balanced"', of=_CLASSIFIER),
    "class_weights": ForeignName((_CAT,), "class_weight", of=_CLASSIFIER),
    "auto_class_weights": ForeignName(
        (_CAT,), "class_weight", 'class_weight="balanced"', of=_CLASSIFIER
    ),
    "base_score": ForeignName((_XGB,), "init", note="it is a score here, before the link"),
    "boost_from_average": ForeignName((_LGB, _CAT), "init", 'init="zero"', note="False means 0"),
    # splits and features
    "max_bin": ForeignName((_XGB, _LGB), "max_bins"),
    "border_count": ForeignName((_CAT,), "max_bins"),
    "tree_method": ForeignName(
        (_XGB,), "split", values=(("auto", ""), ("hist", ""), ("approx", ""))
    ),
    "tree_learner": ForeignName((_LGB,), "n_jobs", note="training runs on one machine"),
    "monotone_constraints": ForeignName((_XGB, _LGB, _CAT), "monotonic_cst"),
    "interaction_constraints": ForeignName((_XGB, _LGB), "interaction_cst"),
    "forcedsplits_filename": ForeignName((_LGB,), "split", "split=SplitSearch(forced_splits=...)"),
    "cegb_penalty_feature_coupled": ForeignName((_LGB,), "feature_penalty"),
    "first_feature_use_penalties": ForeignName((_CAT,), "feature_penalty"),
    "missing": ForeignName((_XGB,), "missing_values"),
    "cat_features": ForeignName((_CAT,), "categorical_features"),
    "categorical_feature": ForeignName((_LGB,), "categorical_features"),
    "enable_categorical": ForeignName(
        (_XGB,), "categorical_features", 'categorical_features="from_dtype"', "the default"
    ),
    "max_cat_to_onehot": ForeignName((_XGB, _LGB), "category_encoding", 'category_encoding="sets"'),
    "one_hot_max_size": ForeignName((_CAT,), "category_encoding", 'category_encoding="sets"'),
    "cat_smooth": ForeignName(
        (_LGB,),
        "category_encoding",
        note="sets are regularised by l2_regularization, target encodings by the data",
    ),
    "cat_l2": ForeignName(
        (_LGB,), "l2_regularization", note="one λ for splits of numbers and of categories"
    ),
    "max_ctr_complexity": ForeignName((_CAT,), "category_encoding", 'category_encoding="target"'),
    # stopping and running
    "early_stopping_rounds": ForeignName(
        (_XGB, _LGB, _CAT),
        "n_iter_no_change",
        "early_stopping=True, n_iter_no_change=...",
        otherwise=_PRUNED,
    ),
    "early_stopping_round": ForeignName(
        (_LGB,),
        "n_iter_no_change",
        "early_stopping=True, n_iter_no_change=...",
        otherwise=_PRUNED,
    ),
    "od_wait": ForeignName(
        (_CAT,),
        "n_iter_no_change",
        "early_stopping=True, n_iter_no_change=...",
        otherwise=_PRUNED,
    ),
    "od_type": ForeignName((_CAT,), "early_stopping", "early_stopping=True"),
    "use_best_model": ForeignName(
        (_CAT,),
        "early_stopping",
        "early_stopping=True",
        "the best round is always kept",
        needs=("time_limit",),
    ),
    "eval_set": ForeignName(
        (_XGB, _LGB, _CAT),
        "eval_set",
        note="an argument of fit; its first set stops the fit, unless early_stopping=False",
    ),
    "eval_names": ForeignName(
        (_LGB,), "eval_set", note="an argument of fit, with names: eval_set={name: (X, y), ...}"
    ),
    "eval_X": ForeignName((_LGB,), "X_val", note="an argument of fit, beside y_val"),
    "metric": ForeignName((_LGB,), "eval_metric"),
    "scoring": ForeignName(
        (_SKL,), "eval_metric", note='measured in every round; scoring="loss" is the default'
    ),
    "custom_metric": ForeignName((_CAT,), "eval_metric", note="a list; the first one decides"),
    "first_metric_only": ForeignName(
        (_LGB,), "eval_metric", note="the first one of a list always decides"
    ),
    "init_model": ForeignName(
        (_LGB, _CAT), "warm_start", "warm_start=True", "fit continues the model of the estimator"
    ),
    "xgb_model": ForeignName(
        (_XGB,), "warm_start", "warm_start=True", "fit continues the model of the estimator"
    ),
    "seed": ForeignName((_XGB, _LGB), "random_state"),
    "random_seed": ForeignName((_CAT,), "random_state"),
    "bagging_seed": ForeignName((_LGB,), "random_state", note=_ONE_SEED),
    "feature_fraction_seed": ForeignName((_LGB,), "random_state", note=_ONE_SEED),
    "data_random_seed": ForeignName((_LGB,), "random_state", note=_ONE_SEED),
    "drop_seed": ForeignName((_LGB,), "random_state", note=_ONE_SEED),
    "extra_seed": ForeignName((_LGB,), "random_state", note=_ONE_SEED),
    "nthread": ForeignName((_XGB,), "n_jobs"),
    "num_threads": ForeignName((_LGB,), "n_jobs"),
    "thread_count": ForeignName((_CAT,), "n_jobs"),
    "verbosity": ForeignName((_XGB, _LGB), "verbose"),
    "silent": ForeignName((_XGB, _CAT), "verbose", "verbose=0"),
    "logging_level": ForeignName((_CAT,), "verbose"),
    "device": ForeignName((_XGB, _LGB), "n_jobs", note="training runs on the CPU"),
    "task_type": ForeignName((_CAT,), "n_jobs", note="training runs on the CPU"),
    # other estimators
    "estimator": ForeignName(
        (_SKL,),
        "learner",
        note="AdaBoost and bagging have estimator, too",
        of="StagewiseClassifier",
    ),
    "base_estimator": ForeignName((_SKL,), "estimator", of="BaggingRegressor"),
    "bootstrap": ForeignName(
        (_SKL,),
        "sampling",
        'sampling="uniform"',
        note="False means without replacement",
        needs=("estimator",),
        of="BaggingRegressor",
    ),
    "splitter": ForeignName((_SKL,), "split", "split=SplitSearch(random_thresholds=True)"),
    "copy_X": ForeignName((_SKL,), "", note="X is never changed"),
    "positive": ForeignName(
        (_SKL,), "", note="coefficients have no constraints", needs=("fit_intercept",)
    ),
    **LEFT_OUT,
}
"""Parameters of other libraries that have another name here, or none."""
