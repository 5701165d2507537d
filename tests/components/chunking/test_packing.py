import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.components.chunking import packing
from workbench.components.chunking.headers import Headers, TokenBudget
from workbench.components.chunking.packing import alone, pack, packed_words, pieces, slices, trimmed, words
from workbench.core.records import Document
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import tokenise


def of_lengths(*lengths: int):
    text = "x" * sum(lengths)
    ends = np.cumsum(lengths)
    return pieces(tokenise([text], "characters")[0], zip(ends - lengths, ends, strict=True))


def test_runs_are_as_long_as_fits() -> None:
    assert pack(of_lengths(3, 3, 3, 3), TokenBudget(6)) == [(0, 2), (2, 4)]
    assert pack(of_lengths(3, 3, 3, 3), TokenBudget(8)) == [(0, 2), (2, 4)]
    assert pack(of_lengths(3, 3), TokenBudget(100)) == [(0, 2)]
    assert pack(of_lengths(), TokenBudget(8)) == []


def test_a_piece_that_fits_nowhere_is_a_run_of_its_own() -> None:
    assert pack(of_lengths(2, 9, 2, 2), TokenBudget(5)) == [(0, 1), (1, 2), (2, 4)]


def test_runs_repeat_whole_pieces_of_at_most_the_overlap() -> None:
    assert pack(of_lengths(2, 2, 2, 2, 2), TokenBudget(6), overlap=3) == [(0, 3), (2, 5)]
    assert pack(of_lengths(4, 4, 4), TokenBudget(8), overlap=3) == [(0, 2), (2, 3)]


def test_the_overlap_gives_way_to_a_piece_that_would_not_fit() -> None:
    assert pack(of_lengths(2, 2, 2, 5), TokenBudget(6), overlap=4) == [(0, 3), (3, 4)]


def test_a_long_header_does_not_make_steps_of_one_token() -> None:
    room = TokenBudget(64, Headers(Document("d", "# h\n\n" + "word " * 500, "long " * 60), enrich=True), MINILM)
    tokens = tokenise(["word " * 500], MINILM)[0]
    assert len(pack(words(tokens, 0, 2500, room), room, overlap=32)) <= 1 + 500 // 15


def test_words_are_not_cut_unless_one_is_longer_than_its_room() -> None:
    text = "unbelievable antidisestablishmentarianism"
    tokens = tokenise([text], MINILM)[0]
    assert slices(words(tokens, 0, len(text), TokenBudget(20)), TokenBudget(20)) == [(0, len(text))]
    assert [text[a:b] for a, b in zip(*words(tokens, 0, len(text), TokenBudget(20))[:2], strict=True)] == ["unbelievable ", text[13:]]
    cut = words(tokens, 0, len(text), TokenBudget(3))
    assert len(cut.starts) > 2
    assert "".join(text[a:b] for a, b in zip(cut.starts, cut.ends, strict=True)) == text


@given(
    parts=st.lists(
        st.sampled_from(["unbelievable ", "a ", "kilometres", "naïve. ", "\u0301", "😀", "日本", " ", "antidisestablishmentarianism "]),
        max_size=40,
    ),
    vocabulary=st.sampled_from([MINILM, "cl100k", "characters"]),
    size=st.integers(1, 12),
    overlap=st.integers(0, 8),
    block=st.integers(1, 30),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words_that_are_packed_in_blocks_have_the_runs_of_all_words_together(
    monkeypatch: pytest.MonkeyPatch, parts: list[str], vocabulary: str, size: int, overlap: int, block: int
) -> None:
    text, room = "".join(parts), TokenBudget(size)
    tokens = tokenise([text], vocabulary)[0]
    together = words(tokens, 0, len(text), room)
    with monkeypatch.context() as patch:
        patch.setattr(packing, "_TOKENS", block)
        found = list(packed_words(tokens, 0, len(text), room, min(overlap, size - 1)))
    assert [(start, end) for start, end, _ in found] == slices(together, room, min(overlap, size - 1))
    assert [after for *_, after in found] == [int(together.last[j - 1]) for _, j in pack(together, room, min(overlap, size - 1))]


def test_words_of_a_part_keep_characters_without_a_token() -> None:
    text = "\u0301one two\u0301\u200b three"
    found = words(tokenise([text], MINILM)[0], 0, len(text), TokenBudget(8))
    assert [text[a:b] for a, b in zip(found.starts, found.ends, strict=True)] == ["\u0301one ", "two\u0301\u200b ", "three"]


def test_a_token_across_an_edge_counts_on_both_sides_when_pieces_stand_alone() -> None:
    text = "end.\n\nNext"
    tokens = tokenise([text], "cl100k")[0]
    both = pieces(tokens, [(0, 4), (4, len(text))])
    assert [len(tokens.starts), *(both.last - both.first)] == [3, 2, 2]
    assert both.last[1] - both.first[0] == 3
    assert alone(both).last.tolist() == [2, 4]


def test_a_character_of_several_tokens_has_them_all() -> None:
    tokens = tokenise(["a🏽b"], "cl100k")[0]
    found = pieces(tokens, [(0, 1), (1, 2), (2, 3)])
    assert (found.last - found.first).tolist() == [1, len(tokens.starts) - 2, 1]


def test_trimming_is_what_strip_does() -> None:
    text = " \u00a0ab c\r\n "
    assert [trimmed(text, 0, len(text)), trimmed(text, 0, 2), trimmed(text, 2, 4)] == [(2, 6), (0, 0), (2, 4)]
