import pytest

from workbench.context.context_packing import ContextPacking
from workbench.errors import InputError


def test_the_settings_are_the_identity_of_a_context() -> None:
    packing = ContextPacking(order="ends", drop_duplicates=0.8)
    assert packing.settings() == {"kind": "packed", "order": "ends", "drop_duplicates": 0.8}
    assert packing.identity() == {"version": 1, "kind": "packed", "budget": 2000, "order": "ends", "drop_duplicates": 0.8}


@pytest.mark.parametrize(
    "wrong", [{"budget": 0}, {"budget": 1.5}, {"order": "best"}, {"drop_duplicates": 0}, {"drop_duplicates": 1.1}, {"k": 5}]
)
def test_wrong_settings_are_one_line(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        ContextPacking(**wrong)
