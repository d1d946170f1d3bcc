"""The report page of a ranker."""

from __future__ import annotations

import numpy as np
import pytest

from browser.conftest import watched
from stagewise import GradientBoostingRanker
from stagewise.inspection import query_scores


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(900, 3)), np.repeat([f"search {k}" for k in range(90)], 10)
    relevance = np.clip(np.round(X[:, 0] + rng.normal(size=900)), 0, 3)
    relevance[:30] = 0
    model = GradientBoostingRanker(n_estimators=10).fit(X, relevance, qid=qid)
    path = tmp_path_factory.mktemp("report") / "ranker.html"
    model.report(X, relevance, path, qid=qid, target="relevance")
    return path, query_scores(model, X, relevance, qid=qid)


def test_the_report_of_a_ranker_has_its_scores_and_worst_queries(ranker, browser):
    path, found = ranker
    with watched(browser) as page:
        page.goto(path.as_uri())
        shown = page.locator('[data-score="ndcg@10"]').inner_text()
        assert float(shown) == pytest.approx(found["ndcg@10"].value, abs=5e-5)
        assert "random order" in page.locator("#overview").inner_text()
        quality = page.locator("#quality")
        text = quality.inner_text()
        assert "90 queries" in text
        assert "3 of them without a relevant row are left out" in text
        assert quality.locator("svg").count() == 2
        quality.get_by_text("Show the worst queries").click()
        assert found.table()[0]["query"] in quality.locator("table").inner_text()
        assert "A row has no error by itself" in page.locator("#subgroups").inner_text()
        assert "score" in page.locator("#dependence svg text").all_text_contents()
        assert "1 - NDCG after each round" in page.locator("#learning").inner_text()
        for name in ("importance", "dependence", "explain", "trees", "what-if"):
            assert page.locator(f"#{name}").is_visible()


def test_the_page_has_no_sideways_scrolling(ranker, browser):
    path, _ = ranker
    for width in (1200, 400):
        with watched(browser) as page:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width
