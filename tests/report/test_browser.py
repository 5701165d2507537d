"""report.html in Chromium: it works, everybody can use it, it asks nothing of anybody."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page_checks import serious

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]


@dataclass
class Seen:
    """A page that was opened, and what it said or asked for that it should not have."""

    page: "Page"
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def opened(chromium):
    contexts = []

    def open_page(path: Path, scheme: str = "light", width: int = 1280, ready: bool = True, **settings: object) -> Seen:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", **settings)
        contexts.append(context)
        seen = Seen(context.new_page())
        seen.page.on("console", lambda message: seen.complaints.append(message.text))
        seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        seen.page.on("request", lambda request: seen.complaints.append(request.url) if request.url != path.as_uri() else None)
        seen.page.goto(path.as_uri())
        if ready:
            seen.page.wait_for_selector("html[data-ready]", timeout=30_000)
        return seen

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def untidy_page(untidy, tmp_path_factory) -> Path:
    from workbench.report.render.html import write_report

    return write_report(untidy, tmp_path_factory.mktemp("untidy") / "report.html")


@pytest.fixture(scope="module")
def answered_page(answered_run, tmp_path_factory) -> Path:
    from workbench.report.render.html import write_report

    return write_report(answered_run, tmp_path_factory.mktemp("answered") / "report.html")


@pytest.fixture(scope="module")
def exported(shown, hostile, untidy, answered_run, tmp_path_factory) -> list[Path]:
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
        run_notebook(Store(folder / "store"), notebook_path(name), {"results": str(folder), **chosen}, "made", executed)
        pages.append(write_notebook_page(executed))
    return pages


def first_names(page, table="ranking-table"):
    return page.eval_on_selector_all(f"#{table} tbody tr:not([hidden]) th", "all => all.map(one => one.dataset.sort ?? one.textContent)")


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
@pytest.mark.parametrize("which", ["shown", "hostile", "untidy_page", "answered_page"])
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(request, opened, which, scheme, width):
    found = request.getfixturevalue(which)
    seen = opened(found if isinstance(found, Path) else found.report, scheme, width)
    page = seen.page
    page.locator("#queries-table tbody button").first.click()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert serious(page) == []
    beyond = """[...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1
        && !one.closest(".frame, .canvas, nav, .unseen")).map((one) => one.outerHTML.slice(0, 120))"""
    assert page.evaluate(beyond) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("typeof window.x") == "undefined"
    assert seen.complaints == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_serious_in_exported_notebooks(opened, exported, scheme, width):
    for path in exported:
        seen = opened(path, scheme, width, ready=False)
        seen.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert serious(seen.page) == [], path
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert seen.page.evaluate("typeof window.x") == "undefined"
        assert seen.complaints == []


def test_the_ranking_is_sorted_by_its_headings(opened, shown):
    seen = opened(shown.report)
    before = first_names(seen.page)
    heading = seen.page.locator("#ranking-table thead th").first
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert first_names(seen.page) == sorted(before)
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert first_names(seen.page) == sorted(before, reverse=True)
    seen.page.get_by_role("button", name="span_recall@500t").first.click()
    assert heading.get_attribute("aria-sort") is None
    assert first_names(seen.page) == before
    assert seen.complaints == []


def test_the_ranking_is_filtered_by_text_and_by_tie_set(opened, made, tmp_path):
    from workbench.report.analysis.findings import findings
    from workbench.report.render.html import write_report

    outcome = made.valued([[1.0, 1.0, 0.0] * 40, [1.0, 0.0, 1.0] * 40, [0.0] * 119 + [1.0]])
    seen = opened(write_report(outcome, tmp_path / "report.html"))
    every = first_names(seen.page)
    seen.page.fill("#ranking-text", every[1])
    assert first_names(seen.page) == [every[1]]
    assert seen.page.text_content("#ranking-count") == "1 of 3 configurations"
    seen.page.fill("#ranking-text", "")
    seen.page.check("#ranking-level")
    assert first_names(seen.page) == list(findings(outcome).verdict.best)
    assert len(first_names(seen.page)) == 2
    assert seen.complaints == []


def test_a_question_opens_to_its_chunks_with_the_evidence_marked(opened, hostile):
    seen = opened(hostile.report)
    page = seen.page
    page.fill("#queries-text", "ferry")
    assert page.text_content("#queries-count") == "1 of 5 questions"
    page.locator("#queries-table tbody tr:not([hidden]) button").click()
    detail = page.locator("#query-detail")
    assert detail.is_visible()
    assert page.evaluate("document.activeElement.tagName") == "H3"
    marks = detail.locator("mark").all_text_contents()
    assert marks
    assert all(mark in "The ferry leaves at ten." for mark in marks)
    assert any(len(mark) > 10 for mark in marks)
    page.select_option("#detail-0", "1")
    assert page.evaluate("document.activeElement.id") == "detail-0"
    detail.get_by_role("button", name="Close").click()
    assert not detail.is_visible()
    assert "ferry" in page.evaluate("document.activeElement.textContent")
    assert seen.complaints == []


def test_questions_are_sorted_by_difference_and_filtered_by_cause(opened, made, tmp_path):
    from workbench.report.render.html import write_report
    from workbench.runner.execution.collect import collect

    seen = opened(write_report(collect(made.ran(3)), tmp_path / "report.html"))
    page = seen.page
    apart = page.eval_on_selector_all("#queries-table tbody tr", "rows => rows.map(row => Number(row.cells[1].dataset.sort))")
    assert apart == sorted(apart, reverse=True)
    options = page.eval_on_selector_all("#queries-cause option", "all => all.map(one => [one.value, one.textContent])")
    shown = {}
    page.select_option("#queries-by", "0")
    for value, name in options[1:]:
        page.select_option("#queries-cause", value)
        shown[name] = page.locator("#queries-table tbody tr:not([hidden])").count()
    assert sum(shown.values()) > 0
    page.select_option("#queries-cause", "")
    missing = page.locator("#queries-table tbody tr:not([hidden])").count()
    assert max(shown.values()) <= missing <= sum(shown.values())
    assert seen.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_look_follows_the_system_until_it_is_chosen(opened, shown, scheme):
    page = opened(shown.report, scheme).page
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    assert (sum(map(int, before[4:-1].split(","))) > 380) == (scheme == "light")
    page.click("#theme")
    assert page.evaluate(ground) != before
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(ground) != before


def test_without_a_script_everything_but_the_questions_is_read(opened, shown):
    seen = opened(shown.report, ready=False, java_script_enabled=False)
    text = seen.page.inner_text("body")
    assert "This part needs JavaScript" in text
    assert "fixed-16" in text
    assert seen.page.locator("#ranking-table").is_visible()
    assert not seen.page.locator("#theme").is_visible()
    assert not seen.page.locator("#ranking-filter").is_visible()
    assert seen.complaints == []


def test_a_keyboard_reaches_the_results_first(opened, shown):
    page = opened(shown.report).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_printed_it_is_light_and_leaves_the_controls_out(opened, shown):
    page = opened(shown.report, "dark").page
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for hidden in ("nav", "#theme", "#queries", ".controls"):
        assert not page.locator(hidden).first.is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_tables_stay_in_the_flow_and_say_where_columns_continue(opened, untidy_page):
    page = opened(untidy_page, width=390).page
    inner = "[...document.querySelectorAll('.frame')].filter((one) => one.scrollHeight > one.clientHeight + 1).length"
    assert page.evaluate(inner) == 0
    said = page.locator(".frame:has(#ranking-table) + .more")
    assert said.text_content().endswith("more columns →")
    page.evaluate("document.querySelector('.frame:has(#ranking-table)').scrollLeft = 10000")
    said.wait_for(state="hidden")
    assert opened(untidy_page).page.locator("#ranking-table").is_visible()


def test_a_long_list_of_questions_shows_the_first_and_the_rest_when_asked(opened, untidy_page):
    page = opened(untidy_page).page
    rows, more = page.locator("#queries-table tbody tr:visible"), page.locator("#queries-more")
    assert rows.count() == 20
    assert more.text_content() == "Show 100 more questions"
    more.click()
    assert rows.count() == 120
    assert not more.is_visible()


def test_a_question_id_leads_to_its_drill_down(opened, untidy_page):
    seen = opened(untidy_page)
    link = seen.page.locator("#pairs [data-query]").first
    link.click()
    assert seen.page.locator("#query-detail").is_visible()
    assert link.get_attribute("data-query") in seen.page.locator("#query-detail .note").first.text_content()
    assert seen.complaints == []
