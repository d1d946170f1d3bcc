"""The picture of docs/lab.md: `python tools/figures/lab.py`.

Needs playwright and a Chromium, as the tests of pages do.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from stagewise.lab.html import write_lab

FILE = Path(__file__).parents[2] / "docs" / "figures" / "lab.png"
SETTINGS = """() => {
  const slide = (name, value) => {
    const input = document.getElementById(name);
    input.value = value;
    input.dispatchEvent(new Event("input"));
  };
  slide("rounds", 86);
}"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = write_lab(Path(folder) / "lab.html")
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=args)
        tab = browser.new_page(viewport={"width": 1280, "height": 980}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        tab.evaluate(SETTINGS)
        tab.focus("canvas.marks")
        tab.keyboard.press("PageDown")
        tab.evaluate("document.activeElement.blur()")
        tab.wait_for_timeout(300)
        tab.screenshot(path=FILE, full_page=True)
        browser.close()
    picture = Image.open(FILE).convert("RGB")
    picture.quantize(256, Image.Quantize.MAXCOVERAGE).save(FILE, optimize=True)


if __name__ == "__main__":
    main()
