"""One fact of the expected answer changes everywhere in the copy, and nothing else does."""

import pytest

from workbench.components.context.planting import altered

PAGE = "Claims are due within 30 days of the trip. After 30 days Marta Quill decides. A hall has 30 seats. Trips to Cork end on 1 May."
EVIDENCE = [(0, 42)]


@pytest.mark.parametrize(
    ("answer", "kind", "original", "new"),
    [
        ("30 days", "number", "30", "45"),
        ("thirty days", "number", "thirty", "45"),
        ("Marta Quill", "name", "Marta Quill", "Brenlow"),
        ("By 1 May", "date", "1 May", "1 August"),
    ],
)
def test_a_fact_of_the_answer_is_changed(answer: str, kind: str, original: str, new: str) -> None:
    change = altered(PAGE, [], "when", [answer])
    assert change is not None
    assert (change.kind, change.original, change.altered) == (kind, original, new)


def test_a_number_changes_wherever_it_has_the_unit_of_the_evidence_and_stays_elsewhere() -> None:
    change = altered(PAGE, EVIDENCE, "when are claims due", ["30 days"])
    assert change is not None
    assert change.text == PAGE.replace("30 days", "45 days")


def test_the_cell_of_a_table_has_no_unit() -> None:
    table = "| age | weeks |\n| 12 months | 4 |\n| parent | 12 |"
    change = altered(table, [], "how long", ["12 weeks"])
    assert change is not None
    assert change.text == table.replace("| 12 |", "| 18 |")


def test_only_evidence_decides_where_it_is_labelled() -> None:
    assert altered("It opens at 9:00. It closes at 20:00.", [(0, 17)], "when", ["20:00"]) is None
    assert altered("It opens at 9:00. It closes at 20:00.", [(18, 37)], "when", ["20:00"]) is not None


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("is it 30 days?", ["30 days"]),
        ("who is Marta Quill", ["Marta Quill"]),
        ("when", ["60 days"]),
        ("when", ["€118 a night (30 + 88)"]),
        ("who", ["the manager"]),
        ("when", []),
        ("when", ["1 day"]),
    ],
)
def test_a_fact_that_the_question_names_or_no_passage_states_is_left_alone(question: str, answers: list[str]) -> None:
    assert altered(PAGE, [], question, answers) is None


def test_the_new_value_is_nowhere_else() -> None:
    change = altered(f"{PAGE} Rooms cost 45 euros, and 60 at sea.", EVIDENCE, "when", ["30 days"])
    assert change is not None
    assert change.altered == "15"


def test_yes_and_no_turn_the_evidence() -> None:
    text = "The van is blue. Dogs are not allowed. Cats sleep."
    change = altered(text, [(17, 38)], "are dogs allowed", ["No"])
    assert change is not None
    assert (change.kind, change.original, change.altered, change.text) == ("polarity", "no", "yes", text.replace(" not", ""))


def test_other_expected_answers_are_tried_in_turn() -> None:
    change = altered(PAGE, EVIDENCE, "when", ["one month", "30 days"])
    assert change is not None
    assert change.original == "30"


def test_the_first_word_of_an_answer_is_a_name_only_if_a_text_has_it_inside_a_sentence() -> None:
    assert altered("Ring the desk. Purchasing pays.", [], "who", ["Purchasing pays"]) is None
    assert altered("Ring the desk, or Purchasing.", [], "who", ["Purchasing pays"]) is not None
