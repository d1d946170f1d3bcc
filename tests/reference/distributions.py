"""Gradients, Fisher information and natural gradients of distributions, with NumPy and SciPy.

`gradient` and `information` are functions of the name of a loss; scores are within their bounds.
"""

import math

import numpy as np
from scipy import special

EULER = 0.5772156649015329
LARGEST_RATIO, LEAST_RATIO, LEAST_INFORMATION = 50.0, 1e-12, 1e-30
RIDGE = 1e-6
UNCOUPLED = ("zero_inflated", "hurdle")
"""Trees of these losses use the diagonal of the information."""


def gradient(name, y, score, df=None):
    """Return ∂L/∂F, shape (n_rows, n_outputs)."""
    if name.startswith(UNCOUPLED):
        kind = zero_inflated_gradient if name.startswith("zero_inflated") else hurdle_gradient
        return kind(counts_of(name), y, score)
    if name == "student_t":
        return student_t_gradient(y, score, df)
    return np.column_stack(GRADIENTS[name](y, *score.T))


def information(name, score, df=None):
    """Return the Fisher information, shape (n_rows, n_outputs, n_outputs)."""
    if name.startswith(UNCOUPLED):
        kind = zero_inflated_information if name.startswith("zero_inflated") else hurdle_information
        return kind(counts_of(name), score)
    if name == "student_t":
        return student_t_information(score, df)
    return INFORMATION[name](*score.T)


def tree_derivatives(name, y, score, bounds, df=None):
    """Return h n and h of every row: n the natural gradient, h = 1 / diag(I⁻¹)."""
    low, high = np.array(bounds).T
    inside = np.clip(score, low, high)
    g, whole = gradient(name, y, inside, df), information(name, inside, df)
    k = g.shape[1]
    diagonal_of = np.maximum(whole[:, np.arange(k), np.arange(k)], LEAST_INFORMATION)
    natural, weight = g / diagonal_of, diagonal_of.copy()
    beside = whole[:, ~np.eye(k, dtype=bool)].any()
    if beside and not name.startswith(UNCOUPLED):
        root = np.sqrt(diagonal_of)
        scaled = whole / (root[:, :, np.newaxis] * root[:, np.newaxis, :])
        scaled[:, np.arange(k), np.arange(k)] = 1.0 + RIDGE
        inverse = np.linalg.inv(scaled)
        coupled = np.einsum("nij,nj->ni", inverse, g / root) / root
        cut = ((inside <= low) & (g > 0)) | ((inside >= high) & (g < 0))
        kept = ~(cut | (np.abs(coupled) > LARGEST_RATIO)).any(axis=1)
        shares = np.maximum(inverse[:, np.arange(k), np.arange(k)], 1.0)
        natural[kept], weight[kept] = coupled[kept], (diagonal_of / shares)[kept]
    natural = np.clip(natural, -LARGEST_RATIO, LARGEST_RATIO)
    natural[(np.abs(natural) < LEAST_RATIO) | (weight < LEAST_RATIO)] = 0.0
    return weight * natural, weight


def diagonal(*columns):
    """Return information matrices without entries beside the diagonal."""
    own = np.broadcast_arrays(*columns)
    found = np.zeros((len(own[0]), len(own), len(own)))
    for k, column in enumerate(own):
        found[:, k, k] = column
    return found


# ---- real and positive numbers -------------------------------------------------------------------


def normal_gradient(y, location, log_scale):
    z = (y - location) / np.exp(log_scale)
    return -z / np.exp(log_scale), 1.0 - z * z


def laplace_gradient(y, location, log_scale):
    z = (y - location) / np.exp(log_scale)
    return -np.sign(z) / np.exp(log_scale), 1.0 - np.abs(z)


def gamma_gradient(y, log_mean, log_shape):
    k, log_ratio = np.exp(log_shape), np.log(y) - log_mean
    excess = np.expm1(np.minimum(log_ratio, 700.0))
    return -k * excess, k * (excess - log_ratio + special.digamma(k) - log_shape)


def weibull_gradient(y, log_scale, log_shape):
    k = np.exp(log_shape)
    log_z = k * (np.log(y) - log_scale)
    excess = np.expm1(np.minimum(log_z, 50.0))
    return -k * excess, excess * log_z - 1.0


def weibull_information(log_scale, log_shape):
    k = np.exp(log_shape)
    found = diagonal(k * k, math.pi**2 / 6.0 + (1.0 - EULER) ** 2)
    found[:, 0, 1] = found[:, 1, 0] = -k * (1.0 - EULER)
    return found


def beta_gradient(y, log_odds, log_precision):
    phi = np.exp(log_precision)
    a, b = special.expit(log_odds) * phi, special.expit(-log_odds) * phi
    first = special.digamma(a) - special.digamma(phi) - np.log(y)
    second = special.digamma(b) - special.digamma(phi) - np.log1p(-y)
    return a * special.expit(-log_odds) * (first - second), a * first + b * second


def beta_information(log_odds, log_precision):
    phi = np.exp(log_precision)
    a, b = special.expit(log_odds) * phi, special.expit(-log_odds) * phi
    first, second = special.polygamma(1, a), special.polygamma(1, b)
    slope = a * special.expit(-log_odds)
    both = a * a * first + b * b * second - phi * phi * special.polygamma(1, phi)
    # For large φ the difference loses its digits; its limit is ½.
    found = diagonal(slope**2 * (first + second), np.where(phi > 1e5, 0.5, both))
    found[:, 0, 1] = found[:, 1, 0] = slope * (a * first - b * second)
    return found


def student_t_gradient(y, score, df):
    s = np.exp(score[:, 1])
    z, v_of = (y - score[:, 0]) / s, degrees_of_freedom(score, df)
    v = (v_of + 1.0) / (v_of + z * z)
    columns = [-v * z / s, 1.0 - v * z * z]
    if df is None:
        near = 1.0 / v_of + special.digamma(0.5 * v_of) - special.digamma(0.5 * (v_of + 1.0))
        step = np.where(v_of > 1e4, -1.0 / (2.0 * v_of**2), near)
        slope = np.log1p(z * z / v_of) - v * z * z / v_of + step
        columns.append(0.5 * (v_of - 1.0) * slope)
    return np.column_stack(columns)


def student_t_information(score, df):
    v = degrees_of_freedom(score, df)
    location = (v + 1.0) / (v + 3.0) * np.exp(-2.0 * score[:, 1])
    found = diagonal(location, 2.0 * v / (v + 3.0), *([] if df else [np.ones(len(v))]))
    if df is None:
        near = 0.25 * (special.polygamma(1, 0.5 * v) - special.polygamma(1, 0.5 * (v + 1.0)))
        near = near - (v + 5.0) / (2.0 * v * (v + 1.0) * (v + 3.0))
        own = np.where(v > 300.0, 3.5 / v**4, np.maximum(near, 1e-300))
        found[:, 1, 2] = found[:, 2, 1] = -2.0 * (v - 1.0) / ((v + 1.0) * (v + 3.0))
        found[:, 2, 2] = (v - 1.0) ** 2 * own
    return found


def degrees_of_freedom(score, df):
    return np.full(len(score), df) if df is not None else 1.0 + np.exp(score[:, 2])


# ---- counts --------------------------------------------------------------------------------------


def counts_of(name):
    return name.removeprefix("zero_inflated_").removeprefix("hurdle_")


def negative_binomial_gradient(y, log_mean, log_dispersion):
    mu, alpha = np.exp(log_mean), np.exp(log_dispersion)
    first, r = (mu - y) / (1.0 + alpha * mu), 1.0 / alpha
    rising = special.digamma(y + r) - special.digamma(r)
    near = first - r * np.log1p(alpha * mu) + r * np.where(y > 0, rising, 0.0)
    far = -0.5 * alpha * ((y - mu) ** 2 - y)  # without cancellation, for small alpha
    small = alpha * np.maximum(np.maximum(y, mu), 1.0) < 1e-5
    return first, np.where(small, far, near)


def dispersion_information(mu, alpha):
    """Return the information about the log dispersion, as NegativeBinomialLoss describes it."""
    r, t = 1.0 / alpha, alpha * mu / (1.0 + alpha * mu)
    far = np.where(r > 1e4, 0.5 + 1.0 / (6.0 * r), r * (r * special.polygamma(1, r) - 1.0))
    found = np.asarray(t * t * (0.5 / (1.0 + alpha) * (1.0 - t) + far * t))
    sums = (alpha > 0.2) | ((alpha > 0.02) & (mu < 10.0))
    for i in np.flatnonzero(sums & (alpha * mu > 1e-4)):
        found[i] = information_sum(mu[i], alpha[i], r[i], t[i])
    return found


def information_sum(mu, alpha, r, t, terms=24):
    probability = np.exp(-r * np.log1p(alpha * mu))
    above, total = 1.0 - probability, 0.0
    for j in range(terms):
        total += above / (r + j) ** 2
        probability = probability * t * (r + j) / (j + 1.0)
        above = max(above - probability, 0.0)
        if above <= 1e-7:
            break
    else:  # P(Y > j) falls by the factor t per count, or more slowly
        first, decay = r + terms - 0.5, -np.log(t)
        total += above / (first * (1.0 + decay * first))
    return max(r * r * total - t / alpha, 1e-12)


def at_zero(counts, score):
    """Return log f(0) of the counts, and its gradient with respect to their scores."""
    zeros = np.zeros(len(score))
    log_zero = -np.exp(score[:, 0])
    if counts == "negative_binomial":
        alpha = np.exp(score[:, 1])
        log_zero = -np.log1p(alpha * np.exp(score[:, 0])) / alpha
    return log_zero, -gradient(counts, zeros, score[:, :-1])


def zero_inflated_gradient(counts, y, score):
    p, q = special.expit(score[:, -1]), special.expit(-score[:, -1])
    log_zero, slope = at_zero(counts, score)
    zero = np.exp(log_zero)
    whole = p + q * zero
    found = np.empty_like(score)
    own = gradient(counts, y, score[:, :-1])
    empty = (y == 0)[:, np.newaxis]
    found[:, :-1] = np.where(empty, -slope * (q * zero / whole)[:, np.newaxis], own)
    found[:, -1] = np.where(y == 0, p * q * np.expm1(log_zero) / whole, p)
    return found


def zero_inflated_information(counts, score):
    p, q = special.expit(score[:, -1]), special.expit(-score[:, -1])
    log_zero, slope = at_zero(counts, score)
    zero = np.exp(log_zero)
    whole = p + q * zero
    found = np.zeros((len(score), score.shape[1], score.shape[1]))
    outer = slope[:, :, np.newaxis] * slope[:, np.newaxis, :]
    lost = q * zero * p / whole  # a zero may be from either part
    found[:, :-1, :-1] = q[:, np.newaxis, np.newaxis] * information(counts, score[:, :-1])
    found[:, :-1, :-1] -= lost[:, np.newaxis, np.newaxis] * outer
    found[:, :-1, -1] = found[:, -1, :-1] = slope * (zero * p * q / whole)[:, np.newaxis]
    found[:, -1, -1] = p * p * q * -np.expm1(log_zero) / whole
    return found


def hurdle_gradient(counts, y, score):
    rate = np.exp(score[:, -1])
    log_zero, slope = at_zero(counts, score)
    odds = 1.0 / np.expm1(np.minimum(-log_zero, 700.0))  # f(0) / (1 - f(0))
    found = np.empty_like(score)
    above = gradient(counts, y, score[:, :-1]) - slope * odds[:, np.newaxis]
    found[:, :-1] = np.where((y == 0)[:, np.newaxis], 0.0, above)
    found[:, -1] = np.where(y == 0, rate, -rate / np.expm1(rate))
    return found


def hurdle_information(counts, score):
    rate = np.exp(score[:, -1])
    log_zero, slope = at_zero(counts, score)
    zero, above = np.exp(log_zero), -np.expm1(log_zero)
    found = np.zeros((len(score), score.shape[1], score.shape[1]))
    outer = slope[:, :, np.newaxis] * slope[:, np.newaxis, :]
    inner = information(counts, score[:, :-1]) / above[:, np.newaxis, np.newaxis]
    inner -= (zero / above**2)[:, np.newaxis, np.newaxis] * outer
    found[:, :-1, :-1] = -np.expm1(-rate)[:, np.newaxis, np.newaxis] * inner
    found[:, -1, -1] = rate * rate / np.expm1(rate)
    return found


GRADIENTS = {
    "normal": normal_gradient,
    "laplace": laplace_gradient,
    "log_normal": lambda y, *score: normal_gradient(np.log(y), *score),
    "gamma_distribution": gamma_gradient,
    "weibull": weibull_gradient,
    "beta": beta_gradient,
    "poisson": lambda y, log_mean: (np.exp(log_mean) - y,),
    "poisson_distribution": lambda y, log_mean: (np.exp(log_mean) - y,),
    "negative_binomial": negative_binomial_gradient,
}
INFORMATION = {
    "normal": lambda _, log_scale: diagonal(np.exp(-2.0 * log_scale), 2.0),
    "laplace": lambda _, log_scale: diagonal(np.exp(-2.0 * log_scale), 1.0),
    "log_normal": lambda _, log_scale: diagonal(np.exp(-2.0 * log_scale), 2.0),
    "gamma_distribution": lambda _, log_shape: diagonal(
        np.exp(log_shape),
        np.exp(log_shape) * (np.exp(log_shape) * special.polygamma(1, np.exp(log_shape)) - 1.0),
    ),
    "weibull": weibull_information,
    "beta": beta_information,
    "poisson": lambda log_mean: diagonal(np.exp(log_mean)),
    "poisson_distribution": lambda log_mean: diagonal(np.exp(log_mean)),
    "negative_binomial": lambda log_mean, log_dispersion: diagonal(
        np.exp(log_mean) / (1.0 + np.exp(log_mean + log_dispersion)),
        dispersion_information(np.exp(log_mean), np.exp(log_dispersion)),
    ),
}
