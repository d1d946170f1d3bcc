"""``stagewise describe``."""

import json

import pytest

pytest.importorskip("pyarrow")


def test_a_table_is_described(run):
    code, out, err = run("describe", "train.csv", "--target", "price")
    assert (code, err) == (0, "")
    assert "Association with 'price'" in out
    assert "Hints" in out
    assert "kind" in out


def test_describe_json_has_the_same_content(run):
    code, out, _ = run("describe", "train.csv", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["target"] is None
    assert {row["column"] for row in found["columns"]} >= {"price", "kind", "flag"}
    assert all(hint["words"] for hint in found["hints"])


def test_error_for_a_mistyped_target_suggests_the_nearest_name(run):
    code, out, err = run("describe", "train.csv", "--target", "prize")
    assert (code, out) == (1, "")
    assert "no column 'prize' (did you mean 'price'?)" in err


def test_a_missing_file_is_an_error(run):
    code, _, err = run("describe", "nothing.csv")
    assert code == 1
    assert "There is no file 'nothing.csv'" in err


@pytest.mark.parametrize("kind", [[], ["--kind", "scatter"], ["--kind", "correlation"]])
def test_a_table_is_drawn(run, folder, kind):
    pytest.importorskip("matplotlib")
    code, out, err = run("describe", "train.csv", "--target", "price", "--plot", "out.png", *kind)
    assert (code, err) == (0, "")
    assert "out.png: a plot of train.csv" in out
    picture = folder / "out.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()


def test_a_plot_that_cannot_be_written_is_an_error(run):
    code, _, err = run("describe", "train.csv", "--plot", "out.txt")
    assert code == 1
    assert "use one of .png, .svg, .pdf" in err
    code, _, err = run("describe", "train.csv", "--kind", "scatter")
    assert code == 1
    assert "--kind has no effect without --plot" in err
