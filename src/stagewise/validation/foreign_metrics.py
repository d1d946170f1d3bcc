"""The names that other libraries have for metrics, and ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

__all__ = ["FOREIGN_METRICS", "foreign_metric"]

FOREIGN_METRICS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        name: (library, ours)
        for library, names in {
            "LightGBM": "binary_error:error_rate multi_error:error_rate binary_logloss:log_loss "
            "multi_logloss:log_loss binary:log_loss multiclass:log_loss l1:mae l2:rmse "
            "l2_root:rmse regression_l1:mae regression_l2:rmse tweedie:tweedie_deviance "
            "gamma:gamma_deviance poisson:poisson_deviance",
            "XGBoost": "error:error_rate merror:error_rate logloss:log_loss mlogloss:log_loss "
            "aucpr:average_precision poisson-nloglik:poisson_deviance "
            "gamma-deviance:gamma_deviance gamma-nloglik:gamma_deviance",
            "CatBoost": "Accuracy:accuracy AUC:auc PRAUC:average_precision F1:f1 Logloss:log_loss "
            "MultiClass:log_loss CrossEntropy:log_loss BrierScore:brier TotalF1:f1 "
            "ZeroOneLoss:error_rate RMSE:rmse MAE:mae R2:r2 "
            "Poisson:poisson_deviance Tweedie:tweedie_deviance NDCG:ndcg MAP:map MRR:mrr "
            "ERR:err",
            "scikit-learn": "roc_auc:auc roc_auc_ovr:auc neg_log_loss:log_loss f1_macro:f1 "
            "neg_brier_score:brier neg_root_mean_squared_error:rmse neg_mean_absolute_error:mae "
            "neg_mean_squared_error:rmse neg_mean_poisson_deviance:poisson_deviance "
            "neg_mean_gamma_deviance:gamma_deviance d2_absolute_error_score:d2_absolute_error",
            "": "acc:accuracy mse:rmse mean_squared_error:rmse root_mean_squared_error:rmse "
            "mean_absolute_error:mae cross_entropy:log_loss binary_crossentropy:log_loss "
            "deviance:log_loss roc:auc auroc:auc pr_auc:average_precision auprc:average_precision "
            "ap:average_precision f1_score:f1 brier_score:brier r2_score:r2 err:error_rate",
        }.items()
        for name, ours in (pair.split(":") for pair in names.split())
    }
)
"""Metrics of other libraries: the library (empty: a habit of many), and our name. Some are in other
units, or negative."""


def foreign_metric(name: str, known: Collection[str] = ()) -> tuple[str, str]:
    """Return the library and our name of a metric; names in other case are accepted, too.

    Parameters
    ----------
    name : str
        The name that was passed.
    known : collection of str
        Our names.
    """
    if name in FOREIGN_METRICS:
        return FOREIGN_METRICS[name]
    folded = name.lower()
    if folded in known:
        return "", folded
    found = {theirs.lower(): entry for theirs, entry in FOREIGN_METRICS.items()}.get(folded)
    return ("", "") if found is None else ("", found[1])
