"""Differences between a claim and a sentence are named."""

from workbench.components.judging.overlap import flags


def test_a_difference_is_named() -> None:
    cases: list[tuple[str, str, tuple[str, ...]]] = [
        ("The ferry takes 9 cars.", "The ferry takes 6 cars.", ("number",)),
        ("The ferry takes nine cars.", "The ferry takes 9 cars.", ()),
        ("It costs €3,500.", "The price is 3500 euros.", ()),
        # A sentence without numbers contradicts none.
        ("The ferry takes 9 cars.", "The ferry takes cars.", ()),
        ("Dogs are not allowed.", "Dogs are allowed.", ("negation",)),
        ("Dogs can't travel.", "Dogs cannot travel.", ()),
        ("It leaves before noon.", "It leaves after noon.", ("antonym",)),
        ("The first boat is cheaper, not the last.", "The last boat is dearer, not the first.", ()),
        ("Write to Logistics today.", "Write to the desk today.", ("name",)),
        ("Write to logistics, says the S1 page.", "Write to Logistics (S1).", ()),
        ("Not before 9, says Olsen.", "After 8.", ("number", "negation", "antonym", "name")),
    ]
    assert [(claim, sentence, flags(claim, sentence)) for claim, sentence, _ in cases] == cases
