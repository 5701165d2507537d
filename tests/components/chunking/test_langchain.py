import importlib
import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import ValidationError

from workbench.components.chunking.langchain import LangChainChunker, short_name
from workbench.components.chunking.recursive import RecursiveChunker
from workbench.core.environment import advice
from workbench.core.errors import InputError
from workbench.core.records import Chunk, Document
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import input_lengths

RECURSIVE = "RecursiveCharacterTextSplitter"
# Those of ours, so that ours, which knows its offsets, says where LangChain's chunks are.
ALIKE = {"separators": ["\n\n", "\n", ".", "?", "!", " ", ""]}


def spans(chunks: list[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunks]


def covers(document: Document, chunks: list[Chunk]) -> bool:
    held = bytearray(len(document.text))
    for chunk in chunks:
        held[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
    return all(inside or character.isspace() for character, inside in zip(document.text, held, strict=True))


@pytest.mark.parametrize(("size", "overlap"), [(1000, 0), (1000, 200), (100, 40)])
def test_on_covid_qa_every_chunk_lies_where_it_was_cut(size: int, overlap: int, corpus) -> None:
    theirs = LangChainChunker(splitter=RECURSIVE, size=size, overlap=overlap, arguments=ALIKE, tokens="characters")
    ours = RecursiveChunker(size=size, overlap=overlap, tokens="characters")
    for document in corpus("covid-qa"):
        assert spans(theirs.split(document)) == spans(ours.split(document))


def test_the_usual_splitters_give_all_of_covid_qa_within_their_size(corpus) -> None:
    for splitter in (RECURSIVE, "MarkdownTextSplitter"):
        chunker = LangChainChunker(splitter=splitter, size=256, overlap=64)
        for document in corpus("covid-qa")[:30]:
            chunks = chunker.split(document)
            assert covers(document, chunks)
            assert input_lengths([chunk.embedded_text for chunk in chunks], MINILM).max() <= 256


@pytest.mark.parametrize("overlap", [0, 45, 90])
def test_a_paragraph_that_is_there_fifty_times_is_found_fifty_times(overlap: int) -> None:
    document = Document("d", "\n\n".join(["The same paragraph again and again, five."] * 50))
    theirs = LangChainChunker(splitter=RECURSIVE, size=130, overlap=overlap, arguments=ALIKE, tokens="characters").split(document)
    ours = RecursiveChunker(size=130, overlap=overlap, tokens="characters").split(document)
    assert spans(theirs) == spans(ours)
    naive = [document.text.find(document.text[chunk.start : chunk.end]) for chunk in theirs]
    assert naive != [chunk.start for chunk in theirs]


@given(st.text(alphabet="ab .\n\t\u00a0é\u0301😀", max_size=150), st.integers(8, 24), st.integers(0, 7))
@settings(max_examples=150)
def test_chunks_are_langchains_own_texts(text: str, size: int, overlap: int) -> None:
    document = Document("d", text)
    chunks = LangChainChunker(splitter=RECURSIVE, size=size, overlap=overlap, tokens="characters").split(document)
    theirs = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap).split_text(text)
    assert {text[chunk.start : chunk.end] for chunk in chunks} == {part for part in theirs if part.strip()}
    assert covers(document, chunks)
    assert all(one.start <= other.start for one, other in pairwise(chunks))


def test_the_longest_header_is_taken_from_the_size() -> None:
    document = Document("d", "word " * 200, "three title words")
    chunks = LangChainChunker(splitter=RECURSIVE, size=32).split(document)
    assert {len(document.text[chunk.start : chunk.end].split()) for chunk in chunks[:-1]} == {32 - 2 - 3}


def test_a_splitter_that_rewrites_is_refused_with_its_document() -> None:
    chunker = LangChainChunker(
        splitter="CharacterTextSplitter", size=20, tokens="characters", arguments={"separator": r"\s+", "is_separator_regex": True}
    )
    with pytest.raises(InputError, match=r"chunking 'langchain-character-20-0' on document 'd7': .* but a rewriting; use settings"):
        chunker.split(Document("d7", "some words  and more of them here"))


def test_dropped_headings_stay_dropped() -> None:
    text = "# One\n\nSame text.\n\n# Two\n\nSame text.\n"
    chunks = LangChainChunker(splitter="ExperimentalMarkdownSyntaxTextSplitter").split(Document("d", text))
    assert [text[chunk.start : chunk.end].strip() for chunk in chunks] == ["Same text."] * 2
    assert [text.find("Same", chunk.start) for chunk in chunks] == [7, 26]


def test_settings_that_cannot_work_are_refused_when_they_are_read() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"splitter": "RecursiveTextSplitter", "size": 64}, r"did you mean 'RecursiveCharacterTextSplitter'\?"),
        ({"splitter": RECURSIVE}, "needs 'size'"),
        ({"splitter": RECURSIVE, "size": 64, "overlap": 64}, "overlap 64 is not smaller than size 64"),
        ({"splitter": RECURSIVE, "size": 64, "arguments": {"separator": "x"}}, "recursive cannot be created .*separator"),
        ({"splitter": RECURSIVE, "size": 64, "arguments": {"chunk_size": 3}}, r"arguments\.chunk_size is set by Workbench; use size"),
        ({"splitter": RECURSIVE, "size": 64, "arguments": {"x": float("nan")}}, "finite number"),
        ({"splitter": RECURSIVE, "size": 64, "arguments": ["x"]}, "dictionary"),
        ({"splitter": "ExperimentalMarkdownSyntaxTextSplitter", "size": 64}, "takes no size"),
    ]
    for wrong, words in cases:
        with pytest.raises(ValidationError, match=words):
            LangChainChunker.model_validate(wrong)


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    # None marks a module as absent.
    monkeypatch.setitem(sys.modules, "langchain_text_splitters", None)
    with pytest.raises(InputError, match=re.escape(advice("chunkers"))):
        LangChainChunker(splitter=RECURSIVE, size=64)


def test_a_splitter_that_loads_a_model_by_its_own_rules_needs_permission_and_takes_no_trust_from_its_arguments() -> None:
    splitter = {"splitter": "SentenceTransformersTokenTextSplitter", "size": 64}
    assert LangChainChunker.model_validate(splitter).named_code == ("langchain_text_splitters:SentenceTransformersTokenTextSplitter",)
    assert LangChainChunker(splitter=RECURSIVE, size=64).named_code == ()
    with pytest.raises(ValidationError, match=r"arguments\.model_kwargs can make the library run a model's code; leave it out"):
        LangChainChunker.model_validate(splitter | {"arguments": {"model_kwargs": {"trust_remote_code": True}}})


def test_names_are_short_and_tell_the_splitters_apart() -> None:
    assert LangChainChunker(splitter=RECURSIVE, size=256).name == "langchain-recursive-256-0"
    splitters = LangChainChunker.names()
    assert len({short_name(splitter) for splitter in splitters}) == len(splitters)


def test_it_is_a_value_with_the_packages_version() -> None:
    one, other = (LangChainChunker(splitter=RECURSIVE, size=64, arguments={"keep_separator": "end"}) for _ in range(2))
    assert {one, other} == {one}
    assert one.identity()["code"] == ["langchain-text-splitters", importlib.metadata.version("langchain-text-splitters")]
