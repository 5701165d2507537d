"""Every chunker of the registry keeps the laws of `workbench.testing`; a new one is tested by its entry and its `examples`."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workbench.components.chunking.base import Chunker
from workbench.components.registry import CHUNKERS
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Document
from workbench.testing import CHUNKER_LAWS
from workbench.testing.chunkers import DOCUMENT_LAWS, SNIPPETS, a_long_text_is_split_to_its_end

VARIANTS = (("model", False), ("model", True), ("cl100k", False), ("characters", True))
SETTINGS: dict[type[Chunker], list[dict[str, Any]]] = {
    kind: [{**example, "tokens": tokens, "enrich": enrich} for example in kind.examples for tokens, enrich in VARIANTS]
    for kind in CHUNKERS.values()
}
every = pytest.mark.parametrize("kind", SETTINGS)
texts = st.one_of(st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join), st.text(max_size=300))
documents = st.builds(Document, st.just("d"), texts, st.sampled_from(["", "Heading", "A title: with words"]))


@every
@pytest.mark.parametrize("law", CHUNKER_LAWS)
def test_it_keeps_the_law(law: Callable[[Chunker], None], kind: type[Chunker]) -> None:
    for values in SETTINGS[kind]:
        law(kind(**values))


@every
@given(document=documents)
@example(document=Document("d", "The mitochondrion is the powerhouse. " * 3 + "\n\x00\nThe mitochondrion is the powerhouse. "))
@settings(max_examples=25)
def test_it_keeps_the_laws_on_any_document(kind: type[Chunker], document: Document) -> None:
    for values in SETTINGS[kind]:
        for law in DOCUMENT_LAWS:
            law(kind(**values), [document])


@pytest.mark.slow
@every
@pytest.mark.parametrize("tokens", ["model", "cl100k", "characters"])
def test_a_million_characters_are_split_in_time(kind: type[Chunker], tokens: str) -> None:
    texts = {"letters": "x" * 1_000_000, "words without blanks": "日" * 200_000, "blank": " \n" * 500_000 + "x"}
    chunker = kind.model_validate({**kind.examples[-1], "tokens": tokens})
    a_long_text_is_split_to_its_end(chunker, [Document(name, text) for name, text in texts.items()])


def test_identities_and_names_tell_configurations_apart() -> None:
    chunkers = [(kind, kind(**example)) for kind, examples in SETTINGS.items() for example in examples]
    identities = [fingerprint(chunker.identity()) for _, chunker in chunkers]
    assert len(set(identities)) == len(identities)
    assert all(CHUNKERS[chunker.kind] is kind for kind, chunker in chunkers)
    names = [kind.model_validate(example).name for kind in CHUNKERS.values() for example in kind.examples]
    assert len(set(names)) == len(names)
