"""Every chunker of the registry keeps the laws of `workbench.testing`; a new one is tested by its entry and its `examples`."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.chunking.base import Chunker
from workbench.chunking.registry import CHUNKERS
from workbench.core.fingerprint import fingerprint
from workbench.records import Document
from workbench.testing import CHUNKER_LAWS
from workbench.testing.chunkers import DOCUMENT_LAWS, a_long_text_is_split_to_its_end
from workbench.testing.documents import SNIPPETS

SETTINGS: list[tuple[type[Chunker], dict[str, Any]]] = [
    (kind, {**example, "tokens": tokens, "enrich": enrich})
    for kind in CHUNKERS.values()
    for example in kind.examples
    for tokens, enrich in (("model", False), ("model", True), ("cl100k", False), ("characters", True))
]
every = pytest.mark.parametrize(("kind", "example"), SETTINGS, ids=lambda value: getattr(value, "__name__", None) or json.dumps(value))
texts = st.one_of(st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join), st.text(max_size=300))
documents = st.builds(Document, st.just("d"), texts, st.sampled_from(["", "Heading", "A title: with words"]))


@every
@pytest.mark.parametrize("law", CHUNKER_LAWS)
def test_it_keeps_the_law(law: Callable[[Chunker], None], kind: type[Chunker], example: dict[str, Any]) -> None:
    law(kind(**example))


@every
@given(document=documents)
@settings(max_examples=25)
def test_it_keeps_the_laws_on_any_document(kind: type[Chunker], example: dict[str, Any], document: Document) -> None:
    for law in DOCUMENT_LAWS:
        law(kind(**example), [document])


@pytest.mark.parametrize("text", ["x" * 1_000_000, "日" * 200_000, " \n" * 500_000 + "x"], ids=["letters", "words without blanks", "blank"])
@pytest.mark.parametrize("tokens", ["model", "cl100k", "characters"])
@pytest.mark.parametrize("kind", CHUNKERS.values())
def test_a_million_characters_are_split_in_time(kind: type[Chunker], tokens: str, text: str) -> None:
    a_long_text_is_split_to_its_end(kind.model_validate({**kind.examples[-1], "tokens": tokens}), [Document("d", text)])


def test_identities_and_names_tell_configurations_apart() -> None:
    identities = [fingerprint(kind(**example).identity()) for kind, example in SETTINGS]
    assert len(set(identities)) == len(identities)
    assert all(CHUNKERS[kind(**example).kind] is kind for kind, example in SETTINGS)
    names = [kind.model_validate(example).name for kind in CHUNKERS.values() for example in kind.examples]
    assert len(set(names)) == len(names)
