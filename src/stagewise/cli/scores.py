"""How good predictions are: the figures ``evaluate`` prints.

The one idea: scikit-learn's metrics under plain names, as one dictionary with the same keys in the
table, in JSON and in the demo. Nothing here predicts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["class_table", "classification_scores", "regression_scores"]

Floats = npt.NDArray[np.float64]


def regression_scores(y: Floats, mean: Floats, weight: Floats | None) -> dict[str, float]:
    """Return RMSE, MAE and R² of predicted means."""
    from sklearn import metrics

    scores = {
        "rmse": float(metrics.root_mean_squared_error(y, mean, sample_weight=weight)),
        "mae": float(metrics.mean_absolute_error(y, mean, sample_weight=weight)),
    }
    # R² compares with the mean of y, which says nothing about a single row.
    scores["r2"] = (
        float(metrics.r2_score(y, mean, sample_weight=weight)) if len(y) > 1 else float("nan")
    )
    return scores


def classification_scores(
    y: npt.NDArray[Any], proba: Floats, classes: npt.NDArray[Any], weight: Floats | None
) -> dict[str, float]:
    """Return log loss, accuracy and the area under the ROC curve.

    With more than two classes the area is the plain average, over classes that are met among the
    rows and are not the only one, of each class against the rest; it is not a number when there
    is none.
    """
    from sklearn import metrics

    code = np.searchsorted(classes, y)
    predicted = proba.argmax(axis=1)
    log_loss = metrics.log_loss(code, proba, labels=np.arange(len(classes)), sample_weight=weight)
    # One column says all there is to say about two classes.
    columns = [1] if len(classes) == 2 else range(len(classes))
    areas = [
        metrics.roc_auc_score(code == k, proba[:, k], sample_weight=weight)
        for k in columns
        if 0 < np.count_nonzero(code == k) < len(code)
    ]
    return {
        "log_loss": float(log_loss),
        "accuracy": float(metrics.accuracy_score(code, predicted, sample_weight=weight)),
        "auc": float(np.mean(areas)) if areas else float("nan"),
    }


def class_table(
    y: npt.NDArray[Any], proba: Floats, classes: npt.NDArray[Any], weight: Floats | None
) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and number of rows for each class."""
    from sklearn import metrics

    code = np.searchsorted(classes, y)
    every = np.arange(len(classes))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        code, proba.argmax(axis=1), labels=every, sample_weight=weight, zero_division=0.0
    )
    rows = np.bincount(code, minlength=len(classes))
    names = classes.tolist()
    return [
        {
            "class": names[k],
            "rows": int(rows[k]),
            "precision": float(precision[k]),
            "recall": float(recall[k]),
            "f1": float(f1[k]),
        }
        for k in every
    ]
