from workbench.core.records import Qrel, Query, Span
from workbench.data.checks import repeats

QUERIES = [Query("a", "Who pays?"), Query("b", "What?"), Query("c", " WHO \n pays?"), Query("d", "who pays?"), Query("e", "Who pays")]
SAME = [Qrel("a", "d1", 1), Qrel("c", "d1", 1), Qrel("d", "d1", 1), Qrel("b", "d2", 1)]


def test_case_and_blanks_do_not_make_another_question():
    assert repeats(QUERIES, SAME, []) == [("c", "a", False), ("d", "a", False)]


def test_another_judgement_and_other_evidence_are_other_labels():
    assert [relabelled for *_, relabelled in repeats(QUERIES, [*SAME, Qrel("d", "d3", 0)], [])] == [False, True]
    assert [relabelled for *_, relabelled in repeats(QUERIES, SAME, [("c", Span("d1", 0, 4))])] == [True, False]


def test_a_question_that_is_also_marked_unanswerable_has_other_labels():
    assert repeats([Query("a", "Who?"), Query("b", "Who?", answerable=False)], [], []) == [("b", "a", True)]


def test_a_repeated_id_is_another_fault():
    assert repeats([Query("a", "Who?"), Query("a", "Who?")], [], []) == []
