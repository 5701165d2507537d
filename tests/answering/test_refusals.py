"""Refusals by phrases, on sentences of our own and on the labelled answers of the handbook."""

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from workbench.answering.prompt_file import prompt_of
from workbench.answering.refusals import is_refusal

REFUSALS = [
    "I cannot answer this question based on the given passages.",
    "I do not know.",
    "I don’t know which year it was.",
    "The answer is not provided in the passages.",
    "There is no information in the passages about moons.",
    "Based on the passages, it is not possible to determine the date.",
    "The provided context does not include the price.",
    "The context doesn't mention any king of France.",
    "Not mentioned.",
    "Unknown",
    "Sorry. The documents do not say who signed it.",
    "I'm sorry, but I can't assist with that.",
    "Unfortunately, none of the passages mentions a deadline.",
    "Nothing in these pages covers visitors.",
    "The handbook is silent on this.",
    "There is not enough information to answer.",
    "The excerpts I was given don't cover cancellations; the page on travel might.",
    "Die Passagen enthalten die Antwort nicht.",
    "Das kann ich anhand der vorliegenden Seiten nicht beantworten.",
    "Leider finde ich dazu nichts im Handbuch.",
    "Dazu steht nichts in den Unterlagen.",
    "Ich weiß es nicht.",
    "Aus den Texten geht nicht hervor, wann die Frist endet.",
    "In den Auszügen wird die Frist nicht genannt.",
    "Diese Frage lässt sich mit dem gegebenen Kontext nicht beantworten.",
    "Hierzu liegen mir keine Informationen vor.",
    "Weder die Frist noch der Betrag sind in den Abschnitten zu finden.",
    "Es gibt in den Seiten keinen Hinweis auf eine Obergrenze.",
]
ANSWERS = [
    "",
    "No.",
    "No, selling days is not possible [1].",
    "You do not have to say what is wrong [2].",
    "Nobody may enter the yard alone.",
    "It cannot be paid out or carried over.",
    "Nothing is due if you cancel before noon.",
    "There is no daily allowance on a vessel, and the supplement is taxed.",
    "Before the move, €900. What the move itself costs is not in these pages.",
    "€900. What the move itself costs is not in these pages.",
    "The passages do not name the month. However, they say that it was the spring of 1912 [3].",
    "While the documents do not give a price, they name a range of €20 to €30.",
    'The message "We are unable to process your request" means that the card was rejected.',
    "Nein, das ist nicht erlaubt.",
    "Die Frist beträgt nicht 14, sondern 30 Tage [1].",
    "Sie brauchen keinen Antrag, eine E-Mail genügt [2].",
    "Es sind 25 Tage. Zu Feiertagen steht in den Seiten nichts.",
    "Niemand muss vorher gefragt werden.",
    "Weder Ersatzteile noch Kabel werden berechnet.",
]


def test_refusals_are_recognised() -> None:
    assert [text for text in REFUSALS if not is_refusal(text)] == []


def test_answers_are_no_refusals() -> None:
    assert [text for text in ANSWERS if is_refusal(text)] == []


@pytest.mark.parametrize("name", ["cited-1", "guarded-1", "short-1"])
def test_the_refusals_that_prompts_ask_for_are_recognised(name: str) -> None:
    prompt = prompt_of(name)
    for text in (prompt.system, prompt.closed_book):
        asked = text.split("write only: ")[1].splitlines()[0]
        assert is_refusal(asked), asked


def test_other_phrases_can_be_added() -> None:
    text = "Dat weet ik niet, vraag het  aan de\nbalie."
    assert not is_refusal(text)
    assert is_refusal(text, ["Vraag het aan de balie"])


def test_the_answers_of_the_handbook_are_recognised_as_its_labels_say() -> None:
    rows = [json.loads(line) for line in (ROOT / "experiments/handbook/recorded/answers.jsonl").read_text("utf-8").splitlines()]
    found = {row["answer_id"] for row in rows if is_refusal(row["answer"])}
    labelled = {row["answer_id"] for row in rows if row["behaviour"] == "refused"}
    # Injected instructions made two answers refuse.
    assert len(found & labelled) >= 76
    assert len(found - labelled) <= 2


def test_expected_answers_are_no_refusals(big_data) -> None:
    path: Path = big_data("clapnq") / "queries.jsonl"
    answers = [json.loads(line)["metadata"]["answer"] for line in path.read_text("utf-8").splitlines()]
    assert not [answer for answer in answers if answer and is_refusal(answer)]


def test_only_the_beginning_of_a_long_answer_is_read() -> None:
    assert is_refusal("I don't know. " + "a<b " * 500_000)
    assert not is_refusal("The fee is €5. " * 1_000 + "ask the harbour master", ["ask the harbour master"])
