"""What broke in the table, the terminal, Markdown and the report, with untidy ids and texts."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from tests.lost_runs import FACTS, QUESTIONS, Sweep, documents
from workbench.core.schemas import SCHEMAS
from workbench.gate.baseline import baseline_of
from workbench.gate.losses import lost_questions
from workbench.gate.render import lost_lines, lost_markdown
from workbench.report.analysis.causes import LOSS_CAUSES, QuestionLoss, lost_table
from workbench.report.analysis.findings import findings
from workbench.report.model import Collapsible, Columns, Table
from workbench.report.render.html import document_of, rendered
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.run.gate import MOST_QUESTIONS, broken

LONG = "policies/2024/a-very-long-name-of-a-document-that-nobody-would-ever-type-by-hand/x"
BAD = "<script>alert(1)</script> | `code` **bold** [link](x)\n# title\x1b[31m"


@pytest.fixture(scope="module")
def stale(swept: Sweep) -> tuple[RunTables, list[QuestionLoss]]:
    whole = swept()
    run = swept(documents() | {f"old-lamp-{year}": FACTS["lamp"].replace("nine", "eight") for year in (2021, 2022, 2023)})
    return run, lost_questions(run, run.names[0], baseline_of([whole], whole.names[0]))


def with_lost(run: RunTables, lost: list[QuestionLoss]) -> RunTables:
    table = lost_table(run.names[0], lost)
    return replace(run, sources={**run.sources, "lost": lambda _: table})


def untidy(number: int) -> list[QuestionLoss]:
    hit = {"rank": 1, "doc_id": LONG, "start": 0, "end": 99, "text": BAD, "relevant": True}
    made = QuestionLoss("q", BAD, "evidence", f"{LONG}:0-99", 1, 0, "rank", [hit] * 10, [hit] * 10, "it fell", [LONG], "recall@5", 1.0, 0.0)
    answer = replace(made, subject="answer", missing="answer_f1", before=(), after=(), cause="error", explanation=BAD, answer=BAD * 40)
    return [each for at in range(number) for each in (replace(made, query_id=f"{LONG}-{at}"), replace(answer, query_id=f"{LONG}-{at}"))]


def test_the_table_keeps_the_order_and_is_of_its_schema(stale: tuple[RunTables, list[QuestionLoss]]) -> None:
    run, lost = stale
    table = lost_table(run.names[0], lost)
    pd.testing.assert_frame_equal(table, SCHEMAS["lost"].conform(table))
    assert table["query_id"].tolist() == [each.query_id for each in lost] == ["lamp"]
    (row,) = table.to_dict("records")
    assert json.loads(row["displaced_by"]) == list(lost[0].displaced_by)
    assert [hit["doc_id"] for hit in json.loads(row["after"])] == [hit["doc_id"] for hit in lost[0].after]
    assert lost_table("x", []).empty


def test_every_cause_that_a_loss_can_have_has_a_meaning() -> None:
    assert {"removed", "changed", "displaced", "error", "rank", "boundary", "refusal", "unsure"} <= set(LOSS_CAUSES)


def test_the_terminal_shows_a_line_for_each_loss(stale: tuple[RunTables, list[QuestionLoss]]) -> None:
    lines = lost_lines(stale[1])
    assert lines[0] == "What broke: 1 question lost evidence, or a part of it."
    assert lines[1].split() == ["question", "lost", "rank", "metric", "why"]
    assert lines[2].startswith("lamp      lamp:176-240  1 → 4  need_recall@2 1.00 → 0.00  displaced: all")
    why = " ".join(line[58:].strip() for line in lines[2:])
    assert why.startswith("displaced: all 3 documents ahead of it are new: ")
    assert max(map(len, lines)) <= 80
    assert lost_lines([]) == []


def test_the_terminal_shortens_names_and_counts_the_rest() -> None:
    lines = lost_lines(untidy(12), most=10)
    assert sum(line.startswith("policies") for line in lines) == 20
    assert lines[-1] == "2 more questions lost something."
    assert LONG not in "\n".join(lines)


def test_markdown_escapes_texts_and_ids(stale: tuple[RunTables, list[QuestionLoss]]) -> None:
    text = lost_markdown(stale[1])
    assert text.startswith("#### What broke\n\n1 question lost evidence, or a part of it.\n\n| cause | questions | which |\n")
    assert "| behind new documents (new or changed documents rank ahead of it) | 1 | lamp |" in text
    untidy_text = lost_markdown(untidy(30))
    assert "<script>" not in untidy_text
    assert "\n# title" not in untidy_text
    assert "10 more questions lost something." in untidy_text
    assert lost_markdown([]) == ""


def test_a_run_without_losses_has_no_section(swept: Sweep) -> None:
    run = swept()
    assert broken(findings(run)) is None
    assert broken(findings(with_lost(run, []))) is None


def test_the_section_shows_hits_side_by_side_and_marks_what_took_the_place(stale: tuple[RunTables, list[QuestionLoss]]) -> None:
    section = broken(findings(with_lost(*stale)))
    assert section is not None
    (fold,) = [block for block in section.blocks if isinstance(block, Collapsible)]
    assert fold.title == f"lamp: {QUESTIONS['lamp']}"
    assert fold.note == "evidence lamp:176-240 · rank 1 → 4 · need_recall@2 1.00 → 0.00 · displaced"
    (beside,) = [block for block in fold.blocks if isinstance(block, Columns)]
    before, after = (table for table in beside.blocks if isinstance(table, Table))
    assert before.rows[0].cells[1].text == "lamp:0-240 · lost · relevant"
    assert [row.cells[1].text.partition(" · ")[2] for row in after.rows[:4]] == ["new or changed in the corpus"] * 3 + [
        "the document of what is lost · relevant"
    ]
    assert after.rows[3].cells[0].text == "4"
    assert FACTS["lamp"] in repr(fold)


def test_the_report_shows_the_worst_questions_and_counts_the_others(swept: Sweep) -> None:
    run = with_lost(swept(), untidy(500))
    page = rendered(document_of(run))
    assert page.count('<details class="pairing">') == MOST_QUESTIONS
    assert "450 questions more, with smaller losses, are in lost.parquet." in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert len(page) < 3_000_000
