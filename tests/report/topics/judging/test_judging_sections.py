"""The sections of the report about judged answers: causes, claims and judges."""

import re
from dataclasses import replace

import pytest

from tests.answered_runs import Planted, answered
from tests.judged_runs import Judged, judged
from workbench.measures.attribution.causes import CAUSE_WORDS
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.model import Collapsible, Figure, Lines, Prose, Section, Table, Terms
from workbench.report.render.html import document_of, rendered
from workbench.report.topics.answers.causes import answer_failures
from workbench.report.topics.answers.examples import answer_examples, unsupported_claims
from workbench.report.topics.answers.judges import CORRECTNESS_BY_OVERLAP, OVERLAP_ERROR, judges, warnings
from workbench.report.topics.decision.opening import opening


def what_fails(run) -> str:
    (fact,) = [fact for fact in opening(decide(findings(run))).facts if fact.question == "What still fails?"]
    return f"{fact.answer} {fact.sentence}"


SECTIONS = (answer_failures, unsupported_claims, judges)


def folded(section):
    """What is collapsed below what the judges may be called."""
    return section.blocks[-1]


def of(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


@pytest.fixture(scope="module")
def found(judged_run):
    return findings(judged_run)


@pytest.fixture(scope="module")
def labelled(scored_run):
    return findings(judged(scored_run, Judged(labels=60, conditions=["retrieved"])))


def test_a_run_without_judges_has_none_of_the_sections(unanswered, answered_run):
    for run in (unanswered, answered_run):
        assert [build(findings(run)) for build in SECTIONS] == [None] * 3


def test_causes_claims_and_judges_are_parts_of_the_answers(judged_run):
    (section,) = [section for section in document_of(judged_run).sections if section.anchor == "answers"]
    shown = [block.title for block in section.blocks if isinstance(block, Section)]
    assert shown == ["Why do answers fail?", "Refusals", "Attacks", "How far can the judges be trusted?"]
    folded = [block.title for block in section.blocks if isinstance(block, Collapsible)]
    assert folded[-2:] == ["Examples, with the largest losses", "Which claims are not supported?"]


def test_every_link_within_the_page_has_its_end_and_no_anchor_is_there_twice(judged_run):
    page = rendered(document_of(judged_run))
    anchors = re.findall(r'\bid="([^"]+)"', page)
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)
    assert re.search(r'<a class="jump" href="#a[0-9a-f]{10}-p1-4">1 supported</a>', page)


def test_the_causes_are_counted_for_each_configuration_with_the_most_frequent_first(found, judged_run):
    section = answer_failures(found)
    name = answering(judged_run)[0]
    rows = judged_run.causes.query("configuration == @name and condition == 'retrieved' and subject == 'answer'")
    counts = rows["cause"].value_counts()
    assert section.blocks[0].text.startswith(f"{len(rows)} of 118 answers of {name} from what it retrieves fail (")
    assert (
        f"most often ({counts.iloc[0]}) because the context does not support the answer; {CORRECTNESS_BY_OVERLAP}."
        in section.blocks[0].text
    )
    assert section.blocks[0].text.endswith("2 answers are missing and not counted.")
    (table,) = of(section, Table)
    assert [row.cells[0].text for row in table.rows] == list(answering(judged_run))
    titles = [column.title for column in table.columns[2:]]
    values = dict(zip(titles, (int(cell.text) for cell in table.rows[0].cells[2:]), strict=True))
    assert {title: value for title, value in values.items() if value} == {CAUSE_WORDS[name]: many for name, many in counts.items()}


def test_if_no_answer_fails_a_sentence_says_so_and_nothing_is_drawn(unanswered):
    run = judged(answered(unanswered, Planted(conditions=["retrieved"])), Judged(causes=False))
    (prose,) = answer_failures(findings(run)).blocks
    assert prose.text == f"No answer of {answering(run)[0]} from what it retrieves is known to fail, of 120 answers."


def test_what_goes_wrong_most_often_is_not_nothing_if_answers_fail(judged_run):
    whole = judged_run.causes[judged_run.causes["subject"] == "answer"]
    run = replace(judged_run, sources={**judged_run.sources, "causes": lambda _: whole})
    assert re.search(
        r"^0 of 120 questions miss evidence with [^.]*\. \d+ of 118 answers fail[^.]*; most often \(\d+\) because", what_fails(run)
    )
    assert re.search(
        r"because (the evidence ranks too low|a chunk boundary cuts it)[^.]*\.[^%]* \d+ of 118 answers fail", what_fails(judged_run)
    )


def test_without_judges_answers_to_unanswerable_questions_are_what_goes_wrong(answered_run):
    answerable = answered_run.questions.set_index("query_id")["answerable"]
    answers = answered_run.answers
    unanswerable = ~answers["query_id"].map(answerable).astype(bool)
    answered_all = answers.assign(refused=answers["refused"] & ~unanswerable, error=answers["error"].mask(unanswerable, ""))
    none = answered_run.causes.head(0)
    run = replace(answered_run, sources={**answered_run.sources, "answers": lambda _: answered_all, "causes": lambda _: none})
    assert re.search(r"^0 of 120 questions miss evidence[^.]*\. 8 of 8 unanswerable questions are answered\.$", what_fails(run))


def test_the_examples_mark_the_claims_and_list_them_with_the_words_that_decide(found):
    prose, first, *_ = answer_examples(found).blocks
    assert "Claims are marked in the answers and link to the words that decide about them." in prose.text
    fold = next(block for block in first.blocks if isinstance(block, Collapsible) and block.title == "Claims: retrieved")
    assert fold.opened
    terms, table = fold.blocks
    assert isinstance(terms, Terms)
    assert [term.name for term in terms.items] == ["answer", "marks"]
    assert [column.title for column in table.columns] == ["claim", "text", "verdict", "confidence", "deciding words", "flags"]
    assert len(table.rows) == 2


def test_claims_that_are_only_scored_have_scores_in_place_of_verdicts(scored_run):
    section = unsupported_claims(findings(scored_run))
    assert section.title == "Which claims have the least support?"
    assert section.blocks[0].text.endswith("claims: all scored without a verdict.")
    (table,) = of(section, Table)
    assert [column.title for column in table.columns] == ["question", "text", "score", "deciding words", "flags"]
    assert re.match(r"The claims with the lowest scores \(12 of \d+\)", table.caption)


def test_unsupported_claims_are_listed_with_the_best_passage_and_the_flags(found):
    section = unsupported_claims(found)
    assert section.title == "Which claims are not supported?"
    (table,) = of(section, Table)
    assert table.rows[0].cells[2].text == "contradicted"
    assert table.rows[0].cells[4].text.startswith("[1] d")
    assert table.rows[0].cells[4].note.startswith("“")
    assert table.rows[0].cells[5].text == "number, negation"


def test_a_judge_that_failed_leaves_claims_unjudged_with_the_reason(unanswered):
    run = judged(answered(unanswered, Planted(conditions=["gold", "retrieved"])), Judged(failed=1.0))
    (prose,) = unsupported_claims(findings(run)).blocks
    assert prose.text.endswith("claims: all not judged.")
    page = rendered(document_of(run))
    assert "not judged: the server timed out (60 s)" in page
    assert "the judge failed" in page


def test_without_claims_there_is_no_section_on_claims(unanswered):
    run = judged(answered(unanswered, Planted(conditions=["retrieved"])), Judged(claims=False))
    assert unsupported_claims(findings(run)) is None


def test_each_judge_has_its_badge_and_the_commands_that_make_more_known(found, scored_run, judged_run):
    section = judges(found)
    lines, *_ = of(section, Lines)
    assert lines.items[0] == "chat: qwen3:4b judges the support of claims: AUROC 0.93 on known answers, not measured by labels."
    assert lines.items[3].startswith(
        "overlap is a score for the correctness of answers, not a judge (AUROC 0.56 is below 0.65): measured elsewhere. "
    )
    (terms,) = of(folded(section), Terms)
    assert [term.text for term in terms.items] == [f"workbench judge {name} outputs/{judged_run.name}" for name in ("sample", "calibrate")]
    scored = folded(judges(findings(scored_run)))
    assert of(scored, Terms)[0].items[0].text == "workbench judge fetch qwen2.5-1.5b"
    assert of(scored, Prose)[0].text.startswith(
        f"{OVERLAP_ERROR} It tells right from wrong answers with an AUROC of 0.90 where faults were planted"
    )


def test_labels_give_a_curve_corrected_means_and_differences(labelled):
    section = folded(judges(labelled))
    (figure,) = of(section, Figure)
    assert figure.name == "calibration-support"
    captions = [table.caption for table in of(section, Table)]
    assert captions == [
        "Judges of this run",
        "chat: qwen3:4b for the support of claims, on 120 labels of this run",
        "Disagreements about the support of claims by configuration",
        "Means corrected by labels",
    ]
    means = of(section, Table)[-1]
    assert [column.title for column in means.columns[2:5]] == ["mean of the run", "corrected, these items", "corrected, the population"]
    (fold,) = of(section, Collapsible)
    assert fold.blocks[0].rows[0].cells[1].text == labelled.names[1]


def test_conflicts_of_interest_and_unread_questions_are_warned_of(judged_run):
    metadata = '{"synthetic": true, "provenance": {"model": "qwen2.5:7b"}}'
    questions, answers = judged_run.questions.assign(metadata=metadata), judged_run.answers.assign(model="qwen3:4b")
    run = replace(judged_run, sources={**judged_run.sources, "questions": lambda _: questions, "answers": lambda _: answers})
    own, family, unread = warnings(run)
    assert own == "qwen3:4b judges its own answers. Models prefer what they have written, so compare with another judge."
    assert family.startswith(
        "All parts are of one model family, qwen: it writes the questions (qwen2.5:7b), answers (qwen3:4b) and judges (qwen3:4b)."
    )
    assert unread.startswith("Every question is a draft that nobody has accepted: review them before you decide.")
    assert warnings(judged_run) == []


def test_one_model_that_answers_and_judges_is_warned_of_once_and_accepted_questions_are_not(judged_run):
    accepted = '{"synthetic": true, "accepted_by": "Ada"}'
    questions, answers = judged_run.questions.assign(metadata=accepted), judged_run.answers.assign(model="qwen3:4b")
    run = replace(judged_run, sources={**judged_run.sources, "questions": lambda _: questions, "answers": lambda _: answers})
    (own,) = warnings(run)
    assert own.startswith("qwen3:4b judges its own answers.")


@pytest.mark.slow
def test_31_configurations_with_long_names_are_shown(untidy):
    run = judged(answered(untidy, Planted(conditions=["retrieved"])))
    section = answer_failures(findings(run))
    assert len(of(section, Table)[0].rows) == 5
    assert of(section, Collapsible)[0].title.startswith("All 31 rows")
