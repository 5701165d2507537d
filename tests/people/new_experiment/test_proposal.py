"""Chunkings are proposed by what was measured, and the experiment file says why."""

from dataclasses import replace

import yaml

from tests.mixed_documents import BIKES, ENERGY, GERMAN, SHED, long_text, markdown
from workbench.core.records import Document, Query
from workbench.measures.statistics.pairs import expected_questions
from workbench.people.new_experiment.proposal import (
    LARGE,
    PROPOSED_DIFFERENCE,
    Proposal,
    experiment_text,
    language_of,
    measure,
    parts_read,
    propose,
)
from workbench.people.new_experiment.start import advice_lines, proposed_name
from workbench.runner.experiment.read import experiment_of

SECTIONS = [section for part in (BIKES, SHED, ENERGY) for section in part]
WRITTEN, DRAFT = Query("q", "Who pays?"), Query("q", "Who pays?", metadata={"synthetic": True})
PLACEHOLDER = Query("q", "Fees", metadata={"synthetic": True, "provenance": {"part": "placeholder"}})
LONG = [Document(f"d{n}", markdown(SECTIONS * 6, f"Title {n}")) for n in range(6)]


def kinds(proposal: Proposal) -> list[str]:
    return [str(each.settings["kind"]) for each in proposal.chunkings]


def test_long_documents_with_headings_get_a_chunker_of_sections():
    measures = measure(LONG)
    assert (measures.documents, measures.headed, measures.fitting) == (6, 1.0, 0.0)
    assert 10 < measures.sentence < 20 < measures.section < 60 < measures.document
    proposal = propose(measures)
    assert kinds(proposal) == ["fixed", "fixed", "markdown", "sentence", "hierarchical"]
    assert "100.0 % of the documents have headings" in proposal.chunkings[2].why
    assert proposal.metrics[0] == "span_recall@500t"


def test_short_documents_are_tried_whole():
    proposal = propose(measure([Document(str(n), markdown(BIKES, f"T{n}")) for n in range(6)]))
    assert kinds(proposal) == ["whole", "fixed", "fixed", "sentence"]


def test_plain_text_gets_paragraphs_and_other_languages_get_words():
    plain = [Document(str(n), " ".join(f"Wir prüfen alle Belege der Reise Nummer {n} und {m}.\n\n" for m in range(99))) for n in range(3)]
    proposal = propose(measure(plain))
    assert kinds(proposal) == ["fixed", "fixed", "recursive"]
    assert [each.settings["kind"] for each in proposal.retrievers] == ["dense", "bm25"]
    assert "100.0 % German" in proposal.retrievers[0].why
    assert propose(measure([Document("hr", markdown(GERMAN * 9, "x"))])).metrics == (
        "span_recall@500t",
        "span_precision@500t",
        "span_recall@5",
    )


def test_millions_of_tokens_are_estimated_and_embedded_fast_first():
    measures = measure([Document("log", long_text(9)), *LONG])
    assert LARGE < measures.tokens < 4_000_000
    proposal = propose(measures)
    assert proposal.embedding.settings == {"kind": "static"}
    assert measure([Document("log", long_text(0.2))]).tokens == measure([Document("log", long_text(0.2))]).tokens > 40_000


def test_the_experiment_file_is_valid_and_each_setting_has_its_reason_above_it():
    proposal = propose(measure(LONG))
    text = experiment_text("mine", "experiments/my docs", proposal, ["The 3 questions are drafts"])
    spec = experiment_of(yaml.safe_load(text), "mine.yaml")
    assert [configuration.name for configuration in spec.configurations][:2] == ["fixed-256-0", "fixed-128-0"]
    assert spec.settings["dataset"]["path"] == "experiments/my docs"
    assert "# The 3 questions are drafts.\n" in text
    lines = text.splitlines()
    assert all(lines[place - 1].strip().startswith("# ") for place, line in enumerate(lines) if line.startswith("    - {"))
    assert max(map(len, lines)) <= 140


def test_advice_says_how_many_documents_and_questions_to_add():
    few = list(advice_lines(3, [PLACEHOLDER] * 12, 4, 0.05))
    assert few[0].startswith("3 documents cannot show which chunking is better")
    assert few[1] == "12 questions are too few to name a winner; write at least 18 more"
    assert few[2] == (
        "every question is a placeholder, and figures on headings in place of questions are not a result; "
        "writing the questions takes about 12 minutes, at one a minute"
    )
    mixed = list(advice_lines(40, [PLACEHOLDER, DRAFT, *[WRITTEN] * 58], 10, 0.05))
    assert mixed[1].startswith("of 60 questions, 1 is a placeholder and 1 is a draft that nobody has accepted, and figures on headings")
    assert mixed[1].endswith("; writing the questions takes about 1 minute, at one a minute")
    assert list(advice_lines(40, [DRAFT] * 60, 10, 0.05))[1] == "every question is a draft that nobody has accepted"
    (enough,) = advice_lines(40, [WRITTEN] * 60, 10, 0.05)
    assert enough.startswith("60 questions show differences in span recall from about 0.1")
    assert "a difference of 0.05 needs about 6" in enough
    (other,) = advice_lines(40, [WRITTEN] * 60, 10, 0.02)
    assert "a difference of 0.02 needs about 4,0" in other


def test_advice_counts_the_comparisons_with_the_baseline_that_the_experiment_sets():
    long, german = propose(measure(LONG)), propose(measure([Document(str(n), markdown(GERMAN * 9, f"T{n}")) for n in range(6)]))
    with_baseline, pairs = (experiment_of(yaml.safe_load(experiment_text("m", "m", each, [])), "m.yaml") for each in (long, german))
    assert (with_baseline.baseline, len(with_baseline.configurations), with_baseline.comparisons) == ("fixed-256-0", 5, 4)
    count = len(pairs.configurations)
    assert (pairs.baseline, pairs.comparisons) == (None, count * (count - 1) // 2)
    assert (expected_questions(0.05, 4), expected_questions(0.05, 10)) == (547, 653)
    (line,) = advice_lines(40, [WRITTEN] * 60, with_baseline.comparisons, 0.05)
    assert line.endswith("from about 0.15; a difference of 0.05 needs about 547 (the report computes both from your data)")


def test_a_proposed_setting_has_the_name_of_its_configuration():
    proposal = propose(measure(LONG))
    spec = experiment_of(yaml.safe_load(experiment_text("m", "m", proposal, [])), "m.yaml")
    names = [proposed_name(each, spec) for each in proposal.chunkings]
    assert names == [each.name for each in spec.configurations]
    assert names[0] == "fixed-256-0"
    assert proposed_name(proposal.embedding, spec) == "sentence-transformers all-MiniLM-L6-v2"
    german = propose(measure([Document(str(n), markdown(GERMAN * 9, f"T{n}")) for n in range(6)]))
    spec = experiment_of(yaml.safe_load(experiment_text("m", "m", german, [])), "m.yaml")
    assert [proposed_name(each, spec) for each in german.retrievers] == ["dense", "bm25"]
    assert all(any(each.name.startswith(proposed_name(one, spec)) for each in spec.configurations) for one in german.chunkings)


def test_the_difference_that_init_speaks_of_is_the_one_that_the_report_answers_for():
    text = experiment_text("mine", "experiments/mine", propose(measure(LONG)), [])
    assert experiment_of(yaml.safe_load(text), "mine.yaml").smallest_difference == PROPOSED_DIFFERENCE == 0.05


def test_every_name_is_read_as_the_text_that_it_is():
    names = [
        "2024",
        "yes",
        "on",
        "off",
        "true",
        "null",
        "0x1f",
        "1_000",
        ".5",
        "~",
        "1e3",
        "2024-01-01",
        "12:30",
        "a: b",
        "é\x85 #",
        "-",
        "plain",
    ]
    proposal = replace(propose(measure(LONG)), retrievers=())
    read = [yaml.safe_load(experiment_text(name, name, replace(proposal, baseline=name), [])) for name in names]
    assert [(each["name"], each["dataset"]["path"], each["baseline"]) for each in read] == [(name, name, name) for name in names]


def test_languages_are_recognised_by_their_frequent_words():
    assert language_of("The shed is open from nine to six on workdays.") == "en"
    assert language_of("Die Werkstatt ist an Werktagen von neun bis sechs offen.") == "de"
    assert language_of("Vélos, pompes, chaînes, freins; prix courants 2024") == ""


def test_of_a_long_document_parts_are_read_from_its_beginning_to_its_end():
    text = long_text(1)
    found = list(parts_read(text))
    assert found[0][0] == 0
    assert found[-1][1] > 0.9 * len(text)
    assert sum(end - start for start, end in found) < 310_000
    assert list(parts_read("short")) == [(0, 5)]
