"""What holds for every chunker of the table; a new one is tested by its entry and its `examples`."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.chunking.base import Chunker
from workbench.chunking.registry import CHUNKERS
from workbench.core.fingerprint import fingerprint
from workbench.models.files import MINILM
from workbench.models.tokenizers import count, input_lengths, special_tokens, tokenise
from workbench.records import Chunk, Document

SETTINGS: list[tuple[type[Chunker], dict[str, Any]]] = [
    (kind, {**example, "tokens": tokens, "enrich": enrich})
    for kind in CHUNKERS.values()
    for example in kind.examples
    for tokens, enrich in (("model", False), ("model", True), ("cl100k", False), ("characters", True))
]
every = pytest.mark.parametrize(("kind", "example"), SETTINGS, ids=lambda value: getattr(value, "__name__", None) or json.dumps(value))
quick = settings(max_examples=40)

SNIPPETS = [
    *(
        "The mitochondrion is the powerhouse. ",
        "Why? ",
        "Unbelievable antidisestablishmentarianism! ",
        "e.g. 3.14 km",
        "a-b-c/d_e ",
        "x" * 150,
    ),
    *("\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "   ", "\x0c", "\x00", "\u200b", "\u2028", "\u00a0"),
    *("😀👩‍👩‍👧 ", "e\u0301a\u0308 ", "日本語のテキスト。次の文。", "\u0301", "مرحبا بالعالم "),
    *(
        "# Heading\n",
        "## Part two\n\n",
        "Title\n=====\n",
        "- item one\n- item two\n",
        "1. first\n\n   more\n",
        "- \n",
        "> quoted\n> twice\n",
    ),
    *(
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```py\ncode = 1\n\nmore()\n```\n",
        "    indented code\n",
        "[link]: http://x.org\n",
        "---\n",
        "<div>\n",
    ),
]
texts = st.one_of(st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join), st.text(max_size=300))
documents = st.builds(Document, st.just("d"), texts, st.sampled_from(["", "Heading", "A title: with words"]))


@every
@given(document=documents)
@quick
def test_chunks_are_exact_slices_sorted_unique_and_never_blank(kind: type[Chunker], example: dict[str, Any], document: Document) -> None:
    chunks = kind(**example).split(document)
    assert all(0 <= chunk.start < chunk.end <= len(document.text) for chunk in chunks)
    assert all(document.text[chunk.start : chunk.end].strip() for chunk in chunks)
    assert all(chunk.doc_id == document.doc_id for chunk in chunks)
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)


@every
@given(document=documents)
@quick
def test_chunks_hold_every_character_that_is_not_blank(kind: type[Chunker], example: dict[str, Any], document: Document) -> None:
    if not kind.covers:
        return
    held = np.zeros(len(document.text), dtype=bool)
    for chunk in kind(**example).split(document):
        held[chunk.start : chunk.end] = True
    assert not [character for character, inside in zip(document.text, held, strict=True) if not inside and not character.isspace()]


@every
@given(document=documents)
@settings(max_examples=10)
def test_equal_configurations_give_equal_chunks(kind: type[Chunker], example: dict[str, Any], document: Document) -> None:
    one, other = kind(**example), kind(**dict(reversed(example.items())))
    assert one == other
    assert fingerprint(one.identity()) == fingerprint(other.identity())
    assert one.split(document) == other.split(document)


@every
@given(document=documents)
@quick
def test_a_parent_holds_its_chunk(kind: type[Chunker], example: dict[str, Any], document: Document) -> None:
    for chunk in kind(**example).split(document):
        start, end = chunk.delivered
        assert start <= chunk.start < chunk.end <= end


@every
@given(document=documents)
@quick
def test_a_title_heads_the_chunk_at_0_and_with_enrich_every_chunk(kind: type[Chunker], example: dict[str, Any], document: Document) -> None:
    for chunk in kind(**example).split(document):
        if example["enrich"]:
            assert chunk.header.startswith(document.title)
        else:
            assert chunk.header == (document.title if chunk.start == 0 else "")


@every
@given(document=documents)
@quick
def test_no_embedder_input_is_longer_than_size(kind: type[Chunker], example: dict[str, Any], document: Document) -> None:
    chunker = kind(**example)
    size = chunker.sizes[0]
    if size is None or chunker.tokens != "model" or not kind.covers:
        return
    tokens = tokenise([document.text], MINILM)[0]
    longest_word = int(np.unique(tokens.words, return_counts=True)[1].max(initial=0))
    for chunk in chunker.split(document):
        room = size - special_tokens(MINILM) - count(chunk.header, MINILM)
        if room >= max(longest_word, size // 4):
            assert input_lengths([chunk.embedded_text], MINILM)[0] <= size


@every
def test_blank_documents_give_nothing(kind: type[Chunker], example: dict[str, Any]) -> None:
    assert [kind(**example).split(Document("d", text, "title")) for text in ("", " \r\n\t\n\u2003")] == [[], []]


@pytest.mark.parametrize("text", ["x" * 1_000_000, "日" * 200_000, " \n" * 500_000 + "x"], ids=["letters", "words without blanks", "blank"])
@pytest.mark.parametrize("tokens", ["model", "cl100k", "characters"])
@pytest.mark.parametrize("kind", CHUNKERS.values())
def test_a_long_text_without_separators_is_cut_in_time(kind: type[Chunker], tokens: str, text: str) -> None:
    chunks = kind.model_validate({**kind.examples[-1], "tokens": tokens}).split(Document("d", text))
    assert chunks
    assert max(chunk.end for chunk in chunks) == len(text)


@every
def test_settings_survive_json_and_unknown_ones_are_refused(kind: type[Chunker], example: dict[str, Any]) -> None:
    chunker = kind(**example)
    assert kind.model_validate_json(chunker.model_dump_json()) == chunker
    with pytest.raises(ValueError, match="max_char"):
        kind.model_validate({**example, "max_char": 5})


def test_identities_and_names_tell_configurations_apart() -> None:
    identities = [fingerprint(kind(**example).identity()) for kind, example in SETTINGS]
    assert len(set(identities)) == len(identities)
    assert all(CHUNKERS[kind(**example).kind] is kind for kind, example in SETTINGS)
    names = [kind.model_validate(example).name for kind in CHUNKERS.values() for example in kind.examples]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("kind", CHUNKERS.values())
def test_neighbouring_chunks_of_one_parent_or_none_overlap_only_where_an_overlap_is_set(kind: type[Chunker]) -> None:
    text = "".join(itertools.islice(itertools.cycle(SNIPPETS), 500))
    for example in kind.examples:
        chunks: list[Chunk] = kind(**example).split(Document("d", text))
        if not kind(**example).sizes[1]:
            assert all(one.end <= other.start for one, other in itertools.pairwise(chunks))
