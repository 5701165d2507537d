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
    (a, _), (b, _) = draw(items("a"), 60, 0), draw(items("b"), 60, 0)
    assert [item_id[1:] for item_id in a] == [item_id[1:] for item_id in b]
    assert len(set(questions_of(a))) == 60


def test_rare_verdicts_are_drawn_beyond_the_number_until_there_are_enough():
    at_random, by_class = draw(items("a", 400), 60, 0, 25)
    bad = [question for question in questions_of((*at_random, *by_class)) if int(question) % 10 == 0]
    assert len(bad) == 25
    assert not set(questions_of(at_random)) & set(questions_of(by_class))


def test_a_larger_draw_contains_the_smaller_one():
    small, large = draw(items("a"), 60, 0), draw(items("a"), 100, 0)
    assert {*small[0], *small[1]} <= {*large[0], *large[1]}
    assert draw(items("a"), 60, 1)[0] != small[0]


def test_the_order_of_lines_does_not_tell_how_they_were_drawn():
    at_random, by_class = draw(items("a", 400), 60, 0)
    mixed = shuffled([*at_random, *by_class], 0)
    assert set(mixed[: len(at_random)]) != set(at_random)
