from decimal import Decimal

from workbench.core.text.dates_and_numbers import moments_in, numbers_in, opposite, polarity


def values(text: str) -> list[tuple[str, str]]:
    return [(number.text, number.unit) for number in numbers_in(text)]


def test_numbers_are_read_in_digits_and_words_with_their_units() -> None:
    assert values("€1,090.50 in 30 days, or three-week terms at 20 %, the 4th calendar day") == [
        ("1,090.50", "€"),
        ("30", "day"),
        ("20", "%"),
        ("4th", "calendar"),
    ]
    assert values("Two people wait twenty minutes") == [("Two", "people"), ("twenty", "minute")]
    assert [number.value for number in numbers_in("1,090 and ninety")] == [Decimal(1090), Decimal(90)]


def test_parts_of_identifiers_times_versions_and_telephone_numbers_are_no_numbers() -> None:
    texts = ["S1 or C-2", "version 1.5.9", "at 15:30", "+353 91 555 0162", "2026-02-01", "A4", "1/260"]
    assert {text: values(text) for text in texts} == {text: [] for text in texts}


def test_another_value_is_written_in_the_same_form() -> None:
    cases = [
        ("1,090", 2180, "2,180"),
        ("30", 45, "45"),
        ("4th", 2, "2nd"),
        ("4th", 11, "11th"),
        ("Two", 8, "Eight"),
        ("two", 108, "108"),
        ("0.30", "0.45", "0.45"),
    ]
    written = [[number.rewritten(Decimal(str(value))) for number in numbers_in(text)] for text, value, _ in cases]
    assert written == [[expected] for *_, expected in cases]


def test_other_values_are_plausible() -> None:
    def others(text: str) -> list[str]:
        (number,) = numbers_in(text)
        return [str(value) for value in number.others]

    assert others("30 days") == ["45", "60", "15", "90", "120", "150"]
    assert others("2 days")[:3] == ["3", "4", "6"]
    assert others("in 2025")[:2] == ["2023", "2027"]
    assert others("2025 days")[0] == "3038"
    assert others("€0.30")[0] == "0.450"


def test_dates_and_times_have_others_in_the_same_form() -> None:
    date, german, english, time = moments_in("30 September 2025, 1. März, May 31, at 08:15")
    assert (date[0], date[1][0]) == ("30 September", "30 December")
    assert german[1][0] == "1. Juni"
    # Not every month has 31 days.
    assert english[1] == ("August 31", "July 31", "October 31", "December 31")
    assert (time[0], time[1][0]) == ("08:15", "11:15")
    assert list(moments_in("32.5 Mayflies at 25:00")) == []


def test_an_answer_begins_with_yes_or_no() -> None:
    answers = {"No, only on suspicion": "no", "**Yes**: 30 days": "yes", "Ja.": "yes", "Nobody": "", "30 days": "", "": ""}
    assert {answer: polarity(answer) for answer in answers} == answers


def test_a_statement_is_turned_where_one_verb_decides() -> None:
    statements = {
        "It cannot be updated.": "It can be updated.",
        "Child care is not paid.": "Child care is paid.",
        "It doesn't apply.": "It does apply.",
        "The badge is blocked.": "The badge is not blocked.",
        "It may be used only at sea.": "",
        "Nothing is taken.": "",
        "It is open and may close.": "",
        "It is not here and not there and is not lost.": "",
        "| 30 | days |": "",
    }
    assert {statement: opposite(statement) for statement in statements} == statements
