from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import Unigram

from workbench.core.environment import advice
from workbench.core.errors import ModelError
from workbench.core.fingerprint import file_digest
from workbench.llm.models.files import MINILM, locate
from workbench.llm.models.tokenizers import (
    CHARACTERS,
    CL100K,
    count,
    input_lengths,
    model_tokenizer,
    special_tokens,
    tokenise,
    vocabulary_digest,
)

VOCABULARIES = [MINILM, CL100K, CHARACTERS]
# Everything but half characters, which no data set is read with.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.lists(
    st.sampled_from(["word ", "antidisestablishmentarianism", "😀", "e\u0301", "日本語", "\u2028", "\r\n", "\t", "3.14 ", "don't "]),
    max_size=20,
).map("".join)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@given(text=TEXTS)
@settings(max_examples=100)
def test_tokens_are_slices_in_order_inside_their_text(vocabulary: str, text: str) -> None:
    (tokens,) = tokenise([text], vocabulary)
    assert tokens.starts.dtype == tokens.ends.dtype == tokens.words.dtype == np.int32
    assert len(tokens.starts) == len(tokens.ends) == len(tokens.words) == count(text, vocabulary)
    assert (tokens.starts >= 0).all()
    assert (tokens.starts <= tokens.ends).all()
    assert (tokens.ends <= len(text)).all()
    assert (np.diff(tokens.starts) >= 0).all()
    assert (np.diff(tokens.words) >= 0).all()


@given(text=TEXTS)
def test_cl100k_and_characters_hold_every_character(text: str) -> None:
    for vocabulary in (CL100K, CHARACTERS):
        (tokens,) = tokenise([text], vocabulary)
        held = np.zeros(len(text), dtype=bool)
        for start, end in zip(tokens.starts, tokens.ends, strict=True):
            held[start:end] = True
        assert held.all()


@pytest.mark.parametrize(
    "text",
    [
        "The crew keeps a log of every dive, and reads it aloud. " * 12_000,
        "我们今天去学校。他说「你好」！" * 40_000,
        "one\ntwo, naïve 😀 e\u0301 " * 30_000,
        "a" + " " * 600_000 + "b c",
        "start " + "supercalifragilistic" * 30_000 + " end. " * 60_000,
    ],
    ids=["sentences", "Chinese", "lines", "blanks", "one word"],
)
def test_a_long_text_has_the_tokens_that_the_model_gives_it_whole(text: str) -> None:
    (tokens,) = tokenise([text], MINILM)
    whole = model_tokenizer(MINILM).encode(text, add_special_tokens=False)
    words = np.array(whole.word_ids)
    assert np.array_equal(np.stack([tokens.starts, tokens.ends], axis=1), np.array(whole.offsets))
    assert np.array_equal(np.diff(tokens.words) > 0, np.diff(words) > 0)


def test_a_vocabulary_without_words_takes_a_long_text_whole(tmp_path: Path) -> None:
    tokenizer = Tokenizer(Unigram([("<unk>", -9.0), ("ab", -1.0), ("ba", -1.1), ("a", -3.0), ("b", -3.0), (" ", -2.0)], unk_id=0))
    (tmp_path / "config.json").write_text("{}")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    text = "ab ba aab " * 30_000
    (tokens,) = tokenise([text], str(tmp_path))
    assert np.array_equal(np.stack([tokens.starts, tokens.ends], axis=1), np.array(tokenizer.encode(text).offsets))
    assert set(tokens.words.tolist()) == {0}


@pytest.mark.parametrize("vocabulary", [MINILM, CL100K])
@given(
    words=st.lists(st.sampled_from(["word", "antidisestablishmentarianism", "naïve", "kilometres", "x"]), min_size=2, max_size=12),
    data=st.data(),
)
@settings(max_examples=60)
def test_cutting_between_words_leaves_the_tokens_of_both_parts(vocabulary: str, words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    (tokens,) = tokenise([text], vocabulary)
    fresh = np.flatnonzero(np.diff(tokens.words, prepend=-1))
    at = int(tokens.starts[data.draw(st.sampled_from(fresh.tolist()))])
    assert count(text[:at].rstrip() if vocabulary == MINILM else text[:at], vocabulary) + count(text[at:], vocabulary) == len(tokens.starts)
    assert tokens.before(np.array([at]))[0] + count(text[at:], vocabulary) == len(tokens.starts)


def test_words_are_cut_as_the_vocabulary_says() -> None:
    text = "Tokenisers: 😀 naïve"
    (minilm,) = tokenise([text], MINILM)
    assert [text[start:end] for start, end in zip(minilm.starts, minilm.ends, strict=True)] == ["Token", "iser", "s", ":", "😀", "naïve"]
    assert minilm.words.tolist() == [0, 0, 0, 1, 2, 3]
    (cl100k,) = tokenise(["the 2000 tokens"], CL100K)
    assert list(zip(cl100k.starts, cl100k.ends, strict=True)) == [(0, 3), (3, 4), (4, 7), (7, 8), (8, 15)]


def test_special_tokens_in_a_text_are_text_to_cl100k() -> None:
    assert count("<|endoftext|>", CL100K) == 7


def test_a_text_that_is_too_long_for_the_encoder_is_cut_where_a_token_begins() -> None:
    sentence = "the quick brown fox jumps over the lazy dog. "
    # Ten tokens a sentence, and the space at the end.
    (tokens,) = tokenise([sentence * 30_000], CL100K)
    assert len(tokens.starts) == 300_001
    assert tokens.ends[-1] == len(sentence) * 30_000
    # One part is what the encoder takes whole: with and without cutting the tokens are the same.
    import bpe_openai

    text = sentence * 4_000
    assert len(text) > 150_000
    assert len(tokenise([text], CL100K)[0].starts) == len(bpe_openai.get_encoding("cl100k_base").encode(text))


def test_before_counts_the_tokens_that_start_before_a_place() -> None:
    (tokens,) = tokenise(["one two three"], MINILM)
    assert tokens.before(np.array([0, 1, 4, 5, 8, 13])).tolist() == [0, 1, 1, 2, 2, 3]


def test_the_order_of_texts_is_kept_and_repetition_allowed() -> None:
    lengths = [len(tokens.starts) for tokens in tokenise(["one two", "", "one", "one two"], MINILM)]
    assert lengths == [2, 0, 1, 2]


def test_a_model_sees_its_special_tokens_and_never_fewer_than_there_are() -> None:
    assert special_tokens(MINILM) == 2
    assert special_tokens(CL100K) == special_tokens(CHARACTERS) == 0
    assert input_lengths(["", "one two", "word " * 1000], MINILM).tolist() == [2, 4, 1002]
    assert count("", MINILM) == 0


def test_a_vocabulary_is_known_by_its_content(tmp_path: Path) -> None:
    raw = (locate(MINILM) / "tokenizer.json").read_bytes()
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        vocabulary_digest(str(tmp_path))
    (tmp_path / "tokenizer.json").write_bytes(raw)
    assert vocabulary_digest(str(tmp_path)) == vocabulary_digest(MINILM) == file_digest(tmp_path / "tokenizer.json")
    assert vocabulary_digest(CL100K) == CL100K


def test_cl100k_without_its_package_says_how_to_install_it(run_python: Callable) -> None:
    script = """
import sys
sys.modules["bpe_openai"] = None
from workbench.core.errors import ModelError
from workbench.llm.models.tokenizers import tokenise
try:
    tokenise(["text"], "cl100k")
except ModelError as error:
    print(*error.lines)
"""
    assert run_python(script) == f"tokens: cl100k needs bpe-openai; {advice('cl100k')}"
