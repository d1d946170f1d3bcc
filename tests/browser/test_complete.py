"""A page is complete when it has loaded: nothing waits for scrolling, frames or timers."""

from __future__ import annotations

import base64
import gzip
import os
import random
import re
import subprocess
from importlib.resources import files

import pytest

from browser.conftest import installed
from report.reports import report_of

AT_LOAD = """window.addEventListener('load', () => {
  const figures = [...document.querySelectorAll('figure')];
  window.atLoad = {
    ready: document.documentElement.dataset.ready,
    sections: document.querySelectorAll('main > section').length,
    figures: figures.length,
    empty: figures.filter((f) => !f.querySelector('svg')).length,
    nodes: document.querySelectorAll('.tree .node').length,
  };
});"""


@pytest.mark.parametrize("name", ["two classes", "number"])
def test_everything_is_drawn_before_the_load_event(page, tmp_path, name):
    model, X, y, weight = report_of(name)
    page.add_init_script(AT_LOAD)
    page.goto(model.report(X, y, tmp_path / "r.html", sample_weight=weight).as_uri())
    found = page.evaluate("window.atLoad")
    assert (found["ready"], found["sections"], found["empty"]) == ("true", 10, 0)
    assert found["figures"] > 8
    assert found["nodes"] > 2


def test_a_notebook_shows_the_whole_page_in_a_frame(page):
    model, X, y, _ = report_of("number")
    page.set_content(model.report(X, y)._repr_html_())
    frame = page.frames[1]
    frame.wait_for_selector("html[data-ready=true]", timeout=20_000, state="attached")
    assert frame.evaluate("document.querySelectorAll('main > section').length") == 10
    assert frame.evaluate("document.querySelectorAll('figure svg').length") > 8


def test_a_plain_headless_browser_has_the_whole_page(browser, tmp_path):
    model, X, y, _ = report_of("three classes")
    path = model.report(X, y, tmp_path / "r.html")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    words = [installed(), "--headless", *sandbox, "--window-size=1280,6000", "--dump-dom"]
    done = subprocess.run(
        [*words, path.as_uri()], capture_output=True, text=True, check=True, timeout=60
    )
    assert 'data-ready="true"' in done.stdout
    figures = re.findall(r"<figure.*?</figure>", done.stdout, re.DOTALL)
    assert len(figures) > 8
    assert all("<svg" in figure for figure in figures)


def packed(kind):
    rng = random.Random(0)
    return {
        "nothing": b"",
        "one byte": b"x",
        "noise": rng.randbytes(70_000),
        "a run": bytes(100_000),
        "text": b"stagewise additive models, " * 4000,
        "numbers": bytes(rng.choices(range(256), weights=range(256, 0, -1), k=90_000)),
    }[kind]


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("kind", ["nothing", "one byte", "noise", "a run", "text", "numbers"])
def test_inflate_is_the_inverse_of_gzip(lab, kind, level):
    script = (files("stagewise.report") / "page" / "inflate.js").read_text(encoding="utf-8")
    data = packed(kind)
    found = lab.evaluate(
        f"(text) => {{ {script} return [...inflate(Uint8Array.from(atob(text), "
        "(sign) => sign.charCodeAt(0)))].map((b) => b.toString(16).padStart(2, '0')).join(''); }",
        base64_of(gzip.compress(data, level, mtime=0)),
    )
    assert bytes.fromhex(found) == data


def base64_of(data):
    return base64.b64encode(data).decode()


def test_a_damaged_model_is_an_error(lab):
    script = (files("stagewise.report") / "page" / "inflate.js").read_text(encoding="utf-8")
    whole = gzip.compress(packed("text"), 9, mtime=0)
    for damaged in (whole[:40] + whole[-8:], b"\0" + whole[1:], whole[:-2] + b"\xff\0"):
        message = lab.evaluate(
            f"(text) => {{ {script} try {{ inflate(Uint8Array.from(atob(text), "
            "(sign) => sign.charCodeAt(0))); } catch (error) { return error.message; } }",
            base64_of(damaged),
        )
        assert message == "The packed model is damaged."
