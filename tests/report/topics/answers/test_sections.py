"""The sections of the report about answers."""

import html
import re
from dataclasses import replace

import pytest

from tests.answered_runs import METRICS, NO_ALTERED, Planted, answered
from workbench.core.text.formatting import number, signed
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.decomposition import REMAINING, decompose
from workbench.report.analysis.findings import findings
from workbench.report.cells import opened
from workbench.report.cells import words as words_column
from workbench.report.model import Cell, Collapsible, Prose, Row, Section, Table
from workbench.report.render.html import document_of, rendered
from workbench.report.topics.answers.attacks import attacks
from workbench.report.topics.answers.conditions import conditions
from workbench.report.topics.answers.costs import answer_costs_section
from workbench.report.topics.answers.examples import answer_examples, example_blocks
from workbench.report.topics.answers.refusals import refusals

SECTIONS = (conditions, attacks, refusals, answer_examples, answer_costs_section)


def tables(section: Section) -> list[Table]:
    return [block for block in section.blocks if isinstance(block, Table)]


def row(table: Table, *names: str) -> list[str]:
    """The texts of the row that begins with these names."""
    (found,) = [each for each in table.rows if tuple(cell.text for cell in each.cells[: len(names)]) == names]
    return [cell.text for cell in found.cells[len(names) :]]


def every(found) -> list[Table]:
    """The collapsed tables of every configuration by condition."""
    return next(fold for fold in conditions(found).blocks if isinstance(fold, Collapsible) and fold.title.startswith("Every")).blocks


def words(page: str) -> str:
    return html.unescape(" ".join(re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL).split()))


@pytest.fixture(scope="module")
def found(answered_run):
    return findings(answered_run)


@pytest.fixture(scope="module")
def first(answered_run):
    return answering(answered_run)[0]


def test_a_run_without_answers_has_none_of_the_sections(unanswered):
    assert [build(findings(unanswered)) for build in SECTIONS] == [None] * len(SECTIONS)


def test_the_page_has_all_sections_after_those_of_retrieval(answered_run):
    sections = document_of(answered_run).sections
    anchors = [section.anchor for section in sections]
    assert anchors[anchors.index("queries") + 1 :] == ["answers", "costs", "slices", "appendix"]
    parts = [block.title for block in sections[anchors.index("answers")].blocks if isinstance(block, Section)]
    assert parts == ["Refusals", "Attacks"]
    assert "nan" not in words(rendered(document_of(answered_run))).lower().split()


def test_each_condition_has_its_score_with_an_interval_and_the_reasons_without_one(found, first):
    table = tables(conditions(found))[0]
    assert table.caption == f"{first} by what its answers are made of"
    assert all(re.fullmatch(r"\[\d\.\d+, \d\.\d+\]", each.cells[1].note) for each in table.rows)
    reasons = every(found)[-1]
    assert f"{NO_ALTERED} (12 questions)" in row(reasons, "counterfactual")[-1]
    assert re.search(r"the server timed out \(60 s\) \(\d+ answers?\)", row(reasons, "gold")[-1])


def test_the_losses_are_those_of_the_decomposition_and_what_remains_is_labelled(found, first, answered_run):
    table = every(found)[1]
    parts = decompose(answered_run, first, "answer_recall")
    _, retrieved, retrieval, retrieval_answered, distractors, distractors_answered, remaining, closed = row(table, first)
    losses = [parts.loss(condition) for condition in ("retrieved", "gold_distractors")]
    assert [retrieval, distractors] == [signed(loss.difference.value) for loss in losses]
    assert [retrieval_answered, distractors_answered] == [signed(loss.answered.comparison.difference.value) for loss in losses]
    assert (remaining, closed) == (number(parts.remaining.value), number(parts.closed_book.value))
    assert retrieved == number(found.standings.ranked[0].means["answer_recall"].value)
    assert REMAINING in [column.note for column in table.columns]


def test_every_configuration_is_there_by_condition_and_with_its_reasons(found, answered_run):
    shades, _, rows = every(found)
    others = [fold for fold in conditions(found).blocks if isinstance(fold, Collapsible)][-1].blocks[0]
    assert [each.cells[0].text for each in shades.rows] == list(answering(answered_run))
    assert len(rows.rows) == 8
    assert [each.cells[0].text for each in others.rows] == list(METRICS[1:])


def test_the_outcomes_of_altered_copies_are_counted_by_place(found, first, answered_run):
    table = tables(attacks(found))[0]
    given = answered_run.answers
    given = given[(given["configuration"] == first) & (given["condition"] == "counterfactual") & (given["variant"] == "after")]
    kept, conflict, adopted, *_ = row(table, first, "after the evidence")
    assert [kept, conflict, adopted] == [str((given["outcome"] == outcome).sum()) for outcome in ("kept", "conflict", "adopted")]


def test_the_share_that_complies_is_there_for_each_family(found, first):
    table = tables(attacks(found))[1]
    assert [column.title for column in table.columns[1:7]] == ["override", "authority", "completion", "urgency", "markup", "exfiltration"]
    assert all(0 < float(value) < 0.4 for value in row(table, first)[:6])


def test_answers_that_are_copied_have_a_note_and_losses_but_no_outcomes(copied_run):
    section = attacks(findings(copied_run))
    assert isinstance(section.blocks[0], Prose)
    assert section.blocks[0].text.startswith("All configurations copy sentences from the context.")
    (fold,) = section.blocks[1:]
    assert fold.blocks[0].caption == "Loss of answer_recall under each attack"


def test_refusals_and_over_refusals_are_apart_with_their_numbers_of_questions(found, first):
    (table,) = refusals(found).blocks[1].blocks
    right, wrong = (
        ["unanswerable", "evidence removed", "irrelevant context"],
        ["the evidence alone", "with distractors", "all evidence retrieved"],
    )
    assert [column.title for column in table.columns] == ["configuration", *right, *wrong]
    assert [column.note for column in table.columns[1:]] == [*["higher is better"] * 3, *["lower is better"] * 3]
    assert float(row(table, first)[2]) > 0.8 > float(row(table, first)[3])
    assert all("n = " in cell.note for each in table.rows for cell in each.cells[1:])
    sentence = refusals(found).blocks[0].text
    assert sentence.startswith(f"{first} rightly refuses {row(table, first)[0]} [")
    assert f"wrongly refuses {row(table, first)[5]} [" in sentence


def test_the_examples_show_every_condition_and_its_context(found):
    prose, *folds = answer_examples(found).blocks
    assert prose.text.startswith("The 3 questions of")
    assert [fold.opened for fold in folds] == [True, False, False]
    table, *contexts = folds[0].blocks
    assert len(table.rows) == 14
    assert [fold.title for fold in contexts] == ["Context: gold", "Context: retrieved"]
    assert "loses 1.000 under" in folds[0].note


def test_an_answer_that_is_the_same_as_with_the_evidence_alone_is_written_once(answered_run, first):
    _, *folds = example_blocks(answered_run, first)
    examples = [{each.cells[0].text: each.cells[2].text for each in fold.blocks[0].rows} for fold in folds]
    assert any(texts["counterfactual/after"] == "the same answer as gold" for texts in examples)
    assert all(texts["gold"].startswith("It is switched") and list(texts.values()).count(texts["gold"]) == 1 for texts in examples)


def test_an_example_says_that_its_answer_was_cut_off(answered_run):
    table = answered_run.answers
    cut = table.assign(truncated=((table["condition"] == "retrieved") & (table["error"] == "")).astype("boolean"))
    _, *folds = answer_examples(findings(replace(answered_run, sources={**answered_run.sources, "answers": lambda _: cut}))).blocks
    outcomes = [{each.cells[0].text: each.cells[-1].text for each in fold.blocks[0].rows} for fold in folds]
    assert any(each["retrieved"].endswith(", cut off at the token limit") for each in outcomes)
    assert not any("cut off" in text for each in outcomes for name, text in each.items() if name != "retrieved")


def test_without_the_evidence_alone_the_examples_are_those_with_the_lowest_score(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"], repeats=3))
    prose, fold, *_ = answer_examples(findings(run)).blocks
    assert "with the lowest answer_recall." in prose.text
    assert "Of 3 repeats the first answer is shown" in prose.text
    assert "loses" not in fold.note


def test_a_table_of_many_configurations_is_folded_below_its_first_rows():
    table = Table("shares", [words_column("name")], [Row([Cell(str(place))]) for place in range(8)], "a note")
    first, fold = opened(table)
    assert (first.caption, len(first.rows), first.note) == ("shares (the first 5 of 8 rows)", 5, "a note")
    assert (fold.title, fold.blocks[0].rows) == ("All 8 rows: shares", table.rows)
    assert opened(replace(table, rows=table.rows[:7])) == [replace(table, rows=table.rows[:7])]


def test_if_nothing_is_lost_a_sentence_says_so(unanswered):
    run = answered(unanswered, Planted(conditions=["gold", "retrieved"], right={"gold": 1.0, "retrieved": 1.0}))
    (prose,) = answer_examples(findings(run)).blocks
    assert "loses anything by answer_recall" in prose.text


def test_costs_leave_out_what_no_configuration_has_and_repeats_have_their_variance(found, copied_run):
    (costs,) = tables(answer_costs_section(found))
    (repeats,) = next(fold for fold in answer_costs_section(found).blocks if isinstance(fold, Collapsible)).blocks
    assert "price" not in [column.title for column in costs.columns]
    assert [column.note for column in costs.columns[1:3]] == ["median", "p95"]
    assert repeats.caption == "answer_recall of 2 repeats with retrieved contexts"
    assert all(float(each.cells[1].text) > 0 for each in repeats.rows)
    assert not [block for block in answer_costs_section(findings(copied_run)).blocks if isinstance(block, Collapsible)]


def test_without_a_metric_of_content_conditions_are_shown_without_a_score(answered_run):
    metrics = {name: each for name, each in answered_run.manifest["metrics"].items() if name != METRICS[0]}
    run = replace(answered_run, manifest=dict(answered_run.manifest) | {"metrics": metrics})
    section = conditions(findings(run))
    assert "no metric of the run scores an answer's content" in section.blocks[0].text
    assert [column.title for column in next(iter(tables(section))).columns] == ["reads", "refused", "scored"]
    assert answer_examples(findings(run)).blocks[0].text == f"No question of {answering(run)[0]} loses anything."
