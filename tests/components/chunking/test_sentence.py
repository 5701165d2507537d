from workbench.components.chunking.plain import SentenceChunker
from workbench.core.records import Document

TEXT = "One two three. Four five six. Seven eight nine. Ten eleven twelve."


def read(chunker: SentenceChunker, text: str, title: str = "") -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in chunker.split(Document("d", text, title))]


def test_whole_sentences_are_packed() -> None:
    assert read(SentenceChunker(size=10), TEXT) == [TEXT[:29], TEXT[30:]]
    assert read(SentenceChunker(size=9), TEXT) == ["One two three.", "Four five six.", "Seven eight nine.", "Ten eleven twelve."]


def test_the_overlap_is_in_whole_sentences() -> None:
    assert read(SentenceChunker(size=10, overlap=4), TEXT) == [TEXT[:29], TEXT[15:47], TEXT[30:]]
    assert read(SentenceChunker(size=10, overlap=3), TEXT) == [TEXT[:29], TEXT[30:]]


def test_the_title_leaves_less_room() -> None:
    assert read(SentenceChunker(size=10), TEXT, "Title")[:2] == ["One two three.", TEXT[15:47]]


def test_a_sentence_that_is_too_long_is_cut_between_words_and_its_end_is_packed() -> None:
    text = "one two three four five six seven eight nine. Ten."
    assert read(SentenceChunker(size=8), text) == ["one two three four five six", "seven eight nine. Ten."]


def test_names_carry_an_overlap_only_if_there_is_one() -> None:
    assert [SentenceChunker(size=256).name, SentenceChunker(size=256, overlap=64).name] == ["sentence-256", "sentence-256-64"]
    assert SentenceChunker(size=256).sizes == (256, 0)
