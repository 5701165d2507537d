from workbench.components.chunking.plain import FixedChunker
from workbench.core.records import Document
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import tokenise


def spans(chunker: FixedChunker, text: str, title: str = "") -> list[tuple[int, int]]:
    return [(chunk.start, chunk.end) for chunk in chunker.split(Document("d", text, title))]


def test_windows_step_by_size_less_overlap_and_stop_at_the_end() -> None:
    chunker = FixedChunker(size=10, overlap=4, tokens="characters")
    assert spans(chunker, "x" * 22) == [(0, 10), (6, 16), (12, 22)]
    assert spans(chunker, "x" * 23) == [(0, 10), (6, 16), (12, 22), (18, 23)]
    assert spans(chunker, "x" * 9) == [(0, 9)]


def test_cl100k_windows_are_those_of_chroma(corpus) -> None:
    document = min(corpus("chroma-chunking"), key=lambda document: len(document.text))
    tokens = tokenise([document.text], "cl100k")[0]
    windows, start = [], 0
    while True:
        end = min(start + 200, len(tokens.starts))
        windows.append((int(tokens.starts[start]), int(tokens.ends[end - 1])))
        if end == len(tokens.starts):
            break
        start += 200 - 50
    assert spans(FixedChunker(size=200, overlap=50, tokens="cl100k"), document.text) == windows


def test_no_word_is_cut_and_blank_ends_are_left_out() -> None:
    text = "unbelievable   stories of antidisestablishmentarianism in the countryside told twice  and more"
    found = [text[start:end] for start, end in spans(FixedChunker(size=12), text)]
    assert len(found) > 1
    assert " ".join(found).split() == text.split()
    assert all(chunk == chunk.strip() for chunk in found)


def test_a_word_longer_than_the_window_is_cut_by_tokens() -> None:
    text = "floccinaucinihilipilification" * 3
    found = spans(FixedChunker(size=8), text)
    assert len(found) > 3
    assert [start for start, _ in found[1:]] == [end for _, end in found[:-1]]
    assert {start for start, _ in found} <= set(tokenise([text], MINILM)[0].starts.tolist())


def test_the_title_takes_its_room_from_the_first_window_alone() -> None:
    text = "word " * 100
    assert spans(FixedChunker(size=12), text)[:2] == [(0, 49), (50, 99)]
    assert spans(FixedChunker(size=12), text, "three title words")[:2] == [(0, 34), (35, 84)]


def test_the_overlap_is_in_tokens_of_whole_words() -> None:
    assert spans(FixedChunker(size=12, overlap=3), "word " * 100)[:3] == [(0, 49), (35, 84), (70, 119)]


def test_names_carry_both_sizes() -> None:
    assert FixedChunker(size=256).name == "fixed-256-0"
