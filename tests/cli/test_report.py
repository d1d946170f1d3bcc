"""``stagewise report``: a page about a saved model."""

import json

import pytest
from pyarrow import csv

import stagewise
from cli_runs import ROWS, fails


@pytest.mark.parametrize("target", ["price", "kind", "flag"])
def test_the_page_equals_the_one_written_from_python(run, folder, tmp_path, target):
    out = tmp_path / "page.html"
    code, stdout, err = run(
        "report", f"{target}.stgw", "test.csv", "--out", out, "--weight", "weight"
    )
    assert code == 0
    assert "open it in a browser" in stdout
    assert "explaining rows" in err  # progress is printed
    model = stagewise.load(folder / f"{target}.stgw")
    table = csv.read_csv(folder / "test.csv")
    features = table.select(list(model.feature_names_in_))
    weight = table["weight"].to_numpy().astype(float)
    own = tmp_path / "own.html"
    model.report(features, table[target].to_numpy(), own, sample_weight=weight, target=target)
    assert own.read_bytes() == out.read_bytes()


def test_the_page_is_written_beside_the_model(run, folder):
    code, out, err = run("report", "price.stgw", "test.csv", "--json", "--title", "Houses")
    result = json.loads(out)
    assert code == 0
    assert (result["report"], result["rows"]) == ("price.html", ROWS)
    assert result["bytes"] == (folder / "price.html").stat().st_size
    assert "<title>Houses</title>" in (folder / "price.html").read_text(encoding="utf-8")
    assert "explaining" not in err


def test_models_without_a_report_are_errors(run, folder, tmp_path):
    fails(run("report", "price.stgw", "test.csv", "--out", tmp_path / "p.pdf"), ".html")
    fails(run("report", "price.stgw", "nothing.csv"), "no file")
    table = csv.read_csv(folder / "train.csv").to_pandas()
    model = stagewise.LinearRegression().fit(table[["area"]], table["price"])
    model.save(tmp_path / "line.stgw", notes={"target": "price"})
    fails(run("report", tmp_path / "line.stgw", "test.csv"), "LinearRegression", "evaluate")
    fails(run("report", "flag.stgw", "test.csv", "--target", "rooms"), "not in the training data")
