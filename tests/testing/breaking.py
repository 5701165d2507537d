"""Run the laws on components that each break one of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from workbench.core.errors import LawError


def assert_broken(laws: Sequence[Callable[[Any], None]], name: str, component: object, check: Callable[[Any], None]) -> str:
    """Assert that the component breaks the law of this name, and that the check of all laws finds it. Returns the message of the law."""
    (law,) = [one for one in laws if one.__name__ == name]
    with pytest.raises(LawError, match=f"breaks the law {name} ") as broken:
        law(component)
    with pytest.raises(LawError, match="breaks the law"):
        check(component)
    return str(broken.value)


def assert_all_are_broken(laws: Sequence[Callable[[Any], None]], breakers: Mapping[str, object]) -> None:
    """Assert that there is a law for each breaker and a breaker for each law, so that no law can be removed unnoticed."""
    assert sorted(breakers) == sorted(law.__name__ for law in laws)
