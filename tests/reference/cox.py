"""Cox's partial likelihood in NumPy: sums of digits by event time, and cumulative sums."""

from __future__ import annotations

import math

import numpy as np

from stagewise.elementary import portable_exp, portable_log
from stagewise.exact_sums import sum_rows

__all__ = ["cox_loss"]

LARGEST_RATIO, UNIT_BITS, SMALLEST_BITS, SUM_BITS, LEAST_SUM = 250.0, 78, 30, 53, 1e-140
CANCELLED = 1e-6


def cox_loss(sets, ties, score):
    """Return minus the log likelihood, the derivatives, the hazards and logs of event times.

    Parameters
    ----------
    sets : RiskSets
        The risk sets.
    ties : {"efron", "breslow"}
        The method of ties.
    score : float64 array
        The scores of all rows.
    """
    own = score[sets.rows]
    shift = own.max()
    relative = portable_exp(np.maximum(own - shift, -LARGEST_RATIO))
    at_risk, events = _sums(sets, relative)
    log, hazard, squared, less, less_squared = _tied_sums(sets, ties, at_risk, events)
    total, squares = _reached(sets, hazard), _reached(sets, squared)
    of_rows, of_squares = _until(sets, total, hazard), _until(sets, squares, squared)
    of_rows[sets.is_event] -= less[sets.at]
    of_squares[sets.is_event] -= less_squared[sets.at]
    expected = relative * of_rows
    gradient, hessian = np.zeros(len(score)), np.zeros(len(score))
    gradient[sets.rows] = expected - sets.is_event
    hessian[sets.rows] = np.maximum(expected - relative**2 * of_squares, 0.0)
    values = np.concatenate([log, own[sets.is_event] - shift])
    weights = np.concatenate([np.ones(sets.n_times), -sets.weight[sets.is_event]])
    return sum_rows(values, weights), gradient, hessian, total, log


def _sums(sets, terms):
    """Return Σ w x over the rows at risk at each event time, and over its events."""
    n = sets.n_times
    at_risk, events = np.zeros(n), np.zeros(n)
    for digits, unit in _digits(sets, terms):
        change = np.bincount(sets.first, digits, n + 1) - np.bincount(sets.last, digits, n + 1)
        at_risk += np.cumsum(change[:n]) * unit
        events += np.bincount(sets.at, digits[sets.is_event], n) * unit
    return np.maximum(at_risk, LEAST_SUM), events


def _digits(sets, terms):
    """Return w x as sums of integers times units, so that all sums of them are exact."""
    whole_weights = (sets.weight == np.rint(sets.weight)).all()
    counts = sets.weight if whole_weights else np.ones(len(terms))
    terms = terms if whole_weights else terms * sets.weight
    bits = SUM_BITS - 1 - math.ceil(math.log2(counts.sum() + 1.0))
    scale = math.frexp(terms.max())[1]
    least = math.frexp(terms[terms >= LEAST_SUM].min())[1]
    rest, digits = np.ldexp(terms, -scale), []
    for place in range(-(-max(UNIT_BITS, scale - least + SMALLEST_BITS) // bits)):
        rest = np.ldexp(rest, bits)
        whole = np.floor(rest)
        rest = rest - whole
        digits.append((whole * counts, math.ldexp(1.0, scale - bits * (place + 1))))
    return digits


def _tied_sums(sets, ties, at_risk, events):
    """Return sums over tied events: logs, hazards, squares, and what an event has less of them."""
    deaths, none = sets.deaths, np.zeros(sets.n_times)
    if ties == "breslow" or (sets.copies == 1.0).all():
        log = deaths * portable_log(at_risk)
        return log, deaths / at_risk, deaths / at_risk**2, none, none
    n = sets.copies.astype(int)
    at = np.repeat(np.arange(len(n)), n)
    share = (np.arange(len(at)) - (np.cumsum(n) - n)[at]) / n[at]
    left = at_risk[at] - share * events[at]
    inverse = 1.0 / left
    kept = (1.0 - share) * inverse
    terms = portable_log(left), inverse, inverse**2, kept, kept**2
    unit = deaths / sets.copies
    log, hazard, squared, own, own_squared = (np.bincount(at, x) * unit for x in terms)
    return log, hazard, squared, hazard - own, squared - own_squared


def _reached(sets, steps):
    """Return the sums of steps from the first event time of a stratum to each one."""
    sums = np.empty(len(steps))
    for stratum in np.unique(sets.stratum):
        own = sets.stratum == stratum
        sums[own] = np.cumsum(steps[own])
    return sums


def _until(sets, sums, steps):
    """Return for each row the sum of steps at the event times at which it is at risk."""
    found = np.zeros(len(sets.first))
    begins = np.searchsorted(sets.stratum, sets.stratum, "left")
    for i, (first, last) in enumerate(zip(sets.first, sets.last, strict=True)):
        if last > first:
            found[i] = sums[last - 1]
            if first > begins[last - 1]:
                found[i] -= sums[first - 1]
                if found[i] <= CANCELLED * sums[last - 1]:
                    found[i] = sum(steps[first:last].tolist())
    return found
