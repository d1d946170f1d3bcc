"""Losses of users by registered names: model files, and the check of a loss."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import stagewise
from estimators.tables import make_table, quick
from stagewise import GradientBoostingClassifier, GradientBoostingRegressor, register_loss
from stagewise.errors import InvalidParameterError, ModelFormatError
from stagewise.losses import (
    POINT_LOSSES,
    Exponential,
    Fair,
    LogCosh,
    Logistic,
    Loss,
    Multinomial,
    PseudoHuber,
    SquaredError,
    check_loss,
    registration,
)

Regressor, Classifier = GradientBoostingRegressor, GradientBoostingClassifier


@pytest.fixture(scope="module")
def table():
    return make_table(400)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Give every test a registry of its own, which has the losses below."""
    monkeypatch.setattr(registration, "_REGISTERED", {})
    for loss in (Lopsided, Scaled, squared, Odds):
        register_loss(loss)


class Lopsided(Loss):
    """Squared error with a factor for underestimation, and an exponential link."""

    name = "lopsided"

    def __init__(self, factor=3.0, label="x"):
        self.factor, self.label = factor, label

    def loss(self, y, score):
        return np.where(y > np.exp(score), self.factor, 1.0) * (y - np.exp(score)) ** 2

    def derivatives(self, y, score):
        mean = np.exp(score)
        factor = 2 * np.where(y > mean, self.factor, 1.0)
        return factor * (mean - y) * mean, factor * mean * np.maximum(2 * mean - y, mean)

    def mean(self, score):
        return np.exp(score)


class Scaled(Loss):
    """A loss that cannot be made again from its parameters."""

    name = "scaled"

    def __init__(self, unit):
        self.unit = unit
        self.other = 0.0

    def loss(self, y, score):
        return self.unit * (y - score) ** 2


class Odds(Logistic):
    """A loss of two classes."""

    name = "odds"


def squared(y, score):
    return score - y, np.ones_like(score)


def weighted(y, score, weight):
    return score - y, weight


def fitted(loss, table, **params):
    return quick(Regressor, loss=loss, **params).fit(table.X, table.number / 1000)


@pytest.mark.parametrize(
    "loss", [Lopsided(7.0), "lopsided", squared, "squared"], ids=["object", "name", "f", "f's name"]
)
def test_a_registered_loss_is_saved_and_loaded_by_its_name(loss, table, tmp_path):
    model = fitted(loss, table)
    path = tmp_path / "m.stgw"
    model.save(path)
    again = stagewise.load(path)
    np.testing.assert_array_equal(again.predict(table.X), model.predict(table.X))
    assert again.fingerprint() == model.fingerprint()
    assert again.get_params()["loss"] == loss
    assert again.recipe() == model.recipe()
    assert again.model_.loss in ("lopsided", "squared")
    for predicted, expected in zip(
        again.staged_predict(table.X), model.staged_predict(table.X), strict=True
    ):
        np.testing.assert_array_equal(predicted, expected)
    again.fit(table.X, table.number / 1000)
    assert again.fingerprint() == model.fingerprint()


def test_a_file_has_the_name_and_the_parameters(table, tmp_path):
    from stagewise.model.file.format import read_model

    fitted(Lopsided(7.0), table).save(tmp_path / "m.stgw")
    _, notes = read_model(tmp_path / "m.stgw")
    assert notes["params"]["loss"] == {"loss": "lopsided", "factor": 7.0, "label": "x"}


def test_several_targets_and_classes(table, tmp_path):
    several = quick(Regressor, loss=Lopsided()).fit(table.X, 0.1 + table.numbers / 1000)
    classes = quick(Classifier, loss=Odds()).fit(table.X, table.two)
    for model, method in ((several, "predict"), (classes, "predict_proba")):
        model.save(tmp_path / "m.stgw")
        again = stagewise.load(tmp_path / "m.stgw")
        expected = getattr(model, method)(table.X)
        np.testing.assert_array_equal(getattr(again, method)(table.X), expected)


def test_a_loss_may_be_registered_after_the_fit(table, tmp_path):
    def late(y, score):
        return squared(y, score)

    model = fitted(late, table)
    with pytest.raises(ValueError, match=r"holds no code.*register_loss"):
        model.save(tmp_path / "m.stgw")
    register_loss(late)
    model.save(tmp_path / "m.stgw")
    assert stagewise.load(tmp_path / "m.stgw").fingerprint() == model.fingerprint()


def test_loading_without_the_registration_is_an_error_with_the_remedy(table, tmp_path, monkeypatch):
    path = tmp_path / "m.stgw"
    for loss in (Lopsided(7.0), "squared"):
        fitted(loss, table).save(path)
        with monkeypatch.context() as context:
            context.setattr(registration, "_REGISTERED", {})
            with pytest.raises(ModelFormatError, match=r"call stagewise\.register_loss"):
                stagewise.load(path)


def test_the_command_line_refuses_a_custom_loss(table, tmp_path):
    fitted(Lopsided(7.0), table).save(tmp_path / "m.stgw")
    (tmp_path / "rows.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
    code = (
        "from stagewise.cli.main import main; import sys; "
        "sys.exit(main(['predict', 'm.stgw', 'rows.csv']))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode != 0
    assert "'lopsided' is not one of this library" in found.stderr
    assert "Traceback" not in found.stderr


def test_a_loss_with_another_number_of_scores_is_an_error(table, tmp_path, monkeypatch):
    path = tmp_path / "m.stgw"
    quick(Classifier, loss=Odds()).fit(table.X, table.two).save(path)

    class Other(Multinomial):
        name = "odds"

        def __init__(self):
            super().__init__(2)

    monkeypatch.setattr(registration, "_REGISTERED", {"odds": Other})
    with pytest.raises(ModelFormatError, match=r"1 scores per row, but the loss 'odds' .* has 2"):
        stagewise.load(path)


def test_a_loss_that_its_parameters_do_not_describe_is_not_saved(table, tmp_path):
    loss = Scaled(2.0)
    loss.other = 5.0
    with pytest.raises(InvalidParameterError, match="is another loss"):
        fitted(loss, table).save(tmp_path / "m.stgw")
    with pytest.raises(InvalidParameterError, match="no plain value"):
        fitted(Lopsided(2.0, {1j}), table).save(tmp_path / "m.stgw")
    with pytest.raises(ValueError, match="does not accept"):
        fitted("scaled", table)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [*POINT_LOSSES, "log_loss", "exponential", "custom"])
def test_names_of_this_library_cannot_be_registered(name):
    with pytest.raises(ValueError, match=r"cannot be replaced|has no name"):
        register_loss(type("Own", (SquaredError,), {"name": name}))


def test_faults_of_registration():
    with pytest.raises(TypeError, match=r"register_loss\(Lopsided\)"):
        register_loss(Lopsided())
    with pytest.raises(ValueError, match=r"'<lambda>': a name consists of"):
        register_loss(lambda y, score: (score, score))
    with pytest.raises(TypeError, match="takes a class derived from"):
        register_loss(3)
    with pytest.raises(ValueError, match=r"Another loss is registered as 'lopsided': .*Lopsided"):
        register_loss(type("Second", (Lopsided,), {}))
    with pytest.raises(InvalidParameterError, match="by the weights"):
        register_loss(weighted)


def test_the_same_definition_may_be_registered_again():
    again = type("Lopsided", (Lopsided,), {"__module__": __name__})
    assert register_loss(again) is again
    assert type(registration.custom_loss("lopsided")) is again


LOSSES = {
    **{name: kind() for name, kind in POINT_LOSSES.items()},
    "fair": Fair(delta=1.0),  # elsewhere δ depends on the other rows
    "log_cosh": LogCosh(delta=1.0),
    "pseudo_huber": PseudoHuber(delta=1.0),
}
del LOSSES["huber"]  # it starts from the median, as M_TreeBoost does


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_of_this_library_passes_the_check(name):
    check_loss(LOSSES[name], y=np.arange(50) / 49 if name == "cross_entropy" else None)


def test_the_check_of_losses_of_classes():
    for loss in (Logistic(), Exponential(), Multinomial(3)):
        check_loss(loss, y=np.arange(60) % (3 if loss.n_outputs == 3 else 2))
    check_loss(squared)
    check_loss(Lopsided(3.0))


def with_fault(**parts):
    return type("Faulty", (SquaredError,), parts)()


FAULTS = {
    "gradient": (
        with_fault(derivatives=lambda self, y, s: (y - s, np.ones_like(s))),
        r"gradient of Faulty\(\) is [-\d.e]+ in row 0, at y = .* expected",
    ),
    "hessian": (
        with_fault(derivatives=lambda self, y, s: (s - y, 0.2 * np.ones_like(s))),
        r"hessian of .* is 0.2 in row 0, .*expected 1, the second derivative, or a larger bound",
    ),
    "negative": (
        with_fault(derivatives=lambda self, y, s: (s - y, -np.ones_like(s))),
        "is -1 in row 0.*expected 0 or more",
    ),
    "shape": (
        with_fault(derivatives=lambda self, y, s: (s[:3], s)),
        r"gradient of .* has the shape \(3,\); expected \(50,\)",
    ),
    "best constant": (
        with_fault(best_constant=lambda self, y, weight: np.zeros(1)),
        r"best_constant returned \[0.0\] with the mean loss",
    ),
    "degree": (with_fault(degree=1), r"degree 1, but L\(3 y \+ 2, 3 F \+ 2\) is not 3 L"),
    "link": (
        with_fault(mean=lambda self, s: np.exp(s), link=lambda self, m: m),
        "link is not the inverse of `mean`",
    ),
}


@pytest.mark.parametrize(("loss", "words"), FAULTS.values(), ids=FAULTS)
def test_the_check_finds_faults(loss, words):
    with pytest.raises(ValueError, match=words):
        check_loss(loss)


def test_the_check_of_a_function_compares_its_hessian():
    def half(y, score):
        return score - y, 0.5 * np.ones_like(score)

    with pytest.raises(ValueError, match=r"hessian of half is 0\.5 in row 0"):
        check_loss(half)


def test_the_quantile_of_another_loss_names_its_own_parameter(table):
    with pytest.raises(InvalidParameterError, match=r"losses\.Tweedie\(power=\.\.\.\)"):
        quick(Regressor, loss="tweedie", quantile=0.9).fit(table.X, table.number)
