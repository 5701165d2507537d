import re
from html import escape
from pathlib import Path

import pytest

import workbench
from tests.report.analysis.conftest import MEASURE
from workbench.measures.attribution.causes import EVIDENCE_CAUSES
from workbench.report.analysis.causes import cause_meanings, causes_by_query, explains_text, possible_causes
from workbench.report.render.html import document_of, rendered


@pytest.mark.parametrize(
    ("family", "needs", "of_text"),
    [
        ("spans", 3, True),
        ("chunks", 3, True),
        ("documents", 3, False),
        ("hits", 3, False),
        ("other", 3, False),
        ("spans", 0, False),
        ("chunks", 0, False),
    ],
)
def test_causes_are_of_text_only_where_the_primary_metric_looks_for_text_that_is_labelled(tables, family, needs, of_text) -> None:
    measures = {"m@5": MEASURE | {"name": "m", "family": family, "k": 5}}
    dataset = {"name": "d", "documents": 1, "queries": 1, "unanswerable": 0, "judgements": 1, "needs": needs}
    run = tables({"primary": "m@5", "metrics": measures, "dataset": dataset})
    assert explains_text(run) == of_text
    wanted = {one.name: one.meaning if of_text else one.of_documents or one.meaning for one in EVIDENCE_CAUSES}
    assert cause_meanings(run) == wanted
    assert list(possible_causes(run)) == [one.name for one in EVIDENCE_CAUSES if of_text or one.of_documents]


def test_a_document_metric_on_data_with_evidence_has_the_meanings_for_documents(made) -> None:
    run = made.valued([[0.0] * 120, [1.0] * 120], metrics=["ndcg@3"], name="documents-decide")
    assert run.dataset["needs"] > 0
    assert "document" in cause_meanings(run)["rank"]
    assert (run.causes["need"] == -1).all()


def test_of_several_causes_of_a_question_the_first_in_precedence_is_taken(tables) -> None:
    questions = [{"query_id": one} for one in ("q0", "q1", "q2")]
    causes = [("q0", "rank", "evidence"), ("q0", "boundary", "evidence"), ("q1", "refusal", "answer"), ("q2", "rank", "evidence")]
    rows = [{"configuration": "a", "query_id": query, "cause": cause, "subject": subject} for query, cause, subject in causes]
    run = tables(questions=questions, causes=rows)
    assert causes_by_query(run, "a").tolist() == ["boundary", "", "rank"]
    assert causes_by_query(run, "b").tolist() == ["", "", ""]


def test_only_one_module_defines_the_meanings_of_causes() -> None:
    package = Path(workbench.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\bof_documents\b|cause\.meaning", path.read_text("utf-8"))
    }
    assert users == {"measures/attribution/causes.py", "report/analysis/causes.py"}


def test_the_page_explains_the_misses_of_a_documents_metric_by_documents(made) -> None:
    run = made.valued([[0.0] * 120, [1.0] * 60 + [0.0] * 60], metrics=["ndcg@3"], name="documents-decide-views")
    meanings = dict(cause_meanings(run))
    shown = rendered(document_of(run))
    told = {name: meaning for name, meaning in meanings.items() if name in set(run.causes["cause"])}
    assert told
    for name, meaning in told.items():
        assert escape(meaning, quote=False) in shown
        text = next(one.meaning for one in EVIDENCE_CAUSES if one.name == name)
        assert meaning == text or escape(text, quote=False) not in shown
