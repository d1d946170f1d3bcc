"""One browser for all browser tests, and pages in it.

An installed Chromium or Chrome is used, or the one that STAGEWISE_BROWSER names.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

from stagewise.report.exported_model import model_script

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def installed() -> str | None:
    given = os.environ.get("STAGEWISE_BROWSER")
    return shutil.which(given) if given else next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def watched(browser):
    """Open an empty page; any console error or exception of the page fails the test."""
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    yield page
    page.close()
    assert not errors


# Not of scope "session": the driver has an event loop and a thread, and other tests fork.
@pytest.fixture(scope="package")
def browser():
    path = installed()
    if path is None:
        pytest.skip(
            "no browser: install chromium (apt-get install chromium), or name one in "
            "STAGEWISE_BROWSER"
        )
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        # Chromium's sandbox does not run as root, and tests open only our own pages.
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = driver.chromium.launch(executable_path=path, args=args)
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    with watched(browser) as opened:
        yield opened


@pytest.fixture(scope="module")
def lab(browser):
    """A page with the prediction engine; one for all tests of a file."""
    with watched(browser) as opened:
        opened.evaluate(f"() => {{ 'use strict'; {model_script()} window.Model = Model; }}")
        yield opened
