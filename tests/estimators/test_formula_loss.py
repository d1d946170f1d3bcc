"""Losses from formulas: what is derived, how it is computed, and what is refused."""

import pickle

import numpy as np
import pytest

import stagewise
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor
from stagewise._native import Workers, supported_isas
from stagewise.errors import InvalidParameterError
from stagewise.losses import (
    Exponential,
    Fair,
    FormulaLoss,
    Gamma,
    Huber,
    LogCosh,
    Logistic,
    Loss,
    Poisson,
    SquaredError,
    Tweedie,
    check_loss,
)

FAIR = "c**2 * (abs(y - f)/c - log(1 + abs(y - f)/c))"
CASES = {
    "log loss": (Loss.from_formula("log(1 + exp(-y*f))", y="±1"), Logistic()),
    "log loss of 0 and 1": (Loss.from_formula("log(1 + exp(f)) - y*f", y="0/1"), Logistic()),
    "exponential": (Loss.from_formula("exp(-y*f)", y="±1"), Exponential()),
    "squared error": (Loss.from_formula("(y - f)**2 / 2"), SquaredError()),
    "poisson": (Loss.from_formula("exp(f) - y*f", y="count"), Poisson()),
    "gamma": (Loss.from_formula("y*exp(-f) + f", y="positive"), Gamma()),
    "tweedie": (
        Loss.from_formula("y*exp((1-p)*f)/(p-1) + exp((2-p)*f)/(2-p)", y="non_negative", p=1.3),
        Tweedie(1.3),
    ),
    "fair": (Loss.from_formula(FAIR, c=1.3, hessian="1/(1 + abs(y - f)/c)"), Fair(1.3)),
    "log cosh": (Loss.from_formula("c**2 * log(cosh((y - f)/c))", c=0.8), LogCosh(0.8)),
}
OF_CLASSES = ("log loss", "log loss of 0 and 1", "exponential")
PLAIN = {"n_estimators": 15, "max_leaf_nodes": 6, "early_stopping": False}


def rows_of(name, n=600):
    rng = np.random.default_rng(3)
    X, score = rng.normal(size=(n, 3)), 2.0 * rng.normal(size=n)
    if name in OF_CLASSES:
        return X, (X[:, 0] + rng.normal(size=n) > 0).astype(np.int32), score
    if name in ("poisson", "gamma", "tweedie"):
        y = rng.gamma(2.0, np.exp(X[:, 0]), n)
        return X, np.floor(y) if name == "poisson" else y + 0.01, score
    return X, 30.0 + 7.0 * X[:, 0] + rng.normal(size=n), 30.0 + 5.0 * score


@pytest.mark.parametrize("name", CASES)
def test_a_formula_is_the_loss_of_the_library(name):
    mine, theirs = CASES[name]
    _, y, score = rows_of(name)
    np.testing.assert_allclose(mine.loss(y, score), theirs.loss(y, score), rtol=1e-11, atol=1e-11)
    own, other = mine.derivatives(y, score), theirs.derivatives(y, score)
    np.testing.assert_allclose(own[0], other[0], rtol=1e-9, atol=1e-11)
    if name != "log cosh":  # its hessian in the library is a bound of the second derivative
        np.testing.assert_allclose(own[1], other[1], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mine.mean(score), theirs.mean(score), rtol=1e-11, atol=1e-14)
    best = theirs.best_constant(y, None)
    np.testing.assert_allclose(mine.best_constant(y, None), best, rtol=1e-6, atol=1e-8)
    check_loss(mine, y, score)


@pytest.mark.parametrize("isa", supported_isas())
@pytest.mark.parametrize("name", CASES)
def test_the_core_equals_numpy(name, isa):
    mine, _ = CASES[name]
    _, y, score = rows_of(name, 3001)
    score = score if name in (*OF_CLASSES, "poisson", "gamma", "tweedie") else score + 0.0
    weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    for given in (None, weight):
        bound = mine.bind(Workers(2, isa), y, given)
        total = bound.evaluate(score[:, np.newaxis])
        losses = mine.loss(y, score)
        assert total == pytest.approx(losses @ (np.ones(len(y)) if given is None else given), 1e-5)
        pairs = bound.gradients(0).pairs().reshape(-1, 2).T
        for found, expected in zip(pairs, mine.derivatives(y, score), strict=True):
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * scale)


def test_threads_and_instruction_sets_change_no_bit():
    for name, (mine, _) in CASES.items():
        _, y, score = rows_of(name, 5001)
        found = set()
        for isa in supported_isas():
            for threads in (1, 3):
                bound = mine.bind(Workers(threads, isa), y, None)
                bound.evaluate(score[:, np.newaxis])
                found.add(bound.gradients(0).pairs().tobytes())
        assert len(found) == 1, name


FUNCTIONS = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": lambda x: np.log(np.abs(x) + 1e-3),
    "log1p": lambda x: np.log1p(np.abs(x)),
    "sqrt": lambda x: np.sqrt(np.abs(x) + 1e-3),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(0, x),
    "log_cosh": lambda x: np.log(np.cosh(x)),
    "cosh": np.cosh,
    "sinh": np.sinh,
    "abs": np.abs,
}
ARGUMENTS = {"log": "abs(f) + 0.001", "log1p": "abs(f)", "sqrt": "abs(f) + 0.001"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_core_are_accurate(name):
    constant = Loss.from_formula(f"{name}({ARGUMENTS.get(name, 'f')}) * 1 + 0.5*f*f", hessian="1")
    bound = constant.bind(Workers(1), np.zeros(1), None)
    for at in (-19.7, -3.1, -0.9, -0.2, -1e-3, 0.0, 1e-4, 0.3, 0.97, 2.2, 18.0):
        total = bound.evaluate(np.array([[at]]))
        expected = FUNCTIONS[name](at) + 0.5 * at * at
        assert total == pytest.approx(expected, rel=2e-6, abs=2e-7), at


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("log cosh",)])
def test_a_fit_by_a_formula_is_that_of_the_loss(name):
    X, y, _ = rows_of(name)
    mine, theirs = CASES[name]
    kind = GradientBoostingClassifier if name in OF_CLASSES else GradientBoostingRegressor
    own = kind(loss=mine, **PLAIN).fit(X, y)
    named = theirs.name if name in OF_CLASSES else theirs
    other = kind(loss=named, **PLAIN).fit(X, y)
    predict = "predict_proba" if name in OF_CLASSES else "predict"
    found, expected = getattr(own, predict)(X), getattr(other, predict)(X)
    # A split may change where two have the same gain to rounding.
    assert np.quantile(np.abs(found / expected - 1), 0.9) < 1e-3


def test_what_is_derived_can_be_read():
    found = Loss.from_formula("log(1 + exp(-y*f))", y="±1").derived()
    assert found["loss"] == "softplus(-f * y)"
    assert found["gradient"] == "-sigmoid(-f * y) * y"
    assert found["hessian"] == "sigmoid(-f * y) * sigmoid(f * y)"
    assert Loss.from_formula("exp(f) - y*f", y="count").derived()["prediction"] == "exp(f)"


def test_extreme_scores_do_not_overflow():
    loss = Loss.from_formula("log(1 + exp(-y*f))", y="±1")
    score = np.array([-800.0, 800.0, -1e4, 1e4])
    y = np.array([1, 1, 0, 0])
    np.testing.assert_allclose(loss.loss(y, score), [800.0, 0.0, 0.0, 1e4], atol=1e-12)
    np.testing.assert_allclose(loss.mean(score)[:, 1], [0, 1, 0, 1], atol=1e-12)
    total = loss.bind(Workers(1), y, None).evaluate(score[:, np.newaxis])
    assert total == pytest.approx(10_800.0)


@pytest.mark.parametrize(
    ("formula", "given", "convexity"),
    [
        ("log(1 + exp(-y*f))", {"y": "±1"}, "convex"),
        ("exp(f) - y*f", {"y": "count"}, "convex"),
        ("y*exp(-f) + f", {"y": "positive"}, "convex"),
        ("max(0, 1 - y*f)", {"y": "±1", "hessian": "1"}, "convex"),
        ("log(cosh(y - f))", {}, "convex"),
        ("sqrt(1 + (y - f)**2)", {}, "convex at 69 scores for each of 6 targets"),
        # The second derivative jumps at f = y.
        ("3*max(y - f, 0)**2 + max(f - y, 0)**2", {}, "convex at 69 scores for each of 6 targets"),
        (
            "log(1 + (y - f)**2)",
            {"hessian": "2"},
            "not known to be convex; steps have the given hessian",
        ),
    ],
)
def test_convexity_is_known(formula, given, convexity):
    assert Loss.from_formula(formula, **given).convexity == convexity


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').system('true')",
        "y.real",
        "f if y else 1",
        "lambda: f",
        "[f][0]",
        "f(y)",
        "exp(x=f)",
        "f == y",
        "'f'",
        "f; y",
        "(f := 2)",
        "exp(*f)",
        "1j*f",
        "True*f",
        "f//2",
        "f%2",
        "exp(",
        "(" * 300 + "f" + ")" * 300,
        "+".join(["f"] * 300),
        "f" * 3000,
        "",
    ],
)
def test_a_formula_is_never_code(formula):
    with pytest.raises(ValueError, match="formula"):
        Loss.from_formula(formula)


@pytest.mark.parametrize(
    ("formula", "given", "message"),
    [
        ("abs(y - f)", {}, "second derivative of 'abs.* is 0 everywhere.*hessian='1'"),
        (
            "log(1 + (y - f)**2)",
            {},
            "not convex in f: its second derivative is .* at y = .*hessian",
        ),
        ("log(f)", {}, "not finite at y = .* and f = "),
        ("exp(f) - y*g", {}, r"'g' is no name of it.*g=\.\.\."),
        ("exp(f)^2", {}, r"a power is \*\*"),
        ("exb(f)", {}, r"no function of formulas.*'exp'"),
        ("y**2", {}, "does not depend on f"),
        ("(y - f)**2", {"c": "1"}, "'c' of a formula must be a number"),
        ("(y - f)**2", {"exp": 1}, "is a function of formulas"),
        ("max(f)", {}, "needs 2 argument"),
        ("9**9**9**9 * f", {}, "not a finite number"),
        ("(y - f)**2", {"hessian": "f"}, "hessian='f' is negative at"),
    ],
)
def test_what_cannot_be_a_loss_is_an_error(formula, given, message):
    with pytest.raises(ValueError, match=message):
        Loss.from_formula(formula, **given)


def test_unknown_domains_are_named():
    with pytest.raises(InvalidParameterError, match=r"'-1/1'.*±1|must be one of 'real'"):
        Loss.from_formula("(y - f)**2", y="-1/1")


def test_targets_outside_the_domain_are_named():
    loss = Loss.from_formula("exp(f) - y*f", y="count")
    with pytest.raises(ValueError, match=r"whole numbers, 0 or more, but y is 1.5 at row 2"):
        GradientBoostingRegressor(loss=loss, **PLAIN).fit(np.eye(30), np.r_[1, 0, 1.5, np.ones(27)])


def test_a_formula_of_classes_needs_a_classifier_and_two_classes():
    loss, X = Loss.from_formula("log(1 + exp(-y*f))", y="±1"), np.eye(30)
    with pytest.raises(
        InvalidParameterError, match="FormulaLoss is a loss of GradientBoostingClassifier"
    ):
        GradientBoostingRegressor(loss=loss).fit(X, np.r_[-1.0, np.ones(29)])
    with pytest.raises(ValueError, match="y has 3 classes, but the loss FormulaLoss has 1 score"):
        GradientBoostingClassifier(loss=loss, **PLAIN).fit(X, np.arange(30) % 3)


def test_the_degree_scales_the_targets():
    assert Loss.from_formula("(y - f)**2").degree == 2
    assert Loss.from_formula("abs(y - f)", hessian="1").degree == 1
    fair = Loss.from_formula(FAIR, c=1.3)
    assert fair.degree == 2
    assert fair.in_units(2.0).parameters == {"c": 2.6}
    assert Loss.from_formula("exp(f) - y*f", y="count").degree is None


@pytest.mark.parametrize(
    ("formula", "degree"),
    [("s**2*log(cosh((y - f)/s))", 2), ("log(cosh((y - f)/s))", 0), ("s*log(cosh((y - f)/s))", 1)],
)
@pytest.mark.parametrize("width", [1e-3, 1.0, 1000.0])
def test_the_degree_does_not_depend_on_the_size_of_a_parameter(formula, degree, width):
    loss = Loss.from_formula(formula, s=width)
    assert (loss.degree, loss.in_units(2.0).parameters) == (degree, {"s": 2.0 * width})
    assert Loss.from_formula("log(cosh((y - f)/1000))").degree is None
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = width * X[:, 0] + 0.2 * width * rng.normal(size=400)
    model = GradientBoostingRegressor(loss=loss, n_estimators=60).fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < 0.4 * width
    mean = float(loss.loss(y, model.predict(X)).mean())
    assert model.train_loss_[-1] == pytest.approx(mean, rel=1e-3)


def test_files_have_the_formula(tmp_path):
    for name in ("log loss", "poisson", "fair"):
        X, y, _ = rows_of(name)
        kind = GradientBoostingClassifier if name in OF_CLASSES else GradientBoostingRegressor
        model = kind(loss=CASES[name][0], **PLAIN).fit(X, y)
        model.save(tmp_path / "model.stgw")
        for other in (stagewise.load(tmp_path / "model.stgw"), pickle.loads(pickle.dumps(model))):
            assert other.loss == model.loss
            assert other.loss.formula == model.loss.formula
            np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert model.loss.formula.encode() in (tmp_path / "model.stgw").read_bytes()


def test_a_formula_has_early_stopping_offsets_and_metrics():
    X, y, _ = rows_of("poisson")
    exposure = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    given = {"n_estimators": 60, "early_stopping": True, "eval_metric": "poisson_deviance"}
    own = GradientBoostingRegressor(loss=CASES["poisson"][0], **given)
    other = GradientBoostingRegressor(loss="poisson", **given)
    own.fit(X, y, exposure=exposure)
    other.fit(X, y, exposure=exposure)
    np.testing.assert_allclose(
        own.evals_result_["valid"]["poisson_deviance"][:10],
        other.evals_result_["valid"]["poisson_deviance"][:10],
        rtol=1e-3,
    )
    np.testing.assert_allclose(
        own.predict(X, exposure=2.0), 2.0 * own.predict(X, exposure=1.0), rtol=1e-9
    )


def test_several_targets_may_have_a_formula():
    X, y, _ = rows_of("squared error")
    Y = np.column_stack([y, -2 * y])
    model = GradientBoostingRegressor(loss=Loss.from_formula("(y - f)**2 / 2"), **PLAIN).fit(X, Y)
    plain = GradientBoostingRegressor(**PLAIN).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-3)


def test_huber_is_a_formula_with_a_minimum():
    loss = Loss.from_formula(
        "min(abs(y - f), d)**2 / 2 + d*(abs(y - f) - min(abs(y - f), d))", d=1.5, hessian="1"
    )
    y, score = np.random.default_rng(0).normal(size=(2, 100)) * 3
    np.testing.assert_allclose(loss.loss(y, score), Huber().loss_with_delta(y, score, 1.5))


def test_equal_formulas_are_equal_losses():
    one = FormulaLoss("(y - f)**2 + c", parameters={"c": 1})
    assert one == Loss.from_formula("(y - f)**2 + c", c=1.0)
    assert one != Loss.from_formula("(y - f)**2 + c", c=2.0)


def test_a_formula_of_numbers_in_a_classifier_has_a_remedy():
    loss = stagewise.Loss.from_formula("(y - f)**2")
    with pytest.raises(ValueError, match=r"needs a formula of two classes: .*y='±1'"):
        GradientBoostingClassifier(loss=loss).fit(np.arange(20.0).reshape(-1, 1), [0, 1] * 10)
