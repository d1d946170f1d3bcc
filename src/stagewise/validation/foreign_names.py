"""The names that other libraries have for parameters, and ours.

The table makes error messages for such names, and the page `docs/coming-from.md`. A message names a
parameter only if the estimator in hand accepts it as it is written there; otherwise it names an
estimator that does.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "FIT_ARGUMENTS",
    "FOREIGN_NAMES",
    "ForeignName",
    "foreign_name_hint",
    "is_true_of",
    "words_of",
]


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
    "bagging_fraction": ForeignName((_LGB,), "subsample"),
    "sub_row": ForeignName((_LGB,), "subsample"),
    "bagging_freq": ForeignName((_LGB,), "subsample", note="rows are drawn anew in every round"),
    "subsample_freq": ForeignName((_LGB,), "subsample", note="rows are drawn anew in every round"),
    "bootstrap_type": ForeignName((_CAT,), "sampling"),
    "sampling_method": ForeignName((_XGB,), "sampling"),
    "data_sample_strategy": ForeignName((_LGB,), "sampling", 'sampling="goss"'),
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
    "booster": ForeignName((_XGB,), "dropout", 'dropout="dart"'),
    "boosting_type": ForeignName(
        (_LGB,), "dropout", 'dropout="dart"', "the boosting_type of CatBoost does not exist here"
    ),
    "boosting": ForeignName((_LGB,), "dropout", 'dropout="dart"'),
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
    "multi_strategy": ForeignName((_XGB,), "leaves", 'leaves="vector"'),
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
    "tree_method": ForeignName((_XGB,), "split"),
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
}
"""Parameters of other libraries that have another name here, or none."""


def foreign_name_hint(
    name: str, kind: type, known: Collection[str], rules: Mapping[str, Any]
) -> str:
    """Return a sentence about the parameter of another library; empty: it is not in the table.

    Parameters
    ----------
    name : str
        The name that was passed.
    kind : type
        The class of the estimator, or of the option.
    known : collection of str
        Its parameters.
    rules : mapping
        Their rules. A rule that allows options has `kinds`, their classes, and perhaps
        `unsupported`, the parameters of options that it refuses.
    """
    found = FOREIGN_NAMES.get(name)
    if found is None or name in known:
        return ""
    libraries = found.libraries
    whose = " and ".join(filter(None, [", ".join(libraries[:-1]), libraries[-1]]))
    start = f" {name} is the name of {whose};"
    own = _parameter_of_option(found, kind)
    if own:
        return f"{start} here it is {own}."
    entry: ForeignName | None = found
    while entry is not None:
        if is_true_of(entry, kind, known, rules):
            words = words_of(rules.get(entry.ours)) if not (entry.usage or entry.note) else ""
            here = f"it is {entry.remedy}" if entry.ours else entry.note
            return _sentence(f"{start} here {here}{words}")
        entry = entry.otherwise
    if not found.ours:
        return f"{start} no estimator of this library has such a parameter."
    return _sentence(
        f"{start} {kind.__name__} has no such parameter, but {found.of} has {found.remedy}"
    )


def _sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends with an ellipsis."""
    return text if text.endswith("...") else f"{text}."


def words_of(rule: Any) -> str:
    """Return the words that a rule allows, after a colon; empty: it allows other values."""
    words = [*getattr(rule, "choices", ()), *getattr(rule, "words", ())]
    words = [f'"{word}"' for word in (*words, *getattr(rule, "options", ())) if word is not None]
    return f": {', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else ""


def _arguments(usage: str) -> dict[str, ast.expr]:
    """Return the arguments of a usage, by name."""
    call = ast.parse(f"f({usage})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {argument.arg: argument.value for argument in call.keywords if argument.arg}


def _parameter_of_option(entry: ForeignName, kind: type) -> str:
    """Return the parameter of an option class that a usage sets; empty: none."""
    for value in _arguments(entry.usage).values():
        if isinstance(value, ast.Call) and ast.unparse(value.func) == kind.__name__:
            return str(value.keywords[-1].arg)
    return ""


def is_true_of(
    entry: ForeignName, kind: type, known: Collection[str], rules: Mapping[str, Any]
) -> bool:
    """Return whether an estimator accepts what an entry of the table names."""
    if not set(entry.needs) <= set(known):
        return False
    if entry.ours in FIT_ARGUMENTS:
        return entry.ours in inspect.signature(getattr(kind, "fit", kind)).parameters
    if entry.ours and entry.ours not in known:
        return False
    return all(
        name in known and _accepts(rules.get(name), value)
        for name, value in _arguments(entry.usage).items()
    )


def _accepts(rule: Any, value: ast.expr) -> bool:
    """Return whether a rule accepts a value of a usage; None: there is no rule."""
    if rule is None or (isinstance(value, ast.Constant) and value.value is Ellipsis):
        return True
    if isinstance(value, ast.Call):
        option = ast.unparse(value.func)
        refused = getattr(rule, "unsupported", ())
        return option in [kind.__name__ for kind in getattr(rule, "kinds", ())] and not any(
            argument.arg in refused for argument in value.keywords
        )
    try:
        rule(ast.literal_eval(value))
    except ValueError:
        return False
    return True
