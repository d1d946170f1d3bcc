"""Hints for options, commands and files that users of other programs write."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stagewise.cli.hints import with_repeated_set

ROWS = "\n".join(f"{i % 4},{i},{3 * i}.5" for i in range(60))


@pytest.fixture
def table(folder: Path) -> str:
    (folder / "h.csv").write_text(f"rooms,area,price\n{ROWS}\n")
    return "h.csv"


UNKNOWN = {
    ("--n-estimators", "500"): "(a parameter is set by --set n_estimators=500)",
    ("--num_leaves=15",): "(a parameter is set by --set max_leaf_nodes=15)",
    ("-t", "price"): "(did you mean '--target'?)",
    ("-o", "m.stgw"): "(did you mean '--model'?)",
}


@pytest.mark.parametrize("words", UNKNOWN)
def test_an_unknown_option_has_a_hint_and_the_usage_of_its_command(
    words: tuple[str, ...], run: Any, table: str
) -> None:
    code, _, err = run("train", table, "--target", "price", *words)
    assert code == 2
    assert err.startswith("usage: stagewise train ")
    assert f"unrecognized arguments: {' '.join(words)} {UNKNOWN[words]}" in err


def test_a_short_option_of_predict_is_that_of_its_output(run: Any, table: str) -> None:
    code, _, err = run("predict", "m.stgw", table, "-o", "p.csv")
    assert code == 2
    assert "(did you mean '--out'?)" in err


@pytest.mark.parametrize(("word", "ours"), [("fit", "here it is 'train'"), ("trian", "'train'?")])
def test_an_unknown_command_has_a_hint(word: str, ours: str, run: Any) -> None:
    code, _, err = run(word, "h.csv")
    assert code == 2
    assert ours in err


def test_several_settings_follow_one_set(run: Any, table: str, folder: Path) -> None:
    arguments = ["--set", "n_estimators=5", "max_leaf_nodes=3", "--json"]
    code, out, _ = run("train", table, "--target", "price", *arguments)
    assert code == 0
    assert json.loads(out)["rounds"] == 5
    _, shown, _ = run("show", "h.stgw")
    assert re.search(r"max_leaf_nodes +3\n", shown)
    assert with_repeated_set(["--set", "a=1", table]) == ["--set", "a=1", table]
    (folder / "b=2").write_text("")  # a file
    assert with_repeated_set(["--set", "a=1", "b=2"]) == ["--set", "a=1", "b=2"]


def test_a_target_that_is_missing_or_mistyped_has_the_columns(run: Any, table: str) -> None:
    _, _, err = run("train", table)
    assert "with --target; the columns are 'rooms', 'area', 'price'." in err
    _, _, err = run("train", table, "--target", "prize")
    assert "its columns are 'price', " in err


def test_swapped_files_have_the_right_order(run: Any, table: str) -> None:
    for command in ("predict", "evaluate", "report"):
        code, _, err = run(command, table, "m.stgw")
        assert code == 1
        assert "not a Stagewise model; the model comes first: m.stgw h.csv." in err
