"""The specification of the model file is correct: its worked example is a valid model."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stagewise.model.file.format import MAGIC, MAJOR, MINOR, decode, encode
from stagewise.model.file.header import MAX_DEPTH, MAX_HEADER
from stagewise.model.file.sections import LABELS, LONGEST_NAME, SECTIONS

DOCUMENT = Path(__file__).parents[2] / "docs" / "file-format.md"


@pytest.fixture(scope="module")
def text() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def example(text: str) -> bytes:
    """Return the bytes of the worked example, assembled from the page alone."""
    worked = text[text.index("## A worked example") :]
    header = worked.split("```json\n")[1].split("```")[0].replace("\n", "").encode("ascii")
    data = b""
    for offset, content in re.findall(r"^\| (\d+) \| ([^|]*) \|", worked, flags=re.MULTILINE):
        assert int(offset) == len(data)
        if spaces := re.search(r"and (\d+) spaces", content):
            data += header + b" " * int(spaces[1])
        elif content != "(none)":
            data += bytes.fromhex(content.strip("`"))
    return data


def test_the_worked_example_is_the_described_model(example: bytes, text: str) -> None:
    model, estimator = decode(example)
    assert estimator == {"class": "GradientBoostingRegressor", "params": {"n_estimators": 1}}
    assert model.features.names == ["âge"]
    assert (model.offset, model.scale, model.ensemble.base.tolist()) == (10.0, 2.0, [0.5])
    (tree,) = model.ensemble.trees
    assert tree.threshold.tolist() == [30.5, 0.0, 0.0]
    assert tree.value.tolist() == [0.25, -1.0, 2.0]
    assert tree.missing_left.tolist() == [1, 0, 0]
    assert np.array_equal(model.train_loss, [0.75])
    assert f"`{model.fingerprint()}`" in text
    assert f"has {len(example)} bytes" in text


def test_the_worked_example_equals_the_written_bytes(example: bytes) -> None:
    assert encode(*decode(example)) == example


def test_the_document_lists_every_section_and_its_type(text: str) -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\w+) \| [^|]* \| ", text, flags=re.MULTILINE))
    assert rows == {**SECTIONS, LABELS: "any"}


def test_the_document_states_the_limits(text: str) -> None:
    assert f"format {MAJOR}.{MINOR}" in text
    assert MAGIC.hex(" ") in text
    assert f"at most {MAX_HEADER:,}".replace(",", " ") in text
    assert f"more than {MAX_DEPTH} deep" in text
    assert f"at most {LONGEST_NAME} characters" in text
