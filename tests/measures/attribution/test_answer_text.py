"""What texts show without a judge: the expected answer in a context, an empty answer, something made up after a refusal, a corrected question."""

import pytest

from workbench.core.records import Passage, Query
from workbench.measures.attribution.answer_text import AnswerText, answer_text, delivers, delivers_part, states

FACT = "A guest boat may lie at the east pier for at most 48 hours, and the harbour master can add a day."


def passage(text: str, start: int = 0, doc_id: str = "pier") -> Passage:
    return Passage(doc_id, start, start + len(text), text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is at most 48 hours.", "at most 48 hours"),
        ("It is AT MOST 48 HOURS!", "at most 48 hours"),
        ("48 hours at most, I believe.", "at most 48 hours"),
        ("At most, that is, 48 long hours.", "at most 48 hours"),
        ("The deposit is €1,000.", "1000"),
        ("The deposit is 1000 euros.", "1,000"),
        ("The deposit is 1\u202f000 euros.", "€1,000"),
        ("The deposit is 1 000 000 euros.", "1.000.000"),
        ("The depth is 0,30 m.", "0.30 m"),
        ("图书馆五点关门。", "五点关门"),
        ("Das Büro öffnet um 9.", "büro"),
    ],
)
def test_a_text_states_an_answer_in_any_form_and_order(text: str, expected: str) -> None:
    assert states(text, [expected])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("At most 72 hours.", "at most 48 hours"),
        ("At most 148 hours.", "at most 48 hours"),
        # All words, and not near to each other.
        (
            "At first sight, most of the many boats that lie here have been in the water for about 48 days and some hours.",
            "at most 48 hours",
        ),
        # A word that the answer has twice.
        ("From Monday on.", "from Monday to Monday"),
        ("", "48 hours"),
        ("48 hours", ""),
        ("Section 10003 applies.", "1000"),
    ],
)
def test_a_text_without_all_words_together_does_not_state_the_answer(text: str, expected: str) -> None:
    assert not states(text, [expected])


def test_an_expected_answer_of_four_words_is_found_anywhere_in_the_context() -> None:
    assert delivers([passage("Unrelated."), passage(FACT, doc_id="copy")], ["at most 48 hours"])
    assert not delivers([passage(FACT)], ["at most 72 hours"])
    assert not delivers([], ["at most 48 hours"])


@pytest.mark.parametrize("expected", ["yes", "48", "48 hours", "the east pier", "the harbour master"])
def test_a_shorter_one_can_be_there_by_chance_and_needs_delivered_evidence(expected: str) -> None:
    assert not delivers([passage(FACT)], [expected])
    whole = passage(FACT, start=20)
    # All but the last character of the evidence is delivered.
    context = [passage("Twenty characters, ." + FACT[:-1])]
    assert delivers_part(context, whole, [expected]) == (expected != "yes")
    assert not delivers_part([passage(FACT[:12], start=20)], whole, [expected])
    assert not delivers_part([passage(FACT, start=20, doc_id="other")], whole, [expected])


@pytest.mark.parametrize("word", ["no", "No.", "guest", "€"])
def test_a_single_word_that_is_no_number_is_no_evidence(word: str) -> None:
    assert not delivers_part([passage(FACT[:-1])], passage(FACT), [word])


def test_an_answer_that_two_chunks_share_is_found_where_they_follow_each_other() -> None:
    cut = FACT.index("48")
    first, second = passage(FACT[: cut - 1]), passage(FACT[cut:], start=cut)
    assert delivers([second, first], ["at most 48 hours"])
    assert delivers([first, passage(FACT[cut - 8 :], start=cut - 8)], ["at most 48 hours"])
    assert not delivers([first, passage(FACT[cut:], start=cut + 40)], ["at most 48 hours"])


@pytest.mark.parametrize(
    ("answer", "empty"),
    [
        ("", True),
        (" \n\t", True),
        ("\u200b\ufeff", True),
        ("…", True),
        ("- **", True),
        ("N/A", False),
        ("No", False),
        ("7", False),
        ("五", False),
    ],
)
def test_an_answer_without_a_word_is_empty(answer: str, empty: bool) -> None:
    assert answer_text(Query("q", "How long?"), (), answer, refused=False).empty is empty


@pytest.mark.parametrize(
    ("answer", "invented"),
    [
        ("The documents do not say. It is 72 hours.", "It is 72 hours."),
        ("I cannot answer this from the passages. Boats pay 9 euros [1].", "Boats pay 9 euros"),
        # From the context, from the question, from the mark of a passage, and no number at all.
        ("The documents do not say. They only mention 48 hours at the pier.", ""),
        ("The documents do not say. Pier 3 does not occur in them.", ""),
        ("The documents do not say. The nearest is in [12].", ""),
        ("The documents do not say. Please ask the harbour master.", ""),
        ("I cannot find pier 7 in the documents.", ""),
    ],
)
def test_a_number_after_a_refusal_is_made_up_if_neither_context_nor_question_has_it(answer: str, invented: str) -> None:
    found = answer_text(Query("q", "How long at pier 3?"), [passage(FACT)], answer, refused=True).invented
    assert found.strip(" .") == invented.strip(" .")


@pytest.mark.parametrize(
    ("question", "answer", "denies"),
    [
        ("Why is the east pier closed on Mondays?", "The east pier is not closed on Mondays. It is open every day.", True),
        ("Why is the east pier closed on Mondays?", "No, the east pier isn't closed on Mondays.", True),
        ("Warum ist die Brücke montags geschlossen?", "Die Brücke ist montags nicht geschlossen.", True),
        ("Why is the east pier closed on Mondays?", "It is closed on Mondays because of the market.", False),
        ("Why is the east pier closed on Mondays?", "Dogs are not allowed on the ferry.", False),
        # A question that asks for yes or no.
        ("Is the east pier closed on Mondays?", "The east pier is not closed on Mondays.", False),
    ],
)
def test_an_answer_denies_what_an_open_question_without_an_answer_takes_for_granted(question: str, answer: str, denies: bool) -> None:
    assert answer_text(Query("q", question, answerable=False), (), answer, refused=False).denies is denies
    assert not answer_text(Query("q", question, answerable=True), (), answer, refused=False).denies


@pytest.mark.parametrize(("expected", "stated"), [("no", False), ("3", True), ("no dogs", True)])
def test_a_single_word_that_is_no_number_is_not_stated_by_an_answer_that_contains_it(expected: str, stated: bool) -> None:
    text = answer_text(Query("q", "How many?", answer=expected), (), "There are 3 rules and no dogs.", refused=False)
    assert text.expected is stated


def test_a_right_answer_shows_nothing_but_the_expected_text() -> None:
    query = Query("q", "How long?", answer="At most 48 hours", answer_variants=("two days",))
    assert answer_text(query, [passage(FACT)], "Two days [1].", refused=False, truncated=True) == AnswerText(
        truncated=True, expected=True, equal=True
    )


@pytest.mark.parametrize(
    ("expected", "answer", "equal"),
    [
        ("no", "No.", True),
        ("1,000", "1 000 [2]", True),
        ("the harbour master", "Harbour master!", True),
        ("no", "No, guests may not.", False),
        ("no", "", False),
        ("", "", False),
    ],
)
def test_an_answer_equals_the_expected_one_if_it_has_its_words_and_no_others(expected: str, answer: str, equal: bool) -> None:
    query = Query("q", "May guests moor here?", answer=expected)
    assert answer_text(query, [], answer, refused=False).equal is equal
