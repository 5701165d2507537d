"""Wrong names are answered with the right ones, and cost nothing until the answer is read."""

import copy
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from workbench.core.errors import InputError
from workbench.core.text.guessed_names import AdvisedNames, UnknownNameError, advised_names, checked_init, checked_names, unknown_argument


@dataclass(frozen=True, slots=True)
class Boat(AdvisedNames):
    guesses: ClassVar[Mapping[str, str]] = {"crew_list": ".crew", "captain": ".crew[0]"}
    crew: tuple[str, ...]

    @property
    def broken(self) -> str:
        missing: Any = 3
        return str(missing.nothing)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("captain", "Boat has no 'captain'; use .crew[0]"),
        ("captian", "Boat has no 'captian'; use .crew[0]"),
        ("crow", "Boat has no 'crow' (did you mean 'crew'?); it has broken, crew"),
        ("anchor", "Boat has no 'anchor'; it has broken, crew"),
    ],
)
@pytest.mark.parametrize("owner", [Boat(("ann",)), Boat])
def test_an_attribute_that_is_missing_is_answered_on_a_value_and_on_its_class(owner: object, name: str, text: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(owner, name)
    assert str(raised.value) == text


def test_the_error_of_a_property_is_its_own() -> None:
    with pytest.raises(AttributeError, match="'int' object has no attribute 'nothing'"):
        _ = Boat(()).broken


def test_programs_that_ask_in_vain_get_an_ordinary_attribute_error_whose_text_is_made_late(monkeypatch: pytest.MonkeyPatch) -> None:
    boat = Boat(("ann",))
    made: list[str] = []
    monkeypatch.setattr(UnknownNameError, "__str__", lambda _: made.append("text") or "text")
    assert not hasattr(boat, "page_content")
    assert getattr(boat, "_repr_latex_", None) is None
    assert copy.deepcopy(boat) == pickle.loads(pickle.dumps(boat)) == boat
    assert made == []


def test_a_key_is_answered_with_the_attribute() -> None:
    boat: Any = Boat(("ann",))
    with pytest.raises(TypeError, match=r"Boat has no keys; write \.crew"):
        boat["crew"]
    with pytest.raises(TypeError, match="Boat is no list"):
        list(boat)


@checked_names
def found(query: str, k: int = 5, *, within: str = "all") -> tuple[str, int, str]:
    return query, k, within


@advised_names(by="it sorts by size", more="give one question")
def sorted_boats(query: str) -> str:
    return query


@checked_init
@dataclass(frozen=True)
class Harbour:
    boats: int


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: found("a", top_k=3), "found has no argument 'top_k' (did you mean 'k'?); its arguments are query, k, within"),
        (lambda: found("a", slice="x"), "found has no argument 'slice' (did you mean 'within'?); its arguments are query, k, within"),
        (lambda: found("a", withn="x"), "found has no argument 'withn' (did you mean 'within'?); its arguments are query, k, within"),
        (lambda: found("a", colour="x"), "found has no argument 'colour'; its arguments are query, k, within"),
        (lambda: found(), "found: missing a required argument: 'query'; its arguments are query, k, within"),
        (lambda: sorted_boats("a", by="x"), "sorted_boats has no argument 'by'; it sorts by size"),
        (lambda: sorted_boats("a", "b"), "sorted_boats: too many positional arguments; give one question"),
        (lambda: Harbour(boat=3), "Harbour has no argument 'boat' (did you mean 'boats'?); its arguments are boats"),
    ],
)
def test_an_argument_that_a_function_does_not_take_is_answered(call: Any, text: str) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == text


def test_right_arguments_and_the_errors_of_a_function_pass_unchanged() -> None:
    assert found("a", 2, within="b") == ("a", 2, "b")
    assert Harbour(2).boats == 2
    fails = checked_names(lambda value: len(value))
    with pytest.raises(TypeError, match=r"object of type 'int' has no len\(\)"):
        fails(3)


def test_a_word_of_another_tool_is_only_meant_where_the_function_has_the_argument() -> None:
    assert str(unknown_argument("f", "limit", ["split"])) == "f has no argument 'limit'; its arguments are split"
    assert "did you mean 'k'?" in str(unknown_argument("f", "limit", ["split", "k"]))
