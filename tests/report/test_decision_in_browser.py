"""The first screen in Chromium: it fits, and what it copies is what it says."""

from pathlib import Path

import pytest

from tests.page_checks import beyond
from tests.report.analysis.test_decision import SPREAD, parted
from workbench.report.render.html import write_report
from workbench.report.results.run_tables import RunTables

pytestmark = pytest.mark.browser
BOTTOM = "document.querySelector('main > .opening').getBoundingClientRect().bottom"


@pytest.fixture(scope="module")
def pages(made, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("decisions")
    several = [SPREAD[row % 3] for row in range(12)]
    runs: dict[str, RunTables] = {
        "tied": made.valued(several, name="twelve", baseline="fixed-16-0"),
        "part": parted(made),
        "few": made.valued([SPREAD[0][:20], SPREAD[1][:20]], documents=2, name="few-browser"),
    }
    return {name: write_report(run, folder / f"{name}.html") for name, run in runs.items()}


@pytest.mark.parametrize("kind", ["tied", "part", "few", "quickstart", "untidy", "equivalent", "one", "thousand"])
def test_the_first_screen_fits_1280_by_800(request, opened, pages, kind):
    page = opened(pages.get(kind) or request.getfixturevalue(f"{kind}_page")).page
    assert page.evaluate(BOTTOM) <= 800
    assert beyond(page) == []
    assert page.locator(".xr:not(.head) .xt").count() <= 10


def test_on_a_telephone_each_row_is_a_card_with_its_score_and_status(opened, pages):
    page = opened(pages["tied"], width=390).page
    row = page.locator(".xr.best").first
    assert row.locator(".b").is_visible()
    assert row.locator(".st").is_visible()
    assert row.locator(".iv").bounding_box()["width"] > 250
    assert not page.locator(".xr.head").is_visible()


def test_the_summary_and_the_command_are_copied_as_they_are_shown(opened, pages):
    page = opened(pages["few"], permissions=["clipboard-read", "clipboard-write"]).page
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy summary").click()
    copied = page.evaluate("window.copied")
    assert copied.startswith(page.text_content("h1"))
    assert all(text in copied for text in page.locator(".facts dd span").all_text_contents())
