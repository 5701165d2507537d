from tests.answer_cases import Asked, case_of, table_of
from workbench.core.records import Variant

GOLD = Asked("x", gold=True, relevant=2, refused=True)
PART = Asked("x", gold=False, relevant=1, refused=True)
NOTHING = Asked("x", gold=False, relevant=0, refused=True)
UNANSWERABLE = Asked("x", answerable=False, gold=False, relevant=0, refused=True)


def scored(name: str, condition: str) -> list[bool]:
    table = table_of(case_of(GOLD, PART, NOTHING, UNANSWERABLE, variant=Variant(condition)), name)
    assert set(table["value"].dropna()) <= {1.0}
    return table["state"].eq("scored").tolist()


def test_refusals_count_where_the_context_says_what_is_right() -> None:
    cases = [
        ("refusal_rate", "retrieved", [False, False, False, True]),
        ("refusal_rate", "missing_gold", [True, True, True, True]),
        ("refusal_rate", "irrelevant_only", [True, True, True, True]),
        ("refusal_rate", "none", [False, False, False, True]),
        ("refusal_rate_without_gold", "retrieved", [False, False, True, False]),
        ("refusal_rate_without_gold", "none", [False, False, False, False]),
        ("over_refusal_rate", "retrieved", [True, False, False, False]),
        ("over_refusal_rate", "gold", [True, False, False, False]),
    ]
    assert [(name, condition, scored(name, condition)) for name, condition, _ in cases] == cases


def test_part_of_the_evidence_makes_neither_a_refusal_nor_an_answer_wrong() -> None:
    for name in ("refusal_rate", "refusal_rate_without_gold", "over_refusal_rate"):
        assert not scored(name, "retrieved")[1]


def test_an_answer_where_a_refusal_was_right_scores_0() -> None:
    case = case_of(Asked("x", answerable=False), Asked("x", answerable=False, refused=True))
    assert table_of(case, "refusal_rate")["value"].tolist() == [0, 1]
