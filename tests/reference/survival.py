"""Survival statistics by their definitions: loops over event times and pairs of rows."""

from __future__ import annotations

import numpy as np

__all__ = ["concordance", "partial_loss"]


def partial_loss(entry, time, event, stratum, weight, score, ties):
    """Return minus the log partial likelihood; a row of weight 2 is there twice."""
    rows = np.repeat(np.arange(len(time)), np.asarray(weight, dtype=int))
    entry, time, event, stratum, score = (x[rows] for x in (entry, time, event, stratum, score))
    total = 0.0
    for own in np.unique(stratum):
        for t in np.unique(time[(stratum == own) & event]):
            at_risk = (stratum == own) & (entry < t) & (t <= time)
            tied = (stratum == own) & event & (time == t)
            whole, part = np.exp(score[at_risk]).sum(), np.exp(score[tied]).sum()
            for place in range(tied.sum()):
                removed = place / tied.sum() * part if ties == "efron" else 0.0
                total += np.log(whole - removed)
            total -= score[tied].sum()
    return total


def concordance(time, event, risk, weight=None, stratum=None, event_weight=None):
    """Return the C-index, pair by pair."""
    n = len(time)
    weight = np.ones(n) if weight is None else weight
    stratum = np.zeros(n) if stratum is None else stratum
    event_weight = np.ones(n) if event_weight is None else event_weight
    good = total = 0.0
    for i in range(n):
        for j in range(n):
            later = time[j] > time[i] or (time[j] == time[i] and not event[j])
            if i == j or not event[i] or not later or stratum[i] != stratum[j]:
                continue
            own = weight[i] * weight[j] * event_weight[i]
            total += own
            good += own * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
    return good / total if total else float("nan")
