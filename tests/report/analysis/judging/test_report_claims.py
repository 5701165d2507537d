"""Claims as a report shows them: their states, their marks in an answer, and the words that decide in a passage."""

from dataclasses import replace

import pytest

from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.marked_answers import (
    ShownClaim,
    answer_pieces,
    claim_states,
    has_claims,
    passage_pieces,
    question_in_conditions,
    weakest_claims,
)

TEXT = "It opens at nine and closes at ten."
FIRST = ShownClaim("It opens at nine", 0, 16, "q", 1, "supported", 0.9, 0.8, 1, "d:10-60", 4, 9, "opens", (), "chat: m", "")
SECOND = replace(FIRST, number=2, text="It closes at ten", start=17, end=34, state="absent", passage=0, evidence_start=-1, evidence_end=-1)


def marks(pieces):
    return [(piece.text, piece.role, piece.label) for piece in pieces if piece.role != "plain"]


def test_each_claim_is_marked_in_the_answer_with_its_number_and_verdict_and_links_to_the_words_that_decide():
    pieces = answer_pieces(TEXT, [FIRST, SECOND], "a")
    assert marks(pieces) == [("It opens at nine", "supported", "1 supported"), ("and closes at ten", "absent", "2 absent")]
    assert "".join(piece.text for piece in pieces) == TEXT
    assert [(piece.anchor, piece.target) for piece in pieces if piece.role != "plain"] == [("a-c0", "a-p1-4"), ("a-c17", "")]


def test_words_that_two_claims_share_have_the_mark_of_the_worse_and_both_numbers():
    shared = replace(SECOND, start=0, end=16)
    assert marks(answer_pieces(TEXT, [FIRST, shared], "a")) == [("It opens at nine", "absent", "1, 2 absent")]
    inner = replace(SECOND, start=3, end=8, state="contradicted")
    found = marks(answer_pieces(TEXT, [FIRST, inner], "a"))
    assert found == [("It ", "supported", "1 supported"), ("opens", "contradicted", "1, 2 contradicted"), (" at nine", "supported", "")]


def test_a_claim_without_words_in_the_answer_is_not_marked_and_a_score_is_the_label_of_a_scored_one():
    assert marks(answer_pieces(TEXT, [replace(FIRST, start=-1, end=-1)], "a")) == []
    assert marks(answer_pieces(TEXT, [replace(FIRST, state="scored", score=0.714)], "a"))[0][2] == "1 score 0.71"


def test_deciding_words_are_marked_in_the_passage_link_back_to_the_claim_and_leave_evidence_around_them():
    text = "The shop opens at nine on Monday."
    decided = replace(FIRST, evidence_start=9, evidence_end=22)
    pieces = passage_pieces(text, 0, len(text), [(4, 32, "delivered")], [decided], "a")
    assert marks(pieces) == [("shop ", "delivered", ""), ("opens at nine", "deciding", "claim 1"), (" on Monday", "delivered", "")]
    deciding = next(piece for piece in pieces if piece.role == "deciding")
    assert (deciding.anchor, deciding.target) == ("a-p1-9", "a-c0")
    other = replace(decided, number=3)
    assert marks(passage_pieces(text, 0, len(text), [], [decided, other], "a"))[0][2] == "claims 1, 3"


def test_overlapping_evidence_is_marked_once():
    text = "The shop opens at nine on Monday."
    pieces = passage_pieces(text, 0, len(text), [(4, 14, "delivered"), (9, 22, "delivered")], [], "a")
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.text for piece in pieces if piece.role == "delivered"] == ["shop opens", " at nine"]


def test_the_claims_of_a_condition_are_counted_by_state_the_worst_first(judged_run, scored_run, unanswered):
    name = answering(judged_run)[0]
    rows = judged_run.of("claims", name)
    rows = rows[rows["condition"] == "retrieved"]
    assert claim_states(judged_run, name) == {
        state: int((rows["verdict"] == state).sum()) for state in ("contradicted", "absent", "supported")
    }
    assert list(claim_states(scored_run, answering(scored_run)[0])) == ["scored"]
    assert not has_claims(unanswered)


def test_contradicted_claims_come_before_absent_ones_and_scores_from_the_lowest(judged_run, scored_run):
    weak = weakest_claims(judged_run, answering(judged_run)[0])
    states = [claim.state for claim in weak]
    assert states == sorted(states, key=["contradicted", "absent"].index)
    assert {"contradicted", "absent"} == set(states)
    scores = [claim.score for claim in weakest_claims(scored_run, answering(scored_run)[0])]
    assert scores == sorted(scores)


def test_every_link_of_an_answer_to_a_passage_has_its_end_in_the_context(judged_run):
    name = answering(judged_run)[0]
    rows = judged_run.claims.query("configuration == @name and condition == 'retrieved' and verdict == 'supported'")
    (answer,) = question_in_conditions(judged_run, name, rows["query_id"].iloc[0], ["retrieved"]).answers
    targets = {piece.target for piece in answer.pieces if piece.target}
    anchors = {piece.anchor for passage in answer.passages for piece in passage.pieces} | {passage.anchor for passage in answer.passages}
    assert targets
    assert targets <= anchors


@pytest.mark.parametrize("planted", ["counterfactual", ""])
def test_answers_without_claims_have_plain_text(answered_run, planted):
    condition = planted or "retrieved"
    shown = question_in_conditions(answered_run, answering(answered_run)[0], "q1-1", [condition]).answers[0]
    assert [piece.role for piece in shown.pieces] in ([], ["plain"])
    assert not shown.claims.claims
