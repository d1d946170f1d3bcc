"""Why tests of scikit-learn fail with our estimators: by the test, or by the message."""

from __future__ import annotations

import re

__all__ = ["REASONS", "reason_of"]

REASONS: dict[str, tuple[str, str]] = {
    "private": (
        "private objects",
        (
            "Private objects of scikit-learn: `tree_`, predictors, bin mappers, raw predictions "
            "and private methods. Trees are in `model_.ensemble.trees`; `export_text` and `rules` "
            "show them."
        ),
    ),
    "names": (
        "attributes with another name",
        (
            "Public attributes with another name, or none. The error gives ours, where there is "
            "one ([coming from](coming-from.md))."
        ),
    ),
    "parameters": (
        "parameters without a counterpart",
        "Parameters, and values of parameters, that do not exist here. The error names them.",
    ),
    "messages": (
        "messages and conditions",
        (
            "Other conditions for errors and warnings, or other words: the tests compare the text "
            "of messages, or pass values that are accepted, or refused, here."
        ),
    ),
    "sparse": (
        "sparse matrices",
        (
            "Sparse matrices: criteria, constraints and several targets that sort or add up the "
            "rows of every node are refused by name; other formats than CSR are converted to CSR "
            "before base estimators get them."
        ),
    ),
    "targets": (
        "several columns in y",
        "Several columns in y where an estimator has one target. The error names the estimator.",
    ),
    "labels": (
        "mixed labels",
        "Labels of mixed types in y, such as text and numbers, are an error here.",
    ),
    "numbers": (
        "numbers",
        (
            "Numbers that were computed by scikit-learn: other random numbers, bins, ties, "
            "thresholds or defaults of the algorithm. Agreement with scikit-learn is tested where "
            "both are deterministic (`tests/agreement`, `tests/textbook`)."
        ),
    ),
    "no_seed": (
        "seeds of deterministic members",
        (
            "Every member of a deterministic AdaBoost is the same with any seed: the tests count "
            "the random states of default trees, which have none here."
        ),
    ),
    "scale": (
        "the scale of a decision function",
        "`decision_function` of AdaBoost is F, not divided by the sum of the weights of votes.",
    ),
    "three_dimensions": (
        "X with three dimensions",
        "X with more than two dimensions is refused, also for estimators that accept it.",
    ),
    "poisson": (
        "bags of Poisson counts",
        (
            'A bag of `sampling="bootstrap"` has a Poisson number of copies of each row, passed '
            "as weights, not `max_samples` rows drawn with replacement."
        ),
    ),
    "weights": (
        "the meaning of sample weights",
        "Sample weights are counts or ratios of every fit, not probabilities of drawing rows.",
    ),
    "oob_warm": (
        "out-of-bag rows and warm_start",
        "Out-of-bag predictions and `warm_start` can be combined here.",
    ),
    "routing": (
        "metadata of predictions",
        "Metadata is routed to `fit` of base estimators, not to their predictions.",
    ),
    "seeds": (
        "seeds of base estimators",
        "Bagging replaces every `random_state` of a base estimator, also one that is a number.",
    ),
    "default": (
        "the default base estimator",
        "The default base estimator is a decision tree of this library.",
    ),
    "threads": ("threads of forests", "Forests use native threads, not joblib."),
    "stream": (
        "output to the terminal",
        "Output to the terminal has another form.",
    ),
}
"""The title and the text of each reason."""

BY_TEST: dict[str, str] = {
    # AdaBoost
    "test_weight_boosting.test_classification_toy": "labels",
    "test_weight_boosting.test_adaboost_classifier_sample_weight_error": "labels",
    "test_weight_boosting.test_estimator": "labels",
    "test_weight_boosting.test_iris": "no_seed",
    "test_weight_boosting.test_diabetes": "no_seed",
    "test_weight_boosting.test_sparse_classification": "sparse",
    "test_weight_boosting.test_sparse_regression": "sparse",
    "test_weight_boosting.test_multidimensional_X": "three_dimensions",
    "test_weight_boosting.test_adaboost_decision_function": "scale",
    "test_weight_boosting.test_sample_weight_adaboost_regressor": "messages",
    # bagging
    "test_bagging.test_sparse_classification": "sparse",
    "test_bagging.test_sparse_regression": "sparse",
    "test_bagging.test_bootstrap_samples": "poisson",
    "test_bagging.test_estimators_samples": "poisson",
    "test_bagging.test_estimators_samples_deterministic": "seeds",
    "test_bagging.test_max_samples_consistency": "private",
    "test_bagging.test_draw_indices_using_sample_weight": "weights",
    "test_bagging.test_warning_bootstrap_sample_weight": "weights",
    "test_bagging.test_invalid_sample_weight_max_samples_bootstrap_combinations": "weights",
    "test_bagging.test_warm_start_with_oob_score_fails": "oob_warm",
    "test_bagging.test_metadata_routing_with_dynamic_method_selection": "routing",
    "test_bagging.test_oob_score_classification": "messages",
    "test_bagging.test_oob_score_regression": "messages",
    "test_bagging.test_bagging_regressor_with_missing_inputs": "targets",
    "test_bagging.test_estimator": "default",
    # forests and gradient boosting
    "test_forest.test_backend_respected": "threads",
    "test_gradient_boosting.test_verbose_output": "stream",
    "test_gradient_boosting.test_more_verbose_output": "stream",
    "test_gradient_boosting.test_symbol_labels": "labels",
}
"""The reason of a test function, "module.function"."""

BY_MESSAGE: tuple[tuple[str, str], ...] = (
    (r"no attribute '(tree_|_\w+)'|'PruningPath'", "private"),
    (r"sparse", "sparse"),
    (r"y should be a 1d array|several targets|y has several|n_outputs", "targets"),
    (r"Unknown label type", "labels"),
    (
        r"has no parameter|has no argument|unexpected keyword|must be (one of|a |'auto'|None)",
        "parameters",
    ),
    (r"Invalid parameter|InvalidParameterError", "parameters"),
    (r"no attribute", "names"),
    (r"Regex pattern|DID NOT RAISE|DID NOT WARN|Error", "messages"),
    (r"", "numbers"),
)
"""The reason of every other failure: the first pattern that its message has."""


def reason_of(module: str, function: str, message: str) -> str:
    """Return the key of the reason for which a test fails."""
    known = BY_TEST.get(f"{module}.{function}")
    if known is not None:
        return known
    message = message.removeprefix("AssertionError: ") if "Regex" not in message else message
    return next(reason for pattern, reason in BY_MESSAGE if re.search(pattern, message))
