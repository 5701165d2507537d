"""The ranking in Chromium: sorted, filtered, copied, on a telephone, by keyboard and with many configurations."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.made_runs import Made
from tests.report.conftest import Seen
from workbench.core.text.formatting import number
from workbench.report.analysis.findings import findings
from workbench.report.render.html import write_report
from workbench.report.results.run_tables import RunTables

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OPEN = Callable[..., Seen]


@pytest.fixture(scope="module")
def mixed(made: Made, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunTables, Path]:
    """Three ranked configurations, one that is not ranked, and two that failed, one under the name of a formula."""
    low = np.round(np.random.default_rng(8).random(120) * 0.5, 3)
    run = made.valued([low, low + 0.1, low + 0.4, np.where(np.arange(120) < 60, 0.95, np.nan)], name="mixed")
    settings = run.manifest["configurations"]
    failures = {"=1+1": "cannot split", "other": "cannot split"}
    broken = {**run.manifest, "failures": failures, "configurations": {**settings, **dict.fromkeys(failures, settings["fixed-16-0"])}}
    run = replace(run, manifest=broken)
    return run, write_report(run, tmp_path_factory.mktemp("mixed") / "report.html")


def names(page: "Page") -> list[str]:
    return page.eval_on_selector_all("#ranking-table tr[data-name]:not([hidden])", "all => all.map(one => one.dataset.name)")


def test_it_is_sorted_by_its_headings(opened: OPEN, mixed: tuple[RunTables, Path]) -> None:
    page = opened(mixed[1]).page
    assert names(page)[:3] == ["fixed-32-0", "fixed-24-0", "fixed-16-0"]
    heading = page.locator("#ranking-table thead th", has_text="score")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page) == ["fixed-16-0", "fixed-24-0", "fixed-32-0", "fixed-40-0", "=1+1", "other"]
    # The first click on a number sorts by the largest.
    page.locator("#ranking-table thead th button").first.dblclick()
    assert names(page)[:3] == ["fixed-32-0", "fixed-24-0", "fixed-16-0"]


def test_it_is_filtered_by_status_setting_and_text(
    opened: OPEN, mixed: tuple[RunTables, Path], untidy: RunTables, untidy_page: Path
) -> None:
    page = opened(mixed[1]).page
    page.get_by_role("button", name="1 not ranked").click()
    assert names(page) == ["fixed-40-0"]
    assert page.text_content("#ranking-count") == "1 of 6 configurations"
    assert page.locator(".cause:visible").count() == 1
    page.get_by_role("button", name="All 6").click()
    page.fill("#ranking-text", "fixed 24")
    assert names(page) == ["fixed-24-0"]
    page = opened(untidy_page).page
    page.get_by_role("button", name="vectors", exact=True).click()
    dense = [name for name, settings in untidy.configurations_settings.items() if (settings["retrieval"] or {}).get("kind") == "dense"]
    assert sorted(names(page)) == sorted(dense)
    page.get_by_role("button", name="BM25", exact=True).click()
    assert len(names(page)) == 32


def test_its_heading_stays_visible(opened: OPEN, untidy_page: Path) -> None:
    page = opened(untidy_page, height=500).page
    page.evaluate("document.querySelectorAll('#ranking-table tbody tr')[20].scrollIntoView({block: 'center'})")
    box = page.locator("#ranking-table thead th").nth(1).bounding_box()
    assert 0 <= box["y"] < 100
    # Nothing lies over it.
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('th') !== null", [box["x"] + 5, box["y"] + box["height"] - 6])


def test_many_configurations_show_the_first_fifty(opened: OPEN, mixed: tuple[RunTables, Path], tmp_path: Path) -> None:
    run, many = mixed[0], {f"failed-{number:03d}": "cannot split" for number in range(994)}
    settings = {**run.manifest["configurations"], **dict.fromkeys(many, run.manifest["configurations"]["fixed-16-0"])}
    run = replace(run, manifest={**run.manifest, "failures": {**run.failures, **many}, "configurations": settings})
    page = opened(write_report(run, tmp_path / "report.html")).page
    assert len(names(page)) == 50
    page.get_by_role("button", name="Show all 1,000").click()
    assert len(names(page)) == 1000
    assert not page.locator("#ranking-more").is_visible()


def test_a_file_and_copies_have_full_names_and_exact_numbers(opened: OPEN, mixed: tuple[RunTables, Path]) -> None:
    run, path = mixed
    page = opened(path, permissions=["clipboard-read", "clipboard-write"]).page
    with page.expect_download() as download:
        page.click("#ranking-csv")
    assert download.value.suggested_filename == "ranking.csv"
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    lines = {row[1]: dict(zip(rows[0], row, strict=True)) for row in rows[1:]}
    # A name is no formula, and a number is no text.
    assert list(lines) == ["fixed-32-0", "fixed-24-0", "fixed-16-0", "fixed-40-0", "'=1+1", "other"]
    means = {one.name: one.means[str(run.primary)] for one in findings(run).standings.finished}
    for name, mean in means.items():
        assert float(lines[name]["score"]) == pytest.approx(mean.value, abs=1e-8)
    assert float(rows[1][rows[0].index("low")]) == pytest.approx(means["fixed-32-0"].low, abs=1e-8)
    assert float(lines["fixed-16-0"]["minus #1"]) < 0
    page.get_by_role("button", name="Copy table").click()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert [line.split("\t")[1] for line in copied] == ["configuration", *lines]
    page.get_by_role("button", name="Copy Markdown").click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("| place | configuration | result |")


def test_on_a_telephone_every_configuration_has_its_score(opened: OPEN, mixed: tuple[RunTables, Path]) -> None:
    run, path = mixed
    page = opened(path, width=390).page
    for standing in findings(run).standings.finished:
        row = page.locator(f"#ranking-table tr[data-name='{standing.name}']")
        assert number(standing.means[str(run.primary)].value) in row.inner_text()
        box = row.locator(".score").bounding_box()
        assert box["x"] + box["width"] <= 390


def test_the_full_name_of_a_cut_one_is_shown_on_focus(opened: OPEN, untidy: RunTables, untidy_page: Path) -> None:
    page = opened(untidy_page).page
    shown = "one => getComputedStyle(one, '::after').content"
    cut = page.locator("#ranking-table .cut")
    assert cut.count() == 3
    name = cut.first.get_attribute("title")
    assert name in untidy.names
    assert cut.first.text_content() != name
    assert cut.first.evaluate(shown) == "none"
    page.locator("#ranking-csv").focus()
    while not page.evaluate("document.activeElement.matches('.cut')"):
        page.keyboard.press("Tab")
    assert page.locator(".cut:focus").evaluate(shown) == f'"{name}"'
    excerpt = page.locator(".xt[tabindex]").first
    excerpt.focus()
    assert excerpt.evaluate(shown) == f'"{excerpt.get_attribute("title")}"'


def test_a_failed_configuration_leads_to_its_whole_error_and_to_the_traceback(opened: OPEN, untidy: RunTables, tmp_path: Path) -> None:
    name, other = "callable-json.loads", "callable-builtins.str.upper"
    folder = tmp_path / "untidy"
    # Errors that differ only in names are one cause, and only such a row has a longer one of its own.
    errors = {each: f"chunking {each!r} on document 'd0' failed (JSONDecodeError)" for each in (name, other)}
    untidy = replace(untidy, manifest={**untidy.manifest, "failures": untidy.failures | errors})
    (folder / "errors").mkdir(parents=True)
    (folder / "errors" / f"{name}.txt").write_text("Traceback")
    page = opened(write_report(RunTables.view(untidy, folder), folder / "report.html")).page
    page.locator(".xr.failed a").first.click()
    assert page.locator("#failed").is_visible()
    row = page.locator(f"#ranking-table tr[data-name='{name}']")
    row.locator("summary").click()
    assert row.locator("details").text_content() == f"error in full{errors[name]}"
    assert row.locator("code").all_text_contents() == [f"{folder}/errors/{name}.txt"]
    assert page.locator("tr.failed code").count() == 1
