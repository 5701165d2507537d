import inspect
from pathlib import Path

import chonkie
import pytest
from pydantic import ValidationError

from workbench.components.chunking.chonkie import ChonkieChunker, SliceTokenizer
from workbench.core.errors import InputError
from workbench.core.records import Document
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chunker", "overlap"), [("RecursiveChunker", 0), ("SentenceChunker", 64), ("TokenChunker", 64), ("FastChunker", 0)]
)
def test_on_covid_qa_chunks_lie_where_chonkie_says_and_leave_nothing_out(chunker: str, overlap: int, corpus) -> None:
    ours = ChonkieChunker(chunker=chunker, size=256, overlap=overlap)
    for document in corpus("covid-qa"):
        reach = 0
        for chunk in ours.split(document):
            assert not document.text[reach : chunk.start].strip()
            reach = max(reach, chunk.end)
        assert not document.text[reach:].strip()


def test_repeated_paragraphs_have_their_own_places() -> None:
    document = Document("d", "The same paragraph. " * 50)
    chunks = ChonkieChunker(chunker="SentenceChunker", size=45, overlap=21, tokens="characters").split(document)
    assert [chunk.start for chunk in chunks] == list(range(0, 20 * 49, 20))


@pytest.mark.parametrize("vocabulary", [MINILM, "cl100k", "characters"])
def test_tokens_are_slices_that_give_the_text_back(vocabulary: str) -> None:
    tokenizer = SliceTokenizer(vocabulary)
    for text in ("", "Unbelievable  text.\n\n日本語 e\u0301 😀🏽\u0301 ", " leading", "\u0301"):
        assert tokenizer.decode(tokenizer.encode(text)) == "".join(tokenizer.tokenize(text)) == text
        if text and count(text, vocabulary):
            assert len(tokenizer.encode(text)) == tokenizer.count_tokens(text)


def test_sizes_count_what_tokens_says() -> None:
    text = "unbelievable stories " * 60
    found = [text[chunk.start : chunk.end] for chunk in ChonkieChunker(chunker="TokenChunker", size=32).split(Document("d", text))]
    assert {count(part, MINILM) for part in found[:-1]} == {30}
    found = [text[c.start : c.end] for c in ChonkieChunker(chunker="TokenChunker", size=32, tokens="cl100k").split(Document("d", text))]
    assert {count(part, "cl100k") for part in found[:-1]} == {32}


def test_a_chunker_that_repeats_a_tables_header_is_refused() -> None:
    table = "| a | b |\n|---|---|\n" + "".join(f"| {row} | x |\n" for row in range(30))
    with pytest.raises(InputError, match=r"chunking 'chonkie-table-8-0' on document 'd': the chunk .* but a rewriting"):
        ChonkieChunker(chunker="TableChunker", size=8).split(Document("d", table))


def test_settings_that_cannot_work_are_refused_when_they_are_read() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"chunker": "SentencesChunker", "size": 64}, r"did you mean 'SentenceChunker'\?"),
        ({"chunker": "SentenceChunker"}, "needs 'size'"),
        ({"chunker": "RecursiveChunker", "size": 64, "overlap": 8}, "RecursiveChunker takes no overlap"),
        ({"chunker": "SentenceChunker", "size": 64, "arguments": {"min_sentences": 2}}, r"did you mean 'min_sentences_per_chunk'\?"),
        ({"chunker": "SentenceChunker", "size": 64, "arguments": {"min_sentences_per_chunk": 0}}, "must be at least 1"),
        (
            {"chunker": "SentenceChunker", "size": 64, "arguments": {"chunk_size": 2}},
            r"arguments\.chunk_size is set by Workbench; use size",
        ),
    ]
    for settings, words in cases:
        with pytest.raises(ValidationError, match=words):
            ChonkieChunker.model_validate(settings)


def test_a_chunker_that_loads_a_model_by_its_own_rules_needs_permission_and_loads_nothing_when_it_is_read(tmp_path: Path) -> None:
    chunker = ChonkieChunker(chunker="SemanticChunker", size=64, arguments={"embedding_model": str(tmp_path / "absent")})
    assert chunker.named_code == ("chonkie:SemanticChunker",)
    with pytest.raises(InputError, match="chonkie SemanticChunker: "):
        chunker.load_code()
    assert ChonkieChunker(chunker="SentenceChunker", size=64).named_code == ()


def test_every_class_with_a_model_among_its_arguments_needs_permission() -> None:
    parameters = {name: inspect.signature(getattr(chonkie, name)).parameters for name in ChonkieChunker.names()}
    assert {name for name in parameters if {"model", "embedding_model"} & set(parameters[name])} == set(ChonkieChunker.loads_model)


def test_names_and_identity() -> None:
    chunker = ChonkieChunker(chunker="SentenceChunker", size=256, overlap=32, arguments={"min_sentences_per_chunk": 2})
    assert chunker.name == "chonkie-sentence-256-32"
    assert chunker.identity()["code"][0].startswith("chonkie 1.")
    assert {"RecursiveChunker", "TokenChunker"} < set(ChonkieChunker.names())
