"""Pages in Chromium: on every screen and on paper everybody can read them, they keep to their width, and they ask nothing of anybody."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.page_checks import beyond, serious
from workbench.runner.notebook_runner.kernels import Kernels

pytestmark = pytest.mark.browser
# At 200 % the page of a window of 1,280 pixels is half as wide, and so is a sheet of A4 without its margins.
LOOKS: dict[str, dict[str, Any]] = {
    "1280": {},
    "1920": {"width": 1920},
    "390": {"width": 390},
    "zoom 200 %": {"width": 640, "height": 400, "device_scale_factor": 2},
    "dark": {"scheme": "dark"},
    "dark 390": {"scheme": "dark", "width": 390},
    "A4": {"width": 688, "height": 970, "scheme": "dark"},
    "no JavaScript": {"java_script_enabled": False},
}
REPORTS = ("quickstart", "untidy", "equivalent", "one", "thousand", "hostile")
OPENED = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
MEASURES = """() => {
  const words = document.body.innerText.split(/\\s+/).filter(Boolean).length;
  const focusable = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
  const stops = focusable.filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility()).length;
  const screens = document.documentElement.scrollHeight / innerHeight;
  const sections = document.querySelectorAll("main > section").length;
  return { sections, words, nodes: document.querySelectorAll("*").length, stops, screens };
}"""


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("which", REPORTS)
def test_everybody_can_read_a_report(request, opened, tmp_path, which, look):
    path = request.getfixturevalue(f"{which}_page")
    page = opened(path, ready=look != "no JavaScript", **LOOKS[look]).page
    rows = page.locator("#ranking-table tr[data-name]")
    if look == "A4":
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    elif look != "no JavaScript":
        page.locator("#queries-list a").first.click()
        page.wait_for_selector("#query-detail h3:focus")
    if look in ("A4", "no JavaScript"):
        # Nothing is asked of a reader who cannot press anything, and the questions of the leading pair are listed.
        controls = page.locator("#theme, .copy, #ranking-filter, .more-rows, #queries-split")
        assert not any(one.is_visible() for one in controls.all())
        assert page.locator("#queries-static").is_visible()
        assert all(row.is_visible() for row in rows.all())
    assert page.locator("h1").is_visible()
    assert page.locator(".facts > div").count() == 4
    assert beyond(page) == []
    page.evaluate(OPENED)
    assert beyond(page) == []
    # axe-core needs scripts: without, it looks at a copy of the page that has none.
    assert serious(page if look != "no JavaScript" else opened(scriptless(path, tmp_path), ready=False).page) == []
    assert page.evaluate("typeof window.x") == "undefined"


def scriptless(path: Path, folder: Path) -> Path:
    """Copy a page as a browser without JavaScript shows it."""
    text = re.sub(r"<script>.*?</script>|</?noscript>", "", path.read_text("utf-8"), flags=re.DOTALL)
    copy = folder / "report.html"
    copy.write_text(text, "utf-8")
    return copy


@pytest.mark.parametrize("look", ["1280", "dark 390"])
@pytest.mark.parametrize("which", ["comparison", "index"])
def test_everybody_can_read_the_pages_of_several_runs(request, opened, which, look):
    page = opened(request.getfixturevalue(f"{which}_page"), ready=False, **LOOKS[look]).page
    page.evaluate(OPENED)
    assert beyond(page) == []
    assert serious(page) == []


@pytest.fixture(scope="module")
def exported(shown, hostile, untidy, answered_run, kernels: Kernels, tmp_path_factory) -> list[Path]:
    """The pages of executed notebooks: tidy and untidy runs, hostile documents, answers."""
    from workbench.core.storage.result_store import Store
    from workbench.report.render.notebook_page import write_notebook_page
    from workbench.runner.notebook_runner.notebooks import notebook_path, run_notebook

    pages = [write_notebook_page(path) for path in sorted((shown.folder / "notebooks").glob("*.ipynb"))]
    for run, name in ((hostile.run, "configuration"), (untidy, "comparison"), (answered_run, "answers")):
        folder = tmp_path_factory.mktemp(name)
        run.write(folder)
        chosen = {"configuration": run.names[0]} if name == "configuration" else {}
        executed = folder / "notebooks" / f"{name}.ipynb"
        run_notebook(Store(folder / "store"), notebook_path(name), {"results": str(folder), **chosen}, "made", executed, kernels)
        pages.append(write_notebook_page(executed))
    return pages


@pytest.mark.parametrize("look", ["1280", "dark 390"])
def test_everybody_can_read_exported_notebooks(opened, exported, look):
    for path in exported:
        page = opened(path, ready=False, **LOOKS[look]).page
        page.evaluate(OPENED)
        assert beyond(page) == [], path
        assert serious(page) == [], path
        assert page.evaluate("typeof window.x") == "undefined"


def test_the_report_of_a_run_like_the_quickstart_is_as_long_as_a_person_reads(opened, quickstart_page):
    found = opened(quickstart_page, height=800).page.evaluate(MEASURES)
    most = {"sections": 12, "words": 4500, "nodes": 8000, "stops": 150, "screens": 12.5}
    assert {name: value for name, value in found.items() if value > most[name]} == {}


def test_the_contents_stay_in_sight_and_fit_the_width(opened, quickstart_page):
    page = opened(quickstart_page).page
    assert page.locator("nav a").count() <= 12
    assert page.evaluate("(() => { const list = document.querySelector('nav ul'); return list.scrollWidth <= list.clientWidth; })()")
    page.locator("nav a").last.click()
    assert page.evaluate("document.querySelector('nav').getBoundingClientRect().top") == 0
    assert page.locator("#appendix h2").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_look_follows_the_system_until_it_is_chosen(opened, hostile_page, scheme):
    page = opened(hostile_page, scheme).page
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    assert (sum(map(int, before[4:-1].split(","))) > 380) == (scheme == "light")
    page.click("#theme")
    assert page.evaluate(ground) != before
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(ground) != before


def test_a_keyboard_reaches_the_results_first(opened, hostile_page):
    page = opened(hostile_page).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_index_says_everything_without_a_script_and_its_cards_name_each_value(opened, index_page):
    page = opened(index_page, width=390, ready=False, java_script_enabled=False).page
    assert page.locator(".runs tbody tr").count() == 4
    assert page.get_by_role("link", name="comparison of now").get_attribute("href") == "./now/compared.html"
    label = page.locator(".runs tbody td[data-label=verdict]").first
    assert label.evaluate("one => getComputedStyle(one, '::before').content") == '"verdict"'
