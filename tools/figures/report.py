"""Pictures of docs/report.md: `make figures CALIFORNIA=housing.parquet`.

Needs playwright and a Chromium, as the tests of pages do, and the same table as california.py.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.model_selection import train_test_split

from stagewise import GradientBoostingRegressor

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
TARGET = "median_house_value"


def main(table: str) -> None:
    rows = pd.read_parquet(table)
    parts = train_test_split(rows.drop(columns=TARGET), rows[TARGET], random_state=0)
    X_train, X_test, y_train, y_test = parts
    model = GradientBoostingRegressor(
        loss="absolute_error", n_estimators=400, early_stopping=True, random_state=0
    ).fit(X_train, y_train)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = model.report(X_test, y_test, Path(folder) / "report.html")
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=args)
        tab = browser.new_page(viewport={"width": 1240, "height": 820})
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready]")
        tab.wait_for_timeout(300)
        tab.screenshot(path=FOLDER / "report.png")
        tab.locator(".field input[type=text]").first.fill("6.5")
        tab.locator("#what-if").screenshot(path=FOLDER / "report_what_if.png")
        browser.close()
    for name in ("report", "report_what_if"):
        picture = Image.open(FOLDER / f"{name}.png").convert("RGB")
        picture.quantize(256, Image.Quantize.MAXCOVERAGE).save(
            FOLDER / f"{name}.png", optimize=True
        )


if __name__ == "__main__":
    main(sys.argv[1])
