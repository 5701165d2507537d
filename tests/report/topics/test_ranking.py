"""The ranking on the page, in the terminal and in Markdown: one set of rows, whose numbers are those of the tables."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from bs4 import BeautifulSoup
from bs4.element import Tag

from tests.made_runs import Made
from workbench.core.text.formatting import count, number, p_value, signed, spread
from workbench.report.analysis.findings import findings
from workbench.report.analysis.ranking import ranking_rows
from workbench.report.model import Prose
from workbench.report.render.html import document_of, rendered
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.retrieval.ranking import lines, ranking, ranking_block, status_text

N = 120
LOW = np.round(np.random.default_rng(8).random(N) * 0.5, 3)
OTHER = np.round(np.random.default_rng(9).random(N) * 0.5, 3)


def page_of(run: RunTables) -> BeautifulSoup:
    return BeautifulSoup(rendered(document_of(run)), "lxml")


def shown_rows(page: BeautifulSoup) -> dict[str, dict[str, tuple[str, str]]]:
    """The text and the note of each cell by configuration and heading."""
    (table,) = page.select("#ranking-table")
    headings = [str(one["data-name"]) if one.has_attr("data-name") else "" for one in table.select("thead th")]
    return {str(row["data-name"]): dict(cells(row, headings)) for row in table.select("tr[data-name]")}


def cells(row: Tag, headings: list[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    column = 0
    for cell in row.find_all(["th", "td"], recursive=False):
        note = cell.find("small")
        yield headings[column], (" ".join(str(cell.find(string=True, recursive=False) or "").split()), note.get_text() if note else "")
        column += int(str(cell.get("colspan", 1)))


@pytest.mark.parametrize("baseline", [None, "fixed-16-0"])
def test_every_number_of_the_ranking_is_that_of_its_table(made: Made, baseline: str | None) -> None:
    few = np.where(np.arange(N) < 60, OTHER + 0.4, np.nan)
    run = made.valued([LOW, OTHER + 0.3, LOW * 0.5, few], name="cells", baseline=baseline)
    found, primary = findings(run), str(run.primary)
    means = run.metrics[(run.metrics["slice"] == "all") & (run.metrics["condition"] == "retrieved")].set_index(["configuration", "metric"])
    times = run.timings.set_index(["configuration", "name"])["value"]
    rows = shown_rows(page_of(run))
    assert set(rows) == set(run.names)
    reference = baseline or found.verdict.ranked[0]
    heading = "against the baseline" if baseline else "minus #1"
    for name, row in rows.items():
        mean = means.loc[(name, primary)]
        assert row["score"] == (number(mean["value"]), f"[{number(mean['low'])}, {number(mean['high'])}]"), name
        for metric in ("recall@3", "irrelevant@3"):
            assert row[metric][0] == number(means.loc[(name, metric), "value"]), (name, metric)
        low, high = (times[name, f"latency_question_p50_{end}"] for end in ("low", "high"))
        assert row["time"][0] == f"{spread(low, high).replace(' to ', '–')} ms"
        ranked = name in found.verdict.ranked
        if name == reference:
            assert row[heading] == (("baseline" if baseline else "best score"), "")
        elif ranked:
            pair, (text, note) = compared(run, name, reference), row[heading]
            assert (text, note.strip("[]()")) == (signed(pair["difference"]), f"{number(pair['low'])}, {number(pair['high'])}")
        else:
            assert row[heading] == ("", "")
            assert row["status"][0] == "60 of 120 questions have a value"
    for name, row in rows.items():
        if row["status"][0].startswith("behind"):
            better = found.verdict.ranked[int(row["status"][0].split("#")[1].split(",")[0]) - 1]
            (p,) = [one.p_adjusted for one in found.verdict.pairs if {one.a, one.b} == {name, better}]
            assert row["status"][0].replace("\u00a0", " ").endswith(p_value(p))


def compared(run: RunTables, name: str, reference: str) -> dict[str, float]:
    """The row of `comparisons` of two configurations, as the first minus the second."""
    table = run.comparisons[run.comparisons["metric"] == str(run.primary)]
    for sign, (a, b) in ((1, (name, reference)), (-1, (reference, name))):
        for _, row in table[(table["a"] == a) & (table["b"] == b)].iterrows():
            ends = sorted((sign * row["low_adjusted"], sign * row["high_adjusted"]))
            return {"difference": sign * row["difference"], "low": ends[0], "high": ends[1]}
    raise AssertionError(f"{name} and {reference} are not compared")


def test_a_row_that_may_be_best_is_called_better_than_the_baseline_but_never_worse(made: Made) -> None:
    found = findings(made.valued([LOW, LOW + 0.4, OTHER], name="against", baseline="fixed-16-0"))
    row = next(row for row in ranking_rows(found) if row.place == 1)
    assert row.pair
    assert status_text(found, row) == "winner, better than the baseline"
    assert status_text(found, replace(row, pair=row.pair.reversed())) == "winner"


def test_symbols_and_words_agree_in_all_views(made: Made) -> None:
    run = made.valued([LOW, LOW + 0.4, np.where(np.arange(N) < 60, 0.95, np.nan)], name="views")
    rows = shown_rows(page_of(run))
    assert [row["status"][0].partition(",")[0] for row in rows.values()] == ["winner", "behind #1", "60 of 120 questions have a value"]
    terminal = lines(findings(run))
    assert [re.search("[●○△] .", line)[0] for line in terminal if line.startswith("fixed-")] == ["● 1", "○ 2", "△ –"]
    assert "winner" in next(line for line in terminal if "fixed-24-0" in line)
    assert all(value in " ".join(terminal) for value in (number(LOW.mean()), number(LOW.mean() + 0.4)))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_terminal_is_not_too_narrow_for_long_names(untidy: RunTables, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = lines(findings(untidy))
    names = [name for name in untidy.configurations_settings if len(name) + 6 > width]
    assert all(len(line) <= width or any(name in line for name in names) for line in shown)
    assert all(any(name in line for line in shown) for name in untidy.configurations_settings)


def test_a_score_above_the_leaders_that_is_not_ranked_is_named_first(made: Made) -> None:
    run = made.valued([LOW, np.where(np.arange(N) < 60, 0.95, np.nan)], name="hidden")
    (first, _) = ranking.render(findings(run))
    assert first == Prose("The best score, 0.950, is not ranked: fixed-24-0, 60 of 120 questions have a value.")
    assert "is not ranked" not in str(ranking.render(findings(made.valued([LOW, OTHER], name="rows-tie")))[0])


def test_failures_with_one_cause_are_said_once(made: Made) -> None:
    run = made.valued([LOW, OTHER], name="said-once")
    settings = run.manifest["configurations"]
    failures = {"a": "cannot split the text", "b": "cannot split the text", "c": "out of memory"}
    broken = {**run.manifest, "failures": failures, "configurations": {**settings, **dict.fromkeys(failures, settings["fixed-16-0"])}}
    run = replace(run, manifest=broken)
    page = page_of(run).select_one("#ranking-table")
    assert page.get_text().count("cannot split the text") == 1
    assert [one.get_text() for one in page.select(".cause")] == [
        "Failed: 2 configurations, one cause: cannot split the text",
        "Failed: out of memory",
    ]
    assert " ".join(lines(findings(run))).count("cannot split the text") == 1


def test_settings_that_vary_have_columns_and_full_names_are_on_the_rows(made: Made) -> None:
    sweep = {"chunking": [{"kind": "fixed", "size": [16, 24], "overlap": 0}], "retrieval": [{"kind": "bm25", "k": [3, 5]}]}
    block = ranking_block(findings(made.valued([LOW, OTHER, LOW, OTHER], name="columns", sweep=sweep)))
    assert list(block.settings) == ["chunking", "search"]
    assert {line.settings for _, group in block.groups for line in group} == {
        (f"fixed {size}", f"BM25, k {k}") for size in (16, 24) for k in (3, 5)
    }
    assert [chip.label for chip in block.values] == []


def test_statuses_and_values_are_filters(untidy: RunTables) -> None:
    block = ranking_block(findings(untidy))
    totals = {chip.value: chip.label for chip in block.statuses}
    assert totals[""] == "All 35"
    assert totals["failed"] == "4 failed"
    assert totals["unranked"] == "2 not ranked"
    assert sum(int(label.split()[0]) for value, label in totals.items() if value) == 35
    assert [(chip.label, chip.column) for chip in block.values] == [
        ("hashed 384d", 1),
        ("broken", 1),
        ("BM25", 2),
        ("vectors", 2),
        ("functions", -1),
    ]


def test_one_configuration_has_neither_a_difference_nor_a_reference(made: Made) -> None:
    block = ranking_block(findings(made.valued([LOW], name="rows-single")))
    assert [column.title for column in block.columns] == ["score", "recall@3", "irrelevant@3", "status", "time"]
    assert block.reference is None
    assert block.groups[0][1][0].cells[-2].text == "nothing to compare it with"
    assert block.statuses == []
    assert count(len(block.groups)) == "1"


def test_without_intervals_the_axis_has_only_scores(made: Made) -> None:
    values = [np.where(np.arange(20) == 0, value, np.nan) for value in (1.0, 0.5)]
    block = ranking_block(findings(made.valued(values, documents=2, missing="not_applicable", name="one-question-rows")))
    assert block.interval == "score"
    ((_, rows),) = block.groups
    assert all(line.mark.low == line.mark.value == line.mark.high for line in rows)
    assert "intervals" not in block.note
    assert "not tested" in block.note
