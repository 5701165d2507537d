from workbench.components.context.context_packing import ContextPacking
from workbench.core.text.words import VERSION


def test_the_settings_are_the_identity_of_a_context() -> None:
    packing = ContextPacking(order="ends", drop_duplicates=0.8)
    assert packing.settings() == {"kind": "packed", "order": "ends", "drop_duplicates": 0.8}
    assert packing.identity() == {"version": 1, "words": VERSION, "kind": "packed", "budget": 2000, "order": "ends", "drop_duplicates": 0.8}


def test_wrong_settings_are_one_line(wording) -> None:
    wording(
        lambda wrong: ContextPacking(**wrong),
        [{"budget": 0}, {"budget": 1.5}, {"order": "best"}, {"drop_duplicates": 0}, {"drop_duplicates": 1.1}, {"k": 5}],
    )
