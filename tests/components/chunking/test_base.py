import pytest
from pydantic import ValidationError

from workbench.components.chunking.plain import FixedChunker
from workbench.components.chunking.recursive import RecursiveChunker
from workbench.core.errors import InputError, ModelError
from workbench.core.records import Chunk, Document
from workbench.llm.models.files import MINILM


def test_the_embedded_text_is_header_one_space_and_slice() -> None:
    document = Document("d", "Some text here.", "Title")
    assert Chunk(document, 5, 9, "Title").embedded_text == "Title text"
    assert Chunk(document, 5, 9).embedded_text == "text"


def test_an_overlap_of_the_whole_size_is_refused_with_both_numbers() -> None:
    with pytest.raises(InputError, match="overlap 64 is not smaller than size 64; lower overlap"):
        FixedChunker(size=64, overlap=64)


def test_settings_that_cannot_work_are_refused(wording) -> None:
    wording(
        lambda wrong: FixedChunker(**wrong),
        [{"size": 7}, {"size": 0}, {"size": -5}, {"size": 64, "overlap": -1}, {"size": 64, "tokens": "words"}, {}],
    )


def test_a_model_matters_only_where_it_counts_and_then_by_its_vocabulary() -> None:
    one, other = (FixedChunker(size=64, tokens="cl100k", model=model) for model in (MINILM, "another"))
    assert one.identity() == other.identity()
    assert "model" not in one.identity()
    named = (FixedChunker(size=64, model=model).identity() for model in (MINILM, f"sentence-transformers/{MINILM}"))
    assert next(named) == next(named) != one.identity()


def test_a_model_without_a_vocabulary_says_so(tmp_path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        FixedChunker(size=64, model=str(tmp_path)).identity()


def test_a_chunker_is_a_value() -> None:
    assert {RecursiveChunker(size=64), RecursiveChunker(size=64, overlap=0)} == {RecursiveChunker(size=64)}
    assert repr(FixedChunker(size=64)) == f"FixedChunker(kind='fixed', tokens='model', enrich=False, model='{MINILM}', size=64, overlap=0)"
    with pytest.raises(ValidationError, match="frozen"):
        FixedChunker(size=64).size = 128


def test_one_vocabulary_counted_with_and_without_the_header_is_two_identities() -> None:
    lent = FixedChunker(size=64, tokens="model", model="cl100k")
    plain = FixedChunker(size=64, tokens="cl100k")
    titled = Document("d", "word " * 200, title="A title of several words")
    assert lent.vocabulary == plain.vocabulary
    assert lent.split(titled) != plain.split(titled)
    assert lent.identity() != plain.identity()
