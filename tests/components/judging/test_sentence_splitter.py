"""Answers become claims by rules, with exact places in the answer."""

import json
from pathlib import Path

from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.judging.base import SplitRequest
from workbench.components.judging.sentence_splitter import SentenceSplitter, claims
from workbench.core.records import Claim
from workbench.llm.session import CallResources

RECORDED = Path("experiments/handbook/recorded/answers.jsonl")


def texts(answer: str) -> list[str]:
    return [claim.text for claim in claims(answer)]


def test_a_sentence_is_cut_between_statements_with_a_subject_and_a_verb() -> None:
    answers = {
        "The ferry leaves at 9. It costs €4.": ["The ferry leaves at 9.", "It costs €4."],
        "The ferry leaves at 9 and the bus leaves at 10.": ["The ferry leaves at 9", "the bus leaves at 10."],
        "The ferry leaves at 9; the bus waits for it.": ["The ferry leaves at 9", "the bus waits for it."],
        "Dogs travel free, but they must be on a lead.": ["Dogs travel free", "they must be on a lead."],
        # One subject, one verb, or a condition: a single claim.
        "The ferry takes dogs and bicycles.": ["The ferry takes dogs and bicycles."],
        "The ferry and the bus are free.": ["The ferry and the bus are free."],
        "If the wind is above 8 and the tide is low, the ferry waits.": ["If the wind is above 8 and the tide is low, the ferry waits."],
        "It waits until the master and the pilot have agreed.": ["It waits until the master and the pilot have agreed."],
        "It runs between 9.0 and 10.0 knots.": ["It runs between 9.0 and 10.0 knots."],
        'The sign says "no dogs and you pay for bicycles".': ['The sign says "no dogs and you pay for bicycles".'],
    }
    assert {answer: texts(answer) for answer in answers} == answers


def test_lists_tables_code_decimals_and_citations_do_not_break_it() -> None:
    answers = {
        "1. Ring the desk.\n2. Freeze the card.": ["Ring the desk.", "Freeze the card."],
        "- [x] Ring the desk\n* Freeze the card": ["Ring the desk", "Freeze the card"],
        "## Ferries\n\nThe ferry is free.": ["The ferry is free."],
        "You pay, in this order:\n\n- €4 for a seat\n- €2 for a dog": ["You pay, in this order:", "€4 for a seat", "€2 for a dog"],
        "Steps:\n\n- Ring the desk": ["Ring the desk"],
        "| Site | Days |\n|---|---|\n| Galway | 4 |\n| Halifax | 6 |": ["| Galway | 4 |", "| Halifax | 6 |"],
        "Run this:\n\n```sh\nmake test; make all\n```\n\nIt takes 5 minutes.": ["make test; make all", "It takes 5 minutes."],
        "> The ferry is free.": ["The ferry is free."],
        "The rate is 2.5 % (e.g. for Dr. Hauge).": ["The rate is 2.5 % (e.g. for Dr. Hauge)."],
        "The ferry is free [1]. It runs daily [2, 3].": ["The ferry is free.", "It runs daily."],
    }
    assert {answer: texts(answer) for answer in answers} == answers


def test_text_that_claims_nothing_has_no_claims() -> None:
    answers = [
        "",
        "???",
        "I could not find the fare in the passages.",
        "See [2].",
        "Sources: [1], [3].",
        "I hope this helps! Let me know if you need more.",
        "Do you want to know the fare?",
        "# Fares",
        "Certainly.",
    ]
    assert {answer: texts(answer) for answer in answers} == {answer: [] for answer in answers}


def test_a_refusal_beside_a_statement_leaves_the_statement() -> None:
    assert texts("The ferry is free, but I cannot find when it leaves.") == ["The ferry is free"]


def test_yes_and_no_are_read_with_the_sentence_after_them() -> None:
    assert texts("No. Dogs pay €2.") == ["No. Dogs pay €2."]
    assert texts("No.") == ["No."]


def test_places_are_those_of_the_answer() -> None:
    answer = "Fares [1]:\n\n1. The ferry is free [2] and the bus costs €4.\n"
    assert list(claims(answer)) == [Claim("The ferry is free", 15, 36), Claim("the bus costs €4.", 41, 58)]
    assert answer[15:36] == "The ferry is free [2]"


def test_requests_are_split_in_their_order() -> None:
    requests = [SplitRequest("", "It is free."), SplitRequest("", ""), SplitRequest("", "It is not. It costs €4.")]
    yielded = list(SentenceSplitter().split(requests, AnswerResources(MemoryVectorCache(), CallResources())))
    assert [(place, len(found.claims), found.error) for place, found in yielded] == [(0, 1, ""), (1, 0, ""), (2, 2, "")]


def test_it_finds_the_claims_that_were_labelled_in_the_handbook() -> None:
    """As docs/judges.md says: the words of 98 % of the labelled claims are in one claim, for 2.6 claims in an answer that has any."""
    answers = [row for line in RECORDED.read_text("utf-8").splitlines() if (row := json.loads(line))["claims"]]
    found = labelled = split = 0
    for row in answers:
        places = [(claim.start, claim.end) for claim in claims(row["answer"])]
        assert all(row["answer"][start:end].strip() == row["answer"][start:end] for start, end in places)
        split += len(places)
        for claim in row["claims"]:
            start = row["answer"].index(claim["said"])
            end = start + len(claim["said"])
            labelled += 1
            found += any(min(end, high) - max(start, low) >= 0.8 * (end - start) for low, high in places)
    assert round(found / labelled, 2) == 0.98
    assert (len(answers), labelled) == (427, 1477)
    assert 2.5 < split / len(answers) < 2.8


def test_a_long_answer_takes_no_longer_than_its_length() -> None:
    assert len(texts("The ferry leaves at 9 and the bus leaves at 10. " * 400)) == 800
