"""The boxes of the quality section do not cover each other, however long class names are."""

from __future__ import annotations

import numpy as np
import pytest

from stagewise import GradientBoostingClassifier

LONG = "a class with a name that does not fit into one cell of a confusion matrix"

# Everything that is drawn as a box, and has no other box inside.
BOXES = """
#quality > h2, #quality > .lead, #quality .controls > *, #quality h3, #quality .confusion caption,
#quality .confusion th, #quality .confusion tbody td, #quality .rates > div, #quality details,
#quality figure
"""
RECTANGLES = """(selector) => [...document.querySelectorAll(selector)].map((box) => {
  const { left, right, top, bottom } = box.getBoundingClientRect();
  const scrolled = box.closest('.scroll')?.getBoundingClientRect();
  const name = `${box.tagName} ${box.className} ${box.textContent.slice(0, 20)}`;
  const end = scrolled ? Math.min(right, scrolled.right) : right;
  return { name, left, top, bottom, right: end };
})"""


def open_report(page, folder, n_classes, width):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    names = np.array([f"{k}: {LONG}" for k in range(n_classes)])
    y = names[
        np.digitize(X[:, 0] + rng.normal(size=300) / 4, np.linspace(-1, 1, n_classes + 1)[1:-1])
    ]
    model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(model.report(X, y, folder / "report.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    return names


@pytest.mark.parametrize("n_classes", [2, 4, 10])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_box_covers_another(page, tmp_path, n_classes, width):
    open_report(page, tmp_path, n_classes, width)
    boxes = [box for box in page.evaluate(RECTANGLES, BOXES) if box["right"] > box["left"]]
    assert len(boxes) > 10
    for i, a in enumerate(boxes):
        assert a["right"] <= width, a
        for b in boxes[i + 1 :]:
            across = min(a["right"], b["right"]) - max(a["left"], b["left"])
            along = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
            assert min(across, along) < 1, (a, b)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_long_labels_are_cut_and_have_the_full_text_on_hover(page, tmp_path, n_classes):
    names = open_report(page, tmp_path, n_classes, 1280)
    labels = page.eval_on_selector_all(
        "#quality .confusion th span",
        "all => all.map((s) => [s.title, s.scrollWidth > s.clientWidth])",
    )
    assert {title for title, _ in labels} - {"others"} == set(names)
    assert all(cut for title, cut in labels if title != "others")
