"""The sections of the report about judged answers: causes, claims and judges."""

import re
from dataclasses import replace

import pytest

from tests.answered_runs import Planted, answered
from tests.judged_runs import Judged, judged
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.findings import findings
from workbench.report.model import Collapsible, Figure, Lines, Prose, Table, Terms
from workbench.report.render.html import document_of, rendered
from workbench.report.topics.answers.causes import answer_failures
from workbench.report.topics.answers.examples import answer_examples, unsupported_claims
from workbench.report.topics.answers.judges import CORRECTNESS_BY_OVERLAP, OVERLAP_ERROR, judges, warnings
from workbench.report.topics.run.configurations import faults

SECTIONS = (answer_failures, unsupported_claims, judges)


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


def test_the_part_on_answers_opens_with_the_causes(judged_run):
    anchors = [section.anchor for section in document_of(judged_run).sections]
    chosen = anchors[anchors.index("queries") + 1 :]
    assert chosen[:8] == ["answer-causes", "answers", "attacks", "refusals", "examples", "claims", "judges", "answer-costs"]


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
    (lines,) = of(section, Lines)
    assert [int(re.search(r", (\d+) of", line)[1]) for line in lines.items] == counts.tolist()
    (table,) = of(section, Table)
    assert [row.cells[0].text for row in table.rows] == list(answering(judged_run))
    assert int(table.rows[0].cells[2].text) == counts.iloc[0]


def test_rare_causes_are_drawn_together_and_named_in_the_caption(judged_run):
    names = ["not_indexed", "boundary", "window", "duplicate", "rank", "budget", "refusal"]
    causes = judged_run.causes
    failed = causes["subject"] == "answer"
    spread = causes.assign(cause=causes["cause"].mask(failed, [names[place % 7] for place in range(len(causes))]))
    run = replace(judged_run, sources={**judged_run.sources, "causes": lambda _: spread})
    (figure,) = of(answer_failures(findings(run)), Figure)
    assert [column.title for column in figure.data.columns][-2:] == ["other causes", "answers"]
    assert len(figure.data.columns) == 7
    assert "Other causes are " in figure.caption


def test_if_no_answer_fails_a_sentence_says_so_and_nothing_is_drawn(unanswered):
    run = judged(answered(unanswered, Planted(conditions=["retrieved"])), Judged(causes=False))
    (prose,) = answer_failures(findings(run)).blocks
    assert prose.text == f"No answer of {answering(run)[0]} from what it retrieves is known to fail, of 120 answers."


def test_what_goes_wrong_most_often_is_not_nothing_if_answers_fail(judged_run):
    whole = judged_run.causes[judged_run.causes["subject"] == "answer"]
    run = replace(judged_run, sources={**judged_run.sources, "causes": lambda _: whole})
    sentence, _ = faults(findings(run))
    assert re.search(r"does not miss evidence on any of 120 questions, but \d+ of 118 answers fail \(\d+\.\d %\), most often", sentence)
    sentence, _ = faults(findings(judged_run))
    assert re.search(r"because (it ranks too low|a chunk boundary cuts it)\. \d+ of 118 answers fail \(\d+\.\d %\), most often", sentence)


def test_without_judges_answers_to_unanswerable_questions_are_what_goes_wrong(answered_run):
    answerable = answered_run.questions.set_index("query_id")["answerable"]
    answers = answered_run.answers
    unanswerable = ~answers["query_id"].map(answerable).astype(bool)
    answered_all = answers.assign(refused=answers["refused"] & ~unanswerable, error=answers["error"].mask(unanswerable, ""))
    none = answered_run.causes.head(0)
    run = replace(answered_run, sources={**answered_run.sources, "answers": lambda _: answered_all, "causes": lambda _: none})
    name = findings(run).first.name
    assert (
        faults(findings(run))[0]
        == f"{name} does not miss evidence on any of 120 questions, but 8 of 8 unanswerable questions are answered."
    )


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
    (terms,) = of(section, Terms)
    assert [term.text for term in terms.items] == [f"workbench judge {name} outputs/{judged_run.name}" for name in ("sample", "calibrate")]
    offered = of(judges(findings(scored_run)), Terms)[0].items
    assert offered[0].text == "workbench judge fetch qwen2.5-1.5b"
    assert (
        of(judges(findings(scored_run)), Prose)[0].text
        == f"{OVERLAP_ERROR} {CORRECTNESS_BY_OVERLAP[0].upper()}{CORRECTNESS_BY_OVERLAP[1:]}."
    )


def test_labels_give_a_curve_corrected_means_and_differences(labelled):
    section = judges(labelled)
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
def test_26_configurations_with_long_names_are_shown(untidy):
    run = judged(answered(untidy, Planted(conditions=["retrieved"])))
    section = answer_failures(findings(run))
    (figure,) = of(section, Figure)
    assert len(figure.data.rows) == len(answering(run)) > 25
    assert max(len(short) for short, _ in figure.key) <= 28
    assert of(section, Collapsible)[0].title.startswith("All 27 rows")
