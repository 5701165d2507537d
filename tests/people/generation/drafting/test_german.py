"""German statements become questions that a person would ask."""

import pytest

from workbench.people.generation.drafting.german import german_questions, german_topic
from workbench.people.generation.drafting.statements import Statement


def asked(text: str, heading: str = "") -> list[str]:
    return [each.question for each in german_questions(Statement("d", 0, len(text), text, (heading,), bool(heading)))]


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("Jede Mitarbeiterin hat im Jahr 30 Tage Urlaub.", "Wie viele Tage Urlaub hat jede Mitarbeiterin im Jahr?"),
        ("Die Tagespauschale beträgt 28 Euro für jeden vollen Tag.", "Wie hoch ist die Tagespauschale?"),
        ("Die Prüfung dauert höchstens fünf Tage.", "Wie lange dauert die Prüfung?"),
        ("Anträge müssen spätestens zwei Wochen vorher eingereicht werden.", "Wann müssen Anträge eingereicht werden?"),
        ("Die Kantine öffnet um 11:30 Uhr.", "Wann öffnet die Kantine?"),
        ("Der Filter wird alle zwei Wochen gereinigt.", "Wie oft wird der Filter gereinigt?"),
        ("Eine Dienstreise ist eine Reise, die die Leitung genehmigt hat.", "Was ist eine Dienstreise?"),
    ],
)
def test_the_question_leaves_out_what_the_statement_answers(statement, question):
    assert asked(statement) == [question]


@pytest.mark.parametrize("statement", ["Sie müssen innerhalb von zwei Tagen antworten.", "Laptops und Telefone gehören der Firma."])
def test_statements_without_a_subject_or_a_fact_give_no_question(statement):
    assert asked(statement) == []


def test_a_heading_that_asks_is_the_question_of_its_section():
    assert asked("Melden Sie sich bei der Leitung.", "Was mache ich bei Krankheit?") == ["Was mache ich bei Krankheit?"]
    assert german_topic(Statement("d", 0, 5, "Text.", ("Geräte",)), "Austritt") == "Was steht unter „Geräte“ zu „Austritt“?"
