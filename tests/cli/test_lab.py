"""``stagewise lab``: the page on which boosting can be tried."""

import json

from cli_runs import fails
from stagewise.lab.html import lab_html


def test_the_page_is_written_and_its_path_printed(run, tmp_path):
    out = tmp_path / "boosting.html"
    code, stdout, err = run("lab", "--out", out)
    assert (code, err) == (0, "")
    assert "open it in a browser" in stdout
    assert out.read_text(encoding="utf-8") == lab_html()


def test_the_page_is_lab_html_in_the_current_folder(run, folder):
    code, stdout, _ = run("lab", "--json")
    assert code == 0
    size = (folder / "lab.html").stat().st_size
    assert json.loads(stdout) == {"lab": "lab.html", "bytes": size}


def test_paths_that_cannot_be_written_are_errors(run, tmp_path):
    fails(run("lab", "--out", tmp_path / "lab.pdf"), ".html")
    fails(run("lab", "--out", tmp_path / "none" / "lab.html"), "no folder")
    (tmp_path / "folder.html").mkdir()
    fails(run("lab", "--out", tmp_path / "folder.html"), "is a folder")


def test_the_page_has_no_address_of_another_file():
    page = lab_html()
    addresses = page.replace("http://www.w3.org/2000/svg", "")  # the name of a language
    assert "http" not in addresses.replace("http-equiv", "")
    assert "default-src 'none'" in page
