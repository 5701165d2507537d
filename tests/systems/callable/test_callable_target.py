"""Functions that an experiment names."""

import sys
from collections.abc import Callable

import pytest

from tests.systems.callable.conftest import answered, searched
from workbench.core.fingerprint import fingerprint
from workbench.systems.base import Target, TargetDownError
from workbench.systems.callable.target import CallableTarget
from workbench.systems.registry import TARGETS

SOURCE = """
print("output of a module")

def search(query, k=10):
    print("output of a function")
    return [f"{query}{rank}" for rank in range(k)]

async def answer(query, context=None):
    return {"answer": query.upper(), "sources": ["leave"]}

class Rag:
    def search(self, query, k):
        return [query]

    def answer(self, question):
        return question

class Sized:
    def __init__(self, size):
        self.size = size

    def search(self, query, k):
        return [query]

def make():
    return Rag()

rag = Rag()
constant = 3
"""


def test_the_registry_has_the_kind() -> None:
    assert TARGETS["callable"] is CallableTarget
    target = Target.of_kind({"kind": "callable", "name": "mine", "function": "my_rag:search"})
    assert target.settings() == {"kind": "callable", "name": "mine", "function": "my_rag:search"}


@pytest.mark.parametrize(
    ("settings", "roles", "code"),
    [
        ({"search": "m:a"}, ("search",), ("m:a",)),
        ({"search": "m:a", "answer": "m:a"}, ("search", "answer"), ("m:a",)),
        ({"function": "m:a"}, ("search",), ("m:a",)),
        ({"function": "m:a", "returns": "answer"}, ("answer",), ("m:a",)),
        ({"search": "m:a", "ingest": "m:b", "remove": "m:c"}, ("search", "ingest", "remove"), ("m:a", "m:b", "m:c")),
    ],
)
def test_the_settings_say_what_a_target_can_do_without_an_import(settings: dict, roles: tuple, code: tuple) -> None:
    target = CallableTarget(name="mine", **settings)
    assert (target.roles, target.named_code) == (roles, code)
    assert (target.searches, target.answers, target.ingests) == ("search" in roles, "answer" in roles, "ingest" in roles)
    assert not target.takes_context


def test_settings_that_do_not_fit_are_an_error(wording) -> None:
    wording(
        lambda settings: CallableTarget(name="mine", **settings),
        [
            {},
            {"ingest": "m:a"},
            {"function": "m:a", "search": "m:b"},
            {"search": "m:a", "returns": "answer"},
            {"search": "m:a", "context": True},
            {"search": "no colon"},
            {"search": "m:a", "hits": "passages"},
        ],
    )


@pytest.mark.parametrize("name", ["search", "Rag", "rag", "rag.search", "make"])
def test_functions_objects_classes_and_factories_are_loaded_and_called(module: Callable[[str], str], name: str) -> None:
    target = CallableTarget(name="mine", search=f"{module(SOURCE)}:{name}")
    target.load_code()
    assert searched(target, "leave", 1)[0].doc_id in ("leave", "leave0")


def test_one_function_may_return_answers(module: Callable[[str], str]) -> None:
    answer = answered(CallableTarget(name="mine", function=f"{module(SOURCE)}:answer", returns="answer", context=True))
    assert answer.text == "LEAVE"
    assert [hit.doc_id for hit in answer.sources or ()] == ["leave"]


def test_a_function_that_is_missing_or_does_not_fit_is_an_error_when_its_code_is_loaded(module: Callable[[str], str], wording) -> None:
    def load(attribute: str) -> None:
        target = CallableTarget(name="mine", search=name + attribute)
        with pytest.raises(TargetDownError):
            searched(target)
        target.load_code()

    name = module(SOURCE)
    wording(load, [":serch", ":constant", ":Rag.search", ":Sized", "_absent:search"])


def test_making_a_target_imports_nothing_and_loading_its_code_calls_nothing(module: Callable[[str], str], capsys) -> None:
    name = module(SOURCE)
    target = CallableTarget(name="mine", search=f"{name}:search")
    assert name not in sys.modules
    target.load_code()
    assert capsys.readouterr().out == "output of a module\n"


def test_a_change_of_the_source_or_of_a_setting_is_another_identity_and_another_name_is_not(module: Callable[[str], str]) -> None:
    name = module(SOURCE)

    def identity(**settings) -> str:
        return fingerprint(CallableTarget(**{"name": "mine", "search": f"{name}:rag"} | settings).identity())

    before = identity()
    assert identity(name="other", timeout=3, concurrency=2) == before
    assert len({before, identity(revision="2"), identity(hits="texts"), identity(search=f"{name}:search")}) == 4
    module(SOURCE + "\n# changed\n")
    assert identity() != before


def test_an_object_of_a_foreign_class_is_identified_by_the_module_that_makes_it_too(module: Callable[[str], str]) -> None:
    source = "import functools, operator\ncounter = functools.partial(operator.mul, 1)\n"
    name = module(source)
    target = CallableTarget(name="mine", search=f"{name}:counter")
    before = fingerprint(target.identity())
    module(source.replace("1)", "2)"))
    assert fingerprint(target.identity()) != before
