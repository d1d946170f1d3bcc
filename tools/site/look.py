"""Look at the built site: find pages that are wider than the screen, and take screenshots.

    python tools/site/look.py build/site build/shots [page …]

Needs Chromium and the package playwright (the extra `test`). Without pages, every page is
measured, and the pages of `SHOTS` are drawn, at the widths of a desktop and a phone.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
SHOTS = [
    "index",
    "tutorial",
    "coming-from",
    "accuracy",
    "changelog",
    "serving",
    "methods/ada_boost",
    "api/index",
    "api/GradientBoostingClassifier",
]
FOLDERS = ["guide", "notebooks"]
# The widest element that is not inside a part that scrolls by itself.
WIDEST = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (e) => e && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)
    || scrolls(e.parentElement));
  return [...document.querySelectorAll('.md-content *')]
    .filter((e) => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
    .map((e) => e.tagName + ' ' + (e.innerText || e.src || '').slice(0, 60))[0] || '';
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files without a line for each of them."""

    def log_message(self, *args: object) -> None:
        """Print nothing."""


def serve(site: Path) -> str:
    """Serve the site until the program ends, and return its address; search needs a server."""
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def open_page(page: Page, address: str) -> list[str]:
    """Open a page and return its faults: no page, overflow, images without pixels."""
    faults: list[str] = []
    response = page.goto(address, wait_until="networkidle")
    if response is None or not response.ok:
        return [f"no page: {address}"]
    if widest := page.evaluate(WIDEST):
        faults.append(f"wider than the screen: {widest}")
    broken = "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
    faults += [f"no image: {source}" for source in page.evaluate(broken)]
    return faults


def main(site: Path, out: Path, names: list[str]) -> int:
    """Measure the pages at both widths, draw some of them, and return the number of faults."""
    out.mkdir(parents=True, exist_ok=True)
    pages = [site / f"{name}.html" for name in names] or sorted(site.rglob("*.html"))
    drawn = names or SHOTS + [
        path.relative_to(site).with_suffix("").as_posix()
        for folder in FOLDERS
        for path in sorted((site / folder).glob("*.html"))
    ]
    count = 0
    with sync_playwright() as driver:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        host = serve(site)
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for size, (width, height) in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            for path in pages:
                name = path.relative_to(site).with_suffix("").as_posix()
                faults = open_page(page, f"{host}/{name}.html")
                count += len(faults)
                for fault in faults:
                    print(f"{name} ({size}): {fault}")
                if name in drawn:
                    target = out / f"{name.replace('/', '-')}-{size}.png"
                    page.screenshot(path=target, full_page=True)
        browser.close()
    print(f"{len(pages)} pages, {count} faults; screenshots in {out}")
    return count


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])))
