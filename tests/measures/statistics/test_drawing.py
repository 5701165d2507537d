"""Items are drawn on the same questions, at random, and with enough of each verdict class."""

from workbench.measures.statistics.samples import DrawableItem, draw, shuffled


def items(name, questions=200, claims=3, bad=10):
    return [
        DrawableItem(f"{name}-{question}-{claim}", f"q{question}", 0, int(question % bad != 0), f"claim {claim}")
        for question in range(questions)
        for claim in range(claims)
    ]


def questions_of(ids):
    return [item_id.split("-")[1] for item_id in ids]


def test_configurations_get_the_same_questions_and_claims():
    a, b = draw(items("a"), 60, 0), draw(items("b"), 60, 0)
    assert [item_id[1:] for item_id in a.at_random] == [item_id[1:] for item_id in b.at_random]
    assert len(set(questions_of(a.at_random))) == 60


def test_rare_verdicts_are_drawn_beyond_the_number_until_there_are_enough():
    found = draw(items("a", 400), 60, 0, 25)
    bad = [question for question in questions_of((*found.at_random, *found.by_class)) if int(question) % 10 == 0]
    assert len(bad) == 25
    assert not set(questions_of(found.at_random)) & set(questions_of(found.by_class))


def test_a_larger_draw_contains_the_smaller_one():
    small, large = draw(items("a"), 60, 0), draw(items("a"), 100, 0)
    assert {*small.at_random, *small.by_class} <= {*large.at_random, *large.by_class}
    assert draw(items("a"), 60, 1).at_random != small.at_random


def test_the_order_of_lines_does_not_tell_how_they_were_drawn():
    found = draw(items("a", 400), 60, 0)
    mixed = shuffled([*found.at_random, *found.by_class], 0)
    assert set(mixed[: len(found.at_random)]) != set(found.at_random)
