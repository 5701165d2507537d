"""Refusals by phrases, on sentences of our own and on the labelled answers of the handbook."""

import json
from pathlib import Path

import pytest

from benchmarks.judging.refusals import sentences_of
from tests.conftest import ROOT
from workbench.components.answering.prompt_file import prompt_of
from workbench.components.answering.refusals import is_refusal

REFUSALS = [
    "I cannot answer this question based on the given passages.",
    "I do not know.",
    "I do not know; ask at the desk.",
    "That isn't covered.",
    "There is no pool mentioned.",
    "Weiß nicht.",
    "Diese Information fehlt.",
    "Cette information n'est pas disponible.",
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
    "I cannot find a rule; the garage accepts none.",
    "There is no fee for members listed in the annex.",
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


GOES_ON = [
    "The notes don't say it outright, but the bridge closes at dusk.",
    "I couldn't find a rule for scooters, but bicycles park in the yard.",
    "The pages do not name the fee; however, it was 12 euros in spring [2].",
    "In den Unterlagen steht dazu nichts, aber der Hof schließt um sechs.",
    "Le texte ne mentionne pas le tarif, mais l'entrée coûte 4 euros.",
    "El documento no menciona la hora, pero el museo abre a las nueve.",
]
REFERS = [
    "I don't know, but you can ask at the desk.",
    "The notes do not say it, but they might be incomplete.",
    "I cannot answer that, but I can help with other questions.",
    "Dazu steht nichts im Handbuch, aber Sie können am Empfang fragen.",
    "Je ne sais pas, mais vous pouvez demander à l'accueil.",
    "The pages do not name the fee, but the page on prices could.",
    "I looked, but there is no information on scooters in the pages.",
    '"I do not know."',
    "„Ich weiß es nicht.“",
]


def test_a_refusal_that_goes_on_with_an_answer_in_the_same_sentence_is_none() -> None:
    assert [text for text in GOES_ON if is_refusal(text)] == []
    assert [text for text in REFERS if not is_refusal(text)] == []


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


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": "The pages do not say when the pool opens."}',
        '{"sources": [2], "final_answer": "I do not know."}',
        '```json\n{"response": "Das geht aus den Seiten nicht hervor."}\n```',
        "# Answer\n\nThe pages do not say when the pool opens.",
        "**Answer**\n\nI do not know.",
        "## Antwort\nDas geht aus den Seiten nicht hervor.",
        "Answer:\n-------\nThe pages do not say when the pool opens.",
        "# The pages do not say when the pool opens.",
    ],
)
def test_a_refusal_can_be_in_json_or_after_a_heading(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": "In May.", "remark": "The pages do not say more."}',
        '{"remark": "The pages do not say more."}',
        '{"answer": null}',
        "# 25 days\n\nThe pages do not say more.",
        "# Answer\n\nIn May. The pages do not say more.",
    ],
)
def test_json_and_headings_that_answer_are_no_refusals(text: str) -> None:
    assert not is_refusal(text)


def test_other_phrases_can_be_added() -> None:
    text = "Det vet jag inte, fråga i  kassan\nnere."
    assert not is_refusal(text)
    assert is_refusal(text, ["Fråga i kassan"])


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The leaflet does not mention bicycles.", "The tariff does not include bicycles."),
        ("Lockers are not covered in the manual.", "Lockers are not covered by the lease."),
        ("None of the excerpts describes the alarm.", "None of the residents set off the alarm."),
        ("Nothing in the documents deals with noise.", "Nothing in the lease prevents noise before ten."),
        ("The deposit is not mentioned.", "The deposit is not refunded."),
        ("The witnesses are not named.", "The witnesses were not named."),
        ("There is no information on drainage.", "No information on tenants is passed on."),
        ("Insufficient data.", "Insufficient postage."),
        ("The documents do not explain the fee.", "The documents do not have to be copies."),
        ("I can't find the opening hours.", "You can't find a seat on Fridays."),
        ("The sheet is silent, as the contract does not say.", "If the contract does not say otherwise, a month applies."),
        ("Der Abschnitt erwähnt keine Gebühr.", "Der Vertrag kennt keine Gebühr."),
        ("L'extrait ne mentionne pas de frais.", "Le bail ne couvre pas les frais."),
        ("El folleto no menciona la fianza.", "El alquiler no incluye la fianza."),
        ("O trecho não refere a caução.", "O aluguer não inclui a caução."),
        ("Il brano non parla della cauzione.", "L'affitto non comprende la cauzione."),
        ("De tekst noemt de borg niet.", "De huur omvat de borg niet."),
    ],
)
def test_what_a_source_does_not_say_is_told_from_what_is_not_so(text: str, fact: str) -> None:
    assert is_refusal(text), text
    assert not is_refusal(fact), fact


def test_a_question_of_yes_or_no_is_answered_by_a_short_negation() -> None:
    assert is_refusal("Not available.", question="What is the serial number?")
    assert not is_refusal("Not available.", question="Is the blue one sold in Malta?")
    assert not is_refusal("No, not provided.")


def test_a_question_about_a_text_is_answered_by_what_the_text_does_not_say() -> None:
    answer = "The letter does not mention the roof."
    assert not is_refusal(answer, question="Does the letter mention the roof?")
    assert is_refusal(answer, question="Is the roof insured?")
    assert is_refusal("I can't find whether the letter mentions it.", question="Does the letter mention the roof?")


@pytest.mark.parametrize(("english", "missed"), [(True, 0.2), (False, 0.16)])
def test_held_out_sentences_are_told_apart_as_often_as_the_docs_say(english: bool, missed: float) -> None:
    rows = [row for row in sentences_of("held-out") if (row["language"] == "en") is english]
    refusals = [is_refusal(row["text"], question=row.get("question", "")) for row in rows if row["refusal"]]
    others = [row["text"] for row in rows if not row["refusal"] and is_refusal(row["text"], question=row.get("question", ""))]
    assert len(refusals) >= 40
    assert 1 - sum(refusals) / len(refusals) <= missed
    assert others == []


def test_the_sentences_of_the_rules_are_told_apart() -> None:
    rows = sentences_of("tuning")
    wrong = [row["text"] for row in rows if is_refusal(row["text"], question=row.get("question", "")) is not row["refusal"]]
    # "Which topics are missing?" asks what the handbook does not mention, which no rule sees.
    assert wrong == ["The handbook does not mention remote work."]


def test_no_sentence_is_both_tuned_on_and_held_out() -> None:
    tuning, held_out = ({(row["text"].lower(), row.get("question", "")) for row in sentences_of(part)} for part in ("tuning", "held-out"))
    assert len(tuning & held_out) <= 0


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
