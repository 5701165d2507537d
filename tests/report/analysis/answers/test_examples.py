import math

import pytest

from tests.answered_runs import Planted, answered
from workbench.components.context.conditions import CONDITIONS
from workbench.core.errors import InputError
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.marked_answers import question_in_conditions, worst_losses


def shown(run, query_id="q0-1"):
    return {str(answer.variant): answer for answer in question_in_conditions(run, answering(run)[0], query_id).answers}


def text_of(passage):
    return "".join(piece.text for piece in passage.pieces)


def marks(passage):
    return [(piece.role, piece.text) for piece in passage.pieces if piece.role != "plain"]


def test_a_question_is_shown_in_every_condition_and_perturbation_in_order(answered_run):
    names = list(shown(answered_run))
    assert [name.partition("/")[0] for name in dict.fromkeys(name.partition("/")[0] for name in names)] == list(CONDITIONS)
    assert len(names) == 6 + 2 + 6


def test_the_evidence_of_a_context_is_marked_and_irrelevant_passages_are_not(answered_run):
    answers = shown(answered_run)
    (gold,) = answers["gold"].passages
    assert [role for role, _ in marks(gold)] == ["delivered"]
    assert "room 0-1" in text_of(gold)
    assert not any(marks(passage) for passage in answers["irrelevant_only"].passages)
    assert answers["none"].passages == []


def test_planted_text_is_shown_as_the_generator_read_it_with_its_changes_marked(answered_run):
    altered, original = shown(answered_run)["counterfactual/before"].passages
    assert (altered.planted, original.planted) == ("counterfactual", "")
    assert "77" in "".join(text for _, text in marks(altered))
    assert all(role == "planted" for role, _ in marks(altered))
    (attacked,) = shown(answered_run)["injection/override"].passages
    assert "CANARY" in "".join(text for _, text in marks(attacked))


def test_the_passages_that_an_answer_cites_are_named(answered_run):
    answer = next(each for each in shown(answered_run).values() if each.citations)
    assert answer.citations == (0,)
    assert [passage.cited for passage in answer.passages] == [True] + [False] * (len(answer.passages) - 1)


def test_the_questions_with_the_largest_losses_come_first(answered_run):
    name = answering(answered_run)[0]
    losses = [each.loss for each in worst_losses(answered_run, name, 30)]
    assert len(losses) == 30
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == 1.0
    first = worst_losses(answered_run, name, 1)[0]
    assert first.lost_to.partition("/")[0] in ("retrieved", "gold_distractors", "counterfactual", "injection")


def test_without_the_evidence_alone_the_worst_answers_come_first(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"]))
    first = worst_losses(run, answering(run)[0], 1)[0]
    assert (first.loss, first.lost_to) == (1.0, "retrieved")


def test_nothing_is_lost_if_every_answer_is_right(unanswered):
    run = answered(unanswered, Planted(conditions=["gold", "retrieved"], right={"gold": 1.0, "retrieved": 1.0}))
    assert worst_losses(run, answering(run)[0], 5) == []


def test_a_question_without_such_a_context_and_one_whose_call_failed_say_so(answered_run):
    apart = shown(answered_run, "q0-9")["counterfactual/before"]
    assert apart.reason
    assert "no number" in apart.missing
    assert math.isnan(apart.score)
    table = answered_run.answers
    row = table[(table["error"] != "") & (table["repeat"] == 0) & (table["configuration"] == answering(answered_run)[0])].iloc[0]
    failed = shown(answered_run, row["query_id"])["/".join(filter(None, [row["condition"], row["variant"]]))]
    assert not failed.reason
    assert failed.missing == "the server timed out (60 s)"


def test_an_unknown_question_is_an_error_with_a_suggestion(answered_run):
    with pytest.raises(InputError, match="did you mean 'q0-1'"):
        question_in_conditions(answered_run, answering(answered_run)[0], "q0_1")
