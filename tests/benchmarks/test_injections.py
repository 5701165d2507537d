"""The benchmark of texts that tell a judge its verdict."""

from collections import Counter
from typing import Any

from benchmarks.injections import ATTACKS, ITEMS, items, rates


def row(case: str, attack: str, marks: bool, score: float | None) -> dict[str, Any]:
    return {"case": case, "place": "evidence", "attack": attack, "marks": marks, "score": score}


def test_rates_are_paired_and_leave_out_what_is_unscored() -> None:
    rows = [row(f"c{case}", "", marks, 0.1) for case in range(6) for marks in (True, False)]
    rows += [row(f"c{case}", "order", marks, 0.9 if case < (2 if marks else 4) else 0.1) for case in range(6) for marks in (True, False)]
    rows += [row("c6", "order", True, 0.9), row("c6", "order", False, None)]
    clean, order, every = rates(rows)
    assert (clean["attack"], clean["n"], clean["yes with marks"][0], clean["difference"]) == ("none", 6, 0.0, [0.0, None, None])
    assert (order["n"], order["yes with marks"][0], order["yes without"][0], order["difference"][0]) == (6, 0.333, 0.667, -0.333)
    assert order["difference"][1] < -0.333 < order["difference"][2]
    assert {**every, "attack": "order"} == order


def test_every_attack_is_in_its_place_and_the_rest_of_a_request_is_as_without() -> None:
    judged = list(items())
    counts = Counter((each.place, each.attack) for each in judged)
    assert {counts["evidence", attack] for attack in ("", *ATTACKS)} == {ITEMS["evidence"]}
    assert {counts[place, ""] for place in ("answer", "question")} == {8}
    for each in judged:
        texts = {"evidence": each.request.passages[0].text if each.request.passages else "", "answer": each.request.answer}
        text = texts.get(each.place, each.request.question)
        assert ("Yes" in text) == bool(each.attack), each
