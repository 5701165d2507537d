import collections
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.answer_cases import Asked, case_of, table_of
from workbench.measures.metrics.answers import normalised, token_f1_of, token_recall_of

WORDS = st.text(alphabet="abc the.,-an $%'", max_size=30)


def value(name: str, text: str, *expected: str) -> float:
    return float(table_of(case_of(Asked(text, expected)), name)["value"][0])


def test_a_text_is_compared_without_case_punctuation_and_articles() -> None:
    texts = {
        "The Eiffel Tower!": "eiffel tower",
        "  an  apple, a pear ": "apple pear",
        "€1,000.50": "€100050",
        "“Theory” – an idea…": "theory idea",
        "O'Neil": "oneil",
        "Antarctica": "antarctica",
        "": "",
    }
    assert {text: normalised(text) for text in texts} == texts


def reference_f1(answer: str, expected: str) -> float:
    """The published definition for ASCII texts, written on its own."""

    def tokens(text: str) -> list[str]:
        kept = "".join(" " if False else char for char in text.lower() if char not in set(string.punctuation))
        return re.sub(r"\b(a|an|the)\b", " ", kept).split()

    given, wanted = tokens(answer), tokens(expected)
    common = sum((collections.Counter(given) & collections.Counter(wanted)).values())
    if not given or not wanted:
        return float(given == wanted)
    if not common:
        return 0.0
    precision, recall = common / len(given), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


@given(WORDS, WORDS)
def test_token_f1_is_that_of_squad(answer: str, expected: str) -> None:
    assert token_f1_of(answer, expected) == pytest.approx(reference_f1(answer, expected))
    assert token_f1_of(answer, expected) == token_f1_of(expected, answer)
    assert token_f1_of(answer, expected) <= 1
    if normalised(expected):
        assert token_recall_of(f"{answer} {expected}", expected) == 1


def test_by_hand() -> None:
    assert value("token_f1", "It costs 40 euros a day", "40 euros") == pytest.approx(2 * 2 / (5 + 2))
    assert value("answer_recall", "It costs 40 euros a day", "40 euros") == 1
    assert value("answer_recall", "40 dollars", "40 euros") == 0.5
    assert value("exact_match", "40 euros.", "40 Euros") == 1
    assert value("exact_match", "It costs 40 euros", "40 euros") == 0
    # One letter and two: é, and e with an accent.
    assert value("exact_match", "caf\u00e9", "cafe\u0301") == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("游泳馆早上六点开门。", "早上六点"),
        ("他养了一只猫。", "猫"),
        ("租金是 80 元/月", "80元"),
        ("租金是８０元", "80 元"),
        ("六点\n三十分开门", "六点三十分"),
        ("プールは朝六時に開きます。", "朝六時"),
        ("สระว่ายน้ำเปิดหกโมงเช้าทุกวัน", "หกโมงเช้า"),
        ("तरणताल सुबह छह बजे खुलता है।", "सुबह छह बजे"),
        ("يفتح المسبح في السادسة صباحا.", "السادسة صباحا"),
        ("수영장은 아침 여섯 시에 엽니다.", "여섯 시"),
        ("អាងហែលទឹកបើកនៅម៉ោងប្រាំមួយព្រឹក", "ម៉ោងប្រាំមួយ"),
        ("ရေကူးကန်သည် မနက်ခြောက်နာရီဖွင့်သည်။", "မနက်ခြောက်နာရီ"),
        ("ສະລອຍນ້ຳເປີດຫົກໂມງເຊົ້າ", "ຫົກໂມງເຊົ້າ"),
        ("Das kostet die STRASSE.", "Straße"),
        ("Von cafe\u0301 zu cafe\u0301", "caf\u00e9"),
    ],
)
def test_an_answer_that_contains_the_expected_text_has_its_tokens_in_any_script(answer: str, expected: str) -> None:
    assert value("answer_recall", answer, expected) == 1
    assert 0 < value("token_f1", answer, expected) < 1
    assert value("exact_match", f" {expected}。", expected) == 1


def test_letters_in_another_order_are_few_of_the_tokens() -> None:
    # Of 早, 早上, 上, 上六, 六, 六点 and 点, the answer has the four letters and 上六.
    assert value("answer_recall", "点上六早", "早上六点") == pytest.approx(5 / 7)
    assert value("token_f1", "点上六早", "早上六点") == pytest.approx(5 / 7)
    # Of 80, 元 the answer has one.
    assert value("token_f1", "90元", "80元") == 0.5
    assert value("exact_match", "→", "←") == value("answer_recall", "→", "←") == 0


def test_the_best_of_the_expected_answer_and_its_variants_counts() -> None:
    assert value("exact_match", "the UK", "United Kingdom", "UK") == 1
    assert value("token_f1", "UK", "United Kingdom", "UK of Great Britain") == pytest.approx(2 / 5)


def test_marks_of_citations_are_no_words_of_the_answer() -> None:
    assert value("exact_match", "Paris [1].", "Paris") == 1
    assert value("exact_match", "Paris [1, 3-4][2]", "Paris") == 1
    assert value("exact_match", "Paris [sic]", "Paris") == 0


@pytest.mark.parametrize("name", ["exact_match", "token_f1", "answer_recall", "answer_similarity"])
def test_a_refusal_scores_0_whatever_its_words(name: str) -> None:
    case = case_of(Asked("Paris", refused=True), Asked("Paris"))
    assert table_of(case, name)["value"].tolist() == pytest.approx([0, 1])


def test_similarity_is_that_of_the_closest_expected_answer() -> None:
    table = table_of(case_of(Asked("b [2]", ("a", "b ")), Asked("", ("a",)), Asked("a", ("a",))), "answer_similarity")
    assert table["value"][1] == 0
    assert table["value"][2] == pytest.approx(1, abs=1e-6)
    assert -1 <= table["value"][0] < 1
