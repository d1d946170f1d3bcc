"""Information gain over all values, against the textbook, and the numbers of the page about it."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from stagewise import DecisionTreeClassifier, InvalidParameterError
from stagewise.inspection import information_gain, show_split

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "methods" / "multiway_splits.md"


def read_tool():
    spec = importlib.util.spec_from_file_location("id3", ROOT / "tools" / "figures" / "id3.py")
    tool = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = tool  # dataclasses look their module up
    spec.loader.exec_module(tool)
    return tool


id3 = read_tool()

# Quinlan (1986), table 1: Saturday mornings.
OUTLOOK = (
    "sunny sunny overcast rain rain rain overcast sunny sunny rain sunny overcast overcast rain"
)
TEMPERATURE = "hot hot hot mild cool cool cool mild cool mild mild mild hot mild"
HUMIDITY = "high high high high normal normal normal high normal normal normal high normal high"
WINDY = "no yes no no no yes yes no no no yes yes no yes"
PLAY = "N N P P P N P N P P P P P N"


def saturdays() -> tuple[pd.DataFrame, list[str]]:
    columns = {
        "outlook": OUTLOOK,
        "temperature": TEMPERATURE,
        "humidity": HUMIDITY,
        "windy": WINDY,
    }
    return pd.DataFrame({name: text.split() for name, text in columns.items()}), PLAY.split()


def entropy_of(labels) -> float:
    n = len(labels)
    return -sum(c / n * math.log2(c / n) for c in Counter(labels).values())


def gain_of(values, labels) -> float:
    """Return Entropy(S) - Σ_v |S_v| / |S| Entropy(S_v)."""
    parts: dict[object, list[object]] = {}
    for value, label in zip(values, labels, strict=True):
        parts.setdefault(value, []).append(label)
    within = sum(len(part) / len(labels) * entropy_of(part) for part in parts.values())
    return entropy_of(labels) - within


def test_the_gains_are_those_of_the_textbook():
    X, y = saturdays()
    found = information_gain(X, y)
    assert found.entropy == pytest.approx(0.940, abs=5e-4)
    assert found.gain.tolist() == pytest.approx([0.246, 0.029, 0.151, 0.048], abs=1e-3)
    assert found.split_information[0] == pytest.approx(1.577, abs=5e-4)
    assert found.gain_ratio[0] == pytest.approx(0.156, abs=1e-3)
    assert [row["feature"] for row in found.table()] == [
        "outlook",
        "humidity",
        "windy",
        "temperature",
    ]


def test_gains_equal_the_slow_formula():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "text": rng.choice(["u", "v", "w"], 90),
            "number": rng.integers(0, 9, 90) / 4,
            "wide": 2**60 + rng.integers(0, 3, 90),
            "gaps": rng.choice([1.0, 2.0, np.nan], 90),
        }
    )
    y = rng.integers(0, 3, 90) * (X["text"] == "u")
    found = information_gain(X, y)
    for name, gain, own in zip(found.names, found.gain, found.split_information, strict=True):
        values = X[name].fillna(-1).tolist()
        assert gain == pytest.approx(gain_of(values, y.tolist()), abs=1e-12)
        assert own == pytest.approx(entropy_of(values))
    assert found.n_values.tolist() == [3, 9, 3, 3]
    nats = information_gain(X, y, base=math.e)
    np.testing.assert_allclose(nats.gain, math.log(2) * found.gain)
    np.testing.assert_allclose(nats.gain_ratio, found.gain_ratio)


def test_weight_two_is_the_row_twice_and_weight_zero_its_absence():
    X, y = saturdays()
    weight = np.arange(14) % 3
    repeated = np.repeat(np.arange(14), weight)
    found = information_gain(X, y, weight)
    other = information_gain(X.iloc[repeated], np.array(y)[repeated])
    np.testing.assert_allclose(found.gain, other.gain, atol=1e-12)
    np.testing.assert_array_equal(found.n_values, other.n_values)


def test_a_column_of_codes_has_the_largest_gain_but_not_the_largest_ratio():
    X, y = saturdays()
    found = information_gain(X.assign(day=np.arange(14)), y)
    assert found.gain[-1] == found.gain.max() == pytest.approx(found.entropy)
    assert found.gain_ratio[-1] == pytest.approx(found.entropy / math.log2(14))
    constant = information_gain(np.ones((14, 1)), y)
    assert (constant.gain.tolist(), constant.gain_ratio.tolist()) == ([0.0], [0.0])


def test_no_binary_split_has_a_larger_decrease_than_all_values():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 12, 300)
    y = (x % 3 + rng.integers(0, 2, 300)) // 2
    X = pd.DataFrame({"c": pd.Categorical(x.astype(str))})
    tree = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=2).fit(X, y)
    binary = show_split(tree, X, y).gain.max() / 300
    assert 0 < binary <= information_gain(X, y, base=math.e).gain[0] + 1e-12


def test_arguments_that_cannot_be_used_are_errors():
    X, y = saturdays()
    with pytest.raises(InvalidParameterError, match="base must be a number above 1; got 1"):
        information_gain(X, y, base=1)
    with pytest.raises(TypeError, match=r"Pass X.toarray\(\)"):
        information_gain(csr_matrix(np.eye(14)), y)
    with pytest.raises(ValueError, match="13"):
        information_gain(X, y[1:])


# ---- ID3 -----------------------------------------------------------------------------------------


def test_id3_grows_the_tree_of_the_textbook():
    """Outlook, then humidity of sunny days and wind of rainy days: five pure leaves."""
    X, y = saturdays()
    codes = np.column_stack([np.unique(X[name], return_inverse=True)[1] for name in X])
    rows = codes, np.unique(y, return_inverse=True)[1]
    tree = id3.Id3(rows, rows)
    assert tree.queue[0][2] == 0
    tree.split()
    assert sorted(entry[2] for entry in tree.queue) == [2, 3]
    assert tree.path()[-1] == (5, 0.0, 0.0)


def test_the_measured_gain_is_that_of_the_library():
    X, y = id3.groups(300, 0)
    found = information_gain(X, y, base=math.e)
    for j, (gain, own) in enumerate(zip(found.gain, found.split_information, strict=True)):
        assert id3.gain_and_information(X[:, j], y) == pytest.approx((gain, own))


@pytest.mark.parametrize("name", list(id3.TABLES))
def test_the_page_has_the_measured_numbers(name):
    page = PAGE.read_text(encoding="utf-8")
    for row in id3.summary(name):
        assert id3.table_row(name, row) in page
