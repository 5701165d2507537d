"""How values are recognised in texts."""

from workbench.core.records import Answer, TargetHit
from workbench.systems.asking import TargetReply
from workbench.systems.freshness import Stated, contains, has_words, hit_keys, seen, texts_of


def test_a_phrase_is_found_as_whole_words_and_numbers() -> None:
    cases = [
        ("kept for 7 days.", "7 days", True),
        ("kept for 7\n days.", "7 days", True),
        ("Kept For 7 DAYS", "7 days", True),
        ("kept for 17 days", "7 days", False),
        ("kept for 7 daysets", "7 days", False),
        ("a factor of 1.25", "1.2", False),
        ("a factor of 1.2.", "1.2", True),
        ("a factor of 1.2", "2", False),
        ("€3,180 in all", "180", False),
        ("180, 240 and 360", "180", True),
        ("at 15 % of it", "15 %", True),
        ("at 15 %", "5 %", False),
        ("UNTRUE", "TRUE", False),
        ("| Coastal | 180 | 80 |", "| Coastal | 180 |", True),
        ("anything", "  ", False),
        ("押金现在是八十五元。", "八十五元", True),
        ("押金现在是85元", "85元", True),
        ("押金现在是185元", "85元", False),
        ("ค่ามัดจำห้าสิบบาทต่อคัน", "ห้าสิบบาท", True),
        ("it closes at cafe\u0301 hours", "caf\u00e9", True),
    ]
    assert [(text, phrase, contains(text, phrase)) for text, phrase, _ in cases] == cases


def test_chunks_must_have_the_passage_and_answers_may_have_the_value() -> None:
    stated = Stated("7 days", "The journal is kept for 7 days")
    assert seen(["after 7 days"], stated, "chunks") == ""
    assert seen(["after 7 days"], stated, "answer") == "7 days"
    assert seen(["so: the journal is kept for 7 days."], stated, "chunks") == stated.text


def test_the_texts_of_a_reply_or_why_there_are_none() -> None:
    assert texts_of(TargetReply((TargetHit("a", "text"),))) == (["text"], "")
    assert texts_of(TargetReply()) == ([], "")
    assert texts_of(TargetReply((TargetHit("a"),))) == ([], "the hits have no text")
    assert texts_of(TargetReply(error="it hung")) == ([], "it hung")
    assert texts_of(TargetReply(answer=Answer(text="yes"))) == (["yes"], "")


def test_the_order_of_equal_hits_does_not_matter_but_their_number_does() -> None:
    first, second = TargetHit("a", "one", 0.5, 0, 3), TargetHit("a", "two", 0.5, 3, 6)
    assert hit_keys([first, second]) == hit_keys([second, first])
    assert hit_keys([first, first]) != hit_keys([first])


def test_the_words_of_a_statement_can_be_in_several_texts():
    texts = ["The limit is", "€4,000 a month, as before."]
    assert has_words(texts, "limit is €4,000 a month")
    assert not has_words(texts, "limit is €5,000 a month")
    assert not has_words(texts, "limit is €4 a month")
    assert has_words(["每辆车的押金是八十元"], "押金是八十元")
    assert not has_words(["押金是八十元"], "押金是九十元")
