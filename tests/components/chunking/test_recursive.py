import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from workbench.components.chunking.recursive import RecursiveChunker
from workbench.core.records import Document

SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]


def langchain(text: str, size: int, overlap: int) -> list[str]:
    splitter = RecursiveCharacterTextSplitter(
        SEPARATORS, chunk_size=size, chunk_overlap=overlap, keep_separator=True, strip_whitespace=True
    )
    return splitter.split_text(text)


def ours(text: str, size: int, overlap: int) -> list[str]:
    chunker = RecursiveChunker(size=size, overlap=overlap, tokens="characters")
    return [text[chunk.start : chunk.end] for chunk in chunker.split(Document("d", text))]


@pytest.mark.parametrize("name", ["chroma-chunking", "clapnq", "covid-qa"])
@pytest.mark.parametrize(("size", "overlap"), [(200, 0), (1000, 200)])
def test_on_real_documents_chunks_are_those_of_langchain(name: str, size: int, overlap: int, corpus) -> None:
    for document in corpus(name)[:40]:
        assert ours(document.text, size, overlap) == langchain(document.text, size, overlap)


@given(st.text(alphabet="ab .?!\n\r\té\u0301😀", max_size=120), st.integers(8, 20), st.integers(0, 7))
@settings(max_examples=300)
def test_on_any_text_chunks_are_those_of_langchain_that_are_not_repeated(text: str, size: int, overlap: int) -> None:
    theirs = langchain(text, size, overlap)
    mine = ours(text, size, overlap)
    assert mine == theirs or set(mine) == set(theirs)


def test_a_separator_begins_the_piece_that_follows_it() -> None:
    assert ours("One two. Three four. Five", 12, 0) == ["One two", ". Three four", ". Five"]


def test_names_carry_both_sizes() -> None:
    assert RecursiveChunker(size=400, overlap=200).name == "recursive-400-200"
