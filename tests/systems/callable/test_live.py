"""Functions and objects that are given in Python."""

import pytest

from tests.systems.callable.conftest import answered, searched
from workbench.core.errors import InputError
from workbench.systems.callable.target import PythonTarget, target_of
from workbench.systems.registry import TARGETS


class Rag:
    def search(self, query, k):
        return [query] * k

    def answer(self, query, context=None):
        return query


class Engine:
    """A query engine as LlamaIndex has it: its `retrieve` takes no text."""

    def retrieve(self, query_bundle):
        raise NotImplementedError

    def query(self, str_or_query_bundle):
        return str_or_query_bundle


class Retriever:
    def retrieve(self, str_or_query_bundle):
        return [str_or_query_bundle]


class AsynchronousOnly:
    def query(self, text):
        raise NotImplementedError

    async def aquery(self, text):
        return text.upper()


@pytest.mark.parametrize(
    ("value", "roles", "context"),
    [
        (lambda query, k: [query] * k, ("search",), False),
        (lambda query, top_k=3: [query] * top_k, ("search",), False),
        (lambda query, context=None: query or context, ("answer",), True),
        (Rag(), ("search", "answer"), False),
        (Rag, ("search", "answer"), False),
        (Engine(), ("answer",), False),
        (Retriever(), ("search",), False),
    ],
)
def test_what_an_object_can_do_is_recognized(value: object, roles: tuple[str, ...], context: bool) -> None:
    target = target_of("mine", value)
    assert (target.roles, target.takes_context) == (roles, context)


def test_a_function_of_the_question_alone_needs_a_word_about_its_results() -> None:
    with pytest.raises(InputError, match=r'mine\(query\) can return hits or answers; say which with returns="hits" or returns="answer"'):
        target_of("mine", lambda query: query)
    assert answered(target_of("mine", lambda query: query, "answer")).text == "leave"
    assert searched(target_of("mine", lambda query: [query], "hits"))[0].doc_id == "leave"


def test_an_object_that_can_do_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="mine is a dict, which can neither search nor answer"):
        target_of("mine", {})
    with pytest.raises(InputError, match="mine cannot be made"):
        target_of("mine", lambda: 1 / 0)


def test_a_twin_serves_an_object_that_is_asynchronous_only() -> None:
    assert answered(target_of("mine", AsynchronousOnly())).text == "LEAVE"


def test_no_file_can_name_an_object_and_its_name_identifies_it() -> None:
    assert "python" not in TARGETS
    one, other = PythonTarget(name="one", search=Rag()), PythonTarget(name="other", search=Rag())
    assert one.identity() != other.identity()
    assert one.identity() == PythonTarget(name="one", search=Retriever()).identity()
    assert one.identity() != PythonTarget(name="one", answer=Rag()).identity()
    assert one.settings() == {"kind": "python", "name": "one"}
    assert one.named_code == ()
