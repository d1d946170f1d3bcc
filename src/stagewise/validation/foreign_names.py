"""The names that other libraries have for parameters, and ours.

The table makes error messages for such names, and the page `docs/coming-from.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["FOREIGN_NAMES", "ForeignName", "foreign_name_hint"]


@dataclass(frozen=True)
class ForeignName:
    """A parameter of other libraries.

    Parameters
    ----------
    libraries : tuple of str
        The libraries that have this parameter.
    ours : str
        Our parameter; empty: there is none.
    usage : str
        How it is passed here, with any difference in meaning; empty: the same values work.
    """

    libraries: tuple[str, ...]
    ours: str
    usage: str = ""


_LGB, _XGB, _CAT, _SKL = "LightGBM", "XGBoost", "CatBoost", "scikit-learn"

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
    "depth": ForeignName((_CAT,), "max_depth"),
    "min_child_samples": ForeignName((_LGB,), "min_samples_leaf"),
    "min_data_in_leaf": ForeignName((_LGB, _CAT), "min_samples_leaf"),
    "min_child_weight": ForeignName((_XGB, _LGB), "min_hessian"),
    "min_sum_hessian_in_leaf": ForeignName((_LGB,), "min_hessian"),
    "min_samples_split": ForeignName(
        (_SKL,), "min_samples_leaf", "limit the leaves: min_samples_leaf=max(1, n // 2)"
    ),
    "min_weight_fraction_leaf": ForeignName(
        (_SKL,), "min_samples_leaf", "pass a sum of weights instead of a fraction"
    ),
    # regularisation
    "reg_lambda": ForeignName((_XGB, _LGB), "l2_regularization"),
    "lambda_l2": ForeignName((_LGB,), "l2_regularization"),
    "l2_leaf_reg": ForeignName((_CAT,), "l2_regularization"),
    "reg_alpha": ForeignName((_XGB, _LGB), "l1_regularization"),
    "lambda_l1": ForeignName((_LGB,), "l1_regularization"),
    "gamma": ForeignName((_XGB,), "min_gain"),
    "min_split_loss": ForeignName((_XGB,), "min_gain"),
    "min_split_gain": ForeignName((_LGB,), "min_gain"),
    "min_gain_to_split": ForeignName((_LGB,), "min_gain"),
    "max_delta_step": ForeignName((_XGB, _LGB), "max_step", "None means no limit, not 0"),
    "path_smooth": ForeignName((_LGB,), "path_smoothing"),
    "linear_tree": ForeignName((_LGB,), "leaves", 'leaves="linear"'),
    "linear_lambda": ForeignName((_LGB,), "leaves", "leaves=LinearLeaves(l2=...)"),
    "extra_trees": ForeignName((_LGB,), "split", "split=SplitSearch(random_thresholds=True)"),
    "random_strength": ForeignName((_CAT,), "", "scores of splits have no random part here"),
    # sampling
    "bagging_fraction": ForeignName((_LGB,), "subsample"),
    "sub_row": ForeignName((_LGB,), "subsample"),
    "bagging_freq": ForeignName((_LGB,), "subsample", "rows are drawn anew in every round"),
    "subsample_freq": ForeignName((_LGB,), "subsample", "rows are drawn anew in every round"),
    "bootstrap_type": ForeignName((_CAT,), "sampling", 'sampling="bootstrap" or "mvs"'),
    "sampling_method": ForeignName((_XGB,), "sampling", 'sampling="uniform" or "mvs"'),
    "data_sample_strategy": ForeignName((_LGB,), "sampling", 'sampling="goss"'),
    "top_rate": ForeignName((_LGB,), "sampling", "sampling=Goss(top=..., other=...)"),
    "other_rate": ForeignName((_LGB,), "sampling", "sampling=Goss(top=..., other=...)"),
    "mvs_reg": ForeignName((_CAT,), "sampling", "sampling=Mvs(regularization=...)"),
    "bagging_temperature": ForeignName((_CAT,), "sampling", 'sampling="bootstrap"'),
    "colsample_bytree": ForeignName(
        (_XGB, _LGB), "max_features", "max_features=FeatureSampling(per_tree=...)"
    ),
    "feature_fraction": ForeignName(
        (_LGB,), "max_features", "max_features=FeatureSampling(per_tree=...)"
    ),
    "colsample_bylevel": ForeignName(
        (_XGB, _CAT), "max_features", "max_features=FeatureSampling(per_level=...)"
    ),
    "colsample_bynode": ForeignName((_XGB,), "max_features", "max_features=0.7"),
    "feature_fraction_bynode": ForeignName((_LGB,), "max_features", "max_features=0.7"),
    "rsm": ForeignName((_CAT,), "max_features", "max_features=FeatureSampling(per_level=...)"),
    "feature_weights": ForeignName(
        (_XGB, _CAT), "max_features", "max_features=FeatureSampling(per_node=0.7, weights=...)"
    ),
    "max_samples": ForeignName((_SKL,), "subsample", "forests and bagging have max_samples"),
    # dropout
    "booster": ForeignName((_XGB,), "dropout", 'dropout="dart"'),
    "boosting_type": ForeignName((_LGB, _CAT), "dropout", 'dropout="dart"'),
    "boosting": ForeignName((_LGB,), "dropout", 'dropout="dart"'),
    "rate_drop": ForeignName((_XGB,), "dropout", "dropout=Dart(rate=...)"),
    "drop_rate": ForeignName((_LGB,), "dropout", "dropout=Dart(rate=...)"),
    "skip_drop": ForeignName((_XGB, _LGB), "dropout", "dropout=Dart(skip=...)"),
    "max_drop": ForeignName((_LGB,), "dropout", "dropout=Dart(max_drop=...)"),
    "normalize_type": ForeignName((_XGB,), "dropout", "dropout=Dart(normalization=...)"),
    # objective
    "objective": ForeignName((_XGB, _LGB), "loss", 'loss="squared_error", for example'),
    "loss_function": ForeignName((_CAT,), "loss", 'loss="squared_error", for example'),
    "criterion": ForeignName((_SKL,), "loss", "boosted trees are split by the loss"),
    "alpha": ForeignName((_SKL, _LGB), "quantile"),
    "tweedie_variance_power": ForeignName(
        (_XGB, _LGB), "loss", "loss=stagewise.losses.Tweedie(power=...)"
    ),
    "multi_strategy": ForeignName((_XGB,), "leaves", 'leaves="vector"'),
    "scale_pos_weight": ForeignName(
        (_XGB, _LGB, _CAT), "class_weight", "class_weight={0: 1, 1: w}"
    ),
    "is_unbalance": ForeignName((_LGB,), "class_weight", 'class_weight="balanced"'),
    "class_weights": ForeignName((_CAT,), "class_weight"),
    "auto_class_weights": ForeignName((_CAT,), "class_weight", 'class_weight="balanced"'),
    "base_score": ForeignName((_XGB,), "", "F starts at the best constant of the loss"),
    "init": ForeignName((_SKL,), "", "F starts at the best constant of the loss"),
    # splits and features
    "max_bin": ForeignName((_XGB, _LGB), "max_bins"),
    "border_count": ForeignName((_CAT,), "max_bins"),
    "tree_method": ForeignName((_XGB,), "split", 'split="histogram", "exact" or "approx"'),
    "growing_policy": ForeignName((_CAT,), "grow_policy"),
    "tree_learner": ForeignName((_LGB,), "grow_policy", "training is on one machine"),
    "monotone_constraints": ForeignName((_XGB, _LGB, _CAT), "monotonic_cst"),
    "interaction_constraints": ForeignName((_XGB, _LGB), "interaction_cst"),
    "forcedsplits_filename": ForeignName(
        (_LGB,), "split", "split=SplitSearch(forced_splits={...})"
    ),
    "cegb_penalty_feature_coupled": ForeignName((_LGB,), "feature_penalty"),
    "first_feature_use_penalties": ForeignName((_CAT,), "feature_penalty"),
    "missing": ForeignName((_XGB,), "missing_values"),
    "cat_features": ForeignName((_CAT,), "categorical_features"),
    "categorical_feature": ForeignName((_LGB,), "categorical_features"),
    "enable_categorical": ForeignName(
        (_XGB,), "categorical_features", 'categorical_features="from_dtype", the default'
    ),
    "max_cat_to_onehot": ForeignName((_XGB, _LGB), "category_encoding", 'category_encoding="sets"'),
    "one_hot_max_size": ForeignName((_CAT,), "category_encoding", 'category_encoding="sets"'),
    "max_ctr_complexity": ForeignName((_CAT,), "category_encoding", 'category_encoding="target"'),
    # stopping and running
    "early_stopping_rounds": ForeignName(
        (_XGB, _LGB, _CAT), "n_iter_no_change", "early_stopping=True, n_iter_no_change=..."
    ),
    "early_stopping_round": ForeignName(
        (_LGB,), "n_iter_no_change", "early_stopping=True, n_iter_no_change=..."
    ),
    "od_wait": ForeignName(
        (_CAT,), "n_iter_no_change", "early_stopping=True, n_iter_no_change=..."
    ),
    "od_type": ForeignName((_CAT,), "early_stopping", "early_stopping=True"),
    "use_best_model": ForeignName((_CAT,), "early_stopping", "the best round is always kept"),
    "eval_set": ForeignName((_XGB, _LGB, _CAT), "", "pass X_val and y_val to fit"),
    "eval_metric": ForeignName((_XGB, _LGB, _CAT), "", "the loss is the metric of early stopping"),
    "seed": ForeignName((_XGB, _LGB), "random_state"),
    "random_seed": ForeignName((_CAT,), "random_state"),
    "nthread": ForeignName((_XGB,), "n_jobs"),
    "num_threads": ForeignName((_LGB,), "n_jobs"),
    "thread_count": ForeignName((_CAT,), "n_jobs"),
    "verbosity": ForeignName((_XGB, _LGB), "verbose"),
    "silent": ForeignName((_XGB, _CAT), "verbose", "verbose=0"),
    "logging_level": ForeignName((_CAT,), "verbose"),
    "device": ForeignName((_XGB, _LGB), "n_jobs", "training runs on the CPU"),
    "task_type": ForeignName((_CAT,), "n_jobs", "training runs on the CPU"),
    # other estimators
    "base_estimator": ForeignName((_SKL,), "estimator"),
    "bootstrap_features": ForeignName((_SKL,), "max_features", "features are drawn once each"),
    "splitter": ForeignName((_SKL,), "split", "split=SplitSearch(random_thresholds=True)"),
    "copy_X": ForeignName((_SKL,), "", "X is never changed"),
    "positive": ForeignName((_SKL,), "", "coefficients have no constraints"),
}
"""Parameters of other libraries that have another name here, or none."""


def foreign_name_hint(name: str, known: Iterable[str], options: Iterable[str] = ()) -> str:
    """Return a sentence about the parameter of another library; empty: it is not in the table.

    Parameters
    ----------
    name : str
        The name that was passed.
    known : iterable of str
        The parameters of the estimator.
    options : iterable of str
        The classes of options that its parameters may be.
    """
    found = FOREIGN_NAMES.get(name)
    names = set(known)
    if found is None or name in names:
        return ""
    whose = " and ".join(filter(None, [", ".join(found.libraries[:-1]), found.libraries[-1]]))
    if not found.ours:
        return f" {name} is the name of {whose}; here {found.usage}."
    needed = re.findall(r"=([A-Z]\w*)\(", found.usage)
    if found.ours not in names or not set(needed) <= set(options):
        return f" {name} is the name of {whose}; this estimator has no such parameter."
    how = f": {found.usage}" if found.usage else ""
    return f" {name} is the name of {whose}; here it is {found.ours}{how}."
